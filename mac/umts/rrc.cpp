// SPDX-License-Identifier: GPL-3.0-or-later
#include "umts/rrc.h"

#include <limits>
#include <utility>

#include "types/require.h"

namespace wip::umts {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

}  // namespace

void rrc_config::check() const {
    for (const auto& [key, ns] : {std::pair("umts.rrc_set_up_ms", set_up_ns),
                                  {"umts.rrc_page_ms", page_ns},
                                  {"umts.rrc_switch_ms", switch_ns}})
        check_range(key, static_cast<double>(ns) * 1e-6, 1e-6, 3.6e6);
    for (const auto& [key, ns] : {std::pair("umts.rrc_dch_s", dch_inactive_ns),
                                  {"umts.rrc_fach_s", fach_inactive_ns},
                                  {"umts.rrc_pch_s", pch_inactive_ns}})
        check_range(key, static_cast<double>(ns) * 1e-9, 1e-9, 3600);
    check_range("umts.rrc_threshold_bytes", threshold_bytes, 0, 1e6);
    check_range("umts.rrc_fach_kbps", fach_kbps, 1, 20000);
}

rrc::rrc(const rrc_config& config)
    : config_(config),
      state_(config.always_dch ? rrc_state::dch : rrc_state::idle),
      due_ns_(never) {}

void rrc::enter(rrc_state s, std::int64_t now_ns) {
    state_ = s;
    last_ns_ = now_ns;
    due_ns_ = never;
    ++changes_;
}

// The time without traffic after which the state is left.
std::int64_t rrc::inactivity_limit_ns() const {
    switch (state_) {
        case rrc_state::dch:
            return config_.dch_inactive_ns;
        case rrc_state::fach:
            return config_.fach_inactive_ns;
        case rrc_state::pch:
            return config_.pch_inactive_ns;
        case rrc_state::idle:
            break;
    }
    return never;
}

rrc_state rrc::state_at(std::int64_t now_ns) const {
    rrc then = *this;
    then.update(0, false, now_ns);
    return then.state_;
}

void rrc::update(std::int64_t waiting_bytes, bool active, std::int64_t now_ns) {
    if (config_.always_dch) return;
    if (now_ns >= due_ns_) enter(wanted_, due_ns_);
    // Down the steps that the silence was long enough for.
    while (due_ns_ == never && state_ != rrc_state::idle &&
           now_ns - last_ns_ >= inactivity_limit_ns())
        enter(static_cast<rrc_state>(static_cast<int>(state_) - 1),
              last_ns_ + inactivity_limit_ns());
    if (waiting_bytes > 0 || active) last_ns_ = now_ns;
    if (waiting_bytes == 0 || due_ns_ != never) return;
    const bool above_threshold = waiting_bytes > config_.threshold_bytes;
    if (state_ == rrc_state::idle) {
        wanted_ = above_threshold ? rrc_state::dch : rrc_state::fach;
        due_ns_ = now_ns + config_.set_up_ns;
    } else if (state_ == rrc_state::pch) {
        wanted_ = rrc_state::fach;
        due_ns_ = now_ns + config_.page_ns;
    } else if (state_ == rrc_state::fach && above_threshold) {
        wanted_ = rrc_state::dch;
        due_ns_ = now_ns + config_.switch_ns;
    }
}

}  // namespace wip::umts
