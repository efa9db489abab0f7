// SPDX-License-Identifier: GPL-3.0-or-later
// Gain of the radio's receiver, so that the signal fills the converter and does not clip.
//
// Measured as it comes from the radio, block by block of 5120 samples: mean power and clipping. The
// level is kept within a band around the target, not at it: every change of gain disturbs a little
// (the quantisation noise changes), and fading must not be followed. Level = mean power over 150
// blocks (100 ms); over 6 while searching and when that is more than 20 dB below the target.
// Outside the band the gain moves by the distance to the target, in whole steps; a block that clips
// or is more than 12 dB above the target moves it at once. Target -20 dBFS: an OFDM signal exceeds
// its rms by 11 dB once in 10^6 samples and a fade upwards takes the rest; 12 bits then have their
// quantisation noise 54 dB below the signal.
//
// Never inside a slot: a change is commanded for the first sample of a slot (any block, while
// searching) that lies `lead` slots ahead, time enough for the command to reach the radio. Until it
// has taken effect nothing is measured. The receiver of the samples gets sample and gain
// (slot_receiver::set_gain) and brings them to the same scale before and after.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "phy/ofdm/ofdm.h"
#include "types/db.h"
#include "types/quantity.h"

namespace wip::phy {

// Samples of which a part is at full scale: of a 12-bit converter 1 - 1 / 2048.
std::uint64_t nof_clipped(std::span<const cf32> in) noexcept;

struct gain_control_config {
    double gain_db = 0;     // at the beginning, within the range
    double lowest_db = 0;   // range of the radio
    double highest_db = 0;  // the same as lowest_db: the gain stays
    double target_dbfs = -20;
    double band_db = 6;  // either way
    double step_db = 1;
    int lead_slots = 15;  // 10 ms
};

struct gain_change {
    sample at;  // the first sample with it
    db gain;
};

class gain_control {
public:
    // Throws std::invalid_argument.
    explicit gain_control(const gain_control_config& config);

    // Samples in order, `first` is the sample time of in[0]. `synchronised`: slots are known to
    // begin at slot_start modulo 5120. Returns the change of gain to be commanded, if there is one.
    std::optional<gain_change> process(sample first, std::span<const cf32> in, bool synchronised,
                                       double slot_start) noexcept;

    // How many samples from `first` on until it may decide: a caller that hands over pieces which
    // end there, with the state of the receiver at that point, gets decisions that do not depend on
    // how the samples were cut. Without control: the largest number there is.
    std::int64_t until_decision(sample first) const noexcept;

    db gain() const noexcept { return db(gain_); }  // last commanded
    std::uint64_t changes() const noexcept { return changes_; }

private:
    static constexpr std::int64_t long_ago = INT64_MIN / 4;

    double wanted(bool synchronised) noexcept;
    void forget() noexcept;

    gain_control_config config_;
    double gain_;
    std::int64_t next_ = long_ago;     // sample after the last one
    std::int64_t settled_ = long_ago;  // samples before it do not count
    int filled_ = 0;                   // samples of the present block
    double energy_ = 0;
    int clipped_ = 0;
    double sum_ = 0;  // sum of the mean powers of `blocks_` blocks
    int blocks_ = 0;
    double level_ = -200;
    bool too_strong_ = false;
    std::uint64_t changes_ = 0;
};

}  // namespace wip::phy
