// SPDX-License-Identifier: GPL-3.0-or-later
// channels/sample/rate_converter.h beside liquid-dsp's rresamp_crcf, which takes the ratio as P/Q,
// too: the rates of docs/results/radios.md, both ways, slot by slot, by turns in one run. Both
// have the same filter (the kernel of rate_converter.h, as many taps an output), and are held
// against the signal itself: tones over the band of the carrier.
//
//   error_db     power of the error
//   table_kb     coefficients; ours are as many for every ratio
//   block_us     rresamp takes Q inputs and gives P outputs, no fewer: so long the first waits
//   us           median of a slot; times_ours
//
// The clocks of software USRPs are off by parts of a million, and no P/Q of them has a table:
// `by_ppm_table_gb`, of the first radio at 2.5 ppm.
//   bench_rates [slots]     default 300; JSON

#include <complex>
//
#include <liquid/liquid.h>  // its complex numbers are those of <complex> when that came first

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <numeric>
#include <span>
#include <vector>

#include "bench_length.h"
#include "sample/rate_converter.h"
#include "slot_times.h"

namespace {

using namespace wip;
using sample_model::cf32;
using sample_model::exact_rate;

constexpr double band = 0.3255, attenuation_db = 90;  // values of rate_converter.cpp

cf32 signal(double seconds) {
    std::complex<double> sum;
    for (int k = -25; k <= 25; ++k) {
        const double turns = seconds * (k * 100e3 + 1234);
        sum += std::polar(0.1, 2 * std::numbers::pi * (turns - std::floor(turns)) + k * k);
    }
    return cf32(sum);
}

struct error {
    double error_power = 0, power = 0;
    void add(cf32 found, cf32 wanted) {
        error_power += std::norm(std::complex<double>(found) - std::complex<double>(wanted));
        power += std::norm(wanted);
    }
    double db() const { return 10 * std::log10(error_power / power); }
};

// The kernel of rate_converter.cpp, `half` inputs to either side.
double kernel(double u, int half, double lower) {
    const double x = u / half;
    if (std::abs(x) >= 1) return 0;
    const double beta = 0.1102 * (attenuation_db - 8.7), t = std::numbers::pi * lower * u;
    return lower * (u == 0 ? 1 : std::sin(t) / t) *
           std::cyl_bessel_i(0, beta * std::sqrt(1 - x * x)) / std::cyl_bessel_i(0, beta);
}

void compare(const exact_rate& in, const exact_rate& out, int slots, bool first) {
    sample_model::rate_converter converter(in, out);
    const auto half = static_cast<int>(converter.before());
    const std::int64_t a = out.clock * in.divider, b = in.clock * out.divider,
                       common = std::gcd(a, b);
    const auto p = static_cast<unsigned int>(a / common), q = static_cast<unsigned int>(b / common);
    std::vector<float> h(2 * p * static_cast<unsigned int>(half));
    const double lower = std::min(1.0, out.hz() / in.hz());
    for (std::size_t n = 0; n < h.size(); ++n)
        h[n] = static_cast<float>(kernel(static_cast<double>(n) / p - half, half, lower));
    rresamp_crcf_s* liquid = rresamp_crcf_create(p, q, static_cast<unsigned int>(half), h.data());
    rresamp_crcf_set_scale(liquid, 1);

    const std::size_t blocks = static_cast<std::size_t>(in.hz() / slots_per_second / q) + 1;
    std::vector<cf32> x(blocks * q), y(blocks * p);
    bench::slot_times us_ours, us_liquid;
    error error_ours, error_liquid;
    converter.restart(0);
    std::int64_t taken = 0, made = 0, ours_made = 0;
    for (int s = 0; s < slots; ++s) {
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = signal(static_cast<double>(taken + static_cast<std::int64_t>(i)) / in.hz());
        taken += static_cast<std::int64_t>(x.size());
        const auto check = [&](error& e, std::int64_t from, double late, std::size_t size) {
            for (std::size_t i = s < 2 ? size : 0; i < size; i += 7)
                e.add(y[i],
                      signal(static_cast<double>(from + static_cast<std::int64_t>(i)) / out.hz() -
                             late));
        };
        const std::int64_t until = converter.map().at_or_after(taken - converter.after() -
                                                               1);  // its inputs have been given
        const auto size = static_cast<std::size_t>(until - ours_made);
        y.resize(std::max(size, blocks * p));
        us_ours.measure([&] {
            converter.feed(x);
            converter.work(ours_made, std::span(y).first(size));
        });
        check(error_ours, ours_made, 0, size);
        ours_made = until;
        us_liquid.measure([&] {
            for (std::size_t n = 0; n < blocks; ++n)
                rresamp_crcf_execute(liquid, x.data() + n * q, y.data() + n * p);
        });
        check(error_liquid, made, half / in.hz(), blocks * p);
        made += static_cast<std::int64_t>(blocks * p);
    }
    rresamp_crcf_destroy(liquid);
    const double table = 2e-3 * sizeof(float) * half;
    std::printf(
        "%s  {\"from_hz\": %.0f, \"to_hz\": %.0f, \"p\": %u, \"q\": %u, \"taps\": %d, \"ours\": "
        "{\"error_db\": %.1f, \"table_kb\": %.0f, \"us\": %.1f}, \"liquid\": {\"error_db\": %.1f, "
        "\"table_kb\": %.0f, \"us\": %.1f, \"block_us\": %.0f}, \"times_ours\": %.2f}",
        first ? "" : ",\n", in.hz(), out.hz(), p, q, 2 * half, error_ours.db(), 257 * table,
        us_ours.median(), error_liquid.db(), p * table, us_liquid.median(), 1e6 * q / in.hz(),
        us_liquid.median() / us_ours.median());
}

}  // namespace

int main(int argc, char** argv) {
    const int slots = bench::length(argc, argv, "slots", 300, 20);
    constexpr exact_rate cell{7'680'000};  // Hz
    constexpr exact_rate radios[] = {{100'000'000, 12}, {200'000'000, 26}, {125'000'000, 16}};
    std::printf("{\"benchmark\": \"rates\", \"results\": [\n");
    for (const auto& radio : radios) {
        compare(cell, radio, slots, &radio == radios);
        compare(radio, cell, slots, false);
    }
    const std::int64_t parts = 1'000'000'000'000 + 2'500'000;
    const std::int64_t p = parts / std::gcd(parts, std::int64_t{1'000'000'000'000});
    std::printf("],\n  \"by_ppm_table_gb\": %.3g}\n",
                1e-9 * sizeof(float) * 32 * 625 * static_cast<double>(p));
    return 0;
}
