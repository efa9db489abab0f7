// SPDX-License-Identifier: GPL-3.0-or-later
// Every number of the medium's configuration, and every setting of a running medium, gets values
// that are no number or hardly one. Each is refused in one line that names the key, or taken.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include "config/settings_table.h"
#include "hostile_numbers.h"
#include "medium/air_config.h"
#include "medium/controlled_medium.h"
#include "sample/motion.h"

using namespace wip::air;
using wip::test::hostile_numbers;

namespace {

// Every key that takes a number, at least once.
constexpr const char* everything = R"(
air: {name: x, speed: 2.5, wait_for: {transmitters: 1, receivers: 2}, seed: 9, pacing_limit_ms: 3,
      quantum: 1280, hearing_hz: 100, priority: 0}
nodes:
  base: {}
  terminal:
    noise_dbfs: -53.1
    impairments:
      - cfo: {hz: 100, drift_hz_per_s: 1}
      - clock: {ppm: 2}
      - timing_jump: {samples: 5, start_s: 1, period_s: 2, start_delay_samples: 10, max_delay_samples: 100}
      - phase_noise: {linewidth_hz: 10}
      - dc_offset: {dbfs: -40, angle_deg: 10}
      - iq_imbalance: {image_rejection_db: 30, angle_deg: 5}
      - gain_step: {db: 3, start_s: 1, period_s: 2}
      - quantiser: {bits: 8, full_scale_dbfs: 0}
      - gap: {samples: 100, start_s: 1, period_s: 2}
      - tone: {dbfs: -30, hz: 1000}
      - interference: {dbfs: -30, centre_hz: 1000, bandwidth_hz: 100000}
paths:
  - {from: base, to: terminal, gain_db: -3, delay_samples: 7, channel: tdl-a, delay_spread_ns: 100,
     doppler_hz: 80, carrier_hz: 1.8e9, shadowing: 4, user: 3, frequency_shift_hz: -200}
  - {from: base, to: terminal, channel: flat, speed_kmh: 30,
     impairments: [clock: {ppm: 1, start_delay_samples: 100, max_delay_samples: 1000},
                   cfo_hz: 3, linewidth_hz: 1, dc_dbfs: -30, image_db: 30, adc_bits: 8]}
)";

// Calls `visit(key, document)` with each scalar of the document replaced in turn by `value`.
template <class Visit>
void replace_each(const YAML::Node& root, YAML::Node at, const std::string& key,
                  const YAML::Node& value, const Visit& visit) {
    if (at.IsScalar()) {
        const std::string kept = at.Scalar();
        at = YAML::Clone(value);
        visit(key, YAML::Dump(root));
        at = kept;
        return;
    }
    if (at.IsSequence())
        for (std::size_t i = 0; i < at.size(); ++i) replace_each(root, at[i], key, value, visit);
    else
        for (auto entry : at) replace_each(root, entry.second, entry.first.Scalar(), value, visit);
}

constexpr const char* demo = R"(
air: {name: t, clock: lockstep, speed: 1, seed: 3}
nodes: {base: {}, terminal: {noise_dbfs: -29.1359}}
paths: [{from: base, to: terminal, channel: flat, shadowing: off, user: 0}]
)";

}  // namespace

TEST(HostileAir, each_value_of_a_configuration_is_refused_with_its_key_or_taken) {
    ASSERT_NO_THROW(parse_config(everything, "f.yaml"));
    std::size_t taken = 0, refused = 0;
    for (const std::string text : hostile_numbers) {
        const YAML::Node root = YAML::Load(everything);
        replace_each(root, root, "", YAML::Load(text), [&](const auto& key, const auto& document) {
            try {
                parse_config(document, "f.yaml");
                ++taken;
            } catch (const wip::config::error& e) {
                const std::string why = e.what();
                EXPECT_EQ(why.find("f.yaml:"), 0U) << why;
                EXPECT_EQ(why.find('\n'), std::string::npos) << why;
                // A rule between two keys may name the other one (`from`, a model) instead of the
                // key that was changed; then the error says what is valid.
                EXPECT_TRUE(why.find(key) != std::string::npos ||
                            why.find("valid") != std::string::npos)
                    << key << ": " << text << ": " << why;
                ++refused;
            }
        });
    }
    EXPECT_GT(taken, 100U);
    EXPECT_GT(refused, 1000U);
}

