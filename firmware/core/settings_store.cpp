// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/settings_store.h"

#include <algorithm>
#include <array>

#include "core/crc32.h"

namespace wip::attenuator {

namespace {

using record = std::array<std::uint8_t, settings_store::record_bytes>;
constexpr std::array<std::uint8_t, 4> magic{'O', 'W', 'A', '1'};  // version 1 has these fields
constexpr std::size_t number_at = 4, fields_at = 8, crc_at = settings_store::record_bytes - 4;

std::uint32_t get32(const record& r, std::size_t at) {
    std::uint32_t v = 0;
    for (unsigned k = 0; k < 4; ++k) v |= static_cast<std::uint32_t>(r[at + k]) << 8 * k;
    return v;
}
void put32(record& r, std::size_t at, std::uint32_t v) {
    for (unsigned k = 0; k < 4; ++k) r[at + k] = static_cast<std::uint8_t>(v >> 8 * k);
}

record write_record(std::uint32_t number, const settings& s) {
    record r{};
    std::ranges::copy(magic, r.begin());
    put32(r, number_at, number);
    std::size_t at = fields_at;
    const auto put = [&](auto v) { r[at++] = static_cast<std::uint8_t>(v); };
    put(s.series);
    for (const quarter_db level : s.levels) put(level.value);
    put(s.switch_position);
    put(s.trigger_out);
    put(s.on_underflow);
    put(s.on_silence);
    put(s.silence_ticks & 0xff);
    put(s.silence_ticks >> 8);
    put32(r, crc_at, crc32({r.data(), crc_at}));
    return r;
}

// The settings of a record; nothing if it is no record, or has invalid values.
std::optional<settings> read_record(const record& r) {
    if (!std::equal(magic.begin(), magic.end(), r.begin()) ||
        get32(r, crc_at) != crc32({r.data(), crc_at}))
        return std::nullopt;
    settings s;
    std::size_t at = fields_at;
    const auto get = [&] { return r[at++]; };
    s.series = get();
    for (quarter_db& level : s.levels) level.value = get();
    s.switch_position = get();
    const int trigger_out = get(), underflow = get(), silence = get();
    s.silence_ticks = get();
    s.silence_ticks = static_cast<std::uint16_t>(s.silence_ticks | get() << 8);
    const chip_layout layout(s.series);
    for (int c = 0; c < nof_chips; ++c)
        if (s.levels[static_cast<unsigned>(c)] > layout.max_of({c})) return std::nullopt;
    if (s.series > 0x0f || s.switch_position < 1 || s.switch_position > nof_switch_positions ||
        trigger_out > 1 || underflow > 1 || silence > 1 || s.silence_ticks == 0)
        return std::nullopt;
    s.trigger_out = trigger_out != 0;
    s.on_underflow = static_cast<fallback>(underflow);
    s.on_silence = static_cast<fallback>(silence);
    return s;
}

}  // namespace

std::optional<settings_store::found> settings_store::newest() {
    std::optional<found> best;
    record r{};
    for (int sector = 0; sector < flash_port::nof_sectors; ++sector)
        for (std::uint32_t at = 0; at + record_bytes <= flash_.sector_bytes(); at += record_bytes) {
            if (!flash_.read(sector, at, r)) break;
            const auto s = read_record(r);
            if (!s) continue;
            const std::uint32_t number = get32(r, number_at);
            if (!best || number > best->number) best = found{number, {sector, at}, *s};
        }
    return best;
}

std::optional<settings> settings_store::load() {
    const auto best = newest();
    return best ? std::optional(best->value) : std::nullopt;
}

bool settings_store::is_erased(place p) {
    record r{};
    return flash_.read(p.sector, p.offset, r) &&
           std::ranges::all_of(r, [](std::uint8_t b) { return b == 0xff; });
}

bool settings_store::put(place p, std::span<const std::uint8_t, record_bytes> bytes) {
    record back{};
    return flash_.write(p.sector, p.offset, bytes) && flash_.read(p.sector, p.offset, back) &&
           std::ranges::equal(bytes, back);
}

bool settings_store::save(const settings& s) {
    const auto last = newest();
    if (last && last->value == s) return true;
    const record r = write_record(last ? last->number + 1 : 1, s);
    // The record goes behind the newest one; places that a loss of power has left half written are
    // skipped.
    const int sector = last ? last->at.sector : 0;
    for (std::uint32_t at = last ? last->at.offset + record_bytes : 0;
         at + record_bytes <= flash_.sector_bytes(); at += record_bytes)
        if (is_erased({sector, at})) return put({sector, at}, r);
    // The other sector may be erased, since the newest record is in this one; without any record,
    // this one may.
    const int next = last ? 1 - sector : sector;
    return flash_.erase(next) && put({next, 0}, r);
}

bool settings_store::check() {
    record r{};
    for (int sector = 0; sector < flash_port::nof_sectors; ++sector)
        if (!flash_.read(sector, 0, r)) return false;
    return true;
}

}  // namespace wip::attenuator
