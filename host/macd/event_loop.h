// SPDX-License-Identifier: GPL-3.0-or-later
// The one thread of macd: it sleeps (poll_set.h) until one of the links, the control socket or a
// signal has something, and hands it to the station. The station reads the TUN in every slot; the
// loop looks at it only while no slot comes, so that a packet does not wake the thread. There is no
// timer in it except for that and for the death of a party (liveness.h). Every end is announced to
// flowgraph and peer with its reason.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "macd/liveness.h"
#include "macd/macd_config.h"
#include "macd/station.h"
#include "peer/peer_link.h"
#include "runtime/control_socket.h"
#include "runtime/ending.h"
#include "runtime/poll_set.h"
#include "runtime/setting_changes.h"
#include "runtime/status_events.h"
#include "runtime/telemetry_socket.h"

namespace wip::host {

class event_loop final : public station_port {
public:
    using clock = std::chrono::steady_clock;

    // Opens and binds all sockets. Throws bad_input.
    event_loop(zmq::context_t& context, const config::settings& settings,
               const macd_config& config);

    void attach(station& s, int tun_fd, int signal_fd);
    // Paths of the ipc sockets bound here, to hand over to the user that the process becomes.
    std::vector<std::string> bound_paths() const;
    // Runs until something ends it; returns the exit code.
    int run();

    void to_flowgraph(const openwip::slot_link::ToFlowgraph& message) override;
    bool to_peer(const google::protobuf::MessageLite& message) override;
    void malformed(const char* socket, const char* why) override;
    void peer_ends(stop_cause cause, const std::string& why) override;
    void peer_format(const std::vector<std::string>& lines) override;
    telemetry_port& telemetry() override { return telemetry_; }
    void slot_done(slot now) override;

private:
    void turn();  // handles one wake-up
    bool wait();  // waits until something has come; false: nothing was waited for
    void on_slot_link();
    bool read_from_flowgraph(std::span<const std::uint8_t> in);
    void on_hello(const openwip::slot_link::Hello& hello);
    void on_uplink();
    void on_control();
    void on_connections();
    bool configure(const std::string& yaml);  // false: nothing was changed
    void fill(openwip::control::MacStatus& status);
    void send_hellos();
    // Sends without waiting; false: the other side is not connected, or its queue is full.
    bool send_to_flowgraph(const google::protobuf::MessageLite& message);
    bool send(peer::peer_link& link, const google::protobuf::MessageLite& message);
    void say_goodbye(const stop_reason& why);
    void on_lost(party p);
    void follow_peer();
    void check_liveness(clock::time_point now);
    // Negative: for as long as it takes.
    std::chrono::nanoseconds patience(clock::time_point now) const;
    std::string name_of(party p) const;

    config::settings settings_;
    macd_config config_;
    std::string effective_yaml_;
    setting_changes changes_;
    std::unique_ptr<peer::peer_link> slot_link_;
    std::unique_ptr<peer::peer_link> uplink_;
    control_socket control_;
    telemetry_socket telemetry_;
    status_events events_;
    slot last_slot_;
    station* station_ = nullptr;
    int signal_fd_ = -1;
    int tun_fd_ = -1;
    poll_set watched_;
    bool first_turn_ = true;

    bool hello_sent_ = false;  // our hello to the flowgraph
    bool hello_received_ = false;
    bool peer_greeted_ = false;  // base station only: the terminal has sent its hello
    bool peer_fits_ = false;     // terminal only: the base station's settings fit
    bool peer_here_ = false;     // a peer that may leave is connected
    std::uint64_t refusals_ = 0;
    std::uint64_t occupied_ = 0;  // refusals that have been reported as events
    std::uint64_t malformed_ = 0;
    std::uint64_t unsent_plans_ = 0;

    liveness liveness_;
    ending end_;

    // Reused from message to message.
    std::vector<std::uint8_t> out_;
    openwip::slot_link::ToMacd from_flowgraph_;
};

}  // namespace wip::host
