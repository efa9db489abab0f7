// SPDX-License-Identifier: GPL-3.0-or-later
// Settings of a running medium: what is taken, what is refused with a reason, what is read back.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "medium/air_config.h"
#include "medium/controlled_medium.h"

using namespace wip::air;

namespace {

constexpr const char* demo = R"(
air: {name: t, clock: lockstep, speed: 1, seed: 3}
nodes: {base: {}, terminal: {noise_dbfs: -29.1359}}
paths: [{from: base, to: terminal, channel: awgn, shadowing: off, user: 0}]
)";

struct ChannelControl : testing::Test {
    ChannelControl() { start(demo); }
    void start(const std::string& yaml) {
        config = parse_config(yaml, "t.yaml");
        control.emplace(config, what_holds(config),
                        [this](medium_changes c) -> std::optional<tick> {
                            if (!running) return std::nullopt;
                            for (auto& one : c) taken.push_back(std::move(one));
                            return 5120 * 100;
                        });
    }
    // Empty when it was taken.
    std::string set(const std::string& yaml, tick now = 0) {
        try {
            control->configure(yaml, now);
            return {};
        } catch (const wip::config::error& e) {
            return e.what();
        }
    }
    bool has(const std::string& line, tick now = 0) const {
        return control->settings(now).find("  " + line + "\n") != std::string::npos;
    }
    medium_config config;
    std::optional<channel_control> control;
    std::vector<medium_change> taken;
    bool running = true;
};

}  // namespace

TEST_F(ChannelControl, says_what_it_began_with) {
    EXPECT_TRUE(has("model: awgn")) << control->settings(0);
    EXPECT_TRUE(has("snr_db: 16")) << control->settings(0);
    EXPECT_TRUE(has("speed_kmh: own"));
    EXPECT_TRUE(has("shadowing: off"));
    EXPECT_TRUE(has("blackout: off"));
    EXPECT_TRUE(has("seed: 3"));
}

TEST_F(ChannelControl, a_channel_is_prepared_and_read_back_with_its_slot) {
    EXPECT_EQ(set("channel: {model: etu, speed_kmh: 60, snr_db: 20.5}"), "");
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_TRUE(taken[0].channel);
    EXPECT_NEAR(*taken[0].noise_dbfs, -33.6359, 1e-3);
    EXPECT_FALSE(taken[0].dark);
    EXPECT_TRUE(has("model: etu"));
    EXPECT_TRUE(has("speed_kmh: 60"));
    EXPECT_TRUE(has("snr_db: 20.5"));
    ASSERT_EQ(control->last_changes().size(), 3U);
    EXPECT_EQ(control->last_changes()[0].key, "channel.model");
    EXPECT_EQ(control->last_changes()[0].from, "awgn");
    EXPECT_EQ(control->last_changes()[0].to, "etu");
}

TEST_F(ChannelControl, what_is_as_it_was_is_no_change) {
    EXPECT_EQ(set("channel: {model: awgn, snr_db: 16, blackout: off}"), "");
    EXPECT_TRUE(taken.empty());
}

TEST_F(ChannelControl, only_the_noise_changes_with_the_snr) {
    EXPECT_EQ(set("channel: {snr_db: 3}"), "");
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_FALSE(taken[0].channel);
}

TEST_F(ChannelControl, an_snr_is_that_of_the_level_that_the_base_station_sends_at) {
    start(R"(
air: {name: t, clock: lockstep, speed: 1, seed: 3}
nodes: {base: {transmit_dbfs: -25}, terminal: {noise_dbfs: -24.1359}}
paths: [{from: base, to: terminal, gain_db: 15, channel: awgn}]
)");
    EXPECT_TRUE(has("snr_db: 16")) << control->settings(0);
    EXPECT_EQ(set("channel: {snr_db: 10}"), "");
    EXPECT_NEAR(taken.at(0).noise_dbfs.value(), -18.1359, 1e-3);
}

TEST_F(ChannelControl, a_blackout_has_a_length_or_none) {
    EXPECT_EQ(set("channel: {blackout: 200}"), "");
    ASSERT_TRUE(taken.at(0).dark);
    EXPECT_EQ(taken[0].dark->length, 1536000);
    EXPECT_EQ(taken[0].dark->loss_db, 100);
    EXPECT_TRUE(has("blackout: 200", 5120 * 100 + 1535999));
    EXPECT_TRUE(has("blackout: off", 5120 * 100 + 1536000));
    EXPECT_EQ(set("channel: {blackout: on}", 5120 * 1000), "");
    EXPECT_EQ(taken.at(1).dark->length, never);
    EXPECT_TRUE(has("blackout: on", tick{1} << 50));
    EXPECT_EQ(set("channel: {blackout: off}", 5120 * 2000), "");
    EXPECT_EQ(taken.at(2).dark->loss_db, 0);
    EXPECT_TRUE(has("blackout: off", 5120 * 2000));
}

