// SPDX-License-Identifier: GPL-3.0-or-later
// The whole receiver: samples in, slot reports out. Acquires cell, slot, sample timing and CFO from
// cyclic prefix and pilots, tracks them, estimates the channel, decodes the control region,
// detects, combines and checks the frames, measures and predicts the SNR of every bin.
//
//   searching -> confirming -> synchronised -> locked
//
// The first three are those of slot_synchroniser.h; synchronised, everything but the frame
// number is known, and SNR and predictions are reported. Locked: a grant with a good CRC has told
// the frame number. Every loss ends in searching.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "phy/gain_predictor.h"
#include "types/frame.h"
#include "types/grant.h"
#include "types/grid.h"

namespace wip::phy {

using cf32 = std::complex<float>;

class snr_predictor;

struct slot_receiver_config {
    int cell = 0;  // 0..63: no other; any_cell (-1): the strongest, whichever it is
    link_profile profile =
        link_profile::radio;  // the only one: wipemu has no frame check on the air
    bool combining = true;
    int horizon_slots = 3;                     // prediction is for slot air + horizon
    std::string predictor{default_predictor};  // one of predictor_names
};

enum class bin_outcome : std::uint8_t { unused, good, bad };

struct bin_result {
    bin_outcome outcome = bin_outcome::unused;
    bool combined = false;                  // detected after combining with an earlier copy
    std::span<const std::uint8_t> payload;  // nibble-packed, valid until the next call
    std::span<const cf32> symbols;          // 108 equalised symbols, unit energy scale
    std::span<const float> llr;             // 108 k soft bits (positive: 0); empty unless asked
};

enum class receiver_mode : std::uint8_t { searching, confirming, synchronised, locked };

struct receiver_state {
    receiver_mode mode = receiver_mode::searching;
    bool locked = false;  // mode == locked
    int cell = -1;        // the one found; -1 while searching
    double cfo_hz = 0;
    double timing_samples = 0;  // slot start against the sample count modulo 5120
    double evm_percent = 0;     // of the control symbols (QPSK) over the last slot
    double level_dbfs = 0;
    double prediction_nmse = 0;  // running, of the SNR `horizon` slots ahead
    // Transitions: searching -> confirming, confirming -> synchronised, synchronised -> locked.
    std::uint64_t candidates = 0;
    std::uint64_t synchronisations = 0;
    std::uint64_t locks = 0;
    // Back to searching: a candidate was not confirmed; synchronised or locked was lost because the
    // pilots were missing, samples were, or the sample count jumped back.
    std::uint64_t candidates_refuted = 0;
    std::uint64_t losses_pilots = 0;
    std::uint64_t losses_gap = 0;
    std::uint64_t losses_jump = 0;
    std::uint64_t lock_losses = 0;  // those while locked
    std::uint64_t grants_failed = 0;
    std::uint64_t second_looks = 0;  // slots with failed frames, detected again (slot_detector.h)
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
    std::array<bin_result, nof_bins> bins;
    // With what the slots before say about it (bin_power_filter.h).
    std::array<float, nof_bins> snr_db{};
    std::array<float, nof_bins> predicted_snr_db{};
    std::span<const cf32> channel;     // 500 estimates at the slot's middle
    std::span<const float> bin_noise;  // 25: of a subcarrier, in units of |channel|^2
    // 25: mean |channel|^2 by this slot alone; over bin_noise, an SNR that no other slot is part of
    std::span<const float> bin_power;
    float unit_dbfs = 0;  // level of a subcarrier with |channel| = 1, at the radio
};

class slot_receiver {
public:
    using on_slot_fn = std::function<void(const received_slot&)>;
    explicit slot_receiver(const slot_receiver_config& config);  // throws std::invalid_argument
    ~slot_receiver();

    // Samples in order; `first` is the sample time of in[0]. A jump in `first` (overflow) is a gap:
    // the missing samples count as lost, timing is kept when the gap is short, else lock is lost.
    // `on_slot` is called for every slot as soon as its last needed sample is there; while
    // unlocked, once for every 5120 samples with locked = false (it is also the clock).
    void process(sample first, std::span<const cf32> in, const on_slot_fn& on_slot);

    // The radio's gain from that sample on (gain_control.h): what is measured and learned stays
    // valid over the step. Levels are reported as they are behind that gain.
    void set_gain(sample from, double db) noexcept;

    // Between two calls of process(). Lock, timing and channel estimate do not depend on either.
    void set_combining(bool on) noexcept;
    // predictor_succession.h: the new one learns beside the one in use, then takes its place. Both
    // hand back what is no longer needed, for its owner to free elsewhere than in the slot path.
    std::unique_ptr<snr_predictor> succeed_predictor(std::unique_ptr<snr_predictor> next) noexcept;
    std::unique_ptr<snr_predictor> take_retired_predictor() noexcept;
    // In on_slot: what predicted in that slot.
    const predictor_choice& predictor_in_use() const noexcept;

    const receiver_state& state() const noexcept;
    void want_soft_bits(bool on) noexcept;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace wip::phy
