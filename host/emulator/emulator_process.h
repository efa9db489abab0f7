// SPDX-License-Identifier: GPL-3.0-or-later
// The emulated cell in real time: one thread that sleeps (in one ppoll) until the next slot, the
// next packet to leave, or a packet in one of the two interfaces. Slot k is due at t0 +
// slot_start(k) of the monotonic clock. It is never skipped: a thread that was kept from running
// does the slots it missed at once, and how late each slot and each packet was is counted and
// judged by the launcher.
//
// It answers for the three processes that it stands for, on their sockets and with their messages:
// `base` and `terminal` (MacStatus, telemetry) and the medium (AirStatus: pacing).
#pragma once

#include <memory>
#include <zmq.hpp>

#include "emulator/emulator_config.h"
#include "runtime/control_socket.h"
#include "runtime/pacing.h"
#include "runtime/telemetry_socket.h"
#include "station/packet_gate.h"

namespace wip::emulator {

class emulator_process {
public:
    // Makes the interfaces and binds the sockets. Throws tun_error, endpoint_error, config::error,
    // std::runtime_error (a namespace that is not there).
    emulator_process(zmq::context_t& context, const config::settings& settings,
                     const emulator_config& config);
    ~emulator_process();

    // Paths of the ipc sockets bound here, to hand over to the user that the process becomes.
    std::vector<std::string> bound_paths() const;
    // Until something ends it; returns the exit code.
    int run(int signal_fd, bool realtime_priority);

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace wip::emulator
