// SPDX-License-Identifier: GPL-3.0-or-later
// Tags that the fine-grained blocks hang on the items of a slot: numbers or bool by name.
#pragma once

#include <gnuradio/block.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gr::wip {

// Value of the item's tag `key`; null without one.
inline pmt::pmt_t tag_value(const std::vector<tag_t>& tags, std::uint64_t item, const char* key) {
    for (const auto& tag : tags)
        if (tag.offset == item && pmt::is_symbol(tag.key) && pmt::symbol_to_string(tag.key) == key)
            return tag.value;
    return {};
}

// A tag that is no number counts as absent.
inline double tag_number(const std::vector<tag_t>& tags, std::uint64_t item, const char* key,
                         double otherwise) {
    const auto value = tag_value(tags, item, key);
    const bool number = value && (pmt::is_real(value) || pmt::is_integer(value));
    return number ? pmt::to_double(value) : otherwise;
}

inline bool tag_flag(const std::vector<tag_t>& tags, std::uint64_t item, const char* key,
                     bool otherwise) {
    const auto value = tag_value(tags, item, key);
    return value && pmt::is_bool(value) ? pmt::to_bool(value) : otherwise;
}

// `count` floats, or none.
inline std::vector<float> tag_floats(const std::vector<tag_t>& tags, std::uint64_t item,
                                     const char* key, std::size_t count) {
    const auto value = tag_value(tags, item, key);
    if (!value || !pmt::is_f32vector(value) || pmt::length(value) != count) return {};
    return pmt::f32vector_elements(value);
}

inline std::optional<std::int64_t> tag_slot(const std::vector<tag_t>& tags, std::uint64_t item) {
    for (const auto& tag : tags)
        if (tag.offset == item && pmt::is_symbol(tag.key) &&
            pmt::symbol_to_string(tag.key) == "slot" && pmt::is_uint64(tag.value))
            return static_cast<std::int64_t>(pmt::to_uint64(tag.value) & INT64_MAX);
    return std::nullopt;
}

// The slot numbers of the items of a stream: the tagged ones, and between tags the next ones.
class slot_count_on {
public:
    explicit slot_count_on(std::int64_t first) : next_(first) {}
    // True when the number is not the one that was expected.
    bool take(const std::optional<std::int64_t>& tagged) {
        const bool jump = tagged && *tagged != next_;
        now_ = tagged.value_or(next_);
        next_ = now_ + 1;
        return jump;
    }
    std::int64_t now() const { return now_; }

private:
    std::int64_t next_, now_ = 0;
};

}  // namespace gr::wip
