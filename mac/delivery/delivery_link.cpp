// SPDX-License-Identifier: GPL-3.0-or-later
#include "delivery/delivery_link.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "types/require.h"

namespace wip::delivery {
namespace {

constexpr auto never = packet_link::never;
constexpr std::int64_t ns_per_ms = 1'000'000, ns_per_s = 1'000'000'000;
// Memory that a held packet takes in addition to its data.
constexpr std::size_t bytes_about_a_packet = 128;
constexpr const char* reason_trace_loss = "trace_loss";
constexpr const char* reason_queue_full = "queue_full";
constexpr const char* reason_held_full = "trace_held_full";

std::int64_t whole_ms(std::int64_t ns) { return ns / ns_per_ms * ns_per_ms; }

}  // namespace

void delivery_config::check() const {
    check_range("delivery_config.rate_kbps", rate_kbps, setting::to_base_rate_kbps);
    check_range("delivery_config.loss", loss, setting::to_base_loss);
    check_range("delivery_config.delay_ms", delay_ms, setting::to_base_delay_ms);
    check_range("delivery_config.queue_packets", queue_packets, setting::link_queue_packets);
    queue.check();
    check_range("delivery_config.held_mb", held_mb, setting::to_base_held_mb);
}

delivery_link::delivery_link(delivery_config config, bool uplink)
    : config_(std::move(config)),
      uplink_(uplink),
      random_(uplink ? ~config_.seed : config_.seed),
      queue_(config_.queue, [this](const queued_packet& p, queue_drop why) {
          const bool managed = why == queue_drop::managed;
          drop({p.came_ns, 0, p.number, p.tag}, p.bytes(), managed ? managed_ : queue_full_,
               managed ? managed_drop : reason_queue_full, decision_ns_);
          held_count_.take(p.bytes());
      }) {
    config_.check();
    set_delay(config_.delay_ms);
    bits_per_second_ = has_opportunities() ? 0 : std::llround(config_.rate_kbps * 1e3);
    most_held_bytes_ = static_cast<std::size_t>(std::llround(config_.held_mb * 1e6));
}

void delivery_link::set_delay(double delay_ms) { delay_ns_ = std::llround(delay_ms * 1e6); }

// --- opportunities and trains of the trace ---

std::int64_t delivery_link::time_of(const opportunity& o) const {
    const auto& all = config_.trace.opportunities_ms;
    return (o.period * all.back() + all[o.index]) * ns_per_ms;
}

delivery_link::opportunity delivery_link::first_after(std::int64_t ns) const {
    const auto& all = config_.trace.opportunities_ms;
    const std::int64_t ms = ns / ns_per_ms;
    const auto found = std::ranges::upper_bound(all, ms % all.back());
    return {ms / all.back(), static_cast<std::size_t>(found - all.begin())};
}

double delivery_link::capacity_bits(std::int64_t until_ns) const {
    if (!has_opportunities())
        return static_cast<double>(bits_per_second_) * static_cast<double>(until_ns) * 1e-9;
    const opportunity next = first_after(until_ns);
    const auto in_a_period = static_cast<std::int64_t>(config_.trace.opportunities_ms.size());
    return 8.0 * opportunity_bytes *
           static_cast<double>(next.period * in_a_period + static_cast<std::int64_t>(next.index));
}

std::int64_t delivery_link::delay_at(std::int64_t now_ns, std::size_t& line) const {
    const auto& all = config_.trace.trains;
    const std::int64_t t = now_ns % (all.back().at_ms * ns_per_ms);
    const auto above = std::ranges::upper_bound(all, t / ns_per_ms, {}, &train::at_ms);
    if (above == all.begin()) return line = 0, std::llround(all.front().delay_ms * 1e6);
    const auto& from = *std::prev(above);
    line = static_cast<std::size_t>(above - all.begin()) - 1;
    const double part = (static_cast<double>(t) * 1e-6 - static_cast<double>(from.at_ms)) /
                        static_cast<double>(above->at_ms - from.at_ms);
    return std::llround((from.delay_ms + part * (above->delay_ms - from.delay_ms)) * 1e6);
}

double delivery_link::base_delay_ms(std::int64_t at_ns) const {
    std::size_t line = 0;
    const std::int64_t held = config_.trace.trains.empty() ? 0 : delay_at(at_ns, line);
    return static_cast<double>(held + delay_ns_) * 1e-6;
}

// --- packets ---

bool delivery_link::offer(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag) {
    while (next_step() <= now_ns) step();
    const auto user = static_cast<std::size_t>(tag);
    if (next_ids_.size() <= user) next_ids_.resize(user + 1);
    const packet_facts what{now_ns, now_ns, next_ids_[user]++, tag};
    in_.add(packet.size());
    if (auto* journal = journal_of(tag)) {
        journal->offered(what.id, packet, now_ns);
        journal->entered(what.id, now_ns);
    }
    // 53 random bits make a number from 0 to below 1.
    if (config_.loss > 0 && static_cast<double>(random_.next() >> 11) * 0x1p-53 < config_.loss) {
        drop(what, packet.size(), trace_lost_, reason_trace_loss, now_ns);
        return false;
    }
    packets_bytes with_it = held_count_;
    with_it.add(packet.size());
    if (with_it.bytes + with_it.packets * bytes_about_a_packet > most_held_bytes_) {
        drop(what, packet.size(), held_full_, reason_held_full, now_ns);
        return false;
    }
    held_count_ = with_it;
    held_packet p{what, {packet.begin(), packet.end()}};
    if (config_.trace.trains.empty()) return enqueue(std::move(p), now_ns);
    join_train(p, now_ns);
    train_held_.push_back(std::move(p));
    return true;
}

void delivery_link::drop(const packet_facts& what, std::size_t bytes, packets_bytes& counter,
                         const char* reason, std::int64_t now_ns) {
    counter.add(bytes);
    if (auto* journal = journal_of(what.tag)) journal->left(what.id, now_ns, reason);
}

// The trace counts whole milliseconds, so packets of the same millisecond belong to the same train.
void delivery_link::join_train(held_packet& p, std::int64_t now_ns) {
    const auto bytes = static_cast<std::int64_t>(p.data.size());
    const std::int64_t clock_ns = whole_ms(now_ns);
    std::int64_t release_ns = 0, by_clock_ns = 0;
    const bool begins =
        train_delay_ns_ < 0 || clock_ns + train_delay_ns_ > last_release_by_clock_ns_;
    if (begins) {
        train_delay_ns_ = delay_at(now_ns, train_line_);
        train_began_ns_ = now_ns;
        train_next_ = 0;
        train_bytes_left_ = opportunity_bytes - bytes;
    }
    const auto& after_ms = config_.trace.trains[train_line_].after_ms;
    if (after_ms.empty()) {
        std::size_t line = 0;
        const std::int64_t delay_ns = delay_at(now_ns, line);
        release_ns = now_ns + delay_ns;
        by_clock_ns = clock_ns + train_delay_ns_;
    } else if (begins) {
        release_ns = now_ns + train_delay_ns_;
        by_clock_ns = clock_ns + train_delay_ns_;
        p.bypasses_queue = true;
    } else {
        const std::int64_t since_ms = (clock_ns - whole_ms(train_began_ns_)) / ns_per_ms;
        for (; train_next_ < after_ms.size() && since_ms > after_ms[train_next_]; ++train_next_)
            train_bytes_left_ = opportunity_bytes;
        if (train_bytes_left_ < bytes) {
            train_bytes_left_ = opportunity_bytes + std::min<std::int64_t>(0, train_bytes_left_);
            for (++train_next_; train_bytes_left_ < bytes && train_next_ < after_ms.size();
                 ++train_next_)
                train_bytes_left_ += opportunity_bytes;
        }
        train_bytes_left_ -= bytes;
        p.bypasses_queue = train_next_ < after_ms.size();
        const std::int64_t after_ns = p.bypasses_queue ? after_ms[train_next_] * ns_per_ms : 0;
        release_ns = train_delay_ns_ + std::max(now_ns, train_began_ns_ + after_ns);
        by_clock_ns = train_delay_ns_ + std::max(clock_ns, whole_ms(train_began_ns_) + after_ns);
    }
    if (release_ns < last_release_ns_) p.bypasses_queue = false;  // none overtakes another one
    p.due_ns = last_release_ns_ = std::max(release_ns, last_release_ns_);
    last_release_by_clock_ns_ = std::max(by_clock_ns, last_release_by_clock_ns_);
}

// Puts a packet into the queue, or past it into the delay. Returns false if the queue dropped it.
bool delivery_link::enqueue(held_packet&& p, std::int64_t now_ns) {
    if (!has_service() || (p.bypasses_queue && queue_.empty() && !is_serving_)) {
        send_on(p.what, std::move(p.data), now_ns);
        return true;
    }
    if (has_opportunities() && queue_.empty() && !is_serving_) {
        const opportunity first = first_after(now_ns);
        if (std::tie(next_.period, next_.index) < std::tie(first.period, first.index))
            next_ = first;
    }
    queued_packet q;
    q.data = std::move(p.data);
    q.tag = p.what.tag;
    q.number = p.what.id;
    q.came_ns = p.what.offered_ns;
    decision_ns_ = now_ns;
    const auto limit = static_cast<std::size_t>(config_.queue_packets);
    return queue_.push(std::move(q), now_ns, limit - (is_serving_ ? 1 : 0));
}

bool delivery_link::begin_service(std::int64_t at_ns) {
    decision_ns_ = at_ns;
    if (!queue_.pop(at_ns, serving_)) return false;
    is_serving_ = true;
    bytes_left_ = serving_.bytes();
    serving_.before_ns = at_ns;
    if (auto* journal = journal_of(serving_.tag)) {
        const auto number = static_cast<std::int64_t>(serving_.number);
        journal->placed(serving_.number, number, number, at_ns);
        journal->queued(serving_.number, at_ns - serving_.arrived_ns, serving_.marked);
    }
    return true;
}

void delivery_link::end_service(std::int64_t at_ns) {
    is_serving_ = false;
    send_on({serving_.came_ns, serving_.before_ns, serving_.number, serving_.tag},
            std::move(serving_.data), at_ns);
}

void delivery_link::use_opportunity(std::int64_t at_ns) {
    for (std::size_t left = opportunity_bytes; left > 0;) {
        if (!is_serving_ && !begin_service(at_ns)) break;
        const std::size_t taken = std::min(left, bytes_left_);
        left -= taken;
        bytes_left_ -= taken;
        if (bytes_left_ == 0) end_service(at_ns);
    }
    if (++next_.index == config_.trace.opportunities_ms.size()) ++next_.period, next_.index = 0;
}

void delivery_link::serve(std::int64_t at_ns) {
    if (has_opportunities()) return use_opportunity(at_ns);
    if (is_serving_) return end_service(at_ns);
    if (!begin_service(at_ns)) return;
    if (served_ns_ < at_ns) served_ns_ = at_ns, service_remainder_ = 0;
    const std::int64_t work =
        static_cast<std::int64_t>(bytes_left_) * 8 * ns_per_s + service_remainder_;
    served_ns_ += work / bits_per_second_;
    service_remainder_ = work % bits_per_second_;
}

void delivery_link::send_on(const packet_facts& what, std::vector<std::uint8_t>&& data,
                            std::int64_t at_ns) {
    held_packet p{what, std::move(data), at_ns + delay_ns_};
    if (!in_delay_.empty()) p.due_ns = std::max(p.due_ns, in_delay_.back().due_ns);
    in_delay_.push_back(std::move(p));
}

std::int64_t delivery_link::next_service() const {
    if (!is_serving_ && queue_.empty()) return never;
    if (has_opportunities()) return time_of(next_);
    return is_serving_ ? served_ns_ : std::max(served_ns_, queue_.first_arrival_ns());
}

std::int64_t delivery_link::next_step() const {
    return std::min(next_service(), train_held_.empty() ? never : train_held_.front().due_ns);
}

void delivery_link::step() {
    const std::int64_t at_ns = next_step();
    if (next_service() <= at_ns) return serve(at_ns);
    held_packet p = std::move(train_held_.front());
    train_held_.pop_front();
    enqueue(std::move(p), at_ns);
}

std::int64_t delivery_link::next_wakeup() const {
    return std::min(next_step(), in_delay_.empty() ? never : in_delay_.front().due_ns);
}

void delivery_link::advance(std::int64_t now_ns) {
    for (std::int64_t t = next_wakeup(); t <= now_ns && t != never; t = next_wakeup()) {
        if (next_step() <= t)
            step();
        else
            deliver();
    }
    now_ns_ = now_ns;
}

void delivery_link::deliver() {
    const held_packet p = std::move(in_delay_.front());
    in_delay_.pop_front();
    held_count_.take(p.data.size());
    delivered_.add(p.data.size());
    if (auto* journal = journal_of(p.what.tag)) {
        const auto number = static_cast<std::int64_t>(p.what.id);
        if (p.what.began_ns == p.what.offered_ns)  // it has not been in the queue
            journal->placed(p.what.id, number, number, p.what.began_ns);
        journal->sent(number, false, p.what.began_ns, p.due_ns, false);
        journal->left(p.what.id, p.due_ns);
    }
    hand_over({p.data, p.what.tag, p.what.offered_ns, p.due_ns});
}

// --- its counts ---

link_sums delivery_link::sums() const {
    return {in_,
            delivered_,
            held_count_,
            {{reason_trace_loss, trace_lost_},
             {reason_queue_full, queue_full_},
             {managed_drop, managed_},
             {reason_held_full, held_full_}},
            queue_.marked()};
}

void delivery_link::follow(const packet_fn& take) {
    take_ = take;
    journals_.clear();
}

sdu_journal* delivery_link::journal_of(int tag) {
    if (!take_) return nullptr;
    while (journals_.size() <= static_cast<std::size_t>(tag)) {
        const int user = static_cast<int>(journals_.size());
        journals_.push_back(std::make_unique<sdu_journal>(
            [take = take_, user](const packet_record& r) { take(r, user); }, 0, uplink_));
    }
    return journals_[static_cast<std::size_t>(tag)].get();
}

}  // namespace wip::delivery
