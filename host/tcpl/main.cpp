// SPDX-License-Identifier: GPL-3.0-or-later
// wip_tcpl: a line with residual bit errors between two network interfaces, and the relay for
// damaged TCP segments behind it (docs/corrupt-delivery.md). Start order as in macd: configuration,
// interfaces, sockets, then privileges are given up, and only then anything is read from outside.
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "config/number_option.h"
#include "runtime/privileged_start.h"
#include "runtime/process.h"
#include "runtime/program.h"
#include "runtime/realtime.h"
#include "tcpl/tcpl_process.h"
#include "tcpl/virtual_path.h"

namespace {

using namespace wip;
using namespace wip::tcpl;

int run(config::settings& settings, const virtual_time::run_config& kernel) {
    const tcpl_config config = translate(settings);
    const bool in_virtual_time = !kernel.kernel.empty();
    // That needs no rights: whoever is not root stays who he is.
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
    const bool realtime = runtime::use_realtime();
    start.give_up(process.bound_paths());
    spdlog::info("the path is up, {} priority; effective configuration:\n{}",
                 realtime ? "real-time" : "normal", settings.to_yaml());
    return host::run_to_its_end([&] { return process.run(start.signals(), realtime); });
}

}  // namespace

int main(int argc, char** argv) {
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
