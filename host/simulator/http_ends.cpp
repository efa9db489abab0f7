// SPDX-License-Identifier: GPL-3.0-or-later
#include "simulator/http_ends.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "simulator/senders.h"
#include "simulator/socket_calls.h"

namespace wip::simulator {

using ns3::Ptr;
using ns3::Socket;

// --- the server ---

struct http_server::visit {
    Ptr<counting_socket> socket;
    std::vector<std::uint8_t> request;  // the part of the request that has arrived
    std::uint64_t left = 0;             // bytes of responses still to be sent
};

http_server::http_server(const http_flow& f) : flow_end(f.planned.number, "server"), flow_(f) {
    listening_ =
        listening(f.server, f.planned.number, f.planned.congestion_control, f.planned.buffer_kb);
    on_connection(listening_, [this](const Ptr<Socket>& s) { accept(s); });
    if (f.planned.measured_from_s > 0) at(f.start + f.planned.measured_from_s, [this] { mark(); });
    at(f.start + f.planned.seconds, [this] { finish(); });
}

http_server::~http_server() = default;

void http_server::accept(const Ptr<Socket>& socket) {
    auto& v = *visits_.emplace_back(std::make_unique<visit>());
    v.socket = ns3::DynamicCast<counting_socket>(socket);
    socket->SetRecvCallback(calls([this, &v] { read(v); }));
    on_room(socket, [this, &v] { fill(v); });
    socket->SetCloseCallbacks(calls([&v] { v.socket->Close(); }), nothing());
}

void http_server::read(visit& v) {
    const Ptr<Socket> from = v.socket;
    while (const Ptr<ns3::Packet> p = from->Recv()) {
        if (p->GetSize() == 0) break;
        const std::size_t before = v.request.size();
        v.request.resize(before + p->GetSize());
        p->CopyData(v.request.data() + before, p->GetSize());
        for (; v.request.size() >= flow_.planned.request_bytes; v.request.erase(
                 v.request.begin(),
                 v.request.begin() + static_cast<std::ptrdiff_t>(flow_.planned.request_bytes))) {
            std::uint64_t size = 0;
            std::memcpy(&size, v.request.data(), sizeof size);
            v.left += size;
            written_ += size;
        }
    }
    fill(v);
}

void http_server::fill(visit& v) {
    if (!done()) write(v.socket, v.left);
}

sender_counts http_server::counts() const {
    sender_counts sum;
    for (const auto& v : visits_) sum.add(v->socket->counts());
    return sum;
}

std::uint64_t http_server::acknowledged() const {
    std::uint64_t sum = 0;
    for (const auto& v : visits_) sum += v->socket->bytes_acknowledged();
    return sum;
}

void http_server::mark() { mark_ = {now_s(), acknowledged(), counts()}; }

void http_server::finish() {
    double sum_ms = 0;
    std::uint64_t not_written = 0;
    for (const auto& v : visits_) {
        sum_ms += v->socket->round_trip_ms();
        not_written += v->left;
    }
    nlohmann::json found{{"began", flow_.start},
                         {"bytes", written_ - not_written},
                         {"visits", visits_.size()},
                         {"congestion_control", flow_.planned.congestion_control}};
    if (mark_.at != 0)
        found["since"] =
            sender_since(mark_, acknowledged(), counts(),
                         visits_.empty() ? 0 : sum_ms / static_cast<double>(visits_.size()));
    tell(std::move(found));
    for (const auto& v : visits_) {
        v->socket->SetRecvCallback(nothing());
        v->socket->SetCloseCallbacks(nothing(), nothing());
        on_room(v->socket, [] {});
        if (!v->socket->over()) v->socket->abort();
    }
}

// --- the user ---

http_user::http_user(const http_flow& f)
    : flow_end(f.planned.number, "client"), flow_(f), pages_(flow_.planned) {
    at(f.start, [this] { pause(); });
    at(f.start + f.planned.seconds, [this] { finish(); });
}

void http_user::pause() {
    page_ = pages_.next();
    at(now_s() + page_.pause_s, [this] { begin(); });
}

void http_user::begin() {
    if (done()) return;
    asked_ = now_s();
    requested_ = left_ = 0;
    if (page_.first) leave();
    if (socket_ != nullptr) {
        ask(0);
        return;
    }
    socket_ = make_socket(flow_.user.node, flow_.planned.congestion_control);
    limit(socket_, flow_.planned.buffer_kb);
    socket_->SetConnectCallback(calls([this] {
                                    ++visits_;
                                    ask(0);
                                }),
                                calls([this] { over(false); }));
    socket_->SetRecvCallback(
        ns3::Callback<void, Ptr<Socket>>([this](Ptr<Socket> from) { read(from); }));
    socket_->SetCloseCallbacks(calls([this] { over(false); }), calls([this] { over(false); }));
    socket_->Bind();
    socket_->Connect(end_of(flow_.server, flow_.planned.number));
}

void http_user::ask(std::size_t object) {
    const auto& wanted = page_.objects[object];
    const auto send = [this, object, page = number_, bytes = wanted.bytes] {
        if (done() || page != number_) return;
        std::vector<std::uint8_t> request(flow_.planned.request_bytes);
        std::memcpy(request.data(), &bytes, sizeof bytes);
        left_ += bytes;
        ++requested_;
        socket_->Send(
            ns3::Create<ns3::Packet>(request.data(), static_cast<std::uint32_t>(request.size())));
        if (object + 1 < page_.objects.size()) ask(object + 1);
    };
    at(now_s() + wanted.after_s, send);
}

void http_user::read(const Ptr<Socket>& from) {
    while (const Ptr<ns3::Packet> p = from->Recv()) {
        if (p->GetSize() == 0) break;
        bytes_ += p->GetSize();
        left_ -= std::min<std::uint64_t>(left_, p->GetSize());
    }
    if (requested_ == page_.objects.size() && left_ == 0) over(true);
}

void http_user::over(bool whole) {
    if (done()) return;
    ++number_;
    if (whole) {
        const double took = now_s() - asked_;
        ++done_pages_;
        objects_ += page_.objects.size();
        sum_s_ += took;
        longest_s_ = std::max(longest_s_, took);
        requested_ = 0;
    } else {
        ++broken_;
        leave();
    }
    pause();
}

void http_user::leave() {
    if (socket_ != nullptr) close_silently(socket_);
    socket_ = nullptr;
}

void http_user::finish() {
    tell({{"visits", visits_},
          {"pages", done_pages_},
          {"objects", objects_},
          {"bytes", bytes_},
          {"broken", broken_},
          {"mean_s", done_pages_ > 0 ? sum_s_ / done_pages_ : 0},
          {"longest_s", longest_s_}});
    leave();
}

}  // namespace wip::simulator
