// SPDX-License-Identifier: GPL-3.0-or-later
#include "users_world.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

#include "frame_error.h"

namespace wip::sim {
namespace {
constexpr std::uint32_t numbers_per_user = 1U << 24;  // packet_number() is 31 bits
}

users_world::users_world(const users_config& config)
    : config_(config), random_(config.seed), cell_(config.cell) {
    const auto n = static_cast<std::size_t>(config.cell.users);
    for (std::size_t u = 0; u < n; ++u) terminals_.push_back(new_terminal(u));
    sections_.resize(n);
    saturated_.resize(n);
    locked_.assign(n, true);
    used_.resize(n);
    accepted_.resize(n);
    delivered_.resize(n);
    sent_.resize(n);
    gain_.resize(n);
    known_.resize(n);
}

terminal_mac users_world::new_terminal(std::size_t user) {
    return {config_.cell.link, [this, user](std::span<const std::uint8_t> p, bool damaged) {
                take(user, p, damaged);
            }};
}

void users_world::restart_terminal(int user) {
    const auto u = static_cast<std::size_t>(user);
    terminals_[u] = new_terminal(u);
    sections_[u].forget();
}

void users_world::violated(const std::string& what) { throw std::logic_error(what); }

void users_world::reconfigure(const cell_config& cell) {
    cell_.reconfigure(cell);
    config_.cell = cell;
}

double users_world::bits(int user) const {
    return static_cast<double>(cell_.user(user).statistics().payload_bits_acknowledged);
}

void users_world::give(int user, int packets, int bytes) {
    auto& sent = sent_[static_cast<std::size_t>(user)];
    for (int i = 0; i < packets; ++i) {
        const auto number = static_cast<std::uint32_t>(user + 1) * numbers_per_user +
                            static_cast<std::uint32_t>(sent.size());
        const bool in = cell_.on_sdu(user, make_packet(number, {.bytes = bytes}), slot(now_));
        sent.push_back(in ? bytes : 0);
        accepted_[static_cast<std::size_t>(user)] += in ? 1 : 0;
    }
}

void users_world::take(std::size_t user, std::span<const std::uint8_t> packet, bool damaged) {
    if (damaged) violated("a damaged packet");
    const auto number = packet_number(packet);
    if (!number || *number / numbers_per_user != user + 1) violated("a packet of another user");
    int& bytes = sent_[user].at(*number % numbers_per_user);
    if (bytes == 0) violated("a packet that was not sent, or twice");
    if (!std::ranges::equal(packet, make_packet(*number, {.bytes = bytes})))
        violated("an altered packet");
    bytes = 0;
    ++delivered_[user];
}

void users_world::fade() {
    const auto ahead = static_cast<std::size_t>(config_.cell.link.retransmission_delay_slots) + 1;
    for (std::size_t u = 0; u < gain_.size(); ++u) {
        const double mean = std::pow(10, config_.mean_snr_db[u] / 10);
        auto& g = gain_[u];
        if (!g.empty()) g.pop_front();
        while (g.size() < ahead) {
            const double a = g.empty() ? 0 : config_.coherence;
            const double b = std::sqrt((1 - a * a) / 2 * mean);
            std::array<std::complex<double>, nof_bins> next;
            for (std::size_t i = 0; i < next.size(); ++i)
                next[i] = (g.empty() ? 0 : a * g.back()[i]) +
                          std::complex<double>(b * random_.gauss(), b * random_.gauss());
            g.push_back(next);
        }
    }
}

void users_world::pack() {
    const common_grant_sections all = cell_.sections();
    if (!pack_common_grant(all, config_.cell.link.profile, packed_)) violated("a grant too long");
    if (std::ranges::count_if(all.of, [](const slot_grant* g) { return g != nullptr; }) >
        config_.cell.most_served)
        violated("more users served than a slot may");
}

bool users_world::read_grant(std::size_t user, const slot_plan& plan, slot_grant& out) {
    out = plan.grant;
    if (config_.cell.most_served == 0) return true;
    const auto all = unpack_common_grant(packed_, config_.cell.link.profile);
    if (!all || all->frame_number != frame_number_of(plan.air)) violated("a grant that is none");
    slot_grant read = all->of[user];
    if (!sections_[user].take(read)) return false;
    if (read.addressed != plan.grant.addressed) violated("a section that was not planned");
    if (read.addressed) {
        if (!read.edge_said) read.window_edge = plan.grant.window_edge;
        if (read != plan.grant) violated("another section than the one that was planned");
        if (!read.edge_said) read.window_edge = 0;
    }
    out = read;
    return true;
}

slot_report users_world::receive(std::size_t user, const slot_plan& plan) {
    slot_report r;
    r.air = plan.air;
    r.locked = locked_[user];
    if (!r.locked) return r;
    for (std::size_t b = 0; b < nof_bins; ++b)
        r.predicted_snr_db[b] =
            static_cast<float>(10 * std::log10(std::norm(gain_[user].back()[b]) + 1e-12));
    if (config_.grant_loss > 0 && random_.hits(config_.grant_loss)) {
        r.outcome.fill(frame_outcome::unknown);
        return r;
    }
    r.grant_ok = read_grant(user, plan, r.grant);
    if (!r.grant_ok) return r;
    r.payload = plan.payload;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const int k = plan.grant.bins[b].bits_per_symbol;
        if (k == 0) continue;
        const bool good =
            random_.hits((1 - config_.frame_loss) * frame_ok(k, std::norm(gain_[user].front()[b])));
        r.outcome[b] = good ? frame_outcome::good : frame_outcome::bad;
        if (!good) std::ranges::fill(r.payload[b], std::uint8_t{0});
    }
    return r;
}

