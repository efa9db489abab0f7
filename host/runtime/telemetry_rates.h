// SPDX-License-Identifier: GPL-3.0-or-later
// Settings `telemetry.*`: of which slots a topic is made (every nth, 0 = never), and how much waits
// for a slow reader.
#pragma once

namespace wip::host {

struct telemetry_rates {
    int slot_every = 15;
    int receiver_every = 150;
    int frames_every = 1;
    int queue_messages = 2000;
    int packets_per_second = 5000;  // at most, of topic `packet`
};

}  // namespace wip::host
