// SPDX-License-Identifier: GPL-3.0-or-later
// The queues between node and medium, both ends in one thread: who may write what, and when.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "air/receive_queue.h"
#include "air/transmit_queue.h"

using namespace wip::air;

namespace {

struct AirQueues : testing::Test {
    AirQueues()
        : header(std::make_unique<air_header>()),
          node(std::make_unique<node_block>()),
          fifo(transmit_fifo_size),
          ring(receive_ring_size),
          writer(*header, *node, fifo.data()),
          transmitted(*node, fifo.data()),
          reader(*header, *node, ring.data()),
          received(*node, ring.data()) {}

    // Samples value, value + 1, ... into the open burst.
    transmit_writer::outcome put(std::uint64_t n, float value = 1) {
        transmit_writer::outcome o = transmit_writer::outcome::published;
        while (n > 0) {
            const auto room = writer.claim(n);
            if (room.empty()) ADD_FAILURE() << "no room";
            for (cf32& s : room) s = {value++, 0};
            o = writer.publish(room.size());
            if (o != transmit_writer::outcome::published) return o;
            n -= room.size();
        }
        return o;
    }
    std::vector<cf32> look(tick from, std::size_t n) {
        std::vector<cf32> x(n, cf32(-1, -1));
        transmitted.read(from, x);
        return x;
    }
    int events(event_kind kind) {
        int n = 0;
        for (std::uint64_t i = 0; i < node->events.written; ++i)
            n += node->events.at(i).kind == kind;
        return n;
    }
    void release(tick now) {
        node->now = now;
        transmitted.acknowledge(now);
        transmitted.free_before(now);
        received.released(now);
    }
    std::unique_ptr<air_header> header;
    std::unique_ptr<node_block> node;
    std::vector<cf32> fifo, ring;
    transmit_writer writer;
    transmit_reader transmitted;
    receive_reader reader;
    receive_writer received;
};

}  // namespace

TEST_F(AirQueues, without_a_burst_everything_is_known_and_silent) {
    transmitted.collect(0, 0);
    EXPECT_EQ(transmitted.known_until(), never);
    EXPECT_EQ(look(5, 3), std::vector<cf32>(3));
    EXPECT_FALSE(transmitted.ever_opened());
}

TEST_F(AirQueues, an_open_burst_is_known_up_to_what_is_written) {
    writer.open(1000, 0, false);
    transmitted.collect(0, 0);
    EXPECT_EQ(transmitted.known_until(), 1000);
    put(10);
    EXPECT_EQ(transmitted.known_until(), 1010);
    const auto x = look(998, 14);
    EXPECT_EQ(x[1], cf32{});
    EXPECT_EQ(x[2], cf32(1, 0));
    EXPECT_EQ(x[11], cf32(10, 0));
    EXPECT_EQ(x[12], cf32{});
    writer.close();
    EXPECT_EQ(transmitted.known_until(), never);
}

TEST_F(AirQueues, a_burst_that_holds_is_known_only_to_its_end) {
    writer.open(1000, 0, true);
    put(10);
    writer.close();
    transmitted.collect(0, 0);
    EXPECT_EQ(transmitted.known_until(), 1010);
    release(2000);
    EXPECT_EQ(transmitted.known_until(), 1010);
}

TEST_F(AirQueues, a_burst_for_the_past_is_refused_and_its_samples_are_dropped) {
    writer.open(99, 100, false);
    EXPECT_EQ(transmitted.collect(100, 100).late, 1);
    EXPECT_EQ(put(10), transmit_writer::outcome::late);
    EXPECT_EQ(events(event_kind::late), 1);
    EXPECT_EQ(look(90, 30), std::vector<cf32>(30));
    writer.open(as_soon_as_possible, 100, false);
    put(5);
    transmitted.collect(100, 120);
    EXPECT_EQ(look(120, 1)[0], cf32(1, 0));
}

