// SPDX-License-Identifier: GPL-3.0-or-later
// One direction of a network that delivers packets as a trace says (delivery/delivery_trace.h). A
// packet that comes at t passes, in this order,
//
//   loss     with probability `loss`
//   trains   if there are any: it is held back until t + delay of the trace at that time, which is
//            linear between two lines. The first packet after an idle time begins a train; the ones
//            behind it take the opportunities of that train, and go past the queue if nobody waits
//            there. Packets beyond the train's last opportunity join the queue
//   queue    a packet queue with its discipline (queue/packet_queue.h)
//   service  by opportunities of 1500 bytes each, as Mahimahi's link does it: an opportunity that
//            finds no packet is lost, several packets may share one, and a packet that is larger
//            than what is left goes on with the next. A packet that comes in the very moment of an
//            opportunity is too late for it. Without opportunities: by `rate_kbps`; 0: at once
//   delay    `delay_ms`
//
// After its last line a trace begins again. Nothing depends on when advance() is called.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "delivery/delivery_trace.h"
#include "journal/sdu_journal.h"
#include "port/packet_link.h"
#include "queue/packet_queue.h"
#include "types/packets_bytes.h"
#include "types/setting_limits.h"
#include "types/splitmix64.h"

namespace wip::delivery {

struct delivery_config {
    delivery_trace trace;
    double rate_kbps = 0;  // where the trace has no opportunities; 0: no limit
    double loss = 0;
    double delay_ms = 0;
    int queue_packets = setting::link_queue_packets.initial;  // one that is being sent counts
    queue_config queue;
    double held_mb = setting::to_base_held_mb.initial;  // of all that has not arrived
    std::uint64_t seed = 1;
    void check() const;  // throws std::invalid_argument naming key, value and what would be valid
};

class delivery_link final : public packet_link {
public:
    using packet_fn = std::function<void(const packet_record&, int user)>;

    // `uplink`: in its packets' records. Throws as check() does.
    delivery_link(delivery_config config, bool uplink);

    // From now on. The trace, its rate and its loss stay.
    void set_delay(double delay_ms);
    void set_queue(const queue_config& queue) { queue_.reconfigure(queue); }

    bool offer(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag = 0) override;
    void advance(std::int64_t now_ns) override;
    std::int64_t next_wakeup() const override;
    link_sums sums() const override;
    bool idle() const override { return held_count_.packets == 0; }

    // The last advance.
    std::int64_t now_ns() const { return now_ns_; }
    // Opportunities, or the rate, until this time.
    double capacity_bits(std::int64_t until_ns) const;
    // The delay of a packet that comes at this time and waits for nothing.
    double base_delay_ms(std::int64_t at_ns) const;
    // The way of each packet from now on; empty: no longer.
    void follow(const packet_fn& take);

private:
    struct about {
        std::int64_t offered_ns = 0;
        std::int64_t began_ns = 0;  // its service
        std::uint64_t id = 0;       // those of its tag that came before
        int tag = 0;
    };
    struct held_packet {
        about what;
        std::vector<std::uint8_t> data;
        std::int64_t due_ns = 0;
        bool passes = false;  // the queue, if nobody waits there
    };
    struct opportunity {
        std::int64_t period = 0;  // the trace has been played so often
        std::size_t index = 0;
    };

    bool has_opportunities() const { return !config_.trace.opportunities_ms.empty(); }
    bool has_service() const { return has_opportunities() || bits_per_second_ > 0; }
    std::int64_t time_of(const opportunity& o) const;
    opportunity first_after(std::int64_t ns) const;
    void use_opportunity(std::int64_t at_ns);
    void drop(const about& what, std::size_t bytes, packets_bytes& as, const char* reason,
              std::int64_t now_ns);
    void join_train(held_packet& p, std::int64_t now_ns);
    std::int64_t delay_at(std::int64_t now_ns, std::size_t& line) const;
    bool enqueue(held_packet&& p, std::int64_t now_ns);
    bool begin_service(std::int64_t at_ns);
    void end_service(std::int64_t at_ns);
    void serve(std::int64_t at_ns);
    void send_on(const about& what, std::vector<std::uint8_t>&& data, std::int64_t at_ns);
    std::int64_t next_service() const;
    std::int64_t next_step() const;
    void step();
    void deliver();
    sdu_journal* journal_of(int tag);

    delivery_config config_;
    bool uplink_;
    std::int64_t delay_ns_ = 0, bits_per_second_ = 0;
    std::size_t most_held_ = 0;  // bytes
    splitmix64 dice_;

    std::deque<held_packet> before_;  // held back by the trains
    // The train that is under way: its first packet, its delay (-1: there was no train yet), its
    // line of the trace, its next opportunity, and the bytes that this one has left.
    std::int64_t train_began_ns_ = 0, train_delay_ns_ = -1;
    std::size_t train_line_ = 0, train_next_ = 0;
    std::int64_t train_bytes_left_ = 0;
    std::int64_t last_release_ns_ = 0;           // of all packets that the trains held back
    std::int64_t last_release_by_clock_ns_ = 0;  // on the trace's clock of milliseconds

    packet_queue queue_;
    queued_packet serving_;
    bool is_serving_ = false;
    std::size_t bytes_left_ = 0;  // of the packet that is being served
    std::int64_t served_ns_ = 0;  // by a rate: when the packet has left
    std::int64_t rest_ = 0;       // of it, in parts of a nanosecond
    opportunity next_;
    std::int64_t decides_ns_ = 0;  // the time of the queue's decision, for a packet's record

    std::deque<held_packet> behind_;  // on their way through the delay
    packets_bytes in_, delivered_, held_count_, lost_, full_, managed_, too_much_;
    std::int64_t now_ns_ = 0;
    std::vector<std::uint64_t> ids_;  // of the tags
    packet_fn take_;
    std::vector<std::unique_ptr<sdu_journal>> journals_;
};

}  // namespace wip::delivery
