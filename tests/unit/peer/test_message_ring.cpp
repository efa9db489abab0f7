// SPDX-License-Identifier: GPL-3.0-or-later
// The ring by itself: what is written comes out whole and in order, whatever its size and however
// the two ends take turns; garbage in the shared memory is seen and never followed.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>
#include <thread>

#include "peer/message_ring.h"

namespace {

using namespace wip::peer;
using bytes = std::vector<std::uint8_t>;

bytes drawn(std::mt19937& random, std::size_t size) {
    bytes b(size);
    for (auto& x : b) x = static_cast<std::uint8_t>(random());
    return b;
}

struct world {
    std::unique_ptr<ring_memory> memory = std::make_unique<ring_memory>();
    ring_writer writer{*memory};
    ring_reader reader{*memory};
    ring_kind kind{};
    bytes out;
    ring_reader::outcome read() { return reader.read(kind, out); }
};

TEST(message_ring, messages_of_any_size_come_whole_and_in_order) {
    std::mt19937 random(1);
    world w;
    std::deque<bytes> inside;
    int refused = 0, read = 0;
    for (int i = 0; i < 40000; ++i) {
        if (random() % 2 == 0) {
            const std::size_t size =
                random() % 8 == 0 ? random() % (largest_ring_message + 1) : random() % 4000;
            auto b = drawn(random, std::min<std::size_t>(size, random() % 64 == 0 ? size : 9000));
            if (w.writer.write(ring_kind::message, b))
                inside.push_back(std::move(b));
            else
                ++refused;
        } else if (w.read() == ring_reader::outcome::got) {
            ASSERT_FALSE(inside.empty());
            ASSERT_EQ(w.out, inside.front());
            inside.pop_front();
            ++read;
        } else {
            ASSERT_TRUE(inside.empty());
        }
        if (random() % 3000 == 0)
            while (w.writer.write(ring_kind::message, drawn(random, 5000))) inside.push_back({});
        while (!inside.empty() && inside.back().empty()) {  // the ring is full, so it is emptied
            while (w.read() == ring_reader::outcome::got) ++read;
            inside.clear();
            ++refused;
        }
    }
    EXPECT_GT(refused, 5);
    EXPECT_GT(read, 10000);
}

TEST(message_ring, one_larger_than_the_limit_is_refused_and_the_limit_itself_goes_through) {
    world w;
    EXPECT_FALSE(w.writer.write(ring_kind::message, bytes(largest_ring_message + 1)));
    EXPECT_TRUE(w.writer.write(ring_kind::message, bytes(largest_ring_message, 7)));
    ASSERT_EQ(w.read(), ring_reader::outcome::got);
    EXPECT_EQ(w.out, bytes(largest_ring_message, 7));
}

TEST(message_ring, a_ring_that_is_emptied_each_time_uses_its_beginning_only) {
    world w;
    for (int i = 0; i < 5000; ++i) {
        ASSERT_TRUE(w.writer.write(ring_kind::message, bytes(3000, 1)));
        ASSERT_EQ(w.read(), ring_reader::outcome::got);
    }
    for (std::size_t i = ring_memory::size / 8; i < ring_memory::size; ++i)
        ASSERT_EQ(w.memory->data[i], std::byte{0}) << i;
}

TEST(message_ring, the_bell_is_asked_for_once_by_each_sleep_and_never_while_awake) {
    world w;
    w.writer.write(ring_kind::message, bytes(1));
    EXPECT_FALSE(w.writer.must_ring());
    EXPECT_FALSE(w.reader.rest());  // there is something
    w.read();
    EXPECT_TRUE(w.reader.rest());
    w.writer.write(ring_kind::message, bytes(1));
    EXPECT_TRUE(w.writer.must_ring());
    w.writer.write(ring_kind::message, bytes(1));
    EXPECT_FALSE(w.writer.must_ring());
    w.reader.rise();
    w.read();
    w.read();
    EXPECT_TRUE(w.reader.rest());
    w.reader.rise();
    w.writer.write(ring_kind::message, bytes(1));
    EXPECT_FALSE(w.writer.must_ring());
}

TEST(message_ring, who_sleeps_for_what_is_urgent_is_not_woken_by_what_can_wait_and_finds_it) {
    world w;
    EXPECT_TRUE(w.reader.rest(wip::peer::sleep::for_urgent));
    w.writer.write(ring_kind::message, bytes(1));
    EXPECT_FALSE(w.writer.must_ring(true));
    w.writer.write(ring_kind::message, bytes(2));
    EXPECT_TRUE(w.writer.must_ring(false));
    w.reader.rise();
    EXPECT_EQ(w.read(), ring_reader::outcome::got);
    EXPECT_EQ(w.read(), ring_reader::outcome::got);
    EXPECT_TRUE(w.reader.rest());
    w.writer.write(ring_kind::message, bytes(1));
    EXPECT_TRUE(w.writer.must_ring(true));
}

TEST(message_ring, two_threads_lose_nothing) {
    world w;
    constexpr std::uint32_t messages = 200000;
    std::thread writer([&] {
        for (std::uint32_t i = 0; i < messages;) {
            bytes b(4 + i % 700);
            std::memcpy(b.data(), &i, 4);
            if (w.writer.write(ring_kind::message, b))
                ++i;
            else
                std::this_thread::yield();
        }
    });
    for (std::uint32_t i = 0; i < messages;) {
        const auto outcome = w.read();
        if (outcome == ring_reader::outcome::nothing) {
            std::this_thread::yield();
            continue;
        }
        std::uint32_t number = 0;
        ASSERT_EQ(outcome, ring_reader::outcome::got);
        ASSERT_EQ(w.out.size(), 4 + i % 700);
        std::memcpy(&number, w.out.data(), 4);
        ASSERT_EQ(number, i++);
    }
    writer.join();
    EXPECT_EQ(w.read(), ring_reader::outcome::nothing);
}

// The reader stays inside the memory and comes to an end, whatever the other process leaves there.
TEST(message_ring, garbage_is_seen_and_never_followed) {
    std::mt19937_64 random(3);
    int damaged = 0;
    world w;
    for (int i = 0; i < 20000; ++i) {
        w.memory->written = w.memory->taken = 0;
        ring_writer writer(*w.memory);
        ring_reader reader(*w.memory);
        for (int k = 0; k < 4; ++k) writer.write(ring_kind::message, bytes(random() % 300));
        switch (random() % 3) {
            case 0:
                w.memory->written = random() >> (random() % 64);
                break;
            case 1:
                for (int k = 0; k < 3; ++k)
                    w.memory->data[random() % 1200] = static_cast<std::byte>(random());
                break;
            default:
                for (std::size_t k = 0; k < 64; ++k)
                    w.memory->data[k] = static_cast<std::byte>(random());
                w.memory->written = random() % (2 * ring_memory::size);
        }
        int reads = 0;
        auto outcome = ring_reader::outcome::got;
        while (outcome == ring_reader::outcome::got && ++reads < 1000000)
            outcome = reader.read(w.kind, w.out);
        ASSERT_LT(reads, 1000000);
        damaged += outcome == ring_reader::outcome::damaged;
    }
    EXPECT_GT(damaged, 5000);
}

TEST(message_ring, a_writer_whose_reader_claims_the_impossible_writes_nothing) {
    std::mt19937_64 random(4);
    world w;
    for (int i = 0; i < 10000; ++i) {
        // positions at which no message was ever written
        w.memory->taken = 1 + (random() >> (random() % 64));
        ASSERT_FALSE(w.writer.write(ring_kind::message, bytes(random() % 3000)));
    }
    w.memory->taken = 0;
    EXPECT_TRUE(w.writer.write(ring_kind::message, bytes(3000)));
    EXPECT_EQ(w.read(), ring_reader::outcome::got);
}

}  // namespace
