// SPDX-License-Identifier: GPL-3.0-or-later
// A packet link that is a line with a rate and a delay. It keeps packets in the order in which they
// came. A handover (handover/handover.h) takes what is on the line of one network and gives it to
// that of another one.
#pragma once

#include <cstdint>

#include "port/packet_link.h"

namespace wip {

class packet_line : public packet_link {
public:
    // The rate (0: no limit) and delay of packets that come from now on; those on their way keep
    // their time, and none overtakes them.
    virtual void set_line(double rate_kbps, double delay_ms) = 0;
    // Takes every packet off the line, in order, with the time at which it would have been
    // delivered. The line is empty and free then, and its sums are those of a line to which these
    // packets were never offered.
    virtual void withdraw(std::int64_t now_ns, const sink& take) = 0;
};

}  // namespace wip
