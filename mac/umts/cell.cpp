// SPDX-License-Identifier: GPL-3.0-or-later
#include "umts/cell.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace wip::umts {

cell::cell(const bearer_config& bearers, const cell_config& config)
    : tti_ns_(bearers.profile.tti_ms * std::int64_t{1'000'000}),
      left_(static_cast<std::size_t>(config.users)) {
    constexpr std::uint64_t seed_step = 1'000'003;  // any prime that is larger than usual seeds
    for (int u = 0; u < config.users; ++u) {
        bearer_config own = bearers;
        own.seed += seed_step * static_cast<std::uint64_t>(u);
        bearers_.push_back(std::make_unique<bearer>(own));
        user(u).downlink().deliver_to([this](const link_packet& p) { return links_[0].leave(p); });
        user(u).uplink().deliver_to([this](const link_packet& p) { return links_[1].leave(p); });
    }
    reconfigure(config);
}

void cell::reconfigure(const cell_config& config) {
    std::vector<cell_scheduler::share> all(bearers_.size());
    for (std::size_t u = 0; u < all.size(); ++u) {
        const double db = u < config.users_db.size() ? config.users_db[u] : 0;
        all[u].bits = config.kbps * std::pow(10, db / 10) * static_cast<double>(tti_ns_) * 1e-6;
        if (u < config.classes.size()) all[u].traffic = config.classes[u];
    }
    scheduler_.configure(config.method, all);
}

std::int64_t cell::next_wakeup() const {
    std::int64_t next = packet_link::never;
    for (const auto& b : bearers_) next = std::min(next, b->next_wakeup());
    return next;
}

void cell::advance(std::int64_t now_ns) {
    for (std::int64_t t; (t = next_wakeup()) <= now_ns;) {
        for (const auto& b : bearers_) b->arrive(t);
        if (std::ranges::any_of(
                bearers_, [t](const auto& b) { return b->interval_due(bearer::way::down, t); }))
            downlink_interval(t);
        for (const auto& b : bearers_) {
            if (!b->interval_due(bearer::way::up, t)) continue;
            const int most = b->begin_interval(bearer::way::up, t);
            for (int n = 0; n < most && b->send_pdu(bearer::way::up, t);) ++n;
        }
    }
    for (const auto& b : bearers_) b->advance(now_ns);
    if (then_) then_(now_ns);
}

void cell::downlink_interval(std::int64_t start_ns) {
    scheduler_.begin(start_ns / tti_ns_);
    for (int u = 0; u < users(); ++u) {
        if (!user(u).interval_due(bearer::way::down, start_ns)) continue;
        int& left = left_[static_cast<std::size_t>(u)];
        left = user(u).begin_interval(bearer::way::down, start_ns);
        if (left > 0) scheduler_.enter(u);
    }
    for (int u; (u = scheduler_.next()) >= 0;) {
        int& left = left_[static_cast<std::size_t>(u)];
        if (left-- > 0 && user(u).send_pdu(bearer::way::down, start_ns))
            scheduler_.sent(u, user(u).config().profile.block_down * 8);
        else
            scheduler_.leave(u);
    }
}

packet_link& cell::link::of(int user) const {
    auto& b = cell_->user(user);
    return way_ == bearer::way::down ? b.downlink() : b.uplink();
}

link_sums cell::link::sums() const {
    link_sums all = of(0).sums();
    for (int u = 1; u < cell_->users(); ++u) all += of(u).sums();
    return all;
}

bool cell::link::idle() const {
    for (int u = 0; u < cell_->users(); ++u)
        if (!of(u).idle()) return false;
    return true;
}

}  // namespace wip::umts
