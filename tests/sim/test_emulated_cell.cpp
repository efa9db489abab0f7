// SPDX-License-Identifier: GPL-3.0-or-later
// The cell of the emulator in virtual time: when packets leave, that nothing is lost unseen, that
// both methods of frame errors give the same link, and several terminals.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "emulated_setup.h"
#include "emulated_sums.h"
#include "traffic.h"

using namespace wip;
using namespace wip::cell_model;
using sim::emulated_setup;

namespace {

constexpr std::int64_t ms = 1'000'000;

class EmulatedCell : public testing::Test {
protected:
    // Changes of the defaults.
    template <class Change>
    void make(Change change) {
        config_ = {};
        change(config_);
        cell_ = std::make_unique<emulated_cell>(config_.cell, config_.sources());
        cell_->deliver_to([this](emulated_cell::side to, int user, std::span<const std::uint8_t> p,
                                 std::int64_t due) {
            arrived_.push_back({to, user, p.size(), due});
        });
        next_ = slot(0);
        arrived_.clear();
    }
    // Slots up to the one that starts at `end_ns` or later.
    void run_until(std::int64_t end_ns) {
        for (; slot_start(next_) < end_ns; ++next_) {
            cell_->run_slot(next_);
            cell_->release(slot_start(next_ + slot_count(1)));
            check_sums();
        }
    }
    std::vector<std::uint8_t> packet(std::size_t bytes) {
        return sim::make_packet(++number_, {.version = 4, .bytes = static_cast<int>(bytes)});
    }
    void check_sums() const { ASSERT_EQ(sim::unequal_sums(*cell_), "") << "slot " << next_.value; }
    const base_statistics& base() const { return cell_->base_status(0).link; }
    const terminal_statistics& terminal() const { return cell_->terminal_status(0).link; }

    struct arrival {
        emulated_cell::side to;
        int user;
        std::size_t bytes;
        std::int64_t due;
    };
    emulated_setup config_;
    std::unique_ptr<emulated_cell> cell_;
    slot next_;
    std::vector<arrival> arrived_;
    std::uint32_t number_ = 0;
};

}  // namespace

TEST_F(EmulatedCell, APacketLeavesAtTheEndOfTheSlotThatCarriedItsLastFrame) {
    // 1500 bytes at one bin of 8 bits/symbol: 12000/864 = 13.9, 14 slots.
    make([](emulated_setup& s) {
        s.cell.errors = bin_model::error_method::none;
        s.link().bins = 1;
        s.link().modulation = 8;
        s.cell.to_base.delay_ms = 0;
    });
    run_until(100 * ms);
    cell_->downlink().offer(packet(1500), 100 * ms + 1);
    run_until(200 * ms);
    ASSERT_EQ(arrived_.size(), 1U);
    // The packet comes before slot 151 starts (100.67 ms), so slots 151 .. 164 carry it.
    EXPECT_EQ(arrived_[0].due, slot_start(slot(165)));
}

TEST_F(EmulatedCell, TheWiredDelayIsAddedToTheNanosecond) {
    make([](emulated_setup& s) {
        s.cell.errors = bin_model::error_method::none;
        s.link().bins = 25;
        s.link().modulation = 8;
        s.cell.to_base.delay_ms = 7.3;
        s.cell.from_base.delay_ms = 4.1;
        s.cell.uplink.kbps = 100000;
    });
    run_until(100 * ms);
    cell_->downlink().offer(packet(48), 100 * ms + 5);
    cell_->uplink().offer(packet(48), 100 * ms + 5);
    run_until(200 * ms);
    ASSERT_EQ(arrived_.size(), 2U);
    // Down: due at 107.3 ms, planned in slot 161 (107.33 ms), there at its end.
    // Up: in slot 149 (as it stands between runs), on the line then, at the base station at slot
    // 151.
    std::map<emulated_cell::side, std::int64_t> due;
    for (const auto& a : arrived_) due[a.to] = a.due;
    EXPECT_EQ(due[emulated_cell::side::terminal], slot_start(slot(162)));
    EXPECT_EQ(due[emulated_cell::side::server], slot_start(slot(151)) + 4'100'000);
}