TEST_F(AirQueues, a_burst_that_overlaps_the_one_before_is_late) {
    writer.open(1000, 0, false);
    put(100);
    writer.close();
    writer.open(1099, 0, false);
    EXPECT_EQ(transmitted.collect(0, 0).late, 1);
    writer.close();
    writer.open(1100, 0, false);
    EXPECT_EQ(transmitted.collect(0, 0).late, 0);
}

TEST_F(AirQueues, an_acknowledgement_comes_when_the_burst_has_been_released) {
    writer.open(1000, 0, false);
    put(100);
    writer.close();
    transmitted.collect(0, 0);
    release(1099);
    EXPECT_EQ(events(event_kind::burst_acknowledged), 0);
    release(1100);
    EXPECT_EQ(events(event_kind::burst_acknowledged), 1);
    EXPECT_FALSE(transmitted.active());
    EXPECT_EQ(node->fifo_freed, 100u);
}

TEST_F(AirQueues, events_are_read_once_each_in_their_order) {
    std::uint64_t next = 0;
    EXPECT_FALSE(read_event(*node, next));
    post_event(*node, event_kind::late, 7);
    post_event(*node, event_kind::underflow, 8);
    EXPECT_EQ(read_event(*node, next)->time, 7);
    EXPECT_EQ(read_event(*node, next)->kind, event_kind::underflow);
    EXPECT_FALSE(read_event(*node, next));
    EXPECT_EQ(next, 2u);
}

// The place of the oldest of 256 is where the next one is being written: 255 can be read.
TEST_F(AirQueues, the_event_whose_place_is_written_next_is_not_read) {
    for (tick t = 0; t < 256; ++t) post_event(*node, event_kind::late, t);
    std::uint64_t next = 0;
    EXPECT_EQ(read_event(*node, next)->time, 1);
    for (tick t = 256; t < 1000; ++t) post_event(*node, event_kind::late, t);
    EXPECT_EQ(read_event(*node, next)->time, 1000 - 255);
}

TEST_F(AirQueues, an_event_is_read_as_it_was_posted_while_the_ring_goes_round) {
    std::atomic<bool> over{false};
    std::jthread medium([&] {
        for (tick t = 0; t < 3'000'000; ++t) post_event(*node, static_cast<event_kind>(t % 3), t);
        over = true;
    });
    std::uint64_t next = 0, read = 0;
    tick last = -1;
    for (bool end = false; !end;) {
        end = over;
        while (const auto e = read_event(*node, next)) {
            ASSERT_EQ(e->kind, static_cast<event_kind>(e->time % 3)) << e->time;
            ASSERT_EQ(e->time, static_cast<tick>(next) - 1);
            ASSERT_GT(e->time, last);
            last = e->time;
            ++read;
        }
    }
    EXPECT_EQ(last, 2'999'999);
    EXPECT_GT(read, 0u);
}

TEST_F(AirQueues, a_starved_burst_is_cut_and_the_stream_goes_on_later) {
    writer.open(0, 0, false);
    put(100);
    transmitted.collect(0, 0);
    EXPECT_FALSE(transmitted.starve(100));
    EXPECT_TRUE(transmitted.starve(101));
    EXPECT_EQ(events(event_kind::underflow), 1);
    EXPECT_EQ(put(10), transmit_writer::outcome::starved);
    EXPECT_FALSE(writer.is_open());
    writer.open(as_soon_as_possible, 150, false);
    put(10, 500);
    transmitted.collect(150, 200);
    EXPECT_EQ(look(200, 1)[0], cf32(500, 0));
    EXPECT_EQ(look(100, 1)[0], cf32{});
}

TEST_F(AirQueues, a_burst_without_a_time_begins_with_its_first_sample) {
    writer.open(as_soon_as_possible, 0, false);
    EXPECT_FALSE(transmitted.has_news());
    EXPECT_EQ(transmitted.collect(0, 100).opened, 0);
    EXPECT_EQ(transmitted.known_until(), never);
    put(1);
    EXPECT_TRUE(transmitted.has_news());
    EXPECT_EQ(transmitted.collect(500, 600).earliest, 600);
    EXPECT_EQ(look(600, 1)[0], cf32(1, 0));
}

