// SPDX-License-Identifier: GPL-3.0-or-later
// Everything that comes off the air as bits: grants, uplink grants and feedback forms, IP headers,
// flow fields, nibble strings. Bits that can be read can be written again, and are the same ones
// then; bits that were written can be read.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "fuzz_input.h"
#include "types/common_grant.h"
#include "types/grant.h"
#include "types/short_uplink_grant.h"
#include "wire/feedback_bits.h"
#include "wire/flow_fields.h"
#include "wire/ip_header.h"
#include "wire/nibbles.h"

using namespace wip;
using namespace wip::fuzz;

namespace {

using control_bytes = std::array<std::uint8_t, grant_bytes>;

control_bytes draw_bytes(fuzz_input& in) {
    control_bytes bits{};
    const auto given = in.bytes(bits.size());
    std::copy(given.begin(), given.end(), bits.begin());
    return bits;
}

void check_grant(const control_bytes& bits, link_profile profile) {
    const auto grant = unpack_grant(bits, profile);
    if (!grant) return;
    for (const auto& b : grant->bins) {
        expect(b.bits_per_symbol <= max_bits_per_symbol, "a modulation that does not exist");
        if (b.bits_per_symbol == 0 || b.retransmission || b.boundary >= no_boundary) continue;
        expect(b.boundary < frame_payload_nibbles(profile, b.bits_per_symbol),
               "a boundary beyond its frame");
    }
    expect(grant->window_edge <= max_window, "a window that is too long");
    control_bytes again{};
    expect(pack_grant(*grant, profile, again), "a grant that was read does not pack");
    expect(again == bits, "a grant packs into other bits than it was read from");
    expect(grant_bits(*grant, profile) <= grant_bytes * 8, "a grant that is longer than its room");
}

// The last bits of a grant, as the uplink grant that they may be.
void check_uplink_grant(const control_bytes& bits) {
    control_bytes alone = bits;
    const auto up = take_uplink_grant(alone);
    if (!up) return;
    expect(up->bins <= nof_bins && up->retransmissions <= up->bins, "more units than bins");
    const slot_grant units = units_of(*up);
    int used = 0;
    for (const auto& b : units.bins) {
        used += b.bits_per_symbol != 0;
        if (!b.retransmission) continue;
        const auto back = static_cast<wire_sn>(up->first_new_sn - b.sn);
        expect(back >= 1 && back <= up->window_edge, "a retransmission outside of the window");
    }
    expect(used == up->bins, "another number of bins than granted");
    expect(put_uplink_grant(*up, alone), "an uplink grant that was read cannot be put");
    expect(alone == bits, "an uplink grant is put as other bits than it was read from");
}

// A short uplink grant at the end of the bits, after any reference.
void check_short_uplink_grant(const control_bytes& bits, fuzz_input& in) {
    control_bytes alone = bits;
    const auto command = take_uplink_command(alone);
    if (!command) {
        expect((bits.back() & 3) != 3 || alone == bits, "a refused short grant changes the bits");
        return;
    }
    const auto* brief = std::get_if<short_uplink_grant>(&*command);
    if (brief == nullptr) return;
    expect(bits_of(*brief) <= most_short_bits, "a short grant that is longer than a full one");
    expect(put_uplink_command(*brief, alone), "a short grant that was read cannot be put");
    expect(alone == bits, "a short grant is put as other bits than it was read from");
    const uplink_reference reference{
        in.u16(),
        {static_cast<std::uint8_t>(in.u8() % (nof_bins + 1)),
         static_cast<std::uint8_t>(1 + in.u8() % max_bits_per_symbol)}};
    const auto known_edge = static_cast<wire_sn>(reference.first_new_sn - in.u16() % 600);
    const auto whole = expanded(*brief, reference, known_edge);
    if (!whole) return;
    expect(whole->bins <= nof_bins && whole->retransmissions <= whole->bins,
           "more units than bins");
    for (std::size_t i = 0; i < whole->retransmissions; ++i) {
        const auto back = static_cast<wire_sn>(whole->first_new_sn - whole->sn[i]);
        expect(back >= 1 && back <= whole->window_edge, "a retransmission outside of the window");
    }
    expect(shortened(*whole, reference, brief->age, brief->window_edge.has_value()) == *brief,
           "a grant is shortened into another one than it was expanded from");
}

void check_common_grant(const control_bytes& bits, link_profile profile) {
    const auto grant = unpack_common_grant(bits, profile);
    if (!grant) return;
    common_grant_sections sections{.frame_number = grant->frame_number, .of = {}};
    std::uint32_t used = 0;
    for (std::size_t t = 0; t < most_terminals; ++t) {
        const slot_grant& g = grant->of[t];
        expect(g.frame_number == grant->frame_number, "a section of another frame");
        for (std::size_t b = 0; b < nof_bins; ++b) {
            if (g.bins[b].bits_per_symbol == 0) continue;
            expect(g.addressed, "a bin of a terminal that is not served");
            expect(g.bins[b].bits_per_symbol <= max_bits_per_symbol, "no such modulation");
            expect((used >> b & 1U) == 0, "a bin with two owners");
            used |= 1U << b;
        }
        if (g.addressed) sections.of[t] = &g;
    }
    control_bytes again{};
    expect(pack_common_grant(sections, profile, again), "a common grant that does not pack again");
    expect(again == bits, "a common grant packs into other bits than it was read from");
}

// A grant with fields of any value that they may have.
void check_built_grant(fuzz_input& in, link_profile profile) {
    slot_grant g;
    g.frame_number = in.u16() % frame_number_modulus;
    g.first_new_sn = in.u16();
    g.window_edge = in.u16() & 0x7fff;
    wire_sn sn = g.first_new_sn;
    bool has_boundary = true;
    for (auto& b : g.bins) {
        const int kind = in.u8();
        b.bits_per_symbol = static_cast<std::uint8_t>(kind % 9);
        if (b.bits_per_symbol == 0) continue;
        b.retransmission = kind > 128;
        if (!b.retransmission) {
            b.sn = sn++;
            has_boundary = has_boundary && kind < 120;
            if (has_boundary)
                b.boundary = kind % 2 == 0
                                 ? no_boundary
                                 : static_cast<std::uint8_t>(
                                       in.u8() % frame_payload_nibbles(profile, b.bits_per_symbol));
            continue;
        }
        b.sn = static_cast<wire_sn>(g.first_new_sn - 1 - in.u8());
        b.whole = kind < 200;
        if (!b.whole) b.offset = in.u8() % 216;
        b.last = b.whole || in.flag();
    }
    control_bytes bits{};
    if (!pack_grant(g, profile, bits)) return;
    const auto read = unpack_grant(bits, profile);
    expect(read.has_value(), "a grant that was packed cannot be read");
    expect(*read == g, "a grant is read as another one");
}

void check_feedback(const control_bytes& bits) {
    static_assert(feedback_bytes == grant_bytes);
    const auto feedback = unpack_feedback(bits);
    if (!feedback) return;
    expect(feedback->ack >> nof_bins == 0, "ACK of a bin that does not exist");
    expect(feedback->grant_ok || feedback->ack == 0, "ACK without a grant");
    control_bytes again{};
    pack_feedback(*feedback, again);
    expect(again == bits, "feedback packs into other bits than it was read from");
}

// A form with fields of any value that they may have.
void check_built_feedback(fuzz_input& in) {
    feedback_content f;
    f.frame_number = in.u8() % feedback_frame_modulus;
    f.slot_in_frame = in.u8() % slots_per_frame;
    f.grant_ok = in.flag();
    if (f.grant_ok) f.ack = in.u32() >> 7;
    for (float& snr : f.predicted_snr_db) snr = snr_of_code(in.u8() & 127).single();
    f.prediction_nmse = nmse_of_code(in.u8() & 127);
    f.buffer = in.u8() & 63;
    control_bytes bits{};
    pack_feedback(f, bits);
    check_feedback(bits);
    const auto read = unpack_feedback(bits);
    expect(read.has_value(), "a form that was packed cannot be read");
    expect(read->frame_number == f.frame_number && read->slot_in_frame == f.slot_in_frame &&
               read->grant_ok == f.grant_ok && read->ack == f.ack && read->buffer == f.buffer &&
               read->predicted_snr_db == f.predicted_snr_db,
           "a form is read as another one");
    bits[in.u8() % bits.size()] ^= static_cast<std::uint8_t>(1U << in.u8() % 8);
    expect(!unpack_feedback(bits), "a form with a wrong bit is believed");
}

void check_codes(float value) {
    const std::uint8_t snr = snr_code(db(value)), nmse = nmse_code(value);
    expect(snr < 128 && nmse < 128, "a code of more than 7 bits");
    expect(snr_code(snr_of_code(snr)) == snr, "an SNR code is not that of its value");
    expect(nmse_code(nmse_of_code(nmse)) == nmse, "an NMSE code is not that of its value");
    if (value > -12 && value < 51)
        expect(std::abs(snr_of_code(snr).value - static_cast<double>(value)) <= 0.2501,
               "an SNR is off by more than a step");
}

void check_headers(std::span<const std::uint8_t> packet) {
    if (const auto h = packet.empty() ? std::nullopt : [&]() -> std::optional<ip_header> {
            const std::size_t needed = ip_header_bytes(packet[0]);
            expect(needed <= max_ip_header_bytes, "a header longer than any");
            if (needed == 0 || packet.size() < needed) return std::nullopt;
            return read_ip_header(packet);
        }()) {
        expect(h->version == 4 || h->version == 6, "an IP version that does not exist");
        expect(h->header_bytes >= 20 && h->header_bytes <= max_ip_header_bytes, "header length");
        expect(h->total_bytes >= h->header_bytes && h->total_bytes <= max_packet_bytes,
               "packet length");
        if (h->version == 4)
            expect((internet_sum(packet.first(h->header_bytes)) & 0xffff) == 0xffff ||
                       internet_sum(packet.first(h->header_bytes)) % 0xffff == 0,
                   "a header whose checksum is wrong");
    }
    const flow_fields whole = read_flow_fields(packet);
    // The copy is exactly as long as the packet, so that a read beyond its end is found.
    const std::vector<std::uint8_t> copy(packet.begin(), packet.end());
    expect(read_flow_fields(copy) == whole, "flow fields from beyond the packet");
}

void check_nibbles(fuzz_input& in) {
    const std::size_t to = in.u8() % 64, from = in.u8() % 64, n = in.u8();
    std::vector<std::uint8_t> source((from + n + 1) / 2), target((to + n + 1) / 2 + 1, 0xa5);
    const auto given = in.bytes(source.size());
    std::copy(given.begin(), given.end(), source.begin());
    auto expected = target;
    for (std::size_t i = 0; i < n; ++i)
        set_nibble(expected.data(), to + i, get_nibble(source.data(), from + i));
    copy_nibbles(target.data(), to, source.data(), from, n);
    expect(target == expected, "nibbles are copied to other places");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz_input in(data, size);
    const int kind = in.u8();
    const auto profile = (kind & 1) != 0 ? link_profile::wipemu : link_profile::radio;
    switch (kind >> 1 & 3) {
        case 0: {
            const control_bytes bits = draw_bytes(in);
            check_grant(bits, profile);
            check_common_grant(bits, profile);
            check_feedback(bits);
            check_uplink_grant(bits);
            check_short_uplink_grant(bits, in);
            break;
        }
        case 1:
            check_built_grant(in, profile);
            check_built_feedback(in);
            break;
        case 2:
            check_codes(std::bit_cast<float>(in.u32()));
            check_nibbles(in);
            break;
        default: {
            const std::string packet = in.rest();
            check_headers({reinterpret_cast<const std::uint8_t*>(packet.data()), packet.size()});
        }
    }
    return 0;
}
