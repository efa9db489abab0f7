// SPDX-License-Identifier: GPL-3.0-or-later
#include "umts/bearer_profile.h"

#include <array>

namespace wip::umts {
namespace {

// Teyeb's latency lies between the ends of the RLC: so a retransmission comes 180 to 220 ms after
// the first transmission, as he measures. Lundsten's PDU is a whole interval, and with 10 ms a
// retransmission begins 60 ms after the first one; he has no limit on the uplink, and 64 kbit/s
// does not limit it. Smaragdakis gives a rate and a round trip; a PDU is a whole block.
// Columns: name, kbit/s down and up, ms one way, ms of radio delay, TTI in ms, octets of a PDU
// without its header down and up, quiet uplink.
constexpr std::array<bearer_profile, 12> profiles{{
    {"umts-384", 384, 32, 75, 60, 10, 40, 40},
    {"umts-128", 128, 32, 75, 60, 10, 40, 40},
    {"umts-64", 64, 32, 75, 60, 10, 40, 40},
    {"umts-32", 32, 32, 75, 60, 10, 40, 40},
    {"lundsten-384", 384, 64, 135, 10, 20, 960, 160, true},
    {"lundsten-128", 128, 64, 135, 10, 20, 320, 160, true},
    {"lundsten-64", 64, 64, 135, 10, 20, 160, 160, true},
    {"smaragdakis-120", 120, 120, 60, 10, 10, 150, 150},
    {"smaragdakis-240", 240, 240, 40, 10, 10, 300, 300},
    {"gprs", 32, 32, 350, 320, 20, 40, 40},
    {"wlan", 1000, 64, 5, 2, 2, 50, 16},
    {"reference", 3840, 3840, 10, 7, 2, 80, 80},
}};

}  // namespace

std::span<const bearer_profile> bearer_profiles() { return profiles; }

const bearer_profile* find_bearer_profile(std::string_view name) {
    for (const auto& p : profiles)
        if (p.name == name) return &p;
    return nullptr;
}

}  // namespace wip::umts
