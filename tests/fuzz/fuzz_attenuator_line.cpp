// SPDX-License-Identifier: GPL-3.0-or-later
// The two halves of what reads the attenuator controller's serial line, framing and the parser of
// its text, with little beside them, so that a core runs very many inputs: the input as it comes on
// the line, and as a message whose frame is read again. fuzz_attenuator has the whole controller.
#include <algorithm>
#include <array>
#include <optional>

#include "fuzz_input.h"
#include "rig.h"

using namespace wip::attenuator;
using wip::fuzz::expect;

namespace {

void framed(std::span<const std::uint8_t> message) {
    static frame_reader reader;
    std::array<std::uint8_t, max_frame_bytes> frame{};
    const std::size_t size = write_frame(message, frame);
    expect((size == 0) == (message.size() > max_message_bytes), "a frame of what is too long");
    if (size == 0) return;
    reader.idle();
    for (std::size_t k = 0; k < size; ++k) {
        const auto taken = reader.on_byte(frame[k]);
        expect((frame[k] == 0) == (k == 0 || k + 1 == size), "a zero inside a frame");
        expect((taken == frame_reader::taken::message) == (k + 1 == size), "a frame not read");
    }
    expect(std::ranges::equal(reader.message(), message), "a message that has changed");
}

void on_the_line(std::span<const std::uint8_t> bytes) {
    static std::optional<rig> world;  // 33 KiB, too large for the stack
    rig& r = world.emplace();
    for (const std::uint8_t b : bytes) r.device.on_byte(b);
    r.device.on_byte('\n');
    r.tick();
    frame_reader answers;
    for (const char c : r.device.output().bytes()) {
        const auto taken = answers.on_byte(static_cast<std::uint8_t>(c));
        expect(taken != frame_reader::taken::damaged, "an answer is a damaged frame");
        if (taken == frame_reader::taken::text)
            expect(c == '\n' || (c >= ' ' && c <= '~'), "an answer is not text");
    }
    expect(r.device.state().nof_errors() <= error_queue::capacity,
           "more errors than there is room for");
    for (int c = 0; c < nof_chips; ++c)
        expect(
            !r.player.layout().exists({c}) || r.player.level({c}) <= r.player.layout().max_of({c}),
            "a level beyond the channel's");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    framed({data, size});
    on_the_line({data, size});
    return 0;
}
