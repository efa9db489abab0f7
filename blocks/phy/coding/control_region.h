// SPDX-License-Identifier: GPL-3.0-or-later
// The control content of a slot in its 200 control symbols: 30 bytes, on the downlink the grant, on
// the uplink the feedback form of a terminal (wire/feedback_bits.h), which has no padding.
//
//   30 bytes + CRC-16 -> 256 bits -> convolutional code -> 400 bits c -> interleaver ->
//   scrambling -> 4-QAM
//
// Interleaver: coded bit j goes to place 153 j mod 400; place q is bit q mod 2 of control symbol
// q / 2, symbols counted bin by bin in the order of control_elements. 153 is 400 times the golden
// section: neighbours of the code are 9.6 bins apart, no two of any 12 coded bits in a row share a
// bin. Scrambling: bit q is inverted when bit q of the sequence of (sender, slot in frame) is 1.
//
// The content of a grant, 123 bits or more, is followed by zeros, and so is its code. The number of
// zeros is not transmitted but estimated before decoding: with soft bits of mean magnitude 1, the
// sum of (soft - 1/2) from a step to the end of the grant grows while there are zeros. The zeros
// are pinned, except for a guard next to the place where the sum stops growing. They are not pinned
// where hardly any soft bit among them is wrong: there is nothing to gain there, and one grant in
// 10^4 looks as if it ended before it does. With pinned zeros a wrong grant is no longer detected
// by wrong bits among them, so such a grant has to continue from the last one that was accepted,
// and without a last one nothing is pinned (tests/bench/grant_errors.cpp: how many are lost, and
// how many that were not sent accepted).
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <optional>
#include <span>

#include "phy/coding/convolutional_code.h"
#include "phy/grid/resource_map.h"
#include "phy/grid/sender.h"
#include "types/grant.h"

namespace wip::phy {

using cf32 = std::complex<float>;
using control_symbols = std::array<cf32, nof_control_symbols>;

// The values that the grant of a slot must have if it continues from the last one.
struct grant_due {
    std::uint16_t frame_number = 0;
    wire_sn first_new_sn = 0;  // the last grant's; this one may be up to `most_new` more
    std::uint16_t most_new = 0;
    std::uint16_t window_edge = 0;  // that of the last grant

    bool fits(std::span<const std::uint8_t, grant_bytes> grant) const noexcept;
};

// The content of a control region: the grant of a cell with one terminal (types/grant.h) or with
// several (types/common_grant.h), each scrambled in its own way, or on the uplink a feedback form,
// which can be anything that its CRC lets through.
enum class control_kind : std::uint8_t { grant, common_grant, feedback };

class control_region {
public:
    explicit control_region(sender from, control_kind kind = control_kind::grant) : kind_(kind) {
        set_sender(from);
    }
    void set_sender(sender from) noexcept;

    // Encodes a grant into symbols of unit energy, in the order of the interleaver's places.
    void encode(std::span<const std::uint8_t, grant_bytes> grant, int slot_in_frame,
                control_symbols& out) const noexcept;

    // soft: two values a symbol (real, imaginary), positive where the coordinate is positive,
    // weighted by reliability. `ordered`: the same in the order of the code, without scrambling,
    // positive = 0.
    void order(std::span<const float, code_sent_bits> soft, int slot_in_frame,
               std::span<float, code_sent_bits> ordered) const noexcept;

    // Decodes the grant. Returns whether the CRC holds; then `sent_symbols` has the symbols that
    // were sent, which serve the channel estimate as known symbols. If `due` is known it helps to
    // decode; the grant may contradict it nevertheless.
    bool decode(std::span<const float, code_sent_bits> ordered, int slot_in_frame,
                const std::optional<grant_due>& due, std::span<std::uint8_t, grant_bytes> grant,
                control_symbols& sent_symbols) noexcept;

    // The bits of the grant that are zero, as far as they are to be pinned.
    static bit_run padding(std::span<const float, code_sent_bits> ordered) noexcept;

private:
    // Checks the code's bits; the last 16 are the CRC over the others.
    bool check(std::span<const float, code_sent_bits> ordered, bit_run zeros,
               std::span<std::uint8_t, code_information_bits> bits,
               std::span<std::uint8_t, grant_bytes> grant) noexcept;
    void map(std::span<const std::uint8_t, code_information_bits> bits, int slot_in_frame,
             control_symbols& out) const noexcept;
    control_kind kind_;
    std::array<std::array<std::uint8_t, code_sent_bits>, slots_per_frame> scrambling_;
    // +1 or -1 for each bit, which undo the scrambling of soft bits.
    std::array<std::array<float, code_sent_bits>, slots_per_frame> signs_;
    convolutional_code code_;
};

}  // namespace wip::phy
