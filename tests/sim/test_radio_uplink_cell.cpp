// SPDX-License-Identifier: GPL-3.0-or-later
// The emulated cell with an uplink by radio: times, sums after every slot, and what the downlink
// loses because of lost forms and of the room that uplink grants take.
#include <gtest/gtest.h>

#include <cmath>

#include "bin/form_errors.h"
#include "emulated_setup.h"
#include "emulated_sums.h"
#include "traffic.h"

using namespace wip;
using namespace wip::cell_model;
using sim::emulated_setup;

namespace {

class RadioUplinkCell : public testing::Test {
protected:
    template <class Change>
    void make(Change change) {
        config_ = {};
        config_.link().profile = link_profile::radio;
        config_.link().packing = config_.link().in_order = true;
        config_.link().deliver_corrupt = false;
        config_.cell.radio_uplink.emplace();
        change(config_);
        cell_ = std::make_unique<emulated_cell>(config_.cell, config_.sources());
        up_ = down_ = {};
        cell_->deliver_to(
            [this](emulated_cell::side to, int, std::span<const std::uint8_t> p, std::int64_t due) {
                (to == emulated_cell::side::server ? up_ : down_).add(p.size());
                last_due_ = due;
            });
        next_ = slot(0);
    }
    void run(int slots) {
        for (int i = 0; i < slots; ++i) {
            cell_->run_slot(next_);
            ++next_;
            cell_->release(slot_start(next_));
            ASSERT_EQ(sim::unequal_sums(*cell_), "") << "slot " << next_.value;
            check_grant();
        }
    }
    // Both grants of the last slot stand in the 240 bits of one control region.
    void check_grant() {
        ASSERT_NO_FATAL_FAILURE(check_sent());
        packed_grant bits{};
        ASSERT_TRUE(pack_grant(cell_->plan(0).grant, config_.link().profile, bits));
        const packed_grant alone = bits;
        ASSERT_EQ(bits.back() & 1, 0);
        const auto& granted = cell_->radio_uplink(0)->granted();
        if (!granted) return;
        ++uplink_grants_;
        ASSERT_TRUE(put_uplink_command(*granted, bits));
        ASSERT_EQ(take_uplink_command(bits), granted);
        ASSERT_EQ(bits, alone);
    }
    // Nothing is on the air of the uplink but what the base station has granted.
    void check_sent() const {
        const auto* sent = cell_->radio_uplink(0)->sent();
        if (sent == nullptr || !sent->on) return;
        const slot_grant* units = cell_->radio_uplink(0)->units(sent->about);
        for (std::size_t b = 0; b < nof_bins; ++b) {
            const bin_grant& out = sent->frames.grant.bins[b];
            if (out.bits_per_symbol == 0) continue;
            ASSERT_NE(units, nullptr);
            ASSERT_EQ(out, units->bins[b]);
        }
    }
    std::vector<std::uint8_t> packet(int bytes) {
        return sim::make_packet(++number_, {.version = 4, .bytes = bytes});
    }
    bool send_up(int bytes) {
        const auto p = packet(bytes);
        return cell_->uplink().offer(p, slot_start(next_), 0);
    }
    // A downlink that always has something to send; Mbit/s of acknowledged payload.
    double saturated_goodput(int slots) {
        for (int i = 0; i < slots; ++i) {
            while (cell_->base(0).statistics().queued.packets < 200)
                cell_->into_queue(0, packet(1500));
            if (up_bytes_ == 0) {
                if (i % 5 == 0) send_up(52);  // as TCP acknowledges
            } else {
                while (cell_->terminal_status(0).uplink.queued.packets < 20) send_up(up_bytes_);
            }
            cell_->run_slot(next_);
            ++next_;
            cell_->release(slot_start(next_));
            if (cell_->radio_uplink(0) != nullptr) check_grant();
        }
        return static_cast<double>(cell_->base(0).statistics().payload_bits_acknowledged) * 1500 /
               slots / 1e6;
    }

    emulated_setup config_;
    std::unique_ptr<emulated_cell> cell_;
    slot next_;
    packets_bytes up_, down_;
    std::int64_t last_due_ = 0;
    std::uint32_t number_ = 0;
    int uplink_grants_ = 0;
    int up_bytes_ = 0;
};

}  // namespace

TEST_F(RadioUplinkCell, APacketTakesTwoSlotsWithAStandingBin) {
    make([](emulated_setup& s) {
        s.cell.errors = bin_model::error_method::none;
        s.channel.snr_db = 30;
        s.cell.from_base.delay_ms = 0;
    });
    run(20);
    const slot came = next_ - slot_count(1);  // it counts as given in the slot that has begun
    ASSERT_TRUE(send_up(40));
    run(4);
    ASSERT_EQ(up_.packets, 1U);
    EXPECT_EQ(last_due_, slot_start(came + slot_count(2)));
}

