// SPDX-License-Identifier: GPL-3.0-or-later
// air: the medium between software USRPs. Start order as in macd: configuration, memory, control
// socket, the socket that hands the memory over, then privileges are given up. Its end is 1 when a
// node died.
#include <poll.h>
#include <spdlog/spdlog.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "air/medium.h"
#include "medium/air_config.h"
#include "medium/controlled_medium.h"
#include "os/realtime.h"
#include "peer/endpoint.h"
#include "runtime/privileged_start.h"
#include "runtime/program.h"
#include "runtime/stop_reason.h"
#include "sample/distinct_streams.h"
#include "trace/played_trace.h"

namespace {

using namespace wip;
using namespace wip::air;

void say(const std::string& line) { spdlog::info("{}", line); }

int run(config::settings& settings, trace::played_traces& traces) {
    const sample_model::distinct_streams streams;
    const medium_config config = translate(settings, std::ref(traces));
    const host::privileged_start start(settings, config.user);
    std::vector<std::string> names;
    for (const node_config& n : config.nodes) names.push_back(n.name);
    const auto memory = shared_air::create(config.name, names, config.clock, config.speed);
    if (memory->cleaned()) say("removed what a killed medium '" + config.name + "' had left");
    medium m(*memory, config, say);
    std::mutex mutex;
    host::stop_reason why;
    const auto stop = [&](const host::stop_reason& reason) {
        const std::lock_guard lock(mutex);
        why = reason;
        m.stop();
    };
    std::unique_ptr<control_server> control;
    if (!config.control.empty())
        control = std::make_unique<control_server>(controlled_medium(config, m), say, stop);
    std::jthread signals([&](const std::stop_token& over) {
        pollfd signal{start.signals(), POLLIN, 0};
        while (!over.stop_requested())
            if (::poll(&signal, 1, 100) > 0 && host::take_signal(signal.fd))
                return stop(host::reason_to_stop());
    });
    memory->open(start.becomes());
    // The priority is set before root's rights are given up, since a process keeps a priority that
    // it has. The control socket is given to the new user, so that it can be removed at the end.
    if (config.priority > 0) os::use_realtime(config.priority);
    start.give_up({peer::socket_path(config.control)});
    say("medium '" + config.name + "' ready");
    return host::run_to_its_end([&] {
        const std::string dead = m.run();
        control.reset();  // answers the request to stop before it goes
        const std::lock_guard lock(mutex);
        say(dead.empty() ? "ends: " + why.words : dead);
        return dead.empty() ? host::exit_code_of(why.cause) : host::exit_failed;
    });
}

}  // namespace

int main(int argc, char** argv) {
    trace::played_traces traces;
    return host::run_program({"air", "OpenWIP: the medium between software USRPs", &file_keys(),
                              [&](config::settings& s) { translate(s, std::ref(traces)); },
                              [&](config::settings& s) { return run(s, traces); }},
                             argc, argv);
}
