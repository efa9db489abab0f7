// SPDX-License-Identifier: GPL-3.0-or-later
// Publishes the telemetry of the emulated cell as its two ends: the topics of the base station and
// those of all terminals, which share one publisher; `user` of a message tells the terminal. The
// terminals measure the channel exactly, so `snr_db` is `true_snr_db` here. There is no receiver:
// topic `receiver` has the symbols of the symbol channel, if it made any, and nothing else.
#pragma once

#include <deque>
#include <string>

#include "emulator/emulator_config.h"
#include "runtime/telemetry_port.h"
#include "station/frame_log.h"
#include "station/ip_log.h"
#include "station/packet_topic.h"

namespace wip::emulator {

class emulator_telemetry {
public:
    // `packets_per_second`: records of topic `packet` at most.
    emulator_telemetry(emulated_cell& cell, host::telemetry_port& base,
                       host::telemetry_port& terminal, const cell_config& config,
                       int packets_per_second);
    // Publishes the messages that still wait, as the destructors of the logs do.
    ~emulator_telemetry();
    // Publishes the records of packets that wait, while the cell is still there.
    void flush();
    emulator_telemetry(const emulator_telemetry&) = delete;
    emulator_telemetry& operator=(const emulator_telemetry&) = delete;

    void set_packet_rate(int per_second) { packets_.set_rate(per_second); }

    // A packet passed an interface.
    void passed(emulated_cell::side side, int user, host::ip_log::way way,
                std::span<const std::uint8_t> packet, std::int64_t time_ns,
                std::optional<std::uint64_t> number = {});
    // Call before run_slot(k).
    void prepare(slot k);
    // Publishes all topics but `status` and `event`. Call after run_slot(k).
    void publish(slot k);

private:
    void publish_packets(slot k);
    void publish_settled(slot j);
    void publish_frames(slot k);
    void pack(const slot_grant& grant);
    void publish_measured(slot k);
    void publish_symbols(slot k);

    emulated_cell* cell_;
    host::telemetry_port* base_;
    host::telemetry_port* terminal_;
    slot published_{
        -1};  // topic `slot` of the base station is published, or was not due, up to here
    struct logs {
        logs(host::telemetry_port& base, host::telemetry_port& terminal, link_profile profile,
             int user)
            : sent(base, profile, user), received(terminal, profile, user), ip(terminal, user) {}
        host::frame_log sent, received;
        host::ip_log ip;  // packets at the terminals' interfaces
    };
    host::ip_log server_;
    std::deque<logs> users_;
    host::packet_topic packets_;
    bool following_packets_ = false;
    slot done_;  // the last slot that was published
    link_profile profile_;
    std::string grant_;  // grant of the slot and user whose frames are published
};

}  // namespace wip::emulator
