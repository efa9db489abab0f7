// SPDX-License-Identifier: GPL-3.0-or-later
// Each sender of our own against a line on which every packet's fate is written down. Its defining
// behaviour is read from the segments that it sends, beside what NewReno does on the same line.
// Numbers of RFC 4015, the 4.4BSD timer and Westwood's filter are worked out by hand.
#include <gtest/gtest.h>
#include <ns3/inet-socket-address.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/node-container.h>
#include <ns3/simulator.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "port/packet_link.h"
#include "simulator/link_channel.h"
#include "simulator/old_senders.h"
#include "simulator/senders.h"
#include "simulator/westwood_per_ack.h"

namespace wip::simulator {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr double lost = -1, damaged = -2;

// 50 ms, and what the script adds for the nth packet with data (from 0): `lost`, `damaged`
// (a TCP header that cannot be), or ms. In order unless that is not wanted.
class scripted_link final : public packet_link {
public:
    using script = std::function<double(int nth, double now_ms)>;
    struct segment {
        double at_ms;
        std::uint32_t sequence, bytes;
    };

    explicit scripted_link(script s, bool in_order = true)
        : script_(std::move(s)), in_order_(in_order) {}
    bool offer(std::span<const std::uint8_t> packet, std::int64_t now, int tag) override {
        sums_.in.add(packet.size());
        const std::size_t head = 20 + 4U * (packet[32] >> 4U);
        double extra = 0;
        if (packet.size() > head) {
            std::uint32_t sequence = 0;
            for (std::size_t i = 24; i < 28; ++i) sequence = sequence << 8U | packet[i];
            const double at = static_cast<double>(now) / ms;
            extra = script_ ? script_(static_cast<int>(data_.size()), at) : 0;
            data_.push_back({at, sequence, static_cast<std::uint32_t>(packet.size() - head)});
        }
        if (extra == lost) {
            sums_.dropped[0].count.add(packet.size());
            return false;
        }
        std::int64_t due = now + 50 * ms + static_cast<std::int64_t>(std::max(0.0, extra) * ms);
        if (in_order_ && !line_.empty()) due = std::max(due, line_.rbegin()->first);
        const auto at = line_.emplace(due, waiting{{packet.begin(), packet.end()}, tag});
        if (extra == damaged) at->second.data[32] = 0x10;
        return true;
    }
    void advance(std::int64_t now) override {
        while (next_wakeup() <= now) {
            const auto p = line_.extract(line_.begin());
            sums_.delivered.add(p.mapped().data.size());
            hand_over({p.mapped().data, p.mapped().tag, 0, p.key()});
        }
    }
    std::int64_t next_wakeup() const override {
        return line_.empty() ? never : line_.begin()->first;
    }
    link_sums sums() const override { return sums_; }
    bool idle() const override { return line_.empty(); }
    const std::vector<segment>& data() const { return data_; }

private:
    struct waiting {
        std::vector<std::uint8_t> data;
        int tag;
    };
    script script_;
    bool in_order_;
    std::multimap<std::int64_t, waiting> line_;
    std::vector<segment> data_;
    link_sums sums_{{}, {}, {}, {{"script", {}}}};
};

using settings = std::map<std::string, std::string>;

// One transfer of whole segments of 1000 bytes from 0 ms on, window as large as it likes.
class world {
public:
    world(const std::string& sender, int segments, scripted_link::script script,
          const settings& more = {}, bool in_order = true)
        : down_(std::move(script), in_order), bytes_(1000U * static_cast<std::uint32_t>(segments)) {
        set_defaults();
        settings all{{"ns3::TcpSocket::SegmentSize", "1000"},
                     {"ns3::TcpSocket::DelAckCount", "1"},
                     {"ns3::TcpSocket::InitialCwnd", "10"},
                     {"ns3::TcpSocketBase::Sack", "false"},
                     {"ns3::TcpSocketBase::Timestamp", "true"},
                     {"ns3::TcpSocketBase::LimitedTransmit", "false"}};
        for (const auto& [name, value] : more) all[name] = value;
        for (const auto& [name, value] : all) set_attribute(name, value);
        ns3::NodeContainer nodes(2);
        ns3::InternetStackHelper stack;
        stack.SetIpv6StackInstall(false);
        stack.Install(nodes);
        channel_->attach(nodes.Get(0), "10.0.0.1/24");
        channel_->attach(nodes.Get(1), "10.0.0.2/24");
        channel_->connect(down_, up_);
        listening_ = make_socket(nodes.Get(1), "newreno");
        listening_->Bind(ns3::InetSocketAddress("10.0.0.2", 80));
        listening_->Listen();
        listening_->SetAcceptCallback(
            ns3::Callback<bool, ns3::Ptr<ns3::Socket>, const ns3::Address&>(
                [](ns3::Ptr<ns3::Socket>, const ns3::Address&) { return true; }),
            ns3::Callback<void, ns3::Ptr<ns3::Socket>, const ns3::Address&>(
                [this](ns3::Ptr<ns3::Socket> s, const ns3::Address&) {
                    s->SetRecvCallback(ns3::Callback<void, ns3::Ptr<ns3::Socket>>(
                        [this](ns3::Ptr<ns3::Socket> from) {
                            received_ += from->Recv()->GetSize();
                        }));
                }));
        socket = make_socket(nodes.Get(0), sender);
        socket->SetConnectCallback(
            ns3::Callback<void, ns3::Ptr<ns3::Socket>>(
                [this](ns3::Ptr<ns3::Socket> s) { s->Send(ns3::Create<ns3::Packet>(bytes_)); }),
            ns3::Callback<void, ns3::Ptr<ns3::Socket>>([](ns3::Ptr<ns3::Socket>) {}));
        socket->Bind();
        socket->Connect(ns3::InetSocketAddress("10.0.0.2", 80));
    }
    ~world() { ns3::Simulator::Destroy(); }
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    void run_until(double at_ms) {
        ns3::Simulator::Stop(ns3::NanoSeconds(static_cast<std::int64_t>(at_ms * ms)) -
                             ns3::Simulator::Now());
        ns3::Simulator::Run();
    }
    bool complete() const { return received_ == bytes_; }
    const std::vector<scripted_link::segment>& sent() const { return down_.data(); }
    // The times at which the segment with this byte was sent.
    std::vector<double> times_of(std::uint32_t segment) const {
        std::vector<double> times;
        for (const auto& s : sent())
            if (s.sequence == 1 + 1000 * segment) times.push_back(s.at_ms);
        return times;
    }

