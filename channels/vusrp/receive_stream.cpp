// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <uhd/exception.hpp>
#include <uhd/utils/log.hpp>

#include "vusrp/streams.h"

namespace wip::vusrp {
namespace {

using namespace std::chrono_literals;
using mode = uhd::stream_cmd_t;
using fpga::command_kind;

// How long UHD takes from an overflow to the start that follows
// (docs/explanation/software-usrp.md).
constexpr double network_restart_s = 0.05;
constexpr double usb_restart_s = 0.001, usb_restart_of_two_s = 0.01;

command_kind kind_of(mode::stream_mode_t m) {
    switch (m) {
        case mode::STREAM_MODE_START_CONTINUOUS:
            return command_kind::start;
        case mode::STREAM_MODE_NUM_SAMPS_AND_DONE:
            return command_kind::finite;
        case mode::STREAM_MODE_NUM_SAMPS_AND_MORE:
            return command_kind::chained;
        default:
            return command_kind::stop;
    }
}

}  // namespace

receive_stream::receive_stream(const std::vector<stream_channel>& channels, sample_format format,
                               std::size_t samples_per_packet)
    : format_(format), samples_per_packet_(samples_per_packet), scratch_(8192) {
    const radio_model& model = channels.at(0).model;
    reports_in_stream_ = model.control().receive.reports_in_stream;
    restarts_ = model.restarts();
    ideal_ = model.ideal_control();
    is_overlong_ =
        model.usb_frame() > 0 && static_cast<std::int64_t>(samples_per_packet) > model.usb_frame();
    for (const stream_channel& c : channels)
        lanes_.emplace_back(c.port, c.model, static_cast<std::int64_t>(samples_per_packet));
}

receive_stream::state receive_stream::look(std::size_t& lane) {
    for (;;) {
        lane = 0;
        state all = lanes_[0].look();
        if (lanes_.size() == 1) return all;
        tick latest = all.position;
        bool same = true;
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            const state s = i == 0 ? all : lanes_[i].look();
            lane = i;
            if (s.what != state::samples) return s;
            same = same && s.position == latest;
            latest = std::max(latest, s.position);
            all.available = std::min(all.available, s.available);
            all.left = std::min(all.left, s.left);
            all.ends = all.ends && s.ends && s.available == all.available;
        }
        if (same) return all;
        for (receive_core& l : lanes_) l.skip_to(latest);
    }
}

bool receive_stream::wait(clock::time_point deadline) {
    const std::chrono::nanoseconds left = deadline - clock::now();
    // With a timeout of 0 the ports are not checked, since gr-uhd empties its stream with such
    // calls while it unwinds from an exception, and a second exception would end the process.
    if (left <= 0ns) return false;
    for (receive_core& l : lanes_) l.port().check();
    // While one channel has no samples, those of the others stay unread, so they are copied out of
    // the rings.
    receive_core* idle = nullptr;
    for (receive_core& l : lanes_) {
        if (lanes_.size() > 1) l.keep_rest();
        if (l.look().what == state::nothing && !idle) idle = &l;
    }
    if (idle) idle->wait(left);
    return true;
}

size_t receive_stream::recv(const buffs_type& buffs, size_t size, uhd::rx_metadata_t& metadata,
                            double timeout, bool one_packet) {
    const std::lock_guard lock(mutex_);
    const auto wall =
        std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(timeout));
    auto deadline = clock::now() + wall;
    const std::int64_t offset = lanes_[0].port().offset();
    const exact_rate master = lanes_[0].master();
    metadata.reset();
    std::size_t done = 0;
    while (done < size) {
        std::size_t lane = 0;
        const state s = look(lane);
        if (s.what == state::nothing) {
            if (wait(deadline)) continue;
            if (done > 0) return done;
            metadata.error_code = std::exchange(late_report_waits_, false)
                                      ? uhd::rx_metadata_t::ERROR_CODE_LATE_COMMAND
                                      : uhd::rx_metadata_t::ERROR_CODE_TIMEOUT;
            return 0;
        }
        if (s.what != state::samples) {
            if (s.what == state::late && !reports_in_stream_) {
                lanes_[lane].take_event();
                late_report_waits_ = true;
                continue;
            }
            if (done == 0) report(lane, s, metadata);
            return done;
        }
        if (is_overlong_) throw uhd::io_error("usb rx6 transfer status: LIBUSB_TRANSFER_OVERFLOW");
        tick n = std::min(static_cast<tick>(size - done), one_packet ? s.left : s.available);
        if (done == 0) {
            metadata.has_time_spec = true;
            metadata.time_spec = to_time(s.position, master, offset);
            metadata.start_of_burst = s.starts && (reports_in_stream_ || ideal_);
            metadata.fragment_offset = static_cast<std::size_t>(s.taken);
        } else if (s.starts) {
            return done;
        }
        if (format_ != sample_format::fc32) n = std::min(n, static_cast<tick>(scratch_.size()));
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            char* out = static_cast<char*>(buffs[i]) + done * sample_bytes(format_);
            if (format_ == sample_format::fc32) {
                lanes_[i].take({reinterpret_cast<air::cf32*>(out), static_cast<std::size_t>(n)});
                continue;
            }
            const std::span<air::cf32> part(scratch_.data(), static_cast<std::size_t>(n));
            lanes_[i].take(part);
            to_host(format_, part, out);
        }
        done += static_cast<std::size_t>(n);
        deadline = clock::now() + wall;
        metadata.end_of_burst = s.ends && n == s.available;
        metadata.more_fragments = one_packet && n < s.left;
        if (one_packet || metadata.end_of_burst) return done;
    }
    return done;
}