TEST_F(ChannelControl, a_channel_that_moves_by_itself_takes_no_speed_and_forgets_the_old_one) {
    EXPECT_EQ(set("channel: {model: flat, speed_kmh: 50}"), "");
    EXPECT_EQ(set("channel: {model: hst}"), "");
    EXPECT_TRUE(has("speed_kmh: own"));
    EXPECT_NE(set("channel: {speed_kmh: 20}"), "");
    EXPECT_TRUE(has("speed_kmh: own"));
    EXPECT_NE(set("channel: {model: two-user, user: 7}"), "");
    EXPECT_TRUE(has("model: hst"));
}

TEST_F(ChannelControl, whatever_is_refused_changes_nothing_and_names_the_key) {
    const std::string before = control->settings(0);
    const auto refused = [&](const std::string& yaml, const std::string& key) {
        const std::string why = set(yaml);
        EXPECT_NE(why.find(key), std::string::npos) << yaml << ": " << why;
        EXPECT_EQ(why.find('\n'), std::string::npos) << why;
        EXPECT_EQ(control->settings(0), before) << yaml;
    };
    refused("channel: {snr_db: 10, model: moon}", "moon");
    refused("channel: {model: flat, speed_kmh: 501}", "channel.speed_kmh");
    refused("channel: {snr_db: loud}", "channel.snr_db");
    refused("channel: {blackout: 0}", "channel.blackout");
    refused("channel: {blackout: maybe}", "channel.blackout");
    refused("channel: {shadowing: 21}", "channel.shadowing");
    refused("channel: {doppler_hz: 7}", "channel.doppler_hz");
    refused("channel: {colour: red}", "channel.colour");
    refused("air: {speed: 2}", "air");
    refused("nodes: {base: {}}", "nodes");
    refused("channel: 7", "channel");
    refused("{", "YAML");
    EXPECT_TRUE(taken.empty());
    running = false;
    refused("channel: {snr_db: 10}", "not running");
}

TEST_F(ChannelControl, a_trace_has_all_of_its_own_but_the_blackout_until_another_channel_comes) {
    config.paths[0].request.model = "t.h5";
    config.paths[0].channel.reset();
    config.paths[0].trace = {std::make_shared<wip::sample_model::trace_rows>(3), 30};
    control.emplace(config, "", [this](medium_changes c) -> std::optional<tick> {
        for (auto& one : c) taken.push_back(std::move(one));
        return 5120 * 100;
    });
    EXPECT_TRUE(has("model: t.h5")) << control->settings(0);
    for (const char* key : {"snr_db", "speed_kmh", "user"})
        EXPECT_NE(set("channel: {" + std::string(key) + ": 3}").find("a trace, which has its own"),
                  std::string::npos);
    EXPECT_NE(set("channel: {shadowing: on}").find("a trace, which has its own"),
              std::string::npos);
    // Files are read at the start: names of files are not even looked at.
    for (const std::string model : {"u.h5", "/tmp/u.h5", "../u.h5", "/tmp/u.yaml"})
        EXPECT_NE(set("channel: {model: " + model + "}")
                      .find("channel.model is " + model + "; valid: one of: awgn, "),
                  std::string::npos)
            << model;
    EXPECT_TRUE(taken.empty());
    EXPECT_EQ(set("channel: {blackout: 100}"), "");
    EXPECT_EQ(set("channel: {model: epa, speed_kmh: 3, snr_db: 20}", 5120 * 3000), "");
    ASSERT_EQ(taken.size(), 2U);
    EXPECT_TRUE(taken[1].channel && taken[1].noise_dbfs);
    EXPECT_TRUE(has("model: epa")) << control->settings(0);
}

constexpr const char* three_paths = R"(
air: {name: t, seed: 3}
nodes: {base: {}, relay: {}, terminal: {noise_dbfs: -29.1359}}
paths:
  - {from: base, to: terminal, channel: awgn}
  - {from: relay, to: terminal, gain_db: -6, channel: flat, speed_kmh: 3}
  - {from: terminal, to: base}
  - {from: base, to: terminal, channel: epa}
)";

