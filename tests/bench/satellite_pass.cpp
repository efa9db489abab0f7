// SPDX-License-Identifier: GPL-3.0-or-later
// The pass of a satellite on samples, from the first second to the last: the link of
// tests/unit/phy/satellite_link.h, without a clock. The satellite is overhead in the middle.
//
// The report is one line of JSON for each minute and one for the whole pass: slots without lock or
// without a grant, frames that failed, the largest errors of CFO and timing, all from slot 100 on,
// when the receiver has locked. Exit code 1: lock was lost, or never came.
//   satellite_pass [seconds [bits_per_symbol [snr_db [legs]]]]     default 600, 2, 20, 1
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "../unit/phy/satellite_link.h"
#include "bench_length.h"

namespace {

using namespace wip;
using namespace wip::phy;
using test::pass_counts;

void print(const pass_counts& c) {
    std::printf(
        "\"slots\": %lld, \"unlocked\": %lld, \"no_grant\": %lld, \"good\": %lld, \"bad\": "
        "%lld, \"cfo_error_hz\": %.1f, \"timing_error_samples\": %.3f",
        static_cast<long long>(c.slots), static_cast<long long>(c.unlocked),
        static_cast<long long>(c.no_grant), static_cast<long long>(c.good),
        static_cast<long long>(c.bad), c.cfo_error_hz, c.timing_error_samples);
}

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

    test::satellite_link link(-seconds / 2.0, bits, snr_db, legs);
    const auto begun = std::chrono::steady_clock::now();
    pass_counts minute, all;
    const std::int64_t slots = std::int64_t{slots_per_second} * seconds;
    for (std::int64_t i = 1; i <= slots; ++i) {
        link.step(minute);
        if (i % (60 * slots_per_second) != 0 && i != slots) continue;
        std::printf("{\"end_s\": %.0f, \"delay_ms\": %.3f, \"doppler_hz\": %.0f, ",
                    static_cast<double>(i) / slots_per_second, 1e3 * legs * link.delay_s(),
                    link.doppler_hz());
        print(minute);
        std::printf("}\n");
        std::fflush(stdout);
        all.add(minute);
        minute = {};
    }
    const double took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    const auto losses = link.state().lock_losses;
    std::printf("{\"seconds\": %d, \"bits_per_symbol\": %d, \"snr_db\": %g, \"legs\": %d, ",
                seconds, bits, snr_db, legs);
    print(all);
    std::printf(", \"locked_at_slot\": %lld, \"lock_losses\": %llu, \"took_s\": %.0f}\n",
                static_cast<long long>(link.locked_at()), static_cast<unsigned long long>(losses),
                took);
    return link.locked_at() < 0 || losses > 0 || all.unlocked > 0 ? 1 : 0;
}
