// SPDX-License-Identifier: GPL-3.0-or-later
// A user who looks at pages of a web server (http of the plan): what host/flow/http.cpp does with
// Linux's sockets.
#pragma once

#include <memory>

#include "flow/arrivals.h"
#include "simulator/flow_ends.h"

namespace wip::simulator {

struct http_flow {
    flow::flow planned;
    place user, server;
    double start = 0;
};

class http_server final : public flow_end {
public:
    explicit http_server(const http_flow& f);
    ~http_server() override;

private:
    struct visit;

    void accept(const ns3::Ptr<ns3::Socket>& socket);
    void read(visit& v);
    void fill(visit& v);
    void mark();
    void finish();
    sender_counts counts() const;
    std::uint64_t acknowledged() const;

    http_flow flow_;
    ns3::Ptr<ns3::Socket> listening_;
    std::vector<std::unique_ptr<visit>> visits_;
    std::uint64_t written_ = 0;
    sender_mark mark_;
};

class http_user final : public flow_end {
public:
    explicit http_user(const http_flow& f);

private:
    void pause();
    void begin();
    void ask(std::size_t object);
    void read(const ns3::Ptr<ns3::Socket>& from);
    void over(bool whole);
    void leave();
    void finish();

    http_flow flow_;
    flow::page_arrivals pages_;
    flow::page_arrivals::page page_;
    ns3::Ptr<ns3::Socket> socket_;
    double asked_ = 0, sum_s_ = 0, longest_s_ = 0;
    std::uint64_t left_ = 0, bytes_ = 0, objects_ = 0;
    std::size_t requested_ = 0;  // objects of this page that were requested
    int visits_ = 0, done_pages_ = 0, broken_ = 0, number_ = 0;
};

}  // namespace wip::simulator
