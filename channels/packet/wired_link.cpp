// SPDX-License-Identifier: GPL-3.0-or-later
#include "packet/wired_link.h"

#include <algorithm>
#include <cmath>

#include "sample/counter_random.h"
#include "types/require.h"

namespace wip::packet_model {
namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;
constexpr std::size_t most_spare = 4096;  // buffers: more were needed once, and may never be again

}  // namespace

void wired_config::check() const {
    check_range("delay_ms", delay_ms, setting::to_base_delay_ms);
    check_range("rate_kbps", rate_kbps, setting::to_base_rate_kbps);
    check_range("loss", loss, setting::to_base_loss);
    check_range("queue_packets", queue_packets, setting::to_base_queue_packets);
    check_range("held_mb", held_mb, setting::to_base_held_mb);
}

wired_link::wired_link(const wired_config& config, std::uint32_t purpose)
    : config_(config), key_(sample_model::derive_key(config.seed, purpose)) {
    reconfigure(config);
}

void wired_link::reconfigure(const wired_config& config) {
    config.check();
    config_ = config;
    delay_ns_ = std::llround(config.delay_ms * 1e6);
    most_held_ = static_cast<std::size_t>(std::llround(config.held_mb * 1e6));
    const std::int64_t bits_per_second = std::llround(config.rate_kbps * 1e3);
    if (bits_per_second != bits_per_second_) free_rest_ = 0;  // a share of the former rate
    bits_per_second_ = bits_per_second;
}

bool wired_link::offer(std::span<const std::uint8_t> data, std::int64_t now_ns, int tag) {
    statistics_.in.add(data.size());
    if (config_.loss > 0 && sample_model::uniform(draws_++, key_) < config_.loss) {
        statistics_.lost.add(data.size());
        return false;
    }
    packets_bytes with_it = statistics_.queued;
    with_it.add(data.size());
    if (held_bytes(with_it) > most_held_) {
        statistics_.not_held.add(data.size());
        return false;
    }
    std::int64_t leaves = now_ns;
    if (bits_per_second_ > 0) {
        while (!on_line_.empty() && on_line_.front() <= now_ns) on_line_.pop_front();
        if (static_cast<int>(on_line_.size()) >= config_.queue_packets) {
            statistics_.refused.add(data.size());
            return false;
        }
        if (free_ns_ < now_ns) free_ns_ = now_ns, free_rest_ = 0;
        const std::int64_t work =
            static_cast<std::int64_t>(data.size()) * 8 * ns_per_s + free_rest_;
        free_ns_ += work / bits_per_second_;
        free_rest_ = work % bits_per_second_;
        leaves = free_ns_;
        on_line_.push_back(leaves);
    }
    waiting p{leaves + delay_ns_, tag, {}};
    if (!queue_.empty()) p.due_ns = std::max(p.due_ns, queue_.back().due_ns);
    if (!spare_.empty()) {
        p.data = std::move(spare_.back());
        spare_.pop_back();
    }
    p.data.assign(data.begin(), data.end());
    p.offered_ns = now_ns;
    queue_.push_back(std::move(p));
    statistics_.queued.add(data.size());
    return true;
}

void wired_link::advance(std::int64_t now_ns) {
    while (!queue_.empty() && queue_.front().due_ns <= now_ns) {
        auto& p = queue_.front();
        hand_over({p.data, p.tag, p.offered_ns, p.due_ns});
        statistics_.queued.take(p.data.size());
        statistics_.out.add(p.data.size());
        keep_buffer(p.data);
        queue_.pop_front();
    }
}

void wired_link::set_line(double rate_kbps, double delay_ms) {
    wired_config changed = config_;
    changed.rate_kbps = rate_kbps;
    changed.delay_ms = delay_ms;
    reconfigure(changed);
}

void wired_link::withdraw(std::int64_t now_ns, const sink& take) {
    while (!queue_.empty()) {
        waiting p = std::move(queue_.front());
        queue_.pop_front();
        statistics_.queued.take(p.data.size());
        statistics_.in.take(p.data.size());
        take({p.data, p.tag, p.offered_ns, p.due_ns});
        keep_buffer(p.data);
    }
    on_line_.clear();
    free_ns_ = now_ns;
    free_rest_ = 0;
}

void wired_link::keep_buffer(std::vector<std::uint8_t>& data) {
    if (spare_.size() < most_spare) spare_.push_back(std::move(data));
}

link_sums wired_link::sums() const {
    const auto& s = statistics_;
    return {
        s.in,
        s.out,
        s.queued,
        {{"wired_loss", s.lost}, {"wired_queue_full", s.refused}, {"wired_held_full", s.not_held}}};
}

}  // namespace wip::packet_model
