// SPDX-License-Identifier: GPL-3.0-or-later
#include "link/cell_scheduler.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>
#include <string>

#include "link/frame_success.h"
#include "types/require.h"

namespace wip {
namespace {

constexpr std::uint32_t all_bins = (1U << nof_bins) - 1;
// A user that has had nothing yet: far below a bit a slot, and no division by zero.
constexpr double least_mean_rate = 1e-3;
// A retransmission in a section, in the mean: most have the SN after that of another one.
constexpr int retransmission_bits = 9;
// So many users are served however long their lists: there is room enough for two, and one alone
// would also send in its poor bins, where more fails than the larger room makes good.
constexpr int always_served = 2;
// Slots after which a terminal is told what it has to know although it gets no bin, even if lists
// of the others lose their room: 10 ms.
constexpr int longest_unsaid = 15;

}  // namespace

std::optional<scheduling_kind> scheduling_of(std::string_view name) {
    const auto it = std::ranges::find(scheduling_names, name);
    if (it == scheduling_names.end()) return std::nullopt;
    return static_cast<scheduling_kind>(it - scheduling_names.begin());
}

void cell_config::check() const {
    link.check();
    check_range("users of the cell", users, 1, 100);
    check_range(averaging_slots, setting::scheduling_averaging_slots);
    check_range("most terminals served in a slot", most_served, 0, most_terminals);
    if (most_served > 0)
        check_range("users of a cell with a common grant", users, 1, most_terminals);
    require(scheduling <= scheduling_kind::proportional_fair, "scheduling.method",
            static_cast<int>(scheduling),
            "static, best, round_robin, max_rate or proportional_fair");
}

cell_scheduler::cell_scheduler(const cell_config& config) : config_(config) {
    config.check();
    users_.reserve(static_cast<std::size_t>(config.users));
    for (int u = 0; u < config.users; ++u) users_.emplace_back(config.link);
    plans_.resize(users_.size());
}

void cell_scheduler::reconfigure(const cell_config& config) {
    config.check();
    if (config.users != config_.users)
        refuse("users of the cell", std::to_string(config.users),
               std::to_string(config_.users) + ", as when the cell began");
    if ((config.most_served > 0) != (config_.most_served > 0))
        refuse("most terminals served in a slot", std::to_string(config.most_served),
               config_.most_served > 0 ? "1..8, as the cell began with common grants"
                                       : "0, as the cell began with a grant for each terminal");
    for (auto& u : users_) u.mac.reconfigure(config.link);
    config_ = config;
}

bool cell_scheduler::on_sdu(int user, std::span<const std::uint8_t> packet, slot now) {
    return users_.at(static_cast<std::size_t>(user)).mac.on_sdu(packet, now);
}

bool cell_scheduler::on_sdu(int user, std::span<const std::uint8_t> packet,
                            std::int64_t arrived_ns) {
    return users_.at(static_cast<std::size_t>(user)).mac.on_sdu(packet, arrived_ns);
}

void cell_scheduler::on_feedback(int user, const slot_feedback& feedback) {
    users_.at(static_cast<std::size_t>(user)).mac.on_feedback(feedback);
}

void cell_scheduler::follow_packets(int user, packet_journal* journal) {
    users_.at(static_cast<std::size_t>(user)).mac.follow_packets(journal);
}

void cell_scheduler::use(scheduler_port* own_scheduler, adaptation_port* own_adaptation) {
    own_.reset();
    if (own_scheduler != nullptr)
        own_.emplace(*own_scheduler, cell_of(config_.link, users(), config_.averaging_slots));
    for (int u = 0; u < users(); ++u)
        users_[static_cast<std::size_t>(u)].mac.use(own_adaptation, u);
}

bool cell_scheduler::idle() const {
    return std::ranges::all_of(users_, [](const served_user& u) { return u.mac.idle(); });
}

void cell_scheduler::look(slot air) {
    const double share = 1.0 / config_.averaging_slots;
    for (auto& u : users_) {
        u.view = &u.mac.look(air);
        u.given = 0;
        u.picked = false;
        u.least = config_.most_served > 0 ? u.mac.least_section(air) : 0;
        u.open = open_pieces(*u.view);
        const std::uint64_t bits = u.mac.statistics().payload_bits_acknowledged;
        u.mean_rate += share * (static_cast<double>(bits - u.acknowledged) - u.mean_rate);
        u.acknowledged = bits;
    }
}

// Bits of the user's list of retransmissions in a section with so many bins, and of the flags that
// say which of them have one.
int cell_scheduler::list_bits(const served_user& u, int bins) {
    const int again = std::min(u.view->nof_failed, bins);
    return again > 0 ? bins + again * retransmission_bits : 0;
}

bool cell_scheduler::fits(const served_user& u) const {
    if (u.picked || config_.most_served == 0) return true;
    if (picked_ == config_.most_served) return false;
    if (picked_ < always_served) return true;
    const int served = picked_ + 1;
    const int share = (config_.link.bins + served - 1) / served;
    int bits = common_grant_head + most_owner_bits(config_.link.bins, served) + u.least +
               list_bits(u, share);
    for (const served_user& other : users_)
        if (other.picked) bits += other.least + list_bits(other, share);
    return bits <= 8 * grant_bytes;
}

void cell_scheduler::pick(served_user& u) {
    picked_ += u.picked ? 0 : 1;
    u.picked = true;
}

bool cell_scheduler::wants(const served_user& u) const {
    return u.view->hears && u.open.any() && fits(u);
}

void cell_scheduler::give(user_index n, bin_index bin) {
    served_user& u = users_[n];
    pick(u);
    u.given |= bin.bit();
    free_ &= ~bin.bit();
    u.open.give(frame_payload_nibbles(config_.link.profile, u.view->rate[bin.n()]));
}

void cell_scheduler::share_fixed() {
    std::vector<user_index> served;
    const bool in_turn = config_.most_served > 0;
    for (std::size_t i = 0; i < users_.size(); ++i) {
        const user_index n = (turn_ + i) % users_.size();
        if (!fits(users_[n]) || (in_turn && picked_ == config_.link.bins)) break;
        served.push_back(n);
        pick(users_[n]);
    }
    turn_ = (turn_ + served.size()) % users_.size();
    std::ranges::sort(served);
    for (int b = 0; b < config_.link.bins; ++b)
        give(served[static_cast<std::size_t>(b) % served.size()], bin_index(b));
}

void cell_scheduler::share_best() {
    int left = config_.link.bins;
    for (auto& u : users_) {
        u.order = strongest_first(u.view->predicted_snr_db);
        u.next = 0;
    }
    for (std::size_t passed = 0; left > 0 && passed < users_.size();) {
        const user_index n = turn_;
        turn_ = (turn_ + 1) % users_.size();
        if (!wants(users_[n])) {
            ++passed;
            continue;
        }
        passed = 0;
        served_user& u = users_[n];
        while (!u.order[u.next].in(free_)) ++u.next;
        give(n, u.order[u.next]);
        --left;
    }
}

void cell_scheduler::share_in_turn() {
    int bin = 0;
    for (std::size_t passed = 0; bin < config_.link.bins && passed < users_.size();) {
        const user_index n = turn_;
        turn_ = (turn_ + 1) % users_.size();
        if (wants(users_[n])) {
            give(n, bin_index(bin++));
            passed = 0;
        } else {
            ++passed;
        }
    }
}

double cell_scheduler::value(const served_user& u, bin_index bin) const {
    const int k = u.view->rate[bin.n()];
    const double rate = frame_payload_bits(config_.link.profile, k) *
                        frame_success(k, db(u.view->predicted_snr_db[bin.n()]), config_.link.eight);
    if (config_.scheduling == scheduling_kind::max_rate) return rate;
    return rate / std::max(u.mean_rate, least_mean_rate);
}

void cell_scheduler::share_by_value() {
    struct offer {
        double value;
        user_index user;
        bin_index bin;
    };
    std::vector<offer> offers;
    offers.reserve(users_.size() * nof_bins);
    for (std::size_t i = 0; i < users_.size(); ++i) {
        const user_index n = (turn_ + i) % users_.size();
        if (!wants(users_[n])) continue;
        for (int b = 0; b < nof_bins; ++b)
            offers.push_back({value(users_[n], bin_index(b)), n, bin_index(b)});
    }
    turn_ = (turn_ + 1) % users_.size();
    std::ranges::stable_sort(offers,
                             [](const offer& a, const offer& b) { return a.value > b.value; });
    int left = config_.link.bins;
    for (const offer& o : offers) {
        if (left == 0) break;
        if (!o.bin.in(free_) || !wants(users_[o.user])) continue;
        give(o.user, o.bin);
        --left;
    }
}

void cell_scheduler::share_by_rule(slot air) {
    for (int u = 0; u < users(); ++u) {
        const served_user& user = users_[static_cast<std::size_t>(u)];
        own_->show(u, *user.view, user.acknowledged, config_.link);
    }
    own_->share(air, config_.link.bins);
    for (int u = 0; u < users(); ++u) users_[static_cast<std::size_t>(u)].given = own_->given(u);
}

std::span<const slot_plan> cell_scheduler::plan(slot air) {
    look(air);
    free_ = all_bins;
    picked_ = 0;
    if (own_)
        share_by_rule(air);
    else
        share();
    if (config_.most_served > 0) {
        plan_sections(air);
        return plans_;
    }
    for (std::size_t n = 0; n < users_.size(); ++n)
        users_[n].mac.plan(air, users_[n].given, plans_[n]);
    return plans_;
}

// The users that get a section: those with bins, then those that have something to say without, if
// the lists of the former find room beside them. The first of them finds the most room for its
// lists: the one that was first the longest time ago, or one that has waited long to say something.
// Returns the bits that the lists may have beside what the sections have at least.
int cell_scheduler::admit() {
    std::vector<user_index> order(users_.size());
    std::iota(order.begin(), order.end(), user_index{0});
    std::ranges::stable_sort(order, {}, [&](user_index n) { return users_[n].was_first; });
    admitted_.clear();
    least_.clear();
    int bins = 0, least = 0, lists = 0;
    for (const auto& u : users_) bins += std::popcount(u.given);
    const auto room = [&](std::size_t served) {
        return 8 * grant_bytes - common_grant_head -
               most_owner_bits(bins, static_cast<int>(served)) - least;
    };
    const auto take = [&](user_index n) {
        served_user& u = users_[n];
        const bool urgent = u.given == 0 && ++u.slots_unsaid >= longest_unsaid;
        const bool patient = u.given == 0 && !urgent;
        if (static_cast<int>(admitted_.size()) == config_.most_served ||
            room(admitted_.size() + 1) - (patient ? lists : 0) < u.least)
            return false;
        const auto place = urgent ? 0 : static_cast<std::ptrdiff_t>(admitted_.size());
        admitted_.insert(admitted_.begin() + place, n);
        least_.insert(least_.begin() + place, u.least);
        least += u.least;
        lists += list_bits(u, std::popcount(u.given));
        u.slots_unsaid = 0;
        return true;
    };
    for (const user_index n : order) {
        if (users_[n].given == 0 || take(n)) continue;
        ++crowded_out_;
        users_[n].given = 0;
    }
    for (const user_index n : order)
        if (users_[n].given == 0 && users_[n].mac.wants_section()) take(n);
    if (!admitted_.empty()) users_[admitted_[0]].was_first = now_;
    return room(admitted_.size());
}

void cell_scheduler::plan_sections(slot air) {
    now_ = air;
    const link_profile profile = config_.link.profile;
    int left = admit();
    for (std::size_t i = 0; i < admitted_.size(); ++i) {
        const user_index n = admitted_[i];
        users_[n].mac.plan(air, users_[n].given, grant_room::section(profile, least_[i] + left),
                           plans_[n]);
        if (!plans_[n].grant.addressed) continue;
        left -= std::max(0, section_bits(plans_[n].grant, profile) - least_[i]);
    }
    for (user_index n = 0; n < users_.size(); ++n)
        if (std::ranges::find(admitted_, n) == admitted_.end())
            users_[n].mac.plan(air, 0, grant_room::section(profile, 0), plans_[n]);
}

common_grant_sections cell_scheduler::sections() const {
    common_grant_sections all;
    all.frame_number = frame_number_of(now_);
    for (user_index n = 0; config_.most_served > 0 && n < users_.size(); ++n)
        if (plans_[n].grant.addressed) all.of[n] = &plans_[n].grant;
    return all;
}

void cell_scheduler::share() {
    switch (config_.scheduling) {
        case scheduling_kind::fixed:
            share_fixed();
            break;
        case scheduling_kind::best:
            share_best();
            break;
        case scheduling_kind::round_robin:
            share_in_turn();
            break;
        case scheduling_kind::max_rate:
        case scheduling_kind::proportional_fair:
            share_by_value();
            break;
    }
}

}  // namespace wip
