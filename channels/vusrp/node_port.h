// SPDX-License-Identifier: GPL-3.0-or-later
// One node of a medium as a channel of a device sees it: claimed when made, given back when
// destroyed. With a medium of its own (a thread in this process, transmitter looped back to the
// receiver) when the device arguments name none.
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
    // Throw peer_error with one line that says what to do.
    static std::shared_ptr<node_port> attach(const std::string& air, const std::string& node,
                                             double timeout_seconds);
    // A medium of its own, of so many nodes, each of which hears itself.
    static std::vector<std::shared_ptr<node_port>> make_private(const private_air_config& config,
                                                                std::size_t nodes);
    ~node_port();

    // Device clock: lockstep, what is released; realtime, the wall clock in samples.
    tick now() const noexcept;
    // Returns when now() >= t, or after the timeout (wall clock), or at once if the clock stands.
    void wait_until(tick t, double timeout_seconds) const;
    bool running() const noexcept { return header_->running.load() != 0; }
    bool lockstep() const noexcept { return air_->clock() == air::clock_kind::lockstep; }
    // The node's clock is so many parts in 10^12 fast.
    std::int64_t clock_parts() const noexcept { return air_->clock_parts(index_); }
    bool connected() const noexcept;
    // Throws peer_error when the medium is gone.
    void check() const;
    void command(air::command_kind kind, tick time, double value, std::int64_t count = 0);

    air::air_header& header() noexcept { return *header_; }
    air::node_block& block() noexcept { return *block_; }
    air::cf32* fifo() noexcept { return air_->transmit_fifo(index_); }
    air::cf32* ring() noexcept { return air_->receive_ring(index_); }
    const std::string& description() const noexcept { return description_; }

    // Device time = tick + offset, set by set_time_now; a pending one from set_time_next_pps.
    // A device's other channels have the time of its first.
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
