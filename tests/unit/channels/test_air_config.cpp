// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <regex>

#include "config/settings_table.h"
#include "medium/air_config.h"

using namespace wip::air;

namespace {

std::string error_of(const std::string& text) {
    try {
        parse_config(text, "f.yaml");
    } catch (const wip::config::error& e) {
        return e.what();
    }
    return "accepted";
}

// Whether an error has a line of the file, then what it is about.
bool is_about(const std::string& error, const std::string& place) {
    return std::regex_search(error, std::regex("^f\\.yaml(:[0-9]+)?: " + place));
}

std::string with_air(const std::string& setting) {
    return "air: {name: x, " + setting + "}\nnodes: {a: {}, b: {}}\n";
}

double doppler_of(const path_config& p) {
    return std::get<wip::sample_model::constant_speed>(p.channel->movement.path).doppler_hz;
}

}  // namespace

TEST(AirConfig, reads_every_key) {
    const medium_config c = parse_config(R"(
air: {name: demo, clock: realtime, speed: 2.5, wait_for: {transmitters: 1, receivers: 2}, seed: 9,
      control: "ipc:///tmp/x", pacing_limit_ms: 3, quantum: 1280, hearing_hz: 100, priority: 0}
nodes: {base: {}, terminal: {noise_dbfs: -53.1}}
paths:
  - {from: base, to: terminal, gain_db: -3, delay_samples: 7, channel: flat, doppler_hz: 80,
     frequency_shift_hz: -200}
  - {from: terminal, to: base}
)",
                                         "f.yaml");
    EXPECT_EQ(c.name, "demo");
    EXPECT_EQ(c.clock, clock_kind::realtime);
    EXPECT_EQ(c.speed, 2.5);
    EXPECT_EQ(c.wait_transmitters, 1);
    EXPECT_EQ(c.wait_receivers, 2);
    EXPECT_EQ(c.seed, 9u);
    EXPECT_EQ(c.control, "ipc:///tmp/x");
    EXPECT_EQ(c.pacing_limit_ms, 3);
    EXPECT_EQ(c.quantum, 1280);
    EXPECT_EQ(c.hearing_hz, 100);
    EXPECT_EQ(c.priority, 0);
    ASSERT_EQ(c.nodes.size(), 2u);
    EXPECT_FALSE(c.nodes[0].noise_dbfs.has_value());
    EXPECT_EQ(c.nodes[1].noise_dbfs, -53.1);
    ASSERT_EQ(c.paths.size(), 2u);
    EXPECT_EQ(c.paths[0].to, 1u);
    EXPECT_EQ(c.paths[0].gain_db, -3);
    EXPECT_EQ(c.paths[0].delay_samples, 7);
    ASSERT_TRUE(c.paths[0].channel.has_value());
    EXPECT_EQ(c.paths[0].channel->profile.name, "flat");
    EXPECT_EQ(doppler_of(c.paths[0]), 80);
    EXPECT_EQ(c.paths[0].frequency_shift_hz, -200);
    EXPECT_FALSE(c.paths[1].channel.has_value());
}

TEST(AirConfig, reads_channels_and_impairments) {
    using namespace wip::sample_model;
    const medium_config c = parse_config(R"(
air: {name: demo}
nodes: {base: , terminal: {impairments: [{cfo_hz: 3000}, {clock_ppm: 5}, {image_db: 30},
        {dc_dbfs: -40}, {adc_bits: 12}, {gap: {samples: 100, start_s: 2, period_s: 3}}]}}
paths:
  - {from: base, to: terminal, channel: jakes, doppler_hz: 125}
  - {from: base, to: terminal, channel: tdl-a, delay_spread_ns: 100,
     impairments: [{tone: {dbfs: -30, hz: 1e6}}, {clock: {ppm: -2, start_delay_samples: 40}}]}
  - {from: base, to: terminal, channel: awgn}
)",
                                         "f.yaml");
    const auto& list = c.nodes[1].impairments;
    ASSERT_EQ(list.size(), 6u);
    EXPECT_EQ(std::get<cfo_config>(list[0]).hz, 3000);
    EXPECT_EQ(std::get<clock_offset_config>(list[1]).ppm, 5);
    EXPECT_EQ(std::get<iq_imbalance_config>(list[2]).image_rejection_db, 30);
    EXPECT_EQ(std::get<dc_offset_config>(list[3]).dbfs, -40);
    EXPECT_EQ(std::get<quantiser_config>(list[4]).bits, 12);
    EXPECT_EQ(std::get<gap_config>(list[5]).period_s, 3);
    EXPECT_EQ(c.paths[0].channel->profile.taps.size(), 10u);
    EXPECT_EQ(doppler_of(c.paths[0]), 125);
    EXPECT_NEAR(c.paths[1].channel->profile.rms_delay_spread_s(), 100e-9, 2e-9);
    EXPECT_EQ(std::get<tone_config>(c.paths[1].impairments[0]).hz, 1e6);
    EXPECT_EQ(std::get<clock_offset_config>(c.paths[1].impairments[1]).ppm, -2);
    EXPECT_EQ(c.paths[2].channel->profile.name, "awgn");
}

