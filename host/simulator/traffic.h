// SPDX-License-Identifier: GPL-3.0-or-later
// The traffic of a simulation by ns-3: the flows of a plan (host/flow/flows.schema.json), which the
// Linux kernel in virtual time runs as well.
#pragma once

#include <ns3/ipv4-address.h>
#include <ns3/node.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "flow/plan.h"

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

    // Throws std::invalid_argument.
    void add(const flow::flow& f);
    bool done() const;
    // The results of all ends of flows that have one.
    nlohmann::json result() const;

private:
    const place& side(int number) const;
    template <class Sender, class Receiver, class Flow>
    void add_both(const Flow& planned);

    std::vector<place> sides_;
    std::vector<std::unique_ptr<flow_end>> ends_;
};

}  // namespace wip::simulator
