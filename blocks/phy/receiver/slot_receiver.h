// SPDX-License-Identifier: GPL-3.0-or-later
// The whole receiver: samples in, slot reports out. Acquires cell, slot, sample timing and CFO from
// cyclic prefix and pilots, tracks them, estimates the channel, decodes the control region,
// detects, combines and checks the frames, measures and predicts the SNR of every bin.
//
//   searching -> confirming -> synchronised -> locked
//
// The first three are those of slot_synchroniser.h; synchronised, everything but the frame number
// is known, and SNR and predictions are reported. Locked: the frame number is known from a grant
// with a good CRC. Where the pilots are missing, both are held for longest_hold slots, in which
// nothing is decoded. Every loss ends in searching.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "phy/prediction/gain_predictor.h"
#include "phy/receiver/received_slot.h"
#include "types/common_grant.h"
#include "types/db.h"
#include "types/frame.h"

namespace wip::phy {

class snr_predictor;

struct slot_receiver_config {
    int cell = 0;  // 0..63: no other; any_cell (-1): the strongest, whichever it is
    link_profile profile =
        link_profile::radio;  // the only one: wipemu has no frame check on the air
    // Its number, 0 to 7, in a cell with several terminals (types/common_grant.h); it receives the
    // frames that are its own.
    int terminal = only_terminal;
    bool combining = true;
    int horizon_slots = 3;                     // prediction is for slot air + horizon
    std::string predictor{default_predictor};  // one that make_predictor knows
    gain_predictor_maker make_predictor = make_gain_predictor;
    bool correct_input = true;  // direct_conversion.h
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

    // Sets the part of a sample, -0.5 to 0.5, by which the samples of the following calls are later
    // than their integer times: after an overflow the sampling times have moved by any fraction.
    void set_grid(double later) noexcept;

    // The radio's gain from that sample on (gain_control.h): what is measured and learned stays
    // valid over the step. Levels are reported at the radio's output. Not `exact`: the radio may
    // make the step at another time, which is detected (gain_watch.h); the slot it falls into is
    // not measured.
    void set_gain(sample from, db gain, bool exact = true) noexcept;

    // The following are called between two calls of process(). Lock, timing and channel estimate do
    // not depend on either.
    void set_combining(bool on) noexcept;
    // predictor_succession.h: the new one learns while the other is in use, then replaces it. Both
    // hand back what is no longer needed, for its owner to free elsewhere than in the slot path.
    std::unique_ptr<snr_predictor> succeed_predictor(std::unique_ptr<snr_predictor> next) noexcept;
    std::unique_ptr<snr_predictor> take_retired_predictor() noexcept;
    // The predictor of the present slot; for use in on_slot.
    const predictor_choice& predictor_in_use() const noexcept;

    const receiver_state& state() const noexcept;
    void want_soft_bits(bool on) noexcept;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace wip::phy
