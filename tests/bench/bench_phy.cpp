// SPDX-License-Identifier: GPL-3.0-or-later
// Time of one slot of the modulator and of the receiver, all 25 bins in use, against the 667 us
// that a slot lasts. Channels: none (AWGN at 40 dB: every frame has to be good), and typical urban
// at 75 km/h with so much noise that a good part of the frames fails, where the receiver has the
// most to do. The slots among them that needed no second pass are listed once more by themselves.
// Then one terminal's transmitter on the uplink, and the base station's receiver of it. JSON on
// standard output; the times of single slots are kept, so the median, the 99th percentile and the
// worst are those of slots and not of batches. The smallest time tells what the code costs, the
// median what it costs on this machine now, the mean what it takes of a core. Last the cell search
// (any of 64 cells), also slot by slot, in three cases: noise; cyclic prefixes with pilots of no
// cell (samples conjugated), where all hypotheses are compared in 7 of 24 slots; a slot in which
// the cell is found.
//   bench_phy [slots]     default 3000 for each modulation
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <tuple>
#include <vector>

#include "../curves/curve_world.h"
#include "bench_length.h"
#include "phy/receiver/uplink_receiver.h"
#include "phy/sync/cell_search.h"
#include "slot_times.h"

namespace {

using namespace wip;
using namespace wip::phy;
using namespace wip::phy::test;
using bench::slot_times;

bool first_line = true;

struct place {
    const char* what;
    const char* channel;
    int bits_per_symbol;
    double snr_db;
};

void print(const place& p, const slot_times& t, double frame_error_rate, double second_passes) {
    std::printf(
        "%s  {\"what\": \"%s\", \"channel\": \"%s\", \"bits_per_symbol\": %d, \"snr_db\": %g, "
        "\"frame_error_rate\": %.5f, \"second_passes\": %.3f, ",
        first_line ? "" : ",\n", p.what, p.channel, p.bits_per_symbol, p.snr_db, frame_error_rate,
        second_passes);
    t.print();
    std::printf("}");
    first_line = false;
}

struct times {
    std::uint64_t second_passes = 0;
    slot_times tx, rx;
    std::uint64_t good = 0;
    // The times of the slots without a second pass.
    slot_times rx_once;
    std::uint64_t good_once = 0;
};

times run(const curves::world_config& config, int slots) {
    constexpr int settle = 250;
    // slots made in advance, so that the channel's memory traffic is not in between
    constexpr int batch = 64;
    times t;
    curves::world w(config);
    slot_modulator modulator({});
    slot_receiver receiver({});
    std::vector<cf32> out(slot_samples);
    const auto count = [&](const received_slot& s) {
        for (const auto& b : s.bins) t.good += b.outcome == frame_outcome::good;
    };
    for (int i = 0; i < settle; ++i) {
        w.next();
        curves::feed(receiver, w, count);
    }
    t.good = 0;
    const std::uint64_t before = receiver.state().second_passes;
    std::vector<std::vector<cf32>> noisy(batch);
    for (int n = 0; n < slots; n += batch) {
        const std::int64_t first = w.now().value + 1;
        for (auto& x : noisy) {
            w.next();
            x = w.noisy;
            std::array<std::span<const std::uint8_t>, nof_bins> views;
            for (std::size_t b = 0; b < nof_bins; ++b) views[b] = w.sent.payload[b];
            t.tx.measure([&] {
                modulator.work(w.sent.air, w.sent.grant, views,
                               std::span<cf32, slot_samples>(out.data(), slot_samples));
            });
        }
        for (int i = 0; i < batch; ++i) {
            const auto looks = receiver.state().second_passes;
            const auto good = t.good;
            t.rx.measure([&] {
                receiver.process(first_sample(slot(first + i)), noisy[static_cast<std::size_t>(i)],
                                 count);
            });
            if (receiver.state().second_passes != looks) continue;
            t.rx_once.add(t.rx.last());
            t.good_once += t.good - good;
        }
    }
    t.second_passes = receiver.state().second_passes - before;
    return t;
}

// The same for one terminal on the uplink, all bins in use: its transmitter, and the base station's
// receiver of it.
times run_uplink(curves::world_config config, int slots) {
    constexpr int settle = 250;
    constexpr int batch = 64;
    times t;
    config.terminal = 0;
    curves::world w(config);
    slot_modulator modulator({.terminal = 0});
    uplink_receiver receiver({});
    std::vector<cf32> out(slot_samples);
    std::vector<std::vector<cf32>> noisy(batch);
    std::vector<slot_grant> units(batch);
    const slot_grant* now = nullptr;
    const uplink_receiver::units_fn granted = [&](sample, int) { return now; };
    const uplink_receiver::on_slot_fn count = [&](const uplink_slot& s) {
        for (const auto& b : s.bins) t.good += b.outcome == frame_outcome::good;
    };
    for (int i = 0; i < settle; ++i) {
        w.next();
        now = &w.sent.grant;
        receiver.process(first_sample(w.now()), w.noisy, granted, count);
    }
    t.good = 0;
    const std::uint64_t before = receiver.counts().second_passes;
    for (int n = 0; n < slots; n += batch) {
        const std::int64_t first = w.now().value + 1;
        for (std::size_t i = 0; i < batch; ++i) {
            w.next();
            noisy[i] = w.noisy;
            units[i] = w.sent.grant;
            std::array<std::span<const std::uint8_t>, nof_bins> views;
            for (std::size_t b = 0; b < nof_bins; ++b) views[b] = w.sent.payload[b];
            t.tx.measure([&] {
                modulator.work_uplink(w.sent.air, w.form, w.sent.grant, views,
                                      std::span<cf32, slot_samples>(out));
            });
        }
        for (std::size_t i = 0; i < batch; ++i) {
            now = &units[i];
            t.rx.measure([&] {
                receiver.process(first_sample(slot(first + static_cast<std::int64_t>(i))), noisy[i],
                                 granted, count);
            });
        }
    }
    t.second_passes = receiver.counts().second_passes - before;
    return t;
}

enum class searched { noise, no_cell, found };

// Times of slots at whose beginning the receiver was searching; of `found` only the slot that ended
// the search.
slot_times search(searched what, int slots) {
    constexpr int most_slots_to_find = 100;
    slot_times us;
    curves::world w({.snr_db = 20, .cell = 17});
    auto receiver = std::make_unique<slot_receiver>(slot_receiver_config{.cell = any_cell});
    sample_model::noise noise(1e-3, 5, 2);
    std::vector<cf32> silent(slot_samples), x(slot_samples);
    const auto nothing = [](const received_slot&) {};
    int looked = 0;
    while (us.size() < static_cast<std::size_t>(slots)) {
        w.next();
        if (what == searched::noise)
            noise.work(silent, x);
        else
            x = w.noisy;
        if (what == searched::no_cell)
            for (auto& v : x) v = std::conj(v);
        const bool before = receiver->state().mode == receiver_mode::searching;
        slot_times one;
        one.measure([&] { receiver->process(first_sample(w.now()), x, nothing); });
        if (what != searched::found) {
            if (before) us.add(one.last());
            continue;
        }
        if (receiver->state().mode == receiver_mode::searching && ++looked < most_slots_to_find)
            continue;
        if (looked >= most_slots_to_find) return {};
        us.add(one.last());
        looked = 0;
        receiver = std::make_unique<slot_receiver>(slot_receiver_config{.cell = any_cell});
    }
    return us;
}

}  // namespace

