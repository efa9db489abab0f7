// SPDX-License-Identifier: GPL-3.0-or-later
// The promises of every packet link (port/packet_link.h), tested in the same way for each kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cell/emulated_cell.h"
#include "delivery/delivery_link.h"
#include "handover/handover.h"
#include "packet/attempt_models.h"
#include "packet/uplink_link.h"
#include "packet/wired_link.h"
#include "port/link_chain.h"
#include "relay/delay_injection.h"
#include "traffic.h"
#include "umts/cell.h"
#include "umts_bearers.h"
#include "wlan/wlan_cell.h"

namespace wip {
namespace {

constexpr std::int64_t ms = 1'000'000;

// 100 (20 dB) in every bin, but for one slot in ten.
class steady_channel final : public bin_model::bin_channel {
public:
    void snr(slot s, std::span<float, nof_bins> linear) noexcept override {
        std::ranges::fill(linear, s.value % 10 == 3 ? 5.0F : 100.0F);
    }
};

struct made_link {
    std::shared_ptr<void> owner;
    packet_link* link;
};

template <class Link>
made_link own(std::shared_ptr<Link> link) {
    return {link, link.get()};
}

// A target that the bursts of this test pass.
queue_config managed(queue_kind kind) { return {.kind = kind, .target_ms = 1}; }

std::shared_ptr<cell_model::emulated_cell> make_cell(int users,
                                                     queue_kind queue = queue_kind::drop_tail) {
    cell_model::emulation_config c;
    c.cell.users = users;
    c.cell.link.queue = c.uplink.queue = managed(queue);
    c.cell.link.bins = 4;
    c.cell.link.in_order = true;
    c.cell.link.modulation = 4;
    c.cell.link.queue_packets = 20;
    c.to_base = {.delay_ms = 3, .rate_kbps = 20000, .loss = 0.01};
    c.from_base = {.delay_ms = 4, .loss = 0.01};
    c.uplink.queue_packets = 5;
    c.uplink.delay_slots = 2;
    std::vector<cell_model::snr_source> sources;
    for (int u = 0; u < users; ++u) {
        auto channel = std::make_unique<steady_channel>();
        auto prediction = std::make_unique<bin_model::perfect_prediction>(*channel);
        sources.push_back({std::move(channel), std::move(prediction)});
    }
    return std::make_shared<cell_model::emulated_cell>(c, std::move(sources));
}

std::shared_ptr<wlan::wlan_cell> make_wlan(const wlan::wlan_config& c) {
    return std::make_shared<wlan::wlan_cell>(c, [](int from, int to) {
        return packet_model::make_attempt_errors(
            {.kind = packet_model::attempt_config::model::gilbert_elliott},
            static_cast<std::uint32_t>(10 * from + to));
    });
}

// Small queues, blocks lost, packets given up.
umts::bearer_config lossy_bearer(const char* profile, double core_ms) {
    umts::bearer_config c = umts::of_profile(profile);
    c.profile.radio_ms -= core_ms;
    c.rlc.queue_sdus = 30;
    c.rlc.max_dat = 2;
    c.errors_down.rate = c.errors_up.rate = 0.1;
    return c;
}

// Lines that lose packets, and a handover of 150 ms every 200 ms.
std::shared_ptr<hetnet::handover> make_moving_terminal(hetnet::buffering keep) {
    hetnet::handover_config c;
    c.networks = hetnet::networks_of("a:9000/9000/7,b:3000/3000/20+2000/2000/15");
    c.keep = keep;
    c.delay_s = 0.15;
    c.network_timer_s = 0.2;
    c.state_timer_ms = 30;
    return std::make_shared<hetnet::handover>(c, [purpose = 1U](auto) mutable {
        return std::make_unique<packet_model::wired_link>(
            packet_model::wired_config{.loss = 0.02, .queue_packets = 30}, purpose++);
    });
}

// Opportunities of 5 Mbit/s with an outage, a base delay that moves, and trains.
made_link make_recorded(bool light, queue_kind queue = queue_kind::drop_tail) {
    delivery::delivery_config c;
    c.trace = delivery::read_delivery_trace("2\n4\n6\n6\n9\n11\n14\n16\n40\n");
    if (light)
        c.trace.trains =
            delivery::read_delivery_trace("0 5 0 0 1 2\n70 15.5 0 1\n90 2\n200 5 0\n").trains;
    c.loss = 0.02;
    c.delay_ms = 3;
    c.queue_packets = 8;
    c.queue = managed(queue);
    return own(std::make_shared<delivery::delivery_link>(c, false));
}

struct kind {
    const char* name;
    int tags;
    std::function<made_link()> make;
    bool drops = true;
    bool keeps_order = true;  // FQ-CoDel shares the link among flows, and each packet here is one
};

// A slow line in front of a stage, both of which live as long as the chain.
template <class Second>
struct behind_a_line {
    template <class... Args>
    explicit behind_a_line(Args&&... args)
        : line({.delay_ms = 7, .rate_kbps = 900, .loss = 0.02, .queue_packets = 6}, 1),
          second(std::forward<Args>(args)...),
          chain(line, second) {}
    packet_model::wired_link line;
    Second second;
    link_chain chain;
};

const delay_injection_config static_delay{.kind = delay_injection_config::mode::fixed,
                                          .static_ms = 40};

// The links that have a queue of their own, under one of the disciplines.
template <queue_kind Queue>
made_link managed_line() {
    return own(std::make_shared<packet_model::wired_link>(
        packet_model::wired_config{.delay_ms = 7,
                                   .rate_kbps = 900,
                                   .loss = 0.02,
                                   .queue_packets = 12,
                                   .queue = managed(Queue)},
        1));
}
template <queue_kind Queue>
made_link managed_uplink() {
    uplink_config c;
    c.kbps = 900;
    c.delay_slots = 5;
    c.loss = 0.02;
    c.queue_packets = 12;
    c.queue = managed(Queue);
    return own(std::make_shared<uplink_link>(c));
}
template <queue_kind Queue>
made_link managed_cell() {
    auto cell = make_cell(3, Queue);
    return made_link{cell, &cell->downlink()};
}

const std::vector<kind> kinds{
    {"line_under_codel", 3, managed_line<queue_kind::codel>},
    {"line_under_fq_codel", 3, managed_line<queue_kind::fq_codel>, true, false},
    {"line_under_pie", 3, managed_line<queue_kind::pie>},
    {"line_under_dualpi2", 3, managed_line<queue_kind::dualpi2>},
    {"uplink_under_codel", 3, managed_uplink<queue_kind::codel>},
    {"uplink_under_fq_codel", 3, managed_uplink<queue_kind::fq_codel>, true, false},
    {"uplink_under_pie", 3, managed_uplink<queue_kind::pie>},
    {"uplink_under_dualpi2", 3, managed_uplink<queue_kind::dualpi2>},
    {"ofdm_downlink_under_codel", 3, managed_cell<queue_kind::codel>},
    {"ofdm_downlink_under_fq_codel", 3, managed_cell<queue_kind::fq_codel>, true, false},
    {"ofdm_downlink_under_pie", 3, managed_cell<queue_kind::pie>},
    {"ofdm_downlink_under_dualpi2", 3, managed_cell<queue_kind::dualpi2>},
    {"wired_delay", 3,
     [] {
         return own(std::make_shared<packet_model::wired_link>(
             packet_model::wired_config{.delay_ms = 7, .loss = 0.02}, 1));
     }},
    {"wired_line", 3,
     [] {
         return own(std::make_shared<packet_model::wired_link>(
             packet_model::wired_config{
                 .delay_ms = 7, .rate_kbps = 900, .loss = 0.02, .queue_packets = 6},
             1));
     }},
    {"emulated_uplink", 3,
     [] {
         uplink_config c;
         c.kbps = 900;
         c.delay_slots = 5;
         c.loss = 0.02;
         c.queue_packets = 6;
         return own(std::make_shared<uplink_link>(c));
     }},
    {"ofdm_downlink", 1,
     [] {
         auto cell = make_cell(1);
         return made_link{cell, &cell->downlink()};
     }},
    {"ofdm_downlink_of_three", 3,
     [] {
         auto cell = make_cell(3);
         return made_link{cell, &cell->downlink()};
     }},
    {"ofdm_uplink_of_three", 3,
     [] {
         auto cell = make_cell(3);
         return made_link{cell, &cell->uplink()};
     }},
    {"wlan_downlink_of_three", 3,
     [] {
         auto cell = make_wlan({.stations = 3, .queue_packets = 5});
         return made_link{cell, &cell->downlink()};
     }},
    {"wlan_uplink_of_three_over_three_hops", 3,
     [] {
         auto cell = make_wlan({.retry_limit = 50, .stations = 3, .hops = 3, .queue_packets = 5});
         return made_link{cell, &cell->uplink()};
     }},
    {"umts_downlink", 3,
     [] {
         auto b = std::make_shared<umts::bearer>(lossy_bearer("umts-384", 20));
         return made_link{b, &b->downlink()};
     }},
    {"umts_downlink_unacknowledged", 3,
     [] {
         auto c = lossy_bearer("umts-384", 20);
         c.mode = umts::rlc_mode::unacknowledged;
         auto b = std::make_shared<umts::bearer>(c);
         return made_link{b, &b->downlink()};
     }},
    {"umts_downlink_unacknowledged_of_three", 3,
     [] {
         auto b = lossy_bearer("umts-384", 20);
         b.mode = umts::rlc_mode::unacknowledged;
         auto c = std::make_shared<umts::cell>(
             b, umts::cell_config{.users = 3, .kbps = 900, .users_db = {0, 3, -3}, .classes = {}});
         return made_link{c, &c->downlink()};
     }},
    {"umts_downlink_transparent_of_three", 3,
     [] {
         auto b = lossy_bearer("reference", 5);
         b.mode = umts::rlc_mode::transparent;
         auto c = std::make_shared<umts::cell>(
             b, umts::cell_config{.users = 3, .users_db = {}, .classes = {}});
         return made_link{c, &c->downlink()};
     }},
    {"umts_uplink_transparent", 3,
     [] {
         auto c = lossy_bearer("reference", 5);
         c.mode = umts::rlc_mode::transparent;
         auto b = std::make_shared<umts::bearer>(c);
         return made_link{b, &b->uplink()};
     }},
    {"umts_downlink_of_three", 3,
     [] {
         auto c = std::make_shared<umts::cell>(
             lossy_bearer("umts-384", 20),
             umts::cell_config{.users = 3, .kbps = 900, .users_db = {0, 3, -3}, .classes = {}});
         return made_link{c, &c->downlink()};
     }},
    {"umts_uplink_behind_a_core", 3,
     [] {
         auto b = std::make_shared<umts::bearer>(lossy_bearer("reference", 5));
         return made_link{b, &b->uplink()};
     }},
    {"hetnet_downlink_without_buffering", 3,
     [] {
         auto l = make_moving_terminal(hetnet::buffering::none);
         return made_link{l, &l->downlink()};
     }},
    {"hetnet_downlink", 3,
     [] {
         auto l = make_moving_terminal(hetnet::buffering::intermediate);
         return made_link{l, &l->downlink()};
     }},
    {"hetnet_uplink", 3,
     [] {
         auto l = make_moving_terminal(hetnet::buffering::full);
         return made_link{l, &l->uplink()};
     }},
    {"recorded", 3, [] { return make_recorded(false); }},
    {"recorded_with_light_load", 3, [] { return make_recorded(true); }},
    {"recorded_under_codel", 3, [] { return make_recorded(true, queue_kind::codel); }},
    {"recorded_under_fq_codel", 3, [] { return make_recorded(false, queue_kind::fq_codel); }, true,
     false},
    {"throttled", 3,
     [] {
         delivery::delivery_config c;
         c.rate_kbps = 900;
         c.delay_ms = 50;
         c.queue_packets = 6;
         return own(std::make_shared<delivery::delivery_link>(c, false));
     }},
    // A packet that is no acknowledgement passes at once; held ones: test_delay_injection.cpp.
    {"delay_injection", 3, [] { return own(std::make_shared<delay_injection>(static_delay)); },
     false},
    {"line_and_delay_injection", 3,
     [] {
         auto c = std::make_shared<behind_a_line<delay_injection>>(static_delay);
         return made_link{c, &c->chain};
     }},
    {"two_lines", 3,
     [] {
         auto c = std::make_shared<behind_a_line<packet_model::wired_link>>(
             packet_model::wired_config{
                 .delay_ms = 3, .rate_kbps = 700, .loss = 0.02, .queue_packets = 4},
             2U);
         return made_link{c, &c->chain};
     }},
};

struct arrival {
    int tag;
    std::uint32_t number;
    std::int64_t due_ns;
    bool operator==(const arrival&) const = default;
};

// Two seconds of bursts through a link, then until it is idle. Everything that is promised of each
// moment is checked in it.
class run {
public:
    // `restless`: advance() is also called when nothing is to be done.
    explicit run(const kind& k, bool restless = false)
        : link_(k.make()), restless_(restless), ordered_(k.keeps_order) {
        link().deliver_to([this](const link_packet& p) {
            on_arrival(p);
            return 0;
        });
        sim::random_source traffic(5);
        std::uint32_t number = 0;
        for (std::int64_t t = 10 * ms; t < 2000 * ms; t += traffic.up_to(60) * ms) {
            for (int i = traffic.up_to(12); i > 0; --i) {
                t += traffic.up_to(200'000);
                to(t);
                const auto packet = sim::make_packet(number, {.bytes = 48 + traffic.up_to(1400)});
                const int tag = traffic.up_to(k.tags);
                offered_.push_back({tag, t, packet});
                ++number;
                refused_ += link().offer(packet, t, tag) ? 0U : 1U;
                check_sums();
            }
        }
        for (int i = 0; i < 100'000 && !link().idle(); ++i) to(std::max(now_ + 1, wakeup()));
    }

    packet_link& link() const { return *link_.link; }
    const std::vector<arrival>& arrived() const { return arrived_; }
    std::uint64_t refused() const { return refused_; }

private:
    struct offer {
        int tag;
        std::int64_t at_ns;
        std::vector<std::uint8_t> data;
    };
    std::int64_t wakeup() const { return link().next_wakeup(); }

    // Advances up to t, from one wake-up to the next.
    void to(std::int64_t t) {
        while (wakeup() <= t) step(std::max(now_, wakeup()));
        step(t);
    }
    void step(std::int64_t t) {
        if (restless_ && now_ < t - 1) {
            promised_ = wakeup();
            now_ += (t - now_) / 3;
            link().advance(now_);
        }
        promised_ = wakeup();
        now_ = t;
        link().advance(t);
        check_sums();
    }
    void on_arrival(const link_packet& p) {
        const auto number = sim::packet_number(p.data);
        ASSERT_TRUE(number && *number < offered_.size());
        const offer& o = offered_[*number];
        EXPECT_TRUE(std::ranges::equal(p.data, o.data)) << "altered";
        EXPECT_EQ(p.tag, o.tag);
        EXPECT_GE(p.due_ns, o.at_ns) << "before it was offered";
        EXPECT_LE(p.due_ns, now_) << "before its time";
        EXPECT_GE(p.due_ns, promised_) << "before the wake-up that was promised";
        if (!arrived_.empty()) {
            EXPECT_GE(p.due_ns, arrived_.back().due_ns);
        }
        for (auto last = arrived_.rbegin(); last != arrived_.rend(); ++last)
            if (ordered_ && last->tag == p.tag) {
                EXPECT_GT(*number, last->number) << "out of order";
                break;
            }
        arrived_.push_back({p.tag, *number, p.due_ns});
    }
    void check_sums() const {
        EXPECT_EQ(link().sums().missing(), packets_bytes{}) << "at " << now_ << " ns";
        EXPECT_EQ(link().sums().in.packets, offered_.size()) << "at " << now_ << " ns";
    }

    made_link link_;
    bool restless_, ordered_;
    std::int64_t now_ = 0, promised_ = 0;
    std::vector<offer> offered_;
    std::vector<arrival> arrived_;
    std::uint64_t refused_ = 0;
};

class PacketLink : public testing::TestWithParam<kind> {};

TEST_P(PacketLink, ConservesKeepsOrderAndTimeAndNeverWakesTooLate) {
    const run r(GetParam());
    EXPECT_TRUE(r.link().idle());
    const link_sums sums = r.link().sums();
    EXPECT_EQ(sums.queued, packets_bytes{});
    EXPECT_EQ(sums.delivered.packets, r.arrived().size());
    EXPECT_GT(r.arrived().size(), 100U);
    std::uint64_t dropped = 0;
    for (const auto& d : sums.dropped) dropped += d.count.packets;
    EXPECT_EQ(dropped > 0, GetParam().drops) << "nothing was dropped, so drops were not checked";
    EXPECT_GE(dropped, r.refused());
}

TEST_P(PacketLink, ARerunIsTheSameHoweverOftenItIsAdvanced) {
    const run once(GetParam()), again(GetParam()), restless(GetParam(), true);
    EXPECT_EQ(once.arrived(), again.arrived());
    EXPECT_EQ(once.arrived(), restless.arrived());
}

TEST_P(PacketLink, ALinkWithoutASinkCountsWhatItWouldHaveDelivered) {
    const made_link made = GetParam().make();
    EXPECT_TRUE(made.link->idle());
    made.link->offer(sim::make_packet(0, {.bytes = 500}), 0);
    EXPECT_EQ(made.link->sums().in, (packets_bytes{1, 500}));
    for (std::int64_t t = 0; t < 500 * ms && !made.link->idle(); t += ms) made.link->advance(t);
    EXPECT_TRUE(made.link->idle());
    EXPECT_EQ(made.link->sums().delivered, (packets_bytes{1, 500}));
}

INSTANTIATE_TEST_SUITE_P(Links, PacketLink, testing::ValuesIn(kinds),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace wip
