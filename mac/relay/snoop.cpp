// SPDX-License-Identifier: GPL-3.0-or-later
#include "relay/snoop.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "types/require.h"

namespace wip {
namespace {

// Distance from b to a modulo 2^32.
std::int32_t ahead(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b); }

// Sequence numbers further away than any window (RFC 7323) are those of another connection.
constexpr std::int32_t farthest = 1 << 30;

// Time between two searches for idle connections.
constexpr std::int64_t sweep_every_ns = 100'000'000;

// Whether the first SACK block tells of data that had arrived before (RFC 2883): it lies below the
// acknowledgement, or within the second block.
bool tells_of_second_arrival(const tcp::segment& s) {
    bool second_arrival = false;
    tcp::for_each_option(s.options, [&](std::uint8_t kind, tcp::bytes option) {
        if (kind != tcp::option_sack || option.size() < 10) return true;
        const std::uint32_t begin = tcp::read32(option, 2), end = tcp::read32(option, 6);
        second_arrival = ahead(s.acknowledgement, begin) > 0;
        if (option.size() >= 18)
            second_arrival = second_arrival || (ahead(begin, tcp::read32(option, 10)) >= 0 &&
                                                ahead(tcp::read32(option, 14), end) >= 0);
        return false;
    });
    return second_arrival;
}

}  // namespace

void snoop_config::check() const {
    check_range("snoop most_bytes", static_cast<double>(most_bytes), 1, 1 << 30);
    check_range("snoop most_segments", most_segments, 1, 1 << 20);
    check_range("snoop most_connections", most_connections, 1, 65536);
    check_range("snoop most_retransmissions", most_retransmissions, 1, 100);
    check_range("snoop first_timeout_ms", first_timeout_ms, 1, 60000);
    check_range("snoop least_timeout_ms", least_timeout_ms, 1, 60000);
    check_range("snoop longest_timeout_ms", longest_timeout_ms, 1, 600000);
    check_range("snoop idle_s", idle_s, 0.001, 1e6);
}

snoop::snoop(const snoop_config& config) : config_(config) { config.check(); }

void snoop::reconfigure(const snoop_config& config) {
    config.check();
    config_ = config;
    if (config.on) return;
    for (auto it = flows_.begin(); it != flows_.end();) it = erase(it);
}

// --- stages ---

bool snoop::stage::offer(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag) {
    now_ns_ = std::max(now_ns_, now_ns);
    in_.add(packet.size());
    if (!owner_->config_.on) {
        push(packet, now_ns, tag);
    } else if (is_down_) {
        // Timers that are due act before what comes at the same time.
        owner_->run_timers(now_ns);
        push(packet, now_ns, tag);
        owner_->on_down(packet, now_ns, tag);
    } else if (owner_->on_up(packet, now_ns) == fate::forwarded) {
        push(packet, now_ns, tag);
    } else {
        return false;
    }
    return true;
}

void snoop::stage::push(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag) {
    queued_.add(packet.size());
    waiting_.push_back({{packet.begin(), packet.end()}, tag, now_ns, std::max(now_ns_, now_ns)});
}

void snoop::stage::add_copy(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag) {
    in_.add(packet.size());
    push(packet, now_ns, tag);
}

void snoop::stage::advance(std::int64_t now_ns) {
    now_ns_ = std::max(now_ns_, now_ns);
    if (is_down_) {
        owner_->run_timers(now_ns);
        owner_->expire(now_ns);
    }
    while (!waiting_.empty() && waiting_.front().due_ns <= now_ns) {
        const held_packet p = std::move(waiting_.front());
        waiting_.pop_front();
        queued_.take(p.data.size());
        delivered_.add(p.data.size());
        hand_over({p.data, p.tag, p.offered_ns, p.due_ns});
    }
}

std::int64_t snoop::stage::next_wakeup() const {
    const std::int64_t due = waiting_.empty() ? never : waiting_.front().due_ns;
    if (!is_down_ || owner_->timers_.empty()) return due;
    return std::min(due, owner_->timers_.begin()->first.first);
}

link_sums snoop::stage::sums() const {
    link_sums all{in_, delivered_, queued_, {}};
    const statistics& c = owner_->count_;
    if (!is_down_ && (c.suppressed_duplicates.packets > 0 || c.suppressed_old.packets > 0))
        all.dropped = {{duplicate_suppressed, c.suppressed_duplicates},
                       {old_suppressed, c.suppressed_old}};
    return all;
}

// --- downlink: segments ---

