// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/combining_store.h"

#include <bit>
#include <stdexcept>

namespace wip::phy {

combining_store::combining_store(int capacity) {
    if (capacity < 4 || !std::has_single_bit(static_cast<unsigned>(capacity)))
        throw std::invalid_argument("capacity: a power of two from 4 up");
    slots_.resize(static_cast<std::size_t>(capacity));
    copies_.resize(static_cast<std::size_t>(capacity));
}

std::size_t combining_store::set_of(unit_key key) const noexcept {
    const std::size_t sets = slots_.size() / ways;
    return (key.sn + 37U * key.offset + 11U * key.bits_per_symbol) % sets * ways;
}

void combining_store::free(std::size_t i) noexcept {
    if (slots_[i].used) --size_;
    slots_[i].used = false;
}

const soft_copy* combining_store::find(unit_key key) const noexcept {
    const auto first = set_of(key);
    for (std::size_t i = first; i < first + ways; ++i)
        if (slots_[i].used && slots_[i].key == key) return &copies_[i];
    return nullptr;
}

void combining_store::put(unit_key key, const soft_copy& copy) noexcept {
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
    // A free place was kept as soon as it was met; the key itself always wins.
    for (std::size_t i = first; i < first + ways; ++i)
        if (slots_[i].used && slots_[i].key == key) at = i;
    if (!slots_[at].used) ++size_;
    slots_[at] = {key, true, ++clock_};
    copies_[at] = copy;
}

void combining_store::erase(unit_key key) noexcept {
    const auto first = set_of(key);
    for (std::size_t i = first; i < first + ways; ++i)
        if (slots_[i].used && slots_[i].key == key) free(i);
}

void combining_store::forget_before(wire_sn edge) noexcept {
    for (std::size_t n = 0; n < 64; ++n) {
        auto& s = slots_[sweep_];
        if (s.used && static_cast<std::int16_t>(static_cast<wire_sn>(s.key.sn - edge)) < 0)
            free(sweep_);
        sweep_ = (sweep_ + 1) % slots_.size();
    }
}

void combining_store::clear() noexcept {
    for (std::size_t i = 0; i < slots_.size(); ++i) free(i);
}

}  // namespace wip::phy
