// SPDX-License-Identifier: GPL-3.0-or-later
#include "python_types.h"

#include <pybind11/complex.h>
#include <pybind11/operators.h>

#include <complex>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace wip::extension {
namespace {

using user = slot_in_python::user;

template <class Number, std::size_t n>
py::tuple tuple_of(const Number (&values)[n]) {
    py::tuple all(n);
    for (std::size_t i = 0; i < n; ++i) all[i] = py::cast(values[i]);
    return all;
}

// Made once in a slot.
template <class Number, std::size_t n>
py::object kept(py::object& place, const Number (&values)[n]) {
    if (!place) place = tuple_of(values);
    return place;
}

py::tuple waiting_of(const openwip_user& u) {
    py::tuple all(static_cast<std::size_t>(u.pieces));
    for (int i = 0; i < u.pieces; ++i) all[static_cast<std::size_t>(i)] = u.piece_bits[i];
    return all;
}

py::list free_bins(const openwip_slot& s) {
    py::list bins;
    for (int b = 0; b < OPENWIP_BINS; ++b)
        if (openwip_is_free(&s, b) != 0) bins.append(b);
    return bins;
}

py::tuple given_of(const openwip_slot& s) {
    py::tuple all(static_cast<std::size_t>(s.nof_given));
    for (int i = 0; i < s.nof_given; ++i)
        all[static_cast<std::size_t>(i)] = py::make_tuple(s.given[i].user, s.given[i].bin);
    return all;
}

void define_cell(py::module_& m) {
    py::class_<cell_in_python>(m, "Cell")
        .def_property_readonly("users", [](const cell_in_python& c) { return c.cell.users; })
        .def_property_readonly("bins", [](const cell_in_python& c) { return c.cell.bins; })
        .def_property_readonly("averaging_slots",
                               [](const cell_in_python& c) { return c.cell.averaging_slots; })
        .def_property_readonly("loop_slots",
                               [](const cell_in_python& c) { return c.cell.loop_slots; })
        .def_property_readonly("frame_bits",
                               [](const cell_in_python& c) { return tuple_of(c.cell.frame_bits); });
}

void define_slot(py::module_& m) {
    py::class_<user>(m, "User")
        .def_readonly("number", &user::number)
        .def_property_readonly("hears", [](const user& u) { return u.now().hears != 0; })
        .def_property_readonly("wants", [](const user& u) { return openwip_wants(&u.now()) != 0; })
        .def_property_readonly("waiting_bits", [](const user& u) { return waiting_of(u.now()); })
        .def_property_readonly("predicted_snr_db",
                               [](user& u) { return kept(u.snr, u.now().predicted_snr_db); })
        .def_property_readonly("bits_per_symbol",
                               [](user& u) { return kept(u.bits, u.now().bits_per_symbol); })
        .def_property_readonly("expected_bits",
                               [](user& u) { return kept(u.expected, u.now().expected_bits); })
        .def_property_readonly("acknowledged_bits",
                               [](const user& u) { return u.now().acknowledged_bits; });
    py::class_<slot_in_python>(m, "Slot")
        .def_property_readonly("slot", [](const slot_in_python& s) { return s.now().slot; })
        .def_property_readonly("bins", [](const slot_in_python& s) { return s.now().bins; })
        .def_property_readonly("users", [](const slot_in_python& s) { return s.users(); })
        .def_property_readonly("given", [](const slot_in_python& s) { return given_of(s.now()); })
        .def_property_readonly(
            "bins_left", [](const slot_in_python& s) { return s.now().bins - s.now().nof_given; })
        .def_property_readonly("free_bins",
                               [](const slot_in_python& s) { return free_bins(s.now()); })
        .def("is_free",
             [](const slot_in_python& s, int bin) { return openwip_is_free(&s.now(), bin) != 0; })
        .def("give", [](slot_in_python& s, const user& u, int bin) { s.give(u.number, bin); })
        .def("give", &slot_in_python::give);
}

void define_report(py::module_& m) {
    using report = report_in_python;
    py::class_<report>(m, "Report")
        .def_property_readonly("slot", [](const report& r) { return r.report.slot; })
        .def_property_readonly("user", [](const report& r) { return r.report.user; })
        .def_property_readonly("heard", [](const report& r) { return r.report.heard != 0; })
        .def_property_readonly("predicted_snr_db",
                               [](const report& r) { return tuple_of(r.report.predicted_snr_db); })
        .def_property_readonly("prediction_nmse",
                               [](const report& r) { return r.report.prediction_nmse; })
        .def_property_readonly(
            "sent_bits_per_symbol",
            [](const report& r) { return tuple_of(r.report.sent_bits_per_symbol); })
        .def_property_readonly("retransmissions",
                               [](const report& r) { return tuple_of(r.report.retransmissions); })
        .def_property_readonly("received",
                               [](const report& r) { return tuple_of(r.report.received); })
        .def_property_readonly("table_bits_per_symbol", [](const report& r) {
            return tuple_of(r.report.table_bits_per_symbol);
        });
}

std::string kind_of(const py::handle& value) { return Py_TYPE(value.ptr())->tp_name; }

// Each of the 25 elements of an answer to take(bin, element). `what` names one in an error.
template <class Element, class Take>
void each_bin(const py::object& answer, const char* what, const char* valid, const Take& take) {
    const auto refuse = [&](const std::string& found) {
        throw std::invalid_argument("the answer is " + found +
                                    "; valid: " + std::to_string(OPENWIP_BINS) + " " + valid +
                                    ", one for each bin, or None");
    };
    if (!py::isinstance<py::sequence>(answer)) refuse("of type " + kind_of(answer));
    const auto all = py::reinterpret_borrow<py::sequence>(answer);
    if (all.size() != OPENWIP_BINS) refuse(std::to_string(all.size()) + " elements");
    for (std::size_t b = 0; b < OPENWIP_BINS; ++b) {
        const py::object element = all[b];
        try {
            take(b, element.cast<Element>());
        } catch (const py::cast_error&) {
            refuse(std::string(what) + " " + py::repr(element).cast<std::string>() + " in bin " +
                   std::to_string(b));
        }
    }
}

}  // namespace