// The ranges of the table of settings, which medium and fader share: the channel can be made with
// both limits of each. The next test is about the carrier, whose range the channel checks itself.
TEST(HostileAir, each_limit_of_the_table_is_accepted_by_the_channel) {
    const auto& keys = wip::config::keys_of(wip::config::process::medium, air_checks());
    std::size_t seen = 0;
    for (const auto& k : keys) {
        if (!std::isfinite(k.lowest) || !std::isfinite(k.highest) || k.runtime) continue;
        const auto dot = k.path.rfind('.');
        const std::string group = k.path.substr(0, dot), name = k.path.substr(dot + 1);
        // Not tried: the SNR of a trace, which needs a file; the settings of a running medium; and
        // the delay spread, since the longest delay of a definition is a multiple of it.
        if (name == "trace_snr_db" || group.starts_with("channel") || name == "delay_spread_ns")
            continue;
        for (const double limit : {k.lowest, k.highest}) {
            YAML::Node root = YAML::Load(
                "air: {name: x, clock: lockstep}\nnodes: {base: {}, terminal: {noise_dbfs: -53}}\n"
                "paths: [{from: base, to: terminal, channel: tdl-a}]");
            YAML::Node at = group == "nodes.*"   ? root["nodes"]["terminal"]
                            : group == "paths[]" ? root["paths"][0]
                            : group == "air"     ? root["air"]
                                                 : root["air"][group.substr(4)];
            std::ostringstream text;
            text.precision(17);
            text << limit;
            at[name] = text.str();
            EXPECT_NO_THROW(parse_config(YAML::Dump(root), "f.yaml")) << k.path << " = " << limit;
            ++seen;
        }
    }
    EXPECT_GT(seen, 25U);
}

TEST(HostileAir, the_carrier_of_a_channel_has_the_range_of_the_table) {
    const auto& keys = wip::config::keys_of(wip::config::process::medium, air_checks());
    const auto k = std::ranges::find(keys, "paths[].carrier_hz", &wip::config::key::path);
    ASSERT_NE(k, keys.end());
    const auto moving = [](double carrier_hz) {
        wip::sample_model::motion({.carrier_hz = carrier_hz}, 7.68e6);
    };
    for (const double outside : {k->lowest * 0.999, k->highest * 1.001})
        EXPECT_THROW(moving(outside), std::invalid_argument) << outside;
    EXPECT_NO_THROW(moving(k->lowest));
    EXPECT_NO_THROW(moving(k->highest));
}

// The output of --print-config is the whole configuration: fed back it is the same medium.
TEST(HostileAir, a_configuration_that_is_printed_reads_back_with_its_nodes_and_paths) {
    for (const std::string clock : {"lockstep", "realtime"}) {
        wip::config::settings s(file_keys());
        s.merge_yaml(everything, "f.yaml");
        s.merge_assignment("air.clock=" + clock);
        const medium_config before = translate(s);
        const std::string printed = s.to_yaml();
        wip::config::settings again(file_keys());
        again.merge_yaml(printed, "printed");
        const medium_config after = translate(again);
        EXPECT_EQ(again.to_yaml(), printed);
        EXPECT_EQ(after.quantum, before.quantum);
        EXPECT_EQ(after.wait_receivers, 2);
        ASSERT_EQ(after.nodes.size(), 2u);
        EXPECT_EQ(after.nodes[1].name, "terminal");
        EXPECT_EQ(after.nodes[1].noise_dbfs, -53.1);
        EXPECT_EQ(after.nodes[0].noise_dbfs, std::nullopt);
        EXPECT_EQ(after.nodes[1].impairments.size(), 11u);
        ASSERT_EQ(after.paths.size(), 2u);
        EXPECT_EQ(after.paths[0].to, 1u);
        EXPECT_EQ(after.paths[0].gain_db, -3);
        EXPECT_EQ(after.paths[0].request.carrier_hz, 1.8e9);
        EXPECT_EQ(after.paths[1].user, before.paths[1].user);
        EXPECT_EQ(after.paths[1].impairments.size(), 6u);
    }
}

