// SPDX-License-Identifier: GPL-3.0-or-later
// The emulator around its cell: what it refuses, and that the statuses it reports add up.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "emulator/cell_status.h"
#include "emulator/delayed_path.h"
#include "emulator/emulator_config.h"
#include "wire/ip_header.h"

using namespace wip;
using namespace wip::emulator;

namespace {

// Checks the sums that a status reports for a direction; packets, then bytes.
void expect_sums(const openwip::control::Direction& d, const char* what) {
    auto packets = d.delivered().packets() + d.queued().packets();
    auto bytes = d.delivered().bytes() + d.queued().bytes();
    for (const auto& drop : d.dropped()) {
        packets += drop.count().packets();
        bytes += drop.count().bytes();
    }
    EXPECT_EQ(packets, d.in().packets()) << what;
    EXPECT_EQ(bytes, d.in().bytes()) << what;
}

std::vector<std::uint8_t> ip_packet(std::size_t bytes, std::uint8_t protocol = 0) {
    std::vector<std::uint8_t> p(bytes);
    p[0] = 0x45;
    p[9] = protocol;
    p[2] = static_cast<std::uint8_t>(bytes >> 8);
    p[3] = static_cast<std::uint8_t>(bytes);
    const std::uint32_t sum = ~internet_sum(std::span(p).first(20));
    p[10] = static_cast<std::uint8_t>(sum >> 8);
    p[11] = static_cast<std::uint8_t>(sum);
    return p;
}

}  // namespace

TEST(CellStatus, InIsDeliveredQueuedAndDroppedInEverySlotAndOfEveryUser) {
    config::settings s(emulator_keys());
    for (const auto* a :
         {"terminals=2", "terminal.namespace=x", "channel.snr_db=8", "link.queue_packets=20",
          "link.max_retransmissions=1", "to_base.loss=0.1", "uplink.loss=0.1"})
        s.merge_assignment(a);
    const emulator_config config = translate(s);
    emulated_cell cell(config.cell, make_sources(config));
    std::uint64_t arrived = 0;
    cell.deliver_to(
        [&](emulated_cell::side, int, std::span<const std::uint8_t>, std::int64_t) { ++arrived; });
    openwip::control::MacStatus base, terminal;
    for (slot k; k.value < 900; ++k) {
        cell.run_slot(k);
        for (int u = 0; u < 2 && k.value < 600; ++u) {
            cell.downlink().offer(ip_packet(40 + static_cast<std::size_t>(k.value)), slot_start(k),
                                  u);
            cell.uplink().offer(ip_packet(100), slot_start(k), u);
        }
        cell.release(slot_start(k + slot_count(1)));
        base.Clear();
        terminal.Clear();
        fill_base(cell, base);
        fill_terminal(cell, terminal);
        expect_sums(base.downlink(), "downlink at the base station");
        expect_sums(terminal.downlink(), "downlink at the terminal");
        expect_sums(terminal.uplink(), "uplink");
        ASSERT_FALSE(testing::Test::HasFailure()) << "slot " << k.value;
    }
    EXPECT_GT(arrived, 100U);
    EXPECT_EQ(base.users_size(), 2);
    EXPECT_EQ(terminal.users_size(), 2);
    std::map<std::string, std::uint64_t> drops;
    for (const auto& d : base.downlink().dropped()) drops[d.reason()] = d.count().packets();
    for (const char* reason : {"wired_loss", "queue_full", "retransmissions_exceeded"})
        EXPECT_GT(drops[reason], 0U) << reason;
}

