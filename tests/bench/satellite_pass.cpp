// SPDX-License-Identifier: GPL-3.0-or-later
// The pass of a satellite on samples, from the first second to the last: a base station's
// modulator, the distance to a satellite 600 km high that passes overhead, noise, and a terminal's
// receiver in one thread. The distance delays the samples and turns a carrier of 2 GHz, and neither
// end corrects anything; openwip channel pass has the same closed form. With two legs the delay is
// that of both and the Doppler shift that of one, because the gateway corrects its own.
//
// The report is one line of JSON for each minute and one for the whole pass: slots without lock or
// without a grant, frames that failed, the largest errors of CFO and timing, all from slot 100 on,
// when the receiver has locked. Exit code 1: lock was lost, or never came.
//   satellite_pass [seconds [bits_per_symbol [snr_db [legs]]]]     default 600, 2, 20, 1
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <span>
#include <vector>

#include "../unit/phy/phy_link.h"
#include "bench_length.h"
#include "sample/block_filter.h"
#include "sample/moving_delay.h"
#include "sample/noise.h"

namespace {

using namespace wip;
using namespace wip::phy;
using sample_model::moving_delay;

constexpr double light_mps = 299792458, earth_m = 6371e3, orbit_m = 6971e3, carrier_hz = 2e9;
constexpr double rate_hz = static_cast<double>(sample_rate_hz);
constexpr int settled = 100;  // slots; what is before is the acquisition

// The satellite is overhead in the middle of the pass.
class orbit {
public:
    explicit orbit(double seconds) : half_s_(seconds / 2) {}

    double distance_m(double t) const noexcept {
        return std::sqrt(earth_m * earth_m + orbit_m * orbit_m -
                         2 * earth_m * orbit_m * std::cos(turning_ * (t - half_s_)));
    }
    double delay_s(double t) const noexcept { return distance_m(t) / light_mps; }
    double doppler_hz(double t) const noexcept {
        return -carrier_hz * (delay_s(t + 1e-3) - delay_s(t - 1e-3)) / 2e-3;
    }

private:
    double half_s_;
    double turning_ = std::sqrt(3.986004418e14 / (orbit_m * orbit_m * orbit_m));
};

// Delays the samples by `legs` times the way and turns them by one of the ways. Delay and phase are
// those of the closed form every 64 samples, and on a straight line between.
class way {
public:
    way(const orbit& path, int legs, double longest_s)
        : path_(path),
          legs_(legs),
          history_(static_cast<std::int64_t>(longest_s * legs * rate_hz) + moving_delay::width +
                   4 * moving_delay::block) {
        history_.restart(0);
    }
    void work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out) noexcept {
        sample_model::filter_blocks<moving_delay::block>(
            history_, first, in, out,
            [this](std::int64_t number) {
                filter_.prepare(number, [this](std::int64_t n) { return delay(n); });
            },
            [this](auto count, std::int64_t start, int v, float* re, float* im) {
                filter_.filter<count()>(history_, start, v, re, im);
            });
        for (std::size_t n = 0; n < out.size(); n += moving_delay::block) {
            const std::int64_t at = first + static_cast<std::int64_t>(n);
            const double begin = turns(at),
                         step = (turns(at + moving_delay::block) - begin) / moving_delay::block;
            const auto by = std::polar(1.0, -2 * std::numbers::pi * std::remainder(step, 1.0));
            auto w = std::polar(1.0, -2 * std::numbers::pi * std::remainder(begin, 1.0));
            const std::size_t end = std::min(n + moving_delay::block, out.size());
            for (std::size_t i = n; i < end; ++i, w *= by) out[i] *= cf32(w);
        }
    }

private:
    static double seconds(std::int64_t n) noexcept { return static_cast<double>(n) / rate_hz; }
    double turns(std::int64_t n) const noexcept { return carrier_hz * path_.delay_s(seconds(n)); }
    std::int64_t delay(std::int64_t n) const noexcept {
        return std::llround(legs_ * path_.delay_s(seconds(n)) * rate_hz *
                            static_cast<double>(moving_delay::one));
    }
    const orbit& path_;
    int legs_;
    moving_delay filter_;
    sample_model::history_buffer history_;
};

struct counts {
    std::int64_t slots = 0, unlocked = 0, no_grant = 0, good = 0, bad = 0;
    double cfo_error_hz = 0, timing_error_samples = 0;

