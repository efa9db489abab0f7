// SPDX-License-Identifier: GPL-3.0-or-later
#include "packet/wired_link.h"

#include <algorithm>
#include <cmath>

#include "sample/counter_random.h"
#include "types/require.h"

namespace wip::packet_model {
namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;
// Free buffers that are kept; more would keep the memory of the largest load.
constexpr std::size_t most_spare = 4096;

queue_config queue_of(const wired_config& c, std::uint32_t line_purpose) {
    queue_config q = c.queue;
    q.seed = sample_model::derive_key(c.seed, line_purpose);
    return q;
}

}  // namespace

void wired_config::check() const {
    check_range("wired_config.delay_ms", delay_ms, setting::to_base_delay_ms);
    check_range("wired_config.rate_kbps", rate_kbps, setting::to_base_rate_kbps);
    check_range("wired_config.loss", loss, setting::to_base_loss);
    check_range("wired_config.queue_packets", queue_packets, setting::to_base_queue_packets);
    queue.check("wired_config.");
    check_range("wired_config.held_mb", held_mb, setting::to_base_held_mb);
}

wired_link::wired_link(const wired_config& config, std::uint32_t purpose)
    : config_(config),
      key_(sample_model::derive_key(config.seed, purpose)),
      waiting_(queue_of(config, purpose), [this](const queued_packet& p, queue_drop why) {
          (why == queue_drop::managed ? statistics_.managed : statistics_.refused).add(p.bytes());
          statistics_.queued.take(p.bytes());
      }) {
    reconfigure(config);
}

void wired_link::reconfigure(const wired_config& config) {
    config.check();
    queue_config queue = config.queue;
    queue.seed = waiting_.config().seed;
    waiting_.reconfigure(queue);
    config_ = config;
    delay_ns_ = std::llround(config.delay_ms * 1e6);
    most_held_ = static_cast<std::size_t>(std::llround(config.held_mb * 1e6));
    const std::int64_t bits_per_second = std::llround(config.rate_kbps * 1e3);
    // The remainder is in units of the former rate.
    if (bits_per_second != bits_per_second_) free_rest_ = 0;
    bits_per_second_ = bits_per_second;
}

// Puts a packet on the line at start_ns, or later when the line is free, and returns the time at
// which it has left the line.
std::int64_t wired_link::pass_line(std::size_t bytes, std::int64_t start_ns) {
    if (bits_per_second_ == 0) return start_ns;
    if (free_ns_ < start_ns) free_ns_ = start_ns, free_rest_ = 0;
    const std::int64_t work = static_cast<std::int64_t>(bytes) * 8 * ns_per_s + free_rest_;
    free_ns_ += work / bits_per_second_;
    free_rest_ = work % bits_per_second_;
    on_line_.push_back(free_ns_);
    return free_ns_;
}

void wired_link::send(std::span<const std::uint8_t> data, std::int64_t leaves_ns, int tag,
                      std::int64_t offered_ns) {
    waiting p{leaves_ns + delay_ns_, tag, {}};
    if (!queue_.empty()) p.due_ns = std::max(p.due_ns, queue_.back().due_ns);
    if (!spare_.empty()) {
        p.data = std::move(spare_.back());
        spare_.pop_back();
    }
    p.data.assign(data.begin(), data.end());
    p.offered_ns = offered_ns;
    queue_.push_back(std::move(p));
}

void wired_link::forget_left(std::int64_t now_ns) {
    while (!on_line_.empty() && on_line_.front() <= now_ns) on_line_.pop_front();
}

// Puts the next packet of the queue discipline on the line, unless the discipline drops all of
// them.
void wired_link::start(std::int64_t at_ns) {
    if (!waiting_.pop(at_ns, starting_)) return;
    forget_left(at_ns);
    send(starting_.data, pass_line(starting_.bytes(), at_ns), starting_.tag, starting_.came_ns);
    waiting_.recycle(std::move(starting_));
}

bool wired_link::offer(std::span<const std::uint8_t> data, std::int64_t now_ns, int tag) {
    statistics_.in.add(data.size());
    if (config_.loss > 0 && sample_model::uniform(draws_++, key_) < config_.loss) {
        statistics_.lost.add(data.size());
        return false;
    }
    for (std::int64_t t = next_start(); t <= now_ns && t != never; t = next_start()) start(t);
    packets_bytes with_it = statistics_.queued;
    with_it.add(data.size());
    if (held_bytes(with_it) > most_held_) {
        statistics_.not_held.add(data.size());
        return false;
    }
    if (bits_per_second_ > 0) forget_left(now_ns);
    const auto limit = static_cast<std::size_t>(config_.queue_packets);
    const bool managed = config_.queue.kind != queue_kind::drop_tail && bits_per_second_ > 0;
    if (managed || !waiting_.empty()) {
        queued_packet p = waiting_.make(data);
        p.tag = tag;
        p.came_ns = now_ns;
        statistics_.queued.add(data.size());
        return waiting_.push(std::move(p), now_ns, limit - std::min(limit, on_line_.size()));
    }
    if (bits_per_second_ > 0 && on_line_.size() >= limit) {
        statistics_.refused.add(data.size());
        return false;
    }
    send(data, pass_line(data.size(), now_ns), tag, now_ns);
    statistics_.queued.add(data.size());
    return true;
}

void wired_link::advance(std::int64_t now_ns) {
    for (std::int64_t t = next_wakeup(); t <= now_ns && t != never; t = next_wakeup()) {
        if (next_start() <= t) {
            start(t);
            continue;
        }
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
    if (waiting_.empty()) return;
    // The packets that wait are taken out with drop tail, so that the discipline drops none of
    // them.
    const queue_config discipline = waiting_.config();
    queue_config plain = discipline;
    plain.kind = queue_kind::drop_tail;
    waiting_.reconfigure(plain);
    for (queued_packet p; waiting_.pop(now_ns, p); waiting_.recycle(std::move(p))) {
        statistics_.queued.take(p.bytes());
        statistics_.in.take(p.bytes());
        take({p.data, p.tag, p.came_ns, now_ns});
    }
    waiting_.reconfigure(discipline);
}

void wired_link::keep_buffer(std::vector<std::uint8_t>& data) {
    if (spare_.size() < most_spare) spare_.push_back(std::move(data));
}

link_sums wired_link::sums() const {
    const auto& s = statistics_;
    return {s.in,
            s.out,
            s.queued,
            {{"wired_loss", s.lost},
             {"wired_queue_full", s.refused},
             {"wired_held_full", s.not_held},
             {wired_managed_drop, s.managed}},
            waiting_.marked()};
}

}  // namespace wip::packet_model
