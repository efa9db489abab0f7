// SPDX-License-Identifier: GPL-3.0-or-later
// The emulated uplink at the terminal (Alfredsson 2012, section 5.4): a queue of IP packets (under
// one of the queue disciplines of queue/packet_queue.h) in front of a line of constant capacity,
// then a delay and a seeded loss. Feedback takes no capacity, has losses of its own and is counted
// separately.
//
// Time is counted in slots of 1/1500 s and capacity in whole bits a second, so that no rounding
// accumulates: each slot adds as many units as the capacity has bits a second, and a bit costs 1500
// units. A line that has nothing to send does not save capacity. A packet whose last bit is sent in
// slot c arrives at the start of slot c + 2 + delay_slots: it is on the line during c, signalled
// during c + 1, as the feedback is.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "link/link_statistics.h"
#include "queue/queue_config.h"
#include "types/quantity.h"
#include "types/setting_limits.h"

namespace wip {

// The most that may be on the line at a time (rate times delay), since it takes memory.
inline constexpr double most_on_the_way = 64e6;  // bytes

struct uplink_config {
    double kbps = setting::uplink_kbps.initial;  // IP capacity
    // Limited so that at most most_on_the_way bytes are on the line.
    int delay_slots = setting::uplink_delay_slots.initial;
    double loss = 0;           // probability that an IP packet is lost
    double feedback_loss = 0;  // probability that the feedback of a slot is lost
    int queue_packets = setting::uplink_queue_packets.initial;  // the packet on the line counts
    queue_config queue;
    std::uint64_t seed = 1;
    void check() const;  // throws std::invalid_argument naming key, value and what would be valid
};

// Conservation: in = delivered + queued + dropped_queue_full + dropped_queue_managed +
// dropped_lost + dropped_not_ip.
struct uplink_statistics {
    packets_bytes in;
    packets_bytes delivered;  // handed out by on_slot()
    packets_bytes queued;     // waiting or partly sent
    packets_bytes marked;     // by the queue discipline: "congestion experienced"
    packets_bytes dropped_queue_full;
    packets_bytes dropped_queue_managed;  // by the queue discipline, to signal congestion
    packets_bytes dropped_lost;
    packets_bytes dropped_not_ip;  // neither IPv4 nor IPv6, or the length in the header is not the
                                   // packet's size
    packets_bytes feedback;        // slots of feedback; bytes in the format of wire/feedback_bits.h
    packets_bytes feedback_lost;   // part of `feedback`
};

struct uplink_packet {
    slot arrival;  // the last bit has arrived at the start of this slot
    std::vector<std::uint8_t> data;
    int tag = 0;  // as given to on_sdu()
    std::int64_t offered_ns = 0;
};

class emulated_uplink {
public:
    explicit emulated_uplink(const uplink_config& config);  // throws as check() does
    ~emulated_uplink();
    emulated_uplink(emulated_uplink&&) noexcept;
    emulated_uplink& operator=(emulated_uplink&&) noexcept;

    // An IP packet came from the TUN during slot `now`: it may be sent from slot `now` on, so call
    // it before on_slot(now). False when it was dropped (counted with its reason). `tag` and time
    // come out again with it.
    bool on_sdu(std::span<const std::uint8_t> packet, slot now, int tag = 0,
                std::int64_t offered_ns = 0);
    // One slot of the line; call it once for each slot, in order (skipped slots are caught up
    // with). Returns the packets whose last bit was sent, those lost on the way excepted.
    std::vector<uplink_packet> on_slot(slot now);
    // Counts one feedback and says whether the line loses it.
    bool feedback_lost();
    // Changes capacity, delay, losses and queue limit at run time; queued packets stay, the random
    // sequences continue. The seed cannot change. Throws as check() does.
    void reconfigure(const uplink_config& config);

    const uplink_statistics& statistics() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace wip