TEST_F(AirQueues, the_fifo_is_full_until_samples_are_released_and_wraps_exactly) {
    writer.open(0, 0, false);
    transmitted.collect(0, 0);
    put(transmit_fifo_size);
    EXPECT_EQ(writer.room(), 0u);
    EXPECT_TRUE(writer.claim(1).empty());
    release(1000);
    EXPECT_EQ(writer.room(), 1000u);
    put(1000, -7);
    const auto x = look(transmit_fifo_size - 1, 3);
    EXPECT_EQ(x[0].real(), static_cast<float>(transmit_fifo_size));
    EXPECT_EQ(x[1], cf32(-7, 0));
}

TEST_F(AirQueues, the_table_of_bursts_fills_up_and_drains) {
    for (int i = 0; i < 1024; ++i) {
        ASSERT_TRUE(writer.open(10 * i, 0, false));
        put(1);
        writer.close();
    }
    EXPECT_FALSE(writer.open(100000, 0, false));
    EXPECT_EQ(transmitted.collect(0, 0).opened, 1024);
    release(50);
    EXPECT_TRUE(writer.open(100000, 0, false));
}

TEST_F(AirQueues, a_window_delivers_its_samples_when_they_are_released) {
    received.start(1000, 500, 0);
    EXPECT_EQ(received.wanted(0, 2000).from, 1000);
    EXPECT_EQ(received.wanted(0, 2000).to, 1500);
    std::vector<cf32> x(500);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = {static_cast<float>(i), 0};
    received.write(1000, x);
    EXPECT_EQ(reader.look().available, 0);
    release(1100);
    const auto s = reader.look();
    EXPECT_EQ(s.position, 1000);
    EXPECT_EQ(s.available, 100);
    std::vector<cf32> y(100);
    reader.take(y);
    EXPECT_EQ(y[99], cf32(99, 0));
    release(2000);
    EXPECT_EQ(reader.look().available, 400);
    y.resize(400);
    reader.take(y);
    EXPECT_EQ(reader.look().what, receive_reader::state::ended);
    EXPECT_EQ(reader.look().what, receive_reader::state::nothing);
}

TEST_F(AirQueues, a_window_for_the_past_is_reported_late) {
    received.start(99, 10, 100);
    EXPECT_EQ(reader.look().what, receive_reader::state::late);
    EXPECT_EQ(reader.look().what, receive_reader::state::nothing);
}

TEST_F(AirQueues, stopping_ends_the_window_where_time_is) {
    received.start(as_soon_as_possible, 0, 100);
    release(300);
    received.stop(as_soon_as_possible, 300);
    const auto s = reader.look();
    EXPECT_EQ(s.position, 100);
    EXPECT_EQ(s.end, 300);
    EXPECT_EQ(received.wanted(300, 400).from, received.wanted(300, 400).to);
}

TEST_F(AirQueues, an_unread_ring_has_no_room_and_overflows_with_its_content_kept) {
    received.start(0, 0, 0);
    ASSERT_EQ(reader.look().position, 0);
    const tick full = receive_ring_size;
    EXPECT_TRUE(received.has_room(full));
    EXPECT_FALSE(received.has_room(full + 1));
    received.write(0, std::vector<cf32>(receive_ring_size, cf32(3, 0)));
    received.overflow(full);
    release(full + 5000);
    auto s = reader.look();
    EXPECT_EQ(s.available, full);
    EXPECT_TRUE(s.cut);
    std::vector<cf32> y(receive_ring_size);
    reader.take(y);
    EXPECT_EQ(y.back(), cf32(3, 0));
    EXPECT_EQ(reader.look().what, receive_reader::state::overflow);
    release(full + 10000);  // all is read, so the next window begins
    s = reader.look();
    EXPECT_EQ(s.what, receive_reader::state::samples);
    EXPECT_EQ(s.position, full + 10000);
    EXPECT_EQ(node->overflows, 1u);
}

