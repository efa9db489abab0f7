// SPDX-License-Identifier: GPL-3.0-or-later
// wip_tcpl: a line with residual bit errors between two network interfaces, and the relay for
// damaged TCP segments behind it (docs/explanation/corrupt-delivery.md), in real time: one thread
// that sleeps until the next packet leaves, one comes, or a request does. Start order as in macd:
// configuration, interfaces, sockets, then privileges are given up, and only then anything is read
// from outside.
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <zmq.hpp>

#include "config/number_option.h"
#include "os/monotonic.h"
#include "os/realtime.h"
#include "peer/endpoint.h"
#include "runtime/control_socket.h"
#include "runtime/ending.h"
#include "runtime/poll_set.h"
#include "runtime/privileged_start.h"
#include "runtime/process.h"
#include "runtime/program.h"
#include "station/packet_gate.h"
#include "tcpl/path_status.h"
#include "tcpl/tcpl_config.h"
#include "tcpl/virtual_path.h"
#include "tun/tun_in_namespace.h"

namespace wip::tcpl {
namespace {

using openwip::control::Reply;
using openwip::control::Request;

constexpr int read_batch = 64;  // packets
// Longest sleep, when no packet is on its way. ppoll(2) has no number for a sleep without an end.
constexpr std::int64_t longest_sleep_ns = 1'000'000'000;

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

class tcpl_process {
public:
    // Makes the interfaces and binds the socket. Throws bad_input, also for a namespace that is not
    // there.
    tcpl_process(zmq::context_t& context, const config::settings& s, const tcpl_config& c)
        : effective_yaml(s.to_yaml()),
          control_endpoint(c.control_endpoint),
          path(c.path),
          sender(c.sender, "sender"),
          receiver(c.receiver, "receiver"),
          control(context, c.control_endpoint, "control") {
        path.deliver_to(
            [this](damaged_path::side to, std::span<const std::uint8_t> packet, std::int64_t due) {
                (to == damaged_path::side::sender ? sender : receiver).gate.write(packet);
                latest_ns = std::max(latest_ns, os::monotonic_ns() - due);
            });
    }

    // Paths of the ipc sockets bound here, to hand over to the user that the process becomes.
    std::vector<std::string> bound_paths() const { return {peer::socket_path(control_endpoint)}; }
    // Runs until something ends it; returns the exit code.
    int run(int signal_fd, bool at_realtime) {
        realtime_priority = at_realtime;
        host::poll_set watched;
        const auto from_sender = watched.add(sender.tun.fd()),
                   from_receiver = watched.add(receiver.tun.fd()), signals = watched.add(signal_fd),
                   questions = watched.add(control.socket());
        while (!end.reached()) {
            const std::int64_t now = os::monotonic_ns();
            path.release(now);
            const std::int64_t left =
                std::clamp<std::int64_t>(path.next_due() - now, 0, longest_sleep_ns);
            if (!watched.sleep(std::chrono::nanoseconds(left))) continue;
            if (watched.ready(signals) && end.signalled(signal_fd)) break;
            if (watched.ready(questions)) serve();
            if (watched.ready(from_sender) && !read(sender, true)) break;
            if (watched.ready(from_receiver) && !read(receiver, false)) break;
        }
        return end.code();
    }

private:
    bool read(path_end& from, bool is_sender) {
        const std::int64_t now = os::monotonic_ns();
        const bool alive = from.gate.read_all(
            [&](std::span<const std::uint8_t> packet) {
                if (is_sender)
                    path.from_sender(packet, now);
                else
                    path.from_receiver(packet, now);
            },
            read_batch);
        if (!alive)
            end.set({openwip::stop::GONE, std::string("the interface of the ") +
                                              (is_sender ? "sender" : "receiver") + " is gone"});
        return alive;
    }

    void serve() {
        host::stop_reason stop;
        const auto answer = [&](const Request& request, Reply& reply) {
            if (request.what_case() == Request::kConfigureYaml)
                throw config::error(
                    "configure: nothing changes in a running path; valid: other settings at its "
                    "start");
            if (request.has_reset_counters()) latest_ns = 0;
            if (request.what_case() == Request::kStop) stop = host::reason_of(request);
            fill(*reply.mutable_path());
        };
        while (control.serve(answer) != host::control_socket::result::nothing) {
        }
        if (stop.given()) end.set(stop);
    }

    void fill(openwip::control::PathStatus& status) const {
        tcpl::fill(path, status);
        add_gates(sender, receiver, *status.mutable_forward());
        add_gates(receiver, sender, *status.mutable_back());
        status.set_effective_yaml(effective_yaml);
        status.set_late_max_ms(static_cast<double>(latest_ns) * 1e-6);
        status.set_realtime_priority(realtime_priority);
    }

    std::string effective_yaml, control_endpoint;
    damaged_path path;
    path_end sender, receiver;
    host::control_socket control;
    std::int64_t latest_ns = 0;
    bool realtime_priority = false;
    host::ending end{"tcpl"};
};

int run(config::settings& settings, const virtual_time::run_config& kernel) {
    const tcpl_config config = translate(settings);
    const bool in_virtual_time = !kernel.kernel.empty();
    // Virtual time needs no rights, so a user other than root is kept.
    const bool stays = in_virtual_time && ::geteuid() != 0;
    const host::privileged_start start(settings, stays ? std::string() : config.user);
    if (in_virtual_time) {
        start.give_up({});
        virtual_time::end_with_parent();
        run_virtual(config, kernel, std::cout);
        return 0;
    }
    zmq::context_t context(1);
    tcpl_process process(context, settings, config);
    const bool realtime = os::use_realtime();
    start.give_up(process.bound_paths());
    spdlog::info("the path is up, {} priority; effective configuration:\n{}",
                 realtime ? "real-time" : "normal", settings.to_yaml());
    return host::run_to_its_end([&] { return process.run(start.signals(), realtime); });
}

}  // namespace
}  // namespace wip::tcpl

int main(int argc, char** argv) {
    using namespace wip;
    using namespace wip::tcpl;
    virtual_time::run_config kernel;
    return host::run_program(
        {"wip_tcpl", "OpenWIP: a line with bit errors, and TCP that takes damaged segments",
         &tcpl_keys(), [](config::settings& s) { translate(s); },
         [&](config::settings& s) { return run(s, kernel); },
         [&](CLI::App& app) {
             auto* with = app.add_option("--kernel", kernel.kernel,
                                         "virtual time with this User Mode Linux, JSON on standard "
                                         "output");
             app.add_option("--folder", kernel.folder, "its root file system, with its plan")
                 ->needs(with);
             with->needs("--folder");
             app.add_option("--longest", kernel.longest_s,
                            "when a run that does not end is given up")
                 ->needs(with)
                 ->transform(config::number_in(0.0, 1e6));
         }},
        argc, argv);
}
