// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <uhd/exception.hpp>
#include <uhd/utils/log.hpp>

#include "vusrp/streams.h"

namespace wip::vusrp {
namespace {

using namespace std::chrono_literals;
constexpr double largest_wait = air::receive_ring_size / 4;  // ticks

}  // namespace

receive_stream::receive_stream(const std::vector<stream_channel>& channels, sample_format format,
                               std::size_t samples_per_packet)
    : format_(format), samples_per_packet_(samples_per_packet), scratch_(8192) {
    for (const stream_channel& c : channels)
        lanes_.emplace_back(c, static_cast<tick>(samples_per_packet));
}

receive_stream::~receive_stream() {
    try {
        for (const lane& l : lanes_)
            l.port->command(air::command_kind::receive_stop, air::as_soon_as_possible, 0);
    } catch (const std::exception&) {  // the medium is gone: nothing to stop
    }
}

sampled_reader::state receive_stream::look() {
    using state = sampled_reader::state;
    for (;;) {
        state all = lanes_[0].reader.look();
        if (lanes_.size() == 1 || all.what != state::samples) return all;
        tick latest = all.position;
        for (lane& l : lanes_) {
            const state s = l.reader.look();
            if (s.what != state::samples) return s;
            latest = std::max(latest, s.position);
            all.available = std::min(all.available, s.available);
            all.end = std::min(all.end, s.end);
            all.cut = all.cut || s.cut;
        }
        bool same = true;
        for (lane& l : lanes_) {
            const state s = l.reader.look();
            if (s.what != state::samples) return s;
            const tick behind = std::min(latest, s.end) - s.position;
            if (behind <= 0) continue;
            same = false;
            const tick n = std::min({behind, s.available, static_cast<tick>(scratch_.size())});
            if (n == 0) return {};
            l.reader.take({scratch_.data(), static_cast<std::size_t>(n)});
        }
        if (same) return all;
    }
}

bool receive_stream::wait(tick n, clock::time_point deadline) {
    for (lane& l : lanes_)
        for (;;) {
            const auto left = deadline - clock::now();
            if (l.reader.wait(n, std::min<std::chrono::nanoseconds>(left, 200ms))) break;
            if (left <= 0ns) return false;
            l.port->check();
        }
    return true;
}

size_t receive_stream::recv(const buffs_type& buffs, size_t size, uhd::rx_metadata_t& metadata,
                            double timeout, bool one_packet) {
    using state = sampled_reader::state;
    const std::lock_guard lock(mutex_);
    const auto deadline = clock::now() + std::chrono::duration_cast<clock::duration>(
                                             std::chrono::duration<double>(timeout));
    const std::int64_t offset = lanes_[0].port->offset();
    const exact_rate& rate = lanes_[0].reader.rate();
    const tick packet = static_cast<tick>(samples_per_packet_);
    const tick largest = static_cast<tick>(largest_wait / air::sample_rate * rate.hz());
    metadata.reset();
    std::size_t done = 0;
    while (done < size) {
        const state s = look();
        if (s.what == state::nothing) {
            if (done > 0) return done;
            if (wait(1, deadline)) continue;
            metadata.error_code = uhd::rx_metadata_t::ERROR_CODE_TIMEOUT;
            return 0;
        }
        if (s.what != state::samples) {
            if (s.what == state::ended) continue;
            const bool overflow = s.what == state::overflow;
            UHD_LOG_FASTPATH(overflow ? "O" : "L")
            metadata.error_code = overflow ? uhd::rx_metadata_t::ERROR_CODE_OVERFLOW
                                           : uhd::rx_metadata_t::ERROR_CODE_LATE_COMMAND;
            metadata.has_time_spec = true;
            metadata.time_spec = to_time(s.position, rate, offset);
            return 0;
        }
        const tick to_boundary = packet - (s.position - s.start) % packet;
        const tick to_end = s.end - s.position;
        tick n = std::min({static_cast<tick>(size - done), to_end, largest});
        if (one_packet) n = std::min(n, to_boundary);
        if (s.available < n) {
            if (wait(n, deadline)) continue;  // the window may have been cut short: look again
            // Timeout: whole packets that are there.
            const tick whole =
                s.available < to_boundary ? 0 : s.available - (s.available - to_boundary) % packet;
            n = std::min(n, whole);
            if (n == 0) {
                if (done == 0) metadata.error_code = uhd::rx_metadata_t::ERROR_CODE_TIMEOUT;
                return done;
            }
            size = done + static_cast<std::size_t>(n);
        }
        if (done == 0) {
            metadata.has_time_spec = true;
            metadata.time_spec = to_time(s.position, rate, offset);
            metadata.start_of_burst = s.position == s.start;
            metadata.fragment_offset = static_cast<std::size_t>((s.position - s.start) % packet);
        }
        if (format_ != sample_format::fc32) n = std::min(n, static_cast<tick>(scratch_.size()));
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            char* out = static_cast<char*>(buffs[i]) + done * sample_bytes(format_);
            if (format_ == sample_format::fc32) {
                lanes_[i].reader.take(
                    {reinterpret_cast<air::cf32*>(out), static_cast<std::size_t>(n)});
                continue;
            }
            const std::span<air::cf32> part(scratch_.data(), static_cast<std::size_t>(n));
            lanes_[i].reader.take(part);
            to_host(format_, part, out);
        }
        done += static_cast<std::size_t>(n);
        metadata.end_of_burst = n == to_end && !s.cut;
        metadata.more_fragments = one_packet && n < std::min(to_boundary, to_end);
        if (one_packet || n == to_end) return done;  // what ends a window is said by the next call
    }
    return done;
}

