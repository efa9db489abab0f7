// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "vusrp/streams.h"

namespace wip::vusrp {
namespace {

using namespace std::chrono_literals;
using event_code = uhd::async_metadata_t::event_code_t;
constexpr auto look_again = 1ms;  // polling interval when several channels may have events

event_code code_of(fpga::transmit_event_kind kind) {
    using kinds = fpga::transmit_event_kind;
    switch (kind) {
        case kinds::underflow:
            return uhd::async_metadata_t::EVENT_CODE_UNDERFLOW;
        case kinds::late:
            return uhd::async_metadata_t::EVENT_CODE_TIME_ERROR;
        case kinds::sequence:
            return uhd::async_metadata_t::EVENT_CODE_SEQ_ERROR;
        case kinds::sequence_in_burst:
            return uhd::async_metadata_t::EVENT_CODE_SEQ_ERROR_IN_BURST;
        default:
            return uhd::async_metadata_t::EVENT_CODE_BURST_ACK;
    }
}

}  // namespace

transmit_stream::transmit_stream(std::vector<stream_channel> channels, sample_format format,
                                 std::size_t samples_per_packet, fpga::error_policy policy,
                                 bool hold)
    : format_(format),
      samples_per_packet_(samples_per_packet),
      rate_(channels.at(0).model.rate(side::transmit)),
      scratch_(samples_per_packet) {
    for (const stream_channel& c : channels) lanes_.emplace_back(c.port, c.model, policy, hold);
}

size_t transmit_stream::send(const buffs_type& buffs, size_t size,
                             const uhd::tx_metadata_t& metadata, double timeout) {
    const std::lock_guard lock(mutex_);
    if (size == 0 && metadata.start_of_burst) {
        kept_ = metadata;
        std::optional<tick> time;
        if (metadata.has_time_spec)
            time = to_sample(metadata.time_spec, lanes_[0].master(), lanes_[0].port().offset());
        for (transmit_core& l : lanes_) l.announce(time);
        return 0;
    }
    uhd::tx_metadata_t sent = metadata;
    // The call's own time is used before the kept one; end of burst is always that of the kept
    // call.
    if (kept_) {
        if (!sent.has_time_spec) {
            sent.has_time_spec = kept_->has_time_spec;
            sent.time_spec = kept_->time_spec;
        }
        sent.end_of_burst = kept_->end_of_burst;
        kept_.reset();
    }
    if (size == 0) {
        send_packet(nullptr, 0, 1, sent, timeout);
        return 0;
    }
    std::size_t done = 0;
    while (done < size && send_packet(&buffs, done, size, sent, timeout))
        done += std::min(samples_per_packet_, size - done);
    return done;
}

// Returns false if there was no room for it in time.
bool transmit_stream::send_packet(const buffs_type* buffs, std::size_t done, std::size_t size,
                                  const uhd::tx_metadata_t& metadata, double timeout) {
    const auto deadline = clock::now() + std::chrono::duration_cast<clock::duration>(
                                             std::chrono::duration<double>(timeout));
    const std::size_t n = std::min(samples_per_packet_, size - done);
    for (transmit_core& l : lanes_)
        if (!l.wait_room(n, deadline)) return false;
    std::optional<tick> time;
    if (metadata.has_time_spec) {
        const double rate = static_cast<double>(rate_.clock) / static_cast<double>(rate_.divider);
        const auto spec =
            metadata.time_spec + uhd::time_spec_t::from_ticks(static_cast<long long>(done), rate);
        time = to_sample(spec, lanes_[0].master(), lanes_[0].port().offset());
    }
    const bool end = metadata.end_of_burst && done + n == size;
    static const air::cf32 zero{};
    for (std::size_t i = 0; i < lanes_.size(); ++i)
        lanes_[i].packet(
            time, buffs ? samples((*buffs)[i], done, n) : std::span<const air::cf32>(&zero, 1),
            end);
    return true;
}

std::span<const air::cf32> transmit_stream::samples(const void* from, std::size_t done,
                                                    std::size_t size) {
    const char* first = static_cast<const char*>(from) + done * sample_bytes(format_);
    if (format_ == sample_format::fc32) return {reinterpret_cast<const air::cf32*>(first), size};
    const std::span<air::cf32> part(scratch_.data(), size);
    from_host(format_, first, part);
    return part;
}

bool transmit_stream::recv_async_msg(uhd::async_metadata_t& message, double timeout) {
    const std::lock_guard lock(message_mutex_);
    const auto deadline = clock::now() + std::chrono::duration_cast<clock::duration>(
                                             std::chrono::duration<double>(timeout));
    for (;;) {
        for (std::size_t i = 0; i < lanes_.size(); ++i)
            if (take_event(i, message)) return true;
        const std::chrono::nanoseconds left = deadline - clock::now();
        if (left <= 0ns || !lanes_[0].port().connected()) return false;
        lanes_[0].wait_report(
            lanes_.size() > 1 ? std::min<std::chrono::nanoseconds>(left, look_again) : left);
    }
}

bool transmit_stream::take_event(std::size_t channel, uhd::async_metadata_t& message) {
    transmit_core& l = lanes_[channel];
    const auto e = l.take_report();
    if (!e) return false;
    message.channel = channel;
    message.has_time_spec = true;
    message.time_spec = to_time(std::max<tick>(e->time, 0), l.master(), l.port().offset());
    message.event_code = code_of(e->kind);
    return true;
}

}  // namespace wip::vusrp