TEST_F(AirQueues, a_stream_that_is_started_again_after_an_overflow_is_one_and_ends) {
    received.start(0, 0, 0);
    reader.look();
    const tick full = receive_ring_size;
    received.overflow(full);
    received.start(as_soon_as_possible, 0, full + 100);
    std::vector<cf32> y(receive_ring_size);
    release(full + 200);
    reader.take(y);
    EXPECT_EQ(reader.look().what, receive_reader::state::overflow);
    release(full + 300);
    received.stop(as_soon_as_possible, full + 300);
    EXPECT_EQ(reader.look().position, full + 100);
    EXPECT_EQ(reader.look().end, full + 300);
    EXPECT_EQ(received.wanted(full + 300, full + 400).from, full + 400);
}

TEST_F(AirQueues, a_new_owner_starts_afresh) {
    writer.open(1000, 0, false);
    put(100);
    received.start(0, 0, 0);
    transmitted.collect(0, 0);
    transmitted.reset();
    received.reset();
    EXPECT_EQ(transmitted.known_until(), never);
    EXPECT_FALSE(received.active());
    transmit_writer next(*header, *node, fifo.data());
    EXPECT_EQ(next.room(), transmit_fifo_size);
    EXPECT_EQ(reader.look().what, receive_reader::state::nothing);
}

TEST_F(AirQueues, a_gap_is_an_overflow_after_which_the_window_goes_on) {
    received.start(0, 0, 0);
    received.gap(1000, 1500);
    received.gap(1000, 1500);  // these samples are computed a second time
    EXPECT_EQ(node->overflows, 1u);
    EXPECT_EQ(received.wanted(900, 2000).to, 1000);
    EXPECT_EQ(received.wanted(1000, 2000).from, 1500);
    release(2000);
    auto s = reader.look();
    EXPECT_EQ(s.available, 1000);
    EXPECT_TRUE(s.cut);
    std::vector<cf32> y(1000);
    reader.take(y);
    s = reader.look();
    EXPECT_EQ(s.what, receive_reader::state::overflow);
    EXPECT_EQ(s.position, 1000);
    s = reader.look();
    EXPECT_EQ(s.what, receive_reader::state::samples);
    EXPECT_EQ(s.position, 1500);
    EXPECT_EQ(s.available, 500);
}

TEST_F(AirQueues, a_gap_over_the_end_of_a_window_only_cuts_it_and_elsewhere_does_nothing) {
    received.start(100, 1000, 0);
    received.gap(20, 60);
    received.gap(1100, 1200);
    EXPECT_EQ(node->overflows, 0u);
    received.gap(900, 5000);
    EXPECT_EQ(node->overflows, 1u);
    release(5000);
    EXPECT_EQ(reader.look().end, 900);
    std::vector<cf32> y(800);
    reader.take(y);
    EXPECT_EQ(reader.look().what, receive_reader::state::overflow);
    EXPECT_EQ(reader.look().what, receive_reader::state::nothing);
}

TEST_F(AirQueues, stopping_before_a_gap_that_is_already_known_loses_nothing) {
    received.start(0, 0, 0);
    received.gap(1000, 1500);
    received.stop(700, 0);
    release(2000);
    std::vector<cf32> y(700);
    EXPECT_EQ(reader.look().end, 700);
    reader.take(y);
    EXPECT_EQ(reader.look().what, receive_reader::state::ended);
    EXPECT_EQ(reader.look().what, receive_reader::state::ended);  // the empty rest
    EXPECT_EQ(reader.look().what, receive_reader::state::nothing);
    EXPECT_EQ(received.wanted(700, 3000).from, 3000);
}

