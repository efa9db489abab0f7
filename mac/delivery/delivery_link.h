// SPDX-License-Identifier: GPL-3.0-or-later
// One direction of a network that delivers packets as a trace says (delivery/delivery_trace.h). A
// packet that comes at t passes, in this order,
//
//   loss     with probability `loss`
//   trains   if there are any: it is held back until t + delay of the trace at that time, which is
//            linear between two lines. The first packet after an idle time begins a train; later
//            ones take the opportunities of that train, without the queue if no packet waits there.
//            Packets beyond the train's last opportunity join the queue
//   queue    a packet queue with its discipline (queue/packet_queue.h)
//   service  by opportunities of 1500 bytes each, as Mahimahi's link does it: an opportunity that
//            finds no packet is lost, several packets may share one, and a packet that is larger
//            than what is left goes on with the next. A packet that comes exactly at the time of an
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
    double held_mb = setting::to_base_held_mb.initial;  // most that may be held, 10^6 bytes
    std::uint64_t seed = 1;
    void check() const;  // throws std::invalid_argument naming key, value and what would be valid
};

class delivery_link final : public packet_link {
public:
    using packet_fn = std::function<void(const packet_record&, int user)>;

    // `uplink` is written into the records of its packets. Throws as check() does.
    delivery_link(delivery_config config, bool uplink);

    // These two setters apply from now on. The trace, its rate and its loss stay as they are.
    void set_delay(double delay_ms);
    void set_queue(const queue_config& queue) { queue_.reconfigure(queue); }

    bool offer(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag = 0) override;
    void advance(std::int64_t now_ns) override;
    std::int64_t next_wakeup() const override;
    link_sums sums() const override;
    bool idle() const override { return held_count_.packets == 0; }

    // The time of the last advance().
    std::int64_t now_ns() const { return now_ns_; }
    // Bits that the opportunities, or the rate, could have carried until this time.
    double capacity_bits(std::int64_t until_ns) const;
    // The delay of a packet that comes at this time and waits for nothing.
    double base_delay_ms(std::int64_t at_ns) const;
    // From now on `take` gets a record of each packet; an empty function ends this.
    void follow(const packet_fn& take);

private:
    struct packet_facts {
        std::int64_t offered_ns = 0;
        std::int64_t began_ns = 0;  // when its service began
        std::uint64_t id = 0;       // number of packets with its tag that came before it
        int tag = 0;
    };
    struct held_packet {
        packet_facts what;
        std::vector<std::uint8_t> data;
        std::int64_t due_ns = 0;
        bool bypasses_queue = false;  // if no packet waits in the queue
    };
    struct opportunity {
        std::int64_t period = 0;  // complete repetitions of the trace before it
        std::size_t index = 0;
    };

    bool has_opportunities() const { return !config_.trace.opportunities_ms.empty(); }
    bool has_service() const { return has_opportunities() || bits_per_second_ > 0; }
    std::int64_t time_of(const opportunity& o) const;
    opportunity first_after(std::int64_t ns) const;
    void use_opportunity(std::int64_t at_ns);
    void drop(const packet_facts& what, std::size_t bytes, packets_bytes& counter,
              const char* reason, std::int64_t now_ns);
    void join_train(held_packet& p, std::int64_t now_ns);
    std::int64_t delay_at(std::int64_t now_ns, std::size_t& line) const;
    bool enqueue(held_packet&& p, std::int64_t now_ns);
    bool begin_service(std::int64_t at_ns);
    void end_service(std::int64_t at_ns);
    void serve(std::int64_t at_ns);
    void send_on(const packet_facts& what, std::vector<std::uint8_t>&& data, std::int64_t at_ns);
    std::int64_t next_service() const;
    std::int64_t next_step() const;
    void step();
    void deliver();
    sdu_journal* journal_of(int tag);

    delivery_config config_;
    bool uplink_;
    std::int64_t delay_ns_ = 0, bits_per_second_ = 0;
    std::size_t most_held_bytes_ = 0;  // bytes
    splitmix64 random_;

    std::deque<held_packet> train_held_;  // held back by the trains
    // The train that is under way: its first packet, its delay (-1: there was no train yet), its
    // line of the trace, its next opportunity, and the bytes that this one has left.
    std::int64_t train_began_ns_ = 0, train_delay_ns_ = -1;
    std::size_t train_line_ = 0, train_next_ = 0;
    std::int64_t train_bytes_left_ = 0;
    std::int64_t last_release_ns_ = 0;           // latest one of packets that trains held back
    std::int64_t last_release_by_clock_ns_ = 0;  // on the trace's clock of milliseconds

    packet_queue queue_;
    queued_packet serving_;
    bool is_serving_ = false;
    std::size_t bytes_left_ = 0;  // rest of the packet that is being served
    std::int64_t served_ns_ = 0;  // by a rate: when the packet has left
    // The fraction of a nanosecond in served_ns_, times the rate.
    std::int64_t service_remainder_ = 0;
    opportunity next_;
    std::int64_t decision_ns_ = 0;  // the time of the queue's decision, for a packet's record

    std::deque<held_packet> in_delay_;  // on their way through the delay
    packets_bytes in_, delivered_, held_count_, trace_lost_, queue_full_, managed_, held_full_;
    std::int64_t now_ns_ = 0;
    std::vector<std::uint64_t> next_ids_;  // by tag
    packet_fn take_;
    std::vector<std::unique_ptr<sdu_journal>> journals_;
};

}  // namespace wip::delivery