TEST(AirConfig, takes_speed_shadowing_and_user_from_the_path_and_the_rest_from_the_definition) {
    using namespace wip::sample_model;
    const medium_config c = parse_config(R"(
air: {name: demo, seed: 3}
nodes: {base: , terminal: }
paths:
  - {from: base, to: terminal, channel: jakes}
  - {from: base, to: terminal, channel: jakes, speed_kmh: 150, shadowing: on}
  - {from: base, to: terminal, channel: eva, shadowing: 6, carrier_hz: 9e8}
  - {from: base, to: terminal, channel: two-user, user: 1}
  - {from: base, to: terminal, channel: hst}
  - {from: base, to: terminal, channel: blackout}
)",
                                         "f.yaml");
    EXPECT_NEAR(doppler_of(c.paths[0]), 125.1, 0.05);
    EXPECT_FALSE(c.paths[0].channel->large_scale.shadowing);
    EXPECT_NEAR(doppler_of(c.paths[1]), 250.2, 0.1);
    EXPECT_EQ(c.paths[1].channel->large_scale.shadowing->deviation_db, 4);
    EXPECT_EQ(c.paths[2].channel->large_scale.shadowing->deviation_db, 6);
    EXPECT_NEAR(doppler_of(c.paths[2]), 35.02, 0.05);
    EXPECT_EQ(c.paths[2].user, 2u);
    EXPECT_TRUE(c.paths[3].channel->large_scale.path_loss);
    EXPECT_TRUE(std::holds_alternative<waypoint_track>(c.paths[3].channel->movement.path));
    EXPECT_TRUE(std::holds_alternative<passing_train>(c.paths[4].channel->movement.path));
    EXPECT_EQ(c.paths[5].channel->large_scale.blackouts.size(), 1u);
}

TEST(AirConfig, refuses_bad_channels_and_impairments_with_their_place) {
    const auto of_node = [](const std::string& list) {
        return error_of("air: {name: x}\nnodes: {a: {impairments: " + list + "}}");
    };
    EXPECT_EQ(of_node("[{adc_bits: 12}, {adc_bits: 40}]"),
              "f.yaml:2: nodes.a.impairments is [{adc_bits: 12}, {adc_bits: 40}]: [1].adc_bits: "
              "quantiser bits is 40; valid: 2..16");
    for (const char* list :
         {"3", "[3]", "[{}]", "[{cfo_hz: x}]", "[{cfo_hz: 1, dc_dbfs: -3}]", "[{hum: 50}]",
          "[{cfo: {herz: 1}}]", "[{tone: 3}]", "[{clock_ppm: 200}]", "[{clock: {ppm: -101}}]",
          "[{clock: {ppm: 1, max_delay_samples: 1e6}}]", "[{clock_ppm: 1}, {clock_ppm: 2}]",
          "[{timing_jump: {samples: 0}}]"})
        EXPECT_TRUE(is_about(of_node(list), "nodes\\.a\\.impairments is ")) << of_node(list);
    for (const char* channel :
         {"channel: urban", "channel: jakes, delay_spread_ns: 100",
          "channel: tdl-a, delay_spread_ns: 0", "channel: [jakes]", "channel: hst, speed_kmh: 30",
          "channel: two-user, user: 2", "channel: jakes, shadowing: much", "user: -1",
          "channel: jakes, shadowing: 21", "channel: jakes, speed_kmh: 30, doppler_hz: 3",
          "channel: /nowhere.yaml"}) {
        const std::string e = error_of("air: {name: x}\nnodes: {a: {}}\npaths: [{from: a, to: a, " +
                                       std::string(channel) + "}]");
        EXPECT_TRUE(is_about(e, "paths\\[0\\]\\.")) << e;
        EXPECT_EQ(e.find('\n'), std::string::npos) << e;
    }
}

