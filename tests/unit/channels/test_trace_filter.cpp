// SPDX-License-Identifier: GPL-3.0-or-later
// An SNR trace on samples: what a receiver finds in each bin and slot is what the trace says.
//
// Limits, written before the first run (a numpy model of the filter had 0.07 dB rms for jakes):
//   jakes, 75 km/h, mean of a slot and bin against its row    0.15 dB rms
//   the same, mean of a bin over the run                      0.05 dB rms
//   etu, 42 km/h, slot and bin                                0.5 dB rms
//   SNR from OFDM symbols and the noise of a mixer            0.3 dB rms
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "bin/fading_channel.h"
#include "mix/mixer.h"
#include "profiles/channel_definition.h"
#include "sample/trace_filter.h"

using namespace wip;
using namespace wip::sample_model;

namespace {

constexpr double unit_db = 34;

double frequency(int n) {
    const int k = fft_index(n);
    return k < fft_size / 2 ? k : k - fft_size;
}

// e^{-j 2 pi cycles / 768}
std::complex<double> turn(int cycles) {
    static const auto table = [] {
        std::array<std::complex<double>, fft_size> t;
        for (std::size_t i = 0; i < t.size(); ++i)
            t[i] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(i) / fft_size);
        return t;
    }();
    return table[static_cast<std::size_t>((cycles % fft_size + fft_size) % fft_size)];
}

std::shared_ptr<const trace_rows> share(trace_rows rows) {
    return std::make_shared<const trace_rows>(std::move(rows));
}

trace_rows constant_rows(std::size_t n, float snr_db) {
    bin_gains_db row;
    row.fill(snr_db);
    return trace_rows(n, row);
}

// The rows that ./openwip channel render would make.
trace_rows rendered(const char* name, double mean_db, std::size_t slots) {
    bin_model::fading_channel channel(
        {profiles::realise(profiles::load_definition(name),
                           {.shadowing = profiles::channel_choice::use::off}, 7),
         mean_db, 7});
    trace_rows rows(slots);
    for (std::size_t t = 0; t < slots; ++t) {
        std::array<float, nof_bins> linear{};
        channel.snr(slot(static_cast<std::int64_t>(t)), linear);
        for (std::size_t b = 0; b < nof_bins; ++b)
            rows[t][b] = static_cast<float>(db::from_power(static_cast<double>(linear[b])).value);
    }
    return rows;
}

// Mean gain of each bin over a slot, of every second of its subcarriers at 16 moments.
std::array<double, nof_bins> powers(trace_filter& filter, std::int64_t slot_number) {
    std::array<double, nof_bins> found{};
    std::vector<cf32> h(trace_filter::nof_taps());
    for (int i = 0; i < 16; ++i) {
        filter.gains(slot_number * slot_samples + i * 320 + 160, h);
        for (int n = 0; n < nof_subcarriers; n += 2) {
            std::complex<double> sum;
            const auto step = std::polar(1.0, -2 * std::numbers::pi * frequency(n) / fft_size);
            for (std::size_t k = h.size(); k-- > 0;) sum = sum * step + std::complex<double>(h[k]);
            found[static_cast<std::size_t>(n / subcarriers_per_bin)] += std::norm(sum) / 160;
        }
    }
    return found;
}

struct agreement {
    double single = 0, mean = 0;  // dB rms
};
agreement compare(const trace_rows& rows, std::int64_t from, std::int64_t to) {
    trace_filter filter({share(rows), unit_db});
    agreement a;
    std::array<double, nof_bins> wanted{}, had{};
    for (std::int64_t t = from; t < to; ++t) {
        const auto found = powers(filter, t);
        for (std::size_t b = 0; b < nof_bins; ++b) {
            const double row = std::max(-20.0, double{rows[static_cast<std::size_t>(t)][b]});
            const double snr = found[b] * db(unit_db).power();
            a.single += std::pow(db::from_power(snr).value - row, 2);
            wanted[b] += db(row).power(), had[b] += snr;
        }
    }
    a.single = std::sqrt(a.single / static_cast<double>((to - from) * nof_bins));
    for (std::size_t b = 0; b < nof_bins; ++b)
        a.mean += std::pow(db::from_power(had[b] / wanted[b]).value, 2) / nof_bins;
    a.mean = std::sqrt(a.mean);
    return a;
}