    void add(const counts& c) noexcept {
        slots += c.slots, unlocked += c.unlocked, no_grant += c.no_grant, good += c.good,
            bad += c.bad;
        cfo_error_hz = std::max(cfo_error_hz, c.cfo_error_hz);
        timing_error_samples = std::max(timing_error_samples, c.timing_error_samples);
    }
    void print() const {
        std::printf(
            "\"slots\": %lld, \"unlocked\": %lld, \"no_grant\": %lld, \"good\": %lld, \"bad\": "
            "%lld, \"cfo_error_hz\": %.1f, \"timing_error_samples\": %.3f",
            static_cast<long long>(slots), static_cast<long long>(unlocked),
            static_cast<long long>(no_grant), static_cast<long long>(good),
            static_cast<long long>(bad), cfo_error_hz, timing_error_samples);
    }
};

// A number from the command line between `least` and `most`, or `usual`.
double number(int argc, char** argv, int at, const char* what, double usual, double least,
              double most) {
    if (argc <= at) return usual;
    char* end = nullptr;
    const double v = std::strtod(argv[at], &end);
    if (*argv[at] != '\0' && *end == '\0' && v >= least && v <= most) return v;
    std::fprintf(stderr, "%s: %s is '%s'; valid: %g..%g\n", argv[0], what, argv[at], least, most);
    std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
    const int seconds = bench::length(argc, argv, "seconds", 600, 1, 600);
    const int bits = static_cast<int>(number(argc, argv, 2, "bits_per_symbol", 2, 1, 8));
    const double snr_db = number(argc, argv, 3, "snr_db", 20, -10, 60);
    const int legs = static_cast<int>(number(argc, argv, 4, "legs", 1, 1, 2));

    const orbit path(seconds);
    way space(path, legs, path.delay_s(0) + 1e-4);
    const double amplitude = static_cast<double>(symbol_amplitude());
    sample_model::noise noise(amplitude * amplitude * fft_size * std::pow(10, -snr_db / 10), 7);
    slot_modulator modulator({});
    slot_receiver receiver({});
    test::slot_source source(bits);

    const auto begun = std::chrono::steady_clock::now();
    counts minute, all;
    std::int64_t locked_at = -1;
    std::vector<cf32> y(slot_samples);
    const std::int64_t slots = std::int64_t{slots_per_second} * seconds;
    for (std::int64_t i = 0; i < slots; ++i) {
        const std::int64_t first = i * slot_samples;
        space.work(first, test::modulate(modulator, source.make(slot(150 + i))), y);
        noise.work(y, y);
        receiver.process(first_sample(slot(150 + i)), y, [&](const received_slot& r) {
            if (r.locked && locked_at < 0) locked_at = i;
            if (i < settled) return;
            ++minute.slots;
            minute.unlocked += !r.locked;
            minute.no_grant += !r.grant_ok;
            for (const auto& b : r.bins) {
                minute.good += b.outcome == frame_outcome::good;
                minute.bad += b.outcome == frame_outcome::bad;
            }
        });
        const double now = static_cast<double>(i + 1) / slots_per_second;
        if (i >= settled && receiver.state().locked) {
            const double late = legs * path.delay_s(now) * rate_hz + moving_delay::latency;
            minute.cfo_error_hz = std::max(
                minute.cfo_error_hz, std::abs(receiver.state().cfo_hz - path.doppler_hz(now)));
            minute.timing_error_samples =
                std::max(minute.timing_error_samples,
                         std::abs(std::remainder(receiver.state().timing_samples - late,
                                                 static_cast<double>(slot_samples))));
        }
        if ((i + 1) % (60 * slots_per_second) == 0 || i + 1 == slots) {
            std::printf("{\"end_s\": %.0f, \"delay_ms\": %.3f, \"doppler_hz\": %.0f, ", now,
                        1e3 * legs * path.delay_s(now), path.doppler_hz(now));
            minute.print();
            std::printf("}\n");
            std::fflush(stdout);
            all.add(minute);
            minute = {};
        }
    }
    const double took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    std::printf("{\"seconds\": %d, \"bits_per_symbol\": %d, \"snr_db\": %g, \"legs\": %d, ",
                seconds, bits, snr_db, legs);
    all.print();
    std::printf(", \"locked_at_slot\": %lld, \"lock_losses\": %llu, \"took_s\": %.0f}\n",
                static_cast<long long>(locked_at),
                static_cast<unsigned long long>(receiver.state().lock_losses), took);
    return locked_at < 0 || receiver.state().lock_losses > 0 || all.unlocked > 0 ? 1 : 0;
}
