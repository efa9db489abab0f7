// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/receiver/slot_receiver.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "phy/coding/frame_number_search.h"
#include "phy/detection/slot_detector.h"
#include "phy/grid/signal_level.h"
#include "phy/math/product.h"
#include "phy/prediction/bin_power_filter.h"
#include "phy/prediction/predictor_succession.h"
#include "phy/receiver/slot_estimator.h"
#include "phy/sync/slot_synchroniser.h"

namespace wip::phy {

namespace {

constexpr std::int64_t hyperframe_slots = std::int64_t{frame_number_modulus} * slots_per_frame;
constexpr int contradictions_accepted = 3;
constexpr int maximum_grant_gap = 78;  // slots: after that first SN may be anywhere

std::int64_t modulo(std::int64_t a, std::int64_t m) { return (a % m + m) % m; }

int checked(const slot_receiver_config& c) {
    if (c.profile != link_profile::radio)
        throw std::invalid_argument(
            "profile is wipemu, which has no frame check on the air; valid in the PHY: radio");
    if (c.terminal != only_terminal && (c.terminal < 0 || c.terminal >= most_terminals))
        throw std::invalid_argument(not_valid("terminal", std::to_string(c.terminal),
                                              "0.." + std::to_string(most_terminals - 1) + ", or " +
                                                  std::to_string(only_terminal) +
                                                  " in a cell with one"));
    return c.cell == any_cell ? 0 : c.cell;
}

// The channel times `factor`.
void scale(bin_measurement& m, band_points& points, cf32 factor) {
    if (factor == cf32(1)) return;
    const float power = std::norm(factor);
    for (std::size_t b = 0; b < nof_bins; ++b) {
        m.gain[b] = product(m.gain[b], factor);
        m.power[b] *= power;
        points.between[b] *= power;
    }
    m.noise *= power;
    m.gain_noise *= power;
    for (std::size_t p = 0; p < nof_band_points; ++p) {
        const cf32 turned = product(factor, cf32(points.re[p], points.im[p]));
        points.re[p] = turned.real();
        points.im[p] = turned.imag();
    }
}

}  // namespace

struct slot_receiver::impl final : slot_user {
    using mode = receiver_mode;

    slot_synchroniser synchroniser;
    bool has_several_terminals;  // in the cell
    int terminal;                // number of this one; 0 in a cell with one
    slot_estimator estimator;
    slot_detector detector;
    bin_power_filter filter;
    predictor_succession predictor;

    receiver_state state;
    received_slot report;
    const on_slot_fn* report_slot = nullptr;  // the caller's function, during process()

    std::int64_t hyperframe_slot = 0;  // slot in hyperframe, when locked
    frame_number_search number_search;
    slot_grant accepted;                        // the last grant that was accepted
    int slots_since_grant = maximum_grant_gap;  // slots
    section_reader sections;                    // for a cell with several terminals
    // Slots since the beginning of the frame in which this candidate began; -1: none.
    std::int64_t slots_counted = -1;
    std::int64_t contradiction = -1;
    int contradictions = 0;
    bool held_lock = false;  // what is held was locked
    cf32 radio_gain = 1;     // error of the commanded gain steps

    explicit impl(const slot_receiver_config& c)
        : synchroniser(c.cell),
          has_several_terminals(c.terminal != only_terminal),
          terminal(has_several_terminals ? c.terminal : 0),
          estimator(checked(c),
                    has_several_terminals ? control_kind::common_grant : control_kind::grant,
                    terminal),
          detector(sender::to_terminal(checked(c), terminal), c.combining),
          predictor(
              std::make_unique<snr_predictor>(c.horizon_slots, c.predictor, c.make_predictor)) {
        synchroniser.correct_input(c.correct_input);
    }

    void process(sample first, std::span<const cf32> in, const on_slot_fn& f) {
        report_slot = &f;
        synchroniser.process(first, in, *this);
    }

    // ---- slot_user ----

    void on_candidate(int cell) noexcept override {
        ++state.candidates;
        enter(mode::confirming);
        state.cell = cell;
        estimator.set_sender(cell);
        detector.set_sender(sender::to_terminal(cell, terminal));
        estimator.reset();
        filter.reset();
        predictor.reset();
        contradictions = 0;
        number_search.reset();
        slots_counted = -1;
        sections.forget();
        slots_since_grant = maximum_grant_gap;
        radio_gain = 1;
    }

