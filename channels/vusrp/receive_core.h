// SPDX-License-Identifier: GPL-3.0-or-later
// A channel's way from the medium to the host's packets: the FPGA's control logic
// (fpga/receive_control.h), which says what is received and when, the stores behind it, and the
// samples themselves (sampled_reader.h). All times are ticks of the radio's master clock.
//
// The host reads late: what does not fit into its frames stays in the device, and when that is full
// as well the receiver stops. In lockstep time waits for who reads, so nothing is full. A packet
// can be had when it is complete and `latency` plus 0 to `spread` have gone by, never before the
// one in front of it; what is left of a stream that has ended can be had at once.
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
        tick position = 0;    // of the next sample, or of the event
        tick left = 0;        // samples of its packet
        tick available = 0;   // samples, of whole packets that follow each other
        bool starts = false;  // the next sample is the first of a run
        bool ends = false;    // what is available ends a burst
        tick taken = 0;       // samples of its packet before
        tick first_lost = 0;  // behind the last sample, of an overflow
    };
    // The present state of the stream; an event is reported again until it is taken.
    state look();
    void take_event();
    // Waits until there is something, or a command.
    void wait(std::chrono::nanoseconds timeout);
    // Copies and consumes; so many must be available.
    void take(std::span<air::cf32> out);
    // Skips samples that the other channels of the stream do not have.
    void skip_to(tick position);
    // Copies what is left of runs that have ended out of the medium's ring, which otherwise has no
    // room for the next run.
    void keep_rest();
    // Starts again after an overflow: at `time`, with a stop before it, or after `after` ticks.
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
        tick ready;      // of the medium
        tick taken = 0;  // samples before
        bool begun = false;
    };
    struct event {
        fpga::receive_event what;
        std::int64_t behind;  // so many packets
    };
    tick master_at(tick medium) const noexcept { return to_medium_.at_or_after(medium); }
    void update();
    void note(const fpga::receive_outcome& o);
    tick drawn_lag();
    void drop_until(tick next);
    void shorten(packet& p, std::int64_t gone);  // at its beginning
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
    std::int64_t frames_;  // samples that the host holds
    std::minstd_rand random_;

    mutable std::mutex mutex_;  // of what follows
    fpga::receive_control control_;
    sampled_reader reader_;
    std::deque<packet> packets_;
    std::int64_t come_ = 0;  // packets
    std::deque<event> events_;
    std::optional<tick> lost_;      // samples are missing from there on, in the medium
    std::int64_t waiting_ = 0;      // samples of packets that were not taken
    std::vector<air::cf32> kept_;   // the samples of the packets in front
    std::ptrdiff_t kept_from_ = 0;  // those before it have been taken
    tick last_end_ = 0, last_ready_ = 0;
    tick written_;  // the last command
    tick thrown_until_ = -air::farthest_time;
    bool open_ = false;      // the medium fills the ring
    bool ended_ = true;      // the last packet had the end of a burst
    bool restarts_ = false;  // a start follows
    bool resumes_ = false;   // behind a gap
};

}  // namespace wip::vusrp