TEST_F(AirQueues, after_an_overflow_the_next_window_waits_for_a_place_in_the_table) {
    received.start(0, 0, 0);
    constexpr tick places = decltype(node_block::windows)::size;
    for (tick t = 10; t < 20 * (places - 1); t += 20) received.gap(t, t + 10);
    received.overflow(20 * places);
    release(30 * places);
    using state = receive_reader::state;
    for (state s = reader.look(); s.what != state::nothing; s = reader.look()) {
        std::vector<cf32> y(static_cast<std::size_t>(s.available));
        reader.take(y);
    }
    release(31 * places);
    EXPECT_EQ(reader.look().position, 31 * places);
    EXPECT_EQ(node->overflows, static_cast<std::uint64_t>(places));
}

// A gap a millisecond, until the ring holds the clock: none depends on how fast the node reads.
TEST_F(AirQueues, all_gaps_of_a_full_ring_are_known) {
    received.start(0, 0, 0);
    reader.look();
    std::vector<tick> expected, found;
    for (tick t = 1000; received.has_room(t + 1000); t += 7680) {
        received.gap(t, t + 500);
        expected.push_back(t);
    }
    EXPECT_GE(expected.size(), 68u);
    release(receive_ring_size);
    using state = receive_reader::state;
    for (state s = reader.look(); s.end != never; s = reader.look()) {
        if (s.what == state::overflow) found.push_back(s.position);
        std::vector<cf32> y(static_cast<std::size_t>(s.available));
        reader.take(y);
    }
    EXPECT_EQ(found, expected);
}

// The other side may write anything into the memory at any time.

TEST_F(AirQueues, windows_of_which_there_are_too_many_are_none) {
    for (const std::uint64_t written :
         {node->windows.size + 1, std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
        node->windows.written = written;
        EXPECT_EQ(reader.look().what, receive_reader::state::nothing);
        EXPECT_FALSE(reader.wait(1, std::chrono::nanoseconds(0)));
    }
}

TEST_F(AirQueues, any_times_of_a_window_are_bounded) {
    constexpr tick least = std::numeric_limits<tick>::min();
    for (const tick start : {least, tick{-1}, tick{0}, never})
        for (const tick end : {least, tick{0}, tick{1} << 62, never})
            for (const tick now : {least, tick{0}, never}) {
                window& w = node->windows.at(node->windows.written);
                w.start = start;
                w.end = end;
                w.flags = 0;
                node->windows.written.fetch_add(1);
                node->now = now;
                const auto s = reader.look();
                EXPECT_TRUE(is_time(s.position));
                EXPECT_GE(s.available, 0);
                EXPECT_LE(s.available, static_cast<tick>(receive_ring_size));
                w.end = least;  // ends the window, if it was not over yet
                reader.look();
            }
}

TEST_F(AirQueues, room_that_the_fifo_cannot_have_is_none) {
    writer.open(0, 0, false);
    put(10);
    for (const std::uint64_t freed : {std::uint64_t{11}, std::uint64_t{1} << 60}) {
        node->fifo_freed = freed;
        EXPECT_EQ(writer.room(), 0U);
        EXPECT_TRUE(writer.claim(100).empty());
    }
    node->fifo_freed = 0;
    EXPECT_EQ(writer.room(), transmit_fifo_size - 10);
}

TEST_F(AirQueues, the_medium_keeps_its_own_count_of_what_it_took) {
    writer.open(0, 0, false);
    put(100);
    writer.close();
    transmitted.collect(0, 0);
    node->bursts.taken = 77;
    node->fifo_freed = 1 << 20;
    release(1000);
    EXPECT_EQ(node->bursts.taken, 1U);
    EXPECT_EQ(node->fifo_freed, 100U);
    EXPECT_FALSE(transmitted.is_damaged());
}

TEST_F(AirQueues, a_node_that_takes_windows_and_does_not_read_them_gets_no_more_than_a_table) {
    for (int i = 0; i < 5000; ++i) {
        received.start(1000 + 10 * i, 5, 0);
        node->windows.taken.store(node->windows.written.load());
    }
    EXPECT_EQ(node->windows.written, node->windows.size);
}
