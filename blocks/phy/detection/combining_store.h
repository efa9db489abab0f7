// SPDX-License-Identifier: GPL-3.0-or-later
// Copies of units that failed, for chase combining: the retransmission carries the same symbols,
// and the sum of all copies, each symbol weighted by the SNR it was received with (maximum ratio),
// is detected again.
//
// Key: (SN, offset, bits per symbol). Bounded: sets of four, the oldest of a set gives way. An
// entry is erased when its unit is received, or when the sender's window edge has passed its SN:
// SNs are used again after 65536 frames, and must not be combined with an old copy.
//
// The memory of the copy that was erased last is the first to be used again: a link has some tens
// of copies at a time, which then stay in the cache; the whole store does not.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "phy/math/aligned.h"
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

// The user decides which data of a copy is kept: soft symbols here, sums in the bin-level channel.
template <class Copy>
class basic_combining_store {
public:
    explicit basic_combining_store(int capacity = 2048) {
        if (capacity < 4 || !std::has_single_bit(static_cast<unsigned>(capacity)))
            throw std::invalid_argument("capacity is not valid; valid: a power of two, 4 or more");
        slots_.resize(static_cast<std::size_t>(capacity));
        copies_ = std::make_unique_for_overwrite<Copy[]>(static_cast<std::size_t>(capacity));
        for (std::uint32_t i = static_cast<std::uint32_t>(capacity); i > 0; --i)
            free_copies_.push_back(i - 1);
    }

    // The stored copy, or nullptr.
    Copy* find(unit_key key) noexcept;
    // The stored copy of the unit, which becomes the newest of all; a new one if there was none.
    Copy& place_of(unit_key key) noexcept;
    void put(unit_key key, const Copy& copy) noexcept { place_of(key) = copy; }
    void erase(unit_key key) noexcept;
    // Erases copies with SNs before `edge` (by up to half of the SN space). Each call checks 64
    // entries only.
    void forget_before(wire_sn edge) noexcept;
    void clear() noexcept;
    int size() const noexcept { return size_; }
    int capacity() const noexcept { return static_cast<int>(slots_.size()); }

private:
    struct entry {
        unit_key key;
        bool used = false;
        std::uint32_t age = 0;
        std::uint32_t copy = 0;  // where in copies_, if used
    };
    static constexpr std::size_t ways = 4;
    std::size_t set_of(unit_key key) const noexcept;
    void free(std::size_t i) noexcept;

    std::vector<entry> slots_;
    std::unique_ptr<Copy[]> copies_;          // not cleared: most are never touched
    std::vector<std::uint32_t> free_copies_;  // copies that are not in use
    std::uint32_t clock_ = 0;
    std::size_t sweep_ = 0;
    int size_ = 0;
};

using combining_store = basic_combining_store<soft_copy>;

template <class Copy>
std::size_t basic_combining_store<Copy>::set_of(unit_key key) const noexcept {
    const std::size_t sets = slots_.size() / ways;
    return (key.sn + 37U * key.offset + 11U * key.bits_per_symbol) % sets * ways;
}

template <class Copy>
void basic_combining_store<Copy>::free(std::size_t i) noexcept {
    if (!slots_[i].used) return;
    --size_;
    slots_[i].used = false;
    // Does not allocate: the vector has had this size before.
    free_copies_.push_back(slots_[i].copy);
}

template <class Copy>
Copy* basic_combining_store<Copy>::find(unit_key key) noexcept {
    const auto first = set_of(key);
    for (std::size_t i = first; i < first + ways; ++i)
        if (slots_[i].used && slots_[i].key == key) return &copies_[slots_[i].copy];
    return nullptr;
}

template <class Copy>
Copy& basic_combining_store<Copy>::place_of(unit_key key) noexcept {
    const auto first = set_of(key);
    std::size_t at = first;
    for (std::size_t i = first; i < first + ways; ++i) {
        if (slots_[i].used && slots_[i].key == key) {
            at = i;
            break;
        }
        if (!slots_[at].used) continue;
        if (!slots_[i].used || clock_ - slots_[i].age > clock_ - slots_[at].age) at = i;
    }
    if (!slots_[at].used) {
        ++size_;
        slots_[at].copy = free_copies_.back();
        free_copies_.pop_back();
    }
    slots_[at] = {key, true, ++clock_, slots_[at].copy};
    return copies_[slots_[at].copy];
}

template <class Copy>
void basic_combining_store<Copy>::erase(unit_key key) noexcept {
    const auto first = set_of(key);
    for (std::size_t i = first; i < first + ways; ++i)
        if (slots_[i].used && slots_[i].key == key) free(i);
}

template <class Copy>
void basic_combining_store<Copy>::forget_before(wire_sn edge) noexcept {
    for (std::size_t n = 0; n < 64; ++n) {
        auto& s = slots_[sweep_];
        if (s.used && static_cast<std::int16_t>(static_cast<wire_sn>(s.key.sn - edge)) < 0)
            free(sweep_);
        sweep_ = (sweep_ + 1) & (slots_.size() - 1);  // a power of two
    }
}

template <class Copy>
void basic_combining_store<Copy>::clear() noexcept {
    for (std::size_t i = 0; i < slots_.size(); ++i) free(i);
}

}  // namespace wip::phy