int main(int argc, char** argv) {
    const int slots = bench::length(argc, argv, "slots", 3000, 100);
    std::printf("{\"benchmark\": \"phy_slot\", \"budget_us\": %.1f, \"bins\": %d, \"results\": [\n",
                bench::slot_budget_us, nof_bins);
    for (const int k : {2, 4, 6, 8}) {
        const auto t = run({.snr_db = 40, .bits_per_symbol = k}, slots);
        if (t.good != t.rx.size() * nof_bins) {
            std::fprintf(stderr, "bench_phy: %zu frames sent, %llu received\n",
                         t.rx.size() * nof_bins, static_cast<unsigned long long>(t.good));
            return 1;
        }
        print({"tx", "AWGN", k, 40}, t.tx, 0, 0);
        print({"rx", "AWGN", k, 40}, t.rx, 0, 0);
    }
    for (const auto& [k, snr_db] : {std::pair(2, 16.0), {4, 28.0}, {6, 34.0}, {8, 40.0}}) {
        const auto t = run({.profile = "jakes",
                            .doppler_hz = 125,
                            .snr_db = snr_db,
                            .bits_per_symbol = k,
                            .seed = 3},
                           slots);
        const double sent = static_cast<double>(t.rx.size()) * nof_bins;
        print({"rx", "typical urban 75 km/h", k, snr_db}, t.rx,
              1 - static_cast<double>(t.good) / sent,
              static_cast<double>(t.second_passes) * nof_bins / sent);
        if (t.rx_once.empty()) continue;
        const double sent_once = static_cast<double>(t.rx_once.size()) * nof_bins;
        print({"rx, slots without second look", "typical urban 75 km/h", k, snr_db}, t.rx_once,
              1 - static_cast<double>(t.good_once) / sent_once, 0);
    }
    for (const auto& [channel, profile, doppler_hz, snr_db] :
         {std::tuple("AWGN", "", 0.0, 40.0), {"typical urban 75 km/h", "jakes", 125.0, 28.0}}) {
        const auto t = run_uplink({.profile = profile,
                                   .doppler_hz = doppler_hz,
                                   .snr_db = snr_db,
                                   .bits_per_symbol = 4,
                                   .seed = 3},
                                  slots);
        const double sent = static_cast<double>(t.rx.size()) * nof_bins;
        print({"uplink tx", channel, 4, snr_db}, t.tx, 0, 0);
        print({"uplink rx", channel, 4, snr_db}, t.rx, 1 - static_cast<double>(t.good) / sent,
              static_cast<double>(t.second_passes) * nof_bins / sent);
    }
    for (const auto& [what, channel] : {std::pair(searched::noise, "noise"),
                                        {searched::no_cell, "prefixes, pilots of no cell"},
                                        {searched::found, "the slot that finds the cell"}}) {
        const auto us = search(what, slots / 10);
        if (us.empty()) {
            std::fprintf(stderr, "bench_phy: the cell was not found\n");
            return 1;
        }
        print({"cell search", channel, 2, 20}, us, 0, 0);
    }
    std::printf("\n]}\n");
}
