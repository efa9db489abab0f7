// SPDX-License-Identifier: GPL-3.0-or-later
// UMTS bearers whose block errors come from the WCDMA cells, or from a chain of three states:
// settings that are refused, the fate of packets, and what the base station reports.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cells/wcdma_cells.h"
#include "emulator/delayed_path.h"
#include "emulator/emulator_config.h"

using namespace wip;
using namespace wip::emulator;

namespace {

constexpr std::int64_t ms = 1'000'000;

emulator_config made(const std::vector<const char*>& assignments) {
    config::settings s(emulator_keys());
    s.merge_assignment("link.kind=umts");
    s.merge_assignment("terminal.namespace=t");
    for (const auto* a : assignments) s.merge_assignment(a);
    return translate(s);
}

std::string refusal(const std::vector<const char*>& assignments) {
    try {
        made(assignments);
    } catch (const config::error& e) {
        return e.what();
    }
    return "";
}

openwip::control::MacStatus base_of(const pair_path& path) {
    openwip::control::MacStatus status;
    path.fill_base(status);
    return status;
}

// A full block for each terminal and interval.
void send(pair_path& path, int users, std::int64_t from_ms, std::int64_t to_ms) {
    const std::vector<std::uint8_t> packet(100, 0x45);
    for (std::int64_t t = from_ms; t < to_ms; t += 10) {
        for (int u = 0; u < users; ++u) path.downlink().offer(packet, t * ms, u);
        path.links.advance(t * ms);
    }
}

}  // namespace

TEST(WcdmaLinks, TheirSettingsReachTheCells) {
    const auto c = made({"umts.error_model=cells", "terminals=3", "cells.count=19", "cells.wrap=on",
                         "cells.users=90", "cells.carriers=3", "cells.spreading=16",
                         "cells.direction=downlink", "cells.orthogonality=0.4",
                         "cells.doppler_hz=80", "cells.loop_slots=4", "cells.eesm_beta=0.5",
                         "cells.margin_db=1", "cells.curve_db=0", "cells.speed_kmh=50"})
                       .wcdma;
    EXPECT_EQ(c.cells, 19);
    EXPECT_TRUE(c.wrap);
    EXPECT_EQ(c.users, 90);
    EXPECT_EQ(c.carriers, 3);
    EXPECT_EQ(c.spreading, 16);
    EXPECT_EQ(c.of, cells::direction::downlink);
    EXPECT_EQ(c.orthogonality, 0.4);
    EXPECT_EQ(c.doppler_hz, 80);
    EXPECT_EQ(c.loop_slots, 4);
    EXPECT_EQ(c.eesm_beta, 0.5);
    EXPECT_EQ(c.margin_db, 1);
    EXPECT_EQ(c.curve_db, 0);
    EXPECT_EQ(c.speed_kmh, 50);
    EXPECT_EQ(made({"terminals=5"}).wcdma.users, 5);
    EXPECT_EQ(made({}).wcdma, cells::cells_config());
}

TEST(WcdmaLinks, WhatCannotBeIsRefused) {
    for (const auto& [assignments, why] :
         std::vector<std::pair<std::vector<const char*>, const char*>>{
             {{"terminals=4", "cells.users=3"}, "at least terminals = 4"},
             {{"cells.count=8", "cells.wrap=on"}, "7, 19 or 37 with wrap-around"},
             {{"umts.error_model=cells", "umts.profile=lundsten-384"}, "TTI is 10 ms"},
             {{"umts.up_error_model=cells", "umts.profile=gprs"}, "TTI is 10 ms"},
             {{"umts.error_model=chain3", "umts.errors=0.7", "umts.error_p12=0.1",
               "umts.error_p22=0.1"},
              ": umts.errors is 0.7; valid: at most 0.5263157895 with umts.error_p12 = 0.1 and "
              "umts.error_p22 = 0.1"},
             {{"umts.error_p12=1.5"}, "umts.error_p12"}}) {
        const std::string text = refusal(assignments);
        EXPECT_NE(text.find(why), std::string::npos) << why << ": " << text;
    }
}

// All 160 users of the text's layout can be terminals; other links have at most 25.
TEST(WcdmaLinks, EveryUserCanBeATerminal) {
    const auto config = made({"umts.error_model=cells", "umts.mode=um", "terminals=160",
                              "umts.profile=smaragdakis-120", "cells.carriers=3"});
    EXPECT_EQ(config.wcdma.users, 160);
    EXPECT_EQ(config.terminals.back().tun.address, "10.42.0.161/30");
    pair_path path(config);
    std::array<int, 160> arrived{};
    path.downlink().deliver_to([&](const link_packet& p) {
        ++arrived[static_cast<std::size_t>(p.tag)];
        return 0;
    });
    send(path, 160, 0, 1000);
    for (const int n : arrived) EXPECT_GT(n, 50);
    const auto status = base_of(path);
    EXPECT_EQ(status.users_size(), 160);
    EXPECT_EQ(status.wcdma().users_size(), 160);

    EXPECT_EQ(refusal({"terminals=251"}).find("terminals is 251") == std::string::npos, false);
    EXPECT_EQ(made({"terminals=250"}).terminals.back().tun.address, "10.42.0.251/30");
    EXPECT_EQ(refusal({"link.kind=wlan", "terminals=25"}), "");
    EXPECT_NE(refusal({"link.kind=wlan", "terminals=26"})
                  .find("terminals is 26; valid: up to 25, and up to 250 with link.kind = umts"),
              std::string::npos)
        << refusal({"link.kind=wlan", "terminals=26"});
}