std::vector<cf32> random_samples(std::size_t n) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, 0.1f);
    std::vector<cf32> x(n);
    for (auto& v : x) v = {normal(random), normal(random)};
    return x;
}

double level_db(const trace_rows& rows, std::int64_t slot_number, std::size_t bin) {
    trace_filter filter({share(rows), unit_db});
    return db::from_power(powers(filter, slot_number)[bin]).value + unit_db;
}

}  // namespace

TEST(TraceFilter, a_fading_trace_has_the_power_of_its_rows_in_every_bin_and_slot) {
    const agreement a = compare(rendered("jakes", 16, 408), 4, 404);
    EXPECT_LT(a.single, 0.15);
    EXPECT_LT(a.mean, 0.05);
    RecordProperty("rms_db", std::to_string(a.single) + ", of means " + std::to_string(a.mean));
}

TEST(TraceFilter, a_trace_more_selective_than_that_is_followed_too) {
    const agreement a = compare(rendered("etu", 16, 108), 4, 104);
    EXPECT_LT(a.single, 0.5);
    RecordProperty("rms_db", std::to_string(a.single));
}

// One period of OFDM again and again through a mixer with noise: the mean of the periods has the
// signal, what differs from it the noise.
TEST(TraceFilter, a_receiver_finds_the_snr_of_the_trace_in_each_bin) {
    const trace_rows rows(40, rendered("jakes", 20, 30).back());
    struct periodic final : mix::sample_source {
        std::vector<cf32> period = std::vector<cf32>(fft_size);
        bool active() const noexcept override { return true; }
        bool read(mix::tick from, std::span<cf32> out) const noexcept override {
            for (std::size_t i = 0; i < out.size(); ++i)
                out[i] = period[(static_cast<std::size_t>(from) + i) % fft_size];
            return true;
        }
    } source, silent;
    std::mt19937 random(5);
    std::vector<std::complex<double>> sent;
    for (int n = 0; n < nof_subcarriers; ++n) {
        sent.push_back(std::polar(std::sqrt(nominal_transmit_level.power() / nof_subcarriers),
                                  static_cast<double>(random() % 4) * std::numbers::pi / 2));
        for (int i = 0; i < fft_size; ++i)
            source.period[static_cast<std::size_t>(i)] +=
                cf32(sent.back() * std::conj(turn(frequency(n) * i)));
    }
    mix::mix_config c;
    c.nodes = {{"base", {}}, {"terminal", -40.0}};
    mix::path_config path{.from = 0, .to = 1, .gain_db = -3};
    path.trace = {share(rows), -15 - 3 + 40 + 10 * std::log10(double{fft_size} / nof_subcarriers)};
    c.paths = {path};
    mix::mixer m(c);
    constexpr std::size_t periods = 80;
    std::vector<cf32> y(periods * fft_size);
    const std::array<const mix::sample_source*, 2> sources{&source, &silent};
    m.hear(1, 3 * slot_samples, y, sources, std::array<mix::node_tuning, 2>{});
    double squares = 0;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        double signal = 0, noise = 0;
        for (int n = static_cast<int>(b) * subcarriers_per_bin;
             n < static_cast<int>(b + 1) * subcarriers_per_bin; ++n) {
            std::complex<double> mean;
            double power = 0;
            for (std::size_t p = 0; p < periods; ++p) {
                std::complex<double> v;  // the scale cancels out
                for (int i = 0; i < fft_size; ++i)
                    v += std::complex<double>(y[p * fft_size + static_cast<std::size_t>(i)]) *
                         turn(frequency(n) * i);
                mean += v / double{periods};
                power += std::norm(v) / periods;
            }
            signal += std::norm(mean), noise += power - std::norm(mean);
        }
        squares +=
            std::pow(db::from_power(signal / noise).value - double{rows[0][b]}, 2) / nof_bins;
    }
    EXPECT_LT(std::sqrt(squares), 0.3);
    RecordProperty("snr_rms_db", std::to_string(std::sqrt(squares)));
}

