// SPDX-License-Identifier: GPL-3.0-or-later
#include "medium/control_server.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <zmq.hpp>

#include "schema/control.pb.h"
#include "types/failure.h"
#include "types/grid.h"

namespace wip::air {
namespace {

using openwip::control::Reply;
using openwip::control::Request;

constexpr std::chrono::milliseconds fader_patience{100};

std::string refusal(const std::string& why, const std::function<void(const std::string&)>& log) {
    log("control: " + why);
    openwip::control::Reply reply;
    reply.set_ok(false);
    reply.set_error(why);
    return reply.SerializeAsString();
}

// What the fader counts, and its channel instead of none. The medium has counted what happened at
// the fader's radios with that of its other nodes.
void add_fader(const openwip::control::AirStatus& fader, openwip::control::AirStatus& a) {
    *a.mutable_fader_radios() = fader.fader_radios();
    a.set_delay_samples(fader.delay_samples());
    a.set_lost_samples(fader.lost_samples());
    a.set_clipped(fader.clipped());
    a.set_least_lead_us(fader.least_lead_us());
    *a.mutable_fader_nodes() = fader.fader_nodes();
    *a.mutable_fader_paths() = fader.fader_paths();
    *a.mutable_soundings() = fader.soundings();
    *a.mutable_bursts() = fader.bursts();
    const std::string& yaml = fader.effective_yaml();
    const std::size_t channels = std::min(yaml.find("\nchannel:"), yaml.find("\npaths:"));
    if (channels != std::string::npos) *a.mutable_effective_yaml() += yaml.substr(channels + 1);
    *a.mutable_changes() = fader.changes();
    a.set_changes_made(fader.changes_made());
}

}  // namespace

std::string answer(const std::string& message, const controlled& air, channel_control& channel,
                   changes_made& made, const std::function<void(const std::string&)>& log,
                   const std::function<void(const std::string&)>& on_stop, asked_process* fader) {
    Request request;
    Reply reply;
    const auto now = [&air] {
        openwip::control::AirStatus s;
        air.fill(s);
        return s.now();
    };
    const auto refuse = [&log](const std::string& why) { return refusal(why, log); };
    if (!request.ParseFromString(message))
        return refuse("dropped a message of " + std::to_string(message.size()) +
                      " bytes that is no Request");
    reply.set_ok(true);
    std::optional<Reply> of_fader;
    if (fader && request.what_case() != Request::kStop) of_fader = fader->ask(request);
    if (of_fader && !of_fader->ok()) return refuse(of_fader->error());
    switch (request.what_case()) {
        case Request::kStatus:
            break;
        case Request::kResetCounters:
            air.reset_counters();
            break;
        case Request::kStop:
            on_stop(request.stop());
            break;
        case Request::kConfigureYaml:
            if (fader && !of_fader)
                return refuse("what has the channel does not answer; nothing changed");
            if (of_fader) {
                reply.set_effective_slot(of_fader->effective_slot());
                break;
            }
            try {
                const auto from = channel.configure(request.configure_yaml(), now());
                if (!from) break;
                const std::int64_t slot = *from / slot_samples;
                reply.set_effective_slot(slot);
                for (const auto& c : channel.last_changes()) {
                    log(c.key + " = " + c.to + " from slot " + std::to_string(slot));
                    made.add(slot, c);
                }
            } catch (const std::exception& e) {
                return refuse(e.what());
            }
            break;
        default:
            return refuse("dropped an empty Request");
    }
    auto& a = *reply.mutable_air();
    air.fill(a);
    a.set_effective_yaml(channel.settings(a.now()));
    for (const auto& c : made.last) *a.add_changes() = c;
    a.set_changes_made(made.count);
    if (of_fader) add_fader(of_fader->air(), a);
    return reply.SerializeAsString();
}

struct asked_process::state {
    zmq::context_t context{1};
    zmq::socket_t socket{context, zmq::socket_type::req};
};

asked_process::asked_process(const std::string& endpoint, std::chrono::milliseconds patience)
    : state_(std::make_unique<state>()) {
    zmq::socket_t& s = state_->socket;
    s.set(zmq::sockopt::linger, 0);
    s.set(zmq::sockopt::req_relaxed, 1);    // after no answer it may ask again,
    s.set(zmq::sockopt::req_correlate, 1);  // and the late one is not taken for the next
    s.set(zmq::sockopt::rcvtimeo, static_cast<int>(patience.count()));
    s.set(zmq::sockopt::sndtimeo, static_cast<int>(patience.count()));
    s.connect(endpoint);
}
asked_process::~asked_process() = default;

std::optional<Reply> asked_process::ask(const Request& request) {
    zmq::message_t in;
    Reply reply;
    if (!state_->socket.send(zmq::buffer(request.SerializeAsString()), zmq::send_flags::none) ||
        !state_->socket.recv(in) || !reply.ParseFromArray(in.data(), static_cast<int>(in.size())))
        return std::nullopt;
    return reply;
}

void changes_made::add(std::int64_t slot, const channel_control::changed& c) {
    if (last.size() == most) last.pop_front();
    auto& out = last.emplace_back();
    out.set_slot(slot);
    out.set_key(c.key);
    out.set_from(c.from);
    out.set_to(c.to);
    ++count;
}

struct control_server::state {
    zmq::context_t context{1};
    zmq::socket_t socket{context, zmq::socket_type::rep};
    std::atomic<bool> stop{false};
    std::thread thread;
};

control_server::control_server(controlled air, std::function<void(const std::string&)> log,
                               std::function<void(const std::string&)> on_stop)
    : state_(std::make_unique<state>()) {
    sigset_t all, before;  // signals are for the main thread
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    try {
        state_->socket.set(zmq::sockopt::linger, 0);
        state_->socket.set(zmq::sockopt::maxmsgsize, std::int64_t{1} << 20);
        state_->socket.bind(air.endpoint);
    } catch (const zmq::error_t& e) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw bad_input("control endpoint " + air.endpoint + ": " + e.what());
    }
    state* s = state_.get();
    s->thread =
        std::thread([s, air = std::move(air), log = std::move(log), on_stop = std::move(on_stop)] {
            channel_control channel(air.mix, air.head, air.change, !air.fader.empty());
            std::optional<asked_process> fader;
            if (!air.fader.empty()) fader.emplace(air.fader, fader_patience);
            changes_made made;
            while (!s->stop) {
                zmq::pollitem_t item{s->socket.handle(), 0, ZMQ_POLLIN, 0};
                try {
                    if (zmq::poll(&item, 1, std::chrono::milliseconds(100)) == 0) continue;
                    zmq::message_t in;
                    if (!s->socket.recv(in)) continue;
                    std::string all_parts = in.to_string();
                    while (in.more() && s->socket.recv(in)) all_parts += in.to_string();
                    std::string out;
                    try {
                        out = answer(all_parts, air, channel, made, log, on_stop,
                                     fader ? &*fader : nullptr);
                    } catch (const std::exception& e) {  // whatever is asked is answered
                        out = refusal(e.what(), log);
                    }
                    s->socket.send(zmq::buffer(out), zmq::send_flags::none);
                } catch (const std::exception& e) {  // ZeroMQ's own; the medium goes on
                    log(std::string("control: ") + e.what());
                }
            }
        });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

control_server::~control_server() {
    state_->stop = true;
    state_->thread.join();
}

}  // namespace wip::air
