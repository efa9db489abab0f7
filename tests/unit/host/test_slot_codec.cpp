// SPDX-License-Identifier: GPL-3.0-or-later
// Messages that no receiver could have sent do not reach the MAC; all others come through
// unchanged.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "macd/slot_codec.h"

using namespace wip;
using namespace wip::host;
using openwip::slot_link::SlotReport;

namespace {

slot_grant sample_grant() {
    slot_grant g;
    g.frame_number = frame_number_of(slot(1000));
    g.first_new_sn = 77;
    g.window_edge = 3;
    g.bins[2] = {.bits_per_symbol = 4, .sn = 77};
    g.bins[9] = {.bits_per_symbol = 7, .sn = 78};
    return g;
}

// A true report: bin 2 good with 4 bits per symbol, bin 9 bad with 7.
SlotReport true_report() {
    SlotReport r;
    r.set_air(1000);
    r.set_locked(true);
    r.set_grant_ok(true);
    r.mutable_grant()->resize(grant_bytes);
    pack_grant(sample_grant(), link_profile::radio,
               std::span<std::uint8_t, grant_bytes>(
                   reinterpret_cast<std::uint8_t*>(r.mutable_grant()->data()), grant_bytes));
    for (int b = 0; b < nof_bins; ++b) {
        r.add_snr_db(10.0F + static_cast<float>(b));
        r.add_predicted_snr_db(20.0F + static_cast<float>(b));
    }
    for (const auto& [bin, k, outcome] : {std::tuple{2U, 4, openwip::slot_link::GOOD},
                                          std::tuple{9U, 7, openwip::slot_link::BAD}}) {
        auto& b = *r.add_bins();
        b.set_bin(bin);
        b.set_outcome(outcome);
        b.set_payload(std::string(
            static_cast<std::size_t>(frame_payload_bytes(link_profile::radio, k)), 'p'));
        b.set_combined(bin == 9);
    }
    return r;
}

const char* verdict_after(const std::function<void(SlotReport&)>& change) {
    SlotReport r = true_report();
    change(r);
    slot_report out;
    return read_report(r, link_profile::radio, out);
}

}  // namespace

