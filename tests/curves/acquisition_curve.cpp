// SPDX-License-Identifier: GPL-3.0-or-later
// Acquisition from cold on the typical urban channel: any cell of 64, CFO uniform in +-10 kHz, the
// first sample anywhere in a slot, any slot in frame. Times run from the first sample to the end of
// the slot that reports the state:
//   sync   synchronised: the pilots have confirmed cell, slot in frame, timing and CFO
//   lock   a grant has told the frame number as well
// `wrong`: another cell or slot than the sender's, or a CFO more than 1 kHz off. band_db: SNR of
// the whole band, mean over the first 40 ms (0.2 periods of the fading at 3 km/h, which is why the
// mean SNR of the channel says little about a single trial there).
#include "curve_world.h"

namespace wip::curves {

namespace {

constexpr int limit = 150;  // slots, 100 ms
constexpr int slots_40ms = 60;

struct numbers {
    std::string text;
    void add(double v) {
        char t[32];
        std::snprintf(t, sizeof t, "%s%.2f", text.empty() ? "" : ",", v);
        text += t;
    }
};

void trials(double snr_db, double kmh, const options& o) {
    std::mt19937_64 random(o.seed * 7919 + static_cast<std::uint64_t>(snr_db * 10 + 100));
    std::uniform_real_distribution<double> cfo(-1e4, 1e4);
    phy::slot_receiver receiver({.cell = -1});
    const double a = static_cast<double>(phy::symbol_amplitude());
    numbers syncs, locks, bands;
    int wrong = 0, synchronised = 0, locked = 0;
    for (int t = 0; t < o.trials; ++t) {
        world w({.profile = "jakes",
                 .doppler_hz = doppler_of(kmh),
                 .snr_db = snr_db,
                 .cfo_hz = cfo(random),
                 .cell = static_cast<int>(random() % 64),
                 .seed = o.seed + 31 * static_cast<std::uint64_t>(t)});
        const auto skipped = static_cast<std::size_t>(random() % slot_samples);
        const int slots_before = static_cast<int>(random() % slots_per_frame);
        w.skip(slots_before);
        double sync_ms = -1, lock_ms = -1, energy = 0;
        bool good = true;
        // The receiver counts its own samples from zero; a count that jumps back makes it start
        // anew.
        std::int64_t given = 0;
        for (int i = 0; i < limit && (lock_ms < 0 || i < slots_40ms); ++i) {
            w.next();
            if (i < slots_40ms)
                for (const cf32 v : w.clean) energy += static_cast<double>(std::norm(v));
            const std::size_t from = i == 0 ? skipped : 0;
            const std::span<const cf32> in(w.noisy.data() + from, w.noisy.size() - from);
            const double now = 1e3 *
                               static_cast<double>(given + static_cast<std::int64_t>(in.size())) /
                               static_cast<double>(sample_rate_hz);
            receiver.process(sample(given), in, [&](const phy::received_slot& r) {
                using mode = phy::receiver_mode;
                if (r.mode != mode::synchronised && r.mode != mode::locked) return;
                const bool first_lock = r.locked && lock_ms < 0;
                if (sync_ms >= 0 && !first_lock) return;
                if (sync_ms < 0) sync_ms = now;
                if (first_lock) lock_ms = now;
                // Which of the sender's slots the report is about, by its sample time.
                const double at =
                    static_cast<double>(r.start.value + static_cast<std::int64_t>(skipped)) -
                    w.mean_delay();
                const std::int64_t air =
                    first_slot + slots_before + std::llround(at / slot_samples);
                const auto frame = r.locked ? r.slot_in_hyperframe - air : 0;
                good = good && frame == 0 && receiver.state().cell == w.config.cell &&
                       std::abs(receiver.state().cfo_hz - w.config.cfo_hz) < 1e3;
            });
            given += static_cast<std::int64_t>(in.size());
        }
        wrong += !good;
        synchronised += good && sync_ms >= 0 && sync_ms <= 40;
        locked += good && lock_ms >= 0 && lock_ms <= 40;
        syncs.add(sync_ms);
        locks.add(lock_ms);
        bands.add(to_db(energy / slots_40ms / slot_samples / (500.0 * a * a) * w.snr));
    }
    std::printf(
        "{\"curve\":\"acquisition\",\"snr_db\":%g,\"kmh\":%g,\"trials\":%d,\"sync_within_40_ms\":%"
        "d,"
        "\"lock_within_40_ms\":%d,\"wrong\":%d,\"sync_ms\":[%s],\"lock_ms\":[%s],\"band_db\":[%s]}"
        "\n",
        snr_db, kmh, o.trials, synchronised, locked, wrong, syncs.text.c_str(), locks.text.c_str(),
        bands.text.c_str());
    std::fflush(stdout);
}

}  // namespace

void acquisition_curve(const options& o) {
    if (o.full) {
        for (const double snr_db : {0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 16.0}) trials(snr_db, 75, o);
        for (const double kmh : {30.0, 3.0}) trials(6, kmh, o);
        trials(16, 3, o);
    } else {
        trials(6, 75, o);
        trials(6, 3, o);
    }
}

}  // namespace wip::curves
