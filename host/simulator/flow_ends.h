// SPDX-License-Identifier: GPL-3.0-or-later
// The ends of flows: what sends, what receives, and what each tells of it. Times are seconds of the
// simulation.
#pragma once

#include <ns3/nstime.h>
#include <ns3/socket.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "flow/arrivals.h"
#include "simulator/counting_socket.h"
#include "simulator/traffic.h"

namespace wip::simulator {

class flow_end {
public:
    flow_end(int flow, const char* name) : flow_(flow), name_(name) {}
    virtual ~flow_end() = default;
    flow_end(const flow_end&) = delete;
    flow_end& operator=(const flow_end&) = delete;
    bool done() const { return done_; }
    // The result, one object; if the end has failed it holds "flow" and "failed" only.
    const nlohmann::json& result() const { return result_; }

protected:
    // Reports `found` with the flow's number and end, once.
    void tell(nlohmann::json found);
    void fail(const std::string& why);

private:
    int flow_;
    const char* name_;
    nlohmann::json result_;
    bool done_ = false;
};

// How far a sender was at some time.
struct sender_mark {
    double at = 0;
    std::uint64_t acknowledged = 0;
    sender_counts counts;
};

// From then until now: `since` of the plan's schema.
nlohmann::json sender_since(const sender_mark& then, std::uint64_t acknowledged,
                            const sender_counts& now, double round_trip_ms);

struct tcp_flow {
    int flow = 0;
    place from, to;
    double start = 0;
    double seconds = 0;       // seconds to send from the connection on; 0: `bytes` are sent
    std::uint64_t bytes = 0;  // bytes to send, if `seconds` is 0
    std::string sender;
    int window_kb = 0;    // 0: the default of ns-3
    double measured = 0;  // with `seconds`: time after the start at which counts begin; 0: none
    // with `seconds`: when data arrive that can be sent
    std::optional<flow::packet_arrivals> arrivals;
};

class tcp_sender final : public flow_end {
public:
    explicit tcp_sender(const tcp_flow& f);

private:
    void start();
    void connected();
    void fill();
    // Hands the socket the application's packets of the first `after` seconds since `began`, and
    // schedules itself for the next packet.
    void arrive(double began, double after);
    void sample();
    void mark();
    void finish();
    tcp_flow flow_;
    std::optional<flow::packet_arrivals> arrivals_;
    ns3::Ptr<counting_socket> socket_;
    sender_mark mark_;
    bool connected_ = false;
    // bytes that the application gave so far, and those not written yet
    std::uint64_t given_, left_;
    double sum_ms_ = 0, longest_ms_ = 0;
    int samples_ = 0;
};

class tcp_receiver final : public flow_end {
public:
    explicit tcp_receiver(const tcp_flow& f);

private:
    void accept(const ns3::Ptr<ns3::Socket>& socket);
    void read(const ns3::Ptr<ns3::Socket>& socket);
    void finish(double last);
    tcp_flow flow_;
    ns3::Ptr<ns3::Socket> listening_;
    // first_bytes_: bytes that came with the first packet
    std::uint64_t bytes_ = 0, first_bytes_ = 0;
    double began_ = 0, first_ = 0;
    std::vector<std::uint64_t> by_second_;
};

struct session_flow {
    int flow = 0;
    place from, to;
    double start = 0;
    std::string sender;
    // bytes of each file; each has a connection of its own, one after the other
    std::vector<std::uint64_t> bytes;
};

class session_sender final : public flow_end {
public:
    explicit session_sender(const session_flow& f);

private:
    void begin();
    void fill();
    void over();
    session_flow flow_;
    ns3::Ptr<counting_socket> socket_;
    std::size_t number_ = 0;
    std::uint64_t left_ = 0;
    double began_ = 0, connected_ = 0;
    nlohmann::json sessions_ = nlohmann::json::array();
};

class session_receiver final : public flow_end {
public:
    explicit session_receiver(const session_flow& f);

private:
    void accept(const ns3::Ptr<ns3::Socket>& socket);
    session_flow flow_;
    ns3::Ptr<ns3::Socket> listening_;
    // a connection may begin before the end of the one before has arrived
    std::size_t accepted_ = 0, ended_ = 0;
    std::vector<nlohmann::json> sessions_;
};

struct page_flow {
    int flow = 0;
    place client, server;
    double start = 0, until = 0, think = 0;
    std::uint32_t request = 0, response = 0;
    std::string sender;
};

// Both ends of the flow: the server has no report of its own.
class page_client final : public flow_end {
public:
    explicit page_client(const page_flow& f);

private:
    void ask();
    void got();
    void over(bool whole);
    void serve(const ns3::Ptr<ns3::Socket>& socket);
    page_flow flow_;
    ns3::Ptr<ns3::Socket> listening_, socket_;
    double asked_ = 0, sum_s_ = 0, longest_s_ = 0;
    std::uint32_t bytes_ = 0;
    int pages_ = 0, broken_ = 0;
};

struct voip_flow {
    int flow = 0;
    place from, to;
    double start = 0, until = 0, interval = 0;
    int packets = 0;
    std::uint32_t bytes = 0;
};

class voip_sender final : public flow_end {
public:
    explicit voip_sender(const voip_flow& f);

private:
    void send();
    voip_flow flow_;
    ns3::Ptr<ns3::Socket> socket_;
    int sent_ = 0;
};

class voip_receiver final : public flow_end {
public:
    explicit voip_receiver(const voip_flow& f);

private:
    void hear();
    ns3::Ptr<ns3::Socket> socket_;
    nlohmann::json arrived_ =
        nlohmann::json::array();  // [number, delay in us] of each, in the order of arrival
    int received_ = 0;
};

}  // namespace wip::simulator
