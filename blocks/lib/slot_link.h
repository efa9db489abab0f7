// SPDX-License-Identifier: GPL-3.0-or-later
// The flowgraph's end of the slot link: a peer_link (blocks/peer) with the messages of
// mac/schema/slot_link.proto; macd binds.
//
// One thread uses it (the block's). States:
//   connecting -> connected -> ended, for good, with one reason
// It ends by: macd's stop message; the connection breaking (macd died; noticed at once); a macd
// that does not even answer the link itself for silence_s (stopped or hung host); no macd within
// connect_s; another protocol version. A macd that is merely waiting for something does answer, so
// a plan may take as long as it takes.
//
// A message wakes the waiting thread at once. The slices of 50 ms exist only because GNU Radio asks
// a block to stop by a thread interruption, which has to be looked for (`cancelled`).
//
// Bytes that are no message are counted and dropped. Messages are reused, so that in steady state
// only changed sizes allocate.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "peer/peer_link.h"
#include "schema/slot_link.pb.h"

namespace wip {

struct slot_link_config {
    std::string endpoint;     // shm://PATH, ipc://PATH or any other ZeroMQ address
    std::string role;         // "base" or "terminal"
    double silence_s = 2.0;   // 0.1 .. 60
    double connect_s = 10.0;  // 0.1 .. 600
};

class slot_link {
public:
    using cancelled_fn = std::function<bool()>;

    explicit slot_link(const slot_link_config& config);  // throws std::invalid_argument
    slot_link(const slot_link&) = delete;
    slot_link& operator=(const slot_link&) = delete;

    using clock = std::chrono::steady_clock;

    // Requests the plan of a slot and waits for it. nullptr: ended(), cancelled, or too late; after
    // a cancellation the plan of the same slot may be requested again (the request is not sent
    // twice). The plan is valid until the next call. With a deadline macd is woken at once, and a
    // plan that comes after it is dropped.
    const openwip::slot_link::SlotPlan* exchange(
        const openwip::slot_link::SlotRequest& request, const cancelled_fn& cancelled,
        clock::time_point deadline = clock::time_point::max());

    // Sends a report: fill in report() (cleared, memory kept), then send_report(). Waits only while
    // the queue towards macd is full. False: ended or cancelled.
    openwip::slot_link::SlotReport& report();
    bool send_report(const cancelled_fn& cancelled);

    // Settings for the receiver that have come since the last call; nullptr: none.
    const openwip::slot_link::ReceiverSettings* take_settings() {
        if (!settings_came_) return nullptr;
        settings_came_ = false;
        return &settings_;
    }

    // Handles the messages that have come, without waiting: hello, settings, stop, end of the
    // connection.
    void poll();

    // Details of every nth slot are wanted in the reports, n being this; 0: none.
    std::uint32_t detail_every() const { return detail_every_; }

    bool ended() const { return !end_reason_.empty(); }
    const std::string& end_reason() const { return end_reason_; }
    std::uint64_t malformed() const { return malformed_; }
    std::uint64_t unexpected() const { return unexpected_; }

private:
    bool send(const openwip::slot_link::ToMacd& message, const cancelled_fn& cancelled,
              bool can_wait = false);
    bool receive_one();  // false: nothing there
    void watch_connection(clock::time_point now);
    void greet();
    void sleep(clock::time_point until);
    void end(std::string reason);

    slot_link_config config_;
    std::unique_ptr<peer::peer_link> link_;
    clock::time_point deadline_;  // time until which a connection may take
    clock::time_point last_watch_;
    bool greeted_ = false;
    bool was_connected_ = false;
    bool requested_ = false;  // the plan of requested_air_ is requested and not answered
    std::int64_t requested_air_ = 0;
    bool planned_any_ = false;  // last_planned_ is a slot
    std::int64_t last_planned_ = 0;
    std::int64_t abandoned_ = -1;  // last slot whose plan did not come in time
    std::uint32_t detail_every_ = 0;
    bool planned_ = false;            // in_ holds the plan of requested_air_
    openwip::slot_link::ToMacd out_;  // the hello message
    openwip::slot_link::ToMacd request_message_;
    openwip::slot_link::ToMacd report_;
    openwip::slot_link::ToFlowgraph in_;
    openwip::slot_link::ReceiverSettings settings_;
    bool settings_came_ = false;
    std::vector<std::uint8_t> raw_;
    std::string end_reason_;
    std::uint64_t malformed_ = 0;
    std::uint64_t unexpected_ = 0;
};

}  // namespace wip
