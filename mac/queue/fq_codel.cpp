// SPDX-License-Identifier: GPL-3.0-or-later
#include "queue/fq_codel.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "wire/ecn.h"

namespace wip {
namespace {

constexpr std::size_t most_dropped_at_once = 64;  // RFC 8290, section 4.1

}  // namespace

fq_codel::fq_codel(drop_port& drops, std::int64_t target_ns, std::uint64_t seed)
    : queue_discipline(drops), target_ns_(target_ns), key_(seed), drop_([this](queued_packet&& p) {
          --packets_;
          drop(std::move(p), queue_drop::managed);
      }) {}

void fq_codel::take_in(queued_packet&& packet) {
    auto& place = flows_[flow_hash(packet.data, key_) % nof_flows];
    if (!place) place = std::make_unique<flow>(target_ns_);
    place->queue.push(std::move(packet));
    ++packets_;
    if (place->listed) return;
    place->listed = true;
    place->deficit = quantum_bytes;
    new_.push_back(place.get());
}

void fq_codel::push(queued_packet&& packet, std::int64_t, std::size_t room) {
    take_in(std::move(packet));
    while (packets_ > room) make_room();
}

void fq_codel::make_room() {
    flow* fattest = nullptr;
    for (const turns* list : {&new_, &old_})
        for (flow* f : *list)
            if (fattest == nullptr || f->queue.packets().bytes() > fattest->queue.packets().bytes())
                fattest = f;
    auto& fifo = fattest->queue.packets();
    const std::size_t most = std::clamp<std::size_t>(fifo.size() / 2, 1, most_dropped_at_once);
    for (std::size_t i = 0; i < most; ++i) {
        --packets_;
        drop(fifo.pop(), queue_drop::full);
    }
}

bool fq_codel::pop(std::int64_t now_ns, queued_packet& out) {
    for (;;) {
        const bool is_new = !new_.empty();
        turns& list = is_new ? new_ : old_;
        if (list.empty()) return false;
        flow& f = *list.front();
        if (f.deficit <= 0) {
            f.deficit += quantum_bytes;
            old_.splice(old_.end(), list, list.begin());
            continue;
        }
        if (!f.queue.pop(now_ns, out, rate().shared_by(new_.size() + old_.size()), drop_)) {
            // A new flow that has sent all it had waits for the others once, so that it cannot
            // stay ahead of them by pausing for a moment.
            if (is_new) {
                old_.splice(old_.end(), list, list.begin());
            } else {
                f.listed = false;
                list.pop_front();
            }
            continue;
        }
        --packets_;
        f.deficit -= static_cast<std::int64_t>(out.bytes());
        return true;
    }
}

std::size_t fq_codel::look(std::span<std::size_t> bytes) const {
    std::size_t n = 0;
    for (const turns* list : {&new_, &old_})
        for (const flow* f : *list) n += f->queue.packets().look(bytes.subspan(n));
    return n;
}

std::int64_t fq_codel::first_arrival_ns() const {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    for (const turns* list : {&new_, &old_})
        for (const flow* f : *list)
            if (!f->queue.packets().empty())
                first = std::min(first, f->queue.packets().front().arrived_ns);
    return first;
}

void fq_codel::drain(std::vector<queued_packet>& out) {
    for (turns* list : {&new_, &old_}) {
        for (flow* f : *list) {
            f->queue.packets().drain(out);
            f->listed = false;
        }
        list->clear();
    }
    packets_ = 0;
}

}  // namespace wip