// Each is allowed; the transmitter's FIFO has to hold all of them.
TEST(AirConfig, refuses_delays_that_a_transmitter_cannot_hold_together) {
    const auto with = [](const std::string& jumps, const std::string& receiver,
                         const std::string& air = "name: x") {
        return error_of("air: {" + air + "}\nnodes: {a: {}, b: {impairments: [" + receiver +
                        "]}}\npaths: [{from: a, to: b, delay_samples: 65536, impairments: [" +
                        jumps + "]}]");
    };
    const std::string jump = "{timing_jump: {max_delay_samples: 65536}}";
    EXPECT_EQ(with("{clock_ppm: 1}, {timing_jump: {}}", jump), "accepted");
    EXPECT_EQ(with(jump + ", " + jump, "{clock_ppm: 1}"), "accepted");
    const std::string key = "paths\\[0\\]\\.impairments is .*valid: up to ";
    for (const std::string& e : {with(jump + ", " + jump + ", {clock_ppm: 1}", ""),
                                 with(jump + ", " + jump, "{timing_jump: {}}, " + jump)})
        EXPECT_TRUE(is_about(e, key + "256000 in all")) << e;
    const auto e = with(jump + ", {timing_jump: {}}", jump, "name: x, quantum: 65536");
    EXPECT_TRUE(is_about(e, key + "195584 in all")) << e;
    EXPECT_TRUE(is_about(with("{timing_jump: {}}", jump + ", " + jump + ", " + jump),
                         "nodes\\.b\\.impairments is "));
}

TEST(AirConfig, a_trace_is_read_as_the_account_and_refers_to_the_receivers_noise) {
    namespace sample_model = wip::sample_model;
    std::vector<std::string> asked;
    const auto rows = std::make_shared<sample_model::trace_rows>(2);
    const read_trace_fn read = [&](const std::string& file, const std::string& user) {
        asked = {file, user};
        if (file == "bad.h5") throw std::runtime_error("bad.h5: cannot be read: No such file");
        if (file == "loud.h5")
            return std::make_shared<sample_model::trace_rows>(1, [] {
                sample_model::bin_gains_db row{};
                row[3] = 81;
                return row;
            }());
        return rows;
    };
    const auto with = [](const std::string& path, const std::string& receiver = "noise_dbfs: -40") {
        return "air: {name: x, user: root}\nnodes: {base: {}, terminal: {" + receiver +
               "}}\npaths: [{from: base, to: terminal, " + path + "}]\n";
    };
    const medium_config c = parse_config(with("gain_db: -3, channel: t.h5"), "f.yaml", read);
    EXPECT_EQ(asked, (std::vector<std::string>{"t.h5", "root"}));
    ASSERT_TRUE(c.paths[0].trace && !c.paths[0].channel);
    EXPECT_EQ(c.paths[0].trace->rows, rows);
    EXPECT_NEAR(c.paths[0].trace->unit_snr_db, -15 - 3 + 40 + 1.864, 1e-3);
    EXPECT_EQ(parse_config(with("channel: t.h5, trace_snr_db: 30", ""), "f.yaml", read)
                  .paths[0]
                  .trace->unit_snr_db,
              30);
    const auto why = [&](const std::string& text, bool plays = true) {
        try {
            parse_config(text, "f.yaml", plays ? read : read_trace_fn{});
        } catch (const wip::config::error& e) {
            return std::string(e.what());
        }
        return std::string("taken");
    };
    for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
             {with("channel: t.h5", ""), "paths[0].channel is t.h5; valid: trace_snr_db"},
             {with("channel: bad.h5"), "bad.h5: cannot be read: No such file"},
             {with("channel: loud.h5"), "is 81 dB; valid: -60..80"},
             {with("channel: t.h5, speed_kmh: 3"),
              "paths[0].speed_kmh is 3; valid: none beside a trace"},
             {with("channel: t.h5, shadowing: on"), "paths[0].shadowing is on; valid: off"}})
        EXPECT_NE(why(text).find(part), std::string::npos) << why(text);
    EXPECT_NE(why(with("channel: t.h5"), false)
                  .find("this program plays no SNR traces; valid: a channel definition"),
              std::string::npos);
}

TEST(AirConfig, defaults_to_lockstep_at_the_speed_of_the_wall_clock) {
    const medium_config c = parse_config("air: {name: x}\nnodes: {a: }\n", "f.yaml");
    EXPECT_EQ(c.clock, clock_kind::lockstep);
    EXPECT_EQ(c.speed, 1);
    EXPECT_EQ(c.wait_transmitters, 0);
    EXPECT_TRUE(c.paths.empty());
    // The table's defaults are those of a medium that a program makes.
    const medium_config own;
    EXPECT_EQ(c.pacing_limit_ms, own.pacing_limit_ms);
    EXPECT_EQ(c.quantum, own.quantum);
    EXPECT_EQ(c.priority, own.priority);
    EXPECT_EQ(c.hearing_hz, own.hearing_hz);
    EXPECT_EQ(c.seed, own.seed);
    EXPECT_EQ(parse_config(with_air("clock: realtime"), "f.yaml").quantum, realtime_quantum);
}

