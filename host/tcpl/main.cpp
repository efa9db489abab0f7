// SPDX-License-Identifier: GPL-3.0-or-later
// wip_tcpl: a line with residual bit errors between two network interfaces, and the relay for
// damaged TCP segments behind it (docs/corrupt-delivery.md). Start order as in macd: configuration,
// interfaces, sockets, then privileges are given up, and only then anything is read from outside.
#include <spdlog/spdlog.h>

#include "runtime/privileged_start.h"
#include "runtime/process.h"
#include "runtime/program.h"
#include "runtime/realtime.h"
#include "tcpl/tcpl_process.h"

namespace {

using namespace wip;
using namespace wip::tcpl;

int run(config::settings& settings) {
    const tcpl_config config = translate(settings);
    const host::privileged_start start(settings, config.user);
    zmq::context_t context(1);
    tcpl_process process(context, settings, config);
    const bool realtime = runtime::use_realtime();
    start.give_up(process.bound_paths());
    spdlog::info("the path is up, {} priority; effective configuration:\n{}",
                 realtime ? "real-time" : "normal", settings.to_yaml());
    return host::run_to_its_end([&] { return process.run(start.signals(), realtime); });
}

}  // namespace

int main(int argc, char** argv) {
    return host::run_program(
        {"wip_tcpl", "OpenWIP: a line with bit errors, and TCP that takes damaged segments",
         &tcpl_keys(), [](config::settings& s) { translate(s); }, run},
        argc, argv);
}
