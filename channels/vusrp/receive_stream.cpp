// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <uhd/exception.hpp>
#include <uhd/utils/log.hpp>

#include "vusrp/streams.h"

namespace wip::vusrp {
namespace {

using namespace std::chrono_literals;
constexpr tick largest_wait = air::receive_ring_size / 4;

}  // namespace

receive_stream::receive_stream(std::shared_ptr<node_port> port, const radio_model& model,
                               sample_format format, std::size_t samples_per_packet)
    : port_(std::move(port)),
      reader_(*port_, model, static_cast<tick>(samples_per_packet)),
      format_(format),
      samples_per_packet_(samples_per_packet),
      scratch_(8192) {}

receive_stream::~receive_stream() {
    try {
        port_->command(air::command_kind::receive_stop, air::as_soon_as_possible, 0);
    } catch (const std::exception&) {  // the medium is gone: nothing to stop
    }
}

bool receive_stream::wait(tick n, clock::time_point deadline) {
    for (;;) {
        const auto left = deadline - clock::now();
        if (reader_.wait(n, std::min<std::chrono::nanoseconds>(left, 200ms))) return true;
        if (left <= 0ns) return false;
        port_->check();
    }
}

size_t receive_stream::recv(const buffs_type& buffs, size_t size, uhd::rx_metadata_t& metadata,
                            double timeout, bool one_packet) {
    using state = sampled_reader::state;
    const std::lock_guard lock(mutex_);
    const auto deadline = clock::now() + std::chrono::duration_cast<clock::duration>(
                                             std::chrono::duration<double>(timeout));
    const std::int64_t offset = port_->offset();
    const tick packet = static_cast<tick>(samples_per_packet_);
    metadata.reset();
    std::size_t done = 0;
    while (done < size) {
        const state s = reader_.look();
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
            metadata.time_spec = to_time(s.position, reader_.rate(), offset);
            return 0;
        }
        const tick to_boundary = packet - (s.position - s.start) % packet;
        const tick to_end = s.end - s.position;
        tick n = std::min(static_cast<tick>(size - done), to_end);
        n = std::min(n, one_packet ? to_boundary : largest_wait);
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
            metadata.time_spec = to_time(s.position, reader_.rate(), offset);
            metadata.start_of_burst = s.position == s.start;
            metadata.fragment_offset = static_cast<std::size_t>((s.position - s.start) % packet);
        }
        char* out = static_cast<char*>(buffs[0]) + done * sample_bytes(format_);
        if (format_ == sample_format::fc32) {
            reader_.take({reinterpret_cast<air::cf32*>(out), static_cast<std::size_t>(n)});
        } else {
            n = std::min(n, static_cast<tick>(scratch_.size()));
            const std::span<air::cf32> part(scratch_.data(), static_cast<std::size_t>(n));
            reader_.take(part);
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
    using mode = uhd::stream_cmd_t;
    // gr-uhd stops its stream while it unwinds from the exception of recv(): a second one would end
    // the process.
    if (command.stream_mode == mode::STREAM_MODE_STOP_CONTINUOUS && !port_->connected()) return;
    port_->check();
    const std::lock_guard lock(mutex_);
    tick time = air::as_soon_as_possible, count = static_cast<tick>(command.num_samps);
    const bool start = command.stream_mode != mode::STREAM_MODE_STOP_CONTINUOUS;
    if (command.stream_mode == mode::STREAM_MODE_START_CONTINUOUS) count = 0;
    if (!command.stream_now) {
        const tick sample = to_sample(command.time_spec, reader_.rate(), port_->offset());
        time = start ? reader_.start_tick(sample, count) : reader_.stop_tick(sample);
        count = reader_.count_ticks(sample, count);
    } else if (count > 0) {
        count = reader_.count_ticks_now(count);
    }
    switch (command.stream_mode) {
        case mode::STREAM_MODE_START_CONTINUOUS:
            return port_->command(air::command_kind::receive_start, time, 0);
        case mode::STREAM_MODE_STOP_CONTINUOUS:
            return port_->command(air::command_kind::receive_stop, time, 0);
        default:
            return port_->command(air::command_kind::receive_start, time, 0, count);
    }
}

}  // namespace wip::vusrp
