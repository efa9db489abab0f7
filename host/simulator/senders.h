// SPDX-License-Identifier: GPL-3.0-or-later
// The senders by name: those of Linux by Linux's names, ns-3's by theirs, and our own.
#pragma once

#include <ns3/node.h>

#include <string>

#include "simulator/counting_socket.h"

namespace wip::simulator {

// Throws std::invalid_argument that names what is valid.
ns3::Ptr<counting_socket> make_socket(const ns3::Ptr<ns3::Node>& node, const std::string& sender);

// An attribute of ns-3 from now on, ns3::TcpSocketBase::MinRto 200ms. Throws std::invalid_argument.
void set_attribute(const std::string& name, const std::string& value);

// Sets ns-3's defaults to those of Linux, except the windows, which are as large as Linux's may
// become.
void set_defaults();

}  // namespace wip::simulator
