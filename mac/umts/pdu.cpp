// SPDX-License-Identifier: GPL-3.0-or-later
#include "umts/pdu.h"

#include <algorithm>
#include <cstring>

namespace wip::umts {
namespace {

// Special values of a length indicator of 15 bits (9.2.2.8); one of 7 bits has their lower 7 bits.
constexpr std::uint16_t li_exact = 0, li_one_short = 0x7ffb, li_begins = 0x7ffc, li_status = 0x7ffe,
                        li_padding = 0x7fff;

std::uint16_t as_wide(std::uint16_t value, int bytes) {
    return bytes == 1 && value >= 0x7c ? static_cast<std::uint16_t>(value | 0x7f80) : value;
}

}  // namespace

bool read_pdu(data_mode mode, std::span<const std::uint8_t> pdu, pdu_content& out) noexcept {
    const bool am = mode == data_mode::acknowledged;
    const int size = static_cast<int>(pdu.size()), li_size = li_bytes(mode, size);
    out.segments.clear();
    out.status_offset = 0;
    out.begins = false;
    if (size <= header_bytes(mode) || size > 0xffff) return false;
    const int he = am ? pdu[1] & 3 : pdu[0] & 1;
    if (am && ((pdu[0] & 0x80) == 0 || he == 3)) return false;
    out.sn = static_cast<std::uint16_t>(am ? (pdu[0] & 0x7f) << 5 | pdu[1] >> 3 : pdu[0] >> 1);
    out.poll = am && (pdu[1] & 4) != 0;
    // The LIs, then the data that they divide.
    int at = header_bytes(mode);
    bool more = he == 1, padded = false, status = false;
    int end = 0;  // end of the data up to the last LI
    for (bool first = true; more; first = false) {
        if (at + li_size > size || padded || status) return false;
        const unsigned field = li_size == 1
                                   ? pdu[static_cast<std::size_t>(at)]
                                   : static_cast<unsigned>(pdu[static_cast<std::size_t>(at)] << 8 |
                                                           pdu[static_cast<std::size_t>(at) + 1]);
        const std::uint16_t li = as_wide(static_cast<std::uint16_t>(field >> 1), li_size);
        more = (field & 1) != 0;
        if (li == li_padding || (am && li == li_status)) {
            padded = li == li_padding;
            status = !padded;
        } else if (li == li_exact || (li_size == 2 && li == li_one_short)) {
            if (!first) return false;
            out.segments.push_back({0, 0, true, li == li_one_short});
        } else if (!am && li == li_begins) {
            if (!first) return false;
            out.begins = true;
        } else if (li >= 0x7ffa) {
            return false;  // reserved
        } else if (li <= end) {
            return false;
        } else {
            out.segments.push_back({0, static_cast<std::uint16_t>(li - end), true, false});
            end = li;
        }
        at += li_size;
    }
    for (auto& s : out.segments) {
        s.offset = static_cast<std::uint16_t>(at);
        at += s.bytes;
        if (at > size) return false;
    }
    if (status) {
        if (at >= size) return false;
        out.status_offset = static_cast<std::size_t>(at);
        return true;
    }
    // A single octet after the SDUs of a PDU with LIs of 15 bits is unused (9.2.2.8).
    const bool stray = li_size == 2 && !out.segments.empty() && size - at == 1;
    if (!padded && at < size && !stray)
        out.segments.push_back({static_cast<std::uint16_t>(at),
                                static_cast<std::uint16_t>(size - at), he == 2, false});
    return !out.segments.empty() || padded;
}

void pdu_builder::begin(std::uint16_t sn, carry carried, bool first_octet_begins) noexcept {
    sn_ = sn;
    lis_.clear();
    room_octets_ = pdu_bytes_ - header_bytes(mode_);
    data_octets_ = ends_ = 0;
    he_end_ = false;
    carried_ = carry::nothing;
    if (carried != carry::nothing) {
        add_li(carried == carry::exact ? li_exact : li_one_short);
        ++ends_;
    } else if (first_octet_begins && mode_ == data_mode::unacknowledged) {
        add_li(li_begins);
    }
}

void pdu_builder::add_li(std::uint16_t value) noexcept {
    lis_.push_back(value);
    room_octets_ -= li_bytes(mode_, pdu_bytes_);
}

pdu_builder::taken pdu_builder::take(int left) noexcept {
    const int li_size = li_bytes(mode_, pdu_bytes_);
    if (left > room_octets_) {
        const int n = room_octets_;
        data_octets_ += n;
        room_octets_ = 0;
        return {n, false, 0};
    }
    data_octets_ += left;
    if (room_octets_ - left < li_size) {
        // There is no room for the LI: the next PDU has it, or HE replaces it.
        he_end_ = special_he_ && room_octets_ == left && lis_.empty();
        if (!he_end_) carried_ = room_octets_ == left ? carry::exact : carry::one_short;
        room_octets_ = 0;
        return {left, he_end_, he_end_ ? 1 : 0};
    }
    room_octets_ -= left;
    add_li(static_cast<std::uint16_t>(data_octets_));
    // A last octet after an SDU with an LI of 15 bits stays unused (9.2.2.8).
    if (li_size == 2 && room_octets_ == 1) room_octets_ = 0;
    return {left, true, ++ends_};
}

padding pdu_builder::finish(std::span<const std::uint8_t> data,
                            std::span<std::uint8_t> pdu) noexcept {
    const int li_size = li_bytes(mode_, pdu_bytes_);
    int pads =
        pdu_bytes_ - header_bytes(mode_) - static_cast<int>(lis_.size()) * li_size - data_octets_;
    // If fewer octets than an LI are left, no padding LI is needed: the LI of the SDU that ends,
    // here or in the next PDU, shows that they are unused.
    const bool padded = pads >= li_size;
    if (padded) {
        lis_.push_back(li_padding);
        pads -= li_size;
    }
    const unsigned extension = lis_.empty() ? (he_end_ ? 2U : 0U) : 1U;
    std::size_t at = 0;
    if (mode_ == data_mode::acknowledged) {
        pdu[at++] = static_cast<std::uint8_t>(0x80U | sn_ >> 5);
        pdu[at++] = static_cast<std::uint8_t>((sn_ & 31U) << 3 | extension);
    } else {
        pdu[at++] = static_cast<std::uint8_t>(sn_ << 1U | extension);
    }
    padding rest;
    for (std::size_t i = 0; i < lis_.size(); ++i) {
        if (padded && i + 1 == lis_.size()) rest.li = at;
        const unsigned e = i + 1 < lis_.size() ? 1 : 0;
        if (li_size == 1) {
            pdu[at++] = static_cast<std::uint8_t>((lis_[i] & 0x7fU) << 1 | e);
        } else {
            pdu[at++] = static_cast<std::uint8_t>(lis_[i] >> 7);
            pdu[at++] = static_cast<std::uint8_t>((lis_[i] & 0x7fU) << 1 | e);
        }
    }
    if (!data.empty()) std::memcpy(&pdu[at], data.data(), data.size());
    std::ranges::fill(pdu.subspan(at + data.size()), std::uint8_t{0});
    if (padded) rest.from = at + data.size();
    return rest;
}

void set_poll(std::span<std::uint8_t> amd_pdu, bool poll) noexcept {
    amd_pdu[1] = static_cast<std::uint8_t>(poll ? amd_pdu[1] | 4 : amd_pdu[1] & ~4);
}

void put_status(std::span<std::uint8_t> amd_pdu, const padding& rest,
                std::span<const std::uint8_t> status) noexcept {
    // The last LI: 111...111 becomes 111...110.
    const int li_size = li_bytes(data_mode::acknowledged, static_cast<int>(amd_pdu.size()));
    amd_pdu[rest.li + static_cast<std::size_t>(li_size) - 1] = 0x7e << 1;
    std::memcpy(&amd_pdu[rest.from], status.data(), status.size());
}

}  // namespace wip::umts
