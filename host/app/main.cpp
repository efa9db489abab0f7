// SPDX-License-Identifier: GPL-3.0-or-later
// macd: one station's packets between a TUN and the flowgraph. Start order: configuration, TUN,
// sockets, then privileges are given up, and only then anything is read from outside.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "app/base_station.h"
#include "app/event_loop.h"
#include "app/process.h"
#include "app/terminal_station.h"

namespace {

using namespace wip;
using namespace wip::host;

struct arguments {
    std::string config_file;
    std::vector<std::string> assignments;
    bool print_config = false;
    bool describe_config = false;
};

int complain(const std::string& why) {
    std::fprintf(stderr, "macd: %s\n", why.c_str());
    return exit_bad_input;
}

void check_reachable(const std::string& endpoint, const std::string& user) {
    const std::string path = ipc_path(endpoint);
    const auto slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return;
    const std::string folder = path.substr(0, slash + 1);
    if (::access(folder.c_str(), X_OK) != 0)
        throw std::runtime_error("endpoints.uplink = " + endpoint + ": user " + user +
                                 " cannot enter " + folder + ": " + strerror(errno));
}

int run(const arguments& args) {
    config::settings settings(macd_keys());
    if (!args.config_file.empty()) settings.merge_file(args.config_file);
    for (const auto& a : args.assignments) settings.merge_assignment(a);
    const macd_config config = translate(settings);
    if (args.print_config) {
        std::fputs(settings.to_yaml().c_str(), stdout);
        return 0;
    }
    const auto account = find_account(config.user);
    if (!account) throw settings.refuse("user", "there is no such user");

    const int signals = make_signal_descriptor();
    follow_parent();
    forbid_new_privileges();
    ::umask(0077);
    tun_device tun(config.tun);
    if (!tun.warning().empty()) spdlog::warn("{}", tun.warning());
    zmq::context_t context(1);
    event_loop loop(context, settings, config);
    std::unique_ptr<station> end;
    if (config.role == station_role_kind::base)
        end = std::make_unique<base_station>(config, tun, loop);
    else
        end = std::make_unique<terminal_station>(config, tun, loop);
    loop.attach(*end, tun.fd(), signals);

    hand_over(loop.bound_paths(), *account);
    drop_privileges(*account);
    follow_parent();
    if (config.role == station_role_kind::terminal)
        check_reachable(config.uplink_endpoint, config.user);
    spdlog::info("{} {}: {} {} is up; effective configuration:\n{}", config.name,
                 settings.text("role"), config.tun.name, config.tun.address, settings.to_yaml());
    return loop.run();
}

}  // namespace

int main(int argc, char** argv) {
    spdlog::set_default_logger(spdlog::stderr_logger_st("macd"));
    spdlog::set_pattern("macd: %l: %v");
    google::protobuf::SetLogHandler(
        nullptr);  // damaged messages are counted, not logged one by one
    arguments args;
    CLI::App app{"OpenWIP: TUN, MAC and link control of one station"};
    app.add_option("--config", args.config_file, "YAML configuration")->type_name("FILE");
    app.add_option("--set", args.assignments, "a setting over the file, repeatable")
        ->type_name("KEY=VALUE")
        ->expected(1)
        ->take_all();
    app.add_flag("--print-config", args.print_config, "print the effective configuration and end");
    app.add_flag("--describe-config", args.describe_config, "print the table of all keys and end");
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& e) {
        return app.exit(e);
    } catch (const CLI::ParseError& e) {
        return complain(e.what());
    }
    if (args.describe_config) {
        std::fputs(config::to_markdown(macd_keys()).c_str(), stdout);
        return 0;
    }
    try {
        return run(args);
    } catch (const std::exception& e) {
        return complain(e.what());
    }
}
