// SPDX-License-Identifier: GPL-3.0-or-later
// The slot link's client against a macd played by the test, over each kind of link.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <thread>

#include "peer/peer_link.h"
#include "slot_link.h"

namespace {

using openwip::slot_link::SlotRequest;
using openwip::slot_link::ToFlowgraph;
using openwip::slot_link::ToMacd;
using wip::slot_link;

class slot_link_over : public testing::TestWithParam<const char*> {
public:
    slot_link_over() {
        char name[] = "/tmp/slot_link.XXXXXX";
        path_ = mkdtemp(name);
    }
    ~slot_link_over() override { std::filesystem::remove_all(path_); }
    std::string endpoint() const { return std::string(GetParam()) + "://" + path_ + "/slot"; }

private:
    std::string path_;
};

// macd's end of the link.
class fake_macd {
public:
    explicit fake_macd(const std::string& endpoint)
        : link_(wip::peer::make_link(
              {.endpoint = endpoint, .which = wip::peer::end::bind, .name = "slot_link"})) {}
    void hang_up() { link_.reset(); }  // messages that were sent still go out
    void send(const ToFlowgraph& m) { send_bytes(m.SerializeAsString()); }
    // Sends bytes as soon as there is a partner.
    void send_bytes(const std::string& bytes) {
        const auto* p = reinterpret_cast<const std::uint8_t*>(bytes.data());
        while (!link_->connected() || !link_->send({p, bytes.size()})) wait();
    }
    // The other end, which lives in the same thread: looks after its connection while we wait.
    void meet(slot_link& partner) { partner_ = &partner; }
    ToMacd receive() {
        ToMacd m;
        std::span<const std::uint8_t> in;
        for (int i = 0; i < 5000; ++i) {
            if (link_->receive(in)) {
                EXPECT_TRUE(m.ParseFromArray(in.data(), static_cast<int>(in.size())));
                return m;
            }
            wait();
        }
        ADD_FAILURE() << "no message within 5 s";
        return m;
    }
    void send_plan(std::int64_t air) {
        ToFlowgraph m;
        m.mutable_plan()->set_air(air);
        send(m);
    }

private:
    void wait() {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        link_->watch();
        if (partner_ != nullptr) partner_->poll();
    }
    slot_link* partner_ = nullptr;
    std::unique_ptr<wip::peer::peer_link> link_;
};

SlotRequest request(std::int64_t air) {
    SlotRequest r;
    r.set_air(air);
    return r;
}

void poll_until_ended(slot_link& link) {
    for (int i = 0; i < 5000 && !link.ended(); ++i) {
        link.poll();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

TEST_P(slot_link_over, says_hello_with_version_and_role_first) {
    fake_macd macd(endpoint());
    slot_link link({.endpoint = endpoint(), .role = "terminal"});
    macd.meet(link);
    const auto hello = macd.receive();
    ASSERT_EQ(hello.what_case(), ToMacd::kHello);
    EXPECT_EQ(hello.hello().version(), static_cast<unsigned>(openwip::slot_link::VERSION_CURRENT));
    EXPECT_EQ(hello.hello().role(), "terminal");
}

TEST_P(slot_link_over, returns_the_plan_of_the_slot_that_was_asked_for) {
    fake_macd macd(endpoint());
    slot_link link({.endpoint = endpoint(), .role = "base"});
    macd.meet(link);
    macd.send_plan(1234);
    const auto* plan = link.exchange(request(1234), nullptr);
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(plan->air(), 1234);
    EXPECT_EQ(macd.receive().what_case(), ToMacd::kHello);
    EXPECT_EQ(macd.receive().request().air(), 1234);
}

TEST_P(slot_link_over, drops_and_counts_the_plan_of_another_slot) {
    fake_macd macd(endpoint());
    slot_link link({.endpoint = endpoint(), .role = "base"});
    macd.meet(link);
    macd.send_plan(6);
    macd.send_plan(7);
    const auto* plan = link.exchange(request(7), nullptr);
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(plan->air(), 7);
    EXPECT_EQ(link.unexpected(), 1U);
}

// A radio that does not wait: the slot goes out without a plan, and the plan that comes later is
// neither taken for another slot nor counted as strange.
TEST_P(slot_link_over, gives_a_plan_up_at_its_deadline_and_drops_it_when_it_comes) {
    fake_macd macd(endpoint());
    slot_link link({.endpoint = endpoint(), .role = "base"});
    macd.meet(link);
    const auto soon = [] { return slot_link::clock::now() + std::chrono::milliseconds(3); };
    macd.send_plan(6);
    ASSERT_NE(link.exchange(request(6), nullptr), nullptr);
    EXPECT_EQ(link.exchange(request(7), nullptr, soon()), nullptr);
    EXPECT_FALSE(link.ended());
    macd.send_plan(7);
    macd.send_plan(8);
    const auto* plan =
        link.exchange(request(8), nullptr, slot_link::clock::now() + std::chrono::seconds(5));
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(plan->air(), 8);
    EXPECT_EQ(link.unexpected(), 0U);
    EXPECT_EQ(macd.receive().what_case(), ToMacd::kHello);
    for (const int air : {6, 7, 8}) EXPECT_EQ(macd.receive().request().air(), air);
}

TEST_P(slot_link_over, survives_random_bytes_and_still_finds_the_plan_behind_them) {
    std::mt19937 random(1);
    fake_macd macd(endpoint());
    slot_link link({.endpoint = endpoint(), .role = "base"});
    macd.meet(link);
    // Whole random messages, and the messages of the link with a few bytes changed or cut off.
    // Those that happen to parse as a stop or as another version are not sent: they may end the
    // link.
    ToFlowgraph good;
    good.mutable_plan()->set_air(8);
    good.mutable_plan()->set_grant(std::string(30, '\x55'));
    good.mutable_plan()->add_payload()->set_payload("abcdefgh");
    std::uint64_t bad = 0;
    for (int i = 0; i < 500; ++i) {
        std::string bytes = good.SerializeAsString();
        if (i % 2 == 0) {
            bytes.resize(random() % 200);
            for (auto& c : bytes) c = static_cast<char>(random());
        } else {
            bytes.resize(random() % (bytes.size() + 1));
            if (!bytes.empty()) bytes[random() % bytes.size()] = static_cast<char>(random());
        }
        ToFlowgraph parsed;
        const bool parses = parsed.ParseFromString(bytes);
        if (parses && (parsed.what_case() == ToFlowgraph::kStop || parsed.has_hello() ||
                       (parsed.has_plan() && parsed.plan().air() == 8)))
            continue;
        bad += !parses || parsed.what_case() == ToFlowgraph::WHAT_NOT_SET;
        macd.send_bytes(bytes);
    }
    macd.send_plan(8);
    ASSERT_NE(link.exchange(request(8), nullptr), nullptr);
    EXPECT_GT(bad, 200U);
    EXPECT_EQ(link.malformed(), bad);
    EXPECT_FALSE(link.ended());
}

TEST_P(slot_link_over, ends_with_macds_reason_when_asked_to_stop) {
    fake_macd macd(endpoint());
    slot_link link({.endpoint = endpoint(), .role = "base"});
    macd.meet(link);
    ToFlowgraph stop;
    stop.set_stop("the terminal died");
    macd.send(stop);
    EXPECT_EQ(link.exchange(request(1), nullptr), nullptr);
    EXPECT_EQ(link.end_reason(), "macd asks to stop: the terminal died");
}

TEST_P(slot_link_over, takes_macds_last_words_before_the_end_of_its_connection) {
    for (int i = 0; i < 20; ++i) {
        std::filesystem::remove(endpoint().substr(6));
        auto macd = std::make_unique<fake_macd>(endpoint());
        slot_link link({.endpoint = endpoint(), .role = "terminal"});
        macd->meet(link);
        macd->receive();
        ToFlowgraph stop;
        stop.set_stop("bye");
        macd->send(stop);
        macd->hang_up();
        std::this_thread::sleep_for(std::chrono::milliseconds(i % 4));
        poll_until_ended(link);
        EXPECT_EQ(link.end_reason(), "macd asks to stop: bye");
    }
}

TEST_P(slot_link_over, ends_when_the_connection_breaks) {
    fake_macd macd(endpoint());
    slot_link link({.endpoint = endpoint(), .role = "terminal"});
    macd.meet(link);
    macd.receive();
    macd.hang_up();
    poll_until_ended(link);
    EXPECT_EQ(link.end_reason(), "macd at " + endpoint() + " went away");
}

TEST_P(slot_link_over, ends_when_macd_hangs_without_closing_its_connection) {
    const pid_t child = fork();
    if (child == 0) {
        fake_macd macd(endpoint());
        macd.receive();
        raise(SIGSTOP);
        _exit(0);
    }
    slot_link link({.endpoint = endpoint(), .role = "base", .silence_s = 0.3});
    EXPECT_EQ(link.exchange(request(1), nullptr), nullptr);
    EXPECT_EQ(link.end_reason(), "macd at " + endpoint() + " went away");
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

TEST_P(slot_link_over, ends_when_there_is_no_macd) {
    slot_link link({.endpoint = endpoint(), .role = "base", .connect_s = 0.2});
    EXPECT_EQ(link.exchange(request(1), nullptr), nullptr);
    EXPECT_NE(link.end_reason().find("no macd at " + endpoint()), std::string::npos);
}

TEST_P(slot_link_over, ends_when_macd_speaks_another_version) {
    fake_macd macd(endpoint());
    slot_link link({.endpoint = endpoint(), .role = "base"});
    macd.meet(link);
    ToFlowgraph hello;
    hello.mutable_hello()->set_version(99);
    macd.send(hello);
    EXPECT_EQ(link.exchange(request(1), nullptr), nullptr);
    EXPECT_NE(link.end_reason().find("version 99"), std::string::npos);
}

TEST_P(slot_link_over, returns_when_cancelled_and_does_not_ask_twice) {
    fake_macd macd(endpoint());
    slot_link link({.endpoint = endpoint(), .role = "base"});
    macd.meet(link);
    EXPECT_EQ(link.exchange(request(5), [] { return true; }), nullptr);
    EXPECT_FALSE(link.ended());
    macd.send_plan(5);
    EXPECT_NE(link.exchange(request(5), nullptr), nullptr);
    macd.send_plan(6);
    EXPECT_NE(link.exchange(request(6), nullptr), nullptr);
    macd.receive();  // hello
    EXPECT_EQ(macd.receive().request().air(), 5);
    EXPECT_EQ(macd.receive().request().air(), 6);
}

TEST_P(slot_link_over, reuses_the_report_without_leftovers) {
    fake_macd macd(endpoint());
    slot_link link({.endpoint = endpoint(), .role = "terminal"});
    macd.meet(link);
    macd.receive();  // hello
    link.report().set_air(1);
    link.report().add_bins()->set_payload("first");
    auto& first = link.report();
    first.set_air(1);
    first.add_bins()->set_payload("first");
    EXPECT_TRUE(link.send_report(nullptr));
    link.report().set_air(2);
    EXPECT_TRUE(link.send_report(nullptr));
    EXPECT_EQ(macd.receive().report().bins_size(), 1);
    const auto second = macd.receive();
    EXPECT_EQ(second.report().air(), 2);
    EXPECT_EQ(second.report().bins_size(), 0);
}

TEST_P(slot_link_over, refuses_what_is_no_address_and_times_out_of_range) {
    EXPECT_THROW(slot_link({.endpoint = "nonsense", .role = "base"}), std::invalid_argument);
    EXPECT_THROW(slot_link({.endpoint = std::string(GetParam()) + "://" + std::string(200, 'x'),
                            .role = "base"}),
                 std::invalid_argument);
    EXPECT_THROW(slot_link({.endpoint = endpoint(), .role = "base", .silence_s = 0}),
                 std::invalid_argument);
    EXPECT_THROW(slot_link({.endpoint = endpoint(), .role = "base", .connect_s = 1e9}),
                 std::invalid_argument);
}

TEST_P(slot_link_over, keeps_how_often_the_detail_is_wanted) {
    fake_macd macd(endpoint());
    slot_link link({.endpoint = endpoint(), .role = "terminal"});
    macd.meet(link);
    macd.receive();
    EXPECT_EQ(link.detail_every(), 0U);
    for (const std::uint32_t every : {150U, 0U}) {
        ToFlowgraph m;
        m.mutable_detail()->set_every(every);
        macd.send(m);
        for (int i = 0; i < 5000 && link.detail_every() != every; ++i) {
            link.poll();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        EXPECT_EQ(link.detail_every(), every);
    }
    EXPECT_EQ(link.malformed(), 0U);
}

INSTANTIATE_TEST_SUITE_P(links, slot_link_over, testing::Values("ipc", "shm"),
                         [](const auto& kind) { return std::string(kind.param); });

}  // namespace
