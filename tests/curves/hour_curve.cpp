// SPDX-License-Identifier: GPL-3.0-or-later
// Long runs; --trials is their length in seconds, 3600 for the hour.
//
// noise: the receiver that searches all cells, on white noise alone: candidates and false
// synchronisations.
//
// clock: a receiver whose sampling clock is +-10 ppm off, sample by sample through the whole
// receiver. The signal drifts by 0.0512 samples a slot: 276 480 samples or 54 slots in an hour, all
// of which fit into the memory of the model. A slip shows as a slot number that is not the
// sender's, as a lock lost, or as a slot start off the clock's. The carrier is 500 Hz off for each
// ppm (1.8 kHz at 1.8 GHz: 10 ppm would be outside the +-10 kHz of the search). clock20: the same
// with +-20 ppm.
#include <algorithm>

#include "curve_world.h"
#include "sample/cfo.h"
#include "sample/clock_offset.h"

namespace wip::curves {

void noise_curve(const options& o) {
    const std::int64_t slots = std::int64_t{o.trials} * slots_per_second;
    phy::slot_receiver receiver({.cell = -1});
    sample_model::noise source(1e-3, o.seed, 3);
    const std::vector<cf32> silence(slot_samples);
    std::vector<cf32> x(slot_samples);
    for (std::int64_t i = 0; i < slots; ++i) {
        source.work(silence, x);
        receiver.process(first_sample(slot(i)), x, [](const phy::received_slot&) {});
    }
    const auto& s = receiver.state();
    std::printf(
        "{\"curve\":\"noise\",\"seed\":%llu,\"slots\":%lld,\"candidates\":%llu,"
        "\"synchronisations\":%llu,\"locks\":%llu}\n",
        static_cast<unsigned long long>(o.seed), static_cast<long long>(slots),
        static_cast<unsigned long long>(s.candidates),
        static_cast<unsigned long long>(s.synchronisations),
        static_cast<unsigned long long>(s.locks));
}

namespace {

void clock(double ppm, const options& o) {
    const std::int64_t slots = std::int64_t{o.trials} * slots_per_second;
    const double drift = slot_samples * ppm * 1e-6;  // samples a slot
    const double whole = std::abs(drift) * static_cast<double>(slots) + 100;
    phy::slot_modulator modulator({});
    phy::slot_receiver receiver({.cell = -1});
    phy::test::slot_source source(2, static_cast<std::uint32_t>(o.seed));
    const sample_model::stage_context context{.seed = o.seed};
    sample_model::clock_offset line(
        {.ppm = ppm, .start_delay_samples = ppm < 0 ? whole : 0, .max_delay_samples = whole},
        context);
    sample_model::cfo carrier({.hz = 500 * ppm}, context);
    const double a = static_cast<double>(phy::symbol_amplitude());
    sample_model::noise noise(a * a * fft_size / from_db(16), o.seed, 4);
    std::vector<cf32> y(slot_samples);
    std::uint64_t bad = 0, good = 0, without_grant = 0, wrong_slot = 0, unlocked = 0;
    double worst_timing = 0;
    // While the store of a slow clock is empty nothing comes out.
    const std::int64_t settled = 400 + (ppm < 0 ? std::llround(whole) / slot_samples : 0);
    for (std::int64_t i = 0; i < slots; ++i) {
        line.work(i * slot_samples,
                  phy::test::modulate(modulator, source.make(slot(first_slot + i))), y);
        carrier.work(i * slot_samples, y, y);
        noise.work(y, y);
        receiver.process(first_sample(slot(i)), y, [&](const phy::received_slot& r) {
            if (i < settled) return;
            if (!r.locked) {
                ++unlocked;
                return;
            }
            const double late = static_cast<double>(line.latency()) +
                                static_cast<double>(line.delay(r.start.value)) * 0x1p-32;
            const double sent = (static_cast<double>(r.start.value) - late) / slot_samples;
            const std::int64_t number = first_slot + std::llround(sent);
            wrong_slot += (r.slot_in_hyperframe - number) %
                              (std::int64_t{frame_number_modulus} * slots_per_frame) !=
                          0;
            without_grant += !r.grant_ok;
            for (const auto& b : r.bins) {
                good += b.outcome == frame_outcome::good;
                bad += b.outcome == frame_outcome::bad;
            }
        });
        if (i < settled) continue;
        // The receiver's timing is that of the slot that comes next.
        const std::int64_t next = (i + 1) * slot_samples;
        const double late =
            static_cast<double>(line.latency()) + static_cast<double>(line.delay(next)) * 0x1p-32;
        worst_timing = std::max(
            worst_timing,
            std::abs(std::remainder(receiver.state().timing_samples - late, double{slot_samples})));
    }
    std::printf(
        "{\"curve\":\"clock\",\"seed\":%llu,\"ppm\":%g,\"slots\":%lld,\"drift_samples\":%.0f,"
        "\"lock_losses\":%llu,\"unlocked\":%llu,\"wrong_slot\":%llu,\"without_grant\":%llu,"
        "\"frames_good\":%llu,\"frames_bad\":%llu,\"worst_timing_samples\":%.3f}\n",
        static_cast<unsigned long long>(o.seed), ppm, static_cast<long long>(slots),
        drift * static_cast<double>(slots),
        static_cast<unsigned long long>(receiver.state().lock_losses),
        static_cast<unsigned long long>(unlocked), static_cast<unsigned long long>(wrong_slot),
        static_cast<unsigned long long>(without_grant), static_cast<unsigned long long>(good),
        static_cast<unsigned long long>(bad), worst_timing);
    std::fflush(stdout);
}

}  // namespace

void clock_curve(const options& o) {
    for (const double ppm : {10.0, -10.0}) clock(ppm, o);
}

// The most that two radios of 10 ppm are apart: 108 slots in an hour. Not among the curves of
// `curves --all`: an hour takes as long as one of them.
void clock20_curve(const options& o) {
    for (const double ppm : {20.0, -20.0}) clock(ppm, o);
}

}  // namespace wip::curves