TEST(EmulatorConfig, WhatPassesMayBeginWithTheRun) {
    config::settings s(emulator_keys());
    for (const auto* a : {"channel.blackout=100", "umts.spike_ms=1000"}) s.merge_assignment(a);
    const cell_path ofdm(translate(s));
    EXPECT_TRUE(ofdm.cell.dark(slot(0)) && ofdm.cell.dark(slot(149)) && !ofdm.cell.dark(slot(150)));
    s.merge_assignment("link.kind=umts");
    const auto umts = make_links(translate(s));
    EXPECT_TRUE(umts->moved_settings(999'999'999).empty());
    // Another setting, later, does not begin it again.
    umts->apply(translate(s), 5'000'000'000);
    const auto moved = umts->moved_settings(5'000'000'000);
    ASSERT_EQ(moved.size(), 1U);
    EXPECT_EQ(moved[0].key + '=' + moved[0].value, "umts.spike_ms=0");
}

TEST(EmulatorConfig, ABlackoutIsSeenThreeSlotsLateHoweverLongTheLoopIs) {
    for (const auto* loop_ms : {"2", "32"}) {
        config::settings s(emulator_keys());
        s.merge_assignment("channel.model=blackout");
        s.merge_assignment(std::string("link.retransmission_delay_ms=") + loop_ms);
        const auto sources = make_sources(translate(s));
        const auto dark = [](auto& object, std::int64_t k, auto ask) {
            std::array<float, nof_bins> snr;
            (object.*ask)(slot(k), snr);
            return *std::ranges::max_element(snr) < 1e-6F;
        };
        using bin_model::bin_channel, bin_model::bin_prediction;
        std::int64_t begins = 0, seen = 0;
        while (!dark(*sources[0].channel, begins, &bin_channel::snr)) ++begins;
        while (!dark(*sources[0].prediction, seen, &bin_prediction::predicted_snr)) ++seen;
        EXPECT_NEAR(seen - begins, 3, 1) << loop_ms;
    }
}

TEST(EmulatorConfig, WithoutAcknowledgementsWhatIsAboutThemIsRefused) {
    const auto refusal = [](const std::vector<const char*>& assignments) -> std::string {
        config::settings s(emulator_keys());
        for (const auto* a : assignments) s.merge_assignment(a);
        try {
            translate(s);
        } catch (const config::error& e) {
            return e.what();
        }
        return "";
    };
    for (const auto* key :
         {"umts.max_dat=3", "umts.window=100", "umts.poll_timer_ms=20", "umts.order=as_completed",
          "umts.status_prohibit_ms=0", "umts.discard=reset", "umts.discard=never"})
        for (const auto* mode : {"umts.mode=um", "umts.mode=tm"}) {
            const std::string text = refusal({mode, key}), name(key, std::strchr(key, '='));
            EXPECT_NE(text.find(name + " is "), std::string::npos) << text;
            EXPECT_NE(text.find("a mode without acknowledgements; valid: "), std::string::npos)
                << text;
            EXPECT_EQ(refusal({key}), "");
        }
    EXPECT_NE(refusal({"umts.mode=tm", "umts.cell_kbps=500"}).find("valid: 0"), std::string::npos);
    EXPECT_NE(refusal({"umts.mode=tm", "umts.rrc=states"}).find("umts.rrc is states"),
              std::string::npos);
    for (const auto* key :
         {"umts.poll_pdus=3", "umts.poll_last=off", "umts.poll_counted=on",
          "umts.status_format=rlist", "umts.status_missing=off", "umts.receiver_window=9"})
        EXPECT_NE(refusal({"umts.mode=um", key}).find("a mode without acknowledgements"),
                  std::string::npos)
            << key;
    EXPECT_NE(refusal({"umts.poll_last=off", "umts.poll_pdus=3"}).find("umts.poll_last is off"),
              std::string::npos);
    EXPECT_NE(refusal({"umts.poll_timer_ms=0"}).find("umts.poll_timer_ms is 0"), std::string::npos);
    for (const auto* fine : {"umts.poll_period_ms=200", "umts.discard=timer"})
        EXPECT_EQ(refusal({"umts.poll_timer_ms=0", fine}), "") << fine;
    EXPECT_NE(
        refusal({"umts.window=8", "umts.receiver_window=9"}).find("umts.receiver_window is 9"),
        std::string::npos);
    EXPECT_NE(
        refusal({"umts.rrc_fach_kbps=9"}).find("umts.rrc = dch, which has only the state DCH"),
        std::string::npos);
    EXPECT_EQ(refusal({"umts.rrc=states", "umts.rrc_fach_kbps=9"}), "");
    // The block of lundsten-384 takes 20 ms and 10 of waiting: 105 are left.
    const char* const bearer = "umts.profile=lundsten-384";
    EXPECT_NE(refusal({bearer, "umts.radio_ms=105.5"}).find("umts.radio_ms is 105.5"),
              std::string::npos);
    EXPECT_EQ(refusal({bearer, "umts.radio_ms=105"}), "");
    EXPECT_NE(refusal({bearer, "umts.one_way_ms=30"}).find("umts.one_way_ms is 30"),
              std::string::npos);
    EXPECT_EQ(refusal({bearer, "umts.one_way_ms=30", "umts.radio_ms=0"}), "");
    EXPECT_NE(refusal({bearer, "umts.one_way_ms=29", "umts.radio_ms=0"}).find("umts.one_way_ms"),
              std::string::npos);
    for (const auto* fine : {"umts.discard=timer", "umts.errors=0.1", "umts.max_dat=10"})
        EXPECT_EQ(refusal({"umts.mode=um", fine}), "") << fine;
}

TEST(EmulatorConfig, EachDirectionHasItsOwnErrors) {
    const auto made = [](const std::vector<const char*>& assignments) {
        config::settings s(emulator_keys());
        for (const auto* a : assignments) s.merge_assignment(a);
        return translate(s).bearer;
    };
    using umts::error_model;
    auto b = made({"umts.error_model=markov2", "umts.error_burst=7", "umts.errors=0.1"});
    EXPECT_EQ(b.errors_down, (umts::block_error_config{error_model::markov2, 0.1, 7}));
    EXPECT_EQ(b.errors_up, (umts::block_error_config{error_model::markov2, 0, 7}));
    b = made({"umts.error_model=markov2", "umts.up_error_model=burst", "umts.up_error_burst=3",
              "umts.up_errors=0.2"});
    EXPECT_EQ(b.errors_down, (umts::block_error_config{error_model::markov2, 0, 5}));
    EXPECT_EQ(b.errors_up, (umts::block_error_config{error_model::burst, 0.2, 3}));
    b = made({"umts.error_trace=5,2", "umts.up_error_trace=0,1,3"});
    EXPECT_EQ(b.errors_down.runs, (std::vector{5, 2}));
    EXPECT_EQ(b.errors_up.runs, (std::vector{0, 1, 3}));
    for (const auto& wrong :
         std::vector<std::vector<const char*>>{{"umts.up_error_burst=0.5"},
                                               {"umts.error_trace=0,0"},
                                               {"umts.up_error_trace=1,1", "umts.up_errors=0.1"}})
        EXPECT_THROW(made(wrong), config::error) << wrong.front();
}

// Each setting changes one field and no other.
TEST(EmulatorConfig, TriggersAndRadioControlAreWhatIsSet) {
    const auto made = [](const char* assignment) {
        config::settings s(emulator_keys());
        for (const char* a : {"umts.rrc=states", assignment}) s.merge_assignment(a);
        return translate(s).bearer;
    };
    const auto as_text = [](const umts::bearer_config& b) {
        const auto& r = b.rlc;
        const auto& c = b.control;
        std::string all;
        for (const std::int64_t n : {std::int64_t{r.poll_last},
                                     std::int64_t{r.poll_last_retransmitted},
                                     std::int64_t{r.poll_pdus},
                                     std::int64_t{r.poll_sdus},
                                     std::int64_t{r.poll_window_percent},
                                     r.poll_period_ns,
                                     r.poll_timer_ns,
                                     r.poll_prohibit_ns,
                                     static_cast<std::int64_t>(r.poll_counted),
                                     std::int64_t{b.given_up_is_final},
                                     static_cast<std::int64_t>(b.outcome),
                                     b.again_ns,
                                     std::int64_t{r.status_missing},
                                     r.status_period_ns,
                                     r.status_prohibit_ns,
                                     static_cast<std::int64_t>(r.format),
                                     std::int64_t{b.granted_window},
                                     c.set_up_ns,
                                     c.page_ns,
                                     c.switch_ns,
                                     c.dch_inactive_ns,
                                     c.fach_inactive_ns,
                                     c.pch_inactive_ns,
                                     std::int64_t{c.threshold_bytes},
                                     static_cast<std::int64_t>(c.fach_kbps),
                                     static_cast<std::int64_t>(b.profile.radio_ms)})
            all += std::to_string(n) + ' ';
        return all;
    };
    const auto expect = [&](const char* assignment, auto change) {
        umts::bearer_config b;
        b.control.always_dch = false;
        change(b);
        EXPECT_EQ(as_text(made(assignment)), as_text(b)) << assignment;
    };
    constexpr std::int64_t ms = 1'000'000;
    expect("umts.errors=0", [](auto&) {});  // the defaults are those of the struct
    expect("umts.poll_retransmitted=off", [](auto& b) { b.rlc.poll_last_retransmitted = false; });
    expect("umts.poll_pdus=7", [](auto& b) { b.rlc.poll_pdus = 7; });
    expect("umts.poll_sdus=3", [](auto& b) { b.rlc.poll_sdus = 3; });
    expect("umts.poll_window_percent=80", [](auto& b) { b.rlc.poll_window_percent = 80; });
    expect("umts.poll_period_ms=250", [](auto& b) { b.rlc.poll_period_ns = 250 * ms; });
    expect("umts.poll_prohibit_ms=60", [](auto& b) { b.rlc.poll_prohibit_ns = 60 * ms; });
    using umts::poll_counting;
    expect("umts.poll_counted=on", [](auto& b) { b.rlc.poll_counted = poll_counting::always; });
    expect("umts.poll_counted=off", [](auto& b) { b.rlc.poll_counted = poll_counting::never; });
    expect("umts.feedback=known", [](auto& b) { b.outcome = umts::feedback::known; });
    expect("umts.given_up=final", [](auto& b) { b.given_up_is_final = true; });
    expect("umts.status_missing=off", [](auto& b) { b.rlc.status_missing = false; });
    expect("umts.status_period_ms=40", [](auto& b) { b.rlc.status_period_ns = 40 * ms; });
    expect("umts.status_format=bitmap",
           [](auto& b) { b.rlc.format = umts::missing_format::bitmap; });
    expect("umts.status_format=rlist", [](auto& b) { b.rlc.format = umts::missing_format::rlist; });
    expect("umts.receiver_window=9", [](auto& b) { b.granted_window = 9; });
    expect("umts.rrc_set_up_ms=2", [](auto& b) { b.control.set_up_ns = 2 * ms; });
    expect("umts.rrc_page_ms=3", [](auto& b) { b.control.page_ns = 3 * ms; });
    expect("umts.rrc_switch_ms=4", [](auto& b) { b.control.switch_ns = 4 * ms; });
    expect("umts.rrc_dch_s=5.5", [](auto& b) { b.control.dch_inactive_ns = 5500 * ms; });
    expect("umts.rrc_fach_s=6", [](auto& b) { b.control.fach_inactive_ns = 6000 * ms; });
    expect("umts.rrc_pch_s=7", [](auto& b) { b.control.pch_inactive_ns = 7000 * ms; });
    expect("umts.rrc_threshold_bytes=8", [](auto& b) { b.control.threshold_bytes = 8; });
    expect("umts.radio_ms=0", [](auto& b) { b.profile.radio_ms = 0; });
    expect("umts.rrc_fach_kbps=9", [](auto& b) { b.control.fach_kbps = 9; });
}

TEST(EmulatorConfig, BadConfigurationIsRefusedWithItsKey) {
    const auto refusal = [](const char* assignment) -> std::string {
        config::settings s(emulator_keys());
        try {
            s.merge_assignment(assignment);
            make_sources(translate(s));
        } catch (const config::error& e) {
            return e.what();
        }
        return "";
    };
    for (const auto& [assignment, key] : std::map<const char*, const char*>{
             {"channel.bins_db=8,x", "channel.bins_db"},
             {"channel.prediction_nmse=0.7", "channel.prediction_nmse"},
             {"channel.prediction_nmse=trace", ""},
             {"channel.speed_kmh=fast", "channel.speed_kmh"},
             {"channel.model=nonsense", "channel.model is nonsense"},
             {"channel.model=no.h5", "no.h5"},
             {"to_base.loss=2", "to_base.loss"},
             {"terminals=3", "terminals"},
             {"terminal.tun=wip0", "terminal.tun"}}) {
        const auto text = refusal(assignment);
        EXPECT_NE(text.find(key), std::string::npos) << assignment << ": " << text;
        EXPECT_EQ(text.find('\n'), std::string::npos);
    }
    EXPECT_NE(refusal("channel.model=jakes"), refusal("channel.model=nonsense"));
}

namespace {

// A pure ACK of a TCP flow that echoes a timestamp (ms).
std::vector<std::uint8_t> ack_packet(std::uint32_t echo) {
    auto p = ip_packet(52, 6);
    p[32] = 0x80, p[33] = 0x10;
    p[40] = p[41] = 1, p[42] = 8, p[43] = 10;
    for (std::size_t i = 0; i < 4; ++i) p[48 + i] = static_cast<std::uint8_t>(echo >> (24 - 8 * i));
    return p;
}

}  // namespace

TEST(DelayedPair, WhatIsHeldLeavesAtTheEndAndTheLastSampleIsTold) {
    constexpr std::int64_t ms = 1'000'000;
    config::settings s(emulator_keys());
    for (const auto* a :
         {"link.kind=wire", "terminal.namespace=x", "delay_injection.mode=adaptive",
          "delay_injection.flows=both", "to_base.delay_ms=0", "from_base.delay_ms=0"})
        s.merge_assignment(a);
    pair_path path(translate(s));
    std::vector<std::int64_t> up, down;
    path.uplink().deliver_to([&](const link_packet& p) { return up.push_back(p.due_ns), 0; });
    path.downlink().deliver_to([&](const link_packet& p) { return down.push_back(p.due_ns), 0; });
    const auto give = [&](packet_link& way, std::int64_t at, std::int64_t delay) {
        path.links.advance(at * ms);
        way.offer(ack_packet(static_cast<std::uint32_t>(at - delay)), at * ms, 0);
        path.links.advance(at * ms);
    };
    openwip::control::MacStatus status;
    const auto injection = [&] {
        status.Clear();
        fill_delay_injection(path.links, status);
        return status.delay_injection();
    };
    // Each way ten samples of 40 ms, a spike, and one that is held.
    for (int i = 0; i < 10; ++i) {
        give(path.downlink(), 100 + 100 * i, 40);
        give(path.uplink(), 110 + 100 * i, 40);
    }
    give(path.uplink(), 1100, 160);
    EXPECT_DOUBLE_EQ(injection().pdelay_ms(), 120) << "against its first";
    EXPECT_DOUBLE_EQ(injection().delay_ms(), 80);
    give(path.downlink(), 1110, 190);
    EXPECT_DOUBLE_EQ(injection().pdelay_ms(), 150);
    EXPECT_DOUBLE_EQ(injection().delay_ms(), 100);
    give(path.uplink(), 1150, 40);
    EXPECT_NEAR(injection().pdelay_ms(), 0, 1e-9);
    give(path.downlink(), 1160, 41);
    EXPECT_NEAR(injection().pdelay_ms(), 1, 1e-9);
    EXPECT_EQ(injection().held_now(), 2U);
    EXPECT_EQ(up.size(), 11U);
    EXPECT_EQ(down.size(), 11U);
    path.links.flush(1161 * ms);
    EXPECT_EQ(injection().held_now(), 0U);
    ASSERT_EQ(up.size(), 12U);
    EXPECT_EQ(up.back(), 1161 * ms);
    ASSERT_EQ(down.size(), 12U);
    EXPECT_EQ(down.back(), 1161 * ms);
}

// The SNR that a fading channel has to have is that of the rate, in a running cell as well.
TEST(WlanPath, ItsSettingsReachTheCellAndItsErrors) {
    const auto made = [](std::initializer_list<const char*> assignments) {
        config::settings s(emulator_keys());
        s.merge_assignment("link.kind=wlan");
        s.merge_assignment("terminal.namespace=x");
        for (const auto* a : assignments) s.merge_assignment(a);
        return translate(s).wlan;
    };
    for (const auto& [rate, needed] : {std::pair("wlan.rate_mbps=1", -3.8),
                                       {"wlan.rate_mbps=2", 0.7},
                                       {"wlan.rate_mbps=5.5", 3.3},
                                       {"wlan.rate_mbps=11", 6.3}})
        EXPECT_EQ(made({rate, "wlan.errors=fading"}).errors.needed_db, needed) << rate;
    EXPECT_TRUE(made({}).cell.put_back && !made({}).cell.late_growth);
    EXPECT_FALSE(made({"wlan.put_back=off"}).cell.put_back);
    EXPECT_TRUE(made({"wlan.window_growth=late"}).cell.late_growth);
    EXPECT_EQ(made({}).cell.control_mbps, 1);
    const auto fast = made({"wlan.control_rate_mbps=5.5", "wlan.short_preamble=on"}).cell;
    EXPECT_TRUE(fast.control_mbps == 5.5 && fast.short_preamble);
    EXPECT_THROW(made({"wlan.short_preamble=on"}), config::error);
}

TEST(WlanPath, TellsOfEachStationAndOfEachPacketOfIts) {
    constexpr std::int64_t ms = 1'000'000;
    config::settings s(emulator_keys());
    for (const auto* a : {"link.kind=wlan", "terminal.namespace=x", "terminals=2",
                          "to_base.delay_ms=15", "wlan.queue_packets=1"})
        s.merge_assignment(a);
    pair_path path(translate(s));
    std::vector<std::pair<packet_record, int>> injection;
    path.carrier->follow_packets(
        [&](const packet_record& r, int user) { injection.emplace_back(r, user); });
    for (int i = 0; i < 2; ++i) path.downlink().offer(ip_packet(1000), 0, 1);
    path.links.advance(16 * ms);  // the second found the queue full; the first is on the air
    path.links.advance(50 * ms);
    path.uplink().offer(ip_packet(500), 50 * ms, 0);
    path.links.advance(50 * ms);
    openwip::control::MacStatus base, terminal;
    path.fill_base(base);
    path.fill_terminal(terminal);
    stamp(base, 75);
    ASSERT_TRUE(base.users_size() == 2 && terminal.users_size() == 2);
    const auto &down = base.users(1).downlink(), &up = terminal.users(0).uplink();
    EXPECT_TRUE(down.in().packets() == 2 && down.delivered().bytes() == 1000);
    EXPECT_TRUE(up.in().bytes() == 500 && up.queued().packets() == 1);
    EXPECT_EQ(base.users(1).base().payload_bits_acknowledged(), 8000U);
    EXPECT_EQ(base.users(1).base().frames_sent(), 1U);
    EXPECT_EQ(base.users(0).downlink().in().packets() + base.users(0).base().frames_sent(), 0U);
    EXPECT_EQ(terminal.users(1).downlink().in().packets(), 1U);
    EXPECT_EQ(base.users(1).slot(), 75);
    for (const auto* status : {&base, &terminal})
        for (const auto& user : status->users()) {
            if (status == &base)
                expect_sums(user.downlink(), "down");
            else
                expect_sums(user.uplink(), "up");
        }
    ASSERT_EQ(injection.size(), 2U);
    for (const auto& [r, user] : injection) {
        EXPECT_EQ(user, 1);
        EXPECT_EQ(r.wired_ns, 15 * ms);
        EXPECT_EQ(r.arrived_ns, 15 * ms);
    }
    EXPECT_STREQ(injection[0].first.dropped, "wlan_queue_full");
}

namespace {

// A TCP segment between a server's port 80 and a terminal's port 5000.
std::vector<std::uint8_t> segment(bool up, std::uint32_t sequence, std::uint32_t acknowledgement,
                                  std::size_t data) {
    auto p = ip_packet(40 + data, 6);
    const auto put = [&p](std::size_t at, std::uint32_t v, std::size_t width) {
        for (std::size_t i = 0; i < width; ++i)
            p[at + i] = static_cast<std::uint8_t>(v >> 8 * (width - 1 - i));
    };
    put(20, up ? 5000 : 80, 2);
    put(22, up ? 80 : 5000, 2);
    put(24, sequence, 4);
    put(28, acknowledgement, 4);
    p[32] = 0x50, p[33] = 0x10;
    return p;
}

}  // namespace

TEST(SnoopPath, CopiesAndSuppressedAcknowledgementsAreInTheSums) {
    constexpr std::int64_t ms = 1'000'000;
    for (const char* kind : {"link.kind=wlan", "link.kind=umts", "link.kind=hetnet"}) {
        config::settings s(emulator_keys());
        for (const auto* a : {kind, "terminal.namespace=x", "link.snoop=on"}) s.merge_assignment(a);
        pair_path path(translate(s));
        std::uint64_t down = 0, up = 0;
        path.downlink().deliver_to([&](const link_packet&) { return ++down, 0; });
        path.uplink().deliver_to([&](const link_packet&) { return ++up, 0; });
        const auto give = [&](std::int64_t at, packet_link& way,
                              const std::vector<std::uint8_t>& p) {
            path.links.advance(at * ms);
            way.offer(p, at * ms, 0);
            path.links.advance(at * ms);
        };
        for (std::uint32_t n = 0; n < 4; ++n)
            give(100, path.downlink(), segment(false, 1 + 100 * n, 1, 100));
        for (std::int64_t i = 0; i < 3; ++i) give(600 + i, path.uplink(), segment(true, 1, 101, 0));
        give(603, path.uplink(), segment(true, 1, 401, 0));
        path.links.advance(5000 * ms);
        EXPECT_EQ(down, 5U) << kind;  // four, and the copy
        EXPECT_EQ(up, 2U) << kind;    // two of four acknowledgements
        openwip::control::MacStatus base, terminal;
        path.fill_base(base);
        path.fill_terminal(terminal);
        expect_sums(base.downlink(), kind);
        expect_sums(terminal.uplink(), kind);
        EXPECT_EQ(base.downlink().in().packets(), 5U) << kind;
        EXPECT_EQ(base.downlink().copies().bytes(), 140U) << kind;
        EXPECT_EQ(terminal.downlink().in().bytes(), 5U * 140U) << kind;
        EXPECT_EQ(base.snoop().by_duplicate(), 1U) << kind;
        EXPECT_EQ(base.snoop().suppressed_duplicates().bytes(), 80U) << kind;
        EXPECT_EQ(base.snoop().cached().packets(), 0U) << kind;
        const auto& dropped = terminal.uplink().dropped();
        EXPECT_TRUE(std::ranges::any_of(dropped, [](const auto& d) {
            return d.reason() == snoop::duplicate_suppressed && d.count().bytes() == 80;
        })) << kind;
    }
}

TEST(SnoopPath, IsRefusedWhereNoLinkHasAPlaceForIt) {
    for (const char* kind : {"wire", "ofdm"}) {
        config::settings s(emulator_keys());
        for (const std::string& a :
             {std::string("link.kind=") + kind, std::string("terminal.namespace=x"),
              std::string("link.snoop=on")})
            s.merge_assignment(a);
        try {
            translate(s);
            FAIL() << kind;
        } catch (const config::error& e) {
            EXPECT_NE(std::string(e.what()).find("link.snoop"), std::string::npos) << e.what();
            EXPECT_NE(std::string(e.what()).find(kind), std::string::npos) << e.what();
        }
    }
}
