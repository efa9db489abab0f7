// SPDX-License-Identifier: GPL-3.0-or-later
#include "medium/control_server.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <zmq.hpp>

#include "runtime/control_socket.h"
#include "runtime/setting_changes.h"
#include "schema/control.pb.h"
#include "types/failure.h"
#include "types/grid.h"

namespace wip::air {
namespace {

using openwip::control::Reply;
using openwip::control::Request;

constexpr std::chrono::milliseconds fader_patience{100};

// Adds the counts of the fader, and its channel in place of none. The medium has counted the events
// at the fader's radios with those of its other nodes.
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

struct answering {
    const controlled& air;
    const std::function<void(const std::string&)>& log;
    const std::function<void(const host::stop_reason&)>& on_stop;
    channel_control channel{air.mix, air.head, air.change, !air.fader.empty()};
    host::setting_changes made{};
    std::optional<asked_process> fader{};

    void configure(const std::string& yaml, Reply& reply) {
        openwip::control::AirStatus now;
        air.fill(now);
        const auto from = channel.configure(yaml, now.now());
        if (!from) return;
        const std::int64_t slot = *from / slot_samples;
        reply.set_effective_slot(slot);
        for (const auto& c : channel.last_changes()) {
            log(c.key + " = " + c.to + " from slot " + std::to_string(slot));
            made.add(slot, c.key, c.from, c.to);
        }
    }

    void answer(const Request& request, Reply& reply) {
        std::optional<Reply> of_fader;
        if (fader && request.what_case() != Request::kStop) of_fader = fader->ask(request);
        if (of_fader && !of_fader->ok()) throw bad_input(of_fader->error());
        if (request.has_reset_counters()) air.reset_counters();
        if (request.what_case() == Request::kStop) on_stop(host::reason_of(request));
        if (request.what_case() == Request::kConfigureYaml) {
            if (fader && !of_fader)
                throw peer_error(
                    "the fader, which has the channel, does not answer, and nothing changed; "
                    "valid: while it runs");
            if (of_fader)
                reply.set_effective_slot(of_fader->effective_slot());
            else
                configure(request.configure_yaml(), reply);
        }
        auto& a = *reply.mutable_air();
        air.fill(a);
        a.set_effective_yaml(channel.settings(a.now()));
        made.fill(a);
        if (of_fader) add_fader(of_fader->air(), a);
    }
};

}  // namespace

struct asked_process::state {
    zmq::context_t context{1};
    zmq::socket_t socket{context, zmq::socket_type::req};
};

asked_process::asked_process(const std::string& endpoint, std::chrono::milliseconds patience)
    : state_(std::make_unique<state>()) {
    zmq::socket_t& s = state_->socket;
    s.set(zmq::sockopt::linger, 0);
    s.set(zmq::sockopt::req_relaxed, 1);  // a request without an answer may be repeated,
    // and a late answer is not taken for that of the next request
    s.set(zmq::sockopt::req_correlate, 1);
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

struct control_server::state {
    explicit state(const std::string& endpoint) : socket(context, endpoint, "air.control") {}
    zmq::context_t context{1};
    host::control_socket socket;
    std::atomic<bool> stop{false};
    std::thread thread;
};

control_server::control_server(controlled air, std::function<void(const std::string&)> log,
                               std::function<void(const host::stop_reason&)> on_stop)
    : state_(std::make_unique<state>(air.endpoint)) {
    state* s = state_.get();
    sigset_t every, before;  // signals are handled by the main thread
    sigfillset(&every);
    pthread_sigmask(SIG_BLOCK, &every, &before);
    s->thread =
        std::thread([s, air = std::move(air), log = std::move(log), on_stop = std::move(on_stop)] {
            answering all{air, log, on_stop};
            if (!air.fader.empty()) all.fader.emplace(air.fader, fader_patience);
            const auto logged = [&](const Request& request, Reply& reply) {
                try {
                    all.answer(request, reply);
                } catch (const std::exception& e) {
                    log(std::string("control: ") + e.what());
                    throw;
                }
            };
            while (!s->stop) {
                zmq::pollitem_t item{s->socket.socket().handle(), 0, ZMQ_POLLIN, 0};
                try {
                    if (zmq::poll(&item, 1, std::chrono::milliseconds(100)) != 0 &&
                        s->socket.serve(logged) == host::control_socket::result::malformed)
                        log("control: dropped a message that is no Request");
                } catch (const std::exception& e) {  // an error of ZeroMQ; the medium goes on
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
