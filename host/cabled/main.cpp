// SPDX-License-Identifier: GPL-3.0-or-later
// wip_fader: the channel between radios that are joined to the stations by cables. Start order:
// configuration, radios, control socket, then privileges are given up.
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <thread>

#include "cabled/calibration.h"
#include "cabled/fader_config.h"
#include "cabled/side_recorder.h"
#include "cabled/usrp_radio.h"
#include "fader/fader.h"
#include "medium/control_server.h"
#include "medium/sent_bursts.h"
#include "os/realtime.h"
#include "peer/endpoint.h"
#include "runtime/privileged_start.h"
#include "runtime/process.h"
#include "runtime/program.h"
#include "runtime/stop_reason.h"
#include "trace/played_trace.h"
#include "types/grid.h"

namespace {

using namespace wip;
using namespace wip::cabled;

std::string what_holds(const fader_config& c) {
    std::ostringstream yaml;
    yaml << "air:\n  name: " << c.name << "\n  clock: fader\n  seed: " << c.setup.mix.seed
         << "\n  delay_samples: " << c.setup.delay << "\n";
    return yaml.str();
}

double in_db(double power) { return 10 * std::log10(std::max(power, 1e-20)); }

void fill_moment(const fader_config& c, const fader& f, openwip::control::AirStatus& a) {
    const fader_moment now = f.moment();
    for (std::size_t i = 0; i < c.radios.size(); ++i) {
        auto& node = *a.add_fader_nodes();
        node.set_name(c.radios[i].node);
        for (const auto& p : c.setup.mix.paths) {
            if (p.from == i) node.set_input_dbfs(in_db(now.power.input[i]));
            if (p.to == i) node.set_output_dbfs(in_db(now.power.output[i]));
        }
    }
    for (std::size_t i = 0; i < now.taps.size(); ++i) {
        auto& path = *a.add_fader_paths();
        path.set_from(c.radios[c.setup.mix.paths[i].from].node);
        path.set_to(c.radios[c.setup.mix.paths[i].to].node);
        for (const auto& tap : now.taps[i]) {
            path.add_tap_delay_us(tap.delay_samples / mix::sample_rate * 1e6);
            path.add_tap_gain_db(in_db(std::norm(tap.gain)));
            path.add_tap_phase(std::arg(tap.gain));
        }
    }
    air::say_bursts(f.station_bursts(), c.setup.mix, a);
    const auto soundings = f.soundings();
    if (!soundings) return;
    for (const auto& s : *soundings) {
        auto& one = *a.add_soundings();
        one.set_from(c.radios[s.from].node);
        one.set_to(c.radios[s.to].node);
        one.set_residual_db(s.residual_db);
        one.set_limit_db(s.limit_db);
        one.set_not_judged(s.why_not);
    }
}

air::controlled controlled_fader(const fader_config& c, fader& f) {
    const auto fill = [&f, c](openwip::control::AirStatus& a) {
        const fader_status s = f.status();
        a.set_clock("fader");
        a.set_speed(1);
        a.set_now(s.now);
        a.set_slots(s.pieces * static_cast<std::uint64_t>(c.setup.chunk) / slot_samples);
        a.set_late(s.late);
        a.set_underflows(s.underflows);
        a.set_overflows(s.overflows);
        a.mutable_fader_radios()->set_late(s.late);
        a.mutable_fader_radios()->set_underflows(s.underflows);
        a.mutable_fader_radios()->set_overflows(s.overflows);
        a.mutable_fader_radios()->set_stalls(s.stalls);
        a.mutable_fader_radios()->set_silences(s.silences);
        a.mutable_fader_radios()->set_gaps(s.gaps);
        a.set_delay_samples(c.setup.delay);
        a.set_lost_samples(s.lost_samples);
        a.set_clipped(s.clipped);
        if (s.least_lead != never)
            a.set_least_lead_us(static_cast<double>(s.least_lead) / mix::sample_rate * 1e6);
        for (const auto& r : c.radios) {
            auto& node = *a.add_nodes();
            node.set_name(r.node);
            node.set_radio(r.arguments);
        }
        fill_moment(c, f, a);
    };
    return {c.control,
            c.setup.mix,
            what_holds(c),
            fill,
            [&f] { f.reset_counters(); },
            [&f](mix::mixer_changes all) { return f.change(std::move(all)); }};
}

// Describes in one line all that was lost.
std::string what_was_lost(const fader_status& s) {
    std::ostringstream line;
    line << "sent: " << s.late << " late, " << s.underflows << " underflows, " << s.stalls
         << " stalls; received: " << s.overflows << " overflows, " << s.gaps << " gaps ("
         << s.lost_samples << " samples), " << s.silences << " silences; " << s.clipped
         << " clipped";
    return line.str();
}

// Logs once a second what was lost meanwhile.
fader_status tell(const fader& f, const fader_status& reported) {
    const fader_status now = f.status(), since = now.since(reported);
    if (since.lost_something() || since.clipped > 0)
        spdlog::warn("within a second: {}", what_was_lost(since));
    return now;
}

// The first slot boundary that is that far ahead.
tick beginning(fading_radio& radio, double seconds) {
    const tick soonest = radio.now() + static_cast<tick>(std::ceil(seconds * mix::sample_rate));
    return (soonest / slot_samples + 1) * slot_samples;
}

int run(config::settings& settings, trace::played_traces& traces, bool calibrates) {
    fader_config config = translate(settings, std::ref(traces));
    const host::privileged_start start(settings, config.user);
    auto radios = open_radios(config);
    std::vector<fading_radio*> ends;
    for (const auto& r : radios) ends.push_back(r.get());
    if (calibrates) {
        if (config.priority > 0) os::use_realtime(config.priority);
        return host::run_to_its_end([&] {
            nlohmann::json found;
            for (std::size_t i = 0; i < radios.size(); ++i)
                found["devices"][config.radios[i].node] = radios[i]->identity();
            found["paths"] = calibrate(config, ends);
            std::cout << found << std::endl;
            return 0;
        });
    }
    std::optional<side_recorder> recorder;
    if (!config.record.empty()) {
        recorder.emplace(config);
        config.setup.watch = [&recorder](std::size_t node, fader_setup::side side, tick first,
                                         std::span<const cf32> x) {
            recorder->take(node, side, first, x);
        };
    }
    config.setup.says = [&config](std::size_t node, bool silent) {
        spdlog::warn("nodes.{}: its receiver {}", config.radios[node].node,
                     silent ? "is silent: no sample for a second, and nothing is sent"
                            : "has samples again");
    };
    fader running(config.setup, ends);
    std::unique_ptr<air::control_server> control;
    if (!config.control.empty())
        control = std::make_unique<air::control_server>(
            controlled_fader(config, running),
            [](const std::string& line) { spdlog::info("{}", line); },
            [&running](const host::stop_reason&) { running.stop(); });
    if (config.priority > 0) os::use_realtime(config.priority);
    start.give_up({peer::socket_path(config.control)});
    spdlog::info("fader '{}' is up: {} samples ({:.1f} us) from receiver to transmitter",
                 config.name, config.setup.delay,
                 static_cast<double>(config.setup.delay) / mix::sample_rate * 1e6);
    return host::run_to_its_end([&] {
        std::jthread watch([&](const std::stop_token& over) {
            fader_status reported;
            for (int turn = 1; !over.stop_requested(); ++turn) {
                if (turn % 50 == 0) reported = tell(running, reported);
                if (host::take_signal(start.signals())) return running.stop();
                if (recorder && recorder->complete()) recorder->finish();
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
            }
        });
        const tick begin = beginning(*ends[0], config.start_delay_s);
        if (recorder) recorder->begin(begin);
        const auto close = [&running] { spdlog::info("{}", what_was_lost(running.status())); };
        try {
            running.run(begin);
        } catch (...) {
            close();
            throw;
        }
        close();
        const host::stop_reason why = host::reason_to_stop();
        spdlog::info("{}", why.words);
        const int code = host::exit_code_of(why.cause);
        return code == host::exit_asked && running.status().lost_something() ? host::exit_failed
                                                                             : code;
    });
}

}  // namespace

int main(int argc, char** argv) {
    bool calibrates = false;
    trace::played_traces traces;
    return host::run_program(
        {"wip_fader", "OpenWIP: the channel between radios on cables", &fader_keys(),
         [&](config::settings& s) { translate(s, std::ref(traces)); },
         [&](config::settings& s) { return run(s, traces, calibrates); },
         [&](CLI::App& app) {
             app.add_flag("--calibrate", calibrates,
                          "measure what the radios do, JSON to standard output");
         }},
        argc, argv);
}
