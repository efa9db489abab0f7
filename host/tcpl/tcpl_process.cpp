// SPDX-License-Identifier: GPL-3.0-or-later
#include "tcpl/tcpl_process.h"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <time.h>

#include "peer/endpoint.h"
#include "runtime/control_socket.h"
#include "runtime/monotonic.h"
#include "runtime/process.h"
#include "station/packet_gate.h"
#include "tcpl/path_status.h"
#include "tun/tun_in_namespace.h"

namespace wip::tcpl {
namespace {

using openwip::control::Reply;
using openwip::control::Request;

constexpr int read_batch = 64;
// Between two looks at the signals' reasons and the control socket when nothing else happens.
constexpr std::int64_t longest_sleep_ns = 50'000'000;

struct path_end {
    path_end(const end_config& c, const std::string& group)
        : tun(make_tun_in(c.network_namespace, c.tun, group + ".namespace")), gate(tun) {
        if (!tun.warning().empty()) spdlog::warn("{}: {}", group, tun.warning());
    }
    tun_device tun;
    host::packet_gate gate;
};

void add_gates(const path_end& from, const path_end& to, openwip::control::Direction& out) {
    host::set(*out.mutable_delivered(), to.gate.delivered());
    from.gate.add_input(out);
    to.gate.add_write_errors(out);
}

}  // namespace

struct tcpl_process::state {
    state(zmq::context_t& context, const config::settings& s, const tcpl_config& c)
        : effective_yaml(s.to_yaml()),
          control_endpoint(c.control_endpoint),
          path(c.path),
          sender(c.sender, "sender"),
          receiver(c.receiver, "receiver"),
          control(context, c.control_endpoint, "control") {
        path.deliver_to(
            [this](damaged_path::side to, std::span<const std::uint8_t> packet, std::int64_t due) {
                (to == damaged_path::side::sender ? sender : receiver).gate.write(packet);
                latest_ns = std::max(latest_ns, runtime::monotonic_ns() - due);
            });
    }

    bool read(path_end& end, bool is_sender);
    void serve();
    void fill(openwip::control::PathStatus& status) const;
    void end(int code, const std::string& why);

    std::string effective_yaml, control_endpoint;
    damaged_path path;
    path_end sender, receiver;
    host::control_socket control;
    std::int64_t latest_ns = 0;
    bool realtime_priority = false;
    bool ended = false;
    int exit_code = 0;
};

tcpl_process::tcpl_process(zmq::context_t& context, const config::settings& settings,
                           const tcpl_config& config)
    : state_(std::make_unique<state>(context, settings, config)) {}
tcpl_process::~tcpl_process() = default;

std::vector<std::string> tcpl_process::bound_paths() const {
    return {peer::socket_path(state_->control_endpoint)};
}

int tcpl_process::run(int signal_fd, bool realtime_priority) {
    auto& s = *state_;
    s.realtime_priority = realtime_priority;
    pollfd watched[4]{{s.sender.tun.fd(), POLLIN, 0},
                      {s.receiver.tun.fd(), POLLIN, 0},
                      {signal_fd, POLLIN, 0},
                      {s.control.socket().get(zmq::sockopt::fd), POLLIN, 0}};
    while (!s.ended) {
        const std::int64_t now = runtime::monotonic_ns();
        s.path.release(now);
        s.serve();
        const std::int64_t left =
            std::clamp<std::int64_t>(s.path.next_due() - now, 0, longest_sleep_ns);
        const timespec timeout{0, left};
        if (s.ended || ::ppoll(watched, 4, &timeout, nullptr) <= 0) continue;
        if (watched[2].revents != 0) {
            if (const auto signal = host::take_signal(signal_fd)) {
                const std::string why = host::reason_to_stop();
                s.end(host::exit_code_of(why), *signal + ": " + why);
                break;
            }
        }
        if (watched[0].revents != 0 && !s.read(s.sender, true)) break;
        if (watched[1].revents != 0 && !s.read(s.receiver, false)) break;
    }
    return s.exit_code;
}

bool tcpl_process::state::read(path_end& from, bool is_sender) {
    const std::int64_t now = runtime::monotonic_ns();
    const bool alive = from.gate.read_all(
        [&](std::span<const std::uint8_t> packet) {
            if (is_sender)
                path.from_sender(packet, now);
            else
                path.from_receiver(packet, now);
        },
        read_batch);
    if (!alive)
        end(host::exit_peer_lost, std::string("the interface of the ") +
                                      (is_sender ? "sender" : "receiver") + " is gone");
    return alive;
}

void tcpl_process::state::serve() {
    std::string stop_why;
    const auto answer = [&](const Request& request, Reply& reply) {
        if (request.has_configure_yaml())
            throw config::error("configure: nothing here changes in a running path");
        if (request.has_reset_counters()) latest_ns = 0;
        if (request.has_stop())
            stop_why = request.stop().empty() ? "asked to stop" : request.stop();
        fill(*reply.mutable_path());
    };
    while (control.serve(answer) != host::control_socket::result::nothing) {
    }
    if (!stop_why.empty()) end(host::exit_code_of(stop_why), stop_why);
}

void tcpl_process::state::fill(openwip::control::PathStatus& status) const {
    tcpl::fill(path, status);
    add_gates(sender, receiver, *status.mutable_forward());
    add_gates(receiver, sender, *status.mutable_back());
    status.set_effective_yaml(effective_yaml);
    status.set_late_max_ms(static_cast<double>(latest_ns) * 1e-6);
    status.set_realtime_priority(realtime_priority);
}

void tcpl_process::state::end(int code, const std::string& why) {
    if (ended) return;
    ended = true;
    exit_code = code;
    if (code == host::exit_asked)
        spdlog::info("tcpl: ends: {}", why);
    else
        spdlog::error("tcpl: ends: {}", why);
}

}  // namespace wip::tcpl
