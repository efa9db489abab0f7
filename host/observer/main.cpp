// SPDX-License-Identifier: GPL-3.0-or-later
// wip_observer: what the kernel knows of a running cell, as telemetry. Start order as in macd:
// configuration, sockets, then privileges are given up, and only then anything is read from
// outside.
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include "app/process.h"
#include "app/program.h"
#include "observer/observer_process.h"
#include "schema/telemetry.pb.h"

namespace {

using namespace wip;
using namespace wip::observer;

int run(config::settings& settings) {
    const observer_config config = translate(settings);
    const auto account = host::find_account(config.user);
    if (!account) throw settings.refuse("user", "there is no such user");
    const int signals = host::make_signal_descriptor();
    host::follow_parent();
    host::forbid_new_privileges();
    ::umask(0077);
    zmq::context_t context(1);
    observer_process process(context, config);
    host::hand_over(process.bound_paths(), *account);
    host::drop_privileges(*account);
    host::follow_parent();
    spdlog::info("observer is up; effective configuration:\n{}", settings.to_yaml());
    return process.run(signals);
}

}  // namespace

int main(int argc, char** argv) {
    google::protobuf::SetLogHandler(nullptr);
    return host::run_program(
        {"wip_observer", "OpenWIP: TCP connections, processor time and pacing of a cell",
         &observer_keys(), [](config::settings& s) { translate(s); }, run},
        argc, argv);
}
