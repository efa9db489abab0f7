// SPDX-License-Identifier: GPL-3.0-or-later
// The meaning of telemetry, once for the whole window; openwip_cli/figures/meaning.py has it for
// everything else, and test_same_meaning.py holds both to the same records. Functions of messages
// and of the model's state; no clock, no socket, no picture.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gui/model/session_model.h"
#include "schema/telemetry.pb.h"
#include "types/bin.h"
#include "types/db.h"

namespace wip::gui {

// The parts that the delay of a packet is made of (PacketRecord), in the order in which they are
// stacked: one table for the plot over time and for the distribution.
struct delay_part {
    const char* name;
    const char* help;
    int colour;  // index of series_colour()
};
inline constexpr std::array<delay_part, 5> delay_parts{{
    {"queue", "behind other packets", 0},
    {"scheduling", "first in the queue, until the slot that first carried its last part", 5},
    {"air", "that slot", 2},
    {"retransmission", "from its end until every part had been received", 1},
    {"reordering", "complete, waiting for packets before it", 3},
}};

// A quantile of sorted values, between the two that are nearest; there must be one value at least.
float quantile(const std::vector<float>& sorted, double share);

// A cell that plays recorded samples (demo --replay-iq): it has no base station and no goodput, and
// its verdict is neither valid nor invalid.
bool is_replayed(const openwip::telemetry::Verdict& v);

// No transmission was late, and no more slots were behind than a verdict allows.
bool keeps_pace(const openwip::control::AirStatus& air);

// Whether the attenuator fails in some respect that a verdict would name
// (openwip_cli/figures/attenuator.py).
inline constexpr double attenuator_answers_s = 0.5;
bool goes_wrong(const openwip::control::AttenuatorStatus& attenuator);

std::string lock_words(const openwip::receiver::State& radio);

std::uint64_t dropped_packets(const openwip::control::Direction& d);

// The goodput of the link between two statuses; NaN if they do not tell it.
double goodput_bps(const base_point& from, const base_point& to);

// The error of one bin: the predicted SNR with which the base station planned the slot, less the
// one measured in it.
db prediction_error(const slot_column& c, bin_index bin);

}  // namespace wip::gui
