// SPDX-License-Identifier: GPL-3.0-or-later
// Python bindings, by hand: arguments are given by name, and are those of the headers; so are their
// defaults.
#include <gnuradio/wip/slot_receiver.h>
#include <gnuradio/wip/slot_transmitter.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "resampler.h"
#include "test_pattern.h"
#include "types/grid.h"

namespace py = pybind11;

void bind_fine_blocks(py::module& m);  // fine_bindings.cc

namespace {

// For functions that may wait for a thread of the flowgraph.
using without_gil = py::call_guard<py::gil_scoped_release>;

template <class Status>
py::dict to_dict(const Status& s);

template <>
py::dict to_dict(const gr::wip::slot_transmitter_status& s) {
    using namespace py::literals;
    return py::dict("next_slot"_a = s.next_slot, "slots"_a = s.slots, "late_slots"_a = s.late_slots,
                    "late_plans"_a = s.late_plans, "slots_left_out"_a = s.slots_left_out,
                    "underflows"_a = s.underflows, "other_events"_a = s.other_events,
                    "restarts"_a = s.restarts, "plans_refused"_a = s.plans_refused,
                    "malformed"_a = s.malformed, "unexpected"_a = s.unexpected);
}

template <>
py::dict to_dict(const gr::wip::slot_receiver_status& s) {
    py::dict d = py::cast(s.receiver);
    d["air"] = s.air;
    d["slots"] = s.slots;
    d["slots_locked"] = s.slots_locked;
    d["grants_ok"] = s.grants_ok;
    d["frames_good"] = s.frames_good;
    d["frames_bad"] = s.frames_bad;
    d["frames_combined"] = s.frames_combined;
    d["malformed"] = s.malformed;
    d["unexpected"] = s.unexpected;
    return d;
}

template <>
py::dict to_dict(const gr::wip::recording_status& s) {
    using namespace py::literals;
    py::list stretches;
    for (const auto& stretch : s.stretches)
        stretches.append(
            py::dict("index"_a = stretch.index, "first_sample"_a = stretch.first_sample,
                     "later"_a = stretch.later, "lost_by_recorder"_a = stretch.lost_by_recorder));
    return py::dict("running"_a = s.running, "complete"_a = s.complete, "samples"_a = s.samples,
                    "samples_lost"_a = s.samples_lost, "reports"_a = s.reports,
                    "reports_lost"_a = s.reports_lost, "stretches"_a = stretches,
                    "error"_a = s.error);
}

template <class Class>
void bind_recording(Class& c) {
    using block = typename Class::type;
    c.def(
        "start_recording", &block::start_recording, py::arg("samples_file"),
        py::arg("reports_file") = "", py::arg("begin_slot") = -1, py::arg("end_slot") = -1,
        py::arg("nof_slots") = -1, without_gil(),
        "Samples (cf32) and, of a receiver, slot reports to files, from the slot begin_slot to the "
        "one before end_slot (-1: from now on, until stopped), or nof_slots from the first "
        "sample that comes, by a thread of its own.");
    c.def(
        "recording", [](const block& b) { return to_dict(b.recording()); },
        "Of the recording that runs: running, complete, samples.");
    c.def(
        "stop_recording",
        [](block& b) {
            gr::wip::recording_status s;
            {
                py::gil_scoped_release release;
                s = b.stop_recording();
            }
            return to_dict(s);
        },
        "Ends the recording: samples, samples_lost, reports, reports_lost, stretches, error.");
}

const char* const resampler_doc =
    R"(Samples at 7.68 MS/s from samples at input_hz, for recordings; no block.

work(samples) and at the end finish() return complex64 arrays. The first sample of both is of the same
time, and they last as long. Class attributes: name (library, version, , stopband_db, lowest_hz,
highest_hz.

input_hz        5.01e6 .. 250e6: the cell has to be in it

ValueError names parameter, value and range.)";

using samples_array = py::array_t<std::complex<float>, py::array::c_style | py::array::forcecast>;

template <class Make>
samples_array made_without_gil(Make make) {
    std::vector<std::complex<float>> out;
    {
        py::gil_scoped_release release;
        out = make();
    }
    return samples_array(static_cast<py::ssize_t>(out.size()), out.data());
}

void bind_resampler(py::module& m) {
    using wip::resampler;
    py::class_<resampler> c(m, "resampler", resampler_doc);
    c.def(py::init<double>(), py::arg("input_hz"))
        .def(
            "work",
            [](resampler& r, const samples_array& in) {
                const std::span<const std::complex<float>> samples(
                    in.data(), static_cast<std::size_t>(in.size()));
                return made_without_gil([&] { return r.work(samples); });
            },
            py::arg("samples"), "What a piece of the input makes.")
        .def(
            "finish", [](resampler& r) { return made_without_gil([&] { return r.finish(); }); },
            "The rest, once.");
    c.attr("name") = resampler::name();
    c.attr("stopband_db") = resampler::stopband_db;
    c.attr("lowest_hz") = resampler::lowest_hz;
    c.attr("highest_hz") = resampler::highest_hz;
}

}  // namespace

