// SPDX-License-Identifier: GPL-3.0-or-later
#include "simulator/flow_ends.h"

#include <ns3/inet-socket-address.h>
#include <ns3/simulator.h>
#include <ns3/uinteger.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include "simulator/senders.h"
#include "simulator/socket_calls.h"

namespace wip::simulator {
namespace {

using ns3::Address;
using ns3::InetSocketAddress;
using ns3::Ptr;
using ns3::Socket;

constexpr std::size_t spoken_bytes = 12;  // bytes of the header of a packet of speech: time, number
constexpr std::uint64_t parts = flow::arrival_parts;

}  // namespace

void flow_end::tell(nlohmann::json found) {
    if (done_) return;
    result_ = std::move(found);
    result_["flow"] = flow_;
    result_["end"] = name_;
    done_ = true;
}

void flow_end::fail(const std::string& why) {
    if (done_) return;
    result_ = {{"flow", flow_}, {"failed", std::string(name_) + ": " + why}};
    done_ = true;
}

// Has the names of the Linux kernel's counters; "undone" are timeouts whose ACK answers the
// original transmission.
nlohmann::json sender_since(const sender_mark& then, std::uint64_t acknowledged,
                            const sender_counts& c, double round_trip_ms) {
    const sender_counts& before = then.counts;
    return {{"bytes_acked", acknowledged - then.acknowledged},
            {"bytes_sent", c.bytes - before.bytes},
            {"bytes_retransmitted", c.bytes_retransmitted - before.bytes_retransmitted},
            {"TCPTimeouts", c.timeouts - before.timeouts},
            {"TCPLossUndo", c.spurious_timeouts - before.spurious_timeouts},
            {"TCPFastRetrans", c.fast_retransmits - before.fast_retransmits},
            {"seconds", now_s() - then.at},
            {"rtt_ms", round_trip_ms}};
}

// --- TCP, one way ---

constexpr std::uint64_t endless = std::numeric_limits<std::uint64_t>::max();

// Seconds for which a connection is tried: at least until the counts begin.
double connect_for(const tcp_flow& f) { return std::max(flow::connect_s, f.measured); }

std::uint64_t given_at_first(const tcp_flow& f) {
    if (f.arrivals) return 0;
    return f.seconds > 0 ? endless : f.bytes;
}

tcp_sender::tcp_sender(const tcp_flow& f)
    : flow_end(f.flow, "sender"),
      flow_(f),
      arrivals_(f.arrivals),
      given_(given_at_first(f)),
      left_(given_) {
    socket_ = make_socket(f.from.node, f.sender);
    limit(socket_, f.window_kb);
    at(f.start, [this] { start(); });
}

void tcp_sender::start() {
    socket_->SetConnectCallback(calls([this] { connected(); }),
                                calls([this] { fail("the TCP connection could not be opened"); }));
    on_room(socket_, [this] { fill(); });
    socket_->SetCloseCallbacks(nothing(), calls([this] {
                                   fail("TCP gave up the connection after its last retransmission");
                               }));
    socket_->Bind();
    socket_->Connect(end_of(flow_.to, flow_.flow));
    if (flow_.seconds > 0)
        at(flow_.start + connect_for(flow_), [this] {
            if (connected_ || done()) return;
            tell({{"problem", "connect: it takes too long"}});
            close_silently(socket_);
        });
}

void tcp_sender::connected() {
    connected_ = true;
    at(now_s() + 1, [this] { sample(); });
    if (flow_.seconds > 0) at(now_s() + flow_.seconds, [this] { finish(); });
    if (flow_.measured > 0) at(flow_.start + flow_.measured, [this] { mark(); });
    if (arrivals_) arrive(now_s(), 0);
    fill();
}

void tcp_sender::arrive(double began, double after) {
    if (done()) return;
    const std::uint64_t arrived = arrivals_->until(after);
    given_ += arrived;
    left_ += arrived;
    fill();
    const double next = arrivals_->next();
    at(began + next, [this, began, next] { arrive(began, next); });
}

void tcp_sender::fill() {
    if (done()) return;
    write(socket_, left_);
    if (flow_.seconds == 0 && left_ == 0 && socket_->idle()) finish();
}

void tcp_sender::sample() {
    if (done()) return;
    const double ms = socket_->round_trip_ms();
    sum_ms_ += ms;
    longest_ms_ = std::max(longest_ms_, ms);
    ++samples_;
    at(now_s() + 1, [this] { sample(); });
}

void tcp_sender::mark() {
    mark_ = {now_s(), socket_->bytes_acknowledged(), socket_->counts()};
    sum_ms_ = 0;
    samples_ = 0;
}

void tcp_sender::finish() {
    if (done()) return;
    if (samples_ == 0) sum_ms_ = longest_ms_ = socket_->round_trip_ms(), samples_ = 1;
    const auto& c = socket_->counts();
    nlohmann::json found{
        {"began", flow_.start},
        {"congestion_control", flow_.sender},
        {"bytes", given_ - left_},
        {"mss", socket_->segment_size()},
        {"segments_sent", c.segments},
        {"retransmits", c.retransmits},
        {"timeouts", c.timeouts},
        {"spurious_timeouts", c.spurious_timeouts},
        {"fast_retransmits", c.fast_retransmits},
        {"spurious_fast_retransmits", c.spurious_fast_retransmits},
        {"rtt_ms",
         {{"min", socket_->least_round_trip_ms()},
          {"mean", sum_ms_ / samples_},
          {"max", longest_ms_}}},
        {"window_kb", flow_.window_kb},
        {"congestion_window", socket_->congestion_window() / socket_->segment_size()}};
    if (mark_.at != 0)
        found["since"] = sender_since(mark_, socket_->bytes_acknowledged(), c, sum_ms_ / samples_);
    tell(std::move(found));
    if (flow_.seconds > 0)
        socket_->abort();
    else
        close_silently(socket_);
}

tcp_receiver::tcp_receiver(const tcp_flow& f) : flow_end(f.flow, "receiver"), flow_(f) {
    listening_ = listening(f.to, f.flow, f.sender, f.window_kb);
    on_connection(listening_, [this](const Ptr<Socket>& s) { accept(s); });
    if (f.seconds > 0)
        at(f.start + connect_for(f) + 1, [this] {
            if (began_ == 0) finish(now_s());
        });
}

void tcp_receiver::accept(const Ptr<Socket>& socket) {
    began_ = now_s();
    socket->SetRecvCallback(
        ns3::Callback<void, Ptr<Socket>>([this](Ptr<Socket> from) { read(from); }));
    socket->SetCloseCallbacks(
        ns3::Callback<void, Ptr<Socket>>([](Ptr<Socket> from) { from->Close(); }), nothing());
    if (flow_.seconds > 0) at(began_ + flow_.seconds, [this] { finish(began_ + flow_.seconds); });
}

void tcp_receiver::read(const Ptr<Socket>& socket) {
    while (const Ptr<ns3::Packet> p = socket->Recv()) {
        if (done() || p->GetSize() == 0) continue;
        const double now = now_s();
        if (bytes_ == 0) first_ = now, first_bytes_ = p->GetSize();
        bytes_ += p->GetSize();
        const auto second = static_cast<std::size_t>(std::max(0.0, now - flow_.start));
        if (second >= by_second_.size()) by_second_.resize(second + 1);
        by_second_[second] += p->GetSize();
        if (flow_.seconds == 0 && bytes_ >= flow_.bytes) finish(now);
    }
}

void tcp_receiver::finish(double last) {
    tell({{"bytes", bytes_},
          {"first_bytes", first_bytes_},
          {"began", began_},
          {"first", first_},
          {"last", last},
          {"bytes_by_second", by_second_}});
}

// --- files, one after the other ---

session_sender::session_sender(const session_flow& f) : flow_end(f.flow, "sender"), flow_(f) {
    at(f.start, [this] { begin(); });
}

void session_sender::begin() {
    began_ = now_s();
    left_ = flow_.bytes[number_];
    socket_ = make_socket(flow_.from.node, flow_.sender);
    socket_->SetConnectCallback(calls([this] {
                                    connected_ = now_s();
                                    fill();
                                }),
                                calls([this] { fail("the TCP connection could not be opened"); }));
    on_room(socket_, [this] { fill(); });
    socket_->SetCloseCallbacks(nothing(), calls([this] {
                                   fail("TCP gave up the connection after its last retransmission");
                               }));
    // The peer's end came after all that was sent had been acknowledged.
    on_state(socket_, ns3::TcpSocket::TIME_WAIT, [this] { over(); });
    socket_->Bind();
    socket_->Connect(end_of(flow_.to, flow_.flow));
}

void session_sender::fill() {
    if (done() || left_ == 0) return;
    write(socket_, left_);
    if (left_ == 0) socket_->Close();
}

void session_sender::over() {
    const auto& c = socket_->counts();
    sessions_.push_back({{"bytes", flow_.bytes[number_]},
                         {"began", began_},
                         {"connected", connected_},
                         {"retransmits", c.retransmits},
                         {"segments", c.segments},
                         {"timeouts", c.timeouts},
                         {"fast_retransmits", c.fast_retransmits},
                         {"undone", c.spurious_timeouts + c.spurious_fast_retransmits}});
    if (++number_ < flow_.bytes.size())
        begin();
    else
        tell({{"congestion_control", flow_.sender}, {"sessions", std::move(sessions_)}});
}

session_receiver::session_receiver(const session_flow& f)
    : flow_end(f.flow, "receiver"), flow_(f), sessions_(f.bytes.size()) {
    listening_ = listening(f.to, f.flow, f.sender, 0);
    on_connection(listening_, [this](const Ptr<Socket>& s) { accept(s); });
}

void session_receiver::accept(const Ptr<Socket>& socket) {
    struct arrived {
        std::uint64_t bytes = 0, size = 0, parts = 0;
        double last = 0;
        std::vector<double> list;  // time at which each fiftieth of the file had arrived
    };
    const auto a = std::make_shared<arrived>();
    const std::size_t number = accepted_++;
    a->size = flow_.bytes.at(number);
    socket->SetRecvCallback(ns3::Callback<void, Ptr<Socket>>([a](Ptr<Socket> from) {
        while (const Ptr<ns3::Packet> p = from->Recv()) {
            if (p->GetSize() == 0) break;
            a->bytes += p->GetSize();
            a->last = now_s();
            for (; a->parts < parts && a->bytes * parts >= (a->parts + 1) * a->size; ++a->parts)
                a->list.push_back(std::round(a->last * 1e4) * 1e-4);
        }
    }));
    socket->SetCloseCallbacks(
        ns3::Callback<void, Ptr<Socket>>([](Ptr<Socket> from) { from->Close(); }),
        calls([this] { fail("TCP gave up the connection after its last retransmission"); }));
    // The socket is closed once its own FIN is acknowledged.
    on_state(socket, ns3::TcpSocket::CLOSED, [this, a, number] {
        sessions_[number] = {
            {"bytes", a->bytes}, {"last_byte", a->last}, {"closed", now_s()}, {"arrived", a->list}};
        if (++ended_ == sessions_.size()) tell({{"sessions", sessions_}});
    });
}

// --- pages ---

page_client::page_client(const page_flow& f) : flow_end(f.flow, "client"), flow_(f) {
    listening_ = listening(f.server, f.flow, f.sender, 0);
    on_connection(listening_, [this](const Ptr<Socket>& s) { serve(s); });
    at(f.start, [this] { ask(); });
}

// The response when the request is there, and then the end.
void page_client::serve(const Ptr<Socket>& socket) {
    struct state {
        std::uint32_t wanted, left;
    };
    const auto s = std::make_shared<state>(state{flow_.request, flow_.response});
    const auto send = [s](const Ptr<Socket>& to) {
        while (s->wanted == 0 && s->left > 0) {
            const std::uint32_t n = std::min(s->left, to->GetTxAvailable());
            if (n == 0) return;
            s->left -= n;
            to->Send(ns3::Create<ns3::Packet>(n));
            if (s->left == 0) to->Close();
        }
    };
    socket->SetRecvCallback(ns3::Callback<void, Ptr<Socket>>([s, send](Ptr<Socket> from) {
        while (const Ptr<ns3::Packet> p = from->Recv()) {
            if (p->GetSize() == 0) break;
            s->wanted -= std::min(s->wanted, p->GetSize());
        }
        send(from);
    }));
    socket->SetSendCallback(ns3::Callback<void, Ptr<Socket>, std::uint32_t>(
        [send](Ptr<Socket> to, std::uint32_t) { send(to); }));
}

void page_client::ask() {
    bytes_ = 0;
    asked_ = now_s();
    const auto socket = make_socket(flow_.client.node, flow_.sender);
    socket_ = socket;
    socket->SetConnectCallback(
        calls([this] { socket_->Send(ns3::Create<ns3::Packet>(flow_.request)); }),
        calls([this] { over(false); }));
    socket->SetRecvCallback(calls([this] { got(); }));
    socket->SetCloseCallbacks(calls([this] { over(false); }), calls([this] { over(false); }));
    socket->Bind();
    socket->Connect(end_of(flow_.server, flow_.flow));
}

void page_client::got() {
    while (const Ptr<ns3::Packet> p = socket_->Recv()) {
        if (p->GetSize() == 0) break;
        bytes_ += p->GetSize();
    }
    if (bytes_ >= flow_.response) over(true);
}

void page_client::over(bool whole) {
    close_silently(socket_);
    const double now = now_s(), took = now - asked_;
    if (whole) {
        ++pages_;
        sum_s_ += took;
        longest_s_ = std::max(longest_s_, took);
    } else {
        ++broken_;
    }
    if (now + flow_.think < flow_.until) {
        at(now + flow_.think, [this] { ask(); });
        return;
    }
    tell({{"pages", pages_},
          {"broken", broken_},
          {"mean_s", pages_ > 0 ? sum_s_ / pages_ : 0},
          {"longest_s", longest_s_}});
}

// --- speech ---

voip_sender::voip_sender(const voip_flow& f) : flow_end(f.flow, "sender"), flow_(f) {
    socket_ = Socket::CreateSocket(f.from.node, ns3::TypeId::LookupByName("ns3::UdpSocketFactory"));
    socket_->Bind();
    socket_->Connect(end_of(f.to, f.flow));
    at(f.start, [this] { send(); });
}

void voip_sender::send() {
    std::vector<std::uint8_t> bytes(std::max<std::size_t>(flow_.bytes, spoken_bytes));
    const std::int64_t now = ns3::Simulator::Now().GetNanoSeconds();
    const std::int32_t number = sent_;
    std::memcpy(bytes.data(), &now, sizeof now);
    std::memcpy(bytes.data() + sizeof now, &number, sizeof number);
    socket_->Send(ns3::Create<ns3::Packet>(bytes.data(), static_cast<std::uint32_t>(bytes.size())));
    const double next = flow_.start + ++sent_ * flow_.interval;
    if (sent_ < flow_.packets)
        at(next, [this] { send(); });
    else
        tell({{"sent", sent_}});
}

voip_receiver::voip_receiver(const voip_flow& f) : flow_end(f.flow, "receiver") {
    socket_ = Socket::CreateSocket(f.to.node, ns3::TypeId::LookupByName("ns3::UdpSocketFactory"));
    socket_->Bind(end_of(f.to, f.flow));
    socket_->SetRecvCallback(calls([this] { hear(); }));
    at(f.until + flow::drained_s, [this] {
        nlohmann::json found{{"received", received_}};
        if (received_ > 0) found["arrived"] = std::move(arrived_);
        tell(std::move(found));
    });
}

void voip_receiver::hear() {
    while (const Ptr<ns3::Packet> p = socket_->Recv()) {
        std::array<std::uint8_t, spoken_bytes> bytes{};
        p->CopyData(bytes.data(), bytes.size());
        std::int64_t sent = 0;
        std::int32_t number = 0;
        std::memcpy(&sent, bytes.data(), sizeof sent);
        std::memcpy(&number, bytes.data() + sizeof sent, sizeof number);
        const std::int64_t delay = ns3::Simulator::Now().GetNanoSeconds() - sent;
        ++received_;
        arrived_.push_back({number, std::llround(1e-3 * static_cast<double>(delay))});
    }
}

}  // namespace wip::simulator