void snoop::on_down(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag) {
    const auto s = tcp::read_segment(packet);
    if (!s) return;
    auto it = flows_.find(s->key);
    if (s->has(tcp::syn | tcp::rst)) {
        if (it != flows_.end()) erase(it), ++count_.ended;
        return;
    }
    if (s->data == 0 && !s->has(tcp::fin)) return;
    if (it != flows_.end() &&
        std::abs(std::int64_t{ahead(s->sequence, it->second.next)}) > farthest)
        erase(it), ++count_.ended, it = flows_.end();
    if (it == flows_.end() && s->data == 0) return;
    flow& f = it == flows_.end() ? open(s->key, s->sequence, now_ns) : it->second;
    f.used_ns = now_ns;
    keep(f, *s, packet, tag, now_ns);
}

void snoop::keep(flow& f, const tcp::segment& s, std::span<const std::uint8_t> packet, int tag,
                 std::int64_t now_ns) {
    const std::uint32_t begin = s.sequence;
    const auto end = static_cast<std::uint32_t>(begin + s.data + (s.has(tcp::fin) ? 1 : 0));
    if (s.has(tcp::fin)) f.finishing = true;
    const bool is_new = ahead(begin, f.highest) >= 0;
    if (ahead(end, f.highest) > 0) f.highest = end;
    if (!is_new) ++count_.sender_retransmissions;
    // What was sent twice does not tell how long an answer takes.
    if (!is_new && f.measuring && ahead(f.measured_end, begin) > 0) f.measuring = false;
    if (f.recovering && is_new) ++f.duplicates_due;
    if (ahead(end, f.next) <= 0) return;  // acknowledged already

    // It replaces the copies that it covers.
    auto at = std::ranges::find_if(
        f.kept, [&](const kept_segment& k) { return ahead(k.begin, begin) >= 0; });
    while (at != f.kept.end() && ahead(end, at->end) >= 0) {
        cached_.take(at->packet.size());
        at = f.kept.erase(at);
    }
    if (cached_.packets >= static_cast<std::uint64_t>(config_.most_segments) ||
        cached_.bytes + packet.size() > config_.most_bytes) {
        count_.cache_full.add(packet.size());
        return;
    }
    f.kept.insert(at, {begin, end, {packet.begin(), packet.end()}, tag, !is_new, 0, 0});
    cached_.add(packet.size());
    if (is_new && !f.measuring) {
        f.measuring = true;
        f.measured_end = end;
        f.measured_ns = now_ns;
    }
    if (f.timer_ns == packet_link::never) start_timer(f, now_ns);
}

// --- uplink: acknowledgements ---

snoop::fate snoop::on_up(std::span<const std::uint8_t> packet, std::int64_t now_ns) {
    const auto s = tcp::read_segment(packet);
    if (!s) return fate::forwarded;
    const auto it = flows_.find(s->key.reversed());
    if (it == flows_.end()) return fate::forwarded;
    if (s->has(tcp::syn | tcp::rst)) {
        erase(it), ++count_.ended;
        return fate::forwarded;
    }
    if (!s->has(tcp::ack)) return fate::forwarded;
    flow& f = it->second;
    f.used_ns = now_ns;
    const bool pure = s->data == 0 && !s->has(tcp::fin);
    const std::int32_t further = ahead(s->acknowledgement, f.next);
    if (std::abs(std::int64_t{further}) > farthest) return fate::forwarded;
    fate decided = fate::forwarded;
    if (further > 0) {
        on_progress(f, s->acknowledgement, now_ns);
    } else if (further < 0 && pure) {
        count_.suppressed_old.add(packet.size());
        return fate::old;
    } else if (further == 0 && pure && f.acknowledged && s->window == f.window) {
        decided = on_duplicate(f, *s, now_ns);
        if (decided == fate::duplicate) count_.suppressed_duplicates.add(packet.size());
    }
    if (further >= 0) f.acknowledged = true, f.window = s->window;
    if (f.finishing && f.next == f.highest) erase(it), ++count_.ended;
    return decided;
}

void snoop::on_progress(flow& f, std::uint32_t acknowledgement, std::int64_t now_ns) {
    f.next = acknowledgement;
    if (ahead(f.highest, f.next) < 0) f.highest = f.next;
    if (f.measuring && ahead(f.next, f.measured_end) >= 0) {
        const auto measured = static_cast<double>(now_ns - f.measured_ns);
        f.round_trip_ns += f.round_trip_ns > 0 ? (measured - f.round_trip_ns) / 8 : measured;
        f.measuring = false;
        count_.round_trip_ms = f.round_trip_ns * 1e-6;
    }
    while (!f.kept.empty() && ahead(f.next, f.kept.front().end) >= 0) forget_first(f);
    f.backoff = 0;
    stop_timer(f);
    if (!f.kept.empty()) start_timer(f, now_ns);
    if (!f.recovering) return;
    if (ahead(f.next, f.recover) >= 0) {
        f.recovering = false;
        f.duplicates_due = 0;
        return;
    }
    if (!has_copy_at_next(f) || f.kept.front().sent_by_sender_again || is_sent_in_round(f)) return;
    retransmit(f, now_ns, count_.by_partial);
}

