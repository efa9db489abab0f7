// SPDX-License-Identifier: GPL-3.0-or-later
#include "umts/cell_scheduler.h"

#include <algorithm>
#include <cstddef>

namespace wip::umts {
namespace {

// Shares are sums of fractions: equal to within this.
constexpr double tolerance = 1e-9;

}  // namespace

void cell_scheduler::configure(sharing method, const std::vector<share>& users) {
    // Totals of another method say nothing about this one.
    if (method != method_) {
        users_.clear();
        served_ = {};
    }
    method_ = method;
    users_.resize(users.size());
    for (std::size_t u = 0; u < users.size(); ++u) {
        // The debt of the last PDU was measured by another rate, perhaps an hour ago.
        if (users_[u].bits != users[u].bits) resource_left_ = std::max(resource_left_, 0.0);
        users_[u].bits = users[u].bits;
        users_[u].traffic = users[u].traffic;
    }
}

void cell_scheduler::begin(std::int64_t interval) {
    if (interval == interval_) return;
    for (state& u : users_)
        if (u.ready) u.ready_in = interval_;
    // Intervals that were skipped carried nothing, but they pay off a debt.
    resource_left_ = std::min(resource_left_, 0.0) + static_cast<double>(interval - interval_);
    resource_left_ = std::min(resource_left_, 1.0);
    for (state& u : users_) u.ready = false;
    interval_ = interval;
}

void cell_scheduler::enter(int user) {
    state& u = users_[static_cast<std::size_t>(user)];
    u.ready = true;
    if (u.ready_in == interval_ - 1) return;
    const served& s = served_[static_cast<std::size_t>(u.traffic)];
    u.had_bits = std::max(u.had_bits, s.bits);
    u.had_resource = std::max(u.had_resource, s.resource);
}

bool cell_scheduler::before(const state& a, const state& b) const {
    if (a.traffic != b.traffic) return a.traffic < b.traffic;
    if (method_ == sharing::equal_resource) return a.had_resource + tolerance < b.had_resource;
    if (method_ == sharing::max_ci && a.bits != b.bits) return a.bits > b.bits;
    return a.had_bits + tolerance < b.had_bits;
}

int cell_scheduler::next() const {
    const state* best = nullptr;
    for (const state& u : users_)
        if (u.ready && (u.bits == 0 || resource_left_ > tolerance) && (!best || before(u, *best)))
            best = &u;
    return best ? static_cast<int>(best - users_.data()) : -1;
}

void cell_scheduler::sent(int user, int bits) {
    state& u = users_[static_cast<std::size_t>(user)];
    served_[static_cast<std::size_t>(u.traffic)] = {u.had_bits, u.had_resource};
    const double part = u.bits == 0 ? 0 : bits / u.bits;
    u.had_bits += bits;
    u.had_resource += part;
    resource_left_ -= part;
}

}  // namespace wip::umts