TEST_F(EmulatedCell, AFailedFrameComesOneLoopLater) {
    // The first transmission at -10 dB fails; the copies keep failing until enough are combined. So
    // every arrival is a whole number of retransmission delays (9 slots at 6 ms) after the first
    // possible one.
    make([](emulated_setup& s) {
        s.channel.snr_db = -10;
        s.link().bins = 25;
        s.link().modulation = 1;
        s.link().retransmission_delay_slots = 9;
        s.cell.to_base.delay_ms = 0;
    });
    run_until(100 * ms);
    for (int i = 0; i < 20; ++i) {
        const auto t = slot_start(next_);
        cell_->downlink().offer(packet(100), t);
        run_until(t + 400 * ms);
    }
    ASSERT_GT(arrived_.size(), 10U);
    EXPECT_GT(base().frames_failed, 100U);
    EXPECT_GT(terminal().frames_combined, 50U);
}

TEST_F(EmulatedCell, NothingIsLostWithThirtyRetransmissionsOnAFadingChannel) {
    make([](emulated_setup& s) {
        s.channel.model = "jakes";
        s.link().bins = 25;
        s.link().queue_packets = 100000;
        s.cell.to_base.delay_ms = 0;
    });
    run_until(20 * ms);
    for (int i = 0; i < 1500; ++i) cell_->downlink().offer(packet(1500), slot_start(next_));
    run_until(12000 * ms);
    EXPECT_EQ(arrived_.size(), 1500U);
    EXPECT_EQ(base().frames_dropped, 0U);
    EXPECT_TRUE(cell_->idle());
}

TEST_F(EmulatedCell, DamagedPacketsAreDeliveredOrDroppedAsAsked) {
    for (const bool corrupt : {true, false}) {
        make([corrupt](emulated_setup& s) {
            s.channel.snr_db = 10;
            s.link().modulation = 2;
            s.link().max_retransmissions = 0;
            s.link().queue_packets = 100000;
            s.link().deliver_corrupt = corrupt;
            s.cell.to_base.delay_ms = 0;
        });
        run_until(20 * ms);
        for (int i = 0; i < 300; ++i) cell_->downlink().offer(packet(1000), slot_start(next_));
        run_until(5000 * ms);
        EXPECT_GT(base().frames_dropped, 0U);
        if (corrupt)
            EXPECT_GT(terminal().delivered_damaged.packets, 100U);
        else
            EXPECT_EQ(terminal().delivered_damaged.packets, 0U);
    }
}

TEST_F(EmulatedCell, BothMethodsOfFrameErrorsGiveTheSameLink) {
    // Failures and the distribution of retransmissions, combining included, over 20 s.
    std::array<std::vector<double>, 2> share;
    std::array<double, 2> failed{};
    for (std::size_t m = 0; m < 2; ++m) {
        make([m](emulated_setup& s) {
            s.channel.model = "jakes";
            s.link().queue_packets = 200;
            s.cell.to_base.delay_ms = 0;
            s.cell.errors =
                m == 0 ? bin_model::error_method::symbols : bin_model::error_method::computed;
        });
        const auto p = packet(1500);
        for (; next_.value < 30000; ++next_) {
            while (cell_->into_queue(0, p)) {
            }
            cell_->run_slot(next_);
            cell_->release(INT64_MAX);
        }
        const auto& b = base();
        failed[m] = static_cast<double>(b.frames_failed) / static_cast<double>(b.frames_sent);
        double sum = 0;
        for (const auto n : b.retransmissions) sum += static_cast<double>(n);
        for (std::size_t r = 0; r < 4; ++r)
            share[m].push_back(static_cast<double>(b.retransmissions[r]) / sum);
    }
    // 300000 frames each on the same fading: three standard deviations of the difference of two
    // independent samples are 3 sqrt(2 p q / n) < 0.003.
    EXPECT_NEAR(failed[0], failed[1], 0.003);
    for (std::size_t r = 0; r < 4; ++r) EXPECT_NEAR(share[0][r], share[1][r], 0.003) << r;
}

// Between the threshold of the star and its own a set of eight points is better off with two bits.
// There is no combining, as the criterion of the tables has none.
TEST_F(EmulatedCell, AdaptsByTheSwitchTableOfItsOwnEightPoints) {
    const auto carried = [&](int modulation) {
        make([modulation](emulated_setup& s) {
            s.channel.snr_db = 13.7;
            s.channel.prediction_nmse = 0;
            s.link().eight = eight_points::rectangle;
            s.link().switch_table = switch_table_kind::nmse_0;
            s.link().combining = false;
            s.link().bins = 25;
            s.link().modulation = modulation;
            s.cell.to_base.delay_ms = 0;
        });
        run_until(20 * ms);
        for (; slot_start(next_) < 1500 * ms;) {
            while (cell_->into_queue(0, packet(1500))) {
            }
            run_until(slot_start(next_) + 1);
        }
        return arrived_.size();
    };
    const auto adaptive = carried(0);
    EXPECT_EQ(adaptive, carried(2));
    EXPECT_GT(static_cast<double>(adaptive), 1.1 * static_cast<double>(carried(3)));
}

