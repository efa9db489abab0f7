// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/receiver/uplink_receiver.h"

#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include "phy/detection/slot_detector.h"
#include "phy/grid/sender.h"
#include "phy/grid/signal_level.h"
#include "phy/receiver/slot_estimator.h"
#include "phy/sync/slot_synchroniser.h"
#include "types/not_valid.h"

namespace wip::phy {

namespace {

sender checked(const uplink_receiver_config& c) {
    if (c.cell < 0 || c.cell >= nof_cells)
        throw std::invalid_argument(
            not_valid("cell", std::to_string(c.cell), "0.." + std::to_string(nof_cells - 1)));
    return sender::on_uplink(c.cell, c.terminal);
}

}  // namespace

struct uplink_receiver::impl final : slot_user {
    slot_synchroniser synchroniser;
    slot_estimator estimator;
    slot_detector detector;
    uplink_receiver_counts counts;
    uplink_slot report;
    bool found = false;               // synchronised since the candidate began
    const units_fn* units = nullptr;  // both during process()
    const on_slot_fn* report_slot = nullptr;

    explicit impl(const uplink_receiver_config& c)
        : synchroniser(checked(c)),
          estimator(checked(c), control_kind::feedback),
          detector(checked(c), c.combining) {
        synchroniser.correct_input(c.correct_input);
    }

    // ---- slot_user ----

    void on_candidate(int) noexcept override {
        estimator.reset();
        found = false;
    }

    void on_lock_lost(sync_loss) noexcept override {
        counts.losses += found;
        found = false;
        detector.clear();
    }

    void on_no_signal(sample begin) override {
        clear_report(begin);
        (*report_slot)(report);
    }

    const channel_estimate* on_slot(const aligned_slot& s) override {
        clear_report(s.start);
        if (s.state >= sync_state::synchronised && !found) {
            found = true;
            ++counts.synchronisations;
        }
        const bool measured = !s.missing && s.state != sync_state::holding &&
                              estimator.estimate(s.elements, s.slot_in_frame);
        if (measured && s.state == sync_state::synchronised) detect(s);
        return measured ? &estimator.channel() : nullptr;
    }

    void on_tracking_updated() override { (*report_slot)(report); }

    // ----

    void clear_report(sample start) {
        report.start = start;
        report.heard = report.form_ok = false;
        report.bins.fill({});
        report.snr_db.fill(least_snr_db);
    }

    void detect(const aligned_slot& s) {
        ++counts.slots;
        report.heard = true;
        report.slot_in_frame = s.slot_in_frame;
        report.form_ok = estimator.control_ok();
        if (report.form_ok)
            report.form = estimator.packed();
        else
            ++counts.forms_failed;
        for (std::size_t b = 0; b < nof_bins; ++b)
            report.snr_db[b] = reported_snr(estimator.snr()[b]).single();
        const auto& power = estimator.power();
        const float mean = std::accumulate(power.begin(), power.end(), 0.F) / nof_bins;
        report.level_dbfs = nominal_transmit_level.value + synchroniser.gain().value +
                            10 * std::log10(static_cast<double>(mean) + 1e-30);
        const auto& track = synchroniser.track();
        report.timing_samples = std::fmod(track.timing() + slot_samples, slot_samples);
        report.cfo_hz = track.cfo_hz();
        const slot_grant* granted = (*units)(s.start, s.slot_in_frame);
        if (granted == nullptr) return;
        const auto known = estimator.known();
        detector.detect(s.elements, estimator.channel(), estimator.bin_noise(), *granted,
                        report.bins, report.form_ok ? &known : nullptr);
        counts.second_passes += detector.second_pass();
    }
};

uplink_receiver::uplink_receiver(const uplink_receiver_config& config)
    : impl_(std::make_unique<impl>(config)) {}
uplink_receiver::~uplink_receiver() = default;
uplink_receiver::uplink_receiver(uplink_receiver&&) noexcept = default;
uplink_receiver& uplink_receiver::operator=(uplink_receiver&&) noexcept = default;

void uplink_receiver::process(sample first, std::span<const cf32> in, const units_fn& units,
                              const on_slot_fn& on_slot) {
    impl_->units = &units;
    impl_->report_slot = &on_slot;
    impl_->synchroniser.process(first, in, *impl_);
}

const uplink_receiver_counts& uplink_receiver::counts() const noexcept { return impl_->counts; }

}  // namespace wip::phy
