// SPDX-License-Identifier: GPL-3.0-or-later
// Copies of units that failed, for chase combining: the retransmission carries the same symbols,
// and the sum of all copies, each symbol weighted by the SNR it was received with (maximum ratio),
// is detected again.
//
// Key: (SN, offset, bits per symbol). Bounded: sets of four, the oldest of a set gives way. An
// entry goes when its unit is received, or when the sender has given its SN up (window edge): SNs
// are used again after 65536 frames, an old copy must not meet them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "phy/aligned.h"
#include "types/frame.h"

namespace wip::phy {

struct unit_key {
    wire_sn sn = 0;
    std::uint8_t offset = 0;
    std::uint8_t bits_per_symbol = 0;
    bool operator==(const unit_key&) const = default;
};

// 108 symbols and their weights, padded.
struct soft_copy {
    alignas(vector_alignment) std::array<float, 112> re;
    std::array<float, 112> im;
    std::array<float, 112> weight;
};

class combining_store {
public:
    explicit combining_store(int capacity = 2048);

    // The stored copy, or nullptr.
    const soft_copy* find(unit_key key) const noexcept;
    void put(unit_key key, const soft_copy& copy) noexcept;
    void erase(unit_key key) noexcept;
    // SNs before `edge` (half of the SN space) are given up. A few sets are visited at each call.
    void forget_before(wire_sn edge) noexcept;
    void clear() noexcept;
    int size() const noexcept { return size_; }
    int capacity() const noexcept { return static_cast<int>(slots_.size()); }

private:
    struct place {
        unit_key key;
        bool used = false;
        std::uint32_t age = 0;
    };
    static constexpr std::size_t ways = 4;
    std::size_t set_of(unit_key key) const noexcept;
    void free(std::size_t i) noexcept;

    std::vector<place> slots_;
    aligned_vector<soft_copy> copies_;
    std::uint32_t clock_ = 0;
    std::size_t sweep_ = 0;
    int size_ = 0;
};

}  // namespace wip::phy
