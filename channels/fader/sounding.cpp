// SPDX-License-Identifier: GPL-3.0-or-later
#include "fader/sounding.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "types/db.h"

namespace wip::cabled {
namespace {

using complex = std::complex<double>;

constexpr int first_bin = known_burst::first_bin, nof_bins = known_burst::nof_bins,
              bins_in_mean = known_burst::bins_in_mean;
// Between two paths of a pair: it ends within the first period.
constexpr tick longest_spread = 384;
constexpr double longest_shift_hz = 500;  // the phase is nearly constant over a window

complex turn(double cycles) { return std::polar(1.0, 2 * std::numbers::pi * cycles); }

std::string why_no_taps(const mix::mix_config& c, const node_pair& pair) {
    if (!c.nodes[pair.to].impairments.empty()) return "impairments of the receiver";
    for (const std::size_t p : pair.paths) {
        if (!c.paths[p].impairments.empty()) return "impairments of a path";
        if (std::abs(c.paths[p].frequency_shift_hz) > longest_shift_hz)
            return "a frequency shift of more than 500 Hz";
    }
    return {};
}

}  // namespace

std::vector<node_pair> pairs_of(const mix::mix_config& config) {
    std::vector<node_pair> pairs;
    for (std::size_t from = 0; from < config.nodes.size(); ++from)
        for (std::size_t to = 0; to < config.nodes.size(); ++to) {
            node_pair p{from, to, {}};
            for (std::size_t i = 0; i < config.paths.size(); ++i)
                if (config.paths[i].from == from && config.paths[i].to == to) p.paths.push_back(i);
            if (p.paths.empty()) continue;
            p.why_not = why_no_taps(config, p);
            pairs.push_back(std::move(p));
        }
    return pairs;
}

std::vector<mix::path_tap> taps_of(const node_pair& p, tick at, mix::mixer& mixer) {
    std::vector<mix::path_tap> all;
    for (const std::size_t path : p.paths) {
        const auto taps = mixer.taps(path, p.to, at);
        all.insert(all.end(), taps.begin(), taps.end());
    }
    return all;
}

std::string reason_not_evaluated(const node_pair& p, std::span<const mix::path_tap> taps) {
    if (!p.why_not.empty() || taps.empty()) return p.why_not;
    const auto [first, last] = std::ranges::minmax(taps, {}, &mix::path_tap::delay_samples);
    return last.delay_samples - first.delay_samples > double{longest_spread}
               ? "paths more than 50 us apart"
               : "";
}

sounding::sounding(const mix::mix_config& config, tick begin, tick longest)
    : config_(config), end_(begin) {
    for (tick n = 0; n < period; ++n) sequence_.push_back(known_burst::sample(n));
    std::optional<std::size_t> last;
    for (node_pair& p : pairs_of(config)) {
        if (last && *last != p.from) end_ += burst + longest;
        last = p.from;
        pairs_.push_back({std::move(p), end_, {}});
    }
    if (last) end_ += burst + longest;
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

// Sets the beginning of the windows, one period after that of the burst on the earliest path.
void sounding::prepare(pair& p, mix::mixer& mixer) const {
    const auto taps = taps_of(p, p.begin, mixer);
    double earliest = 1e9;
    for (const auto& tap : taps) earliest = std::min(earliest, tap.delay_samples);
    p.why_not = reason_not_evaluated(p, taps);
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
                p.commanded[w] =
                    taps_of(p, *p.first + static_cast<tick>(w) * period + period / 2, mixer);
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
    const auto sent = known_burst::spectrum(sequence_);
    // Whole periods do not change the phase.
    const double shift = static_cast<double>(*p.first - p.begin);
    std::vector<complex> wrong(nof_bins / bins_in_mean);
    double power = 0;
    for (std::size_t w = 0; w < windows; ++w) {
        const auto y = known_burst::spectrum(std::span(p.y).subspan(w * period, period));
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
    r.evaluated = true;
    r.residual_db = in_db(error / power);
    r.limit_db = in_db(std::pow(10, limit_db / 10) + 4 * noise / power);
    return r;
}

}  // namespace wip::cabled
