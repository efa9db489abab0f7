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
    sync_class<qam_mapper>(m, "qam_mapper", qam_mapper::doc)
        .def(py::init(&qam_mapper::make), py::arg("bits_per_symbol") = 2)
        .def("points", &qam_mapper::points, "Point of each label.");
    sync_class<qam_demapper>(m, "qam_demapper", qam_demapper::doc)
        .def(py::init(&qam_demapper::make), py::arg("bits_per_symbol") = 2);
    interpolator_class<qam_soft_demapper>(m, "qam_soft_demapper", qam_soft_demapper::doc)
        .def(py::init(&qam_soft_demapper::make), py::arg("bits_per_symbol") = 2,
             py::arg("noise_variance") = 1.0);
}

void bind_channel(py::module& m) {
    using namespace gr::wip;
    sync_class<fading_channel>(m, "fading_channel", fading_channel::doc)
        .def(py::init(&fading_channel::make), py::arg("delays_ns") = std::vector<double>{0},
             py::arg("powers_db") = std::vector<double>{0}, py::arg("doppler_hz") = 125.0,
             py::arg("fading") = "rayleigh", py::arg("snr_db") = 30.0, py::arg("seed") = 1,
             py::arg("channel") = "taps", py::arg("shadowing_db") = 0.0)
        .def("set_snr_db", &fading_channel::set_snr_db, py::arg("snr_db"))
        .def("response", &fading_channel::response, py::arg("index"), py::arg("hz"),
             "Frequency response at the offset hz for output sample `index`, without the latency "
             "of 6 samples.");
    sync_class<transmit_channel>(m, "transmit_channel", transmit_channel::doc)
        .def(py::init(&transmit_channel::make), py::arg("channel") = "jakes",
             py::arg("speed_kmh") = -1.0, py::arg("shadowing") = "off", py::arg("user") = 0,
             py::arg("noise_dbfs") = -200.0, py::arg("seed") = 1, py::arg("control") = "")
        .def("clipped", &transmit_channel::clipped,
             "Components beyond full scale, which the radio sends at full scale.");
    sync_class<impairments>(m, "impairments", impairments::doc)
        .def(py::init(&impairments::make), py::arg("cfo_hz") = 0.0, py::arg("clock_ppm") = 0.0,
             py::arg("linewidth_hz") = 0.0, py::arg("image_rejection_db") = 200.0,
             py::arg("dc_dbfs") = -200.0, py::arg("bits") = 0, py::arg("seed") = 1);
    block_class<rate_converter>(m, "rate_converter", rate_converter::doc)
        .def(py::init(&rate_converter::make), py::arg("in_clock") = 100'000'000,
             py::arg("in_divider") = 12, py::arg("out_clock") = 7'680'000,
             py::arg("out_divider") = 1, py::arg("first") = 0)
        .def("set_first", &rate_converter::set_first, py::arg("first"),
             "For the stream that the next time begins anew.");
}

void bind_receiver(py::module& m) {
    using namespace gr::wip;
    block_class<synchroniser>(m, "synchroniser", synchroniser::doc)
        .def(py::init(&synchroniser::make), py::arg("cell") = 0, py::arg("start_slot") = 150)
        .def("locked", &synchroniser::locked)
        .def("cfo_hz", &synchroniser::cfo_hz, "CFO being corrected, Hz.")
        .def("locks", &synchroniser::locks, "How often lock has been reached.");
    sync_class<carrier_demapper>(m, "carrier_demapper", carrier_demapper::doc)
        .def(py::init(&carrier_demapper::make));
    sync_class<channel_estimator>(m, "channel_estimator", channel_estimator::doc)
        .def(py::init(&channel_estimator::make), py::arg("cell") = 0, py::arg("start_slot") = 150)
        .def("slots", &channel_estimator::slots, "Slots seen.")
        .def("grants_ok", &channel_estimator::grants_ok,
             "Slots whose control symbols decoded and were used as known.");
    interpolator_class<payload_demapper>(m, "payload_demapper", payload_demapper::doc)
        .def(py::init(&payload_demapper::make), py::arg("bins") = std::vector<int>());
    sync_class<snr_predictor>(m, "snr_predictor", snr_predictor::doc)
        .def(py::init(&snr_predictor::make), py::arg("horizon") = 3, py::arg("predictor") = "delay")
        .def("nmse", &snr_predictor::nmse,
             "E|g - g^|^2 / E|g|^2 of the linear SNR over the last ~300 slots.")
        .def("last_value_nmse", &snr_predictor::last_value_nmse,
             "The same when the last value is taken as prediction.");
}

void bind_meters(py::module& m) {
    using namespace gr::wip;
    block_class<combining_meter>(m, "combining_meter", combining_meter::doc)
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