void receive_stream::issue_stream_cmd(const uhd::stream_cmd_t& command) {
    if (lanes_.size() > 1 && command.stream_now &&
        command.stream_mode != uhd::stream_cmd_t::STREAM_MODE_STOP_CONTINUOUS)
        throw uhd::runtime_error(
            "Invalid recv stream command - stream now on multiple channels in a single streamer "
            "will fail to time align.");
    for (lane& l : lanes_) this->command(l, command);
}

void receive_stream::issue_to(const node_port& port, const uhd::stream_cmd_t& command) {
    for (lane& l : lanes_)
        if (l.port.get() == &port) this->command(l, command);
}

void receive_stream::command(lane& l, const uhd::stream_cmd_t& command) {
    using mode = uhd::stream_cmd_t;
    // gr-uhd stops its stream while it unwinds from the exception of recv(): a second one would end
    // the process.
    if (command.stream_mode == mode::STREAM_MODE_STOP_CONTINUOUS && !l.port->connected()) return;
    l.port->check();
    const bool start = command.stream_mode != mode::STREAM_MODE_STOP_CONTINUOUS;
    const bool finite = start && command.stream_mode != mode::STREAM_MODE_START_CONTINUOUS;
    if (finite && command.num_samps == 0) {
        UHD_LOG_WARNING("VUSRP", "Ignoring stream command for finite acquisition of zero samples")
        return;
    }
    const std::lock_guard lock(command_mutex_);
    tick time = air::as_soon_as_possible;
    tick count = finite ? static_cast<tick>(command.num_samps) : 0;
    if (!command.stream_now) {
        const tick sample = to_sample(command.time_spec, l.reader.rate(), l.port->offset());
        time = start ? l.reader.start_tick(sample, count) : l.reader.stop_tick(sample);
        count = l.reader.count_ticks(sample, count);
    } else if (count > 0) {
        count = l.reader.count_ticks_now(count);
    }
    using kind = air::command_kind;
    l.port->command(start ? kind::receive_start : kind::receive_stop, time, 0, count);
}

}  // namespace wip::vusrp
