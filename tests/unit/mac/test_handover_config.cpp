// SPDX-License-Identifier: GPL-3.0-or-later
// How networks, places, plans and chains are written, and what is refused.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "handover/handover.h"
#include "handover/handover_config.h"
#include "packet/wired_link.h"

namespace wip::hetnet {
namespace {

constexpr std::int64_t ms = 1'000'000, s = 1'000'000'000;

handover::make_line lines() {
    return [purpose = 1U](handover::way) mutable {
        return std::make_unique<packet_model::wired_link>(packet_model::wired_config{}, purpose++);
    };
}

handover_config config_of(const char* networks = "WLAN,UMTS,GPRS") {
    handover_config c;
    c.networks = networks_of(networks);
    return c;
}

std::string refusal(const std::function<void()>& call) {
    try {
        call();
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "";
}

TEST(HandoverConfig, NetworksAreReadAsTheyAreWritten) {
    EXPECT_EQ(networks_of("WLAN,UMTS,GPRS"), (std::vector<network>{{"WLAN", {{1000, 64, 5}}},
                                                                   {"UMTS", {{384, 32, 75}}},
                                                                   {"GPRS", {{32, 32, 350}}}}));
    EXPECT_EQ(networks_of("a_b-1:1.5/2/0+3/4/60000"),
              (std::vector<network>{{"a_b-1", {{1.5, 2, 0}, {3, 4, 60000}}}}));
    for (const auto* bad :
         {"",
          ",",
          "WLAN,",
          "LTE",
          "WLAN,WLAN",
          "a:",
          "a:1/2",
          "a:1/2/3/4",
          "a:0/1/1",
          "a:1/0.5/1",
          "a:1/1/-1",
          "a:1/1/60001",
          "a:1/1/nan",
          "a:1e8/1/1",
          "a b:1/1/1",
          "first:1/1/1",
          "a:1/1/1+",
          "abcdefghijklmnopq:1/1/1",
          "a:01/1/1",
          "a:1/1/1,b:1/1/1,c:1/1/1,d:1/1/1,e:1/1/1,f:1/1/1,g:1/1/1,h:1/1/1,i:1/1/1",
          "a:1/1/1+1/1/1+1/1/1+1/1/1+1/1/1+1/1/1+1/1/1+1/1/1+1/1/1"})
        EXPECT_NE(refusal([&] { networks_of(bad); }).find("valid: "), std::string::npos) << bad;
}

TEST(HandoverConfig, PlacesAreReadAsTheyAreWritten) {
    const auto networks = networks_of("WLAN,lab:1/1/1+2/2/2");
    EXPECT_EQ(place_of("lab.2", networks), (place{1, 1}));
    EXPECT_EQ(text_of({1, 1}, networks), "lab.2");
    EXPECT_EQ(text_of({0, 0}, networks), "WLAN");
    for (const auto* bad : {"", "LAB", "lab.0", "lab.3", "lab.x", "lab.", "WLAN.2", "lab.1.1"})
        EXPECT_NE(refusal([&] { place_of(bad, networks); }).find("valid: "), std::string::npos)
            << bad;
}

TEST(HandoverConfig, PlansAreReadAsTheyAreWritten) {
    const auto networks = networks_of("WLAN,lab:1/1/1+2/2/2");
    using unit = planned_move::unit;
    EXPECT_EQ(plan_of("30s@lab,524288B@WLAN,31.5s@lab.2", networks),
              (std::vector<planned_move>{{unit::ns, 30 * s, {1, 0}},
                                         {unit::bytes, 524288, {0, 0}},
                                         {unit::ns, 31500 * ms, {1, 1}}}));
    EXPECT_EQ(plan_of("5B+0.001s@lab", networks),
              (std::vector<planned_move>{{unit::bytes, 5, {1, 0}, ms}}));
    for (const auto* bad :
         {"5B+@lab", "5B+1B@lab", "5B+0s@lab", "1s+1s@lab", "+1s@lab", "5B+1s+1s@lab"})
        EXPECT_NE(refusal([&] { plan_of(bad, networks); }).find("valid: "), std::string::npos)
            << bad;
    EXPECT_TRUE(plan_of("", networks).empty());
    for (const auto* bad :
         {",", "30s", "30s@", "30@lab", "s@lab", "0s@lab", "-1s@lab", "1.5B@lab", "30s@UMTS",
          "2s@lab,1s@WLAN", "2s@lab,2s@WLAN", "5B@lab,5B@WLAN", "30s@lab.3", "30s@lab.0",
          "30s@lab.", "1e7s@lab", "nans@lab", "infB@lab"})
        EXPECT_NE(refusal([&] { plan_of(bad, networks); }).find("valid: "), std::string::npos)
            << bad;
}

TEST(HandoverConfig, ChainsThatAreNoneAreRefused) {
    handover_config c = config_of("WLAN,UMTS");
    EXPECT_EQ(matrix_of({0.5, 0.5, 1, 0}, 2),
              (std::vector<std::vector<double>>{{0.5, 0.5}, {1, 0}}));
    EXPECT_NE(refusal([&] { matrix_of({1, 0, 0}, 2); }), "");
    EXPECT_NE(refusal([&] { state_chains_of({1, 1, 0}, c.networks); }), "");
    EXPECT_EQ(state_chains_of({1, 1}, c.networks).size(), 2U);
    for (const auto& rows : {std::vector<std::vector<double>>{{0.5, 0.4}, {0, 1}},
                             std::vector<std::vector<double>>{{1.5, -0.5}, {0, 1}},
                             std::vector<std::vector<double>>{{1, 0}}}) {
        c.network_chain = rows;
        EXPECT_NE(refusal([&] { handover(c, lines()); }), "");
    }
    c.network_chain = {};
    c.state_chains = {{{1}}};
    EXPECT_NE(refusal([&] { handover(c, lines()); }), "");
}

TEST(HandoverConfig, AConfigurationThatCannotBeIsRefused) {
    const auto refused = [](const char* key, auto change) {
        handover_config c = config_of();
        change(c);
        return refusal([&] { handover(c, lines()); }).find(key) != std::string::npos;
    };
    EXPECT_TRUE(refused("networks", [](auto& c) { c.networks.clear(); }));
    EXPECT_TRUE(refused("state", [](auto& c) { c.networks[0].states.clear(); }));
    EXPECT_TRUE(refused("state", [](auto& c) { c.networks[0].states[0].down_kbps = 0; }));
    EXPECT_TRUE(refused("hetnet.network (", [](auto& c) { c.first = {3, 0}; }));
    EXPECT_TRUE(refused("hetnet.network (", [](auto& c) { c.first = {0, 1}; }));
    EXPECT_TRUE(refused("plan", [](auto& c) { c.plan = {{{}, 1, {-1, 0}}}; }));
    EXPECT_TRUE(refused("delay_s", [](auto& c) { c.delay_s = 601; }));
    EXPECT_TRUE(refused("network_timer_s", [](auto& c) { c.network_timer_s = 0.01; }));
    EXPECT_TRUE(refused("state_timer_ms", [](auto& c) { c.state_timer_ms = -1; }));
    EXPECT_TRUE(refused("held_mb", [](auto& c) { c.held_mb = 0; }));
}

}  // namespace
}  // namespace wip::hetnet
