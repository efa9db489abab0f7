// SPDX-License-Identifier: GPL-3.0-or-later
// The PUB socket of a station: topic `status` ten times a second of slot time, topic `slot` every
// nth slot. Every topic counts its own messages from 1, so that a subscriber sees what it missed.
#pragma once

#include <string>
#include <vector>
#include <zmq.hpp>

#include "schema/control.pb.h"
#include "schema/telemetry.pb.h"
#include "types/quantity.h"

namespace wip::host {

class telemetry_socket {
public:
    // `slot_every`: 0 = no samples. Throws endpoint_error (link_socket.h).
    telemetry_socket(zmq::context_t& context, const std::string& endpoint, int slot_every,
                     const std::string& key);

    void set_slot_every(int n) { slot_every_ = n; }
    bool status_due(slot now) const;
    bool sample_due(slot now) const;
    // To be filled, then published.
    openwip::control::MacStatus& status() { return *status_message_.mutable_mac(); }
    void publish_status(slot now);
    void publish_sample(slot now, const openwip::telemetry::SlotSample& sample);

    std::uint64_t status_sequence() const { return status_sequence_; }

private:
    void publish(const char* topic, openwip::telemetry::Telemetry& message);

    zmq::socket_t socket_;
    int slot_every_;
    std::uint64_t status_sequence_ = 0;
    std::uint64_t slot_sequence_ = 0;
    std::vector<std::uint8_t> out_;
    openwip::telemetry::Telemetry status_message_;
    openwip::telemetry::Telemetry slot_message_;
};

}  // namespace wip::host
