// SPDX-License-Identifier: GPL-3.0-or-later
#include "slot_link.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace wip {

namespace {

constexpr std::chrono::milliseconds slice{50};
constexpr int largest_message = 1 << 20;
constexpr std::uint32_t version = openwip::slot_link::VERSION_CURRENT;
const char* const monitor_address = "inproc://slot-link-monitor";

void check_range(const char* key, double value, double low, double high) {
    if (!(value >= low && value <= high))
        throw std::invalid_argument(std::string(key) + ": " + std::to_string(value) +
                                    " s is outside " + std::to_string(low) + " .. " +
                                    std::to_string(high));
}

}  // namespace

slot_link::slot_link(const slot_link_config& config)
    : config_(config),
      socket_(context_, zmq::socket_type::pair),
      monitor_(context_, zmq::socket_type::pair) {
    check_range("timeout_s", config.silence_s, 0.1, 60);
    check_range("connect_s", config.connect_s, 0.1, 600);
    const int silence_ms = static_cast<int>(config.silence_s * 1000);
    socket_.set(zmq::sockopt::linger, 100);
    socket_.set(zmq::sockopt::reconnect_ivl, 20);
    socket_.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(largest_message));
    socket_.set(zmq::sockopt::heartbeat_ivl, std::max(silence_ms / 4, 25));
    socket_.set(zmq::sockopt::heartbeat_timeout, silence_ms);
    if (zmq_socket_monitor(socket_.handle(), monitor_address,
                           ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED) != 0)
        throw zmq::error_t();
    monitor_.connect(monitor_address);
    try {
        socket_.connect(config.endpoint);
    } catch (const zmq::error_t& e) {
        throw std::invalid_argument(
            "endpoint: '" + config.endpoint + "': " + e.what() +
            "; valid is a ZeroMQ address such as ipc:///run/cell/base.slot");
    }
    deadline_ = clock::now() + std::chrono::milliseconds(static_cast<int>(config.connect_s * 1000));
    auto* hello = out_.mutable_hello();
    hello->set_version(version);
    hello->set_role(config.role);
    send(out_, nullptr);
}

const openwip::slot_link::SlotPlan* slot_link::exchange(
    const openwip::slot_link::SlotRequest& request, const cancelled_fn& cancelled) {
    if (!requested_ || requested_air_ != request.air()) {
        *out_.mutable_request() = request;
        requested_ = true;
        planned_ = false;
        requested_air_ = request.air();
        if (!send(out_, cancelled)) {
            requested_ = false;
            return nullptr;
        }
    }
    for (;;) {
        while (!planned_ && !ended() && receive_one()) {
        }
        if (planned_) {
            requested_ = planned_ = false;
            return &in_.plan();
        }
        watch_connection();
        if (ended() || (cancelled && cancelled())) return nullptr;
        zmq::pollitem_t items[] = {{socket_.handle(), 0, ZMQ_POLLIN, 0},
                                   {monitor_.handle(), 0, ZMQ_POLLIN, 0}};
        zmq::poll(items, 2, slice);
    }
}

openwip::slot_link::SlotReport& slot_link::report() {
    auto* r = report_.mutable_report();
    r->Clear();
    return *r;
}

bool slot_link::send_report(const cancelled_fn& cancelled) { return send(report_, cancelled); }

void slot_link::poll() {
    while (!planned_ && !ended() && receive_one()) {
    }
    if (!ended()) watch_connection();
}

bool slot_link::send(const openwip::slot_link::ToMacd& message, const cancelled_fn& cancelled) {
    if (ended()) return false;
    const std::size_t size = message.ByteSizeLong();
    zmq::message_t raw(size);
    message.SerializeWithCachedSizesToArray(static_cast<std::uint8_t*>(raw.data()));
    for (;;) {
        if (socket_.send(raw, zmq::send_flags::dontwait)) return true;
        poll();
        if (ended() || (cancelled && cancelled())) return false;
        zmq::pollitem_t items[] = {{socket_.handle(), 0, ZMQ_POLLOUT, 0},
                                   {monitor_.handle(), 0, ZMQ_POLLIN, 0}};
        zmq::poll(items, 2, slice);
    }
}

// Callers stop reading once planned_ is set: in_ holds the plan until exchange() hands it out.
bool slot_link::receive_one() {
    if (!socket_.recv(raw_, zmq::recv_flags::dontwait)) return false;
    if (!in_.ParseFromArray(raw_.data(), static_cast<int>(raw_.size())) || raw_.more()) {
        ++malformed_;
        return true;
    }
    switch (in_.what_case()) {
        case openwip::slot_link::ToFlowgraph::kHello:
            if (in_.hello().version() != version)
                end("macd at " + config_.endpoint + " speaks slot link version " +
                    std::to_string(in_.hello().version()) + ", this flowgraph " +
                    std::to_string(version));
            break;
        case openwip::slot_link::ToFlowgraph::kPlan:
            if (requested_ && in_.plan().air() == requested_air_)
                planned_ = true;
            else
                ++unexpected_;
            break;
        case openwip::slot_link::ToFlowgraph::kReceiver:
            settings_ = in_.receiver();  // macd says all that was ever changed
            settings_came_ = true;
            break;
        case openwip::slot_link::ToFlowgraph::kStop:
            end("macd asks to stop: " + (in_.stop().empty() ? "no reason given" : in_.stop()));
            break;
        case openwip::slot_link::ToFlowgraph::kDetail:
            detail_every_ = in_.detail().every();
            break;
        default:
            ++malformed_;
    }
    return true;
}

// The monitor's messages have two parts: event number (16 bits) and value, then an address.
void slot_link::watch_connection() {
    zmq::message_t event, address;
    while (monitor_.recv(event, zmq::recv_flags::dontwait)) {
        if (event.more()) (void)monitor_.recv(address, zmq::recv_flags::none);
        std::uint16_t number = 0;
        if (event.size() >= sizeof number) std::memcpy(&number, event.data(), sizeof number);
        if (number == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) connected_ = true;
        if (number == ZMQ_EVENT_DISCONNECTED && connected_) {
            while (!planned_ && !ended() && receive_one()) {  // its last words first
            }
            end("macd at " + config_.endpoint + " went away");
        }
    }
    if (!connected_ && clock::now() > deadline_)
        end("no macd at " + config_.endpoint + " within " +
            std::to_string(static_cast<int>(config_.connect_s)) + " s");
}

void slot_link::end(std::string reason) {
    if (end_reason_.empty()) end_reason_ = std::move(reason);
}

}  // namespace wip