    void on_lock_lost(sync_loss why) noexcept override {
        if (state.mode == mode::locked || (state.mode == mode::holding && held_lock))
            ++state.lock_losses;
        // A candidate that was never synchronised counts as refuted, whatever the reason.
        switch (state.mode == mode::confirming ? sync_loss::refuted : why) {
            case sync_loss::refuted:
                ++state.candidates_refuted;
                break;
            case sync_loss::pilots_missing:
                ++state.losses_pilots;
                break;
            case sync_loss::gap:
                ++state.losses_gap;
                break;
            case sync_loss::jump_back:
                ++state.losses_jump;
                break;
        }
        enter(mode::searching);
        state.cell = -1;
        detector.clear();
    }

    void on_no_signal(sample begin) override {
        predictor.pass();
        clear_report(begin, mode::searching);
        (*report_slot)(report);
    }

    const channel_estimate* on_slot(const aligned_slot& s) override {
        if (state.mode == mode::confirming && s.state == sync_state::synchronised) {
            ++state.synchronisations;
            enter(mode::synchronised);
        }
        const bool holds = s.state == sync_state::holding;
        if (holds && state.mode != mode::holding) {
            ++state.holds;
            held_lock = state.locked;
            number_search.reset();  // the last slots may have been noise
            enter(mode::holding);
        } else if (!holds && state.mode == mode::holding) {
            enter(held_lock ? mode::locked : mode::synchronised);
        }
        slots_counted = slots_counted < 0 ? s.slot_in_frame : slots_counted + 1;
        slots_since_grant = std::min(slots_since_grant + 1, maximum_grant_gap);
        clear_report(s.start, state.mode);
        const bool measured = !s.missing && !holds && measure(s);
        if (!measured) {
            predictor.skip();
            filter.skip();
        }
        if (state.locked && !report.grant_ok) ++state.grants_failed;
        report.mode = state.mode;
        report.locked = state.locked;
        report.slot_in_hyperframe = hyperframe_slot;
        hyperframe_slot = (hyperframe_slot + 1) % hyperframe_slots;
        return measured ? &estimator.channel() : nullptr;
    }

    void on_tracking_updated() override {
        const auto& track = synchroniser.track();
        state.cfo_hz = track.cfo_hz();
        state.timing_samples = std::fmod(track.timing() + slot_samples, slot_samples);
        state.prediction_nmse = predictor.current().nmse();
        (*report_slot)(report);
    }

    // ----

    void enter(mode m) noexcept {
        state.mode = m;
        state.locked = m == mode::locked;
    }

    void clear_report(sample start, mode m) {
        report.start = start;
        report.mode = m;
        report.locked = m == mode::locked;
        report.slot_in_hyperframe = hyperframe_slot;
        report.grant_ok = false;
        report.grant = {};
        report.bins.fill({});
        report.channel = {};
        report.bin_noise = {};
        report.bin_power = {};
        if (m != mode::locked) {
            report.snr_db.fill(least_snr_db);
            report.predicted_snr_db.fill(least_snr_db);
        }
    }

    // False when the slot holds nothing that can be measured.
    bool measure(const aligned_slot& s) {
        if (!estimator.estimate(s.elements, s.slot_in_frame, due(), detector.image())) return false;
        const double unit_dbfs =
            20 * std::log10(static_cast<double>(symbol_amplitude())) + synchroniser.gain().value;
        state.level_dbfs =
            10 * std::log10(static_cast<double>(estimator.energy()) / symbols_per_slot) + unit_dbfs;
        state.evm_percent = estimator.evm_percent();
        if (estimator.grant() && s.state == sync_state::synchronised)
            accept(*estimator.grant(), s.slot_in_frame);
        else if (!state.locked)
            search_frame_number(s);
        measure_snr(s.gain_stepped);
        if (report.grant_ok) {
            const auto known = estimator.known();
            detector.detect(s.elements, estimator.channel(), estimator.bin_noise(), report.grant,
                            report.bins, &known);
            state.second_passes += detector.second_pass();
        }
        report.channel = estimator.middle();
        report.bin_noise = estimator.bin_noise();
        report.bin_power = estimator.power();
        report.unit_dbfs = static_cast<float>(unit_dbfs);
        return true;
    }

