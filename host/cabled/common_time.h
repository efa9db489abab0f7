// SPDX-License-Identifier: GPL-3.0-or-later
// One time for all devices of a fader.
//
// An edge of the second is waited for once; within the second that follows each device is set to 0
// at the next edge, and behind that edge their times have to agree: at the edge, which finds a
// device without a pulse or set a second later, and now, which finds one with another pulse.
// Devices whose time is common already (software USRPs of one medium) are only compared.
// tests/unit/host/test_fader_devices.cpp has each of these.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mix/tick.h"

namespace wip::cabled {

// A device's clock, as samples.
class timed_device {
public:
    virtual ~timed_device() = default;
    virtual std::string name() const = 0;  // as the user wrote it
    // false: devices of this kind have a common time by themselves
    virtual bool takes_pulses() const = 0;
    virtual mix::tick time_of_last_edge() = 0;
    virtual void set_time_at_next_edge(mix::tick time) = 0;
    virtual mix::tick now() = 0;
};

using sleep_fn = std::function<void(double seconds)>;

// Throws bad_input naming the device and what it needs.
void give_common_time(const std::vector<timed_device*>& devices, const sleep_fn& sleep);

}  // namespace wip::cabled
