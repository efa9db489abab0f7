// SPDX-License-Identifier: GPL-3.0-or-later
// Several users of one cell, a bearer each: as two packet links whose tag is the user. The downlink
// of the cell is shared (cell_scheduler.h); an uplink is its user's own. With a limit, a user that
// is alone gets `kbps` if its C/I is 0 dB, and otherwise `kbps` times its linear C/I (a bit needs
// the same energy over interference), but at most its bearer's rate.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "port/packet_link.h"
#include "umts/bearer.h"
#include "umts/cell_scheduler.h"

namespace wip::umts {

struct cell_config {
    int users = 1;
    double kbps = 0;  // rate of a user with a C/I of 0 dB; 0: every bearer has its own rate
    sharing method = sharing::equal_throughput;
    std::vector<double> users_db;        // C/I by user; of further users: 0
    std::vector<traffic_class> classes;  // by user; of further users: interactive
};

class cell {
public:
    // The first user has the seed of `bearers`, and each other user one that is derived from it.
    cell(const bearer_config& bearers, const cell_config& config);

    packet_link& downlink() { return links_[0]; }
    packet_link& uplink() { return links_[1]; }
    const packet_link& downlink() const { return links_[0]; }
    const packet_link& uplink() const { return links_[1]; }
    void advance(std::int64_t now_ns);
    // Called with the time at the end of each advance().
    void on_advance(std::function<void(std::int64_t now_ns)> then) { then_ = std::move(then); }
    std::int64_t next_wakeup() const;

    int users() const { return static_cast<int>(bearers_.size()); }
    bearer& user(int u) { return *bearers_[static_cast<std::size_t>(u)]; }
    const bearer& user(int u) const { return *bearers_[static_cast<std::size_t>(u)]; }
    // Changes the configuration from the next interval on, except the number of users.
    void reconfigure(const cell_config& config);

private:
    class link final : public packet_link {
    public:
        link(cell& c, bearer::way w) : cell_(&c), way_(w) {}
        bool offer(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag) override {
            return of(tag).offer(packet, now_ns, tag);
        }
        void advance(std::int64_t now_ns) override { cell_->advance(now_ns); }
        std::int64_t next_wakeup() const override { return cell_->next_wakeup(); }
        link_sums sums() const override;
        bool idle() const override;
        int leave(const link_packet& p) const { return hand_over(p); }

    private:
        packet_link& of(int user) const;
        cell* cell_;
        bearer::way way_;
    };
    void downlink_interval(std::int64_t start_ns);

    std::int64_t tti_ns_;
    std::vector<std::unique_ptr<bearer>> bearers_;
    std::vector<int> left_;  // PDUs that a user's bearer still carries in this interval
    std::array<link, 2> links_{link{*this, bearer::way::down}, link{*this, bearer::way::up}};
    cell_scheduler scheduler_;
    std::function<void(std::int64_t)> then_;
};

}  // namespace wip::umts
