// SPDX-License-Identifier: GPL-3.0-or-later
// macd: one station's packets between a TUN and the flowgraph. Start order: configuration, TUN,
// sockets, then privileges are given up, and only then anything is read from outside.
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "extension/own_rules.h"
#include "link/cell_scheduler.h"
#include "macd/base_station.h"
#include "macd/event_loop.h"
#include "macd/terminal_station.h"
#include "os/realtime.h"
#include "peer/endpoint.h"
#include "runtime/privileged_start.h"
#include "runtime/program.h"
#include "tun/tun_in_namespace.h"
#include "types/failure.h"

namespace {

using namespace wip;
using namespace wip::host;

void check_reachable(const std::string& endpoint, const std::string& user) {
    const std::string path = peer::socket_path(endpoint);
    const auto slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return;
    const std::string folder = path.substr(0, slash + 1);
    if (::access(folder.c_str(), X_OK) != 0)
        throw bad_input("endpoints.uplink is " + endpoint + ": user " + user + " cannot enter " +
                        folder + ": " + strerror(errno));
}

// The user's own code is loaded here with the rights of the account that the process of a run
// changes to.
void check_rules(config::settings& settings) {
    const macd_config config = translate(settings);
    extension::check_files(config.rules);
    const bool own_predictor = read_extension_name(config.predictor).has_value();
    if (own_predictor) extension::check_file("phy.predictor", config.predictor);
    become(settings, config.user);
    if (config.role == station_role_kind::base)
        extension::link_rules(config.rules, cell_of(config.link, 1, cell_config{}.averaging_slots));
    else if (own_predictor)
        extension::own_predictor("phy.predictor", config.predictor,
                                 config.link.retransmission_delay_slots);
}

int run(config::settings& settings) {
    const macd_config config = translate(settings);
    extension::check_files(config.rules);
    const privileged_start start(settings, config.user);
    tun_device tun = make_tun_in(config.tun_namespace, config.tun, "tun.namespace");
    if (!tun.warning().empty()) spdlog::warn("{}", tun.warning());
    zmq::context_t context(1);
    event_loop loop(context, settings, config);
    std::unique_ptr<station> end;
    if (config.role == station_role_kind::base)
        end = std::make_unique<base_station>(config, tun, loop);
    else
        end = std::make_unique<terminal_station>(config, tun, loop);
    loop.attach(*end, tun.fd(), start.signals());

    // This comes before the right to real-time priority is given up.
    os::use_realtime();
    start.give_up(loop.bound_paths());
    if (config.role == station_role_kind::terminal)
        check_reachable(config.uplink_endpoint, config.user);
    end->load_rules();
    spdlog::info("{} {}: {} {} is up; effective configuration:\n{}", config.name,
                 settings.text(config::name::role), config.tun.name, config.tun.address,
                 settings.to_yaml());
    return run_to_its_end([&] { return loop.run(); });
}

}  // namespace

int main(int argc, char** argv) {
    google::protobuf::SetLogHandler(
        nullptr);  // damaged messages are counted, not logged one by one
    return run_program({"macd",
                        "OpenWIP: TUN, MAC and link control of one station",
                        &macd_keys(),
                        [](config::settings& s) { translate(s); },
                        run,
                        {},
                        check_rules},
                       argc, argv);
}
