// SPDX-License-Identifier: GPL-3.0-or-later
// channel_estimator over wip::phy::slot_estimator, snr_predictor over wip::phy::snr_predictor.
#include <gnuradio/io_signature.h>
#include <gnuradio/wip/channel_estimator.h>
#include <gnuradio/wip/snr_predictor.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <span>
#include <string_view>

#include "checked_parameter.h"
#include "checked_predictor.h"
#include "phy/grid/sequence.h"
#include "phy/prediction/snr_predictor.h"
#include "phy/receiver/slot_estimator.h"
#include "resource_copy.h"
#include "slot_tags.h"

namespace gr::wip {

namespace {

constexpr std::size_t elements_bytes = ::wip::slot_elements * sizeof(gr_complex);
constexpr std::size_t channel_bytes = ::wip::nof_subcarriers * sizeof(gr_complex);
constexpr std::size_t bins_bytes = ::wip::nof_bins * sizeof(float);

// The SNR in dB, as a float, of a power ratio.
float reported_db(float ratio) { return ::wip::phy::reported_snr(ratio).single(); }

class channel_estimator_impl : public channel_estimator {
public:
    channel_estimator_impl(int cell, std::int64_t start_slot)
        : gr::sync_block(
              "channel_estimator", gr::io_signature::make(1, 1, elements_bytes),
              gr::io_signature::makev(
                  3, 3,
                  std::vector<int>{int{elements_bytes}, int{channel_bytes}, int{bins_bytes}})),
          estimator_(cell),
          cell_(cell),
          count_(checked_start_slot(start_slot)) {
        // Multiples of the page size, so that GNU Radio does not warn.
        set_min_output_buffer(0, 64);
        set_min_output_buffer(1, 128);
    }

    int work(int n, gr_vector_const_void_star& in, gr_vector_void_star& out) override {
        const auto* elements = static_cast<const gr_complex*>(in[0]);
        auto* equalised = static_cast<gr_complex*>(out[0]);
        auto* channel = static_cast<gr_complex*>(out[1]);
        auto* snr_db = static_cast<float*>(out[2]);
        get_tags_in_window(tags_, 0, 0, static_cast<std::uint64_t>(n));
        for (int i = 0; i < n; ++i) {
            // Samples were lost or repeated if the number is not the one after the last slot's.
            if (count_.take(tag_slot(tags_, nitems_read(0) + static_cast<std::uint64_t>(i))))
                estimator_.reset();
            const double cell =
                tag_number(tags_, nitems_read(0) + static_cast<std::uint64_t>(i), "cell", cell_);
            if (cell != cell_ && cell >= 0 && cell < ::wip::phy::nof_cells) {
                cell_ = static_cast<int>(cell);
                estimator_.set_sender(cell_);
                estimator_.reset();
            }
            ::wip::to_planes(elements, planes_);
            const bool measured = estimator_.estimate(
                planes_, static_cast<int>(count_.now() % ::wip::slots_per_frame));
            if (measured) {
                write(equalised, channel, snr_db);
            } else {
                std::fill_n(equalised, ::wip::slot_elements, gr_complex());
                std::fill_n(channel, ::wip::nof_subcarriers, gr_complex());
                std::fill_n(snr_db, ::wip::nof_bins, ::wip::phy::least_snr_db);
            }
            tag(nitems_written(0) + static_cast<std::uint64_t>(i));
            ++slots_;
            if (estimator_.grant()) ++grants_ok_;
            elements += ::wip::slot_elements;
            equalised += ::wip::slot_elements;
            channel += ::wip::nof_subcarriers;
            snr_db += ::wip::nof_bins;
        }
        return n;
    }

    std::uint64_t slots() const override { return slots_; }
    std::uint64_t grants_ok() const override { return grants_ok_; }

private:
    void write(gr_complex* equalised, gr_complex* channel, float* snr_db) const {
        estimator_.equalise(planes_, equalised);
        // The channel at the middle of the slot.
        std::copy(estimator_.middle().begin(), estimator_.middle().end(), channel);
        std::transform(estimator_.snr().begin(), estimator_.snr().end(), snr_db, reported_db);
    }
    void tag(std::uint64_t item) {
        for (unsigned port = 1; port < 3; ++port) {
            add_item_tag(port, item, pmt::mp("noise"),
                         pmt::from_double(double{estimator_.noise()}));
            add_item_tag(port, item, pmt::mp("bin_noise"),
                         pmt::init_f32vector(::wip::nof_bins, estimator_.bin_noise().data()));
            add_item_tag(port, item, pmt::mp("estimate_error"),
                         pmt::from_double(double{estimator_.channel().error}));
            add_item_tag(port, item, pmt::mp("grant_ok"),
                         pmt::from_bool(estimator_.grant().has_value()));
        }
    }