PYBIND11_MODULE(wip_python, m) {
    py::module::import("gnuradio.gr");

    m.attr("SAMPLE_RATE") = ::wip::sample_rate_hz;
    m.attr("SLOT_SAMPLES") = ::wip::slot_samples;
    m.attr("SLOTS_PER_SECOND") = ::wip::slots_per_second;

    using gr::wip::slot_receiver;
    using gr::wip::slot_receiver_config;
    using gr::wip::slot_transmitter;
    using gr::wip::slot_transmitter_config;

    const slot_transmitter_config sent;
    const slot_receiver_config heard;

    py::class_<slot_transmitter, gr::sync_block, gr::block, gr::basic_block,
               std::shared_ptr<slot_transmitter>>
        transmitter(m, "slot_transmitter", slot_transmitter::doc);
    transmitter
        .def(py::init([](int cell, std::string endpoint, std::int64_t start_slot, int modulation,
                         std::vector<int> bins, std::uint64_t seed, double timeout_s,
                         int restart_slots, std::int64_t nof_slots, int transmissions,
                         int lead_slots) {
                 return slot_transmitter::make({.cell = cell,
                                                .endpoint = std::move(endpoint),
                                                .start_slot = start_slot,
                                                .modulation = modulation,
                                                .bins = std::move(bins),
                                                .seed = seed,
                                                .timeout_s = timeout_s,
                                                .restart_slots = restart_slots,
                                                .nof_slots = nof_slots,
                                                .transmissions = transmissions,
                                                .lead_slots = lead_slots});
             }),
             py::kw_only(), py::arg("cell") = sent.cell, py::arg("endpoint") = sent.endpoint,
             py::arg("start_slot") = sent.start_slot, py::arg("modulation") = sent.modulation,
             py::arg("bins") = sent.bins, py::arg("seed") = sent.seed,
             py::arg("timeout_s") = sent.timeout_s, py::arg("restart_slots") = sent.restart_slots,
             py::arg("nof_slots") = sent.nof_slots, py::arg("transmissions") = sent.transmissions,
             py::arg("lead_slots") = sent.lead_slots)
        .def(
            "status", [](const slot_transmitter& b) { return to_dict(b.status()); },
            "Counters as a dict (slots, late_slots, underflows, restarts, ...).")
        .def("set_edge_samples", &slot_transmitter::set_edge_samples, py::arg("samples"),
             "Symbols fade into each other over so many samples, 0..40; 0: hard edges.",
             without_gil())
        .def("set_burst_slots", &slot_transmitter::set_burst_slots, py::arg("slots"),
             "With a lead: bursts of so many slots, 2..1500, whose ends the radio acknowledges; 0:"
             " as long as nothing is late. Before the flowgraph runs.")
        .def("send_bursts_first", &slot_transmitter::send_bursts_first,
             "Known bursts before the first slot, for a fader; before the flowgraph runs.")
        .def("set_modulation", &slot_transmitter::set_modulation, py::arg("bits_per_symbol"),
             "Of the test pattern, from the next slot on: 1..8.", without_gil())
        .def("set_bins", &slot_transmitter::set_bins, py::arg("bins"),
             "Of the test pattern, from the next slot on.", without_gil())
        .def("set_radio_time", &slot_transmitter::set_radio_time, py::arg("full"),
             py::arg("fraction"), py::arg("arrived"),
             "Of a free-running radio, ten times a second: its time, s, and when that was known, "
             "ns of time.monotonic_ns().",
             without_gil())
        .def("end_reason", &slot_transmitter::end_reason,
             "Why the flowgraph ended by itself; empty otherwise.");

    py::class_<slot_receiver, gr::sync_block, gr::block, gr::basic_block,
               std::shared_ptr<slot_receiver>>
        receiver(m, "slot_receiver", slot_receiver::doc);
    receiver
        .def(py::init([](int cell, int horizon, bool combining, std::string endpoint,
                         int message_period, std::int64_t start_slot, double timeout_s,
                         std::string predictor, double gain_db, double lowest_gain_db,
                         double highest_gain_db, bool timed_gain) {
                 return slot_receiver::make({.cell = cell,
                                             .horizon = horizon,
                                             .combining = combining,
                                             .endpoint = std::move(endpoint),
                                             .message_period = message_period,
                                             .start_slot = start_slot,
                                             .timeout_s = timeout_s,
                                             .predictor = std::move(predictor),
                                             .gain_db = gain_db,
                                             .lowest_gain_db = lowest_gain_db,
                                             .highest_gain_db = highest_gain_db,
                                             .timed_gain = timed_gain});
             }),
             py::kw_only(), py::arg("cell") = heard.cell, py::arg("horizon") = heard.horizon,
             py::arg("combining") = heard.combining, py::arg("endpoint") = heard.endpoint,
             py::arg("message_period") = heard.message_period,
             py::arg("start_slot") = heard.start_slot, py::arg("timeout_s") = heard.timeout_s,
             py::arg("predictor") = heard.predictor, py::arg("gain_db") = heard.gain_db,
             py::arg("lowest_gain_db") = heard.lowest_gain_db,
             py::arg("highest_gain_db") = heard.highest_gain_db,
             py::arg("timed_gain") = heard.timed_gain)
        .def(
            "status", [](const slot_receiver& b) { return to_dict(b.status()); },
            "Counters and receiver state as a dict (locked, slots, frames_good, cfo_hz, ...).")
        .def("end_reason", &slot_receiver::end_reason,
             "Why the flowgraph ended by itself; empty otherwise.");

    bind_recording(transmitter);
    bind_recording(receiver);
    bind_fine_blocks(m);
    bind_resampler(m);

    m.def(
        "test_pattern_frame",
        [](std::uint64_t seed, int sn, int bits_per_symbol) {
            if (bits_per_symbol < 1 || bits_per_symbol > 8)
                throw std::invalid_argument("bits_per_symbol is " +
                                            std::to_string(bits_per_symbol) + "; valid: 1..8");
            std::vector<std::uint8_t> out(static_cast<std::size_t>(
                wip::frame_payload_bytes(wip::test_pattern::profile, bits_per_symbol)));
            wip::test_pattern::frame_content(seed, static_cast<wip::wire_sn>(sn & 0xffff),
                                             bits_per_symbol, out);
            return py::bytes(reinterpret_cast<const char*>(out.data()), out.size());
        },
        py::arg("seed"), py::arg("sn"), py::arg("bits_per_symbol"),
        "Content of frame `sn` of the test pattern, nibble-packed.");
}