// Reports an event of the stream, and does what UHD does after it.
void receive_stream::report(std::size_t lane, const state& s, uhd::rx_metadata_t& metadata) {
    using errors = uhd::rx_metadata_t;
    receive_core& l = lanes_[lane];
    tick at = s.position;
    switch (s.what) {
        case state::late:
            metadata.error_code = errors::ERROR_CODE_LATE_COMMAND;
            break;
        case state::broken_chain:
            metadata.error_code = errors::ERROR_CODE_BROKEN_CHAIN;
            break;
        default:
            metadata.error_code = errors::ERROR_CODE_OVERFLOW;
            metadata.out_of_sequence = s.what == state::lost;
            if (s.what == state::lost) UHD_LOG_FASTPATH("D")
            if (s.what == state::overflow && !reports_in_stream_) at = s.first_lost;
    }
    metadata.has_time_spec = true;
    metadata.time_spec = to_time(std::max<tick>(at, 0), l.master(), l.port().offset());
    l.take_event();
    const std::lock_guard lock(command_mutex_);
    if (s.what == state::overflow && last_command_continuous_ && restarts_) restart(lane);
}

void receive_stream::restart(std::size_t lane) {
    const auto ticks = [&](double seconds) {
        return std::llround(seconds * static_cast<double>(lanes_[0].master().clock));
    };
    if (ideal_) return lanes_[lane].restart({}, 0);
    if (reports_in_stream_ && lanes_.size() == 1)
        return lanes_[0].restart({}, ticks(usb_restart_s));
    const tick when =
        lanes_[0].now() + ticks(reports_in_stream_ ? usb_restart_of_two_s : network_restart_s);
    for (receive_core& l : lanes_) l.restart(when, 0);
}

void receive_stream::issue_stream_cmd(const uhd::stream_cmd_t& command) {
    if (lanes_.size() > 1 && command.stream_now &&
        command.stream_mode != mode::STREAM_MODE_STOP_CONTINUOUS)
        throw uhd::runtime_error(
            "Invalid recv stream command - stream now on multiple channels in a single streamer "
            "will fail to time align.");
    for (receive_core& l : lanes_) this->command(l, command);
}

void receive_stream::issue_to(const node_port& port, const uhd::stream_cmd_t& command) {
    for (receive_core& l : lanes_)
        if (&l.port() == &port) this->command(l, command);
}

void receive_stream::command(receive_core& l, const uhd::stream_cmd_t& command) {
    // gr-uhd stops its stream while it unwinds from an exception of recv(); a second exception
    // would end the process.
    if (command.stream_mode == mode::STREAM_MODE_STOP_CONTINUOUS && !l.port().connected()) return;
    l.port().check();
    const command_kind kind = kind_of(command.stream_mode);
    const bool finite = kind == command_kind::finite || kind == command_kind::chained;
    if (finite && command.num_samps == 0) {
        UHD_LOG_WARNING("VUSRP", "Ignoring stream command for finite acquisition of zero samples")
        return;
    }
    const std::lock_guard lock(command_mutex_);
    last_command_continuous_ = kind == command_kind::start;
    // No family has timed stops.
    std::optional<tick> time;
    if (!command.stream_now && kind != command_kind::stop)
        time = to_sample(command.time_spec, l.master(), l.port().offset());
    l.command(kind, time, finite ? static_cast<std::int64_t>(command.num_samps) : 0);
}

}  // namespace wip::vusrp
