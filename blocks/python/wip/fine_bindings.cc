// SPDX-License-Identifier: GPL-3.0-or-later
// Python bindings of the fine-grained blocks: argument names and defaults are those of the headers.
#include <gnuradio/sync_interpolator.h>
#include <gnuradio/wip/carrier_demapper.h>
#include <gnuradio/wip/channel_estimator.h>
#include <gnuradio/wip/combining_meter.h>
#include <gnuradio/wip/fading_channel.h>
#include <gnuradio/wip/impairments.h>
#include <gnuradio/wip/payload_demapper.h>
#include <gnuradio/wip/qam_demapper.h>
#include <gnuradio/wip/qam_mapper.h>
#include <gnuradio/wip/qam_soft_demapper.h>
#include <gnuradio/wip/rate_converter.h>
#include <gnuradio/wip/snr_predictor.h>
#include <gnuradio/wip/synchroniser.h>
#include <gnuradio/wip/transmit_channel.h>
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace {

template <class Block>
using sync_class =
    py::class_<Block, gr::sync_block, gr::block, gr::basic_block, std::shared_ptr<Block>>;
template <class Block>
using interpolator_class = py::class_<Block, gr::sync_interpolator, gr::sync_block, gr::block,
                                      gr::basic_block, std::shared_ptr<Block>>;
template <class Block>
using block_class = py::class_<Block, gr::block, gr::basic_block, std::shared_ptr<Block>>;

void bind_qam(py::module& m) {
    using namespace gr::wip;
    sync_class<qam_mapper>(m, "qam_mapper",
                           "Labels (one a byte, the lower bits_per_symbol bits) to points of unit "
                           "mean energy.\n\nbits_per_symbol  1..8")
        .def(py::init(&qam_mapper::make), py::arg("bits_per_symbol") = 2)
        .def("points", &qam_mapper::points, "Point of each label.");
    sync_class<qam_demapper>(m, "qam_demapper",
                             "Complex symbols to the label of the nearest point, one a byte.\n\n"
                             "bits_per_symbol  1..8")
        .def(py::init(&qam_demapper::make), py::arg("bits_per_symbol") = 2);
    interpolator_class<qam_soft_demapper>(
        m, "qam_soft_demapper",
        "Complex symbols to max-log soft bits, bits_per_symbol floats each, most significant bit "
        "first; positive means 0.\n\nbits_per_symbol  1..8\nnoise_variance   E|n|^2 of a symbol, > "
        "0")
        .def(py::init(&qam_soft_demapper::make), py::arg("bits_per_symbol") = 2,
             py::arg("noise_variance") = 1.0);
}

void bind_channel(py::module& m) {
    using namespace gr::wip;
    sync_class<fading_channel>(m, "fading_channel",
                               R"(Multipath with Clarke's Doppler spectrum and white Gaussian noise.

delays_ns   of the taps, 0..12500, 1 to 64 of them
powers_db   of the taps, relative: their sum is made 1
doppler_hz  0..2000 (125: 75 km/h at 1800 MHz); 0: the channel stands still
fading      'rayleigh', or 'constant': fixed amplitudes, random phases
snr_db      -30..100; SNR of a subcarrier for an input at the level of slot_transmitter
seed        of fading and noise
channel     'taps': the lists above; or a channel definition, its name ('jakes', 'eva', ...) or a file
            NAME.yaml, which then says taps and fading (doppler_hz only if it does not move by itself)
shadowing_db standard deviation of the slow fading, 0..20; 0: none)")
        .def(py::init(&fading_channel::make), py::arg("delays_ns") = std::vector<double>{0},
             py::arg("powers_db") = std::vector<double>{0}, py::arg("doppler_hz") = 125.0,
             py::arg("fading") = "rayleigh", py::arg("snr_db") = 30.0, py::arg("seed") = 1,
             py::arg("channel") = "taps", py::arg("shadowing_db") = 0.0)
        .def("set_snr_db", &fading_channel::set_snr_db, py::arg("snr_db"))
        .def("response", &fading_channel::response, py::arg("index"), py::arg("hz"),
             "Frequency response at the offset hz for output sample `index`, without the latency "
             "of 6 samples.");
    sync_class<transmit_channel>(
        m, "transmit_channel",
        R"(The channel in the transmitter, for two radios on one cable: the samples
that a terminal of a medium would hear then. Between slot_transmitter and the sink; time by tx_time tags.

channel     definition: its name, or a file NAME.yaml
speed_kmh   0..500; -1: the channel's own
shadowing   'off', 'on' as the definition has it, or a standard deviation, 0 to 20 dB
user        0..63: of two-user, n-user; of the random numbers of all channels
noise_dbfs  over the whole sample rate; -200: none
seed        of fading and noise
control     endpoint (ZeroMQ) at which the channel changes while it runs, as a medium's; '': none)")
        .def(py::init(&transmit_channel::make), py::arg("channel") = "jakes",
             py::arg("speed_kmh") = -1.0, py::arg("shadowing") = "off", py::arg("user") = 0,
             py::arg("noise_dbfs") = -200.0, py::arg("seed") = 1, py::arg("control") = "")
        .def("clipped", &transmit_channel::clipped,
             "Components beyond full scale, which the radio sends at full scale.");
    sync_class<impairments>(m, "impairments",
                            R"(What a radio does to a signal, in this order.

cfo_hz              carrier frequency offset, +-1e6; 0: none
clock_ppm           sampling clock offset, +-100; 0: none; negative: begins with a delay of 65536 samples
linewidth_hz        phase noise, 0..10000; 0: none
image_rejection_db  IQ imbalance, 3..200; 200: none
dc_dbfs             DC offset, -200..0; -200: none
bits                of the converter, 2..16; 0: none
seed                of the phase noise)")
        .def(py::init(&impairments::make), py::arg("cfo_hz") = 0.0, py::arg("clock_ppm") = 0.0,
             py::arg("linewidth_hz") = 0.0, py::arg("image_rejection_db") = 200.0,
             py::arg("dc_dbfs") = -200.0, py::arg("bits") = 0, py::arg("seed") = 1);
    block_class<rate_converter>(
        m, "rate_converter",
        R"(The same signal at another sample rate, times exact to the sample.

in_clock, in_divider    rate in: clock / divider, whole numbers
out_clock, out_divider  rate out
first                   outputs before this sample of their rate are left out

A tag rx_time or tx_time begins the stream anew at that time; the first output carries the time it
has at its own rate. tx_sob and tx_eob mark the same burst.)")
        .def(py::init(&rate_converter::make), py::arg("in_clock") = 100'000'000,
             py::arg("in_divider") = 12, py::arg("out_clock") = 7'680'000,
             py::arg("out_divider") = 1, py::arg("first") = 0)
        .def("set_first", &rate_converter::set_first, py::arg("first"),
             "For the stream that the next time begins anew.");
}

void bind_receiver(py::module& m) {
    using namespace gr::wip;
    block_class<synchroniser>(m, "synchroniser",
                              R"(Samples at 7.68 MS/s in, slots of 5120 samples out.

Tags on every slot: slot, cell, cfo_hz, cfo_phase, cfo_turn, timing_fraction, timing_samples,
timing_shift, pilot_score.

cell        0..63: that one and no other; -1: the strongest, whichever it is
start_slot  slot of the first sample when no rx_time tag says otherwise)")
        .def(py::init(&synchroniser::make), py::arg("cell") = 0, py::arg("start_slot") = 150)
        .def("locked", &synchroniser::locked)
        .def("cfo_hz", &synchroniser::cfo_hz, "CFO being corrected, Hz.")
        .def("locks", &synchroniser::locks, "How often lock has been reached.");
    sync_class<carrier_demapper>(
        m, "carrier_demapper",
        "A slot of 5120 samples to 6 x 500 resource elements, CFO and timing corrected as the "
        "synchroniser's tags say.")
        .def(py::init(&carrier_demapper::make));
    sync_class<channel_estimator>(m, "channel_estimator",
                                  R"(Resource elements of a slot (6 x 500) to three outputs:
equalised elements (6 x 500), channel at the slot's middle (500), SNR of each bin in dB (25).

cell        0..63, pilot sequence; a cell tag (of the synchroniser) counts more
start_slot  slot of the first item when no slot tag says otherwise)")
        .def(py::init(&channel_estimator::make), py::arg("cell") = 0, py::arg("start_slot") = 150)
        .def("slots", &channel_estimator::slots, "Slots seen.")
        .def("grants_ok", &channel_estimator::grants_ok,
             "Slots whose control symbols decoded and were used as known.");
    interpolator_class<payload_demapper>(m, "payload_demapper",
                                         "The 108 payload elements of each chosen bin, out of "
                                         "6 x 500 elements.\n\n"
                                         "bins  indexes 0..24, ascending; empty: all 25")
        .def(py::init(&payload_demapper::make), py::arg("bins") = std::vector<int>());
    sync_class<snr_predictor>(m, "snr_predictor",
                              R"(Channel (500) and SNR (25, dB) from a channel_estimator to the SNR
of every bin `horizon` slots later (25, dB).

horizon    slots, 0..64
predictor  last, ar, ls, kalman or delay)")
        .def(py::init(&snr_predictor::make), py::arg("horizon") = 3, py::arg("predictor") = "delay")
        .def("nmse", &snr_predictor::nmse,
             "E|g - g^|^2 / E|g|^2 of the linear SNR over the last ~300 slots.")
        .def("last_value_nmse", &snr_predictor::last_value_nmse,
             "The same when the last value is taken as prediction.");
}

void bind_meters(py::module& m) {
    using namespace gr::wip;
    block_class<combining_meter>(
        m, "combining_meter",
        R"(How many transmissions frames need, with and without chase combining.

Messages in: "single" and "combined", the "slots" (message_period 1) of two slot_receivers on the same
samples, combining off and on. Messages out: "failed", PDU of complex: per cent of frames that no
transmission brought, real: single, imaginary: combined, the last 200 updates; "needed_single" and
"needed_combined", PDUs of float: transmissions that each frame took (transmissions + 1: not received).

transmissions  of the test pattern, 1..8
update_slots   air time between two messages, 1..15000)")
        .def(py::init(&combining_meter::make), py::arg("transmissions") = 4,
             py::arg("update_slots") = 150)
        .def("single", &combining_meter::single,
             "Frames by the number of transmissions they took; last entry: not received.")
        .def("combined", &combining_meter::combined, "The same with combining.");
}

}  // namespace

void bind_fine_blocks(py::module& m) {
    bind_qam(m);
    bind_channel(m);
    bind_receiver(m);
    bind_meters(m);
}
