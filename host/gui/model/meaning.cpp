// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/model/meaning.h"

#include <algorithm>

namespace wip::gui {
namespace {

// share of the slots that may be released later than the pacing limit
constexpr double behind_share = 0.01;

}  // namespace

float quantile(const std::vector<float>& sorted, double share) {
    const double at = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const auto above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above],
                     static_cast<float>(at - static_cast<double>(below)));
}

bool is_replayed(const openwip::telemetry::Verdict& v) { return v.command() == "replay"; }

bool keeps_pace(const openwip::control::AirStatus& air) {
    return air.late() == 0 && static_cast<double>(air.slots_behind()) <=
                                  behind_share * static_cast<double>(air.slots());
}

bool goes_wrong(const openwip::control::AttenuatorStatus& a) {
    const bool ended_early = a.state() == "stopped" || a.state() == "silent";
    return !a.wrong().empty() || a.silent_s() > attenuator_answers_s || a.missed_ticks() != 0 ||
           (a.steps() != 0 && (a.underflows() + a.late() != 0 || ended_early));
}

std::string lock_words(const openwip::receiver::State& radio) {
    return radio.locked() ? "locked" : "NOT LOCKED (" + radio.mode() + ")";
}

std::uint64_t dropped_packets(const openwip::control::Direction& d) {
    std::uint64_t sum = 0;
    for (const auto& drop : d.dropped()) sum += drop.count().packets();
    return sum;
}

double goodput_bps(const base_point& from, const base_point& to) {
    if (to.slot <= from.slot || to.bits_acknowledged < from.bits_acknowledged) return unknown;
    return static_cast<double>(to.bits_acknowledged - from.bits_acknowledged) /
           seconds_of(static_cast<double>(to.slot - from.slot));
}

db prediction_error(const slot_column& c, bin_index bin) {
    return db(c.predicted_db[bin.n()]) - db(c.measured_db[bin.n()]);
}

}  // namespace wip::gui