TEST_F(RadioUplinkCell, EveryPacketIsCountedAndArrivesThroughFadingAndABlackout) {
    make([](emulated_setup& s) {
        s.channel.model = "jakes";
        s.channel.snr_db = 14;
        s.cell.uplink.queue_packets = 30;
    });
    sim::random_source dice(3);
    cell_->black_out(slot(1500), slot(1600));
    for (int i = 0; i < 3000; ++i) {
        if (dice.hits(0.08)) send_up(28 + dice.up_to(1000));
        if (dice.hits(0.3)) cell_->into_queue(0, packet(28 + dice.up_to(1400)));
        ASSERT_NO_FATAL_FAILURE(run(1));
    }
    for (int i = 0; i < 3000 && !cell_->idle(); ++i) ASSERT_NO_FATAL_FAILURE(run(1));
    EXPECT_TRUE(cell_->idle());
    const auto& line = cell_->terminal_status(0).uplink;
    EXPECT_EQ(line.in.packets,
              up_.packets + line.dropped_queue_full.packets + line.dropped_not_ip.packets);
    EXPECT_GT(up_.packets, 150U);
    const auto& base = cell_->radio_uplink(0)->base();
    EXPECT_GE(base.forms_lost, 90U);  // those of the blackout at least
    EXPECT_GT(uplink_grants_, 1000);
    EXPECT_EQ(base.forms_refused, 0U);
    EXPECT_EQ(base.dropped_lost_frame.packets, 0U);
    EXPECT_GT(base.frames_repeated, 0U);
    EXPECT_EQ(cell_->base(0).statistics().feedback_rejected, 0U);
}

TEST_F(RadioUplinkCell, TheDownlinkLosesLittleOnJakesAt16Db) {
    const auto setup = [](emulated_setup& s) {
        s.channel.model = "jakes";
        s.channel.snr_db = 16;
        s.cell.errors = bin_model::error_method::computed;
        s.link().bins = 25;
        s.link().queue_packets = 400;
    };
    constexpr int slots = 6000;
    make([&](emulated_setup& s) {
        setup(s);
        s.cell.radio_uplink.reset();
    });
    const double line = saturated_goodput(slots);
    const auto overflows = cell_->base(0).statistics().grant_overflows;
    make(setup);
    const double radio = saturated_goodput(slots);
    const auto& base = cell_->radio_uplink(0)->base();
    RecordProperty("line_mbps", std::to_string(line));
    RecordProperty("radio_mbps", std::to_string(radio));
    std::printf(
        "emulated line %.3f Mbit/s, radio %.3f Mbit/s (%+.2f %%); forms lost %llu of %llu; grants "
        "with less than all retransmissions %llu (line: %llu); uplink grants %llu, put off %llu; "
        "up "
        "%llu of %llu packets\n",
        line, radio, 100 * (radio / line - 1), static_cast<unsigned long long>(base.forms_lost),
        static_cast<unsigned long long>(base.slots_heard),
        static_cast<unsigned long long>(cell_->base(0).statistics().grant_overflows),
        static_cast<unsigned long long>(overflows), static_cast<unsigned long long>(base.grants),
        static_cast<unsigned long long>(base.grants_put_off),
        static_cast<unsigned long long>(up_.packets),
        static_cast<unsigned long long>(cell_->terminal_status(0).uplink.in.packets));
    EXPECT_GT(uplink_grants_, 500);
    EXPECT_GT(base.grants_put_off, 500U);
    EXPECT_GT(radio, 0.97 * line);
    EXPECT_LE(radio, 1.03 * line);
}

