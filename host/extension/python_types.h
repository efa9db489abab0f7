// SPDX-License-Identifier: GPL-3.0-or-later
// The objects that a rule in Python is handed: the structures of openwip/extension.h as objects
// with attributes (docs/how-to/extend.md lists them), and how its answers are read.
#pragma once

#include <openwip/extension.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <vector>

namespace wip::extension {

namespace py = pybind11;

// Makes the types known to Python, once in a process. Called with the interpreter locked.
void define_types();

struct cell_in_python {
    openwip_cell cell;
};

// The slot that is shared out, while the scheduler is called.
class slot_in_python {
public:
    // A terminal in it. Its tuples are made when they are first asked for in a slot.
    struct user {
        slot_in_python* slot = nullptr;
        int number = 0;
        py::object snr, bits, expected;
        openwip_user& now() const { return slot->now().user[number]; }
        void forget() { snr = bits = expected = py::object(); }
    };
    // While a call exists, the objects show the data of `slot`.
    class call {
    public:
        call(slot_in_python& here, openwip_slot* slot) : here_(&here) {
            here.now_ = slot;
            for (auto& u : here.users_) u->forget();
        }
        ~call() { here_->now_ = nullptr; }
        call(const call&) = delete;
        call& operator=(const call&) = delete;

    private:
        slot_in_python* here_;
    };

    slot_in_python() = default;
    slot_in_python(const slot_in_python&) = delete;
    slot_in_python& operator=(const slot_in_python&) = delete;

    void make_users(int users);
    // A RuntimeError of Python outside of a call.
    openwip_slot& now() const;
    const py::tuple& users() const { return in_python_; }
    void give(int user, int bin);

private:
    openwip_slot* now_ = nullptr;
    std::vector<std::unique_ptr<user>> users_;
    py::tuple in_python_;
};

// A report as an object that the rule may keep.
struct report_in_python {
    explicit report_in_python(const openwip_report& r) : report(r) {}
    openwip_report report;
};

// The modulation of every bin, of a sequence of 25 whole numbers. Throws std::invalid_argument.
void read_bits(const py::object& chosen, openwip_report& report);

py::tuple gains_of(const openwip_gains& gains);
// The predicted gains, of a sequence of 25 complex numbers. Throws std::invalid_argument.
void read_gains(const py::object& ahead, openwip_gains& gains);

}  // namespace wip::extension
