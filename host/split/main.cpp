// SPDX-License-Identifier: GPL-3.0-or-later
// wip_split: the proxy of split TCP, in the controller's namespace (docs/explanation/umts.md). It
// gives up all rights but CAP_NET_RAW, by which a socket may have the address of somebody else.
#include <linux/capability.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <chrono>

#include "peer/endpoint.h"
#include "runtime/control_socket.h"
#include "runtime/ending.h"
#include "runtime/poll_set.h"
#include "runtime/privileged_start.h"
#include "runtime/process.h"
#include "runtime/program.h"
#include "split/split_config.h"

namespace {

using namespace wip;
using namespace wip::split;
using openwip::control::Reply;
using openwip::control::Request;

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
    host::ending end("split");
    host::poll_set watched;
    const auto asked_to_end = watched.add(signals);
    watched.add(p.fd());
    const auto questions = watched.add(control.socket());
    while (!end.reached()) {
        watched.sleep(p.patience());
        p.work();
        if (watched.ready(questions)) {
            control.serve([&](const Request& request, Reply& reply) {
                if (request.what_case() == Request::kStop) end.set(host::reason_of(request));
                fill(p.counts(), *reply.mutable_split());
            });
        }
        if (watched.ready(asked_to_end)) end.signalled(signals);
    }
    return end.code();
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
