// SPDX-License-Identifier: GPL-3.0-or-later
// The radio resource control gives a terminal a dedicated channel (DCH), always or as its traffic
// asks for it.
//
//   idle --data: set_up--> DCH or FACH (by what waits)      PCH --data: page--> FACH
//   FACH --more waits than the threshold: switch--> DCH
//   DCH --inactive--> FACH --inactive--> PCH --inactive--> idle
//
// On FACH the rate is a few kbit/s, both ways. It has no clock: time comes with every call and does
// not go back; a change of state after a time of silence is found out at the next call.
#pragma once

#include <cstdint>

namespace wip::umts {

enum class rrc_state : std::uint8_t { idle, pch, fach, dch };

struct rrc_config {
    bool always_dch = true;
    std::int64_t set_up_ns = 1'000'000'000, page_ns = 200'000'000, switch_ns = 500'000'000;
    std::int64_t dch_inactive_ns = 5'000'000'000, fach_inactive_ns = 10'000'000'000,
                 pch_inactive_ns = 600'000'000'000;
    int threshold_bytes = 512;
    double fach_kbps = 16;
    void check() const;  // throws std::invalid_argument naming key, value and what would be valid
};

class rrc {
public:
    explicit rrc(const rrc_config& config);

    // Updates the state. `waiting_bytes`: of both directions together; `active`: packets are being
    // sent.
    void update(std::int64_t waiting_bytes, bool active, std::int64_t now_ns);
    // The state at the last update(), and the one at `now_ns` if there is no traffic until then.
    rrc_state state() const { return state_; }
    rrc_state state_at(std::int64_t now_ns) const;
    // Whether data can be sent.
    bool connected() const { return state_ == rrc_state::fach || state_ == rrc_state::dch; }
    // Time at which a change that has begun is complete; never (the largest number) if there is
    // none.
    std::int64_t next_wakeup() const { return due_ns_; }
    const rrc_config& config() const { return config_; }
    std::uint64_t changes() const { return changes_; }

private:
    void enter(rrc_state s, std::int64_t now_ns);
    std::int64_t inactivity_limit_ns() const;

    rrc_config config_;
    rrc_state state_, wanted_ = rrc_state::dch;
    std::int64_t due_ns_, last_ns_ = 0;
    std::uint64_t changes_ = 0;
};

}  // namespace wip::umts
