// SPDX-License-Identifier: GPL-3.0-or-later
// States: searching -> confirming (timing, CFO and slot in frame believed, pilots and grant
// watched)
// -> locked (a grant with a good CRC has told the frame number). Lock is given up when the pilots
// have been missing for about 50 ms, when samples are missing for more than a frame, or when the
// sample count jumps back.
#include "phy/slot_receiver.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include "phy/acquisition.h"
#include "phy/pilots.h"
#include "phy/signal_level.h"
#include "phy/slot_detector.h"
#include "phy/slot_estimator.h"
#include "phy/slot_extractor.h"
#include "phy/snr_predictor.h"
#include "phy/tracking.h"

namespace wip::phy {

namespace {

constexpr std::int64_t hyperframe_slots = std::int64_t{frame_number_modulus} * slots_per_frame;
constexpr std::int64_t longest_gap = std::int64_t{slots_per_frame} * slot_samples;
constexpr std::int64_t history = 3 * slot_samples;
constexpr float pilot_pass = 0.25F;  // chance passes once in 500
constexpr int loss_after = 75;       // slots without pilots
constexpr int confirm_limit = 6;     // the same while confirming
constexpr int contradictions_believed = 3;

std::int64_t modulo(std::int64_t a, std::int64_t m) { return (a % m + m) % m; }

}  // namespace

struct slot_receiver::impl {
    enum class mode { searching, confirming, locked };

    slot_receiver_config config;
    pilots pilot_values;
    acquisition search;
    slot_extractor extractor;
    slot_estimator estimator;
    slot_detector detector;
    snr_predictor predictor;
    tracking track;

    mode now = mode::searching;
    receiver_state state;
    received_slot report;

    // Samples buffer_start .. buffer_start + filled.
    std::vector<cf32> buffer = std::vector<cf32>(8 * slot_samples);
    std::int64_t buffer_start = 0;
    std::int64_t filled = 0;
    bool started = false;
    std::int64_t next_start = 0;              // of the next slot (or block of 5120 while searching)
    std::int64_t lost_from = 0, lost_to = 0;  // missing samples, replaced by zeros

    int slot_in_frame = 0;
    std::int64_t hyper = 0;  // slot in hyperframe, when locked
    int pilot_failures = 0;
    std::int64_t contradiction = -1;
    int contradictions = 0;

    slot_planes elements;

    explicit impl(const slot_receiver_config& c)
        : config(c),
          pilot_values(c.cell),
          search(pilot_values),
          estimator(c.cell),
          detector(c.cell, c.combining),
          predictor(c.horizon_slots) {
        if (c.profile != link_profile::radio)
            throw std::invalid_argument(
                "profile: the PHY carries radio only (wipemu has no frame check on the air)");
    }

    // ---- samples ----

    std::int64_t end() const { return buffer_start + filled; }

    void process(sample first, std::span<const cf32> in, const on_slot_fn& on_slot) {
        if (in.empty()) return;
        if (!started) restart(first.value);
        const std::int64_t gap = first.value - end();
        if (gap < 0 || gap > longest_gap) {
            restart(first.value);
        } else if (gap > 0) {
            if (next_start >= lost_to) lost_from = end();
            lost_to = first.value;
            feed(nullptr, gap, on_slot);
        }
        feed(in.data(), static_cast<std::int64_t>(in.size()), on_slot);
    }

    void restart(std::int64_t first) {
        lose_lock();
        started = true;
        buffer_start = first;
        filled = 0;
        next_start = first + modulo(-first, slot_samples);
        lost_from = lost_to = first;
    }

    // nullptr: zeros.
    void feed(const cf32* in, std::int64_t count, const on_slot_fn& on_slot) {
        while (count > 0) {
            const std::int64_t n = std::min<std::int64_t>(count, slot_samples);
            cf32* to = buffer.data() + filled;
            if (in != nullptr) {
                std::memcpy(static_cast<void*>(to), in, static_cast<std::size_t>(n) * sizeof(cf32));
                in += n;
            } else {
                std::fill_n(to, n, cf32{});
            }
            filled += n;
            count -= n;
            run(on_slot);
            trim();
        }
    }

    void run(const on_slot_fn& on_slot) {
        for (;;) {
            if (now == mode::searching) {
                if (end() < next_start + slot_samples) return;
                search_block(on_slot);
            } else {
                if (end() < next_start + slot_samples - window_advance) return;
                track_slot(on_slot);
            }
        }
    }

    void trim() {
        const std::int64_t keep_from =
            next_start - (now == mode::searching ? history : std::int64_t{64});
        const std::int64_t drop = std::min(keep_from - buffer_start, filled);
        if (drop <= 0) return;
        std::memmove(static_cast<void*>(buffer.data()), buffer.data() + drop,
                     static_cast<std::size_t>(filled - drop) * sizeof(cf32));
        buffer_start += drop;
        filled -= drop;
    }

    // ---- searching ----

