// SPDX-License-Identifier: GPL-3.0-or-later
// Delay injection (delay_rule.h) as a stage on the way of acknowledgements, a packet link itself:
// at an access point on the way to the mobile sender (Fotiadis 2005), or from the mobile receiver
// of a downlink flow to the wired network (future work there).
//
// The stage holds pure acknowledgements of TCP flows (known by addresses and ports) that echo a
// timestamp: the first one of a hold waits for D, and those that come meanwhile leave with it, in
// order. The acknowledgement that shows a spike is not held. Neither is anything else: packets that
// are not TCP or are encrypted, fragments, segments with data, SYN, FIN or RST, or without a
// timestamp. The packets of a flow stay in order: a packet that is not held releases those of its
// flow that are held, before it leaves. They are released as well when the hold is full, when the
// flow makes room for another one, by flush() and by another mode.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "port/packet_link.h"
#include "relay/delay_rule.h"
#include "wire/tcp_segment.h"

namespace wip {

class delay_injection final : public packet_link {
public:
    // Throws as delay_injection_config::check() does.
    explicit delay_injection(const delay_injection_config& config);

    bool offer(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag = 0) override;
    void advance(std::int64_t now_ns) override;
    std::int64_t next_wakeup() const override {
        return waiting_.empty() ? never : waiting_.begin()->first.first;
    }
    link_sums sums() const override { return {in_, delivered_, queued_, {}}; }
    bool idle() const override { return waiting_.empty(); }

    // Releases all packets that are held.
    void flush(std::int64_t now_ns);
    // Changes the configuration and forgets all flows. Throws as check() does.
    void reconfigure(const delay_injection_config& config, std::int64_t now_ns);

    struct statistics {
        std::uint64_t samples = 0, spikes = 0, held = 0;
        std::uint64_t released_early = 0;        // held packets that were released early
        std::uint64_t expired = 0, evicted = 0;  // flows
        double held_ms = 0;                      // sum of the times that packets were held
        // The flow that had the last sample, and when it had it. `threshold_ms` is the value that
        // the sample was compared with; for a flow's first sample it is the value for the next one.
        double pdelay_ms = 0, threshold_ms = 0, delay_ms = 0;
        std::int64_t last_ns = 0;
    };
    const statistics& count() const { return count_; }
    std::size_t flows() const { return flows_.size(); }
    std::uint64_t held_now() const { return waiting_.size(); }

private:
    using place = std::pair<std::int64_t, std::uint64_t>;  // due, number
    struct held_packet {
        std::vector<std::uint8_t> data;
        int tag = 0;
        std::int64_t offered_ns = 0;
    };
    struct flow {
        explicit flow(const delay_injection_config& c) : rule(c) {}
        delay_rule rule;
        std::int64_t first_ns = 0, used_ns = 0;
        std::uint32_t echo = 0;     // the last timestamp that was echoed
        std::int64_t echoed = 0;    // ticks of the sender from the first echo to the last one
        std::int64_t until_ns = 0;  // end of the hold
        std::vector<std::uint64_t> held;
    };
    using flow_map = std::map<tcp::flow_key, flow>;

    flow& open(const tcp::flow_key& key, std::int64_t now_ns);
    void release(flow& f, std::int64_t now_ns);
    // Time at which the packet leaves.
    std::int64_t evaluate(const tcp::segment& s, std::int64_t now_ns);
    std::int64_t sample(flow& f, std::int64_t now_ns, std::uint32_t echo);

    delay_injection_config config_;
    flow_map flows_;
    std::map<place, held_packet> waiting_;
    std::uint64_t next_ = 0;
    packets_bytes in_, delivered_, queued_;
    statistics count_;
};

}  // namespace wip