void define_types() {
    static bool defined = false;
    if (defined) return;
    static PyModuleDef definition;
    auto m = py::module_::create_extension_module("openwip_extension", nullptr, &definition);
    define_cell(m);
    define_slot(m);
    define_report(m);
    py::module_::import("sys").attr("modules")["openwip_extension"] = m;
    defined = true;
}

void slot_in_python::make_users(int users) {
    in_python_ = py::tuple(static_cast<std::size_t>(users));
    for (int n = 0; n < users; ++n) {
        users_.push_back(std::make_unique<user>(user{this, n, {}, {}, {}}));
        in_python_[static_cast<std::size_t>(n)] =
            py::cast(users_.back().get(), py::return_value_policy::reference);
    }
}

openwip_slot& slot_in_python::now() const {
    if (now_ == nullptr) {
        PyErr_SetString(PyExc_RuntimeError,
                        "a slot and its users can be asked only while share_bins() runs");
        throw py::error_already_set();
    }
    return *now_;
}

void slot_in_python::give(int to, int bin) {
    openwip_slot& s = now();
    if (bin < 0 || bin >= OPENWIP_BINS)
        throw py::value_error("bin is " + std::to_string(bin) + "; valid: 0.." +
                              std::to_string(OPENWIP_BINS - 1));
    if (to < 0 || to >= s.users)
        throw py::value_error("terminal is " + std::to_string(to) + "; valid: 0.." +
                              std::to_string(s.users - 1));
    if (openwip_is_free(&s, bin) == 0)
        throw py::value_error("bin " + std::to_string(bin) +
                              " is given already; valid: each bin once");
    if (s.nof_given == s.bins)
        throw py::value_error("bin " + std::to_string(bin) + " is one too many; valid: at most " +
                              std::to_string(s.bins) + " bins in a slot (link.bins)");
    openwip_give(&s, to, bin);
}

void read_bits(const py::object& chosen, openwip_report& report) {
    each_bin<int>(chosen, "the modulation", "whole numbers 1..8", [&](std::size_t b, int bits) {
        // A value that is out of range stays so in eight bits.
        report.bits_per_symbol[b] = static_cast<std::uint8_t>(bits < 0 || bits > 255 ? 255 : bits);
    });
}

py::tuple gains_of(const openwip_gains& gains) {
    py::tuple all(OPENWIP_BINS);
    for (std::size_t b = 0; b < OPENWIP_BINS; ++b)
        all[b] = py::cast(std::complex<double>(gains.re[b], gains.im[b]));
    return all;
}

void read_gains(const py::object& ahead, openwip_gains& gains) {
    each_bin<std::complex<double>>(ahead, "the gain", "complex numbers",
                                   [&](std::size_t b, std::complex<double> gain) {
                                       gains.ahead_re[b] = static_cast<float>(gain.real());
                                       gains.ahead_im[b] = static_cast<float>(gain.imag());
                                   });
    gains.known = 1;
}

}  // namespace wip::extension
