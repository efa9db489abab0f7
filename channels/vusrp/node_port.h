// SPDX-License-Identifier: GPL-3.0-or-later
// One node of a medium, for one channel of a device: claimed by the constructor functions, released
// by the destructor. If the device arguments name no medium, the device has a private one (a thread
// in this process, in which the transmitter is connected to the receiver).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "air/receive_queue.h"
#include "air/shared_air.h"
#include "air/transmit_queue.h"

namespace wip::vusrp {

using air::tick;

struct private_air_config {
    air::clock_kind clock = air::clock_kind::realtime;
    double speed = 1;
    bool noisy = false;
    double noise_dbfs = 0;
    double gain_db = 0;
    std::int64_t delay_samples = 0;
};

class node_port {
public:
    // Attaches to a node of a named medium. Both functions throw peer_error with one line that says
    // what to do.
    static std::shared_ptr<node_port> attach(const std::string& air, const std::string& node,
                                             double timeout_seconds);
    // Makes a private medium with this number of nodes, each of which receives its own transmitter.
    static std::vector<std::shared_ptr<node_port>> make_private(const private_air_config& config,
                                                                std::size_t nodes);
    ~node_port();

    // The device clock, in ticks: in lockstep the released time; in realtime the wall clock.
    tick now() const noexcept;
    // Returns when now() >= t, after the timeout (wall clock), or at once if the clock has not
    // started.
    void wait_until(tick t, double timeout_seconds) const;
    bool running() const noexcept { return header_->running.load() != 0; }
    bool lockstep() const noexcept { return air_->clock() == air::clock_kind::lockstep; }
    // The error of the node's clock, in parts of 10^12; positive: fast.
    std::int64_t clock_parts() const noexcept { return air_->clock_parts(index_); }
    bool connected() const noexcept;
    // Throws peer_error when the medium has ended.
    void check() const;
    void command(air::command_kind kind, tick time, double value, std::int64_t count = 0);

    air::air_header& header() noexcept { return *header_; }
    air::node_block& block() noexcept { return *block_; }
    air::cf32* fifo() noexcept { return air_->transmit_fifo(index_); }
    air::cf32* ring() noexcept { return air_->receive_ring(index_); }
    const std::string& description() const noexcept { return description_; }

    // Device time = tick + offset. UHD's set_time_now sets the offset at once, set_time_next_pps
    // from tick `when` on. follow(): the other channels of a device use the offset of its first.
    void follow(std::shared_ptr<node_port> first) noexcept { first_ = std::move(first); }
    std::int64_t offset() noexcept;
    void set_offset(std::int64_t offset) noexcept;
    void set_offset_at(tick when, std::int64_t offset) noexcept;

private:
    struct private_air;
    node_port() = default;
    void claim(std::size_t index, double timeout_seconds);

    std::shared_ptr<private_air> private_;
    std::shared_ptr<node_port> first_;
    std::unique_ptr<air::shared_air> attached_;
    air::shared_air* air_ = nullptr;
    air::air_header* header_ = nullptr;
    air::node_block* block_ = nullptr;
    std::size_t index_ = 0;
    std::string description_;
    std::mutex command_mutex_, offset_mutex_;
    std::int64_t offset_ = 0, next_offset_ = 0;
    tick next_offset_at_ = air::never;
};

}  // namespace wip::vusrp
