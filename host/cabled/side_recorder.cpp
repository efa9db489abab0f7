// SPDX-License-Identifier: GPL-3.0-or-later
#include "cabled/side_recorder.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "types/failure.h"

namespace wip::cabled {

side_recorder::side_recorder(const fader_config& config)
    : sides_(nof_sides * config.radios.size()),
      length_(std::llround(config.record_seconds * mix::sample_rate)),
      delay_(config.setup.delay) {
    const auto record = [&](std::size_t node, fader_setup::side side, const char* name) {
        auto& here = of(node, side);
        if (here) return;
        const std::string base = config.record + "-" + config.radios[node].node + "-" + name;
        here = std::make_unique<one>(base);
        ++open_;
    };
    for (const auto& p : config.setup.mix.paths) {
        record(p.from, fader_setup::side::input, "input");
        record(p.to, fader_setup::side::output, "output");
    }
}

side_recorder::one::one(const std::string& base)
    : samples(base + ".sigmf-data"),
      facts(base + ".facts"),
      recorder({.samples_file = "/proc/self/fd/" + std::to_string(samples.descriptor())}) {
    samples.give_name();
    facts.give_name();
}

side_recorder::~side_recorder() { finish(); }

void side_recorder::finish() {
    for (const auto& s : sides_) {
        if (!s || std::exchange(s->announced, true)) continue;
        const auto f = s->recorder.finish();
        auto stretches = nlohmann::json::array();
        for (const auto& t : f.stretches)
            stretches.push_back({{"index", t.index},
                                 {"first_sample", t.first_sample},
                                 {"later", t.later},
                                 {"lost_by_recorder", t.lost_by_recorder}});
        const nlohmann::json facts{{"samples", f.samples}, {"samples_lost", f.samples_lost},
                                   {"reports", 0},         {"reports_lost", 0},
                                   {"error", f.error},     {"stretches", stretches}};
        try {
            s->facts.write(facts.dump() + "\n");
        } catch (const machine_error& e) {
            // the command that started it misses the file and reports that
            std::fprintf(stderr, "wip_fader: %s\n", e.what());
        }
    }
}

void side_recorder::begin(tick begin) { end_ = begin + length_; }

void side_recorder::take(std::size_t node, fader_setup::side side, tick first,
                         std::span<const cf32> x) {
    const tick left = end_ + (side == fader_setup::side::output ? delay_ : 0) - first;
    one& here = *of(node, side);
    if (left <= 0) {
        if (!std::exchange(here.over, true)) open_.fetch_sub(1, std::memory_order_release);
        return;
    }
    here.recorder.samples(sample(first),
                          x.first(std::min(x.size(), static_cast<std::size_t>(left))));
}

}  // namespace wip::cabled
