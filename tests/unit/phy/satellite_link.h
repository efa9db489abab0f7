// SPDX-License-Identifier: GPL-3.0-or-later
// A link over a satellite 600 km high that passes overhead: a base station's modulator, the
// distance, noise, and a terminal's receiver in one thread. The distance delays the samples and
// turns a carrier of 2 GHz, and neither end corrects anything; `openwip channel pass` has the same
// closed form. With two legs the delay is that of both and the Doppler shift that of one, because
// the gateway corrects its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "phy_link.h"
#include "sample/block_filter.h"
#include "sample/moving_delay.h"
#include "sample/noise.h"

namespace wip::phy::test {

// Times are in seconds from the moment when the satellite is overhead.
class overhead_pass {
public:
    static constexpr double carrier_hz = 2e9;

    double delay_s(double t) const noexcept {  // of one leg
        return std::sqrt(earth_m * earth_m + orbit_m * orbit_m -
                         2 * earth_m * orbit_m * std::cos(turning_ * t)) /
               light_mps;
    }
    double doppler_hz(double t) const noexcept {
        return -carrier_hz * (delay_s(t + 1e-3) - delay_s(t - 1e-3)) / 2e-3;
    }

private:
    static constexpr double light_mps = 299792458, earth_m = 6371e3, orbit_m = 6971e3;
    double turning_ = std::sqrt(3.986004418e14 / (orbit_m * orbit_m * orbit_m));  // rad/s
};

// What was received in some slots, and the largest errors of the receiver's CFO and timing in them.
struct pass_counts {
    std::int64_t slots = 0, unlocked = 0, no_grant = 0, good = 0, bad = 0;
    double cfo_error_hz = 0, timing_error_samples = 0;

    void add(const pass_counts& c) noexcept {
        slots += c.slots, unlocked += c.unlocked, no_grant += c.no_grant, good += c.good,
            bad += c.bad;
        cfo_error_hz = std::max(cfo_error_hz, c.cfo_error_hz);
        timing_error_samples = std::max(timing_error_samples, c.timing_error_samples);
    }
};

class satellite_link {
public:
    static constexpr int settled = 100;  // slots; those before are the acquisition and not counted

    // `from_s`: when the first sample is received, in the time of the pass, at most 0.
    satellite_link(double from_s, int bits_per_symbol, double snr_db, int legs = 1)
        : from_s_(from_s),
          legs_(legs),
          history_(static_cast<std::int64_t>((pass_.delay_s(from_s) + 1e-4) * legs * rate_hz) +
                   moving_delay::width + 4 * moving_delay::block),
          noise_(std::pow(symbol_amplitude(), 2) * fft_size * std::pow(10, -snr_db / 10), 7),
          modulator_({}),
          receiver_({}),
          source_(bits_per_symbol),
          heard_(slot_samples) {
        history_.restart(0);
    }
    // The next slot is sent, and what is received meanwhile is counted.
    void step(pass_counts& counts) {
        const slot air(150 + slots_);
        pass(slots_ * slot_samples, modulate(modulator_, source_.make(air)));
        noise_.work(heard_, heard_);
        receiver_.process(first_sample(air), heard_, [&](const received_slot& r) {
            if (r.locked && locked_at_ < 0) locked_at_ = slots_;
            if (slots_ < settled) return;
            ++counts.slots;
            counts.unlocked += !r.locked;
            counts.no_grant += !r.grant_ok;
            for (const auto& b : r.bins) {
                counts.good += b.outcome == frame_outcome::good;
                counts.bad += b.outcome == frame_outcome::bad;
            }
        });
        if (++slots_ <= settled || !state().locked) return;
        const double late = legs_ * delay_s() * rate_hz + moving_delay::latency;
        counts.cfo_error_hz =
            std::max(counts.cfo_error_hz, std::abs(state().cfo_hz - doppler_hz()));
        counts.timing_error_samples =
            std::max(counts.timing_error_samples,
                     std::abs(std::remainder(state().timing_samples - late,
                                             static_cast<double>(slot_samples))));
    }
    std::int64_t locked_at() const noexcept { return locked_at_; }  // slot; -1: never
    const receiver_state& state() const noexcept { return receiver_.state(); }
    // At the end of the last slot: seconds of one leg, Hz.
    double delay_s() const noexcept { return pass_.delay_s(time(slots_ * slot_samples)); }
    double doppler_hz() const noexcept { return pass_.doppler_hz(time(slots_ * slot_samples)); }

private:
    using moving_delay = sample_model::moving_delay;
    static constexpr double rate_hz = static_cast<double>(sample_rate_hz);

    double time(std::int64_t n) const noexcept {
        return from_s_ + static_cast<double>(n) / rate_hz;
    }
    double turns(std::int64_t n) const noexcept {
        return overhead_pass::carrier_hz * pass_.delay_s(time(n));
    }
    // Delay and phase are those of the closed form every 64 samples, and on a straight line
    // between.
    void pass(std::int64_t first, std::span<const cf32> sent) {
        sample_model::filter_blocks<moving_delay::block>(
            history_, first, sent, heard_,
            [this](std::int64_t number) {
                filter_.prepare(number, [this](std::int64_t n) {
                    return std::llround(legs_ * pass_.delay_s(time(n)) * rate_hz *
                                        static_cast<double>(moving_delay::one));
                });
            },
            [this](auto count, std::int64_t start, int v, float* re, float* im) {
                filter_.filter<count()>(history_, start, v, re, im);
            });
        for (std::size_t n = 0; n < heard_.size(); n += moving_delay::block) {
            const std::int64_t at = first + static_cast<std::int64_t>(n);
            const double begin = turns(at),
                         step = (turns(at + moving_delay::block) - begin) / moving_delay::block;
            const auto by = std::polar(1.0, -2 * std::numbers::pi * std::remainder(step, 1.0));
            auto w = std::polar(1.0, -2 * std::numbers::pi * std::remainder(begin, 1.0));
            const std::size_t end = std::min(n + moving_delay::block, heard_.size());
            for (std::size_t i = n; i < end; ++i, w *= by) heard_[i] *= cf32(w);
        }
    }

    overhead_pass pass_;
    double from_s_;
    int legs_;
    moving_delay filter_;
    sample_model::history_buffer history_;
    sample_model::noise noise_;
    slot_modulator modulator_;
    slot_receiver receiver_;
    slot_source source_;
    std::vector<cf32> heard_;
    std::int64_t slots_ = 0, locked_at_ = -1;
};

}  // namespace wip::phy::test
