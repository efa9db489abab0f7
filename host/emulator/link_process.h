// SPDX-License-Identifier: GPL-3.0-or-later
// Two packet links between two interfaces in real time: what emulator_process.h is for the OFDM
// cell, for every other kind of link (link_pair.h). One thread sleeps until a packet comes or is
// due, or the links want to be moved on, or the next beat (10 ms) with its telemetry and control.
// Nothing of a link depends on when it is called, so no beat is skipped and how late each was is
// counted and judged by the launcher, as the cell's slots are; air time is counted in the cell's
// slots, 15 to a beat, so that whoever reads a status need not know what carries the packets.
#pragma once

#include <memory>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "config/schema.h"
#include "emulator/emulator_config.h"

namespace wip::emulator {

class link_process {
public:
    // As those of emulator_process.
    link_process(zmq::context_t& context, const config::settings& settings,
                 const emulator_config& config);
    ~link_process();
    std::vector<std::string> bound_paths() const;
    int run(int signal_fd, bool realtime_priority);

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace wip::emulator