bool snoop::has_copy_at_next(const flow& f) {
    return !f.kept.empty() && ahead(f.kept.front().begin, f.next) <= 0;
}

bool snoop::is_sent_in_round(const flow& f) {
    return f.kept.front().retransmissions > 0 && f.kept.front().round == f.round;
}

snoop::fate snoop::on_duplicate(flow& f, const tcp::segment& s, std::int64_t now_ns) {
    if (tells_of_second_arrival(s)) {
        if (f.round == 0) return fate::forwarded;  // the sender's own
        ++count_.answered_twice;
        return fate::duplicate;
    }
    if (!has_copy_at_next(f) || f.kept.front().sent_by_sender_again) return fate::forwarded;
    if (!f.recovering) {
        // Each segment that was forwarded behind the lost one has a duplicate; this is the first.
        const auto behind = static_cast<std::int64_t>(f.kept.size()) - 1;
        if (!is_sent_in_round(f)) {
            ++f.round;
            if (!retransmit(f, now_ns, count_.by_duplicate)) return fate::forwarded;
        }
        f.recovering = true;
        f.recover = f.highest;
        f.duplicates_due = std::max<std::int64_t>(0, behind - 1);
        return fate::duplicate;
    }
    if (f.duplicates_due == 0) return fate::forwarded;
    --f.duplicates_due;
    return fate::duplicate;
}

bool snoop::retransmit(flow& f, std::int64_t now_ns, std::uint64_t& cause) {
    kept_segment& k = f.kept.front();
    if (k.retransmissions >= config_.most_retransmissions) {
        ++count_.given_up;
        forget_first(f);
        return false;
    }
    ++k.retransmissions;
    k.round = f.round;
    f.measuring = false;
    ++cause;
    count_.retransmitted.add(k.packet.size());
    down_.add_copy(k.packet, now_ns, k.tag);
    start_timer(f, now_ns);
    return true;
}

// --- timers ---

void snoop::start_timer(flow& f, std::int64_t now_ns) {
    stop_timer(f);
    if (!has_copy_at_next(f)) return;
    const double first = f.round_trip_ns > 0
                             ? std::max(2 * f.round_trip_ns * 1e-6, config_.least_timeout_ms)
                             : config_.first_timeout_ms;
    const double timeout_ms = std::min(std::ldexp(first, f.backoff), config_.longest_timeout_ms);
    f.timer_ns = now_ns + std::max<std::int64_t>(1, std::llround(timeout_ms * 1e6));
    timers_.emplace(timer_key{f.timer_ns, f.number}, &f);
}

void snoop::stop_timer(flow& f) {
    if (f.timer_ns == packet_link::never) return;
    timers_.erase({f.timer_ns, f.number});
    f.timer_ns = packet_link::never;
}

void snoop::run_timers(std::int64_t now_ns) {
    while (!timers_.empty() && timers_.begin()->first.first <= now_ns) {
        const std::int64_t due = timers_.begin()->first.first;
        flow& f = *timers_.begin()->second;
        stop_timer(f);
        if (!has_copy_at_next(f)) continue;
        if (f.backoff < config_.most_retransmissions) ++f.backoff;
        // No recovery begins: the link may only have been slow, and what follows have arrived. One
        // that is under way goes on from here.
        ++f.round;
        retransmit(f, due, count_.by_timeout);
    }
}

// --- connections ---

void snoop::expire(std::int64_t now_ns) {
    if (now_ns < next_sweep_ns_) return;
    next_sweep_ns_ = now_ns + sweep_every_ns;
    for (auto it = flows_.begin(); it != flows_.end();) {
        if (static_cast<double>(now_ns - it->second.used_ns) <= config_.idle_s * 1e9) {
            ++it;
            continue;
        }
        it = erase(it);
        ++count_.expired;
    }
}

snoop::flow& snoop::open(const tcp::flow_key& key, std::uint32_t sequence, std::int64_t now_ns) {
    if (flows_.size() >= static_cast<std::size_t>(config_.most_connections)) {
        erase(std::ranges::min_element(flows_, {},
                                       [](const auto& entry) { return entry.second.used_ns; }));
        ++count_.evicted;
    }
    flow& f = flows_[key];
    f.number = numbers_++;
    f.used_ns = now_ns;
    f.next = f.highest = sequence;
    return f;
}

snoop::flow_map::iterator snoop::erase(flow_map::iterator it) {
    flow& f = it->second;
    stop_timer(f);
    while (!f.kept.empty()) forget_first(f);
    return flows_.erase(it);
}

void snoop::forget_first(flow& f) {
    cached_.take(f.kept.front().packet.size());
    f.kept.pop_front();
}

}  // namespace wip
