// SPDX-License-Identifier: GPL-3.0-or-later
// Both ends of the uplink by radio over a channel that loses grants, forms and frames on seeded
// dice. After every slot: every packet is counted, no bin is granted beyond the limit, what comes
// out is what went in, in order. In the end everything has come.
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <random>
#include <vector>

#include "packets.h"
#include "types/slot_time.h"
#include "uplink/base_uplink.h"
#include "uplink/terminal_uplink.h"
#include "wire/feedback_bits.h"

namespace wip {
namespace {

struct losses {
    double grants = 0, forms = 0, frames = 0;
};

class uplink_world {
public:
    explicit uplink_world(radio_uplink_config c = {}, losses l = {}, unsigned seed = 1,
                          frame_sn first_sn = 0)
        : config(c), lost(l), dice(seed), first(first_sn) {
        restart_base();
        restart_terminal();
    }

    void restart_base() {
        base.emplace(
            config,
            [this](std::span<const std::uint8_t> p) { arrived.emplace_back(p.begin(), p.end()); },
            first);
    }
    void restart_terminal() { terminal.emplace(config); }

    void give(std::vector<std::uint8_t> packet) {
        if (terminal->on_sdu(packet, slot_start_ns(now))) given.push_back(std::move(packet));
    }
    void give(int packets, std::size_t bytes) {
        for (int i = 0; i < packets; ++i) give(test::ipv4(bytes, mark++));
    }

    // Downlink slot `now`, and the uplink slot after it.
    void step() {
        std::optional<uplink_command> grant;
        if (const planned_uplink_grant* g = base->plan(now, downlink_waiting)) {
            EXPECT_LE(g->grant.bins, config.bins);
            packed_grant wire{};
            EXPECT_TRUE(put_uplink_command(g->command, wire));
            grant = take_uplink_command(wire);
            EXPECT_EQ(grant, g->command);
            last_grant = g->grant;
        }
        slot_feedback feedback;
        feedback.air = now;
        feedback.locked = terminal_locked;
        feedback.grant_ok = terminal_locked && !falls(lost.grants);
        feedback.ack = feedback.grant_ok ? 0x155U : 0;
        feedback.predicted_snr_db.fill(12.5F);
        const uplink_transmission& sent =
            terminal->on_slot(feedback, feedback.grant_ok ? grant : std::nullopt);
        EXPECT_EQ(sent.on, terminal_locked);
        check_sent(sent);
        uplink_report report;
        report.about = now;
        report.heard = sent.on;
        report.form_ok = sent.on && !falls(lost.forms);
        report.form = sent.form;
        report.snr_db.fill(snr_db);
        if (const slot_grant* expected = base->units(now))
            for (std::size_t b = 0; b < nof_bins; ++b) {
                const bin_grant& unit = expected->bins[b];
                if (unit.bits_per_symbol == 0) continue;
                const bin_grant& out = sent.frames.grant.bins[b];
                const bool here = out.bits_per_symbol != 0 && !falls(lost.frames);
                report.outcome[b] = here ? frame_outcome::good : frame_outcome::bad;
                report.payload[b] = sent.frames.payload[b];
            }
        on_the_way.push_back(report);
        // It has been received when the next slot is over.
        if (on_the_way.size() > way) {
            heard = base->on_slot(on_the_way.front());
            on_the_way.pop_front();
        }
        ++now;
        check();
    }
    void run(int slots) {
        for (int i = 0; i < slots; ++i) step();
    }
    // Slots until everything has come; -1: not within so many.
    int run_until_idle(int most) {
        for (int i = 0; i < most; ++i) {
            if (terminal->idle()) return i;
            step();
        }
        return -1;
    }

    // Nothing is on the air but what the base station has granted for this slot.
    void check_sent(const uplink_transmission& sent) const {
        const slot_grant* expected = base->units(sent.about);
        for (std::size_t b = 0; b < nof_bins; ++b) {
            const bin_grant& out = sent.frames.grant.bins[b];
            if (out.bits_per_symbol == 0) continue;
            ASSERT_NE(expected, nullptr);
            ASSERT_EQ(out, expected->bins[b]);
        }
    }
    void check() const {
        const auto& s = terminal->statistics();
        const packets_bytes out = s.queued + s.sent + s.dropped_queue_full +
                                  s.dropped_queue_managed + s.dropped_not_ip + s.dropped_start_over;
        ASSERT_EQ(s.in.packets, out.packets);
        ASSERT_EQ(s.in.bytes, out.bytes);
        if (!whole_run) return;
        const auto& b = base->statistics();
        ASSERT_LE(s.sent.packets, b.delivered.packets);
        ASSERT_EQ(b.delivered.packets, arrived.size());
        ASSERT_LE(arrived.size(), given.size());
        for (; checked < arrived.size(); ++checked) ASSERT_EQ(arrived[checked], given[checked]);
    }

