// SPDX-License-Identifier: GPL-3.0-or-later
// The frame number from several slots, where no grant of them decodes.
//
// A grant changes from slot to slot, but it begins with the frame number, which only counts; and
// the code begins in the zero state. So of each slot there is a log likelihood of all 4096 numbers,
//     A(number) + B(its last six bits),
// A: the 18 soft bits of the first 12 steps against the code of the number; B: log likelihood of
// the next steps for the state in which the number leaves the encoder, summed over all
// continuations (backward recursion of the sum-product algorithm; after `ahead` steps all states
// are taken as equally likely). They are added up, each moved to the number that the frame count
// had at the start. At 0 dB the code's free distance is worth 12 a slot in the mean, so some slots
// in which each grant fails tell the number.
//
// Found: the best number's log likelihood is more than `margin` above the second best. If the soft
// bits are correct log likelihood ratios, each other number is found by mistake at most once in
// e^20; they come from pilots that sequential_test has confirmed. A count that is wrong all the
// same is corrected by three grants (slot_receiver). tests/unit/phy/test_frame_number_search.cpp;
// what it is worth: docs/results/curves.md, cold start.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "phy/coding/convolutional_code.h"
#include "types/grant.h"

namespace wip::phy {

class frame_number_search {
public:
    static constexpr float margin = 20;

    frame_number_search();
    void reset() noexcept;

    // ordered: soft bits of a slot's control region (control_region::order); times `scale` they are
    // log likelihood ratios. frames: how many frames the slot's frame comes after that of the first
    // slot. Returns the number of the slot's frame, once it is found.
    std::optional<std::uint16_t> add(std::span<const float, code_sent_bits> ordered, float scale,
                                     std::int64_t frames) noexcept;

private:
    static constexpr int number_bits = 12;
    static constexpr int ahead = 24;  // steps; a code of memory 6 forgets in five times that
    static_assert(1 << number_bits == frame_number_modulus);

    void look_ahead(std::span<const float, code_sent_bits> ordered, float scale) noexcept;

    std::vector<float> sum_, now_, next_;
    std::vector<float> behind_, before_;  // B of the states after and before a step
};

}  // namespace wip::phy
