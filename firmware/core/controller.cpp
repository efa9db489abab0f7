// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/controller.h"

#include <pb_decode.h>
#include <pb_encode.h>

#include <algorithm>
#include <array>

#include "attenuator.pb.h"

namespace wip::attenuator {

namespace {

using request = wip_attenuator_Request;
using reply = wip_attenuator_Reply;
static_assert(wip_attenuator_Request_size <= max_message_bytes);
static_assert(wip_attenuator_Reply_size <= max_message_bytes);
static_assert(wip_attenuator_State_SILENT == static_cast<int>(play_state::silent));
static_assert(wip_attenuator_Trigger_BUS == static_cast<int>(trigger_source::bus));

scpi_error error_of(playback::accepted a) {
    switch (a) {
        case playback::accepted::all:
            return scpi_error::none;
        case playback::accepted::gap:
            return scpi_error::sequence_gap;
        case playback::accepted::out_of_range:
            return scpi_error::data_out_of_range;
        case playback::accepted::no_room:
            return scpi_error::too_much_data;
        case playback::accepted::not_whole:
            return scpi_error::illegal_parameter;
        case playback::accepted::not_open:
            return scpi_error::settings_conflict;
    }
    return scpi_error::illegal_parameter;
}

// Carries out a request, or returns the error.
scpi_error serve(const request& r, instrument& i) {
    playback& player = i.player();
    switch (r.which_what) {
        case wip_attenuator_Request_open_tag: {
            const auto& open = r.what.open;
            if (open.trigger > wip_attenuator_Trigger_BUS) return scpi_error::illegal_parameter;
            return i.open(open.channels, open.period_ticks,
                          static_cast<trigger_source>(open.trigger));
        }
        case wip_attenuator_Request_steps_tag: {
            const auto& steps = r.what.steps;
            return error_of(
                player.accept(steps.first, {steps.levels.bytes, steps.levels.size}, steps.last));
        }
        case wip_attenuator_Request_stop_tag:
            player.stop();
            return scpi_error::none;
        case wip_attenuator_Request_trigger_tag:
            return player.trigger(trigger_source::bus) ? scpi_error::none
                                                       : scpi_error::trigger_ignored;
        case wip_attenuator_Request_status_tag:
            return scpi_error::none;
        default:
            return scpi_error::undefined_header;
    }
}

}  // namespace

void controller::on_byte(std::uint8_t byte) {
    last_byte_tick_ = instrument_.board().ticks();
    const bool inside = frames_.inside();
    switch (frames_.on_byte(byte)) {
        case frame_reader::taken::text:
            if (byte == '\n') instrument_.player().heard();
            scpi_.on_byte(static_cast<char>(byte));
            break;
        case frame_reader::taken::part:
            // A frame begins. The characters before it that no line end followed are no command.
            if (!inside) scpi_.drop_line();
            break;
        case frame_reader::taken::message:
            on_message(frames_.message());
            break;
        case frame_reader::taken::damaged:
            ++damaged_;
            instrument_.error(scpi_error::frame_damaged);
            break;
    }
}

void controller::poll() {
    if (frames_.inside() && instrument_.board().ticks() - last_byte_tick_ >= frame_timeout_ticks)
        frames_.idle();  // drops the frame that has begun
    instrument_.poll();
    scpi_.poll();
}

void controller::on_message(std::span<const std::uint8_t> message) {
    request asked = wip_attenuator_Request_init_zero;
    pb_istream_t in = pb_istream_from_buffer(message.data(), message.size());
    if (!pb_decode(&in, wip_attenuator_Request_fields, &asked)) {
        ++damaged_;
        instrument_.error(scpi_error::frame_damaged);
        return;
    }
    playback& player = instrument_.player();
    instrument_.settle();
    player.heard();
    const scpi_error e = serve(asked, instrument_);
    instrument_.error(e);
    reply answer = wip_attenuator_Reply_init_zero;
    answer.id = asked.id;
    answer.error = static_cast<std::int32_t>(e);
    answer.has_status = true;
    auto& s = answer.status;
    s.state = static_cast<wip_attenuator_State>(player.state());
    s.received = player.ring().received();
    s.played = player.ring().played();
    s.free = player.active() ? player.ring().free() : 0;
    s.underflows = player.underflows();
    s.late = player.ring().late();
    s.missed_ticks = instrument_.board().missed_ticks();
    s.tick = instrument_.board().ticks();
    s.damaged = damaged_;
    s.levels.size = nof_chips;
    for (int c = 0; c < nof_chips; ++c) s.levels.bytes[c] = player.level({c}).value;
    std::array<std::uint8_t, max_message_bytes> bytes{};
    pb_ostream_t out = pb_ostream_from_buffer(bytes.data(), bytes.size());
    if (!pb_encode(&out, wip_attenuator_Reply_fields, &answer)) return;
    std::array<std::uint8_t, max_frame_bytes> frame{};
    const std::size_t size = write_frame({bytes.data(), out.bytes_written}, frame);
    out_.frame({frame.data(), size});
}

}  // namespace wip::attenuator
