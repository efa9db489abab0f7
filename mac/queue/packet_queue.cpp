// SPDX-License-Identifier: GPL-3.0-or-later
#include "queue/packet_queue.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "queue/codel.h"
#include "queue/drop_tail.h"
#include "queue/dualpi2.h"
#include "queue/fq_codel.h"
#include "queue/pie.h"
#include "types/require.h"
#include "types/setting_limits.h"
#include "wire/ecn.h"

namespace wip {
namespace {

constexpr std::size_t most_spare = 64;  // buffers

std::unique_ptr<queue_discipline> make_discipline(const queue_config& c, drop_port& drops) {
    switch (c.kind) {
        case queue_kind::codel:
            return std::make_unique<codel>(drops, c.target_ns());
        case queue_kind::fq_codel:
            return std::make_unique<fq_codel>(drops, c.target_ns(), c.seed);
        case queue_kind::pie:
            return std::make_unique<pie>(drops, c.target_ns(), c.seed);
        case queue_kind::dualpi2:
            return std::make_unique<dualpi2>(drops, c.target_ns());
        case queue_kind::drop_tail:
            break;
    }
    return std::make_unique<drop_tail>(drops);
}

}  // namespace

std::int64_t queue_config::target_ns() const {
    if (target_ms > 0) return std::llround(target_ms * 1e6);
    const bool is_pi = kind == queue_kind::pie || kind == queue_kind::dualpi2;
    return is_pi ? 15'000'000 : 5'000'000;
}

void queue_config::check(const std::string& group) const {
    require(kind <= queue_kind::dualpi2, group + "queue", static_cast<int>(kind),
            "drop_tail, codel, fq_codel, pie or dualpi2");
    require(marking <= queue_marking::predicted, group + "queue_marking", static_cast<int>(marking),
            "sojourn or predicted");
    check_range(group + "queue_target_ms", target_ms, setting::link_queue_target_ms);
}

bool queued_packet::mark() {
    if (!mark_congestion(data)) return false;
    marked = true;
    return true;
}

packet_queue::packet_queue(const queue_config& config, drop_fn on_drop)
    : config_(config), on_drop_(std::move(on_drop)) {
    config.check();
    discipline_ = make_discipline(config, *this);
}
packet_queue::~packet_queue() = default;

queued_packet packet_queue::make(std::span<const std::uint8_t> data) {
    queued_packet p;
    if (!spare_.empty()) {
        p.data = std::move(spare_.back());
        spare_.pop_back();
    }
    p.data.assign(data.begin(), data.end());
    return p;
}

void packet_queue::recycle(queued_packet&& packet) {
    if (spare_.size() < most_spare) spare_.push_back(std::move(packet.data));
}

bool packet_queue::push(queued_packet&& packet, std::int64_t now_ns, std::size_t room) {
    packet.order = next_order_++;
    packet.arrived_ns = now_ns;
    waiting_.add(packet.bytes());
    discipline_->push(std::move(packet), now_ns, room);
    return last_dropped_ != next_order_;
}

bool packet_queue::pop(std::int64_t now_ns, queued_packet& out) {
    if (!discipline_->pop(now_ns, out)) return false;
    waiting_.take(out.bytes());
    if (out.marked) marked_.add(out.bytes());
    return true;
}

void packet_queue::expect(double bytes_per_s) {
    if (config_.marking == queue_marking::predicted)
        discipline_->expect(drain_rate::of_second(bytes_per_s));
}

void packet_queue::drop(queued_packet&& packet, queue_drop why) {
    waiting_.take(packet.bytes());
    last_dropped_ = packet.order + 1;
    on_drop_(packet, why);
    recycle(std::move(packet));
}

void packet_queue::reconfigure(const queue_config& config) {
    config.check();
    if (config == config_) return;
    std::vector<queued_packet> packets;
    discipline_->drain(packets);
    std::ranges::sort(packets, {}, &queued_packet::order);
    discipline_ = make_discipline(config, *this);
    for (auto& p : packets) discipline_->restore(std::move(p));
    config_ = config;
}

}  // namespace wip
