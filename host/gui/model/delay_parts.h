// SPDX-License-Identifier: GPL-3.0-or-later
// The parts that the delay of a packet is made of (PacketRecord), in the order in which they are
// stacked: one table for the plot over time and for the distribution.
#pragma once

#include <array>

namespace wip::gui {

struct delay_part {
    const char* name;
    const char* help;
    int colour;  // of series_colour()
};
inline constexpr std::array<delay_part, 5> delay_parts{{
    {"queue", "behind other packets", 0},
    {"scheduling", "first in the queue, until the slot that first carried its last part", 5},
    {"air", "that slot", 2},
    {"retransmission", "from its end until every part had been received", 1},
    {"reordering", "complete, waiting for packets before it", 3},
}};

}  // namespace wip::gui
