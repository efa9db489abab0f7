// SPDX-License-Identifier: GPL-3.0-or-later
// The parts of the monitor that need no window: the model, the formulas, the colours.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>

#include "digest.h"
#include "gui/plot/colour_map.h"
#include "gui/views/channel_view.h"
#include "gui/views/controls_view.h"
#include "messages.h"
#include "types/grid.h"

namespace wip::gui {
namespace {

using openwip::telemetry::Telemetry;

TEST(slot_ring, keeps_order_and_bound) {
    slot_ring<base_point> ring(3);
    for (const std::int64_t slot : {10, 30, 20, 40}) {
        base_point p;
        p.slot = slot;
        ring.push(p);
    }
    ASSERT_EQ(ring.size(), 3u);
    EXPECT_EQ(ring.front().slot, 20);
    EXPECT_EQ(ring.back().slot, 40);
    EXPECT_EQ(ring.between(20, 35).size(), 2u);
    EXPECT_TRUE(ring.between(41, 50).empty());
    EXPECT_TRUE(ring.between(35, 21).empty());
    EXPECT_EQ(ring.last_before(39)->slot, 30);
    EXPECT_EQ(ring.last_before(19), nullptr);
    ring.at_slot(30).frames_sent = 7;
    EXPECT_EQ(ring.last_before(30)->frames_sent, 7u);
    EXPECT_EQ(ring.size(), 3u);
    ring.at_slot(50);
    EXPECT_EQ(ring.size(), 3u);
    EXPECT_EQ(ring.front().slot, 30);
}

TEST(session_model, base_and_terminal_of_one_slot_share_a_column) {
    session_model model;
    Telemetry base;
    base.set_slot(30);
    for (int b = 0; b < nof_bins; ++b) {
        base.mutable_slot_sample()->add_predicted_snr_db(12);
        base.mutable_slot_sample()->mutable_bits_per_symbol()->push_back(4);
    }
    EXPECT_TRUE(model.take("base", base));
    EXPECT_TRUE(model.take("terminal", column(30, 10)));
    EXPECT_TRUE(model.take("terminal", column(15, 9)));
    ASSERT_EQ(model.columns().size(), 2u);
    EXPECT_EQ(model.columns().front().slot, 15);
    EXPECT_EQ(model.columns().back().measured_db[7], 10);
    EXPECT_EQ(model.columns().back().predicted_db[7], 12);
    EXPECT_EQ(model.columns().back().bits[7], 4);
    EXPECT_TRUE(std::isnan(model.columns().front().predicted_db[0]));
    EXPECT_EQ(model.oldest_change(), 15);
}

TEST(session_model, refuses_what_no_publisher_could_have_sent_and_stays_as_it_was) {
    session_model model;
    EXPECT_TRUE(model.take("terminal", column(30, 10)));
    const auto before = digest(model);
    auto short_one = column(45, 1);
    short_one.mutable_slot_sample()->mutable_snr_db()->RemoveLast();
    EXPECT_FALSE(model.take("terminal", short_one));
    auto bits = column(45, 1);
    bits.mutable_slot_sample()->set_bits_per_symbol(std::string(nof_bins, 9));
    EXPECT_FALSE(model.take("terminal", bits));
    Telemetry points;
    points.set_slot(45);
    points.mutable_receiver()->set_points("abc");
    EXPECT_FALSE(model.take("terminal", points));
    Telemetry packet;
    packet.set_slot(45);
    packet.mutable_packets()->add_packet()->set_left_ns(std::int64_t{1} << 60);
    EXPECT_FALSE(model.take("base", packet));
    Telemetry role;
    role.set_slot(45);
    role.mutable_mac()->set_role("king");
    EXPECT_FALSE(model.take("base", role));
    session_model same;
    EXPECT_TRUE(same.take("terminal", column(30, 10)));
    EXPECT_EQ(digest(same), before);
    EXPECT_EQ(model.columns().size(), 1u);
}

TEST(session_model, a_packet_of_the_uplink_is_none_of_the_views) {
    session_model model;
    Telemetry m;
    m.set_slot(45);
    for (int i = 0; i < 3; ++i) m.mutable_packets()->add_packet()->set_number(7);
    m.mutable_packets()->mutable_packet(1)->set_uplink(true);
    EXPECT_TRUE(model.take("base", m));
    EXPECT_EQ(model.packets().size(), 2u);
}

Telemetry verdict_of(std::int64_t slot, double goodput_bps) {
    Telemetry m;
    m.set_slot(slot);
    m.mutable_verdict()->set_valid(true);
    m.mutable_verdict()->set_goodput_bps(goodput_bps);
    return m;
}

TEST(session_model, a_verdict_that_is_refused_is_not_kept) {
    session_model model;
    EXPECT_FALSE(model.take("keeper", verdict_of(30, NAN)));
    EXPECT_FALSE(model.verdict().valid());
    EXPECT_TRUE(model.take("keeper", verdict_of(30, 5e6)));
    EXPECT_FALSE(model.take("keeper", verdict_of(45, INFINITY)));
    EXPECT_EQ(model.verdict().goodput_bps(), 5e6);
    EXPECT_EQ(model.verdict_points().size(), 1u);
}

TEST(session_model, an_observer_that_is_still_at_the_run_before_sends_no_garbage) {
    session_model model;
    for (std::int64_t slot = 150'000; slot < 151'500; slot += 15)
        model.take("terminal", column(slot, 1));
    model.take("terminal", column(15, 2));
    EXPECT_TRUE(model.take("terminal", column(30, 2)));
    ASSERT_EQ(model.newest_slot(), 30);
    // Good, but of nothing that is shown.
    EXPECT_TRUE(model.take("keeper", verdict_of(151'500, 5e6)));
    EXPECT_FALSE(model.has(Telemetry::kVerdict));
    EXPECT_TRUE(model.verdict_points().empty());
    // A slot that no run has reached is garbage as before, and the new run's own message counts.
    EXPECT_FALSE(model.take("keeper", verdict_of(500'000, 5e6)));
    EXPECT_TRUE(model.take("keeper", verdict_of(30, 4e6)));
    EXPECT_EQ(model.verdict().goodput_bps(), 4e6);
}

TEST(session_model, a_value_that_is_no_number_is_unknown) {
    session_model model;
    auto m = column(30, 10);
    m.mutable_slot_sample()->set_snr_db(4, NAN);
    m.mutable_slot_sample()->set_snr_db(5, INFINITY);
    EXPECT_TRUE(model.take("terminal", m));
    EXPECT_TRUE(std::isnan(model.columns().back().measured_db[4]));
    EXPECT_TRUE(std::isnan(model.columns().back().measured_db[5]));
}

TEST(session_model, one_damaged_slot_number_does_not_move_the_axis_and_a_new_run_does) {
    session_model model;
    for (std::int64_t slot = 15000; slot < 16500; slot += 15)
        model.take("terminal", column(slot, 1));
    EXPECT_FALSE(model.take("terminal", column(std::int64_t{1} << 50, 1)));
    EXPECT_TRUE(model.take("terminal", column(16500, 1)));
    EXPECT_EQ(model.newest_slot(), 16500);
    // the first message of a new run is not accepted yet
    EXPECT_FALSE(model.take("terminal", column(15, 2)));
    EXPECT_TRUE(model.take("terminal", column(30, 2)));
    EXPECT_EQ(model.newest_slot(), 30);
    EXPECT_EQ(model.runs(), 1u);
    EXPECT_EQ(model.columns().size(), 1u);
}

TEST(session_model, a_source_that_comes_late_is_no_new_run) {
    session_model model;
    for (std::int64_t slot = 15; slot <= 15'000; slot += 15) {
        Telemetry base;
        base.set_slot(slot);
        base.mutable_slot_sample()->set_bits_per_symbol(std::string(nof_bins, 4));
        EXPECT_TRUE(model.take("base", base));
    }
    for (std::int64_t slot = 15; slot <= 15'000; slot += 15)
        EXPECT_TRUE(model.take("terminal", column(slot, 3)));
    EXPECT_EQ(model.runs(), 0u);
    ASSERT_EQ(model.columns().size(), 1000u);
    EXPECT_EQ(model.columns().front().bits[0], 4);
    EXPECT_EQ(model.columns().front().measured_db[0], 3);
}

TEST(session_model, memory_is_bounded) {
    session_model model;
    for (int i = 0; i < 20'000; ++i) {
        model.take("base", event_message(1, 10));
        Telemetry tcp;
        tcp.set_slot(10);
        tcp.mutable_tcp()->add_flow()->set_remote(std::to_string(i));
        model.take("observer", tcp);
    }
    EXPECT_LE(model.events().size(), 5000u);
    EXPECT_LE(model.flows().size(), 200u);
    for (std::int64_t slot = 1; slot <= 70'000; ++slot) model.take("terminal", column(slot, 1));
    EXPECT_LE(model.columns().size(), 60'000u);
    EXPECT_EQ(model.columns().back().slot, 70'000);
}

TEST(channel_picture, a_path_is_a_peak_at_its_delay_and_a_flat_magnitude) {
    openwip::telemetry::ReceiverSample sample;
    for (int n = 0; n < nof_subcarriers; ++n) {
        // The grid's own numbering of subcarriers, not the one of the picture.
        const int k = wip::fft_index(n) < 384 ? wip::fft_index(n) : wip::fft_index(n) - 768;
        const double turn = -2 * std::numbers::pi * k * 10'000 * 3e-6;
        sample.add_channel(static_cast<float>(0.5 * std::cos(turn)));
        sample.add_channel(static_cast<float>(0.5 * std::sin(turn)));
    }
    for (const double db : channel_view::magnitude_db(sample)) EXPECT_NEAR(db, -6.02, 0.01);
    const auto h = channel_view::impulse_db(sample);
    const auto peak = std::ranges::max_element(h);
    EXPECT_NEAR(channel_view::delay_us(static_cast<int>(peak - h.begin())), 3.0, 0.051);
    EXPECT_NEAR(*peak, -6.02, 0.1);
    // Hann: 2 us away the side lobes are far down.
    EXPECT_LT(h[static_cast<std::size_t>(
                  std::lround((5.0 - channel_view::first_us) / channel_view::step_us))],
              -50);
}

// CIE L*, 0 to 100: what is left of a colour for an eye or a printer that has no colours.
double lightness(QRgb c) {
    const auto linear = [](int part) {
        const double v = part / 255.0;
        return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
    };
    const double y =
        0.2126 * linear(qRed(c)) + 0.7152 * linear(qGreen(c)) + 0.0722 * linear(qBlue(c));
    return y > 0.008856 ? 116 * std::cbrt(y) - 16 : 903.3 * y;
}

TEST(colours, sequential_maps_rise_in_lightness_and_unknown_is_grey) {
    for (const auto map : {colour_map::viridis, colour_map::cividis}) {
        const auto colours = colours_of(map);
        for (std::size_t i = 1; i < colours.size(); ++i)
            EXPECT_GE(lightness(colours[i]), lightness(colours[i - 1]) - 0.15) << i;
        // Rises everywhere, not in one jump: each eighth of the map by a good part of the whole.
        const double whole = lightness(colours[255]) - lightness(colours[0]);
        EXPECT_GT(whole, 70);
        for (std::size_t i = 32; i < colours.size(); i += 32)
            EXPECT_GT(lightness(colours[i]) - lightness(colours[i - 32]), whole / 16) << i;
    }
    EXPECT_EQ(colour_at(colour_map::viridis, NAN, 0, 1), no_data);
    EXPECT_EQ(colour_at(colour_map::viridis, -5, 0, 1), colours_of(colour_map::viridis)[0]);
    EXPECT_EQ(colour_at(colour_map::viridis, 5, 0, 1), colours_of(colour_map::viridis)[255]);
}

TEST(colours, the_signed_map_is_light_at_nothing_and_darker_to_both_ends) {
    const auto colours = colours_of(colour_map::signed_values);
    for (std::size_t i = 1; i < 128; ++i) {
        EXPECT_GE(lightness(colours[i]), lightness(colours[i - 1])) << i;
        EXPECT_GE(lightness(colours[255 - i]), lightness(colours[256 - i])) << i;
    }
    EXPECT_GT(lightness(colours[127]), 95);
    // Blue against orange: told apart without red and green.
    EXPECT_GT(qBlue(colours[40]), qRed(colours[40]) + 60);
    EXPECT_GT(qRed(colours[215]), qBlue(colours[215]) + 60);
}

TEST(colours, categories_differ_in_lightness_and_terminals_in_colour) {
    for (int bits = 2; bits <= 8; ++bits)
        EXPECT_GT(lightness(modulation_colour(bits)), lightness(modulation_colour(bits - 1)) + 5);
    for (int a = 0; a < 4; ++a)
        for (int b = 0; b < a; ++b)
            EXPECT_GT(std::abs(lightness(outcome_colour(a)) - lightness(outcome_colour(b))), 10)
                << outcome_name(a) << " and " << outcome_name(b);
    std::set<QRgb> colours{0xffffffff, no_data};
    for (int user = 0; user < 25; ++user)
        EXPECT_TRUE(colours.insert(terminal_colour(user)).second) << user;
    for (int user = 25; user < static_cast<int>(most_users); ++user)
        EXPECT_EQ(terminal_colour(user), terminal_colour(user % 25));
    EXPECT_EQ(terminal_colour(nobody), 0xffffffff);
}

// --- several terminals ---

// The base station's report of slot `slot` to terminal `user` of `users`: bin b is that of terminal
// b % (users + 1), the last share is nobody's.
Telemetry grants(std::int64_t slot, std::uint32_t user, std::uint32_t users) {
    Telemetry m;
    m.set_slot(slot);
    m.set_user(user);
    auto& s = *m.mutable_slot_sample();
    for (std::uint32_t b = 0; b < nof_bins; ++b) {
        const std::uint32_t user_of_bin = b % (users + 1);
        s.add_predicted_snr_db(static_cast<float>(20 + user));
        s.mutable_user()->push_back(static_cast<char>(user_of_bin == users ? nobody : user_of_bin));
        s.mutable_bits_per_symbol()->push_back(
            static_cast<char>(user_of_bin == user ? user % 8 + 1 : 0));
        s.mutable_outcome()->push_back(user_of_bin == user ? 1 : 0);
        s.mutable_retransmissions()->push_back(0);
    }
    s.set_queued_packets(10 + user);
    return m;
}
Telemetry measured(std::int64_t slot, std::uint32_t user) {
    auto m = column(slot, static_cast<float>(user));
    m.set_user(user);
    return m;
}

class SeveralTerminals : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(session_model, SeveralTerminals, testing::Values(1, 2, 5, 25));

TEST_P(SeveralTerminals, all_together_are_in_each_bin_the_one_that_has_it) {
    const auto users = GetParam();
    session_model model;
    for (std::int64_t slot : {15, 30, 45}) {
        // The terminal's word may come before that of the base station, or after it.
        for (std::uint32_t u = 0; u < users; u += 2)
            EXPECT_TRUE(model.take("terminal", measured(slot, u)));
        for (std::uint32_t u = 0; u < users; ++u)
            EXPECT_TRUE(model.take("base", grants(slot, u, users)));
        for (std::uint32_t u = 1; u < users; u += 2)
            EXPECT_TRUE(model.take("terminal", measured(slot, u)));
    }
    EXPECT_EQ(model.users_seen(), users);
    EXPECT_EQ(model.shown_user(), all_users);
    ASSERT_EQ(model.columns().size(), 3u);
    const slot_column& last = model.columns().back();
    std::int64_t queued = 0;
    for (std::uint32_t u = 0; u < users; ++u) queued += 10 + u;
    EXPECT_EQ(last.queued_packets, queued);
    for (std::uint32_t b = 0; b < nof_bins; ++b) {
        const std::uint32_t user_of_bin = b % (users + 1);
        EXPECT_EQ(last.user[b], user_of_bin == users ? nobody : user_of_bin);
        if (user_of_bin == users) {
            EXPECT_EQ(last.bits[b], 0) << b;
            continue;
        }
        EXPECT_EQ(last.bits[b], user_of_bin % 8 + 1) << b;
        EXPECT_EQ(last.outcome[b], 1) << b;
        EXPECT_EQ(last.measured_db[b], static_cast<float>(user_of_bin)) << b;
        EXPECT_EQ(last.predicted_db[b], static_cast<float>(20 + user_of_bin)) << b;
    }
}

TEST_P(SeveralTerminals, what_was_measured_of_another_is_kept_and_shown_when_it_is_chosen) {
    const auto users = GetParam();
    session_model model;
    for (std::uint32_t u = 0; u < users; ++u) {
        EXPECT_TRUE(model.take("base", grants(30, u, users)));
        EXPECT_TRUE(model.take("terminal", measured(30, u)));
    }
    Telemetry status;
    status.set_slot(30);
    status.mutable_mac()->set_role("base");
    for (std::uint32_t u = 0; users > 1 && u < users; ++u)
        status.mutable_mac()->add_users()->mutable_base()->set_payload_bits_acknowledged(u + 1);
    status.mutable_mac()->mutable_base()->set_payload_bits_acknowledged(users * (users + 1) / 2);
    EXPECT_TRUE(model.take("base", status));
    EXPECT_EQ(model.base_points().back().bits_acknowledged, users * (users + 1) / 2);
    for (std::uint32_t u = 0; users > 1 && u < users; ++u) {
        const auto before = model.revision();
        model.show_user(static_cast<int>(u));
        EXPECT_GT(model.revision(), before);
        EXPECT_EQ(model.oldest_change(), 0);
        EXPECT_EQ(model.columns().back().measured_db[24], static_cast<float>(u));
        EXPECT_EQ(model.columns().back().queued_packets, 10 + u);
        EXPECT_EQ(model.base_points().back().bits_acknowledged, u + 1);
        EXPECT_EQ(model.base().base().payload_bits_acknowledged(), u + 1);
        for (std::uint32_t other = 0; other < users; ++other)
            EXPECT_EQ(model.shows(other), other == u);
    }
    // A choice that is not there (a cell with fewer terminals) shows all.
    model.show_user(static_cast<int>(users));
    EXPECT_EQ(model.shown_user(), all_users);
    EXPECT_TRUE(model.shows(0));
}

TEST(session_model, memory_is_bounded_with_25_terminals_too) {
    session_model model;
    for (std::int64_t slot = 1; slot <= 8000; ++slot)
        for (std::uint32_t u = 0; u < 25; u += 24)
            EXPECT_TRUE(model.take("terminal", measured(slot, u)));
    model.show_user(24);
    EXPECT_LE(model.columns().size(), 3 * 60'000u / 26);
    EXPECT_GT(model.columns().size(), 6'000u);
    EXPECT_EQ(model.columns().back().slot, 8000);
    auto stranger = measured(8001, most_users);
    EXPECT_FALSE(model.take("terminal", stranger));
    EXPECT_EQ(model.users_seen(), 25u);
}

TEST(session_model, a_flow_is_that_of_the_terminal_at_one_of_its_ends) {
    session_model model;
    for (std::uint32_t u = 0; u < 2; ++u) EXPECT_TRUE(model.take("terminal", measured(15, u)));
    Telemetry m;
    m.set_slot(15);
    const auto flow = [&m](const char* station, const char* local, const char* remote) {
        auto& f = *m.mutable_tcp()->add_flow();
        f.set_station(station);
        f.set_local(local);
        f.set_remote(remote);
    };
    flow("terminal", "10.42.0.2:5", "10.42.0.1:1");
    flow("terminal2", "10.42.0.3:6", "10.42.0.1:2");
    flow("base", "10.42.0.1:1", "10.42.0.2:5");
    flow("base", "10.42.0.1:2", "10.42.0.3:6");
    EXPECT_TRUE(model.take("observer", m));
    for (const int user : {all_users, 0, 1}) {
        model.show_user(user);
        for (std::uint16_t i = 0; i < 4; ++i)
            EXPECT_EQ(model.shows_flow(i), user == all_users || i % 2 == user) << user << ' ' << i;
    }
}

TEST(controls, keys_become_yaml_and_yaml_becomes_keys) {
    EXPECT_EQ(controls_view::yaml_of("link.bins", "10"), "link:\n  bins: 10\n");
    EXPECT_EQ(controls_view::yaml_of("a.b.c", "x"), "a:\n  b:\n    c: x\n");
    const auto flat = controls_view::flat("link:\n  bins: 10\n  combining: true\nseed: 1\n");
    EXPECT_EQ(flat.at("link.bins"), "10");
    EXPECT_EQ(flat.at("link.combining"), "true");
    EXPECT_EQ(flat.at("seed"), "1");
    EXPECT_TRUE(controls_view::flat("link: [unclosed").empty());
    for (const auto& row : control_rows())
        EXPECT_EQ(controls_view::flat(controls_view::yaml_of(row.key, "1")).count(row.key), 1u);
}

}  // namespace
}  // namespace wip::gui
