// SPDX-License-Identifier: GPL-3.0-or-later
// The serial line of the attenuator controller (firmware/core) with anything on it: text, frames,
// frames that are nearly whole, pauses, triggers, restarts. Whatever comes, chips get words that
// they have, a channel's chips add up to its level, steps come in order and once, a silent host
// ends in maximum attenuation in time, and what is answered can be read.
#include <pb_decode.h>
#include <pb_encode.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "attenuator.pb.h"
#include "fuzz_input.h"
#include "rig.h"

using namespace wip::attenuator;
using wip::fuzz::expect;
using wip::fuzz::fuzz_input;

namespace {

struct world {
    std::unique_ptr<rig> r = std::make_unique<rig>();
    frame_reader answers;
    std::size_t text = 0;  // bytes of an answer's text so far
    std::optional<std::uint32_t> step;

    void give(std::span<const std::uint8_t> bytes) {
        for (const auto b : bytes) r->device.on_byte(b);
        r->device.poll();
        read_answers();
    }
    void read_answers() {
        for (const char c : r->device.output().bytes()) {
            const auto taken = answers.on_byte(static_cast<std::uint8_t>(c));
            expect(taken != frame_reader::taken::damaged, "an answer is a damaged frame");
            if (taken == frame_reader::taken::text)
                expect(c == '\n' || (c >= ' ' && c <= '~'), "an answer is not text");
            if (taken != frame_reader::taken::message) continue;
            wip_attenuator_Reply reply = wip_attenuator_Reply_init_zero;
            pb_istream_t in =
                pb_istream_from_buffer(answers.message().data(), answers.message().size());
            expect(pb_decode(&in, wip_attenuator_Reply_fields, &reply), "an answer cannot be read");
            expect(reply.status.free <= ring_bytes, "more room than there is");
        }
        r->device.output().clear();
        expect(r->device.state().nof_errors() <= error_queue::capacity,
               "more errors than there is room for");
    }
    void tick() {
        const tick_output out = r->player.tick();
        for (unsigned c = 0; c < nof_chips; ++c)
            if ((out.chips >> c & 1) != 0) {
                expect(out.word[c] <= 127, "a word that a chip does not have");
                r->chips[c] = out.word[c];
            }
        if (out.set_switch)
            expect(out.switch_position >= 1 && out.switch_position <= nof_switch_positions,
                   "a switch position");
        if (out.trigger_pulse) step.reset();
        if (out.is_step) {
            expect(!step || out.step > *step, "a step out of order");
            step = out.step;
        }
        check_levels();
        ++r->board.now;
        r->device.poll();
        read_answers();
    }
    void check_levels() {
        const chip_layout layout = r->player.layout();
        for (int c = 0; c < nof_chips; ++c) {
            if (!layout.exists({c})) continue;
            const auto k = static_cast<unsigned>(c);
            const int sum = r->chips[k] + (layout.in_series({c}) ? r->chips[k + 1] : 0);
            expect(sum == r->player.level({c}).value,
                   "chips that do not add up to their channel's level");
            expect(sum <= layout.max_of({c}).value, "a level beyond the channel's");
        }
    }
    void request(fuzz_input& in) {
        wip_attenuator_Request q = wip_attenuator_Request_init_zero;
        q.id = in.u8();
        q.which_what = static_cast<pb_size_t>(in.in(2, 6));
        if (q.which_what == wip_attenuator_Request_open_tag) {
            q.what.open.channels = in.u8();
            q.what.open.period_ticks = in.u8() % 8u;
            q.what.open.trigger = static_cast<wip_attenuator_Trigger>(in.in(0, 2));
        } else if (q.which_what == wip_attenuator_Request_steps_tag) {
            const int kind = in.u8();
            q.what.steps.first = kind < 200 ? r->player.ring().received() : in.u32();
            q.what.steps.last = kind % 8 == 0;
            const auto levels = in.bytes(in.u8() % 241u);
            std::ranges::copy(levels, q.what.steps.levels.bytes);
            q.what.steps.levels.size = static_cast<pb_size_t>(levels.size());
        }
        std::array<std::uint8_t, max_message_bytes> message{};
        pb_ostream_t out = pb_ostream_from_buffer(message.data(), message.size());
        expect(pb_encode(&out, wip_attenuator_Request_fields, &q),
               "a request that cannot be written");
        std::array<std::uint8_t, max_frame_bytes> frame{};
        const std::size_t n = write_frame({message.data(), out.bytes_written}, frame);
        const int flipped = in.u8();  // sometimes one of its bits is flipped
        if (flipped >= 250) frame[in.u8() % n] ^= static_cast<std::uint8_t>(1 << flipped % 8);
        give({frame.data(), n});
    }
    // The host says nothing for as long as the watchdog waits: whatever was played is over, and
    // quiet where that was asked.
    void fall_silent() {
        if (!r->player.active()) return;
        const play_plan& plan = r->player.plan();
        for (int k = 0; k < plan.silence_ticks && r->player.active(); ++k) tick();
        expect(!r->player.active(), "a silent host did not end its playback in time");
        if (r->player.state() == play_state::silent && plan.on_silence == fallback::maximum)
            for (const int word : r->chips)
                expect(word == 127, "a silent host did not end in maximum attenuation");
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz_input in(data, size);
    world w;
    w.tick();
    for (int turns = 0; !in.empty() && turns < 64; ++turns) {
        switch (in.u8() % 8) {
            case 0:
            case 1:
                w.give(in.bytes(in.u8()));
                break;
            case 2: {
                const auto text = in.bytes(in.u8());
                w.give(text);
                const std::uint8_t end = '\n';
                w.give({&end, 1});
                break;
            }
            case 3:
            case 4:
                w.request(in);
                break;
            case 5:
                for (int k = in.u8(); k > 0; --k) w.tick();
                break;
            case 6:
                w.r->device.on_external_trigger();
                w.tick();
                break;
            default:
                w.fall_silent();
        }
    }
    return 0;
}
