// SPDX-License-Identifier: GPL-3.0-or-later
// wip_tcpl: a line with residual bit errors between two network interfaces, and the relay for
// damaged TCP segments behind it (docs/corrupt-delivery.md). Start order as in macd: configuration,
// interfaces, sockets, then privileges are given up, and only then anything is read from outside.
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include "app/process.h"
#include "app/program.h"
#include "tcpl/tcpl_process.h"

namespace {

using namespace wip;
using namespace wip::tcpl;

int run(config::settings& settings) {
    const tcpl_config config = translate(settings);
    const auto account = host::find_account(config.user);
    if (!account) throw settings.refuse("user", "there is no such user");
    const int signals = host::make_signal_descriptor();
    host::follow_parent();
    host::forbid_new_privileges();
    ::umask(0077);
    zmq::context_t context(1);
    tcpl_process process(context, settings, config);
    host::hand_over(process.bound_paths(), *account);
    host::drop_privileges(*account);
    host::follow_parent();
    spdlog::info("the path is up; effective configuration:\n{}", settings.to_yaml());
    return process.run(signals);
}

}  // namespace

int main(int argc, char** argv) {
    return host::run_program(
        {"wip_tcpl", "OpenWIP: a line with bit errors, and TCP that takes damaged segments",
         &tcpl_keys(), [](config::settings& s) { translate(s); }, run},
        argc, argv);
}