TEST_F(EmulatedCell, SeveralTerminalsShareTheBinsAsTheSchedulerSays) {
    const auto delivered = [this](scheduling_kind method) {
        make([method](emulated_setup& s) {
            s.cell.cell.users = 2;
            s.cell.cell.scheduling = method;
            s.channel.model = "flat";
            s.channel.speed_kmh = 30;
            s.channel.users_db = {22, 10};
        });
        const auto p = packet(1000);
        for (; next_.value < 15000; ++next_) {
            for (int u = 0; u < 2; ++u)
                while (cell_->into_queue(u, p)) {
                }
            cell_->run_slot(next_);
            cell_->release(INT64_MAX);
        }
        check_sums();
        std::array<double, 2> mbps{};
        for (const auto& a : arrived_)
            mbps[static_cast<std::size_t>(a.user)] += static_cast<double>(a.bytes) * 8 / 1e7;
        return mbps;
    };
    const auto turns = delivered(scheduling_kind::round_robin);
    const auto rate = delivered(scheduling_kind::max_rate);
    const auto fair = delivered(scheduling_kind::proportional_fair);
    EXPECT_GT(rate[0] + rate[1], fair[0] + fair[1]);
    EXPECT_GT(fair[0] + fair[1], turns[0] + turns[1]);
    EXPECT_LT(rate[1], 0.5 * turns[1]);  // the far user is hardly ever served
    EXPECT_GT(fair[1], turns[1]);        // it gains from its peaks
}

TEST_F(EmulatedCell, EverythingChangesWhileItRunsAndNothingIsLost) {
    make([](emulated_setup& s) {
        s.channel.model = "jakes";
        s.channel.snr_db = 20;
        s.link().queue_packets = 100000;
        s.cell.to_base.delay_ms = 0;
    });
    run_until(20 * ms);
    for (int i = 0; i < 600; ++i) cell_->downlink().offer(packet(1500), slot_start(next_));
    int round = 0;
    for (const int delay : {3, 48, 5, 20, 3}) {
        auto c = config_;
        c.link().retransmission_delay_slots = delay;
        c.link().bins = 5 + 4 * round;
        c.cell.cell.scheduling = static_cast<scheduling_kind>(round % 5);
        c.channel.model = round % 2 == 0 ? "epa" : "static";
        c.channel.snr_db = 15 + round;
        cell_->reconfigure(c.cell.cell);
        cell_->replace(c.sources());
        cell_->reconfigure(round % 2 == 0 ? bin_model::error_method::computed
                                          : bin_model::error_method::symbols);
        run_until(slot_start(next_) + 100 * ms);
        ++round;
    }
    run_until(12000 * ms);
    EXPECT_EQ(arrived_.size(), 600U);
    EXPECT_EQ(base().frames_dropped, 0U);
    EXPECT_TRUE(cell_->idle());
}

TEST_F(EmulatedCell, ABlackoutFailsTheFramesOfItsSlotsAndNoOthers) {
    make([](emulated_setup& s) {
        s.channel.snr_db = 40;
        s.channel.prediction_nmse = 0;
        s.link().modulation = 4;
        s.link().queue_packets = 100000;
        s.cell.to_base.delay_ms = 0;
    });
    run_until(20 * ms);
    for (int i = 0; i < 400; ++i) cell_->downlink().offer(packet(1500), slot_start(next_));
    run_until(100 * ms);
    EXPECT_EQ(base().frames_failed, 0U);
    const slot from = next_ + slot_count(5);
    cell_->black_out(from, from + slot_count(20));
    EXPECT_FALSE(cell_->dark(from - slot_count(1)));
    EXPECT_TRUE(cell_->dark(from));
    EXPECT_FALSE(cell_->dark(from + slot_count(20)));
    run_until(slot_start(from + slot_count(40)));
    // 20 slots of 10 bins.
    EXPECT_EQ(base().frames_failed, 200U);
    run_until(3000 * ms);
    EXPECT_EQ(base().frames_failed, 200U);
    EXPECT_EQ(arrived_.size(), 400U);
}