TEST(SlotCodec, ATrueReportComesThroughUnchanged) {
    slot_report out;
    out.payload[7] = {1, 2, 3};  // left from the slot before
    ASSERT_EQ(read_report(true_report(), link_profile::radio, out), nullptr);
    EXPECT_EQ(out.air, slot(1000));
    EXPECT_TRUE(out.locked && out.grant_ok);
    EXPECT_EQ(out.grant, sample_grant());
    EXPECT_EQ(out.outcome[2], frame_outcome::good);
    EXPECT_EQ(out.outcome[9], frame_outcome::bad);
    EXPECT_EQ(out.outcome[7], frame_outcome::unused);
    EXPECT_TRUE(out.payload[7].empty());
    EXPECT_EQ(out.payload[2].size(),
              static_cast<std::size_t>(frame_payload_bytes(link_profile::radio, 4)));
    EXPECT_EQ(out.combined, 1U << 9);
    EXPECT_EQ(out.snr_db[3], 13.0F);
    EXPECT_EQ(out.predicted_snr_db[24], 44.0F);
}
TEST(SlotCodec, AnUnlockedReportNeedsOnlyItsSlot) {
    SlotReport r;
    r.set_air(5);
    r.set_grant_ok(true);  // has no meaning without lock
    slot_report out;
    ASSERT_EQ(read_report(r, link_profile::radio, out), nullptr);
    EXPECT_FALSE(out.locked);
    EXPECT_FALSE(out.grant_ok);
}
TEST(SlotCodec, EverythingThatNoReceiverSendsIsRefused) {
    const std::vector<std::function<void(SlotReport&)>> damages = {
        [](SlotReport& r) { r.set_air(-1); },
        [](SlotReport& r) { r.set_air(largest_slot); },
        [](SlotReport& r) { r.mutable_grant()->pop_back(); },
        [](SlotReport& r) { r.mutable_grant()->back() = 1; },
        [](SlotReport& r) { r.add_snr_db(1); },
        [](SlotReport& r) { r.clear_snr_db(); },
        [](SlotReport& r) { r.clear_predicted_snr_db(); },
        [](SlotReport& r) { r.mutable_bins(0)->set_bin(25); },
        [](SlotReport& r) { r.mutable_bins(0)->set_bin(9); },
        [](SlotReport& r) { r.mutable_bins(0)->set_bin(3); },
        [](SlotReport& r) { r.mutable_bins(0)->mutable_payload()->push_back('x'); },
        [](SlotReport& r) { r.mutable_bins(0)->clear_payload(); },
        [](SlotReport& r) {
            r.mutable_bins(0)->set_outcome(static_cast<openwip::slot_link::Outcome>(9));
        },
        [](SlotReport& r) { r.set_grant_ok(false); },
    };
    for (std::size_t i = 0; i < damages.size(); ++i)
        EXPECT_NE(verdict_after(damages[i]), nullptr) << i;
}
TEST(SlotCodec, ABadFrameMayComeWithoutItsBits) {
    EXPECT_EQ(verdict_after([](SlotReport& r) { r.mutable_bins(1)->clear_payload(); }), nullptr);
}
TEST(SlotCodec, AnSnrThatIsNoNumberBecomesTheLowest) {
    SlotReport r = true_report();
    r.set_snr_db(0, std::nanf(""));
    r.set_predicted_snr_db(1, std::numeric_limits<float>::infinity());
    r.set_predicted_snr_db(2, 1e30F);
    slot_report out;
    ASSERT_EQ(read_report(r, link_profile::radio, out), nullptr);
    EXPECT_EQ(out.snr_db[0], -60);
    EXPECT_EQ(out.predicted_snr_db[1], -60);
    EXPECT_EQ(out.predicted_snr_db[2], 100);
}
TEST(SlotCodec, APlanCarriesItsGrantAndThePayloadOfUsedBinsOnly) {
    slot_plan plan;
    plan.air = slot(1000);
    plan.grant = sample_grant();
    plan.payload[2].assign(51, 0xab);
    openwip::slot_link::SlotPlan m;
    m.add_payload();  // left from the slot before
    write_plan(plan, m);
    EXPECT_EQ(m.air(), 1000);
    ASSERT_EQ(m.payload_size(), 1);
    EXPECT_EQ(m.payload(0).bin(), 2U);
    EXPECT_EQ(m.payload(0).payload(), std::string(51, '\xab'));
    ASSERT_EQ(m.grant().size(), static_cast<std::size_t>(grant_bytes));
    const auto back =
        unpack_grant(std::span<const std::uint8_t, grant_bytes>(
                         reinterpret_cast<const std::uint8_t*>(m.grant().data()), grant_bytes),
                     link_profile::radio);
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(*back, sample_grant());
}
TEST(SlotCodec, FeedbackComesBackWithinHalfAHundredthOfADecibel) {
    slot_feedback f;
    f.air = slot(44);
    f.locked = f.grant_ok = true;
    f.ack = 0x1234567 & 0x1ffffff;
    for (std::size_t b = 0; b < nof_bins; ++b)
        f.predicted_snr_db[b] = 3.14159F * static_cast<float>(b) - 20;
    openwip::uplink::Feedback m;
    write_feedback(f, m);
    slot_feedback back;
    ASSERT_EQ(read_feedback(m, back), nullptr);
    EXPECT_TRUE(std::isnan(back.prediction_nmse));  // an unknown value is not sent
    f.prediction_nmse = 0.05F;
    write_feedback(f, m);
    ASSERT_EQ(read_feedback(m, back), nullptr);
    EXPECT_EQ(back.prediction_nmse, 0.05F);
    m.set_prediction_nmse(-1);
    ASSERT_EQ(read_feedback(m, back), nullptr);
    EXPECT_TRUE(std::isnan(back.prediction_nmse));
    EXPECT_EQ(back.air, f.air);
    EXPECT_EQ(back.ack, f.ack);
    for (std::size_t b = 0; b < nof_bins; ++b)
        EXPECT_NEAR(back.predicted_snr_db[b], f.predicted_snr_db[b], 0.00501);
}
TEST(SlotCodec, ImpossibleFeedbackIsRefused) {
    openwip::uplink::Feedback good;
    write_feedback(slot_feedback{.air = slot(44), .grant_ok = true}, good);
    slot_feedback out;
    ASSERT_EQ(read_feedback(good, out), nullptr);
    auto f = good;
    f.set_ack(1U << 25);
    EXPECT_NE(read_feedback(f, out), nullptr);
    f = good;
    f.set_air(-5);
    EXPECT_NE(read_feedback(f, out), nullptr);
    f = good;
    f.add_predicted_snr_cdb(1);
    EXPECT_NE(read_feedback(f, out), nullptr);
}
