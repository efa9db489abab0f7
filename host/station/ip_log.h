// SPDX-License-Identifier: GPL-3.0-or-later
// Topic `ip`: the packets that passed a TUN, or topic `frames`: PDUs of an RLC, as packets;
// gathered over the slots of a batch. What a slot brings beyond `most_bytes` or `most_packets` is
// left out and counted: an application that floods the interface must not become a flood of
// telemetry.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "runtime/batch_window.h"
#include "runtime/telemetry_port.h"

namespace wip::host {

class ip_log {
public:
    static constexpr std::size_t most_bytes = 256 << 10;
    static constexpr int most_packets = 512;

    explicit ip_log(telemetry_port& port, int user = 0, topic t = topic::ip)
        : port_(&port), user_(user), topic_(t) {}
    ~ip_log() { flush(); }
    ip_log(const ip_log&) = delete;
    ip_log& operator=(const ip_log&) = delete;

    // Read from the TUN (false) or written to it. `number`: as PacketRecord counts, where known.
    enum class way : std::uint8_t { in, out };
    enum class link : std::uint8_t { down, up };
    void add(way which, link direction, std::span<const std::uint8_t> packet, std::int64_t time_ns,
             std::optional<std::uint64_t> number = {}, bool lost = false) {
        if (port_->wanted(topic_)) keep(which, direction, packet, time_ns, number, lost);
    }
    // Publishes when it is time.
    void slot_done(slot now) {
        slot_bytes_ = 0;
        slot_packets_ = 0;
        if (window_.due(now, bytes_)) send();
    }
    // Publishes what waits, as of the last slot that was done.
    void flush() {
        if (bytes_ != 0) send();
    }

private:
    void keep(way which, link direction, std::span<const std::uint8_t> packet, std::int64_t time_ns,
              std::optional<std::uint64_t> number, bool lost);
    void send();

    telemetry_port* port_;
    int user_;
    topic topic_;
    batch_window window_;
    openwip::telemetry::IpBatch batch_;
    std::size_t bytes_ = 0, slot_bytes_ = 0;  // bytes_ 0: nothing waits
    int slot_packets_ = 0;
    std::uint64_t skipped_ = 0;
    std::uint64_t packets_ = 0;  // packets in the messages before this one
};

}  // namespace wip::host
