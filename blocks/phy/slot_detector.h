// SPDX-License-Identifier: GPL-3.0-or-later
// Frames of a slot from its resource elements: one-tap equaliser without bias (y conj(h) / |h|^2),
// nearest point, descrambling, CRC; when the CRC fails, once more after chase combining with the
// stored copies.
#pragma once

#include <array>
#include <complex>
#include <vector>

#include "phy/channel_estimator.h"
#include "phy/combining_store.h"
#include "phy/constellation.h"
#include "phy/frame_coder.h"
#include "phy/slot_receiver.h"
#include "types/grant.h"

namespace wip::phy {

class slot_detector {
public:
    slot_detector(int cell, bool combining);

    void want_soft_bits(bool on) noexcept { soft_ = on; }
    // Detects every bin of the grant. The spans in `out` stay valid until the next call.
    void detect(const std::array<plane, symbols_per_slot>& y, const channel_estimate& channel,
                float noise, const slot_grant& grant,
                std::array<bin_result, nof_bins>& out) noexcept;
    void clear() noexcept { store_.clear(); }
    int stored_copies() const noexcept { return store_.size(); }

private:
    void equalise(const std::array<plane, symbols_per_slot>& y,
                  const channel_estimate& channel) noexcept;
    void detect_bin(std::size_t bin, const bin_grant& grant, float noise, bin_result& out) noexcept;
    void load_weights(std::size_t bin, float noise, soft_copy& copy) const noexcept;
    bool decode(std::size_t bin, const soft_copy& symbols, int k, std::uint64_t key) noexcept;

    int cell_;
    bool combining_;
    bool soft_ = false;
    std::vector<constellation> constellations_;
    combining_store store_;
    // Offsets of a bin's payload elements from the first float of an array of planes (real part;
    // the imaginary part is plane_size later).
    std::array<std::array<std::uint16_t, payload_symbols_per_bin>, nof_bins> places_{};
    std::array<plane, symbols_per_slot> equalised_;
    std::array<plane, symbols_per_slot> power_;  // |h|^2 in re
    soft_copy present_{}, combined_{};
    std::array<frame_array, nof_bins> frames_{};
    std::array<std::array<cf32, label_capacity>, nof_bins> symbols_{};
    std::vector<float> llr_;
};

}  // namespace wip::phy
