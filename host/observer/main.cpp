// SPDX-License-Identifier: GPL-3.0-or-later
// wip_observer: what the kernel knows of a running cell, as telemetry. Start order as in macd:
// configuration, sockets, then privileges are given up, and only then anything is read from
// outside.
#include <spdlog/spdlog.h>

#include "observer/observer_process.h"
#include "runtime/privileged_start.h"
#include "runtime/program.h"
#include "schema/telemetry.pb.h"

namespace {

using namespace wip;
using namespace wip::observer;

int run(config::settings& settings) {
    const observer_config config = translate(settings);
    const host::privileged_start start(settings, config.user);
    zmq::context_t context(1);
    observer_process process(context, config);
    start.give_up(process.bound_paths());
    spdlog::info("observer is up; effective configuration:\n{}", settings.to_yaml());
    return host::run_to_its_end([&] { return process.run(start.signals()); });
}

}  // namespace

int main(int argc, char** argv) {
    google::protobuf::SetLogHandler(nullptr);
    return host::run_program(
        {"wip_observer", "OpenWIP: TCP connections, processor time and pacing of a cell",
         &observer_keys(), [](config::settings& s) { translate(s); }, run},
        argc, argv);
}
