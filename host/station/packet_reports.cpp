// SPDX-License-Identifier: GPL-3.0-or-later
#include "station/packet_reports.h"

#include "types/frame.h"
#include "wire/ip_header.h"

namespace wip::host {
namespace {

constexpr std::uint32_t largest_sn = 65535;  // 16 bits
constexpr std::uint32_t most_nibbles = 216;  // half bytes of the largest frame
constexpr int largest_errno = 4095;          // MAX_ERRNO of Linux

}  // namespace

void write_reports(const delivery_log& log, wire_sn decided_before, std::uint64_t watch,
                   openwip::uplink::PacketReports& out) {
    out.Clear();
    out.set_watch(watch);
    out.set_count(log.count());
    out.set_decided_before(decided_before);
    for (const packet_report& w : log.reports()) {
        auto& m = *out.add_report();
        m.set_sn(w.sn);
        m.set_nibble(w.nibble);
        m.set_end(static_cast<std::uint32_t>(w.end));
        m.set_bytes(w.bytes);
        m.set_complete(w.complete);
        m.set_last_frame(w.last_frame);
        m.set_error(w.error);
    }
}

const char* read_reports(const openwip::uplink::PacketReports& in, slot now,
                         std::vector<packet_report>& out) {
    out.clear();
    if (in.decided_before() > largest_sn) return "packet reports: SN out of range";
    for (const auto& m : in.report()) {
        if (m.sn() > largest_sn || m.last_frame() > largest_sn || m.nibble() >= most_nibbles)
            return "packet report: SN or nibble out of range";
        if (m.end() > static_cast<std::uint32_t>(packet_end::refused))
            return "packet report: unknown end";
        if (m.bytes() > max_packet_bytes) return "packet report: longer than any packet";
        if (m.complete() < 0 || m.complete() > now.value)
            return "packet report: complete in a slot to come";
        if (m.error() < 0 || m.error() > largest_errno) return "packet report: no errno";
        packet_report w;
        w.sn = static_cast<wire_sn>(m.sn());
        w.nibble = static_cast<std::uint8_t>(m.nibble());
        w.end = static_cast<packet_end>(m.end());
        w.bytes = m.bytes();
        w.complete = m.complete();
        w.last_frame = static_cast<wire_sn>(m.last_frame());
        w.error = m.error();
        out.push_back(w);
    }
    return nullptr;
}

}  // namespace wip::host
