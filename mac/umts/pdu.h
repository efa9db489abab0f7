// SPDX-License-Identifier: GPL-3.0-or-later
// The data PDUs of TS 25.322 (9.2.1): AMD (acknowledged) and UMD (unacknowledged).
//
//   AMD  D/C = 1, SN 12, P 1, HE 2 | LI, E ... | data | padding or a piggybacked STATUS PDU
//   UMD  SN 7, E 1                 | LI, E ... | data | padding
//
// A length indicator (LI) of 7 or 15 bits tells where an SDU ends: the number of octets from the
// end of the LIs to the end of the SDU (so each is larger than the previous one). Values that are
// no length have special meanings: 0: the PDU before was filled exactly by the end of an SDU; one
// octet short of that (15 bits only); the rest is a STATUS PDU; the rest is padding; the first
// octet begins an SDU (UMD). An AMD PDU whose HE is 2 ends with the end of an SDU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace wip::umts {

constexpr int sn_space = 4096;  // number of SNs of AMD PDUs
constexpr int um_sn_space = 128;
constexpr int longest_sdu = 65535;

// The numbers that Wireshark uses.
enum class rlc_mode : std::uint8_t { transparent = 0, unacknowledged = 1, acknowledged = 2 };

enum class data_mode : std::uint8_t { acknowledged, unacknowledged };

// Octets of an LI with its E bit, from the size of the PDU (9.2.2.8).
constexpr int li_bytes(data_mode mode, int pdu_bytes) {
    return pdu_bytes <= (mode == data_mode::acknowledged ? 126 : 125) ? 1 : 2;
}
constexpr int header_bytes(data_mode mode) { return mode == data_mode::acknowledged ? 2 : 1; }

// A piece of an SDU in a PDU. A piece of no octets that ends: the SDU had its last one in the PDU
// before, less its last octet if `trim`.
struct segment {
    std::uint16_t offset = 0, bytes = 0;
    bool ends = false, trim = false;
};

// The content of a data PDU. All segments but the last one end with the end of an SDU.
struct pdu_content {
    std::uint16_t sn = 0;
    bool poll = false;
    bool begins = false;  // UMD: the first octet is the first of an SDU
    std::vector<segment> segments;
    std::size_t status_offset = 0;  // offset of a piggybacked STATUS PDU; 0: none

    explicit pdu_content(int pdu_bytes = 0) {
        segments.reserve(static_cast<std::size_t>(pdu_bytes) + 2);
    }
    bool open() const { return !segments.empty() && !segments.back().ends; }
};

// Reads a data PDU. False: it is none, or its fields contradict each other. Allocates nothing once
// `out` was made for PDUs of this size.
bool read_pdu(data_mode mode, std::span<const std::uint8_t> pdu, pdu_content& out) noexcept;

// The place of the padding's LI in a PDU, and its first octet. li 0: there is no padding.
struct padding {
    std::size_t li = 0, from = 0;
    std::size_t room(std::size_t pdu_bytes) const { return li == 0 ? 0 : pdu_bytes - from; }
};

// Fills one data PDU. Octets come from the owner of the SDUs.
class pdu_builder {
public:
    // The end of an SDU for which a PDU has no LI, so that the next PDU has to have it: the PDU was
    // filled exactly, or to one octet short of that.
    enum class carry : std::uint8_t { nothing, exact, one_short };

    pdu_builder(data_mode mode, int pdu_bytes, bool special_he)
        : mode_(mode), pdu_bytes_(pdu_bytes), special_he_(special_he) {
        lis_.reserve(static_cast<std::size_t>(pdu_bytes) + 2);
    }

    void begin(std::uint16_t sn, carry carried, bool first_octet_begins) noexcept;
    // Room for data now.
    int room() const { return room_octets_; }
    // Takes octets of an SDU of which `left` are left. Returns how many of them fit, and whether
    // the SDU ends in this PDU. Call while room() > 0.
    struct taken {
        int bytes;
        bool ends;  // there is an LI (or HE) in this PDU for it
        int li;     // which one, from 1
    };
    taken take(int left) noexcept;
    // The end that the next PDU has to tell: argument of its begin().
    carry carried() const { return carried_; }
    bool full() const { return room_octets_ == 0; }
    // Writes header, LIs and padding; `data` are the octets taken, in order.
    padding finish(std::span<const std::uint8_t> data, std::span<std::uint8_t> pdu) noexcept;

private:
    void add_li(std::uint16_t value) noexcept;

    data_mode mode_;
    int pdu_bytes_;
    bool special_he_;
    std::uint16_t sn_ = 0;
    std::vector<std::uint16_t> lis_;
    int room_octets_ = 0, data_octets_ = 0, ends_ = 0;
    bool he_end_ = false;  // HE marks the end of the SDU
    carry carried_ = carry::nothing;
};

// Changes a data PDU that was built: sets its poll bit, or puts a STATUS PDU in the place of its
// padding, which has to have room for it.
void set_poll(std::span<std::uint8_t> amd_pdu, bool poll) noexcept;
void put_status(std::span<std::uint8_t> amd_pdu, const padding& rest,
                std::span<const std::uint8_t> status) noexcept;

}  // namespace wip::umts
