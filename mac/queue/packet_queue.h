// SPDX-License-Identifier: GPL-3.0-or-later
// The queue of whole packets in front of a link, under one of the queue disciplines, with its sums.
//
//   in = out + waiting + dropped, at any time; what is dropped goes to the owner first
//
// The discipline can change while packets wait: they stay, in the order in which they came.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "queue/queue_config.h"
#include "queue/queue_discipline.h"
#include "types/packets_bytes.h"

namespace wip {

// Reason under which packets are counted that a discipline dropped to signal congestion.
inline constexpr const char* managed_drop = "queue_managed";

class packet_queue final : private drop_port {
public:
    using drop_fn = std::function<void(const queued_packet&, queue_drop)>;

    // Throws as queue_config::check() does. Every packet that is dropped is handed to `on_drop`.
    packet_queue(const queue_config& config, drop_fn on_drop);
    ~packet_queue();

    // Makes a packet with this content, in a buffer of an earlier packet if there is one.
    queued_packet make(std::span<const std::uint8_t> data);
    // Takes the packet's buffer back for make().
    void recycle(queued_packet&& packet);

    // Returns whether the packet waits now; if not, it has been dropped. `room`: how many packets
    // may wait, this one included.
    bool push(queued_packet&& packet, std::int64_t now_ns, std::size_t room);
    // Takes the next packet; false if none is left. Packets may be dropped meanwhile.
    bool pop(std::int64_t now_ns, queued_packet& out);

    bool empty() const { return waiting_.packets == 0; }
    const packets_bytes& waiting() const { return waiting_; }
    // From now on the queue is expected to empty at this rate, in bytes a second; 0: nothing is
    // expected. It counts for a queue whose marking is `predicted`, until the next call.
    void expect(double bytes_per_s);
    // Packets that left with a mark of this queue.
    const packets_bytes& marked() const { return marked_; }
    std::size_t look(std::span<std::size_t> bytes) const { return discipline_->look(bytes); }
    std::int64_t first_arrival_ns() const { return discipline_->first_arrival_ns(); }

    // Changes the configuration from now on; the packets that wait stay. Throws as
    // queue_config::check() does.
    void reconfigure(const queue_config& config);
    const queue_config& config() const { return config_; }

private:
    void drop(queued_packet&& packet, queue_drop why) override;

    queue_config config_;
    drop_fn on_drop_;
    std::unique_ptr<queue_discipline> discipline_;
    packets_bytes waiting_, marked_;
    std::uint64_t next_order_ = 0;
    std::uint64_t last_dropped_ = 0;  // 1 + order of the packet that was dropped last
    std::vector<std::vector<std::uint8_t>> spare_;
};

}  // namespace wip
