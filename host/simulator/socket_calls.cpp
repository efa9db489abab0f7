// SPDX-License-Identifier: GPL-3.0-or-later
#include "simulator/socket_calls.h"

#include <ns3/uinteger.h>

#include <utility>

#include "simulator/senders.h"

namespace wip::simulator {
namespace {

using ns3::Address;
using ns3::InetSocketAddress;
using ns3::Ptr;
using ns3::Socket;

constexpr int first_port = 5001;
constexpr std::uint32_t chunk = 1 << 16;  // bytes of a write

}  // namespace

InetSocketAddress end_of(const place& p, int flow) {
    return {p.address, static_cast<std::uint16_t>(first_port + flow)};
}

void limit(const Ptr<Socket>& socket, int window_kb) {
    if (window_kb == 0) return;
    const auto bytes = static_cast<std::uint32_t>(1024 * window_kb);
    socket->SetAttribute("RcvBufSize", ns3::UintegerValue(bytes));
    // As Linux does with the size that it is given.
    socket->SetAttribute("SndBufSize", ns3::UintegerValue(2 * bytes));
}

Ptr<counting_socket> listening(const place& p, int flow, const std::string& sender, int window_kb) {
    const auto socket = make_socket(p.node, sender);
    limit(socket, window_kb);
    socket->Bind(end_of(p, flow));
    socket->Listen();
    return socket;
}

ns3::Callback<void, Ptr<Socket>> calls(std::function<void()> callback) {
    return ns3::Callback<void, Ptr<Socket>>(
        [callback = std::move(callback)](Ptr<Socket> /*socket*/) { callback(); });
}

ns3::Callback<void, Ptr<Socket>> nothing() {
    return calls([] {});
}

void on_connection(const Ptr<Socket>& listening, std::function<void(const Ptr<Socket>&)> accept) {
    listening->SetAcceptCallback(
        ns3::Callback<bool, Ptr<Socket>, const Address&>(
            [](Ptr<Socket>, const Address&) { return true; }),
        ns3::Callback<void, Ptr<Socket>, const Address&>(
            [accept = std::move(accept)](Ptr<Socket> s, const Address&) { accept(s); }));
}

void on_room(const Ptr<Socket>& socket, std::function<void()> callback) {
    socket->SetSendCallback(ns3::Callback<void, Ptr<Socket>, std::uint32_t>(
        [callback = std::move(callback)](Ptr<Socket>, std::uint32_t) { callback(); }));
}

void on_state(const Ptr<Socket>& socket, ns3::TcpSocket::TcpStates_t wanted,
              std::function<void()> callback) {
    using state = ns3::TcpSocket::TcpStates_t;
    socket->TraceConnectWithoutContext(
        "State", ns3::Callback<void, state, state>(
                     [wanted, callback = std::move(callback)](state /*before*/, state now) {
                         if (now == wanted) ns3::Simulator::ScheduleNow(callback);
                     }));
}

void write(const Ptr<Socket>& socket, std::uint64_t& left) {
    for (;;) {
        const auto n = static_cast<std::uint32_t>(
            std::min<std::uint64_t>({left, chunk, socket->GetTxAvailable()}));
        if (n == 0) return;
        left -= n;  // before Send(), which may call this function again
        if (socket->Send(ns3::Create<ns3::Packet>(n), 0) < 0) {
            left += n;
            return;
        }
    }
}

void close_silently(const Ptr<Socket>& socket) {
    socket->SetRecvCallback(nothing());
    socket->SetCloseCallbacks(nothing(), nothing());
    on_room(socket, [] {});
    socket->Close();
}

}  // namespace wip::simulator
