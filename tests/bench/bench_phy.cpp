// SPDX-License-Identifier: GPL-3.0-or-later
// Time of one slot of the modulator and of the receiver, all 25 bins in use, against the 667 us
// that a slot lasts. JSON on standard output; the times of single slots are kept, so the median,
// the 99th percentile and the worst are those of slots and not of batches.
//   bench_phy [slots]     default 3000 for each modulation
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../unit/phy/phy_link.h"

namespace {

using namespace wip;
using namespace wip::phy;
using namespace wip::phy::test;
using timer = std::chrono::steady_clock;

constexpr double budget_us = 1e6 / slots_per_second;

void print(const char* what, int k, std::vector<double> us, bool last) {
    std::sort(us.begin(), us.end());
    const auto at = [&](double q) {
        return us[std::min(us.size() - 1,
                           static_cast<std::size_t>(q * static_cast<double>(us.size())))];
    };
    std::printf(
        "  {\"what\": \"%s\", \"bits_per_symbol\": %d, \"slots\": %zu, \"median_us\": %.2f, "
        "\"p99_us\": %.2f, \"worst_us\": %.2f, \"budget_share_percent\": %.2f}%s\n",
        what, k, us.size(), at(0.5), at(0.99), us.back(), 100 * at(0.5) / budget_us,
        last ? "" : ",");
}

}  // namespace

int main(int argc, char** argv) {
    const int slots = argc > 1 ? std::atoi(argv[1]) : 3000;
    if (slots < 100) {
        std::fprintf(stderr, "bench_phy: slots must be 100 or more\n");
        return 2;
    }
    constexpr int distinct = 64;  // noisy slots made once and sent again and again
    std::printf(
        "{\"benchmark\": \"phy_slot\", \"budget_us\": %.1f, \"bins\": %d, \"snr_db\": 40, "
        "\"results\": [\n",
        budget_us, nof_bins);
    for (const int k : {2, 4, 6, 8}) {
        slot_modulator modulator({});
        slot_receiver receiver({});
        slot_source source(k);
        sample_channel channel({});
        std::vector<double> tx, rx;
        std::vector<cf32> out(slot_samples);
        std::uint64_t frames_good = 0;
        const auto count = [&](const received_slot& s) {
            for (const auto& b : s.bins) frames_good += b.outcome == bin_outcome::good;
        };
        std::int64_t now = 150;
        for (; now < 150 + 150; ++now) {  // lock and settle
            const auto x = channel.pass(modulate(modulator, source.make(slot(now))));
            receiver.process(first_sample(slot(now)), x, count);
        }
        frames_good = 0;
        for (int n = 0; n < slots; n += distinct) {
            std::vector<std::vector<cf32>> noisy;
            for (int i = 0; i < distinct; ++i) {
                const auto s = source.make(slot(now + i));
                std::array<std::span<const std::uint8_t>, nof_bins> views;
                for (std::size_t b = 0; b < nof_bins; ++b) views[b] = s.payload[b];
                const auto start = timer::now();
                modulator.work(s.air, s.grant, views,
                               std::span<cf32, slot_samples>(out.data(), slot_samples));
                tx.push_back(
                    std::chrono::duration<double, std::micro>(timer::now() - start).count());
                noisy.push_back(channel.pass(out));
            }
            for (int i = 0; i < distinct; ++i, ++now) {
                const auto start = timer::now();
                receiver.process(first_sample(slot(now)), noisy[static_cast<std::size_t>(i)],
                                 count);
                rx.push_back(
                    std::chrono::duration<double, std::micro>(timer::now() - start).count());
            }
        }
        if (frames_good != rx.size() * nof_bins) {
            std::fprintf(stderr, "bench_phy: %zu frames sent, %llu received\n",
                         rx.size() * nof_bins, static_cast<unsigned long long>(frames_good));
            return 1;
        }
        print("tx", k, tx, false);
        print("rx", k, rx, k == 8);
    }
    std::printf("]}\n");
}
