// SPDX-License-Identifier: GPL-3.0-or-later
// A channel's way from the medium to the host's packets: the FPGA's control logic
// (fpga/receive_control.h), which decides what is received and when, the stores after it, and the
// samples themselves (sampled_reader.h). All times are ticks of the radio's master clock.
//
// If the host reads too slowly, samples that do not fit into its frames stay in the device, and
// when that is full as well the receiver stops. In lockstep time waits for the reader, so no store
// is full. A packet is available when it is complete and a random time of `latency` to `latency +
// spread` has passed, never before the previous packet; the rest of a stream that has ended is
// available at once.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "vusrp/fpga/receive_control.h"
#include "vusrp/node_port.h"
#include "vusrp/radio_model.h"
#include "vusrp/sampled_reader.h"

namespace wip::vusrp {

class receive_core {
public:
    receive_core(std::shared_ptr<node_port> port, const radio_model& model,
                 std::int64_t samples_per_packet);
    ~receive_core();

    struct state {
        enum kind { nothing, samples, late, overflow, broken_chain, lost } what = nothing;
        tick position = 0;    // tick of the next sample, or of the event
        tick left = 0;        // samples of its packet from there on
        tick available = 0;   // samples of this and further packets that can be taken now
        bool starts = false;  // the next sample is the first of a run
        bool ends = false;    // the last available sample ends a burst
        tick taken = 0;       // samples of its packet that have been taken
        tick first_lost = 0;  // overflow: tick after the last sample
    };
    // The present state of the stream; an event is reported again until it is taken.
    state look();
    void take_event();
    // Waits until there are samples, an event or a command.
    void wait(std::chrono::nanoseconds timeout);
    // Copies and consumes samples, which must be available.
    void take(std::span<air::cf32> out);
    // Skips the samples before `position`, which another channel of the stream does not have.
    void skip_to(tick position);
    // Copies the remaining samples of runs that have ended out of the medium's ring, to make room
    // there for the next run.
    void keep_rest();
    // Starts again after an overflow: at `time`, after a stop, or without a time after `after`
    // ticks.
    void restart(std::optional<tick> time, tick after);

    // Writes a command after `after` ticks. May be called by any thread.
    void command(fpga::command_kind kind, std::optional<tick> time, std::int64_t samples,
                 tick after = 0);

    node_port& port() noexcept { return *port_; }
    const exact_rate& master() const noexcept { return master_; }
    const exact_rate& rate() const noexcept { return rate_; }
    tick now() const noexcept { return master_at(port_->now()); }

private:
    struct packet {
        tick time;
        std::int64_t samples;
        bool ends, begins;
        tick ready;      // tick of the medium from which on it is available
        tick taken = 0;  // samples that have been taken from its beginning
        bool begun = false;
    };
    struct event {
        fpga::receive_event what;
        std::int64_t after_packets;  // number of packets before it
    };
    tick master_at(tick medium) const noexcept { return to_medium_.at_or_after(medium); }
    void update();
    void add_outcome(const fpga::receive_outcome& o);
    tick random_latency();
    void drop_until(tick next);
    void shorten(packet& p, std::int64_t gone);  // removes samples at its beginning
    void begin(packet& p);
    void keep();
    void drain();
    tick kept() const noexcept { return std::ssize(kept_) - kept_from_; }
    void open_window(std::optional<tick> time, std::int64_t samples);
    void close_window();

    std::shared_ptr<node_port> port_;
    const bool lockstep_, ideal_;
    exact_rate master_, rate_;
    sample_model::rate_map to_medium_;
    tick latency_, spread_;
    tick strobe_;
    std::int64_t frames_;  // samples that fit into the host's frames
    std::minstd_rand random_;

    mutable std::mutex mutex_;  // protects the members below
    fpga::receive_control control_;
    sampled_reader reader_;
    std::deque<packet> packets_;
    std::int64_t received_packets_ = 0;  // number of packets so far
    std::deque<event> events_;
    std::optional<tick> lost_;      // tick from which on samples are missing in the medium
    std::int64_t waiting_ = 0;      // samples in packets_
    std::vector<air::cf32> kept_;   // samples of the first packets, copied from the ring
    std::ptrdiff_t kept_from_ = 0;  // index of the first one that has not been taken
    tick last_end_ = 0, last_ready_ = 0;
    tick written_;  // tick of the last command
    tick dropped_until_ = -air::farthest_time;
    bool window_open_ = false;  // the medium has a window for this channel
    bool ended_ = true;         // the last packet ended a burst
    bool restarting_ = false;   // restart() is about to give a start
    bool after_gap_ = false;    // the next sample is the first one after a gap
};

}  // namespace wip::vusrp
