// SPDX-License-Identifier: GPL-3.0-or-later
// One direction of the wired network in front of the base station, packet by packet: loss, then a
// queue before a line of constant rate, then a delay (what Dummynet did for Alfredsson
// 2012, 5.3.1). The queue has one of the disciplines of queue/packet_queue.h. Time is whole
// nanoseconds of the cell's clock, given by the caller. A packet that arrives at t is
//
//   lost       with probability `loss`, from a random sequence of its own
//   refused    when `queue_packets` already wait or are on the line (only if the rate is limited)
//   not held   when with it more than `held_mb` would be on the way, so that a fast sender and a
//              long delay cannot exhaust the computer's memory
//   delivered  at max(t, line free) + bits / rate + delay
//
// so packets leave in the order in which they came. The time at which the line is free is kept with
// its remainder below one nanosecond, so that the rate is exact over any time.
//
// Changed settings hold for packets that arrive later: those on their way keep their time, and none
// overtakes them. With a discipline other than drop tail, a packet's time is set when it goes on
// the line, so that the discipline may drop or reorder waiting packets; a new rate holds for these,
// too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <stdexcept>
#include <vector>

#include "port/packet_line.h"
#include "queue/packet_queue.h"
#include "types/setting_limits.h"

namespace wip::packet_model {

struct wired_config {
    double delay_ms = setting::to_base_delay_ms.initial;
    double rate_kbps = 0;  // 0: no limit
    double loss = 0;
    int queue_packets = setting::to_base_queue_packets.initial;  // the packet on the line counts
    queue_config queue{};  // its seed is not used: `seed` takes its place
    double held_mb =
        setting::to_base_held_mb.initial;  // MB, the most that may be on the way; see held_bytes()
    std::uint64_t seed = 1;
    void check() const;  // throws std::invalid_argument naming key, value and what would be valid
};

// `purpose` of the two directions, so that every cell with one seed loses the same packets.
inline constexpr std::uint32_t to_base_purpose = 0x57495201, from_base_purpose = 0x57495202;

// Memory of the packets on the way: their bytes and what is stored about each, so that `held_mb`
// also limits the number of small packets.
inline constexpr std::size_t bytes_about_a_packet = 128;
inline constexpr std::size_t held_bytes(const packets_bytes& queued) {
    return queued.bytes + queued.packets * bytes_about_a_packet;
}

// Name under which the drops of the queue discipline are counted.
inline constexpr const char* wired_managed_drop = "wired_queue_managed";

// Conservation: in = out + queued + lost + refused + managed + not_held. `managed`: dropped by the
// queue discipline, to signal congestion.
struct wired_statistics {
    packets_bytes in, out, queued, lost, refused, managed, not_held;
};

class wired_link final : public packet_line {
public:
    // `purpose` tells apart links that share a seed. Throws as check() does.
    wired_link(const wired_config& config, std::uint32_t purpose);

    // Changes the configuration from the next packet on, except the seed. Throws as check() does.
    void reconfigure(const wired_config& config);

    void set_line(double rate_kbps, double delay_ms) override;
    void withdraw(std::int64_t now_ns, const sink& take) override;

    bool offer(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag = 0) override;
    void advance(std::int64_t now_ns) override;
    std::int64_t next_wakeup() const override {
        return std::min(next_start(), queue_.empty() ? never : queue_.front().due_ns);
    }
    link_sums sums() const override;
    bool idle() const override { return queue_.empty() && waiting_.empty(); }

    const wired_statistics& statistics() const { return statistics_; }

private:
    struct waiting {
        std::int64_t due_ns = 0;
        int tag = 0;
        std::vector<std::uint8_t> data;
        std::int64_t offered_ns = 0;
    };

    std::int64_t pass_line(std::size_t bytes, std::int64_t start_ns);
    void send(std::span<const std::uint8_t> data, std::int64_t leaves_ns, int tag,
              std::int64_t offered_ns);
    // Time at which the next packet under a queue discipline goes on the line.
    std::int64_t next_start() const {
        return waiting_.empty() ? never : std::max(free_ns_, waiting_.first_arrival_ns());
    }
    void start(std::int64_t at_ns);
    void forget_left(std::int64_t now_ns);
    void keep_buffer(std::vector<std::uint8_t>& data);

    wired_config config_;
    std::int64_t delay_ns_ = 0;
    std::int64_t bits_per_second_ = 0;
    std::size_t most_held_ = 0;  // bytes
    std::uint32_t key_;
    std::uint64_t draws_ = 0;
    // The line is free at free_ns_ + free_rest_ / bits_per_second_ nanoseconds.
    std::int64_t free_ns_ = 0, free_rest_ = 0;
    std::deque<std::int64_t> on_line_;  // when each packet has left the line
    std::deque<waiting> queue_;         // packets on the line or in the delay after it
    packet_queue waiting_;              // packets before the line, under a queue discipline
    queued_packet starting_;
    std::vector<std::vector<std::uint8_t>> spare_;  // buffers of packets that left
    wired_statistics statistics_;
};

}  // namespace wip::packet_model
