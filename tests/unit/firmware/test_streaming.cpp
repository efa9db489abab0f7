// SPDX-License-Identifier: GPL-3.0-or-later
// Frames of the host as the board gets them: protobuf in COBS with text between them.
#include <gtest/gtest.h>
#include <pb_decode.h>
#include <pb_encode.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "attenuator.pb.h"
#include "rig.h"

using namespace wip::attenuator;

namespace {

using bytes = std::vector<std::uint8_t>;
using request = wip_attenuator_Request;
using reply = wip_attenuator_Reply;

struct host {
    rig r;
    std::uint32_t id = 0;
    std::string text;  // text between the frames of what was sent

    request blank() {
        request q = wip_attenuator_Request_init_zero;
        q.id = ++id;
        return q;
    }
    static bytes framed(const request& q) {
        std::array<std::uint8_t, max_message_bytes> message{};
        pb_ostream_t out = pb_ostream_from_buffer(message.data(), message.size());
        EXPECT_TRUE(pb_encode(&out, wip_attenuator_Request_fields, &q));
        std::array<std::uint8_t, max_frame_bytes> frame{};
        const auto n = write_frame({message.data(), out.bytes_written}, frame);
        return {frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(n)};
    }
    void give(const bytes& b) {
        for (const auto byte : b) r.device.on_byte(byte);
    }
    reply answer() {
        reply last = wip_attenuator_Reply_init_zero;
        frame_reader reader;
        for (const char c : r.sent()) {
            const auto taken = reader.on_byte(static_cast<std::uint8_t>(c));
            if (taken == frame_reader::taken::text) text += c;
            if (taken != frame_reader::taken::message) continue;
            pb_istream_t in =
                pb_istream_from_buffer(reader.message().data(), reader.message().size());
            EXPECT_TRUE(pb_decode(&in, wip_attenuator_Reply_fields, &last));
        }
        return last;
    }
    reply ask(const request& q) {
        give(framed(q));
        const reply a = answer();
        EXPECT_EQ(a.id, q.id);
        return a;
    }
    reply open(std::uint32_t channels, std::uint32_t period = 1,
               wip_attenuator_Trigger trigger = wip_attenuator_Trigger_BUS) {
        request q = blank();
        q.which_what = wip_attenuator_Request_open_tag;
        q.what.open.channels = channels;
        q.what.open.period_ticks = period;
        q.what.open.trigger = trigger;
        return ask(q);
    }
    reply steps(std::uint32_t first, const bytes& levels, bool last = false) {
        request q = blank();
        q.which_what = wip_attenuator_Request_steps_tag;
        q.what.steps.first = first;
        q.what.steps.last = last;
        q.what.steps.levels.size = static_cast<pb_size_t>(levels.size());
        std::ranges::copy(levels, q.what.steps.levels.bytes);
        return ask(q);
    }
    reply simple(pb_size_t tag) {
        request q = blank();
        q.which_what = tag;
        return ask(q);
    }
    reply trigger() { return simple(wip_attenuator_Request_trigger_tag); }
    reply status() { return simple(wip_attenuator_Request_status_tag); }
};

}  // namespace