TEST(HostileAir, an_entry_that_is_not_in_the_file_is_refused_with_those_that_are) {
    const auto refused = [](const std::string& yaml, const std::string& assignment) -> std::string {
        wip::config::settings s(file_keys());
        s.merge_yaml(yaml, "f.yaml");
        try {
            s.merge_assignment(assignment);
        } catch (const wip::config::error& e) {
            return e.what();
        }
        return "taken";
    };
    EXPECT_EQ(refused(everything, "paths[9].gain_db=1"),
              "--set: paths[9].gain_db: no such entry; valid: paths[0], paths[1]");
    EXPECT_EQ(refused(everything, "paths[].gain_db=1"),
              "--set: paths[].gain_db: no such entry; valid: paths[0], paths[1]");
    EXPECT_EQ(refused(everything, "nodes.moon.noise_dbfs=-50"),
              "--set: nodes.moon.noise_dbfs: no such entry; valid: nodes.base, nodes.terminal");
    EXPECT_EQ(refused("air: {name: x}", "paths[0].gain_db=1"),
              "--set: paths[0].gain_db: no such entry; valid: none here");
    EXPECT_EQ(refused(everything, "paths[1].gain_db=1"), "taken");
    EXPECT_EQ(refused(everything, "nodes.base.noise_dbfs=-50"), "taken");
}

TEST(HostileAir, the_pace_of_a_real_clock_that_nobody_chose_is_in_what_is_printed) {
    wip::config::settings s(file_keys());
    s.merge_yaml("air: {name: x, clock: realtime}\nnodes: {a: {}}\n", "f.yaml");
    EXPECT_EQ(translate(s).quantum, realtime_quantum);
    wip::config::settings again(file_keys());
    again.merge_yaml(s.to_yaml(), "printed");
    EXPECT_EQ(translate(again).quantum, realtime_quantum);
}

TEST(HostileAir, each_setting_of_a_running_medium_is_refused_with_its_key_or_taken) {
    const medium_config config = parse_config(demo, "t.yaml");
    for (const std::string key : {"snr_db", "speed_kmh", "shadowing", "user", "blackout", "model"})
        for (const std::string value : hostile_numbers) {
            std::optional<medium_change> change;
            // what_holds(): YAML of the medium's configuration.
            channel_control control(config, what_holds(config),
                                    [&](medium_changes c) -> std::optional<tick> {
                                        change = std::move(c.at(0));
                                        return 5120 * 100;
                                    });
            const std::string before = control.settings(0);
            try {
                control.configure("channel:\n  " + key + ": " + value, 0);
            } catch (const wip::config::error& e) {
                EXPECT_NE(std::string(e.what()).find("channel." + key), std::string::npos)
                    << e.what();
                EXPECT_EQ(control.settings(0), before);
                EXPECT_FALSE(change);
                continue;
            }
            if (change && change->noise_dbfs) {
                EXPECT_TRUE(std::isfinite(*change->noise_dbfs));
            }
            if (change && change->dark) {
                EXPECT_GE(change->dark->length, 0);
            }
            // The settings that it reports now are valid as a request, and nothing changes by that.
            const auto reported = YAML::Load(control.settings(0));
            YAML::Node again;
            again["channel"][key] = reported["channel"][key].Scalar();
            if (key != "blackout") {
                EXPECT_FALSE(control.configure(YAML::Dump(again), 0)) << value;
            }
        }
}

TEST(HostileAir, a_channel_that_somebody_else_has_does_not_change_here) {
    channel_control control(
        parse_config(demo, "t.yaml"), "air: {}\n",
        [](medium_changes) -> std::optional<tick> { return 512000; }, /*elsewhere=*/true);
    try {
        control.configure("channel: {snr_db: 20}", 0);
        ADD_FAILURE();
    } catch (const std::exception& e) {
        EXPECT_NE(
            std::string(e.what()).find("cannot change in this medium, whose channel is in a fader"),
            std::string::npos)
            << e.what();
    }
    EXPECT_EQ(control.settings(0), "air: {}\n");
}

TEST(HostileAir, a_subnormal_deviation_is_accepted) {
    channel_control control(parse_config(demo, "t.yaml"), "",
                            [](medium_changes) -> std::optional<tick> { return 512000; });
    EXPECT_TRUE(control.configure("channel: {shadowing: 1e-310}", 0));
    EXPECT_NE(control.settings(0).find("shadowing: 1e-310"), std::string::npos);
}
