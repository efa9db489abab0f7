// SPDX-License-Identifier: GPL-3.0-or-later
#include "fader/sounding.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "types/db.h"

namespace wip::cabled {
namespace {

using complex = std::complex<double>;

constexpr int first_bin = -160, nof_bins = 320, bins_in_mean = 10;  // of 15 kHz
constexpr tick longest_spread = 384;  // between two paths of a pair: the first window is free of it
constexpr double longest_shift_hz = 500;  // a phase that stands still over a window

complex turn(double cycles) { return std::polar(1.0, 2 * std::numbers::pi * cycles); }

// sum_n x[n] e^{-j 2 pi k n / 512} of all bins.
std::vector<complex> spectrum(std::span<const cf32> x) {
    static const std::vector<complex> phase = [] {
        std::vector<complex> p;
        for (tick n = 0; n < sounding::period; ++n)
            p.push_back(turn(-static_cast<double>(n) / double{sounding::period}));
        return p;
    }();
    std::vector<complex> bins(nof_bins);
    for (int b = 0; b < nof_bins; ++b)
        for (std::size_t n = 0; n < x.size(); ++n)
            bins[static_cast<std::size_t>(b)] +=
                complex(x[n]) *
                phase[static_cast<std::size_t>((b + first_bin) * static_cast<int>(n)) %
                      static_cast<std::size_t>(sounding::period)];
    return bins;
}

// Of what is measured something else than the taps.
std::string why_not_judged(const mix::mix_config& c, std::size_t to,
                           const std::vector<std::size_t>& paths) {
    if (!c.nodes[to].impairments.empty()) return "impairments of the receiver";
    for (const std::size_t p : paths) {
        if (!c.paths[p].impairments.empty()) return "impairments of a path";
        if (std::abs(c.paths[p].frequency_shift_hz) > longest_shift_hz)
            return "a frequency shift of more than 500 Hz";
    }
    return {};
}

}  // namespace

sounding::sounding(const mix::mix_config& config, tick begin, tick longest)
    : config_(config), end_(begin) {
    for (tick n = 0; n < period; ++n)
        sequence_.push_back(cf32(
            amplitude * turn(-static_cast<double>(n * n % (2 * period)) / double{2 * period})));
    for (std::size_t from = 0; from < config.nodes.size(); ++from) {
        const std::size_t before = pairs_.size();
        for (std::size_t to = 0; to < config.nodes.size(); ++to) {
            std::vector<std::size_t> paths;
            for (std::size_t i = 0; i < config.paths.size(); ++i)
                if (config.paths[i].from == from && config.paths[i].to == to) paths.push_back(i);
            if (!paths.empty()) {
                pairs_.push_back({from, to, std::move(paths), end_, {}});
                pairs_.back().why_not = why_not_judged(config, to, pairs_.back().paths);
            }
        }
        if (pairs_.size() > before) end_ += burst + longest;
    }
}

void sounding::replace(std::size_t node, tick first, std::span<cf32> x) const {
    if (first >= end_) return;
    for (std::size_t i = 0; i < x.size() && first + static_cast<tick>(i) < end_; ++i) {
        const tick t = first + static_cast<tick>(i);
        x[i] = {};
        for (const pair& p : pairs_)
            if (p.from == node && t >= p.begin && t < p.begin + burst)
                x[i] = sequence_[static_cast<std::size_t>((t - p.begin) % period)];
    }
}

// Where its windows begin: behind the earliest path by one period.
void sounding::prepare(pair& p, mix::mixer& mixer) const {
    double earliest = 1e9, latest = 0;
    for (const std::size_t path : p.paths)
        for (const auto& tap : mixer.taps(path, p.to, p.begin)) {
            earliest = std::min(earliest, tap.delay_samples);
            latest = std::max(latest, tap.delay_samples);
        }
    if (p.why_not.empty() && latest - earliest > double{longest_spread})
        p.why_not = "paths more than 50 us apart";
    p.first = p.begin + static_cast<tick>(earliest) + period;
}

void sounding::heard(std::size_t node, tick first, std::span<const cf32> y, mix::mixer& mixer) {
    if (complete_) return;  // written by this thread only
    constexpr tick whole = static_cast<tick>(windows) * period;
    const std::lock_guard lock(mutex_);
    bool all = true;
    for (pair& p : pairs_) {
        if (!p.first) prepare(p, mixer);
        const tick size = static_cast<tick>(y.size()), have = static_cast<tick>(p.y.size());
        if (p.to == node && have < whole && first <= *p.first + have &&
            first + size > *p.first + have) {
            const tick skip = *p.first + have - first, take = std::min(size - skip, whole - have);
            p.y.insert(p.y.end(), y.begin() + skip, y.begin() + skip + take);
            for (std::size_t w = 0; have + take == whole && w < windows; ++w)
                for (const std::size_t path : p.paths)
                    for (const auto& tap : mixer.taps(
                             path, p.to, *p.first + static_cast<tick>(w) * period + period / 2))
                        p.commanded[w].push_back(tap);
        }
        all = all && static_cast<tick>(p.y.size()) == whole;
    }
    complete_ = all;
}

std::optional<std::vector<sounding_result>> sounding::results() const {
    const std::lock_guard lock(mutex_);
    if (!complete_) return std::nullopt;
    if (results_.empty())
        for (const pair& p : pairs_) results_.push_back(result(p));
    return results_;
}

sounding_result sounding::result(const pair& p) const {
    sounding_result r{p.from, p.to, false, 0, 0, p.why_not};
    if (!p.why_not.empty()) return r;
    const auto sent = spectrum(sequence_);
    const double shift = static_cast<double>(*p.first - p.begin);  // whole periods turn nothing
    std::vector<complex> wrong(nof_bins / bins_in_mean);
    double power = 0;
    for (std::size_t w = 0; w < windows; ++w) {
        const auto y = spectrum(std::span(p.y).subspan(w * period, period));
        for (int b = 0; b < nof_bins; ++b) {
            const auto i = static_cast<std::size_t>(b);
            const double f = static_cast<double>(b + first_bin) / double{period};
            complex h{};
            for (const auto& tap : p.commanded[w]) h += tap.gain * turn(-f * tap.delay_samples);
            wrong[i / bins_in_mean] += y[i] / (sent[i] * turn(f * shift)) - h;
            power += std::norm(h);
        }
    }
    constexpr double in_mean = windows * bins_in_mean;
    power /= windows * nof_bins;
    double error = 0;
    for (const complex& v : wrong)
        error += std::norm(v / in_mean) / static_cast<double>(wrong.size());
    const auto& noise_dbfs = config_.nodes[p.to].noise_dbfs;
    const double noise =
        noise_dbfs ? dbfs(*noise_dbfs).power() / (amplitude * amplitude * in_mean) : 0;
    if (power <= 16 * noise || power < 1e-12) {
        r.why_not = "the channel is below its noise";
        return r;
    }
    const auto in_db = [](double x) { return 10 * std::log10(std::max(x, 1e-12)); };
    r.judged = true;
    r.residual_db = in_db(error / power);
    r.limit_db = in_db(std::pow(10, limit_db / 10) + 4 * noise / power);
    return r;
}

}  // namespace wip::cabled
