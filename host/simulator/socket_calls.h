// SPDX-License-Identifier: GPL-3.0-or-later
// ns-3's clock, and its sockets with functions as callbacks. Who holds a callback of a socket keeps
// what it calls: an end of a flow outlives its sockets' events.
#pragma once

#include <ns3/inet-socket-address.h>
#include <ns3/simulator.h>
#include <ns3/tcp-socket.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "simulator/counting_socket.h"
#include "simulator/traffic.h"

namespace wip::simulator {

inline double now_s() { return ns3::Simulator::Now().GetSeconds(); }

template <class Call>
void at(double seconds, Call call) {
    const ns3::Time when = ns3::Seconds(seconds);
    ns3::Simulator::Schedule(std::max(ns3::Time(0), when - ns3::Simulator::Now()), call);
}

ns3::InetSocketAddress end_of(const place& p, int flow);

// The socket's buffers; 0: as ns-3 is set.
void limit(const ns3::Ptr<ns3::Socket>& socket, int window_kb);

ns3::Ptr<counting_socket> listening(const place& p, int flow, const std::string& sender,
                                    int window_kb);

ns3::Callback<void, ns3::Ptr<ns3::Socket>> calls(std::function<void()> callback);
ns3::Callback<void, ns3::Ptr<ns3::Socket>> nothing();

void on_connection(const ns3::Ptr<ns3::Socket>& listening,
                   std::function<void(const ns3::Ptr<ns3::Socket>&)> accept);
void on_room(const ns3::Ptr<ns3::Socket>& socket, std::function<void()> callback);
// When it comes into this state; not from within the socket.
void on_state(const ns3::Ptr<ns3::Socket>& socket, ns3::TcpSocket::TcpStates_t wanted,
              std::function<void()> callback);

// Writes as much as there is room for.
void write(const ns3::Ptr<ns3::Socket>& socket, std::uint64_t& left);

void close_silently(const ns3::Ptr<ns3::Socket>& socket);

}  // namespace wip::simulator