    ns3::Ptr<counting_socket> socket;

private:
    scripted_link down_, up_{nullptr};
    ns3::Ptr<link_channel> channel_ = ns3::CreateObject<link_channel>();
    ns3::Ptr<counting_socket> listening_;
    std::uint32_t bytes_, received_ = 0;
};

// The segments of a window of 40 that are lost.
scripted_link::script loses(std::vector<int> which) {
    return [which](int nth, double) { return std::ranges::count(which, nth) > 0 ? lost : 0.0; };
}

// Segments that are sent in [from, to) come `extra` later, and those that follow come after them.
scripted_link::script spike(double from, double to, double extra) {
    return [=](int, double now) { return now >= from && now < to ? extra : 0.0; };
}

TEST(Senders, all_names_send_a_file_and_another_name_is_refused_with_those_that_are_valid) {
    std::istringstream names(
        "cubic reno bbr westwood vegas veno dctcp bic highspeed htcp hybla "
        "illinois ledbat lp scalable yeah newreno tahoe coarse-reno eifel "
        "westwood-per-ack");
    for (std::string name; names >> name;) {
        world w(name, 100, loses({30}));
        w.run_until(60'000);
        EXPECT_TRUE(w.complete() && w.socket->bytes_acknowledged() == 100'000) << name;
        EXPECT_EQ(w.socket->counts().retransmits, w.sent().size() - 100) << name;
    }
    try {
        world w("nonsense", 1, nullptr);
        FAIL();
    } catch (const std::invalid_argument& e) {
        EXPECT_NE(std::string(e.what()).find("eifel"), std::string::npos) << e.what();
    }
    EXPECT_THROW(set_attribute("ns3::TcpSocketBase::Nonsense", "1"), std::invalid_argument);
    EXPECT_THROW(set_attribute("ns3::TcpSocketBase::MinRto", "soon"), std::invalid_argument);
}

TEST(Senders, a_segment_with_bit_errors_is_one_that_is_lost) {
    const auto sent = [](double fate) {
        world w("newreno", 400, [fate](int nth, double) { return nth == 40 ? fate : 0.0; });
        w.run_until(10'000);
        EXPECT_TRUE(w.complete());
        std::vector<std::pair<double, std::uint32_t>> all;
        for (const auto& s : w.sent()) all.emplace_back(s.at_ms, s.sequence);
        return all;
    };
    EXPECT_EQ(sent(damaged), sent(lost));
    EXPECT_NE(sent(damaged), sent(0));
}

// Windows of 10, 20, 40 segments at 100, 200, 300 ms; the loss is in the third.
TEST(Tahoe, after_the_third_duplicate_there_is_one_segment_and_slow_start_where_newreno_goes_on) {
    const auto after_loss = [](const char* sender) {
        world w(sender, 400, loses({40}));
        w.run_until(2000);
        const auto times = w.times_of(40);
        EXPECT_EQ(times.size(), 2U) << sender;
        std::vector<int> by_round_trip(4);
        bool again = false;
        for (const auto& s : w.sent()) {
            again = again || (s.sequence == 40'001 && s.at_ms == times[1]);
            const auto trip = static_cast<std::size_t>((s.at_ms - times[1] + 0.01) / 100);
            if (again && trip < by_round_trip.size()) ++by_round_trip[trip];
        }
        EXPECT_EQ(w.socket->counts().timeouts, 0U);
        EXPECT_EQ(w.socket->counts().fast_retransmits, 1U);
        EXPECT_TRUE(w.complete());
        return by_round_trip;
    };
    EXPECT_EQ(after_loss("tahoe"), (std::vector{1, 2, 4, 8}));
    EXPECT_GT(after_loss("newreno")[1], 10);
}

TEST(Tahoe, the_threshold_is_half_of_what_was_in_flight) {
    world w("tahoe", 400, loses({40}));
    w.run_until(450);
    EXPECT_EQ(w.socket->counts().fast_retransmits, 1U);
    // The first ten of the third window, 30..69, are acknowledged and let out two each: 40..89.
    EXPECT_EQ(w.socket->slow_start_threshold(), 50'000U / 2);
}

TEST(CoarseReno, each_further_loss_of_a_window_costs_a_recovery_where_newreno_needs_one) {
    const auto counts = [](const char* sender) {
        world w(sender, 400, loses({40, 45}));
        w.run_until(30'000);
        EXPECT_TRUE(w.complete()) << sender;
        return w.socket->counts();
    };
    const auto newreno = counts("newreno"), reno = counts("coarse-reno");
    EXPECT_EQ(newreno.fast_retransmits, 1U);
    EXPECT_EQ(newreno.timeouts, 0U);
    EXPECT_EQ(reno.fast_retransmits + reno.timeouts, 2U);
}

// Each is overtaken by more than two, the one after it was known to be there.
TEST(CoarseReno, what_comes_late_is_sent_again_once_and_nothing_else) {
    for (const double late : {10., 30., 60.}) {
        const auto script = [late](int nth, double) {
            return nth == 40 || nth == 90 || nth == 140 ? late : 0.0;
        };
        world w("coarse-reno", 400, script, {{"ns3::TcpSocketBase::LimitedTransmit", "true"}},
                false);
        w.run_until(20'000);
        EXPECT_TRUE(w.complete());
        EXPECT_EQ(w.socket->counts().fast_retransmits, 3U) << late;
        EXPECT_EQ(w.socket->counts().retransmits, 3U) << late;
    }
}

TEST(NewReno, duplicates_that_an_ack_has_explained_do_not_count_for_the_next_loss) {
    // The two late ones of 10..29 are overtaken by two and by one, the one later by no more.
    const auto counts = [](const char* sender, int later) {
        world w(
            sender, 400,
            [later](int nth, double) { return nth == 27 || nth == later ? 20.0 : 0.0; },
            {{"ns3::TcpSocketBase::LimitedTransmit", "true"}}, false);
        w.run_until(20'000);
        EXPECT_TRUE(w.complete());
        return w.socket->counts();
    };
    for (const char* sender : {"newreno", "tahoe", "eifel", "westwood-per-ack"}) {
        for (const int later : {28, 29}) {
            EXPECT_EQ(counts(sender, later).fast_retransmits, 0U) << sender << later;
            EXPECT_EQ(counts(sender, later).retransmits, 0U) << sender << later;
        }
    }
}

TEST(CoarseReno, timeouts_come_with_ticks_and_double) {
    for (const int tick : {500, 300}) {
        // The last segment, and every copy of it for 20 s.
        world w("coarse-reno", 10,
                [](int nth, double now) { return nth >= 9 && now < 20'000 ? lost : 0.0; },
                {{"wip::coarse_reno_socket::Tick", std::to_string(tick) + "ms"},
                 {"wip::tick_estimator::Tick", std::to_string(tick) + "ms"},
                 {"ns3::TcpSocketBase::MinRto", std::to_string(2 * tick) + "ms"}});
        w.run_until(60'000);
        EXPECT_TRUE(w.complete());
        const auto times = w.times_of(9);
        ASSERT_GT(times.size(), 4U);
        for (std::size_t i = 1; i < times.size(); ++i)
            EXPECT_NEAR(std::remainder(times[i], tick), 0, 1e-6) << times[i];
        // From the second timeout on, timers start at a tick.
        for (std::size_t i = 3; i < times.size(); ++i)
            EXPECT_NEAR(times[i] - times[i - 1], 2 * (times[i - 1] - times[i - 2]), 1e-6);
    }
}

TEST(CoarseReno, the_estimator_counts_ticks_as_4_4BSD_does) {
    ns3::Simulator::Destroy();
    set_attribute("wip::tick_estimator::Tick", "500ms");
    const auto e = ns3::CreateObject<tick_estimator>();
    struct row {
        int sent_ms, acked_ms, srtt_ticks, var_4_ticks;
    };
    // R = 3, 2, 2; the one between was sent while another was timed; R = 1 (within a tick).
    const std::vector<row> rows{{100, 1100, 3, 6},
                                {400, 1200, 3, 6},
                                {1300, 1600, 2, 7},
                                {1700, 2100, 2, 7},
                                {2200, 2300, 2, 8}};
    for (const auto& r : rows)
        ns3::Simulator::Schedule(ns3::MilliSeconds(r.acked_ms), [&e, r] {
            e->Measurement(ns3::MilliSeconds(r.acked_ms - r.sent_ms));
            EXPECT_EQ(e->GetEstimate(), ns3::MilliSeconds(500 * r.srtt_ticks)) << r.acked_ms;
            EXPECT_EQ(e->GetVariation() * 4, ns3::MilliSeconds(500 * r.var_4_ticks)) << r.acked_ms;
        });
    ns3::Simulator::Run();
    ns3::Simulator::Destroy();
}

// A window of 40 segments is held up for a second: nothing is lost.
TEST(Eifel, after_a_delay_spike_one_segment_is_sent_twice_where_newreno_sends_the_window_again) {
    const auto counts = [](const char* sender) {
        world w(sender, 400, spike(299, 330, 1000));
        w.run_until(20'000);
        EXPECT_TRUE(w.complete()) << sender;
        return w.socket->counts();
    };
    const auto newreno = counts("newreno"), eifel = counts("eifel");
    EXPECT_EQ(eifel.spurious_timeouts, 1U);
    EXPECT_EQ(newreno.spurious_timeouts, 1U);
    EXPECT_EQ(eifel.timeouts, newreno.timeouts);
    EXPECT_EQ(eifel.retransmits, eifel.timeouts);
    EXPECT_GT(newreno.retransmits, 10U);
}

TEST(Eifel, window_and_threshold_are_those_of_RFC_4015) {
    world w("eifel", 400, spike(299, 330, 1000));
    w.run_until(1300);
    EXPECT_EQ(w.socket->counts().spurious_timeouts, 0U);
    EXPECT_EQ(w.socket->congestion_window(), 1000U);
    const std::uint64_t before = w.sent().size();
    const std::uint32_t highest = w.sent()[before - 1].sequence;
    // The first held-up segment arrives at 1350 ms, its ACK at 1400 ms.
    w.run_until(1400.001);
    EXPECT_EQ(w.socket->counts().spurious_timeouts, 1U);
    // pipe_prev = max(flight 40, ssthresh at its start, 2^32 - 1) segments; the ACKs of the whole
    // held-up window come at once, 40 of them, of which the first has set
    // cwnd = flight 39 + min(acked 1, initial window 10) = 40 and the others add one each.
    EXPECT_EQ(w.socket->slow_start_threshold(), 0xffffffffU);
    EXPECT_EQ(w.socket->congestion_window(), (40U + 39U) * 1000U);
    for (std::size_t i = before; i < w.sent().size(); ++i)
        EXPECT_GT(w.sent()[i].sequence, std::min(highest, 39'001U)) << "sent again";
}

TEST(Eifel, the_timer_takes_the_spike_in_with_the_first_new_round_trip) {
    world w("eifel", 400, spike(299, 330, 1000));
    w.run_until(1450);
    std::vector<double> timers;
    w.socket->TraceConnectWithoutContext(
        "RTO", ns3::Callback<void, ns3::Time, ns3::Time>([&timers](ns3::Time, ns3::Time now) {
            timers.push_back(1e3 * now.GetSeconds());
        }));
    w.run_until(1501);
    // New data went at 1400 ms, its first ACK is there at 1500 ms: R = 100 ms;
    // SRTT = max(100 + 2 G, 100) = 102 ms, RTTVAR = max(as before, 50 ms), RTO = 302 ms.
    ASSERT_FALSE(timers.empty());
    // Before, the round trips of the held-up segments counted.
    const auto first = std::ranges::find_if(timers, [](double rto_ms) { return rto_ms < 1000; });
    ASSERT_NE(first, timers.end());
    EXPECT_NEAR(*first, 302, 1.5);
}

TEST(Eifel, a_timeout_after_a_real_loss_is_answered_as_ever) {
    const auto burst = [](int, double now) { return now > 299 && now < 330 ? lost : 0.0; };
    world w("eifel", 400, burst);
    w.run_until(20'000);
    EXPECT_TRUE(w.complete());
    const auto counts = w.socket->counts();
    EXPECT_EQ(counts.spurious_timeouts, 0U);
    EXPECT_EQ(counts.timeouts, 1U);
    EXPECT_EQ(counts.retransmits, 40U);
}

// One segment comes 20 ms after those behind it, whose duplicate ACKs have it sent again.
TEST(Eifel, a_recovery_after_reordering_is_taken_back) {
    const auto threshold = [](const char* sender) {
        world w(
            sender, 400, [](int nth, double) { return nth == 40 ? 20.0 : 0.0; }, {}, false);
        w.run_until(440);
        EXPECT_EQ(w.socket->counts().fast_retransmits, 1U) << sender;
        EXPECT_EQ(w.socket->counts().spurious_fast_retransmits, 1U) << sender;
        if (std::string(sender) == "eifel") {
            EXPECT_EQ(w.socket->counts().retransmits, 1U);
        }
        w.run_until(20'000);
        EXPECT_TRUE(w.complete()) << sender;
        return w.socket->slow_start_threshold();
    };
    EXPECT_EQ(threshold("eifel"), 0xffffffffU);
    EXPECT_LT(threshold("newreno"), 60'000U);
}

TEST(Timer, its_floor_is_settable) {
    const auto waits = [](const char* floor) {
        world w("newreno", 10, [](int nth, double) { return nth == 9 ? lost : 0.0; },
                {{"ns3::TcpSocketBase::MinRto", floor}});
        w.run_until(20'000);
        EXPECT_TRUE(w.complete());
        const auto times = w.times_of(9);
        EXPECT_EQ(times.size(), 2U);
        return times.back() - times.front();
    };
    // The other nine are acknowledged 100 ms after they were sent; from then on the timer runs.
    EXPECT_NEAR(waits("1s"), 1100, 1);
    EXPECT_LT(waits("200ms"), 500);
    EXPECT_LE(waits("0ms"), waits("200ms"));
}

// Ten segments at 100 ms; the last one arrives a second later than the others, when it has been
// sent again more than once.
TEST(RoundTrip, that_of_a_segment_that_was_sent_again_is_told_by_the_timestamp_that_comes_back) {
    for (const std::string stamps : {"true", "false"}) {
        world w("newreno", 10, [](int nth, double) { return nth == 9 ? 1000.0 : 0.0; },
                {{"ns3::TcpSocketBase::Timestamp", stamps}});
        w.run_until(20'000);
        EXPECT_TRUE(w.complete() && w.times_of(9).size() >= 2);
        // 100 + (1100 - 100)/8: the copies were answered as well, and say nothing new.
        EXPECT_NEAR(w.socket->round_trip_ms(), stamps == "true" ? 225 : 100, 1);
        EXPECT_NEAR(w.socket->least_round_trip_ms(), 100, 1);
    }
}

// From 1 s on a round trip takes 400 ms and not 100, so that each segment arrives, but none in
// time.
TEST(Timer, longer_round_trips_are_learnt_after_some_spurious_timeouts) {
    for (const char* timestamps : {"true", "false"}) {
        for (const char* sender : {"newreno", "eifel", "tahoe"}) {
            world w(sender, 2000, [](int, double now) { return now < 1000 ? 0.0 : 300.0; },
                    {{"ns3::TcpSocketBase::Timestamp", timestamps},
                     {"ns3::TcpSocketBase::MinRto", "20ms"},
                     {"ns3::TcpSocket::RcvBufSize", "20000"}});
            w.run_until(60'000);
            EXPECT_TRUE(w.complete());
            EXPECT_GE(w.socket->counts().timeouts, 1U) << sender << timestamps;
            EXPECT_LE(w.socket->counts().timeouts, 4U) << sender << timestamps;
        }
    }
}

TEST(Westwood, the_filter_is_the_low_pass_of_its_time_constant) {
    const auto w = ns3::CreateObject<westwood_per_ack>();
    w->acknowledged(1000, 0);
    EXPECT_EQ(w->bytes_per_second(), 0);
    // d = 100 ms, 2 tau = 1 s: B = (0.9 B + 0.1 (b + last b)) / 1.1.
    w->acknowledged(100, 0.1);
    EXPECT_NEAR(w->bytes_per_second(), 1000 * 1 / 11., 1e-9);
    w->acknowledged(100, 0.2);
    EXPECT_NEAR(w->bytes_per_second(), 1000 * (9 / 121. + 2 / 11.), 1e-9);
    for (int i = 3; i < 200; ++i) w->acknowledged(100, 0.1 * i);
    EXPECT_NEAR(w->bytes_per_second(), 1000, 1e-3);
    // 0.55 s of silence: two zeros after 0.25 s each, then b = 100/0.55 over 0.05 s.
    const double after_zeros = (0.75 * ((0.75 * 1000 + 0.25 * 1000) / 1.25)) / 1.25;
    w->acknowledged(100, 19.9 + 0.55);
    EXPECT_NEAR(w->bytes_per_second(), (0.95 * after_zeros + 0.05 * 100 / 0.55) / 1.05, 1e-3);
    // Two ACKs at one time are one of both.
    const auto both = ns3::CreateObject<westwood_per_ack>(),
               one = ns3::CreateObject<westwood_per_ack>();
    for (const auto& [x, bytes] : {std::pair{both, 50.0}, std::pair{one, 100.0}}) {
        x->acknowledged(bytes, 0);
        x->acknowledged(bytes, 0.1);
        if (x == both) x->acknowledged(50, 0.1);
        x->acknowledged(bytes, 0.2);
        if (x == both) x->acknowledged(50, 0.2);
        x->acknowledged(100, 0.3);
    }
    EXPECT_LT(both->bytes_per_second(), one->bytes_per_second() + 1e-9);
}

TEST(Westwood, after_a_loss_the_threshold_is_what_the_path_carries) {
    // 40 segments a round trip of 100 ms come through, one is lost: the pipe, not half of it.
    world w("westwood-per-ack", 2000, loses({900}), {{"ns3::TcpSocket::RcvBufSize", "40000"}});
    w.run_until(5000);
    EXPECT_EQ(w.socket->counts().fast_retransmits, 1U);
    EXPECT_GT(w.socket->slow_start_threshold(), 30'000U);
    EXPECT_LE(w.socket->slow_start_threshold(), 41'000U);
}

}  // namespace
}  // namespace wip::simulator
