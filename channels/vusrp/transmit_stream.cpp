// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <uhd/utils/log.hpp>

#include "vusrp/streams.h"

namespace wip::vusrp {
namespace {

using namespace std::chrono_literals;
using outcome = sampled_writer::outcome;
constexpr auto look_again = 1ms;  // at channels of which each may have news

}  // namespace

transmit_stream::transmit_stream(const std::vector<stream_channel>& channels, sample_format format,
                                 std::size_t samples_per_packet, bool hold)
    : format_(format), samples_per_packet_(samples_per_packet), hold_(hold), scratch_(8192) {
    for (const stream_channel& c : channels) {
        c.port->block().transmit_latency.store(c.model.latency() + c.model.spread());
        const std::uint64_t events = c.port->block().events.written.load();
        lanes_.push_back({c.port, c.model, sampled_writer(*c.port, c.model), events, events});
    }
}

transmit_stream::~transmit_stream() {
    for (lane& l : lanes_)
        if (!l.writer.close()) l.writer.abandon();
}

bool transmit_stream::open(lane& l, tick time, clock::time_point deadline) {
    while (!l.writer.open(time, hold_)) {
        l.port->check();
        if (clock::now() >= deadline) return false;
        const auto& bursts = l.port->block().bursts;
        const std::uint64_t taken = bursts.taken.load();
        l.port->block().room.wait([&] { return bursts.taken.load() != taken; }, 100ms);
    }
    return true;
}

// False: the filter's last samples found no room in time.
bool transmit_stream::close(lane& l, clock::time_point deadline) {
    while (!l.writer.close()) {
        l.port->check();
        const auto left = deadline - clock::now();
        if (left <= 0ns) return l.writer.abandon(), false;
        l.writer.wait_room(std::min<std::chrono::nanoseconds>(left, 200ms));
    }
    return true;
}

// All channels side by side: the clock of a lockstep medium waits for each of them. One that has
// taken more than the caller is told of is ahead, and skips as much of the next call.
size_t transmit_stream::send(const buffs_type& buffs, size_t size,
                             const uhd::tx_metadata_t& metadata, double timeout) {
    const std::lock_guard lock(mutex_);
    const auto deadline = clock::now() + std::chrono::duration_cast<clock::duration>(
                                             std::chrono::duration<double>(timeout));
    announce_events();
    const tick time =
        metadata.has_time_spec
            ? to_sample(metadata.time_spec, lanes_[0].writer.rate(), lanes_[0].port->offset())
            : air::as_soon_as_possible;
    bool gave_up = false;  // no burst or no room in time
    for (lane& l : lanes_) {
        l.opened_here = false;
        const tick at = metadata.has_time_spec ? time + static_cast<tick>(l.done) : time;
        if (metadata.has_time_spec && l.writer.is_open() && l.writer.end_time() != at)
            close(l, deadline);
        if (l.writer.is_open() || (l.done >= size && size > 0)) continue;
        if (size == 0 && (!metadata.has_time_spec || metadata.end_of_burst)) continue;
        gave_up = gave_up || !open(l, at, deadline);
        l.opened_here = !gave_up;
    }
    const auto unfinished = [&](const lane& l) { return l.done < size || l.writer.pending(); };
    for (bool all = false; !all && !gave_up;) {
        lane* waiting = nullptr;
        bool moved = false;
        all = true;
        for (std::size_t i = 0; i < lanes_.size() && !gave_up; ++i) {
            lane& l = lanes_[i];
            if (!unfinished(l)) continue;
            const step s = write(l, buffs[i], size, time, deadline);
            gave_up = s == step::gave_up;
            moved = moved || s == step::some;
            if (unfinished(l)) all = false, waiting = &l;
        }
        if (all || moved || gave_up) continue;
        waiting->port->check();
        const auto left = deadline - clock::now();
        gave_up = left <= 0ns;
        if (!gave_up) waiting->writer.wait_room(std::min<std::chrono::nanoseconds>(left, 200ms));
    }
    std::size_t least = size;
    for (const lane& l : lanes_) least = std::min(least, l.done);
    for (lane& l : lanes_) l.done -= least;
    if (metadata.end_of_burst && least == size && !gave_up)
        for (lane& l : lanes_) close(l, deadline);
    return least;
}

transmit_stream::step transmit_stream::write(lane& l, const void* from, std::size_t size, tick time,
                                             clock::time_point deadline) {
    const auto [what, taken] = l.writer.write(samples(from, l.done, size));
    if (what == outcome::late && l.opened_here) {  // all of this call was too late
        l.done = size;
        return step::some;
    }
    l.done += taken;
    if (what != outcome::published) {
        // The burst was refused before. Samples with a time keep it, each packet of them, as in
        // a USRP; others go on as soon as possible.
        l.opened_here = time != air::as_soon_as_possible;
        return open(l, l.opened_here ? time + static_cast<tick>(l.done) : time, deadline)
                   ? step::some
                   : step::gave_up;
    }
    return taken > 0 ? step::some : step::nothing;
}

// Of the caller's samples, from `done` on; other formats than ours by pieces.
std::span<const air::cf32> transmit_stream::samples(const void* from, std::size_t done,
                                                    std::size_t size) {
    const char* first = static_cast<const char*>(from) + done * sample_bytes(format_);
    if (format_ == sample_format::fc32)
        return {reinterpret_cast<const air::cf32*>(first), size - done};
    const std::span<air::cf32> part(scratch_.data(), std::min(scratch_.size(), size - done));
    from_host(format_, first, part);
    return part;
}

void transmit_stream::announce_events() noexcept {
    const std::lock_guard lock(announce_mutex_);
    for (lane& l : lanes_) {
        while (const auto e = air::read_event(l.port->block(), l.announced)) {
            if (e->kind == air::event_kind::underflow) UHD_LOG_FASTPATH("U")
            if (e->kind == air::event_kind::late) UHD_LOG_FASTPATH("L")
        }
    }
}

bool transmit_stream::recv_async_msg(uhd::async_metadata_t& message, double timeout) {
    const std::lock_guard lock(message_mutex_);
    const auto deadline = clock::now() + std::chrono::duration_cast<clock::duration>(
                                             std::chrono::duration<double>(timeout));
    for (;;) {
        for (std::size_t i = 0; i < lanes_.size(); ++i)
            if (take_event(i, message)) return true;
        const auto left = deadline - clock::now();
        if (left <= 0ns || !lanes_[0].port->connected()) return false;
        const lane& first = lanes_[0];
        const std::chrono::nanoseconds most = lanes_.size() > 1 ? look_again : 200ms;
        auto& block = first.port->block();
        block.happened.wait([&] { return block.events.written.load() != first.delivered; },
                            std::min<std::chrono::nanoseconds>(left, most));
    }
}

bool transmit_stream::take_event(std::size_t channel, uhd::async_metadata_t& message) {
    lane& l = lanes_[channel];
    const auto e = air::read_event(l.port->block(), l.delivered);
    if (!e) return false;
    announce_events();
    message.channel = channel;
    message.has_time_spec = true;
    message.time_spec = to_time(l.model.own_of_medium(air::bounded_time(e->time)),
                                {l.model.base().clock}, l.port->offset());
    switch (e->kind) {
        case air::event_kind::burst_acknowledged:
            message.event_code = uhd::async_metadata_t::EVENT_CODE_BURST_ACK;
            break;
        case air::event_kind::underflow:
            message.event_code = uhd::async_metadata_t::EVENT_CODE_UNDERFLOW;
            break;
        case air::event_kind::late:
            message.event_code = uhd::async_metadata_t::EVENT_CODE_TIME_ERROR;
            break;
    }
    return true;
}

}  // namespace wip::vusrp
