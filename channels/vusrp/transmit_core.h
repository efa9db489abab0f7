// SPDX-License-Identifier: GPL-3.0-or-later
// A channel's way from the host's packets to the medium: the store before the radio, the FPGA's
// control logic (fpga/transmit_control.h), which decides what is on the air and when, and the
// reports to the host. All times are ticks of the radio's master clock from its beginning.
//
// A packet arrives a random time of `latency` to `latency + spread` after it was sent, and not
// before the previous one. In lockstep the clock waits until a packet that is due has come: nothing
// runs dry, and a packet is late only if it was late when it was sent; all other rules hold.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "vusrp/fpga/transmit_control.h"
#include "vusrp/node_port.h"
#include "vusrp/radio_model.h"
#include "vusrp/sampled_writer.h"

namespace wip::vusrp {

class transmit_core {
public:
    transmit_core(std::shared_ptr<node_port> port, const radio_model& model,
                  fpga::error_policy policy, bool hold);
    ~transmit_core();

    // Waits until the store has room for this many samples; returns false at the deadline.
    bool wait_room(std::size_t samples, std::chrono::steady_clock::time_point deadline);
    void packet(std::optional<tick> time, std::span<const air::cf32> samples, bool end_of_burst);
    // Announces that packets will follow, so that a medium that waits for its transmitters can
    // start.
    void announce(std::optional<tick> time);
    // Returns the next report that is due; nullopt: none is.
    std::optional<fpga::transmit_event> take_report();
    // Waits until a report may have come, at most for the timeout.
    void wait_report(std::chrono::nanoseconds timeout);

    node_port& port() noexcept { return *port_; }
    const exact_rate& master() const noexcept { return master_; }

private:
    static constexpr tick no_slot = std::numeric_limits<tick>::min();
    struct held_packet {
        std::int64_t number, position;
        std::optional<tick> commanded_time;  // nullopt: it has none
    };
    struct stored {
        tick until;  // the end of its last sample
        std::int64_t samples;
    };
    tick master_at(tick medium) const noexcept { return to_medium_.at_or_after(medium); }
    tick arrival(const std::optional<tick>& time);
    void advance();  // computes what has happened since the last packet
    void play(std::span<const air::cf32> samples);
    void write(tick start, std::int64_t position, std::size_t samples);
    void close_burst();
    std::int64_t unplayed(const stored& s, tick now) const;
    std::int64_t stored_at(tick now);
    void add_report(const fpga::transmit_event& e);
    // Counts the slots of the medium in which there are reports; `last` is the slot that was
    // counted last.
    void count_slot(tick time, tick& last, std::atomic<std::uint64_t>& counter);
    void check_time(const fpga::air_run& run);
    std::optional<fpga::transmit_event> due_report();

    std::shared_ptr<node_port> port_;
    const bool lockstep_, ideal_, hold_;
    exact_rate master_, rate_;
    sample_model::rate_map to_medium_;  // master tick -> position in the medium's ticks
    tick latency_, spread_;
    std::int64_t store_;
    std::minstd_rand random_;

    std::mutex mutex_;  // protects the members below
    std::condition_variable reported_;
    fpga::transmit_control control_;
    sampled_writer writer_;
    tick arrived_;             // arrival of the last packet
    std::int64_t number_ = 0;  // number of the next packet
    std::deque<stored> store_ends_;
    // Positions count all samples that the host has sent.
    std::int64_t sent_ = 0;
    std::int64_t played_ = 0;         // those before it are on the air or dropped
    std::int64_t written_until_ = 0;  // those before it are written to the medium
    std::deque<held_packet> packets_;
    std::vector<air::cf32> held_;  // samples from played_ on, which wait in the DUC
    std::span<const air::cf32> current_{};
    tick next_ = 0;  // tick after the last sample that was written
    std::deque<fpga::transmit_event> reports_;
    tick late_slot_ = no_slot, dry_slot_ = no_slot;
};

}  // namespace wip::vusrp
