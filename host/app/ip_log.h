// SPDX-License-Identifier: GPL-3.0-or-later
// Topic `ip`: the packets that passed a TUN, gathered over a slot. What a slot brings beyond
// `most_bytes` or `most_packets` is left out and counted: an application that floods the interface
// must not become a flood of telemetry.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "app/telemetry_port.h"

namespace wip::host {

class ip_log {
public:
    static constexpr std::size_t most_bytes = 256 << 10;
    static constexpr int most_packets = 512;

    explicit ip_log(telemetry_port& port) : port_(&port) {}

    // Read from the TUN (false) or written to it. `number`: as PacketRecord counts, where known.
    enum class way : std::uint8_t { in, out };
    enum class link : std::uint8_t { down, up };
    void add(way which, link direction, std::span<const std::uint8_t> packet, std::int64_t time_ns,
             std::optional<std::uint64_t> number = {}) {
        if (port_->wanted(topic::ip)) keep(which, direction, packet, time_ns, number);
    }
    // What has come since the last call, if anything.
    void publish(slot now, int user = 0) {
        if (batch_.packet_size() != 0) send(now, user);
    }

private:
    void keep(way which, link direction, std::span<const std::uint8_t> packet, std::int64_t time_ns,
              std::optional<std::uint64_t> number);
    void send(slot now, int user);

    telemetry_port* port_;
    openwip::telemetry::IpBatch batch_;
    std::size_t bytes_ = 0;
    std::uint64_t skipped_ = 0;
};

}  // namespace wip::host
