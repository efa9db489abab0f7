// SPDX-License-Identifier: GPL-3.0-or-later
// A cell of N users in virtual time: a cell_scheduler, a terminal for every user, Rayleigh fading
// of every user and bin (AR(1) from slot to slot) around the user's mean SNR, perfect prediction,
// frames lost by SNR and modulation. After every slot:
//   - no bin carries two users' frames, every bin with a frame was given to its user, and no more
//     than `bins` are used
//   - packets and bytes of every user: in = queued + sent + dropped by reason
//   - a delivered packet is one of this user's, unaltered
//   - one grant for all users (cell_config::most_served) packs, no more of them are served, and
//   each
//     terminal reads from its 30 bytes what was planned for it
// The first violation throws.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <deque>
#include <vector>

#include "link/cell_scheduler.h"
#include "link/terminal_mac.h"
#include "traffic.h"

namespace wip::sim {

struct users_config {
    cell_config cell;
    std::vector<double> mean_snr_db;  // one for each user
    double coherence = 0.97;
    double grant_loss = 0, feedback_loss = 0;
    // Part of the frames that are lost whatever their SNR, as where the channel differs within a
    // bin, which the SNR of the bin does not show.
    double frame_loss = 0;
    std::uint64_t seed = 1;
};

class users_world {
public:
    explicit users_world(const users_config& config);

    // Keeps the queues of these users full from now on.
    void saturate(const std::vector<bool>& users) { saturated_ = users; }
    void give(int user, int packets, int bytes = 1500);
    void reconfigure(const cell_config& cell);
    void set_locked(int user, bool locked) { locked_[static_cast<std::size_t>(user)] = locked; }
    // Its packets on the way are lost with it.
    void restart_terminal(int user);
    void run(int slots);
    // Runs until nothing is queued or on its way; false: it did not end.
    bool drain(int most_slots = 20000);

    cell_scheduler& cell() { return cell_; }
    // Payload bits acknowledged, bins used, since the start.
    double bits(int user) const;
    std::int64_t bins_used(int user) const { return used_[static_cast<std::size_t>(user)]; }
    std::uint64_t accepted(int user) const { return accepted_[static_cast<std::size_t>(user)]; }
    std::uint64_t delivered(int user) const { return delivered_[static_cast<std::size_t>(user)]; }
    // The last slot: the predicted SNR that the scheduler had, and the plans.
    float predicted(int user, int bin) const {
        return known_[static_cast<std::size_t>(user)][static_cast<std::size_t>(bin)];
    }
    const std::vector<slot_plan>& plans() const { return plans_; }

private:
    using bins = std::array<float, nof_bins>;
    terminal_mac new_terminal(std::size_t user);
    void step();
    void fade();
    void pack();
    // Reads the grant of the slot as the user's terminal does. False: it reads nothing.
    bool read_grant(std::size_t user, const slot_plan& plan, slot_grant& out);
    slot_report receive(std::size_t user, const slot_plan& plan);
    void check(std::size_t user, const slot_plan& plan, std::uint32_t& taken) const;
    void take(std::size_t user, std::span<const std::uint8_t> packet, bool damaged);
    [[noreturn]] static void violated(const std::string& what);

    users_config config_;
    random_source random_;
    cell_scheduler cell_;
    std::vector<terminal_mac> terminals_;
    std::vector<section_reader> sections_;
    packed_grant packed_{};
    std::vector<bool> saturated_, locked_;
    std::vector<std::int64_t> used_;
    std::vector<std::uint64_t> accepted_, delivered_;
    std::vector<std::vector<int>> sent_;  // bytes of each packet by number; 0: none, or delivered
    std::vector<std::deque<std::array<std::complex<double>, nof_bins>>>
        gain_;  // gains of the slots now to now + delay
    std::vector<bins> known_;
    std::vector<slot_plan> plans_;
    std::int64_t now_ = 150;
};

}  // namespace wip::sim
