// SPDX-License-Identifier: GPL-3.0-or-later
// Hosts with ns-3's TCP at both ends of a pair of links, and their traffic, on ns-3's calendar.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "port/packet_link.h"
#include "simulator/link_channel.h"
#include "simulator/traffic.h"
#include "virtual/timed_run.h"

namespace wip::simulator {

class hosts final : public virtual_time::timed_run {
public:
    // `addresses`: with the length of the prefix; the server's, then the terminals'. `plan`: file
    // of the form of host/flow/flows.schema.json. Throws std::invalid_argument for it.
    hosts(std::uint64_t seed, const std::vector<std::string>& addresses, packet_link& down,
          packet_link& up, const std::string& plan, int mtu = usual_mtu);
    ~hosts() override;

    void go_to(std::int64_t ns) override;
    std::int64_t now() const override;
    bool over() const override { return traffic_->done(); }
    std::uint64_t steps() const;
    link_channel& channel() { return *channel_; }
    const link_channel& channel() const { return *channel_; }
    // Adds the results of flows that have ended so far, and the kind of TCP that they used.
    void add_members(nlohmann::json& result) const;

private:
    ns3::Ptr<link_channel> channel_;
    std::unique_ptr<traffic> traffic_;
};

}  // namespace wip::simulator
