// SPDX-License-Identifier: GPL-3.0-or-later
// The downlink of a cell with several terminals: every user has a base_station_mac of its own
// (queue, window, feedback, retransmission delay); the scheduler shares out the bins of each slot
// and lets each MAC plan in its bins. Sans-I/O like them, and no bin is ever given to two.
//
//   on_sdu(user, packet, now), on_feedback(user, feedback)    passed on to the user's MAC
//   plan(air)                                                 one plan for each user
//
// A slot has `link.bins` bins for the whole cell. A user gets bins while two conditions hold: its
// terminal is locked, and its waiting data does not fit into the bins that it has got in this
// slot (scheduling_view; failed units are sent before new data). So no bin stays empty while a user
// has data, except under `fixed`.
//
//   fixed              bin b of the first `bins` belongs to user b mod N, whether it has data or
//                      not
//   best               users take turns, also from slot to slot, and each takes its best free bin.
//                      With one user these are the bins of the highest predicted SNR
//   round_robin        users take turns in the first `bins` bins, and the next slot goes on where
//                      this one ended: all get the same number of bins, whatever their channels
//   max_rate           the bin and user with the highest rate of all, again and again, which gives
//                      the largest sum of rates
//   proportional_fair  the highest rate relative to T, what the user has been getting; T is the
//                      exponential mean over `averaging_slots` of acknowledged payload bits
//
// With one grant for all users, a slot serves at most `most_served` of them: the first ones to whom
// the method gives a bin. Under `fixed` the served users change from slot to slot. A user without a
// bin whose terminal needs a new window edge comes last.
//
// The more sections a grant has, the less room is left for retransmissions: four sections leave
// room for two (docs/explanation/mac.md). If more units fail than fit, they wait until the
// windows are full, and the cell then sends only retransmissions. So a further user is served
// only if the failed units of all served users, as many as their bins can carry, fit beside the
// sections.
//
// A scheduler of the user's own (link/own_sharing.h) takes the place of all of these.
//
// The rate is the expected payload in error-free frames, at the SNR that the terminal predicts and
// the modulation that the user's MAC would choose. Payload bits alone would rate a deep fade like a
// good bin of a far user, as BPSK has no lower limit of SNR. Of equal offers, that of the user
// whose turn it is wins.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "link/base_station_mac.h"
#include "link/own_sharing.h"
#include "types/setting_limits.h"

namespace wip {

enum class scheduling_kind : std::uint8_t { fixed, best, round_robin, max_rate, proportional_fair };

// The names in YAML and on the command line.
inline constexpr std::array<std::string_view, 5> scheduling_names{"static", "best", "round_robin",
                                                                  "max_rate", "proportional_fair"};
std::optional<scheduling_kind> scheduling_of(std::string_view name);

struct cell_config {
    link_config link;  // the same for every user; `allocation` is not used
    int users = 1;     // 1..100
    scheduling_kind scheduling = scheduling_kind::best;
    int averaging_slots = setting::scheduling_averaging_slots.initial;  // of proportional_fair
    // One grant for all users (types/common_grant.h), and how many of them a slot serves at most
    // (docs/results/terminals.md). 0: each has a grant of its own, of which nothing is said, as at
    // bin level.
    int most_served = 0;
    // Throws std::invalid_argument naming key, value and what would be valid.
    void check() const;
};

class cell_scheduler {
public:
    explicit cell_scheduler(const cell_config& config);  // throws as check() does

    int users() const { return static_cast<int>(users_.size()); }
    bool on_sdu(int user, std::span<const std::uint8_t> packet, slot now);
    bool on_sdu(int user, std::span<const std::uint8_t> packet, std::int64_t arrived_ns);
    void on_feedback(int user, const slot_feedback& feedback);
    // Plans of all users, by user; valid until the next call. Called once for each slot, in order.
    std::span<const slot_plan> plan(slot air);
    // The sections of the common grant for the last plans, if one grant serves all users.
    common_grant_sections sections() const;
    // Slots in which a user that had been given bins found no room in the grant.
    std::uint64_t crowded_out() const { return crowded_out_; }

    // Leaves bits of the grants free, as base_station_mac::reserve_grant_bits does.
    void reserve_grant_bits(int user, int bits) {
        users_.at(static_cast<std::size_t>(user)).mac.reserve_grant_bits(bits);
    }

    // Follows the packets of one user, as base_station_mac::follow_packets does.
    void follow_packets(int user, packet_journal* journal);

    // Sets rules of the user's own, which from the next slot on take the place of `scheduling` and
    // of the switch table; nullptr: none. The caller keeps the objects.
    void use(scheduler_port* own_scheduler, adaptation_port* own_adaptation);

    // Changes the configuration at run time, except the users and the profile.
    void reconfigure(const cell_config& config);

    const base_station_mac& user(int u) const { return users_.at(static_cast<std::size_t>(u)).mac; }
    // The mean rate by which proportional_fair divides, in payload bits a slot.
    double mean_rate(int u) const { return users_.at(static_cast<std::size_t>(u)).mean_rate; }
    // Bins given to the user in the last slot; bit b: bin b.
    std::uint32_t given(int u) const { return users_.at(static_cast<std::size_t>(u)).given; }
    bool idle() const;

private:
    struct served_user {
        explicit served_user(const link_config& c) : mac(c) {}
        base_station_mac mac;
        const scheduling_view* view = nullptr;
        double mean_rate = 0;
        std::uint64_t acknowledged = 0;
        std::uint32_t given = 0;
        slot was_first{-1};                       // slot in which it came first in a common grant
        bool picked = false;                      // for this slot: it has bins, or will have
        int least = 0;                            // bits of its section, at least
        int slots_unsaid = 0;                     // slots in which it should have had a section
        open_pieces open;                         // what the bins given so far leave waiting
        std::array<bin_index, nof_bins> order{};  // `best`: bins by falling predicted SNR
        std::size_t next = 0;                     // in `order`; those before it are taken
    };
    using user_index = std::size_t;

    void look(slot air);
    bool wants(const served_user& u) const;
    void give(user_index u, bin_index bin);
    double value(const served_user& u, bin_index bin) const;
    void share();
    void share_fixed();
    void share_best();
    void share_in_turn();
    void share_by_value();
    void share_by_rule(slot air);
    bool fits(const served_user& u) const;  // beside those that are picked
    static int list_bits(const served_user& u, int bins);
    void pick(served_user& u);
    int admit();
    void plan_sections(slot air);

    cell_config config_;
    std::vector<served_user> users_;
    std::vector<slot_plan> plans_;
    std::uint32_t free_ = 0;
    user_index turn_ = 0;
    int picked_ = 0;  // number of users that are picked for the slot
    std::vector<user_index> admitted_;
    std::vector<int> least_;  // bits of the sections of admitted_, at least
    slot now_;
    std::uint64_t crowded_out_ = 0;
    std::optional<own_sharing> own_;
};

}  // namespace wip
