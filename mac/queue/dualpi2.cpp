// SPDX-License-Identifier: GPL-3.0-or-later
#include "queue/dualpi2.h"

#include <algorithm>
#include <utility>

#include "wire/ecn.h"

namespace wip {
namespace {

constexpr double classic_share = 1.0 / 16;  // RFC 9332, appendix A.1
// A queue that has been empty for so many updates has no congestion left to signal.
constexpr std::int64_t most_updates = 4096;
// The credit of either queue is limited to ten large packets, in bytes.
constexpr double most_credit = 10 * 1500;

}  // namespace

dualpi2::dualpi2(drop_port& drops, std::int64_t target_ns)
    : queue_discipline(drops),
      target_ns_(target_ns),
      update_ns_(std::min(target_ns, longest_rtt_ns / 3)) {
    // The gains of RFC 9332, appendix A.1, for the longest round trip that is expected.
    const double rtt = static_cast<double>(longest_rtt_ns) * 1e-9;
    alpha_ = 0.1 * static_cast<double>(update_ns_) * 1e-9 / (rtt * rtt);
    beta_ = 0.3 / rtt;
}

void dualpi2::bring_up_to(std::int64_t now_ns) {
    if (!started_) {
        started_ = true;
        next_update_ns_ = now_ns + update_ns_;
    }
    if (packets() == 0 && now_ns - next_update_ns_ > most_updates * update_ns_) {
        base_ = 0;
        delay_ns_ = 0;
        next_update_ns_ = now_ns + update_ns_;
    }
    for (; next_update_ns_ <= now_ns; next_update_ns_ += update_ns_) update(next_update_ns_);
}

void dualpi2::update(std::int64_t at_ns) {
    // A packet that comes to the classic queue waits for the L4S queue, too.
    const std::int64_t delay =
        rate().delay_ns(std::max(classic_.sojourn_ns(at_ns), l4s_.sojourn_ns(at_ns)),
                        classic_.bytes() + l4s_.bytes());
    base_ += alpha_ * static_cast<double>(delay - target_ns_) * 1e-9 +
             beta_ * static_cast<double>(delay - delay_ns_) * 1e-9;
    // At 1 / k all of the L4S queue is marked, and the classic probability is at its largest.
    base_ = std::clamp(base_, 0.0, 1 / coupling);
    delay_ns_ = delay;
}

void dualpi2::restore(queued_packet&& packet) {
    const ecn field = read_ecn(packet.data);
    const bool l4s = field == ecn::ect_1 || field == ecn::ce;
    (l4s ? l4s_ : classic_).push(std::move(packet));
}

void dualpi2::push(queued_packet&& packet, std::int64_t now_ns, std::size_t room) {
    bring_up_to(now_ns);
    if (packets() >= room)
        drop(std::move(packet), queue_drop::full);
    else
        restore(std::move(packet));
}

bool dualpi2::l4s_is_next() {
    if (l4s_.empty() || classic_.empty()) {
        credit_ = 0;
        return !l4s_.empty();
    }
    return credit_ <= 0;
}

bool dualpi2::keep_l4s(queued_packet& packet, std::int64_t now_ns) {
    const double coupled = coupled_probability();
    if (coupled >= 1) {
        if (l4s_drop_.hits(classic_probability())) return false;
        packet.mark();
        return true;
    }
    double own = 0;
    if (!l4s_.empty()) {
        const std::int64_t delay = rate().delay_ns(now_ns - packet.arrived_ns, l4s_.bytes());
        own = std::clamp(
            static_cast<double>(delay - ramp_from_ns) / double{ramp_to_ns - ramp_from_ns}, 0.0,
            1.0);
    }
    if (l4s_mark_.hits(std::max(own, coupled))) packet.mark();
    return true;
}

bool dualpi2::keep_classic(queued_packet& packet) {
    const double p = classic_probability();
    if (!classic_signal_.hits(p)) return true;
    return p < most_classic && packet.mark();
}

bool dualpi2::pop(std::int64_t now_ns, queued_packet& out) {
    bring_up_to(now_ns);
    while (packets() > 0) {
        const bool l4s = l4s_is_next();
        out = l4s ? l4s_.pop() : classic_.pop();
        const auto bytes = static_cast<double>(out.bytes());
        credit_ += l4s ? classic_share * bytes : -(1 - classic_share) * bytes;
        credit_ = std::clamp(credit_, -most_credit, most_credit);
        if (l4s ? keep_l4s(out, now_ns) : keep_classic(out)) return true;
        drop(std::move(out), queue_drop::managed);
    }
    return false;
}

std::size_t dualpi2::look(std::span<std::size_t> bytes) const {
    const std::size_t n = l4s_.look(bytes);
    return n + classic_.look(bytes.subspan(n));
}

std::int64_t dualpi2::first_arrival_ns() const {
    if (l4s_.empty()) return classic_.front().arrived_ns;
    if (classic_.empty()) return l4s_.front().arrived_ns;
    return std::min(l4s_.front().arrived_ns, classic_.front().arrived_ns);
}

void dualpi2::drain(std::vector<queued_packet>& out) {
    l4s_.drain(out);
    classic_.drain(out);
}

}  // namespace wip