TEST(Streaming, ATableIsPlayed) {
    host h;
    auto a = h.open(0b1001);
    EXPECT_EQ(a.error, 0);
    EXPECT_EQ(a.status.state, wip_attenuator_State_ARMED);
    EXPECT_EQ(a.status.free, ring_bytes / 2);
    a = h.steps(0, {10, 20, 11, 21, 12, 22}, true);
    EXPECT_EQ(a.error, 0);
    EXPECT_EQ(a.status.received, 3u);
    EXPECT_EQ(a.status.free, ring_bytes / 2 - 3);
    EXPECT_EQ(h.trigger().error, 0);
    h.r.tick(2);
    EXPECT_EQ(h.r.chips[0], 11);
    EXPECT_EQ(h.r.chips[3], 21);
    h.r.tick(2);
    a = h.status();
    EXPECT_EQ(a.status.state, wip_attenuator_State_ENDED);
    EXPECT_EQ(a.status.played, 3u);
    EXPECT_EQ(a.status.levels.bytes[3], 22);
    EXPECT_EQ(h.r.steps, (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST(Streaming, AResetThatHasWaitedIsDoneBeforeAPlaybackIsOpened) {
    host h;
    h.open(1);
    h.r.give("*RST\n");
    h.r.player.tick();
    EXPECT_EQ(h.open(1).status.levels.bytes[1], 127);
    h.steps(0, {10}, true);
    h.trigger();
    h.r.tick(3);
    EXPECT_EQ(h.status().status.state, wip_attenuator_State_ENDED);
    EXPECT_EQ(h.status().status.levels.bytes[0], 10) << "not after it";
}

// A text that is too long for a line, followed by a frame, is not a line.
TEST(Streaming, AfterTextThatAFrameHasCutOffTheNextLineIsALine) {
    host h;
    h.r.give(std::string(300, 'A'));
    h.status();
    EXPECT_EQ(h.r.ask("*IDN?"), "OpenWIP,attenuator,test,1.0");
    EXPECT_EQ(h.r.ask("SYST:ERR?"), "0,\"No error\"");
}

TEST(Streaming, WhatIsRefusedHasItsNumberAndIsInTheQueue) {
    host h;
    EXPECT_EQ(h.open(0).error, -222);
    EXPECT_EQ(h.open(256).error, -222);
    EXPECT_EQ(h.open(1, 0).error, -222);
    EXPECT_EQ(h.open(1, 10'001).error, -222);
    EXPECT_EQ(h.open(1, 1, static_cast<wip_attenuator_Trigger>(3)).error, -224);
    EXPECT_EQ(h.steps(0, {1}).error, -221) << "nothing is open";
    EXPECT_EQ(h.trigger().error, -211);
    EXPECT_EQ(h.simple(0).error, -113) << "a request of a later version";
    EXPECT_EQ(h.open(1).error, 0);
    EXPECT_EQ(h.open(1).error, -221);
    EXPECT_EQ(h.steps(1, {1}).error, 205);
    EXPECT_EQ(h.steps(0, {128}).error, -222);
    EXPECT_EQ(h.r.ask("SYST:ERR:COUN?"), "11");
    host wired;
    wired.r.ask("INP1:SER ON");
    EXPECT_EQ(wired.open(0b10).error, -241);
}

TEST(Streaming, ADamagedFrameIsCountedAndNotAnswered) {
    host h;
    bytes f = host::framed(h.blank());
    f[3] ^= 0x40;
    h.give(f);
    EXPECT_TRUE(h.r.sent().empty());
    EXPECT_EQ(h.status().status.damaged, 1u);
    EXPECT_EQ(h.r.ask("SYST:ERR?"), "204,\"Frame damaged\"");
    // A frame that is whole, with something in it that is no request.
    std::array<std::uint8_t, max_frame_bytes> frame{};
    const std::array<std::uint8_t, 3> nonsense{0xff, 0xff, 0xff};
    const auto n = write_frame(nonsense, frame);
    h.give({frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(n)});
    EXPECT_TRUE(h.r.sent().empty());
    EXPECT_EQ(h.status().status.damaged, 2u);
}

TEST(Streaming, TextAndFramesDoNotDisturbEachOther) {
    host h;
    h.r.tick();
    h.r.give("INP2:A");
    EXPECT_EQ(h.status().error, 0);
    h.r.give("*IDN?\n");
    h.answer();
    EXPECT_EQ(h.text, "OpenWIP,attenuator,test,1.0\n");
    EXPECT_EQ(h.r.error(), "0,\"No error\"") << "what a frame cut off was no line";
}

TEST(Streaming, AFrameThatIsBrokenOffDoesNotSwallowTheNextLine) {
    host h;
    h.give({0, 1, 2, 3});
    h.r.tick(static_cast<int>(controller::frame_timeout_ticks) + 1);
    EXPECT_EQ(h.r.ask("*OPC?"), "1");
}

TEST(Streaming, WordsOfEitherKindKeepAPlaybackAlive) {
    host h;
    h.open(1);
    for (int k = 0; k < 10; ++k) {
        h.r.tick(60);
        h.status();
        h.r.tick(60);
        h.r.ask("*STB?");
    }
    EXPECT_EQ(h.status().status.state, wip_attenuator_State_ARMED);
    h.r.tick(100);
    const auto a = h.status();
    EXPECT_EQ(a.status.state, wip_attenuator_State_SILENT);
    for (const int word : h.r.chips) EXPECT_EQ(word, 127);
    EXPECT_EQ(h.r.ask("SYST:ERR?"), "202,\"Host silent\"");
}

TEST(Streaming, AnUnderflowIsOneEntryWhereverItIsLookedAt) {
    host h;
    h.open(1);
    h.steps(0, {1, 2, 3});
    h.trigger();
    h.r.tick(10);
    EXPECT_EQ(h.status().status.underflows, 7u);
    EXPECT_EQ(h.r.ask("SYST:ERR?"), "201,\"Playback underflow\"");
    EXPECT_EQ(h.r.ask("SYST:ERR?"), "0,\"No error\"");
    EXPECT_EQ(h.r.chips[0], 3) << "held";
    EXPECT_EQ(h.r.ask("STAT:QUES:COND?"), "1024");
}

TEST(Streaming, TheEdgeAtTheInputStartsIt) {
    host h;
    h.open(1, 1, wip_attenuator_Trigger_EXTERNAL);
    h.steps(0, {5}, true);
    EXPECT_EQ(h.trigger().error, -211);
    h.r.device.on_external_trigger();
    h.r.tick();
    EXPECT_EQ(h.r.chips[0], 5);
    EXPECT_EQ(h.r.pulses, 1);
    EXPECT_TRUE(h.r.player.tick().end_pulse);
    EXPECT_FALSE(h.r.player.tick().end_pulse);
}

// The host as messages/attenuator.py plays, over a line of 921600 baud with 2 ms from a reply to
// the next frame, and once a second 80 ms in which it does nothing; the watchdog is the shipped
// one.
TEST(Streaming, EightChannelsAreStreamedForAMinuteAtTheLinesSpeed) {
    constexpr std::uint32_t nof_steps = 60'000, most = 30;  // in a message of 240 bytes
    constexpr int bytes_a_tick = 92, pause_ticks = 2, pause_of_the_host = 80;
    const auto level = [](std::uint32_t step, unsigned channel) {
        return static_cast<std::uint8_t>((7 * step + 16 * channel) % 128);
    };
    host h;
    auto status = h.open(0xff).status;
    ASSERT_EQ(status.state, wip_attenuator_State_ARMED);
    bytes out;  // bytes on the line to the board
    std::size_t sent = 0, back = 0;
    int wait = 0;
    bool triggered = false, is_asking = false;
    std::uint32_t wrong = 0, least_in_ring = ring_bytes;
    const auto next_frame = [&] {
        request q = h.blank();
        const std::uint32_t first = status.received;
        const auto room = std::min({status.free, most, nof_steps - first});
        if (room > 0 && room == std::min(most, nof_steps - first)) {
            q.which_what = wip_attenuator_Request_steps_tag;
            q.what.steps.first = first;
            q.what.steps.last = first + room == nof_steps;
            q.what.steps.levels.size = static_cast<pb_size_t>(8 * room);
            for (std::uint32_t k = 0; k < room; ++k)
                for (unsigned c = 0; c < 8; ++c)
                    q.what.steps.levels.bytes[8 * k + c] = level(first + k, c);
        } else if (!std::exchange(triggered, true)) {
            q.which_what = wip_attenuator_Request_trigger_tag;
        } else {
            q.which_what = wip_attenuator_Request_status_tag;
        }
        out = host::framed(q);
        sent = 0;
    };
    std::uint32_t ticks = 0;
    while (status.state == wip_attenuator_State_ARMED ||
           status.state == wip_attenuator_State_PLAYING) {
        ASSERT_LT(++ticks, nof_steps + 20'000);
        if (ticks % 1000 == 0) wait = std::max(wait, pause_of_the_host);
        int line = bytes_a_tick;
        if (back > 0) {  // the reply comes back first, one byte in the time of a byte
            const auto now = std::min<std::size_t>(back, static_cast<std::size_t>(line));
            back -= now;
            line -= static_cast<int>(now);
            if (back == 0) is_asking = false, wait = std::max(wait, pause_ticks);
        }
        if (wait > 0) {
            --wait;
        } else if (back == 0) {
            if (!is_asking) next_frame(), is_asking = true;
            for (; line > 0 && sent < out.size(); --line) h.r.device.on_byte(out[sent++]);
            if (sent == out.size()) {
                back = h.r.device.output().bytes().size();
                const reply a = h.answer();
                ASSERT_EQ(a.id, h.id);
                ASSERT_EQ(a.error, 0) << "step " << status.received;
                status = a.status;
            }
        }
        const std::size_t played = h.r.steps.size();
        h.r.tick();
        if (h.r.steps.size() == played) continue;
        for (unsigned c = 0; c < 8; ++c) wrong += h.r.chips[c] != level(h.r.steps.back(), c);
        if (status.received < nof_steps)
            least_in_ring = std::min(least_in_ring, status.received - h.r.steps.back());
    }
    EXPECT_EQ(status.state, wip_attenuator_State_ENDED);
    EXPECT_EQ(status.underflows + status.late, 0u);
    EXPECT_EQ(wrong, 0u);
    EXPECT_GT(least_in_ring, 3000u) << "of 4096: the line carries more than is played";
    ASSERT_EQ(h.r.steps.size(), nof_steps);
    for (std::uint32_t k = 0; k < nof_steps; ++k)
        ASSERT_EQ(h.r.step_ticks[k], h.r.step_ticks[0] + k) << "each in its tick";
    EXPECT_EQ(h.r.error(), "0,\"No error\"");
}
