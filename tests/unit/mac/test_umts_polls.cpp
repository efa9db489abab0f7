// SPDX-License-Identifier: GPL-3.0-or-later
// When acknowledged RLC polls and sends its status: figures 4.3 and 4.4 (Teyeb 2006) as they are
// described there.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>

#include "rlc_world.h"

namespace wip::umts {
namespace {

// An SDU that fills a PDU of 42 octets with its LI, so that SDU n is PDU n; the figures count
// from 1.
constexpr int one_pdu = 39;

am_config plain() {
    am_config c;
    c.poll_last = c.poll_last_retransmitted = c.status_missing = false;
    c.poll_timer_ns = c.status_prohibit_ns = 0;
    c.poll_window_percent = 0;
    return c;
}

struct sent_pdu {
    std::int64_t tti;
    int number;
    bool poll;
    bool operator==(const sent_pdu&) const = default;
};
void PrintTo(const sent_pdu& p, std::ostream* out) {
    *out << "TTI " << p.tti << " #" << p.number << (p.poll ? " P" : "");
}

// The sending side of the figures: what it sends, one PDU in a TTI by default.
class Polling : public testing::Test {
protected:
    void start(const am_config& c) {
        sender_ = std::make_unique<am_transmitter>(
            c, [](auto, const auto&, auto) {}, [](auto) {});
    }
    void give(int sdus, int bytes = one_pdu) {
        const std::vector<std::uint8_t> data(static_cast<std::size_t>(bytes), 7);
        for (int i = 0; i < sdus; ++i) ASSERT_TRUE(sender_->on_sdu(data, 0, 0));
    }
    void tti(std::int64_t t, int pdus = 1) {
        sender_->advance(t * tti_ns);
        std::vector<std::uint8_t> pdu(42);
        pdu_content content(42);
        for (; pdus > 0 && sender_->next_pdu(pdu, {}, t * tti_ns); --pdus) {
            ASSERT_TRUE(read_pdu(data_mode::acknowledged, pdu, content));
            sent.push_back({t, content.sn + 1, content.poll});
        }
    }
    void ttis(std::int64_t from, std::int64_t to) {
        for (; from <= to; ++from) tti(from);
    }
    // Everything up to and with `ack` is there but for `missing`.
    void status(int ack, const std::vector<int>& missing = {}) {
        status_content s;
        s.ack = static_cast<std::uint16_t>(ack);
        for (const int m : missing) s.missing.push_back(static_cast<std::uint16_t>(m - 1));
        ASSERT_TRUE(sender_->on_status(s));
    }
    std::vector<sent_pdu> sent;

private:
    std::unique_ptr<am_transmitter> sender_;
};

TEST_F(Polling, Figure43aLastPduAndLastRetransmittedPdu) {
    auto c = plain();
    c.poll_last = c.poll_last_retransmitted = true;
    start(c);
    give(4);
    ttis(2, 5);
    status(4, {2});
    ttis(10, 12);
    EXPECT_EQ(sent, (std::vector<sent_pdu>{
                        {2, 1, false}, {3, 2, false}, {4, 3, false}, {5, 4, true}, {10, 2, true}}));
}

TEST_F(Polling, Figure43bEveryFourthPdu) {
    auto c = plain();
    c.poll_pdus = 4;
    start(c);
    give(6);
    ttis(2, 7);
    give(1);
    status(4, {3});
    tti(10, 2);
    EXPECT_EQ(sent, (std::vector<sent_pdu>{{2, 1, false},
                                           {3, 2, false},
                                           {4, 3, false},
                                           {5, 4, true},
                                           {6, 5, false},
                                           {7, 6, false},
                                           {10, 3, false},
                                           {10, 7, true}}));
}

TEST_F(Polling, Figure43cLastPduOfEverySdu) {
    auto c = plain();
    c.poll_sdus = 1;
    start(c);
    give(1, 40 + one_pdu);
    give(1, 3 * 40 + one_pdu);
    ttis(4, 7);
    ttis(9, 10);
    EXPECT_EQ(sent, (std::vector<sent_pdu>{{4, 1, false},
                                           {5, 2, true},
                                           {6, 3, false},
                                           {7, 4, false},
                                           {9, 5, false},
                                           {10, 6, true}}));
}

TEST_F(Polling, Figure43dWindowInUse) {
    auto c = plain();
    c.poll_window_percent = 60;
    c.window = 10;
    start(c);
    give(5);
    ttis(1, 5);
    status(4, {1});
    tti(9);
    give(1);
    tti(10);
    EXPECT_EQ(sent.back(), (sent_pdu{10, 6, true}));
    for (std::size_t i = 0; i + 1 < sent.size(); ++i) EXPECT_FALSE(sent[i].poll) << i;
}

TEST_F(Polling, Figure43ePeriodicallyWithAPduThatIsNotAcknowledged) {
    auto c = plain();
    c.poll_period_ns = 10 * tti_ns;
    start(c);
    give(3);
    ttis(4, 30);
    EXPECT_EQ(sent,
              (std::vector<sent_pdu>{
                  {4, 1, false}, {5, 2, false}, {6, 3, false}, {14, 3, true}, {24, 3, true}}));
    status(3);
    ttis(31, 60);
    EXPECT_EQ(sent.size(), 5U) << "nothing is outstanding, so nothing is polled";
}

TEST_F(Polling, Figure43fTimer) {
    auto c = plain();
    c.poll_last = true;
    c.poll_timer_ns = 7 * tti_ns;
    start(c);
    give(4);
    ttis(1, 11);
    EXPECT_EQ(sent.back(), (sent_pdu{11, 4, true}));
    EXPECT_EQ(sent.size(), 5U);
}

TEST_F(Polling, TheTimerIsStoppedByACumulativeAckOrANackOfTheLastPdu) {
    for (const bool nack : {false, true}) {
        auto c = plain();
        c.poll_last = true;
        c.poll_timer_ns = 7 * tti_ns;
        start(c);
        sent.clear();
        give(4);
        ttis(1, 6);
        nack ? status(4, {4}) : status(4);
        ttis(7, 30);
        // A retransmission that was asked for, or nothing; no poll.
        EXPECT_EQ(sent.size(), nack ? 5U : 4U);
        EXPECT_FALSE(nack && sent.back().poll);
    }
}

TEST_F(Polling, TheTimerIsNotStoppedByAnAckOfLess) {
    auto c = plain();
    c.poll_last = true;
    c.poll_timer_ns = 7 * tti_ns;
    start(c);
    give(4);
    ttis(1, 6);
    status(3);
    ttis(7, 11);
    EXPECT_EQ(sent.back(), (sent_pdu{11, 4, true}));
}

TEST_F(Polling, AProhibitedPollIsDeferredAndNotDropped) {
    auto c = plain();
    c.poll_pdus = 1;
    c.poll_prohibit_ns = 5 * tti_ns;
    start(c);
    give(3);
    ttis(1, 10);
    const std::vector<sent_pdu> expected{{1, 1, true}, {2, 2, false}, {3, 3, false}, {6, 3, true}};
    EXPECT_EQ(sent, expected);
}

// The receiving side of the figures: one PDU of each SDU, status PDUs by TTI.
class Status : public testing::Test {
protected:
    void start(am_config c) {
        config_ = c;
        receiver_ = std::make_unique<am_receiver>(c, [](auto, const auto&) {});
    }
    void receive(std::int64_t t, int number, bool poll = false) {
        pdu_builder b(data_mode::acknowledged, 42, false);
        b.begin(static_cast<std::uint16_t>(number - 1), pdu_builder::carry::nothing, false);
        b.take(one_pdu);
        std::vector<std::uint8_t> pdu(42);
        b.finish(std::vector<std::uint8_t>(one_pdu, 7), pdu);
        set_poll(pdu, poll);
        receiver_->on_pdu(pdu, t * tti_ns);
    }
    // The status of this TTI: {} none, else the ACK (all before), then the missing ones.
    std::vector<int> status(std::int64_t t) {
        receiver_->advance(t * tti_ns);
        if (!receiver_->status_due(t * tti_ns)) return {};
        std::vector<std::uint8_t> pdu(42);
        status_writer out(pdu);
        receiver_->acknowledge(out, t * tti_ns);
        last = pdu;
        status_content c;
        EXPECT_TRUE(read_status(pdu, c));
        std::vector<int> reported{*c.ack};
        for (const auto m : c.missing) reported.push_back(m + 1);
        return reported;
    }
    std::vector<std::uint8_t> last;

private:
    am_config config_;
    std::unique_ptr<am_receiver> receiver_;
};

using says = std::vector<int>;

TEST_F(Status, Figure44aAfterAPoll) {
    start(plain());
    for (int n = 1; n <= 3; ++n) receive(n, n);
    EXPECT_EQ(status(4), says{});
    receive(4, 4, true);
    EXPECT_EQ(status(5), says{4});
    EXPECT_EQ(status(6), says{});
}

TEST_F(Status, Figure44bPeriodically) {
    auto c = plain();
    c.status_period_ns = 2 * tti_ns;
    start(c);
    const int i = 10;
    receive(i, 1);
    receive(i, 2, true);
    EXPECT_EQ(status(i + 1), says{2});
    EXPECT_EQ(status(i + 2), says{2});
    receive(i + 2, 3);
    receive(i + 2, 4);
    EXPECT_EQ(status(i + 3), says{});
    EXPECT_EQ(status(i + 4), says{4});
}

TEST_F(Status, Figure44cMissingPdus) {
    auto c = plain();
    c.status_missing = true;
    c.format = missing_format::bitmap;
    start(c);
    const int i = 10;
    receive(i, 1);
    receive(i, 2);
    EXPECT_EQ(status(i + 1), says{});
    receive(i + 2, 5);
    EXPECT_EQ(status(i + 3), (says{5, 3, 4}));
    // STATUS, BITMAP of one octet from SN 2: 0 0 1 (and nothing missing behind), ACK of all
    // before 5.
    EXPECT_EQ(std::vector<std::uint8_t>(last.begin(), last.begin() + 6),
              (std::vector<std::uint8_t>{0x04, 0x00, 0x02, 0x3f, 0x20, 0x05}));
}

TEST_F(Status, AProhibitedStatusIsDeferredAndThenUpToDate) {
    auto c = plain();
    c.status_missing = true;
    c.status_prohibit_ns = 5 * tti_ns;
    start(c);
    receive(0, 2);
    EXPECT_EQ(status(1), (says{2, 1}));
    receive(2, 4);
    EXPECT_EQ(status(3), says{});
    receive(4, 1);
    EXPECT_EQ(status(5), says{});
    EXPECT_EQ(status(6), (says{4, 3}));
    EXPECT_EQ(status(20), says{});
}

}  // namespace
}  // namespace wip::umts
