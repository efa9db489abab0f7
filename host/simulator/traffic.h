// SPDX-License-Identifier: GPL-3.0-or-later
// The traffic of a simulation: the flows of a plan, as the program in the Linux kernel in virtual
// time has them (host/virtual/guest.c), line by line.
//
//   bulk FROM TO START SECONDS SENDER [WINDOW_KB [S]]  TCP as fast as it goes; counts from S on
//   transfer FROM TO START BYTES SENDER [WINDOW_KB]    TCP, so many bytes
//   sessions FROM TO START SENDER BYTES TIMES ...      files, a connection each
//   pages CLIENT SERVER START SECONDS REQUEST RESPONSE THINK SENDER
//   voip FROM TO START SECONDS INTERVAL BYTES          UDP
//   set ATTRIBUTE VALUE                                of ns-3, of the flows from here on
#pragma once

#include <ns3/ipv4-address.h>
#include <ns3/node.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace wip::simulator {

struct place {
    ns3::Ptr<ns3::Node> node;
    ns3::Ipv4Address address;
};

class flow_end;

class traffic {
public:
    explicit traffic(std::vector<place> sides);
    ~traffic();
    traffic(const traffic&) = delete;
    traffic& operator=(const traffic&) = delete;

    // Empty, and #...: nothing. Throws std::invalid_argument.
    void add(const std::string& line);
    bool done() const;
    // Each end of each flow that tells something, in the words of guest_flows.c.
    nlohmann::json result() const;

private:
    const place& side(const std::string& word) const;

    std::vector<place> sides_;
    std::vector<std::unique_ptr<flow_end>> ends_;
    int flows_ = 0;
};

}  // namespace wip::simulator
