// SPDX-License-Identifier: GPL-3.0-or-later
#include "fader/station_soundings.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "types/db.h"

namespace wip::cabled {
namespace {

// The largest number of bursts that are kept for a pair, since a fader may outlive many starts of
// its stations.
constexpr std::ptrdiff_t most_bursts = 4 * std::ssize(known_burst::slots);

}  // namespace

station_soundings::station_soundings(const mix::mix_config& config)
    : config_(config), pairs_(pairs_of(config)), listeners_(config.nodes.size()) {}

void station_soundings::received(std::size_t node, tick first, std::span<const cf32> x,
                                 mix::mixer& mixer) {
    listeners_[node].take(first, x, [&](const heard_burst& b) { command(node, b, mixer); });
}

void station_soundings::command(std::size_t node, const heard_burst& b, mix::mixer& mixer) {
    for (const node_pair& p : pairs_) {
        if (p.from != node) continue;
        const auto taps = taps_of(p, b.centre, mixer);
        station_sounding s{
            p.from, p.to, b.centre, response_of(taps, b.cfo), 0, reason_not_evaluated(p, taps)};
        double power = 0;
        for (const auto& v : s.commanded.values) power += std::norm(v) / s.commanded.values.size();
        const double noise = dbfs(config_.nodes[p.to].noise_dbfs.value_or(-100)).power();
        s.snr_db = 10 * std::log10(std::max(b.power * power / noise, 1e-10));
        const std::lock_guard lock(mutex_);
        heard_.push_back(std::move(s));
        const auto same = [&](const station_sounding& h) {
            return h.from == p.from && h.to == p.to;
        };
        if (std::ranges::count_if(heard_, same) > most_bursts)
            heard_.erase(std::ranges::find_if(heard_, same));
    }
}

std::vector<station_sounding> station_soundings::heard() const {
    const std::lock_guard lock(mutex_);
    return {heard_.begin(), heard_.end()};
}

}  // namespace wip::cabled