    // The grant's frame number against the count: the first one is accepted, later ones have to
    // agree; three in a row that disagree in the same way are right, and the count was wrong.
    void accept(const slot_grant& grant, int slot_in_frame) {
        const std::int64_t sent_number =
            std::int64_t{grant.frame_number} * slots_per_frame + slot_in_frame;
        if (!state.locked) {
            lock(sent_number);
        } else if (sent_number != hyperframe_slot) {
            const std::int64_t difference = modulo(sent_number - hyperframe_slot, hyperframe_slots);
            contradictions = difference == contradiction ? contradictions + 1 : 1;
            contradiction = difference;
            if (contradictions < contradictions_accepted) return;
            hyperframe_slot = sent_number;
        }
        contradictions = 0;
        report.grant = grant;
        if (has_several_terminals && !sections.take(report.grant)) return;
        accepted = report.grant;
        report.grant_ok = true;
        report.packed = estimator.packed();
        slots_since_grant = 0;
    }

    // The constraints on the next grant: in each slot there are at most as many new frames as bins,
    // and the window edge does not go back. Nothing is known about a grant that may be for other
    // terminals.
    std::optional<grant_due> due() const noexcept {
        if (!state.locked || has_several_terminals || slots_since_grant >= maximum_grant_gap)
            return {};
        return grant_due{
            .frame_number = static_cast<std::uint16_t>(hyperframe_slot / slots_per_frame),
            .first_new_sn = accepted.first_new_sn,
            .most_new = static_cast<std::uint16_t>(slots_since_grant * nof_bins),
            .window_edge = accepted.window_edge};
    }

    // Without a grant: adds this slot to the search for the frame number over several slots.
    void search_frame_number(const aligned_slot& s) noexcept {
        const auto found = number_search.add(estimator.control_bits(), estimator.control_scale(),
                                             slots_counted / slots_per_frame);
        if (found && s.state == sync_state::synchronised)
            lock(std::int64_t{*found} * slots_per_frame + s.slot_in_frame);
    }

    void lock(std::int64_t slot_in_hyperframe) noexcept {
        enter(mode::locked);
        ++state.locks;
        hyperframe_slot = slot_in_hyperframe;
    }

    // Predictors and filter see the channel at the gain of their history.
    void measure_snr(bool gain_stepped) {
        const auto& track = synchroniser.track();
        auto m = estimator.measurement(track.turn(), track.shift(), track.window());
        auto points = estimator.points(track.turn(), track.shift());
        scale(m, points, 1.F / radio_gain);
        if (gain_stepped) {
            const cf32 step = filter.step(m, points);
            radio_gain *= step;
            estimator.rescale(std::norm(step));
            m.noise *= std::norm(step);
            m.gain_noise *= std::norm(step);
            scale(m, points, 1.F / step);
        }
        std::array<float, nof_bins> predicted, power;
        predictor.update(m, predicted);
        filter.update(m, points, power);
        for (std::size_t b = 0; b < nof_bins; ++b) {
            report.snr_db[b] = reported_snr(power[b] / (m.noise + 1e-30F)).single();
            report.predicted_snr_db[b] = reported_snr(predicted[b]).single();
        }
    }
};

slot_receiver::slot_receiver(const slot_receiver_config& config)
    : impl_(std::make_unique<impl>(config)) {}
slot_receiver::~slot_receiver() = default;

void slot_receiver::process(sample first, std::span<const cf32> in, const on_slot_fn& report_slot) {
    impl_->process(first, in, report_slot);
}
void slot_receiver::set_grid(double later) noexcept { impl_->synchroniser.set_grid(later); }
void slot_receiver::set_gain(sample from, db gain, bool exact) noexcept {
    impl_->synchroniser.set_gain(from, gain, exact);
}
void slot_receiver::set_combining(bool on) noexcept { impl_->detector.set_combining(on); }
std::unique_ptr<snr_predictor> slot_receiver::succeed_predictor(
    std::unique_ptr<snr_predictor> next) noexcept {
    return impl_->predictor.succeed(std::move(next));
}
std::unique_ptr<snr_predictor> slot_receiver::take_retired_predictor() noexcept {
    return impl_->predictor.take_retired();
}
const predictor_choice& slot_receiver::predictor_in_use() const noexcept {
    return impl_->predictor.current().choice();
}
const receiver_state& slot_receiver::state() const noexcept { return impl_->state; }
void slot_receiver::want_soft_bits(bool on) noexcept { impl_->detector.want_soft_bits(on); }

}  // namespace wip::phy