    bool falls(double p) { return std::uniform_real_distribution<>(0, 1)(dice) < p; }

    radio_uplink_config config;
    losses lost;
    std::mt19937 dice;
    frame_sn first;
    slot now{100};
    std::size_t way = 1;
    std::size_t downlink_waiting = 0;
    float snr_db = 20;
    bool terminal_locked = true;
    bool whole_run = true;  // neither end has been replaced
    std::uint8_t mark = 1;
    std::optional<base_uplink> base;
    std::optional<terminal_uplink> terminal;
    std::deque<uplink_report> on_the_way;
    std::vector<std::vector<std::uint8_t>> given, arrived;
    mutable std::size_t checked = 0;
    std::optional<slot_feedback> heard;
    uplink_grant last_grant;
};

radio_uplink_config with_queue(int packets) {
    radio_uplink_config c;
    c.queue_packets = packets;
    return c;
}

TEST(RadioUplink, APacketGoesWithTheStandingBinsWithoutARequest) {
    uplink_world w;
    w.run(10);
    w.give(1, 40);
    w.run(2 + static_cast<int>(w.way));
    EXPECT_EQ(w.arrived.size(), 1U);
}

TEST(RadioUplink, WithoutStandingBinsARequestBringsTheGrant) {
    radio_uplink_config c;
    c.standing_bins = 0;
    uplink_world w(c);
    w.run(10);
    EXPECT_EQ(w.base->statistics().frames_granted, 0U);
    w.give(1, 1000);
    w.run(12);
    EXPECT_EQ(w.arrived.size(), 1U);
    // 2000 nibbles, and at most the step of the buffer status more: 20 frames of 100 nibbles.
    EXPECT_GE(w.base->statistics().frames_granted, 20U);
    EXPECT_LE(w.base->statistics().frames_granted, 26U);
}

TEST(RadioUplink, TheFormComesThroughAsFeedback) {
    uplink_world w;
    w.run(5);
    ASSERT_TRUE(w.heard);
    EXPECT_EQ(w.heard->air, w.now - slot_count(2));
    EXPECT_TRUE(w.heard->locked);
    EXPECT_TRUE(w.heard->grant_ok);
    EXPECT_EQ(w.heard->ack, 0x155U);
    for (const float snr : w.heard->predicted_snr_db) EXPECT_EQ(snr, 12.5F);
}

TEST(RadioUplink, AFormAboutAnotherSlotIsRefused) {
    uplink_world w;
    w.run(5);
    const auto refused = w.base->statistics().forms_refused;
    feedback_content form;
    form.slot_in_frame = static_cast<std::uint8_t>((w.now.value + 1) % slots_per_frame);
    uplink_report r;
    w.base->plan(w.now);
    r.about = w.now;
    r.heard = r.form_ok = true;
    pack_feedback(form, r.form);
    EXPECT_FALSE(w.base->on_slot(r));
    EXPECT_EQ(w.base->statistics().forms_refused, refused + 1);
    EXPECT_FALSE(w.base->on_slot(r));  // once for each slot
    EXPECT_EQ(w.base->statistics().forms_refused, refused + 1);
}

TEST(RadioUplink, ACapacityOfAllGrantedFramesIsReached) {
    uplink_world w(with_queue(1000));
    w.run(10);
    w.give(200, 1000);
    const auto before = w.arrived.size();
    w.run(1000);
    // 5 bins of 16-QAM: 100 nibbles each, 250 bytes a slot; a request takes some slots.
    EXPECT_EQ(w.arrived.size() - before, 200U);
    EXPECT_GE(w.run_until_idle(20), 0);
    EXPECT_LE(w.base->statistics().frames_granted - w.base->statistics().frames_empty,
              200U * 20 + 5);
}

TEST(RadioUplink, EverythingComesInOrderThroughLosses) {
    std::uint64_t short_ones = 0;
    for (unsigned seed = 1; seed <= 12; ++seed) {
        radio_uplink_config c = with_queue(40);
        c.modulation = static_cast<int>(seed % 9);
        c.bins = 1 + static_cast<int>(seed * 7 % 25);
        c.standing_bins = static_cast<int>(seed % 2);
        c.delay_slots = 3 + static_cast<int>(seed % 3) * 5;
        c.short_grants = seed % 4 != 0;
        uplink_world w(c, {0.1, 0.1, 0.3}, seed, 65500);
        w.way = static_cast<std::size_t>(c.delay_slots - 2);
        std::mt19937 sizes(seed);
        for (int i = 0; i < 3000; ++i) {
            if (sizes() % 8 == 0) w.give(1, 20 + sizes() % 1480);
            w.snr_db = static_cast<float>(sizes() % 30);
            w.step();
            if (HasFatalFailure()) return;
        }
        EXPECT_GE(w.run_until_idle(60000), 0) << "seed " << seed;
        EXPECT_EQ(w.arrived.size(), w.given.size());
        EXPECT_EQ(w.terminal->statistics().sent.packets, w.given.size());
        EXPECT_EQ(w.base->statistics().dropped_lost_frame.packets, 0U);
        EXPECT_GT(w.base->statistics().frames_repeated, 0U);
        EXPECT_GT(w.given.size(), 100U);
        // The base station refers only to slots whose grant was obeyed.
        EXPECT_EQ(w.terminal->statistics().grants_without_reference, 0U);
        EXPECT_EQ(w.terminal->statistics().grants_refused, 0U);
        short_ones += w.terminal->statistics().grants_short;
        if (!c.short_grants) {
            EXPECT_EQ(w.base->statistics().grants_short, 0U);
        }
    }
    EXPECT_GT(short_ones, 1000U);
}

TEST(RadioUplink, GrantsAreShortOnceAFrameHasCome) {
    uplink_world w(with_queue(1000));
    w.run(10);
    w.give(200, 1000);
    const auto before = w.base->statistics();
    w.run(500);
    const auto& after = w.base->statistics();
    const auto grants = after.grants - before.grants;
    EXPECT_EQ(grants, 500U);
    EXPECT_EQ(after.grants_short - before.grants_short, grants);
    // 18 bits, and 7 for the edge, which moves in every slot.
    EXPECT_LE(after.grant_bits - before.grant_bits, 26 * grants);
    EXPECT_EQ(w.terminal->statistics().grants_short, after.grants_short);
}

TEST(RadioUplink, AReferenceEndsAfter32Slots) {
    radio_uplink_config c;
    c.standing_bins = 0;
    uplink_world w(c);
    w.run(10);
    w.give(1, 500);
    EXPECT_GE(w.run_until_idle(50), 0);
    w.run(40);  // nothing to say
    const auto full = [&] {
        return w.base->statistics().grants - w.base->statistics().grants_short;
    };
    const auto before = w.base->statistics().grants;
    const auto full_before = full();
    w.give(1, 500);
    while (w.base->statistics().grants == before) w.step();
    EXPECT_EQ(full(), full_before + 1);
    EXPECT_GE(w.run_until_idle(50), 0);
}

TEST(RadioUplink, ShortGrantsGoOutBesideMoreOfTheDownlink) {
    const auto grants_of_80_slots = [](bool short_grants, std::size_t waiting) {
        radio_uplink_config c;
        c.short_grants = short_grants;
        uplink_world w(c);
        w.run(20);
        w.downlink_waiting = waiting;
        const auto before = w.base->statistics().grants;
        w.run(80);
        return w.base->statistics().grants - before;
    };
    EXPECT_EQ(grants_of_80_slots(false, 3), 80U);
    EXPECT_EQ(grants_of_80_slots(false, 4), 10U);
    EXPECT_EQ(grants_of_80_slots(true, 5), 80U);
    EXPECT_EQ(grants_of_80_slots(true, 6), 10U);
}

TEST(RadioUplink, AShortGrantAfterASlotThatWasNotObeyedIsNotObeyed) {
    terminal_uplink t(radio_uplink_config{});
    const auto used_after = [&](std::int64_t at, std::optional<uplink_command> c) {
        slot_feedback f;
        f.air = slot(at);
        f.locked = f.grant_ok = true;
        int used = 0;
        for (const bin_grant& b : t.on_slot(f, c).frames.grant.bins) used += b.bits_per_symbol != 0;
        return used;
    };
    short_uplink_grant s;
    s.age = 1;
    s.advance = 3;
    EXPECT_EQ(used_after(100, s), 0);  // before any full one
    const uplink_grant g{.first_new_sn = 7, .bits_per_symbol = 4, .bins = 3};
    EXPECT_EQ(used_after(101, g), 3);
    EXPECT_EQ(used_after(102, std::nullopt), 0);
    EXPECT_EQ(used_after(103, s), 0);  // slot 102 had no grant
    EXPECT_EQ(t.statistics().grants_without_reference, 2U);
    s.age = 3;
    EXPECT_EQ(used_after(104, s), 3);
    s.advance = 0;
    s.age = 4;
    EXPECT_EQ(used_after(105, s), 0);  // its new frames were there before
    s.advance = 6;
    s.retransmissions = 4;
    for (std::uint16_t i = 0; i < 4; ++i) s.back[i] = static_cast<std::uint16_t>(4 - i);
    s.age = 5;
    EXPECT_EQ(used_after(106, s), 0);  // more of them than bins
    EXPECT_EQ(t.statistics().grants_refused, 2U);
    EXPECT_EQ(t.statistics().started_over, 0U);
    s.retransmissions = 0;
    s.back = {};
    s.age = 33;  // of slot 74, whose place slot 107 has
    EXPECT_EQ(used_after(107, s), 0);
    s.age = 4;
    EXPECT_EQ(used_after(108, s), 3);  // a short one is a reference as well
    EXPECT_EQ(t.statistics().grants, 3U);
    EXPECT_EQ(t.statistics().grants_short, 2U);
}

TEST(RadioUplink, ATerminalThatHasLostTheReferenceGetsAFullGrant) {
    uplink_world w(with_queue(100));
    w.run(40);
    w.whole_run = false;
    w.restart_terminal();
    w.given.clear();
    const auto before = w.arrived.size();
    w.give(2, 60);
    w.run(3);
    EXPECT_GT(w.terminal->statistics().grants_without_reference, 0U);
    EXPECT_EQ(w.terminal->statistics().frames_new, 0U);
    EXPECT_GE(w.run_until_idle(200), 0);
    w.run(4);
    EXPECT_EQ(w.arrived.size(), before + 2);
}

TEST(RadioUplink, AQueueThatIsFullDropsAndCounts) {
    uplink_world w(with_queue(3));
    w.give(5, 100);
    EXPECT_EQ(w.terminal->statistics().dropped_queue_full.packets, 2U);
    EXPECT_FALSE(w.terminal->on_sdu(std::vector<std::uint8_t>(30, 0xff), 0));
    EXPECT_EQ(w.terminal->statistics().dropped_not_ip.packets, 1U);
    w.check();
}

TEST(RadioUplink, ATerminalWithoutLockIsSilentAndGoesOn) {
    uplink_world w(with_queue(100));
    w.run(10);
    w.give(50, 700);
    w.run(10);
    w.terminal_locked = false;
    w.run(200);
    w.terminal_locked = true;
    EXPECT_GE(w.run_until_idle(3000), 0);
    EXPECT_EQ(w.arrived.size(), 50U);
}

TEST(RadioUplink, AWindowThatWaitsForOneFrameStops) {
    uplink_world w(with_queue(2000));
    w.run(10);
    w.give(1000, 500);
    w.lost.frames = 1;
    w.run(300);
    EXPECT_GT(w.base->statistics().window_stalls, 0U);
    EXPECT_LE(w.last_grant.window_edge, 127);
    EXPECT_GE(w.last_grant.retransmissions, 1);
    w.lost.frames = 0;
    EXPECT_GE(w.run_until_idle(5000), 0);
    EXPECT_EQ(w.arrived.size(), 1000U);
}

TEST(RadioUplink, ATerminalThatRestartsGoesOnWithWholePackets) {
    uplink_world w(with_queue(100), {0.05, 0.05, 0.2});
    w.run(10);
    w.give(60, 1200);
    w.run(40);
    w.whole_run = false;
    const auto before = w.arrived.size();
    w.restart_terminal();
    w.given.clear();
    w.give(20, 900);
    EXPECT_GE(w.run_until_idle(5000), 0);
    w.run(50);
    ASSERT_GE(w.arrived.size(), before + 20);
    for (std::size_t i = 0; i < 20; ++i)
        EXPECT_EQ(w.arrived[w.arrived.size() - 20 + i], w.given[i]);
    EXPECT_LE(w.arrived.size(), before + 20 + 3);
    for (const auto& p : w.arrived) EXPECT_TRUE(p.size() == 1200 || p.size() == 900);
}

TEST(RadioUplink, ABaseStationThatRestartsIsFollowed) {
    uplink_world w(with_queue(100), {0, 0, 0.2}, 3, 500);
    w.run(10);
    w.give(60, 1200);
    w.run(60);
    w.whole_run = false;
    w.first = 0;
    w.on_the_way.clear();
    w.restart_base();
    w.run(20);
    EXPECT_EQ(w.terminal->statistics().started_over, 1U);
    EXPECT_EQ(w.terminal->statistics().grants_refused, 1U);
    EXPECT_GT(w.terminal->statistics().dropped_start_over.packets, 0U);
    EXPECT_GE(w.run_until_idle(5000), 0);
    const auto& s = w.terminal->statistics();
    EXPECT_EQ(s.sent.packets + s.dropped_start_over.packets, 60U);
    EXPECT_GE(w.arrived.size() + s.dropped_start_over.packets, 60U);
}

TEST(RadioUplink, AGrantThatDidNotGoOutIsAskedForAgain) {
    uplink_world w;
    w.run(10);
    w.give(3, 300);
    const planned_uplink_grant* g = w.base->plan(w.now);
    ASSERT_NE(g, nullptr);
    w.base->not_granted(w.now);
    EXPECT_EQ(w.base->units(w.now), nullptr);
    EXPECT_EQ(w.base->statistics().grants_without_room, 1U);
    ++w.now;
    EXPECT_GE(w.run_until_idle(100), 0);
    EXPECT_EQ(w.arrived.size(), 3U);
}

TEST(RadioUplink, TimingAndPowerStepsAddUp) {
    uplink_world w;
    w.run(10);
    w.base->correct(3, -2);
    w.step();
    w.base->correct(-9, 5);  // as far as a grant can say
    w.step();
    w.run(1);
    slot_feedback f;
    f.air = w.now;
    f.locked = true;
    const auto& out = w.terminal->on_slot(f, std::nullopt);
    EXPECT_EQ(out.timing_samples, -1);
    EXPECT_EQ(out.power_db, -1);
}

TEST(RadioUplink, AdaptiveModulationFollowsTheSnr) {
    radio_uplink_config c = with_queue(1000);
    c.modulation = 0;
    uplink_world w(c);
    w.snr_db = 40;
    w.give(500, 1000);
    w.run(30);
    EXPECT_EQ(w.last_grant.bits_per_symbol, 8);
    w.snr_db = 5;
    w.run(30);
    EXPECT_LE(w.last_grant.bits_per_symbol, 2);
}

TEST(RadioUplink, SettingsOutOfRangeAreRefusedByName) {
    const auto refusal = [](auto change) -> std::string {
        radio_uplink_config c;
        change(c);
        try {
            terminal_uplink t(c);
        } catch (const std::invalid_argument& e) {
            return e.what();
        }
        return "";
    };
    EXPECT_EQ(refusal([](auto& c) { c.bins = 26; }), "uplink.bins is 26; valid: 1..25");
    EXPECT_EQ(refusal([](auto& c) { c.modulation = 9; }), "uplink.modulation is 9; valid: 0..8");
    EXPECT_EQ(refusal([](auto& c) { c.standing_bins = 6; }),
              "uplink.standing_bins is 6; valid: 0..5");
    EXPECT_EQ(refusal([](auto& c) { c.delay_slots = 2; }),
              "link.retransmission_delay_slots is 2; valid: 3..48");
    EXPECT_EQ(refusal([](auto& c) { c.queue_packets = 0; }),
              "uplink.queue_packets is 0; valid: 1..100000");
    EXPECT_THROW(base_uplink(radio_uplink_config{}, {}), std::invalid_argument);
}

TEST(RadioUplink, SlotsArePlannedInOrder) {
    uplink_world w;
    w.step();
    EXPECT_THROW(w.base->plan(w.now - slot_count(1)), std::logic_error);
}

}  // namespace
}  // namespace wip