TEST(TraceFilter, how_the_stream_is_cut_changes_no_bit) {
    const auto rows = share(rendered("jakes", 16, 20));
    const auto x = random_samples(4 * slot_samples);
    std::vector<cf32> whole(x.size()), cut(x.size());
    trace_filter one({rows, unit_db}), other({rows, unit_db});
    one.work(2 * slot_samples + 17, x, whole);
    std::mt19937 random(9);
    for (std::size_t at = 0; at < x.size();) {
        const std::size_t n = std::min<std::size_t>(1 + random() % 3000, x.size() - at);
        std::vector<cf32> taps(trace_filter::nof_taps());
        other.gains(static_cast<std::int64_t>(random() % 100000),
                    taps);  // reading the taps changes nothing
        other.work(2 * slot_samples + 17 + static_cast<std::int64_t>(at),
                   std::span(x).subspan(at, n), std::span(cut).subspan(at, n));
        at += n;
    }
    EXPECT_TRUE(whole == cut);
    // Begun in the middle: the same after the memory.
    trace_filter late({rows, unit_db});
    std::vector<cf32> rest(x.size() - 5000);
    late.work(2 * slot_samples + 17 + 5000, std::span(x).subspan(5000), rest);
    const auto memory = static_cast<std::size_t>(late.memory());
    EXPECT_TRUE(std::equal(rest.begin() + static_cast<std::ptrdiff_t>(memory), rest.end(),
                           whole.begin() + static_cast<std::ptrdiff_t>(5000 + memory)));
}

TEST(TraceFilter, after_the_last_row_comes_the_first) {
    const auto rows = share(rendered("jakes", 16, 7));
    const auto x = random_samples(3 * slot_samples);
    std::vector<cf32> now(x.size()), later(x.size()), before(x.size());
    trace_filter filter({rows, unit_db});
    filter.work(5 * slot_samples, x, now);
    filter.work((5 + 7 * 100000) * std::int64_t{slot_samples}, x, later);
    filter.work((5 - 14) * std::int64_t{slot_samples}, x, before);
    EXPECT_TRUE(now == later);
    EXPECT_TRUE(now == before);
}

TEST(TraceFilter, row_t_is_slot_t) {
    trace_rows rows = constant_rows(30, 20);
    for (std::size_t t = 12; t < 20; ++t) rows[t].fill(10);
    for (const auto& [t, snr] : {std::pair(8, 20.0),
                                 {11, 20.0},
                                 {12, 10.0},
                                 {15, 10.0},
                                 {19, 10.0},
                                 {20, 20.0},
                                 {23, 20.0}})
        EXPECT_NEAR(level_db(rows, t, 12), snr,
                    t == 11 || t == 12 || t == 19 || t == 20 ? 0.7 : 0.05)
            << t;
}

TEST(TraceFilter, what_is_too_low_too_high_or_too_steep_is_limited) {
    EXPECT_NEAR(level_db(constant_rows(9, -60), 4, 7), -20, 0.05);
    EXPECT_NEAR(level_db(constant_rows(9, 80), 4, 7), unit_db + 6, 0.05);
    trace_rows steep = constant_rows(9, 30);
    for (auto& row : steep) row[12] = -10;
    EXPECT_NEAR(level_db(steep, 4, 11), 30, 1);
    EXPECT_GT(level_db(steep, 4, 12), 15);
}

TEST(TraceFilter, rows_that_no_channel_has_stay_bounded) {
    std::mt19937 random(1);
    trace_rows rows(40);
    for (auto& row : rows)
        for (float& v : row) v = -60 + static_cast<float>(random() % 140);
    trace_filter filter({share(rows), unit_db});
    std::vector<cf32> h(trace_filter::nof_taps());
    for (std::int64_t at = 0; at < 40 * slot_samples; at += 1000) {
        filter.gains(at, h);
        for (int k = 0; k < fft_size; ++k) {
            std::complex<double> sum;
            for (std::size_t i = 0; i < h.size(); ++i)
                sum +=
                    std::complex<double>(h[i]) *
                    std::polar(1.0, -2 * std::numbers::pi * k * static_cast<double>(i) / fft_size);
            ASSERT_LT(db::from_power(std::norm(sum)).value, 6 + 10) << at << " " << k;
        }
    }
}

TEST(TraceFilter, refuses_what_is_no_trace) {
    EXPECT_THROW(trace_filter({nullptr, 0}), std::invalid_argument);
    EXPECT_THROW(trace_filter({share({}), 0}), std::invalid_argument);
    for (const float bad : {std::nanf(""), -61.0f, 80.5f, INFINITY}) {
        trace_rows rows = constant_rows(3, 10);
        rows[1][24] = bad;
        EXPECT_THROW(trace_filter({share(rows), 0}), std::invalid_argument) << bad;
    }
}
