// SPDX-License-Identifier: GPL-3.0-or-later
// A connection of the kernel in the units of telemetry.proto.
#pragma once

#include "observer/tcp_diag.h"
#include "schema/telemetry.pb.h"

namespace wip::observer {

void fill(const tcp_connection& connection, const std::string& station,
          openwip::telemetry::TcpFlow& flow);

}  // namespace wip::observer
