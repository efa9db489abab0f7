// SPDX-License-Identifier: GPL-3.0-or-later
// The library of openwip/extension.h whose rules are Python classes; its argument is FILE:CLASS. It
// runs the Python interpreter in the process, or uses the one that is there (in a flowgraph), and
// is loaded when a setting asks for a class.
//
// The objects that a class is handed (python_types.h) look into the structure of the call, and only
// while it lasts. What they hand out are tuples and numbers, which the class may keep.
#include <openwip/extension.h>
#include <pybind11/complex.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "python_types.h"
#include "types/failure.h"

namespace {

namespace py = pybind11;
using namespace wip::extension;

// --- the interpreter ---

// In a flowgraph other threads run Python, too. The thread that has the interpreter gives it up
// this long after another one wants it, and a slot waits for that. Python's default is 5 ms.
constexpr double switch_interval_s = 50e-6;

// Starts Python once in a process. It installs no handlers of signals, and writes no files beside
// the user's.
void start_python() {
    static const bool started = [] {
        if (Py_IsInitialized() != 0) {
            const py::gil_scoped_acquire lock;
            py::module_::import("sys").attr("setswitchinterval")(switch_interval_s);
            return true;
        }
        PyConfig config;
        PyConfig_InitPythonConfig(&config);
        config.install_signal_handlers = 0;
        config.parse_argv = 0;
        config.write_bytecode = 0;
        config.buffered_stdio = 0;
        const PyStatus status = Py_InitializeFromConfig(&config);
        PyConfig_Clear(&config);
        if (PyStatus_Exception(status) != 0)
            throw wip::machine_error(std::string("Python does not start: ") +
                                     (status.err_msg != nullptr ? status.err_msg : "no reason"));
        PyEval_SaveThread();  // each call takes it back
        return true;
    }();
    (void)started;
}

void write(openwip_error* why, const std::string& text) {
    std::snprintf(why->text, sizeof why->text, "%s", text.c_str());
}

// "FILE:LINE: in FUNCTION: KIND: words" of an exception; the line is the last one of the user's own
// file, for what is wrong further down is wrong for what was handed there.
std::string describe(py::error_already_set& e, const std::string& file) {
    const auto words = py::module_::import("traceback");
    std::string place;
    const bool syntax = e.matches(PyExc_SyntaxError);
    for (const auto frame : words.attr("extract_tb")(e.trace() ? e.trace() : py::none())) {
        const auto name = frame.attr("filename").cast<std::string>();
        if (name != file) continue;
        place = name + ":" + py::str(frame.attr("lineno")).cast<std::string>() + ": in " +
                frame.attr("name").cast<std::string>() + ": ";
    }
    if (syntax && py::hasattr(e.value(), "filename"))
        place = py::str(e.value().attr("filename")).cast<std::string>() + ":" +
                py::str(e.value().attr("lineno")).cast<std::string>() + ": ";
    std::string text =
        e.type().attr("__name__").cast<std::string>() + ": " +
        py::str(syntax ? py::object(e.value().attr("msg")) : e.value()).cast<std::string>();
    return (place.empty() ? file + ": " : place) + text;
}

// Does `work`; false, and the reason in `why`, when it throws.
template <class Work>
bool attempt(openwip_error* why, const std::string& file, const Work& work) noexcept {
    try {
        start_python();
        const py::gil_scoped_acquire lock;
        try {
            work();
            return true;
        } catch (py::error_already_set& e) {
            write(why, describe(e, file));
        } catch (const py::cast_error& e) {
            write(why, file + ": " + e.what());
        } catch (const std::exception& e) {
            write(why, e.what());
        }
    } catch (const std::exception& e) {
        write(why, e.what());
    }
    return false;
}

// --- the user's class ---

std::string file_of(const std::string& argument) { return argument.substr(0, argument.rfind(':')); }

// The class of FILE:CLASS, whose file is read and run. What it imports from beside itself is found.
py::object class_of(const std::string& argument) {
    const std::string file = file_of(argument), name = argument.substr(file.size() + 1);
    const auto os_path = py::module_::import("os.path");
    const py::object folder = os_path.attr("dirname")(os_path.attr("abspath")(file));
    py::list path = py::module_::import("sys").attr("path");
    if (!path.contains(folder)) path.insert(0, folder);
    const auto util = py::module_::import("importlib.util");
    const auto machinery = py::module_::import("importlib.machinery");
    const py::object stem =
        os_path.attr("splitext")(os_path.attr("basename")(file)).attr("__getitem__")(0);
    const py::object loader = machinery.attr("SourceFileLoader")(stem, file);
    const py::object module =
        util.attr("module_from_spec")(util.attr("spec_from_loader")(stem, loader));
    loader.attr("exec_module")(module);
    if (!py::hasattr(module, name.c_str())) {
        std::string defined_names;
        for (const auto& [key, value] : py::dict(module.attr("__dict__")))
            if (py::isinstance<py::type>(value) &&
                py::str(value.attr("__module__")).equal(py::str(stem)))
                defined_names +=
                    (defined_names.empty() ? "" : ", ") + py::str(key).cast<std::string>();
        throw std::invalid_argument(file + " has no class " + name + "; valid: " +
                                    (defined_names.empty()
                                         ? "a file that defines the class (it defines none)"
                                         : defined_names));
    }
    return module.attr(name.c_str());
}

// The bound method of an object of the class.
py::object method_of(const py::object& object, const std::string& argument, const char* name) {
    if (!py::hasattr(object, name))
        throw std::invalid_argument(
            file_of(argument) + ": class " + argument.substr(file_of(argument).size() + 1) +
            " has no method " + name + "(); valid: one that docs/how-to/extend.md describes");
    return object.attr(name);
}

// All members are made, used and freed with the interpreter locked.
struct python_rule {
    std::string file;
    py::object object, work, reset;
};

// An object made of the class with `given`, and its method `name`.
template <class Rule, class... Given>
Rule* make(const char* argument, const char* name, openwip_error* why, const Given&... given) {
    Rule* made = nullptr;
    attempt(why, file_of(argument), [&] {
        define_types();
        auto rule = std::make_unique<Rule>();
        rule->file = file_of(argument);
        rule->object = class_of(argument)(py::cast(given)...);
        rule->work = method_of(rule->object, argument, name);
        if constexpr (requires { rule->prepare(given...); }) rule->prepare(given...);
        made = rule.release();
    });
    return made;
}

// Python has a name for it that everybody may use since 3.13, which lacks the older one.
bool interpreter_is_ending() {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() != 0;
#else
    return _Py_IsFinalizing() != 0;
#endif
}

// An interpreter that has ended has taken the objects with it.
template <class Rule>
void free_rule(void* rule) {
    if (Py_IsInitialized() == 0 || interpreter_is_ending()) return;
    const py::gil_scoped_acquire lock;
    delete static_cast<Rule*>(rule);
}

// --- scheduler ---

struct python_scheduler : python_rule {
    slot_in_python slot;
    py::object in_python;
    void prepare(const cell_in_python& cell) {
        slot.make_users(cell.cell.users);
        in_python = py::cast(&slot, py::return_value_policy::reference);
    }
};

void* scheduler_make(const char* argument, const openwip_cell* cell, openwip_error* why) {
    return make<python_scheduler>(argument, "share_bins", why, cell_in_python{*cell});
}

int scheduler_share_bins(void* rule, openwip_slot* slot, openwip_error* why) {
    auto& r = *static_cast<python_scheduler*>(rule);
    return attempt(why, r.file,
                   [&] {
                       const slot_in_python::call here(r.slot, slot);
                       r.work(r.in_python);
                   })
               ? 0
               : 1;
}

// --- adaptation ---

void* adaptation_make(const char* argument, const openwip_cell* cell, openwip_error* why) {
    return make<python_rule>(argument, "choose_modulation", why, cell_in_python{*cell});
}

int adaptation_choose_modulation(void* rule, openwip_report* report, openwip_error* why) {
    auto& r = *static_cast<python_rule*>(rule);
    return attempt(why, r.file,
                   [&] {
                       const py::object chosen = r.work(report_in_python(*report));
                       if (!chosen.is_none()) read_bits(chosen, *report);
                   })
               ? 0
               : 1;
}

// --- predictor ---

struct python_predictor : python_rule {
    void prepare(int) {
        if (py::hasattr(object, "reset")) reset = object.attr("reset");
    }
};

void* predictor_make(const char* argument, std::int32_t horizon, openwip_error* why) {
    return make<python_predictor>(argument, "update", why, static_cast<int>(horizon));
}

int predictor_update(void* rule, openwip_gains* gains, openwip_error* why) {
    auto& r = *static_cast<python_predictor*>(rule);
    return attempt(why, r.file,
                   [&] {
                       const py::object now =
                           gains->measured != 0 ? py::object(gains_of(*gains)) : py::none();
                       const py::object ahead = r.work(now, gains->gain_error);
                       if (!ahead.is_none()) read_gains(ahead, *gains);
                   })
               ? 0
               : 1;
}

// reset() cannot report a failure; the next update() will.
void predictor_reset(void* rule) {
    auto& r = *static_cast<python_predictor*>(rule);
    openwip_error why{};
    attempt(&why, r.file, [&] {
        if (r.reset) r.reset();
    });
}

const openwip_extension_table table{OPENWIP_EXTENSION_ABI,
                                    sizeof(openwip_extension_table),
                                    scheduler_make,
                                    scheduler_share_bins,
                                    free_rule<python_scheduler>,
                                    adaptation_make,
                                    adaptation_choose_modulation,
                                    free_rule<python_rule>,
                                    predictor_make,
                                    predictor_update,
                                    predictor_reset,
                                    free_rule<python_predictor>};

}  // namespace

const openwip_extension_table* openwip_extension(void) { return &table; }
