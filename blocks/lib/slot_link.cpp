// SPDX-License-Identifier: GPL-3.0-or-later
#include "slot_link.h"

#include <poll.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "schema/kept_message.h"
#include "types/require.h"

namespace wip {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds longest_sleep{50};
constexpr std::chrono::milliseconds retry_period{1};
constexpr std::uint32_t version = openwip::slot_link::VERSION_CURRENT;

std::chrono::milliseconds milliseconds_of(double seconds) {
    return std::chrono::milliseconds(static_cast<int>(seconds * 1000));
}

}  // namespace

slot_link::slot_link(const slot_link_config& config) : config_(config) {
    check_range("timeout_s", config.silence_s, 0.1, 60);
    check_range("connect_s", config.connect_s, 0.1, 600);
    try {
        link_ = peer::make_link({.endpoint = config.endpoint,
                                 .which = peer::end::connect,
                                 .name = "slot_link",
                                 .silence = milliseconds_of(config.silence_s)});
    } catch (const std::exception& e) {
        throw std::invalid_argument(
            "endpoint is '" + config.endpoint + "': " + e.what() +
            "; valid: an address such as shm:///run/cell/base.slot (this machine) or a ZeroMQ "
            "address such as ipc:///run/cell/base.slot");
    }
    deadline_ = clock::now() + milliseconds_of(config.connect_s);
    greet();
}

// Sends the hello message, as soon as the connection takes it.
void slot_link::greet() {
    if (greeted_) return;
    auto* hello = out_.mutable_hello();
    hello->set_version(version);
    hello->set_role(config_.role);
    raw_.resize(out_.ByteSizeLong());
    out_.SerializeWithCachedSizesToArray(raw_.data());
    greeted_ = link_->send(raw_);
}

const openwip::slot_link::SlotPlan* slot_link::exchange(
    const openwip::slot_link::SlotRequest& request, const cancelled_fn& cancelled,
    clock::time_point deadline) {
    const bool waits = deadline == clock::time_point::max();
    if (!requested_ || requested_air_ != request.air()) {
        request_message_.mutable_request()->CopyFrom(request);
        requested_ = true;
        planned_ = false;
        requested_air_ = request.air();
        // macd expects the request for the slot after the last one, so it need not be woken for it.
        const bool can_wait = waits && planned_any_ && request.air() == last_planned_ + 1;
        if (!send(request_message_, cancelled, can_wait)) {
            requested_ = false;
            return nullptr;
        }
    }
    for (;;) {
        while (!planned_ && !ended() && receive_one()) {
        }
        if (planned_) {
            requested_ = planned_ = false;
            planned_any_ = true;
            last_planned_ = requested_air_;
            return &in_.plan();
        }
        if (ended() || (cancelled && cancelled())) return nullptr;
        if (!waits && clock::now() >= deadline) {
            requested_ = false;
            abandoned_ = requested_air_;
            return nullptr;
        }
        sleep(deadline);
    }
}

// Sleeps until a message or an event of the connection comes, for a slice at most.
void slot_link::sleep(clock::time_point until) {
    const bool sleeps = link_->rest();  // false: a message has come meanwhile
    pollfd items[] = {{link_->message_fd(), POLLIN, 0}, {link_->connection_fd(), POLLIN, 0}};
    std::chrono::nanoseconds patience = sleeps ? longest_sleep : 0ms;
    patience = std::clamp<std::chrono::nanoseconds>(until - clock::now(), 0ns, patience);
    const timespec wait{0, patience.count()};
    const int ready = ::ppoll(items, 2, &wait, nullptr);
    link_->rise(items[0].revents != 0);
    if (items[1].revents != 0 || (ready == 0 && sleeps)) watch_connection(clock::now());
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
    const auto now = clock::now();
    if (!ended() && (!was_connected_ || now - last_watch_ >= longest_sleep)) watch_connection(now);
}

bool slot_link::send(const openwip::slot_link::ToMacd& message, const cancelled_fn& cancelled,
                     bool can_wait) {
    if (ended()) return false;
    for (;;) {
        greet();
        raw_.resize(message.ByteSizeLong());
        message.SerializeWithCachedSizesToArray(raw_.data());
        if (greeted_ && link_->send(raw_, can_wait)) return true;
        // There is no partner, or the queue is full, which has no descriptor to wait on.
        while (!planned_ && !ended() && receive_one()) {
        }
        watch_connection(clock::now());
        if (ended() || (cancelled && cancelled())) return false;
        std::this_thread::sleep_for(retry_period);
    }
}

// Callers stop reading once planned_ is set: in_ holds the plan until exchange() hands it out.
bool slot_link::receive_one() {
    std::span<const std::uint8_t> in;
    const bool got = link_->receive(in);
    for (; link_->malformed_messages > 0; --link_->malformed_messages) ++malformed_;
    if (!got) return false;
    using message = openwip::slot_link::ToFlowgraph;
    if (!parse_kept(in_, &message::mutable_plan, message::kPlanFieldNumber, in)) {
        ++malformed_;
        return true;
    }
    switch (in_.what_case()) {
        case message::kHello:
            if (in_.hello().version() != version)
                end("macd at " + config_.endpoint + " speaks slot link version " +
                    std::to_string(in_.hello().version()) + ", this flowgraph " +
                    std::to_string(version));
            break;
        case message::kPlan:
            if (requested_ && in_.plan().air() == requested_air_)
                planned_ = true;
            else if (in_.plan().air() > abandoned_)
                ++unexpected_;
            break;
        case message::kReceiver:
            settings_ = in_.receiver();  // macd says all that was ever changed
            settings_came_ = true;
            break;
        case message::kStop:
            end("macd asks to stop: " + (in_.stop().empty() ? "no reason given" : in_.stop()));
            break;
        case message::kDetail:
            detail_every_ = in_.detail().every();
            break;
        default:
            ++malformed_;
    }
    return true;
}

void slot_link::watch_connection(clock::time_point now) {
    last_watch_ = now;
    const bool lost = link_->watch();
    was_connected_ |= link_->connected();
    if (lost) {
        while (!planned_ && !ended() && receive_one()) {  // its last messages first
        }
        end("macd at " + config_.endpoint + " went away");
    }
    if (!was_connected_ && now > deadline_)
        end("no macd at " + config_.endpoint + " within " +
            std::to_string(static_cast<int>(config_.connect_s)) + " s");
    else
        greet();
}

void slot_link::end(std::string reason) {
    if (end_reason_.empty()) end_reason_ = std::move(reason);
}

}  // namespace wip
