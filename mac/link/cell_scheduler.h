// SPDX-License-Identifier: GPL-3.0-or-later
// The downlink of a cell with several terminals: every user has a base_station_mac of its own
// (queue, window, feedback, retransmission delay); the scheduler shares out the bins of each slot
// and lets each MAC plan in its bins. Sans-I/O like them, and no bin is ever given to two.
//
//   on_sdu(user, packet, now), on_feedback(user, feedback)    passed on to the user's MAC
//   plan(air)                                                 one plan for each user
//
// A slot has `link.bins` bins for the whole cell. A user takes part while its terminal hears and
// something waits for it that the bins it has got so far do not hold yet (failed units first, they
// are sent before new data inside its bins; scheduling_view). So no bin stays empty while a user
// has work, except under `fixed`.
//
//   fixed              bin b of the first `bins` belongs to user b mod N, whether it has data or
//                      not
//   best               users take turns, each its best free bin; the first of a slot is the next of
//                      the last slot's. With one user: the bins of the highest predicted SNR
//   round_robin        the first `bins` bins in turn, going on in the next slot where this ended:
//                      equal numbers of bins, whatever the channels
//   max_rate           the bin and user of the highest rate of all, again and again: the largest
//                      sum of rates
//   proportional_fair  the highest rate relative to T, what the user has been getting; T is the
//                      exponential mean over `averaging_slots` of acknowledged payload bits
//
// With one grant for all, a slot serves up to `most_served` users: the first to whom the method
// gives a bin. Under `fixed` the users take turns where not all are served, bin b for those of the
// slot. A user without a bin whose terminal is to be told of a window edge comes last.
//
// The more sections, the less room for retransmissions (docs/explanation/mac.md): four leave some
// for two in a slot. If more than that fail, those that find no room pile up until the windows are
// full, and the cell then sends no more than the retransmissions that fit. So a further user is
// served only if the failed units of all who are served, as many as their shares of the bins can
// carry, find room beside the sections. The longer their lists, the fewer users a slot serves.
//
// A scheduler of the user's own (link/own_sharing.h) takes the place of all of these.
//
// Rate: expected payload bits in error-free frames, at the modulation that the user's MAC would
// send in the bin and the SNR that its terminal predicts. Payload bits alone would rate a deep fade
// as high as a good bin of a far user, for k = 1 has no lower end. Of equal offers the user's whose
// turn it is comes first.
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