TEST(WcdmaLinks, AChainOfThreeStatesHasItsParametersInBothDirections) {
    const auto b = made({"umts.error_model=chain3", "umts.errors=0.1", "umts.up_errors=0.05",
                         "umts.error_p12=0.3", "umts.error_p22=0.6", "umts.up_error_p22=0.2"})
                       .bearer;
    EXPECT_EQ(b.errors_down.model, umts::error_model::chain3);
    EXPECT_EQ(b.errors_up.model, umts::error_model::chain3);
    EXPECT_EQ(b.errors_down.p12, 0.3);
    EXPECT_EQ(b.errors_down.p22, 0.6);
    EXPECT_EQ(b.errors_up.p12, 0.3);
    EXPECT_EQ(b.errors_up.p22, 0.2);
    // The uplink has block errors of the cells only where it names them.
    EXPECT_EQ(made({"umts.error_model=cells"}).bearer.errors_up.model, umts::error_model::uniform);
}

// Each terminal loses the blocks that its user of the cells loses; nothing is sent again.
TEST(WcdmaLinks, ATerminalLosesTheBlocksOfItsUser) {
    const auto config = made({"umts.error_model=cells", "umts.mode=um", "terminals=3",
                              "umts.profile=smaragdakis-120", "cells.users=160", "cells.carriers=3",
                              "cells.doppler_hz=80", "seed=4"});
    pair_path path(config);
    cells::wcdma_cells cells(config.wcdma, config.bearer.seed);
    constexpr int blocks = 1000;
    send(path, 3, 0, blocks * 10);
    std::array<std::uint64_t, 3> lost{};
    // The first packets are in the core network when the link begins.
    const auto status = base_of(path);
    ASSERT_EQ(status.users_size(), 3);
    const auto sent = static_cast<std::int64_t>(status.users(0).bearer().blocks());
    const std::int64_t first = blocks - sent;
    for (std::int64_t b = 0; b < blocks; ++b) {
        cells.advance_to(b);
        for (std::size_t u = 0; u < 3; ++u)
            if (b >= first && cells.lost(static_cast<int>(u))) ++lost[u];
    }
    EXPECT_GT(lost[0] + lost[1] + lost[2], 30U);
    for (int u = 0; u < 3; ++u) {
        EXPECT_EQ(status.users(u).bearer().blocks(), static_cast<std::uint64_t>(sent));
        EXPECT_EQ(status.users(u).bearer().blocks_lost(), lost[static_cast<std::size_t>(u)]);
    }
}

TEST(WcdmaLinks, TheBaseStationReportsEveryUserOfTheCells) {
    pair_path path(made({"umts.error_model=cells", "cells.users=20", "cells.count=7"}));
    path.links.advance(500 * ms);
    const auto status = base_of(path);
    EXPECT_EQ(status.wcdma().users_size(), 20);
    EXPECT_EQ(status.wcdma().sites_m_size(), 14);
    EXPECT_EQ(status.wcdma().side_m(), 200);
    for (const auto& user : status.wcdma().users()) {
        EXPECT_GT(user.sir_db(), 1);
        EXPECT_LT(user.sir_db(), 5);
        EXPECT_GE(user.power_dbw(), -96);
        EXPECT_LE(user.power_dbw(), -16);
        EXPECT_LT(user.cell(), 7);
    }
    // They move on while nothing is sent.
    path.links.advance(1'000 * ms);
    EXPECT_NE(base_of(path).wcdma().users(0).sir_db(), status.wcdma().users(0).sir_db());
    EXPECT_FALSE(base_of(pair_path(made({}))).has_wcdma());
}

// A running link is switched over to the cells and back.
TEST(WcdmaLinks, ARunningLinkIsSwitchedToTheCells) {
    const auto plain = made({"cells.users=160", "cells.carriers=3", "cells.doppler_hz=80"});
    const auto from_cells = made(
        {"umts.error_model=cells", "cells.users=160", "cells.carriers=3", "cells.doppler_hz=80"});
    pair_path path(plain);
    send(path, 1, 0, 5000);
    EXPECT_EQ(base_of(path).bearer().blocks_lost(), 0U);
    path.carrier->apply(from_cells, 5'000 * ms);
    send(path, 1, 5000, 25'000);
    const auto lost = base_of(path).bearer().blocks_lost();
    EXPECT_GT(lost, 10U);
    path.carrier->apply(plain, 25'000 * ms);
    send(path, 1, 25'000, 35'000);
    EXPECT_EQ(base_of(path).bearer().blocks_lost(), lost);
}
