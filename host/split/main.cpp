// SPDX-License-Identifier: GPL-3.0-or-later
// wip_split: the proxy of split TCP, in the controller's namespace (docs/explanation/umts.md). It
// gives up all rights but CAP_NET_RAW, by which a socket may have the address of somebody else.
#include <linux/capability.h>
#include <poll.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>

#include "peer/endpoint.h"
#include "runtime/control_socket.h"
#include "runtime/privileged_start.h"
#include "runtime/process.h"
#include "runtime/program.h"
#include "runtime/stop_reason.h"
#include "split/split_config.h"

namespace {

using namespace wip;
using namespace wip::split;
using openwip::control::Reply;
using openwip::control::Request;

constexpr int questions_every_ms = 20;

void fill(const proxy_counts& c, openwip::control::SplitStatus& status) {
    status.set_split(c.split);
    status.set_open(c.open);
    status.set_ended(c.ended);
    status.set_reset(c.reset);
    status.set_not_reached(c.not_reached);
    status.set_full(c.full);
    for (const auto& w : c.ways) {
        auto& way = *status.add_ways();
        way.set_in(w.in);
        way.set_out(w.out);
        way.set_lost(w.lost);
        way.set_held(w.held);
        way.set_most_held(w.most_held);
    }
}

int serve(proxy& p, host::control_socket& control, int signals) {
    host::stop_reason stop;
    while (!stop.given()) {
        pollfd watched[] = {{signals, POLLIN, 0}, {p.fd(), POLLIN, 0}};
        ::poll(watched, 2, questions_every_ms);
        if (host::take_signal(signals)) stop = host::reason_to_stop();
        p.work();
        control.serve([&](const Request& request, Reply& reply) {
            if (request.what_case() == Request::kStop) stop = host::reason_of(request);
            fill(p.counts(), *reply.mutable_split());
        });
    }
    spdlog::info("ends: {}", stop.words);
    return host::exit_code_of(stop.cause);
}

int run(config::settings& settings, bool check_here) {
    const split_config config = translate(settings);
    if (check_here) {
        ask_kernel(config.proxy);
        return 0;
    }
    const host::privileged_start start(settings, config.user);
    zmq::context_t context(1);
    proxy p(config.proxy);
    host::control_socket control(context, config.control_endpoint, "control");
    start.give_up({peer::socket_path(config.control_endpoint)}, {CAP_NET_RAW});
    spdlog::info("the proxy is up; effective configuration:\n{}", settings.to_yaml());
    return host::run_to_its_end([&] { return serve(p, control, start.signals()); });
}

}  // namespace

int main(int argc, char** argv) {
    bool check_here = false;
    return host::run_program({"wip_split", "OpenWIP: split TCP, a transparent proxy", &split_keys(),
                              [](config::settings& s) { translate(s); },
                              [&](config::settings& s) { return run(s, check_here); },
                              [&](CLI::App& app) {
                                  app.add_flag("--check-here", check_here,
                                               "--check, and what this machine's kernel grants");
                              }},
                             argc, argv);
}
