// SPDX-License-Identifier: GPL-3.0-or-later
#include "queue/pie.h"

#include <algorithm>

namespace wip {
namespace {

// After so many updates without a call, the probability of an idle queue has decayed to nothing.
constexpr std::int64_t most_updates = 4096;
// From this probability on packets are dropped even if they could be marked (RFC 8033, 5.1).
constexpr double mark_limit = 0.1;
// De-randomisation (RFC 8033, 5.4): the sum of the probabilities of the packets between two drops
// is at least the first of these, and at most the second.
constexpr double least_accumulated = 0.85, most_accumulated = 8.5;

// The lower the probability, the smaller the steps: the table of RFC 8033, 4.2. The other numbers
// of update() and hits() are those of its pseudocode, too.
double scale(double probability) {
    if (probability < 0.000001) return 1.0 / 2048;
    if (probability < 0.00001) return 1.0 / 512;
    if (probability < 0.0001) return 1.0 / 128;
    if (probability < 0.001) return 1.0 / 32;
    if (probability < 0.01) return 1.0 / 8;
    if (probability < 0.1) return 1.0 / 2;
    return 1;
}

}  // namespace

void pie::bring_up_to(std::int64_t now_ns) {
    if (!started_) {
        started_ = true;
        next_update_ns_ = now_ns + update_ns;
    }
    if (now_ns - next_update_ns_ > most_updates * update_ns && fifo_.empty()) {
        next_update_ns_ = now_ns + update_ns;
        probability_ = accumulated_ = 0;
        delay_ns_ = 0;
        burst_left_ns_ = burst_ns;
        return;
    }
    for (; next_update_ns_ <= now_ns; next_update_ns_ += update_ns) update(next_update_ns_);
}

void pie::update(std::int64_t at_ns) {
    const std::int64_t delay = rate().delay_ns(fifo_.sojourn_ns(at_ns), fifo_.bytes());
    double step = alpha * static_cast<double>(delay - target_ns_) * 1e-9 +
                  beta * static_cast<double>(delay - delay_ns_) * 1e-9;
    step *= scale(probability_);
    if (probability_ >= 0.1) step = std::min(step, 0.02);
    probability_ += step;
    if (delay == 0 && delay_ns_ == 0) probability_ *= 0.98;
    probability_ = std::clamp(probability_, 0.0, 1.0);
    burst_left_ns_ = std::max<std::int64_t>(0, burst_left_ns_ - update_ns);
    if (probability_ == 0 && delay < target_ns_ / 2 && delay_ns_ < target_ns_ / 2)
        burst_left_ns_ = burst_ns;
    delay_ns_ = delay;
}

bool pie::hits(const queued_packet& packet) {
    mean_bytes_ += (static_cast<double>(packet.bytes()) - mean_bytes_) / 8;
    if (burst_left_ns_ > 0) return false;
    if (delay_ns_ < target_ns_ / 2 && probability_ < 0.2) return false;
    if (static_cast<double>(fifo_.bytes()) <= 2 * mean_bytes_) return false;
    if (probability_ == 0) accumulated_ = 0;
    accumulated_ += probability_;
    if (accumulated_ < least_accumulated) return false;
    if (accumulated_ < most_accumulated && uniform() >= probability_) return false;
    accumulated_ = 0;
    return true;
}

void pie::push(queued_packet&& packet, std::int64_t now_ns, std::size_t room) {
    bring_up_to(now_ns);
    if (fifo_.size() >= room) {
        drop(std::move(packet), queue_drop::full);
        accumulated_ = 0;
    } else if (hits(packet) && (probability_ >= mark_limit || !packet.mark())) {
        drop(std::move(packet), queue_drop::managed);
    } else {
        fifo_.push(std::move(packet));
    }
}

bool pie::pop(std::int64_t now_ns, queued_packet& out) {
    bring_up_to(now_ns);
    if (fifo_.empty()) return false;
    out = fifo_.pop();
    return true;
}

}  // namespace wip
