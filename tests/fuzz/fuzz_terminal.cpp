// SPDX-License-Identifier: GPL-3.0-or-later
// The terminal's MAC hears what no base station says: grants that contradict each other, frames of
// any content, slots that jump. Each slot of the input is a grant built from it (what the control
// region cannot carry is left out, as the codec does) and payloads that are random bytes, IP
// packets, or pieces of one. What has to hold all the same:
//
//   - what was handed out is what the statistics say, and so are the words about it
//   - a packet handed out has an IP header that is right, and its length; damaged ones only with
//     leave, and no more of all of them than came in frames
//   - an ACK only for a bin that was granted, none without a grant
//   - every slot is counted once
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "fuzz_input.h"
#include "link/terminal_mac.h"
#include "traffic.h"
#include "wire/ip_header.h"

using namespace wip;
using namespace wip::fuzz;

namespace {

constexpr int most_slots = 200;

class terminal_world {
public:
    terminal_world(const link_config& config, fuzz_input& in)
        : in_(in),
          config_(config),
          mac_(config, [this](auto packet, bool damaged) { delivered(packet, damaged); }) {
        mac_.report_to(&log_);
    }

    void step() {
        draw_report();
        const slot_feedback feedback = mac_.on_slot(report_);
        check_feedback(feedback);
        check_sums();
        log_.clear();
    }

private:
    void draw_report() {
        const int kind = in_.u8();
        report_.air = report_.air + slot_count((kind & 1) != 0 ? in_.u16() : 1);
        report_.locked = (kind & 2) == 0;
        report_.grant_ok = report_.locked && (kind & 4) == 0;
        report_.combined = (kind & 8) != 0 ? in_.u32() & 0x1ffffff : 0;
        report_.outcome.fill(frame_outcome::unused);
        for (auto& p : report_.payload) p.clear();
        report_.grant = {};
        if (!report_.grant_ok) return;
        slot_grant& g = report_.grant;
        g.frame_number = frame_number_of(report_.air);
        next_sn_ = static_cast<wire_sn>(next_sn_ + ((kind & 16) != 0 ? in_.u16() : 0));
        g.first_new_sn = next_sn_;
        window_ = (kind & 32) != 0 ? in_.u16() & 0x7fff : window_;
        g.window_edge = static_cast<std::uint16_t>(window_);
        const int bins = in_.in(0, nof_bins);
        wire_sn sn = g.first_new_sn;
        for (int b = 0; b < bins; ++b) draw_bin(g.bins[static_cast<std::size_t>(b)], sn);
        if ((kind & 64) != 0) draw_runs(g);
        // Only grants that fit into 30 bytes reach a terminal.
        std::array<std::uint8_t, grant_bytes> bits{};
        const auto unpacked = pack_grant(g, config_.profile, bits)
                                  ? unpack_grant(bits, config_.profile)
                                  : std::nullopt;
        report_.grant_ok = unpacked.has_value();
        g = unpacked.value_or(slot_grant{});
        if (!unpacked) return;
        for (std::size_t b = 0; b < nof_bins; ++b)
            if (g.bins[b].bits_per_symbol != 0) draw_frame(b);
        if ((kind & 128) == 0)
            for (const auto& b : g.bins)
                if (b.bits_per_symbol != 0 && !b.retransmission) ++next_sn_;
        window_ = std::min(window_ + static_cast<wire_sn>(next_sn_ - g.first_new_sn), max_window);
    }

    void draw_bin(bin_grant& b, wire_sn& sn) {
        const int kind = in_.u8();
        b.bits_per_symbol = static_cast<std::uint8_t>(kind % 9);
        if (b.bits_per_symbol == 0) return;
        b.retransmission = kind > 180;
        if (!b.retransmission) {
            b.sn = sn++;
            b.boundary =
                kind < 60 ? unknown_boundary
                : kind < 100
                    ? no_boundary
                    : static_cast<std::uint8_t>(
                          in_.u8() % frame_payload_nibbles(config_.profile, b.bits_per_symbol));
            return;
        }
        b.sn = static_cast<wire_sn>(report_.grant.first_new_sn - in_.u8());
        b.whole = kind > 220;
        if (!b.whole) b.offset = in_.u8();
        b.last = b.whole || in_.flag();
    }

    void draw_runs(slot_grant& g) {
        wire_sn back = in_.u16() & 0xfff;
        for (std::size_t i = 0; i < g.runs.size() && back > 0; ++i) {
            boundary_run& r = g.runs[i];
            r.first = static_cast<wire_sn>(g.first_new_sn - back);
            r.frames = static_cast<std::uint16_t>(in_.in(1, back));
            back = static_cast<wire_sn>(back - r.frames);
            r.boundary = in_.flag() ? no_boundary : static_cast<std::uint8_t>(in_.u8() % 216);
            if (in_.flag()) return;
        }
    }