// Short grants against full ones only, as before there were short ones; a line of JSON for each
// run. docs/explanation/mac.md has the table.
TEST_F(RadioUplinkCell, ShortGrantsKeepTheUplinkGoingBesideACrowdedDownlink) {
    constexpr int slots = 6000;
    const auto setup = [](emulated_setup& s, unsigned seed) {
        s.channel.model = "jakes";
        s.channel.snr_db = 16;
        s.cell.seed = seed;
        s.cell.errors = bin_model::error_method::computed;
        s.link().bins = 25;
        s.link().queue_packets = 400;
    };
    for (unsigned seed = 1; seed <= 3; ++seed) {
        make([&](emulated_setup& s) {
            setup(s, seed);
            s.cell.radio_uplink.reset();
        });
        const double line = saturated_goodput(slots);
        for (const int up_bytes : {0, 1000}) {
            double up[2] = {}, down[2] = {};
            for (const bool short_grants : {false, true}) {
                make([&](emulated_setup& s) {
                    setup(s, seed);
                    s.cell.radio_uplink->short_grants = short_grants;
                });
                up_bytes_ = up_bytes;
                down[short_grants] = saturated_goodput(slots);
                if (HasFatalFailure()) return;
                up[short_grants] = static_cast<double>(up_.bytes) * 8 * 1500 / slots / 1e6;
                const auto& base = cell_->radio_uplink(0)->base();
                std::printf(
                    "{\"seed\": %u, \"uplink\": \"%s\", \"short_grants\": %s, "
                    "\"line_mbps\": %.4f, \"down_mbps\": %.4f, \"down_loss_percent\": %.2f, "
                    "\"up_mbps\": %.4f, \"grants\": %llu, \"short\": %llu, \"bits\": %llu, "
                    "\"put_off\": %llu}\n",
                    seed, up_bytes == 0 ? "acknowledgements" : "saturated",
                    short_grants ? "true" : "false", line, down[short_grants],
                    100 * (1 - down[short_grants] / line), up[short_grants],
                    static_cast<unsigned long long>(base.grants),
                    static_cast<unsigned long long>(base.grants_short),
                    static_cast<unsigned long long>(base.grant_bits),
                    static_cast<unsigned long long>(base.grants_put_off));
                EXPECT_EQ(base.grants_short > 0, short_grants);
                EXPECT_EQ(cell_->radio_uplink(0)->terminal().grants_without_reference, 0U);
                EXPECT_EQ(cell_->radio_uplink(0)->terminal().grants_refused, 0U);
            }
            EXPECT_GT(down[1], 0.97 * line);
            if (up_bytes > 0) {
                EXPECT_GT(up[1], up[0]);
            }
        }
        up_bytes_ = 0;
    }
}

TEST_F(RadioUplinkCell, LostFormsCostFeedbackAndNothingElse) {
    make([](emulated_setup& s) {
        s.channel.snr_db = 25;
        s.cell.uplink.feedback_loss = 0.2;
    });
    for (int i = 0; i < 1000; ++i) {
        if (i % 4 == 0) cell_->into_queue(0, packet(600));
        if (i % 8 == 0) send_up(100);
        ASSERT_NO_FATAL_FAILURE(run(1));
    }
    run(200);
    EXPECT_TRUE(cell_->idle());
    const auto lost = cell_->radio_uplink(0)->base().forms_lost;
    EXPECT_GT(lost, 180U);
    EXPECT_LT(lost, 300U);
    EXPECT_GT(cell_->base(0).statistics().feedback_missing, 20U);
    EXPECT_EQ(down_.packets, 250U);
    EXPECT_EQ(up_.packets, 125U);
}

TEST_F(RadioUplinkCell, AWeakerUplinkLosesFormsAndFrames) {
    make([](emulated_setup& s) {
        s.channel.snr_db = 25;
        s.cell.uplink_snr_offset_db = -22;  // 3 dB: 57 % of the forms are lost
        s.cell.radio_uplink->modulation = 1;
    });
    run(2000);
    const auto& base = cell_->radio_uplink(0)->base();
    const double lost =
        static_cast<double>(base.forms_lost) / static_cast<double>(base.slots_heard);
    EXPECT_NEAR(lost, 2285.0 / 4000, 0.05);
    EXPECT_GT(base.frames_bad, 0U);
}

TEST_F(RadioUplinkCell, AChangeOfSettingsHoldsFromTheNextSlotOn) {
    make([](emulated_setup& s) { s.channel.snr_db = 25; });
    run(50);
    uplink_config line = config_.cell.uplink;
    line.feedback_loss = 1;
    cell_->reconfigure(line);
    const auto before = cell_->radio_uplink(0)->base().forms;
    run(50);
    EXPECT_LE(cell_->radio_uplink(0)->base().forms, before + 2);
}

TEST_F(RadioUplinkCell, SeveralTerminalsAreRefused) {
    const auto two = [this] { make([](emulated_setup& s) { s.cell.cell.users = 2; }); };
    EXPECT_THROW(two(), std::invalid_argument);
}

TEST(FormErrors, AreTheMeasuredOnesInWhiteNoiseAndFallWithTheSnr) {
    std::array<float, nof_bins> snr{};
    const auto at = [&snr](double db) {
        snr.fill(static_cast<float>(std::pow(10, db / 10)));
        return bin_model::form_loss(snr);
    };
    EXPECT_NEAR(at(3), 2285.0 / 4000, 1e-3);
    EXPECT_NEAR(at(4.5), 208.0 / 4000, 1e-3);
    EXPECT_EQ(at(-30), 1);
    double last = 1;
    for (double db = 0; db < 30; db += 0.25) {
        const double now = at(db);
        EXPECT_LE(now, last);
        last = now;
    }
    EXPECT_LT(at(17), 1e-9);
}
