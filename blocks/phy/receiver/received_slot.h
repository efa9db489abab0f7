// SPDX-License-Identifier: GPL-3.0-or-later
// The reports of the receiver: about one slot, and about itself.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "phy/detection/bin_result.h"
#include "types/db.h"
#include "types/grant.h"
#include "types/grid.h"

namespace wip::phy {

enum class receiver_mode : std::uint8_t { searching, confirming, holding, synchronised, locked };

struct receiver_state {
    receiver_mode mode = receiver_mode::searching;
    bool locked = false;  // mode == locked
    int cell = -1;        // the one found; -1 while searching
    double cfo_hz = 0;
    double timing_samples = 0;  // slot start against the sample count modulo 5120
    double evm_percent = 0;     // EVM of the control symbols (QPSK) of the last slot
    double level_dbfs = 0;
    double prediction_nmse = 0;  // running, of the SNR `horizon` slots ahead
    // Transitions: searching -> confirming, confirming -> synchronised, synchronised -> locked.
    std::uint64_t candidates = 0;
    std::uint64_t synchronisations = 0;
    std::uint64_t locks = 0;
    // Synchronised or locked -> holding: the pilots are missing. When they come back in time, it
    // returns to the mode before.
    std::uint64_t holds = 0;
    // Back to searching: a candidate was not confirmed; synchronised, locked or holding was lost
    // because the pilots were missing, samples were, or the sample count jumped back.
    std::uint64_t candidates_refuted = 0;
    std::uint64_t losses_pilots = 0;
    std::uint64_t losses_gap = 0;
    std::uint64_t losses_jump = 0;
    std::uint64_t lock_losses = 0;  // those while locked, or holding a lock
    std::uint64_t grants_failed = 0;
    std::uint64_t second_passes = 0;  // slots with failed frames, detected again (slot_detector.h)
};

struct received_slot {
    // Sample time of the slot's first sample, on the axis of process()'s `first`.
    sample start;
    receiver_mode mode = receiver_mode::searching;
    bool locked = false;  // mode == locked
    // Frame number * 30 + slot in frame, modulo 4096 * 30; from pilots and grant. Valid when
    // locked.
    std::int64_t slot_in_hyperframe = 0;
    bool grant_ok = false;
    slot_grant grant;
    packed_grant packed{};  // the grant as it was decoded; valid when grant_ok
    std::array<bin_result, nof_bins> bins;
    // Filtered over this slot and those before (bin_power_filter.h).
    std::array<float, nof_bins> snr_db{};
    std::array<float, nof_bins> predicted_snr_db{};
    std::span<const cf32> channel;     // 500 estimates at the slot's middle
    std::span<const float> bin_noise;  // 25: of a subcarrier, in units of |channel|^2
    // 25: mean |channel|^2 by this slot alone; over bin_noise, an SNR that no other slot is part of
    std::span<const float> bin_power;
    float unit_dbfs = 0;  // level of a subcarrier with |channel| = 1, at the radio
};

// SNR of the bins by this slot alone; the least that is reported where it was not measured.
std::array<float, nof_bins> slot_snr_db(const received_slot& received) noexcept;
// Mean of snr_db.
db mean_snr(const received_slot& received) noexcept;

}  // namespace wip::phy