    void draw_frame(std::size_t b) {
        const int k = report_.grant.bins[b].bits_per_symbol;
        const auto size = static_cast<std::size_t>(frame_payload_bytes(config_.profile, k));
        const int kind = in_.u8();
        report_.outcome[b] = (kind & 3) == 0 ? frame_outcome::bad : frame_outcome::good;
        auto& payload = report_.payload[b];
        payload.assign(size, 0);
        if ((kind & 4) != 0) {
            const auto bytes = in_.bytes(std::min<std::size_t>(size, kind >> 3));
            std::copy(bytes.begin(), bytes.end(), payload.begin());
        } else {  // a stream of packets, cut anywhere
            if (stream_.size() < size) draw_packets(size);
            std::copy_n(stream_.begin(), size, payload.begin());
            if ((kind & 8) == 0)
                stream_.erase(stream_.begin(), stream_.begin() + static_cast<std::ptrdiff_t>(size));
        }
        if ((kind & 16) != 0 && !payload.empty()) payload[in_.u8() % size] ^= in_.u8();
        if ((kind & 32) != 0 && report_.outcome[b] == frame_outcome::bad) payload.clear();
        nibbles_in_ += 2 * payload.size();
    }

    void draw_packets(std::size_t least) {
        while (stream_.size() < least) {
            sim::packet_kind p;
            const int kind = in_.u8();
            p.version = (kind & 1) != 0 ? 6 : 4;
            p.bytes = 48 + kind;
            p.crafted = (kind & 2) != 0;
            const auto packet = sim::make_packet(++number_, p);
            stream_.insert(stream_.end(), packet.begin(), packet.end());
        }
    }

    void delivered(std::span<const std::uint8_t> packet, bool damaged) {
        ++handed_.packets;
        handed_.bytes += packet.size();
        if (damaged) {
            ++damaged_.packets;
            damaged_.bytes += packet.size();
            expect(config_.deliver_corrupt, "a damaged packet without leave");
        }
        const auto header =
            packet.empty()
                ? std::nullopt
                : read_ip_header(packet.first(std::min(packet.size(), max_ip_header_bytes)));
        expect(header.has_value(), "a packet without an IP header");
        expect(header->total_bytes == packet.size(), "a packet of another length than it says");
        expect(log_.reports().back().bytes == packet.size(), "the report is about another packet");
        expect(log_.reports().back().end == (damaged ? packet_end::damaged : packet_end::delivered),
               "the word says another end");
    }

    void check_feedback(const slot_feedback& f) const {
        expect(f.air == report_.air, "feedback for another slot");
        expect(f.grant_ok || f.ack == 0, "ACK without a grant");
        expect(report_.grant_ok || !f.grant_ok, "a grant that did not come");
        for (std::size_t b = 0; b < nof_bins; ++b)
            expect((f.ack >> b & 1U) == 0 || report_.grant.bins[b].bits_per_symbol != 0,
                   "ACK of a bin that was not granted");
        expect(f.ack >> nof_bins == 0, "ACK of a bin that does not exist");
    }

    void check_sums() {
        ++slots_;
        const terminal_statistics& s = mac_.statistics();
        expect(s.slots == slots_, "a slot is not counted once");
        expect(s.slots_unlocked + s.grants_failed <= s.slots, "more slots failed than there were");
        const auto same = [](const packets_bytes& a, const packets_bytes& b) {
            return a.packets == b.packets && a.bytes == b.bytes;
        };
        expect(same(s.delivered, handed_), "delivered is not what was handed out");
        expect(same(s.delivered_damaged, damaged_), "damaged is not what was handed out so");
        expect(2 * handed_.bytes <= nibbles_in_, "more was handed out than came");
        expect(log_.count() ==
                   handed_.packets + s.dropped_lost_frame.packets + s.dropped_start_over.packets,
               "a packet came to an end without a word");
    }

    fuzz_input& in_;
    link_config config_;
    delivery_log log_{4096};
    terminal_mac mac_;
    slot_report report_;
    wire_sn next_sn_ = 0;
    int window_ = 0;
    std::vector<std::uint8_t> stream_;
    std::uint32_t number_ = 0;
    packets_bytes handed_, damaged_;
    std::uint64_t nibbles_in_ = 0, slots_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz_input in(data, size);
    link_config config;
    const int choices = in.u8();
    config.profile = (choices & 1) != 0 ? link_profile::wipemu : link_profile::radio;
    config.in_order = (choices & 2) == 0;
    config.deliver_corrupt = (choices & 4) != 0;
    terminal_world w(config, in);
    for (int i = 0; i < most_slots && !in.empty(); ++i) w.step();
    return 0;
}
