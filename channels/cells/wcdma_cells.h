// SPDX-License-Identifier: GPL-3.0-or-later
// Cells of WCDMA and their users, slot by slot (1500 a second): path gain, log-normal shadowing and
// Rayleigh fading between every user and every site, fast power control, the SIR of each user, and
// block by block (15 slots) which users' blocks are lost. Every user transmits all the time. The
// model has no clock: block n is the 10 ms from n * 10 ms on, and a function of the configuration
// and the seed.
//
//   uplink     SIR = SF S / (o (own - S) + other + N): the powers that the user's site receives
//              from the user (S), from all users of its cell (own), from the users of other cells
//              (other), and noise (N)
//   downlink   SIR = SF S / (o (own - S) + other + N): the powers that the user receives of its own
//              signal (S), of all signals of its site (own), of the signals of other sites (other),
//              and noise (N)
//
// SF is the spreading factor and o the orthogonality factor. Carriers do not disturb each other. A
// user belongs to the site with the highest path gain times shadowing (with a hysteresis when users
// move); soft handover is not modelled.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cells/cells_config.h"
#include "cells/jakes.h"
#include "cells/layout.h"
#include "cells/power_loop.h"

namespace wip::cells {

class wcdma_cells {
public:
    // Throws as check() does. The power control has settled before block 0.
    wcdma_cells(const cells_config& config, std::uint64_t seed);

    // Computes the blocks up to this one; the results of earlier blocks are replaced.
    void advance_to(std::int64_t block);
    std::int64_t block() const noexcept { return block_; }  // the last one, -1 before the first

    int users() const noexcept { return config_.users; }
    // Loss, mean SIR and power of a user in the last block.
    bool lost(int user) const { return lost_[static_cast<std::size_t>(user)] != 0; }
    double sir_db(int user) const { return sir_db_[static_cast<std::size_t>(user)]; }
    double power_dbw(int user) const { return loop_.power_dbw(user); }
    // The user's cell and its position.
    int cell(int user) const { return serving_[static_cast<std::size_t>(user)]; }
    point place(int user) const { return places_[static_cast<std::size_t>(user)]; }
    const layout& sites() const { return layout_; }
    const cells_config& config() const { return config_; }
    std::uint64_t handovers() const { return handovers_; }
    // Path gain times shadowing, dB, without fading.
    double gain_db(int user, int cell) const;

private:
    struct course {
        double x = 0, y = 0;  // direction, of length 1
    };
    void run_block();
    void uplink_slot(int slot, std::span<const float> powers);
    void downlink_slot(int slot, std::span<const float> powers);
    float ratio(float own, float inside, float outside) const;
    void add_slot();
    double block_sir(std::size_t user) const;
    void judge();
    void move();
    void turn(int user);
    void update_gains(int user);
    void choose_site(int user, double hysteresis_db);
    double normal();
    std::size_t link(int cell, int user) const {
        return static_cast<std::size_t>(cell) * static_cast<std::size_t>(config_.users) +
               static_cast<std::size_t>(user);
    }
    std::size_t sum_of(int cell, int user) const {
        return static_cast<std::size_t>(cell * config_.carriers + user % config_.carriers);
    }

    cells_config config_;
    layout layout_;
    splitmix64 random_;  // for positions, shadowing and directions of motion
    jakes_fading fading_;
    power_loop loop_;
    float noise_w_;
    std::uint32_t decide_key_;
    std::int64_t block_;
    std::uint64_t handovers_ = 0;
    std::vector<point> places_;
    std::vector<course> courses_;
    std::vector<int> serving_;
    std::vector<float> shadow_db_, gain_;              // [cell][user]
    std::vector<float> own_w_, own_gain_, outside_w_;  // [user], of a slot
    std::vector<float> received_w_;                    // received power in a slot, [cell][user]
    std::vector<float> all_w_, of_cell_w_;             // [cell][carrier]
    std::vector<float> sir_;                           // SIR of each user in this slot
    std::vector<float> sir_lowest_;                    // lowest SIR of the block so far
    std::vector<float> sir_sum_;  // sum over the block of exp((lowest - SIR) / beta), or of SIR
    std::vector<float> sir_db_;   // SIR of the last whole block
    std::vector<std::uint8_t> lost_;
};

}  // namespace wip::cells