    void search_block(const on_slot_fn& on_slot) {
        const std::int64_t block_end = next_start + slot_samples;
        const cf32* past = buffer.data() + (block_end - buffer_start);
        const auto found =
            search.step(past, static_cast<std::size_t>(block_end - buffer_start), block_end);
        blank_report(next_start);
        next_start = block_end;
        if (found) {
            // The slot nearest to the end of this block.
            const std::int64_t ahead =
                (block_end - found->slot_start + slot_samples / 2) / slot_samples;
            next_start = found->slot_start + ahead * slot_samples;
            slot_in_frame = static_cast<int>(modulo(found->slot_in_frame + ahead, slots_per_frame));
            track.start(next_start, found->cfo_hz);
            estimator.reset();
            predictor.reset();
            now = mode::confirming;
            pilot_failures = 0;
            contradictions = 0;
        }
        on_slot(report);
    }

    void lose_lock() {
        if (now == mode::locked) ++state.lock_losses;
        now = mode::searching;
        state.locked = false;
        search.reset();
        detector.clear();
    }

    void blank_report(std::int64_t start) {
        report.start = sample(start);
        report.locked = now == mode::locked;
        report.slot_in_hyperframe = hyper;
        report.grant_ok = false;
        report.grant = {};
        report.bins.fill({});
        report.channel = {};
        if (now != mode::locked) {
            report.snr_db.fill(least_snr_db);
            report.predicted_snr_db.fill(least_snr_db);
        }
    }

    // ---- one slot ----

    void track_slot(const on_slot_fn& on_slot) {
        blank_report(next_start);
        const bool missing = next_start < lost_to && next_start + slot_samples > lost_from;
        if (missing || !measure()) {
            track.forget_last();
            predictor.skip();
            if (!missing) ++pilot_failures;
        }
        if (now == mode::locked && !report.grant_ok) ++state.grants_failed;
        report.locked = now == mode::locked;
        report.slot_in_hyperframe = hyper;
        track.advance();
        next_start = track.slot_start();
        slot_in_frame = (slot_in_frame + 1) % slots_per_frame;
        hyper = (hyper + 1) % hyperframe_slots;
        state.locked = now == mode::locked;
        state.cfo_hz = track.cfo_hz();
        state.timing_samples =
            std::fmod(std::fmod(track.timing(), slot_samples) + slot_samples, slot_samples);
        state.prediction_nmse = predictor.nmse();
        if (pilot_failures > (now == mode::locked ? loss_after : confirm_limit)) lose_lock();
        on_slot(report);
    }

    // False when the slot holds nothing that can be measured.
    bool measure() {
        extractor.set_cfo(track.cfo_hz());
        extractor.set_fraction(track.fraction());
        extractor.extract(buffer.data() + (next_start - buffer_start), track.phase(), elements);
        if (!estimator.estimate(elements, slot_in_frame)) return false;
        state.level_dbfs =
            10 * std::log10(static_cast<double>(estimator.energy()) / symbols_per_slot) +
            20 * std::log10(static_cast<double>(symbol_amplitude()));
        state.evm_percent = estimator.evm_percent();
        const bool pilots_there = estimator.pilot_score() > pilot_pass;
        pilot_failures = pilots_there ? std::max(0, pilot_failures - 3) : pilot_failures + 1;
        if (estimator.grant()) accept(*estimator.grant());
        measure_snr();
        if (report.grant_ok) {
            const auto known = estimator.known();
            detector.detect(elements, estimator.channel(), estimator.noise(), report.grant,
                            report.bins, &known);
            state.second_looks += detector.second_look();
        }
        if (pilots_there) track.update(estimator.channel());
        report.channel = estimator.middle();
        return true;
    }

    // The grant's frame number against the count: the first one is believed, later ones have to
    // agree; three in a row that disagree in the same way are right, and the count was wrong.
    void accept(const slot_grant& grant) {
        const std::int64_t told =
            std::int64_t{grant.frame_number} * slots_per_frame + slot_in_frame;
        if (now == mode::confirming) {
            now = mode::locked;
            ++state.locks;
            hyper = told;
        } else if (told != hyper) {
            const std::int64_t difference = modulo(told - hyper, hyperframe_slots);
            contradictions = difference == contradiction ? contradictions + 1 : 1;
            contradiction = difference;
            if (contradictions < contradictions_believed) return;
            hyper = told;
        }
        contradictions = 0;
        report.grant_ok = true;
        report.grant = grant;
    }

    void measure_snr() {
        std::array<float, nof_bins> predicted;
        predictor.update(estimator.measurement(track.turn(), track.shift()), predicted);
        for (std::size_t b = 0; b < nof_bins; ++b) {
            report.snr_db[b] = snr_to_db(estimator.snr()[b]);
            report.predicted_snr_db[b] = snr_to_db(predicted[b]);
        }
    }
};

slot_receiver::slot_receiver(const slot_receiver_config& config)
    : impl_(std::make_unique<impl>(config)) {}
slot_receiver::~slot_receiver() = default;

void slot_receiver::process(sample first, std::span<const cf32> in, const on_slot_fn& on_slot) {
    impl_->process(first, in, on_slot);
}
const receiver_state& slot_receiver::state() const noexcept { return impl_->state; }
void slot_receiver::want_soft_bits(bool on) noexcept { impl_->detector.want_soft_bits(on); }

}  // namespace wip::phy