void users_world::check(std::size_t user, const slot_plan& plan, std::uint32_t& taken) const {
    for (std::size_t b = 0; b < nof_bins; ++b) {
        if (plan.payload[b].empty()) continue;
        if ((taken >> b & 1U) != 0) violated("a bin with two users");
        if ((cell_.given(static_cast<int>(user)) >> b & 1U) == 0) violated("a bin not given");
        taken |= 1U << b;
    }
    const auto& s = cell_.user(static_cast<int>(user)).statistics();
    const auto sum = [&](auto part) {
        return part(s.queued) + part(s.sent) + part(s.dropped_queue_full) + part(s.dropped_not_ip) +
                   part(s.dropped_retransmissions) ==
               part(s.in);
    };
    if (!sum([](const packets_bytes& p) { return p.packets; }) ||
        !sum([](const packets_bytes& p) { return p.bytes; }))
        violated("the sums of user " + std::to_string(user));
}

void users_world::step() {
    for (std::size_t u = 0; u < saturated_.size(); ++u)
        while (saturated_[u] && cell_.user(static_cast<int>(u)).statistics().queued.packets < 40) {
            const auto before = accepted_[u];
            give(static_cast<int>(u), 1);
            if (accepted_[u] == before) break;  // the queue is full
        }
    fade();
    const auto plans = cell_.plan(slot(now_));
    plans_.assign(plans.begin(), plans.end());
    if (config_.cell.most_served > 0) pack();
    std::uint32_t taken = 0, given = 0;
    for (std::size_t u = 0; u < plans.size(); ++u) {
        check(u, plans[u], taken);
        if ((given & cell_.given(static_cast<int>(u))) != 0) violated("a bin given twice");
        given |= cell_.given(static_cast<int>(u));
        for (const auto& p : plans[u].payload) used_[u] += p.empty() ? 0 : 1;
        const slot_report r = receive(u, plans[u]);
        // plan() will know in `delay` slots the values that are reported now.
        if (r.locked)
            for (std::size_t b = 0; b < nof_bins; ++b)
                known_[u][b] =
                    static_cast<float>(10 * std::log10(std::norm(gain_[u].front()[b]) + 1e-12));
        const slot_feedback feedback = terminals_[u].on_slot(r);
        if (config_.feedback_loss <= 0 || !random_.hits(config_.feedback_loss))
            cell_.on_feedback(static_cast<int>(u), feedback);
    }
    if (std::popcount(given) > config_.cell.link.bins) violated("more bins than the cell has");
    ++now_;
}

void users_world::run(int slots) {
    for (int i = 0; i < slots; ++i) step();
}

bool users_world::drain(int most_slots) {
    saturated_.assign(saturated_.size(), false);
    for (int i = 0; i < most_slots; ++i) {
        step();
        if (cell_.idle()) {
            run(1);  // one slot, in which the terminals learn the window's edge
            return true;
        }
    }
    return false;
}

}  // namespace wip::sim