    ::wip::phy::slot_estimator estimator_;
    int cell_;
    slot_count_on count_;
    ::wip::slot_planes planes_;
    std::vector<tag_t> tags_;
    std::atomic<std::uint64_t> slots_ = 0, grants_ok_ = 0;
};

class snr_predictor_impl : public snr_predictor {
public:
    snr_predictor_impl(int horizon, const std::string& predictor)
        : gr::sync_block(
              "snr_predictor",
              gr::io_signature::makev(2, 2, std::vector<int>{int{channel_bytes}, int{bins_bytes}}),
              gr::io_signature::make(1, 1, bins_bytes)),
          user_predictors_(::wip::phy::make_gain_predictor),
          predictor_(horizon, predictor,
                     [this](std::string_view name, int ahead) {
                         return ::wip::make_checked(user_predictors_, name, ahead);
                     }),
          count_(0) {
        set_tag_propagation_policy(TPP_CUSTOM);  // the tags of both inputs are the same
    }

    int work(int n, gr_vector_const_void_star& in, gr_vector_void_star& out) override {
        const auto* channel = static_cast<const gr_complex*>(in[0]);
        const auto* snr_db = static_cast<const float*>(in[1]);
        auto* predicted_db = static_cast<float*>(out[0]);
        get_tags_in_window(tags_, 0, 0, static_cast<std::uint64_t>(n));
        for (int i = 0; i < n; ++i) {
            const std::uint64_t item = nitems_read(0) + static_cast<std::uint64_t>(i);
            const auto slot = tag_slot(tags_, item);
            // The number of a slot is not the one after the last slot's: slots are missing.
            if (count_.take(slot) && started_) predictor_.reset();
            started_ = true;
            predict(channel, snr_db, item, predicted_db);
            if (slot)
                add_item_tag(0, nitems_written(0) + static_cast<std::uint64_t>(i), pmt::mp("slot"),
                             pmt::from_uint64(static_cast<std::uint64_t>(*slot)));
            channel += ::wip::nof_subcarriers;
            snr_db += ::wip::nof_bins;
            predicted_db += ::wip::nof_bins;
        }
        nmse_ = predictor_.nmse();
        last_value_nmse_ = predictor_.last_value_nmse();
        if (user_predictors_.has_failed()) {
            GR_LOG_ERROR(d_logger, user_predictors_.failure());
            return WORK_DONE;
        }
        return n;
    }

    double nmse() const override { return nmse_; }
    double last_value_nmse() const override { return last_value_nmse_; }

private:
    void predict(const gr_complex* channel, const float* snr_db, std::uint64_t item,
                 float* predicted_db) {
        ::wip::phy::bin_measurement m;
        m.noise = static_cast<float>(tag_number(tags_, item, "noise", 1));
        m.gain_noise = m.noise * static_cast<float>(tag_number(tags_, item, "estimate_error", 0));
        // Without a decoded grant the control symbols are not known: the bin was measured with its
        // pilots alone.
        if (!tag_flag(tags_, item, "grant_ok", true)) m.known = ::wip::pilots_per_bin;
        // Tags of the block synchroniser: cfo_turn in radians, timing_shift in samples.
        m.gain = ::wip::phy::mean_gains(
            std::span<const gr_complex, ::wip::nof_subcarriers>(channel, ::wip::nof_subcarriers),
            tag_number(tags_, item, "cfo_turn", 0), tag_number(tags_, item, "timing_shift", 0));
        // As in slot_estimator::measurement(), the gain of a bin whose noise is above the slot's,
        // because of interference, is scaled down by the root of the ratio of the two.
        const auto bin_noise = tag_floats(tags_, item, "bin_noise", ::wip::nof_bins);
        for (std::size_t b = 0; b < ::wip::nof_bins; ++b) {
            m.power[b] = m.noise * std::pow(10.F, snr_db[b] / 10);
            if (!bin_noise.empty() && bin_noise[b] > m.noise)
                m.gain[b] *= std::sqrt(m.noise / bin_noise[b]);
        }
        std::array<float, ::wip::nof_bins> predicted;
        predictor_.update(m, predicted);
        std::transform(predicted.begin(), predicted.end(), predicted_db, reported_db);
    }

    ::wip::extension::own_predictors user_predictors_;  // predictors that a user has written
    ::wip::phy::snr_predictor predictor_;
    slot_count_on count_;
    bool started_ = false;
    std::vector<tag_t> tags_;
    std::atomic<double> nmse_ = 0, last_value_nmse_ = 0;
};

}  // namespace

channel_estimator::sptr channel_estimator::make(int cell, std::int64_t start_slot) {
    return gnuradio::make_block_sptr<channel_estimator_impl>(cell, start_slot);
}
snr_predictor::sptr snr_predictor::make(int horizon, const std::string& predictor) {
    return gnuradio::make_block_sptr<snr_predictor_impl>(horizon, predictor);
}

}  // namespace gr::wip