TEST_F(ChannelControl, each_of_several_paths_changes_by_its_name) {
    start(three_paths);
    EXPECT_EQ(set("paths: {'relay:terminal': {channel: {model: etu}},"
                  " 'base:terminal:2': {channel: {speed_kmh: 75}}}"),
              "");
    ASSERT_EQ(taken.size(), 2U);
    EXPECT_EQ(taken[0].path, 1U);
    EXPECT_EQ(taken[1].path, 3U);
    EXPECT_TRUE(taken[0].channel && taken[1].channel);
    ASSERT_EQ(control->last_changes().size(), 2U);
    EXPECT_EQ(control->last_changes()[0].key, "paths.relay:terminal.channel.model");
    EXPECT_EQ(control->last_changes()[1].key, "paths.base:terminal:2.channel.speed_kmh");
    const auto reported = YAML::Load(control->settings(0));
    EXPECT_FALSE(reported["channel"]);
    EXPECT_EQ(reported["paths"].size(), 4U);
    EXPECT_EQ(reported["paths"]["relay:terminal"]["channel"]["model"].Scalar(), "etu");
    EXPECT_EQ(reported["paths"]["base:terminal"]["channel"]["model"].Scalar(), "awgn");
    EXPECT_EQ(reported["paths"]["base:terminal:2"]["channel"]["speed_kmh"].Scalar(), "75");
}

TEST_F(ChannelControl, noise_and_blackout_are_those_of_all_paths_to_a_receiver) {
    start(three_paths);
    EXPECT_EQ(set("paths: {'base:terminal': {channel: {snr_db: 20, blackout: 200}}}"), "");
    ASSERT_EQ(taken.size(), 1U);
    const auto reported = YAML::Load(control->settings(0))["paths"];
    EXPECT_EQ(reported["relay:terminal"]["channel"]["snr_db"].Scalar(), "14");
    EXPECT_EQ(reported["relay:terminal"]["channel"]["blackout"].Scalar(), "200");
    EXPECT_EQ(reported["terminal:base"]["channel"]["blackout"].Scalar(), "off");
    EXPECT_EQ(control->last_changes().size(), 6U);  // the changes of three paths
    const std::string both =
        set("paths: {'base:terminal': {channel: {snr_db: 3}},"
            " 'relay:terminal': {channel: {snr_db: 9}}}");
    EXPECT_NE(both.find("paths.relay:terminal.channel.snr_db is 9: with "
                        "paths.base:terminal.channel.snr_db, which has the same receiver"),
              std::string::npos)
        << both;
    EXPECT_EQ(taken.size(), 1U);
}

TEST_F(ChannelControl, a_path_that_there_is_not_is_refused_with_those_that_are) {
    start(three_paths);
    const std::string before = control->settings(0);
    const std::string valid = "base:terminal, relay:terminal, terminal:base, base:terminal:2";
    const std::string keyed = "valid: paths.NAME.channel.model, NAME one of: " + valid;
    EXPECT_NE(set("channel: {model: flat}").find(keyed), std::string::npos);
    for (const std::string name : {"relay", "base:terminal:3", "0"})
        EXPECT_NE(set("paths: {'" + name + "': {channel: {model: flat}}}")
                      .find("there is no path paths." + name + "; valid: " + valid),
                  std::string::npos);
    // One of two is not taken: nothing is.
    EXPECT_NE(
        set("paths: {'base:terminal': {channel: {model: flat}},"
            " 'terminal:base': {channel: {snr_db: 9}}}")
            .find("paths.terminal:base.channel.snr_db is 9: the receiver of this path has no"),
        std::string::npos);
    for (const std::string bad :
         {"paths: {'base:terminal': {gain_db: 3}}", "paths: [{gain_db: 3}]", "paths: 3",
          "paths: {'base:terminal': {channel: {model: fog}}}", "nodes: {base: {noise_dbfs: 3}}"})
        EXPECT_NE(set(bad), "") << bad;
    EXPECT_EQ(control->settings(0), before);
    EXPECT_TRUE(taken.empty());
}

TEST_F(ChannelControl, the_only_path_has_a_name_too) {
    EXPECT_EQ(set("paths: {'base:terminal': {channel: {snr_db: 9}}}"), "");
    EXPECT_TRUE(has("snr_db: 9")) << control->settings(0);
    EXPECT_EQ(control->last_changes().at(0).key, "paths.base:terminal.channel.snr_db");
    EXPECT_NE(set("paths: {'base:terminal': {channel: {snr_db: 8}}}\nchannel: {snr_db: 7}")
                  .find("is given beside channel"),
              std::string::npos);
}

TEST_F(ChannelControl, an_snr_needs_noise) {
    start(R"(
air: {name: t}
nodes: {a: {}, b: {}}
paths: [{from: a, to: b, channel: flat}]
)");
    EXPECT_NE(set("channel: {snr_db: 10}").find("no noise"), std::string::npos);
    EXPECT_EQ(set("channel: {speed_kmh: 3}"), "");
}