TEST(AirConfig, every_impairment_and_field_of_the_table_is_known_to_the_medium) {
    const auto& kinds = wip::config::impairments();
    EXPECT_EQ(kinds.size(), std::variant_size_v<wip::sample_model::impairment_config>);
    for (const auto& kind : kinds)
        for (const auto& field : kind.fields) {
            const std::string e = error_of(
                "air: {name: x}\nnodes: {a: }\npaths:\n- {from: a, to: a, impairments: [{" +
                kind.name + ": {" + field + ": 1}}]}");
            EXPECT_TRUE(e == "accepted" || is_about(e, "paths\\[0\\]\\.impairments is ")) << e;
        }
}

TEST(AirConfig, an_error_names_file_key_value_and_what_would_be_valid) {
    EXPECT_EQ(error_of(with_air("speed: fast")),
              "f.yaml:1: air.speed is fast; valid: a number 0, or 0.001..100 (0: as "
              "fast as the "
              "stations can)");
    EXPECT_EQ(error_of(with_air("wait_for: {receivers: -1}")),
              "f.yaml:1: air.wait_for.receivers is -1; valid: an integer 0..64");
    EXPECT_EQ(error_of(with_air("clock: sundial")),
              "f.yaml:1: air.clock is sundial; valid: one of: lockstep, realtime");
}

TEST(AirConfig, refuses_unknown_keys_wrong_types_and_ranges_at_every_level) {
    for (const char* text :
         {"",
          "- a",
          "air: {name: x}\n",
          "air: {}\nnodes: {a: {}}",
          "air: x\nnodes: {a: {}}",
          "air: {name: x}\nnodes: {a: {}}\nextra: 1",
          "air: {name: x}\nnodes: [a]",
          "air: {name: x}\nnodes: {a: 1}",
          "air: {name: x}\nnodes: {a: {noise: -3}}",
          "air: {name: x}\nnodes: {a: {noise_dbfs: loud}}",
          "air: {name: x}\nnodes: {a: {noise_dbfs: 101}}",
          "air: {name: x}\nnodes: {a: {}}\npaths: {from: a, to: a}",
          "air: {name: x}\nnodes: {a: {}}\npaths: [{from: a}]",
          "air: {name: x}\nnodes: {a: {}}\npaths: [{from: a, to: a, channel: nonsense}]",
          "air: {name: x}\nnodes: {a: {}}\npaths: [{from: a, to: a, delay_samples: 65537}]",
          "air: {name: x}\nnodes: {a: {}}\npaths: [{from: a, to: a, delay_samples: 1.5}]",
          "air: {name: x}\nnodes: {a: {}}\npaths: [{from: a, to: a, gain: 3}]",
          "air: {name: ''}\nnodes: {a: {}}",
          "air: {name: a/b}\nnodes: {a: {}}",
          "air: [1",
          "\t"}) {
        const std::string e = error_of(text);
        EXPECT_TRUE(is_about(e, "")) << text << " -> " << e;
        EXPECT_EQ(e.find('\n'), std::string::npos) << e;
    }
    for (const char* setting :
         {"speed: -1", "speed: 101", "speed: 0.0001", "speed: .nan", "clock: realtime, speed: 0",
          "seed: -1", "seed: x", "control: /tmp/x", "control: 'tcp://0.0.0.0:1'",
          "pacing_limit_ms: 0", "quantum: 63", "quantum: 1e3", "hearing_hz: -1", "priority: 100",
          "wait_for: 1", "wait_for: {senders: 1}"})
        EXPECT_TRUE(is_about(error_of(with_air(setting)), "air\\."))
            << setting << " -> " << error_of(with_air(setting));
}

TEST(AirConfig, a_node_that_sends_has_no_clock_of_its_own) {
    const std::string e = error_of(
        "air: {name: x}\nnodes: {a: {impairments: [{clock_ppm: 5}]}, b: {}}\npaths: [{from: a, to: "
        "b}]");
    EXPECT_TRUE(is_about(e, "paths\\[0\\]\\.from is a; valid: a node without a clock")) << e;
}
