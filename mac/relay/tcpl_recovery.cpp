// SPDX-License-Identifier: GPL-3.0-or-later
#include "relay/tcpl_recovery.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "types/require.h"
#include "types/setting_limits.h"
#include "wire/ip_header.h"
#include "wire/tcp_options.h"

namespace wip::tcpl {
namespace {

using namespace wip::tcp;

// Largest shift of RFC 7323.
constexpr int most_shift = 14;

void write16(std::span<std::uint8_t> b, std::size_t at, std::uint16_t v) {
    b[at] = static_cast<std::uint8_t>(v >> 8);
    b[at + 1] = static_cast<std::uint8_t>(v);
}
void write32(std::span<std::uint8_t> b, std::size_t at, std::uint32_t v) {
    write16(b, at, static_cast<std::uint16_t>(v >> 16));
    write16(b, at + 2, static_cast<std::uint16_t>(v));
}

// The sum over pseudo-header and segment; 0xffff when the checksum in it is right.
std::uint32_t segment_sum(bytes packet, std::size_t ip_bytes) {
    const bytes segment = packet.subspan(ip_bytes);
    const std::uint32_t sum = internet_sum(packet.subspan(12, 8));
    return internet_sum(segment, sum + protocol + static_cast<std::uint32_t>(segment.size()));
}

bool only_timestamps(bytes options) {
    return for_each_option(options, [](std::uint8_t kind, bytes option) {
        return kind == option_timestamps && option.size() == 10;
    });
}

std::optional<int> window_shift(bytes options) {
    std::optional<int> shift;
    for_each_option(options, [&](std::uint8_t kind, bytes option) {
        if (kind == option_scale && option.size() == 3)
            shift = std::min<int>(option[2], most_shift);
        return true;
    });
    return shift;
}

// Whether two option fields have the same kinds and lengths: all bytes but the timestamps
// themselves are compared.
bool same_layout(bytes a, bytes b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] != b[i]) return false;
        if (a[i] == option_timestamps && i + 10 <= a.size()) {
            if (a[i + 1] != b[i + 1]) return false;
            i += 9;
        }
    }
    return true;
}

}  // namespace

// A TCP segment in an IPv4 packet whose IP header is intact.
struct tcpl_recovery::segment_view {
    bytes packet;
    std::size_t ip_bytes = 0;
    bytes tcp;  // header and data
    std::uint32_t source = 0, destination = 0;

    static std::optional<segment_view> of(bytes packet) {
        const auto h = read_ip_header(packet);
        if (!h || h->version != 4 || h->total_bytes != packet.size()) return std::nullopt;
        if (packet[9] != protocol || (read16(packet, 6) & 0x3fff) != 0) return std::nullopt;
        if (packet.size() < h->header_bytes + least_header) return std::nullopt;
        segment_view s;
        s.packet = packet;
        s.ip_bytes = h->header_bytes;
        s.tcp = packet.subspan(h->header_bytes);
        s.source = read32(packet, 12);
        s.destination = read32(packet, 16);
        return s;
    }
    std::uint16_t source_port() const { return read16(tcp, 0); }
    std::uint16_t destination_port() const { return read16(tcp, 2); }
    std::uint32_t sequence() const { return read32(tcp, 4); }
    std::size_t header_bytes() const { return std::size_t{4} * (tcp[12] >> 4); }
    std::uint8_t flags() const { return tcp[13]; }
    // Whether the header of a segment with a right checksum is well formed.
    bool well_formed() const {
        return header_bytes() >= least_header && header_bytes() <= tcp.size();
    }
    bytes options() const { return tcp.subspan(least_header, header_bytes() - least_header); }
};

void recovery_config::check() const {
    check_range(most_port_errors, setting::relay_port_errors);
    check_range("relay most_flows", most_flows, 1, 65536);
}

tcpl_recovery::tcpl_recovery(const recovery_config& config) : config_(config) { config_.check(); }

bool tcpl_recovery::takes_part(std::uint16_t local_port) const {
    return config_.local_ports.empty() ||
           std::ranges::find(config_.local_ports, local_port) != config_.local_ports.end();
}

tcpl_recovery::flow& tcpl_recovery::open(const flow_key& key) {
    if (flows_.size() >= static_cast<std::size_t>(config_.most_flows) && !flows_.contains(key))
        flows_.erase(std::ranges::min_element(flows_, {},
                                              [](const auto& entry) { return entry.second.used; }));
    flow& f = flows_[key];
    f.used = ++clock_;
    return f;
}

void tcpl_recovery::on_outgoing(std::span<const std::uint8_t> packet) {
    const auto s = segment_view::of(packet);
    if (!s || !s->well_formed()) return;
    const flow_key key{s->source, s->destination, s->source_port(), s->destination_port()};
    if (!takes_part(key.local_port)) return;
    if ((s->flags() & rst) != 0) {
        flows_.erase(key);
        return;
    }
    if ((s->flags() & syn) != 0) {
        // A new connection; of a passive one the peer's SYN has been seen already.
        if ((s->flags() & ack) == 0) flows_.erase(key);
        flow& f = open(key);
        const auto shift = window_shift(s->options());
        f.host_scales = shift.has_value();
        f.shift = shift.value_or(0);
    }
    if ((s->flags() & ack) == 0) return;
    flow& f = open(key);
    f.acknowledges = true;
    f.expected = read32(s->tcp, 8);
    const bool scaled = (s->flags() & syn) == 0 && f.host_scales && f.peer_scales;
    f.window = std::uint32_t{read16(s->tcp, 14)} << (scaled ? f.shift : 0);
}

verdict tcpl_recovery::on_incoming(std::span<std::uint8_t> packet) {
    const verdict v = evaluate(packet);
    ++counts_[static_cast<std::size_t>(v)];
    return v;
}

verdict tcpl_recovery::evaluate(std::span<std::uint8_t> packet) {
    const auto s = segment_view::of(packet);
    if (!s) return verdict::other;
    if (segment_sum(packet, s->ip_bytes) != 0xffff) return recover(packet, *s);
    if (s->well_formed())
        learn(*s, {s->destination, s->source, s->destination_port(), s->source_port()});
    return verdict::intact;
}

void tcpl_recovery::learn(const segment_view& s, const flow_key& key) {
    if (!takes_part(key.local_port)) return;
    if ((s.flags() & rst) != 0) {
        flows_.erase(key);
        return;
    }
    if ((s.flags() & syn) != 0) {
        if ((s.flags() & ack) == 0) flows_.erase(key);
        open(key).peer_scales = window_shift(s.options()).has_value();
        return;
    }
    const auto it = flows_.find(key);
    if (it == flows_.end()) return;
    flow& f = it->second;
    f.used = ++clock_;
    f.has_received = true;
    f.header_bytes = static_cast<std::uint8_t>(s.header_bytes());
    const bytes options = s.options();
    std::ranges::copy(options, f.options.begin());
    f.plain_options = only_timestamps(options);
    f.acknowledgement = read32(s.tcp, 8);
    f.peer_window = read16(s.tcp, 14);
    const auto data = static_cast<std::uint32_t>(s.tcp.size() - s.header_bytes());
    f.next = s.sequence() + data;
    f.segment = std::max(f.segment, data);
}

bool tcpl_recovery::fits(const flow& f, std::uint32_t sequence) const {
    if (!f.acknowledges) return false;
    const std::uint32_t ahead = sequence - f.expected;
    if (ahead == 0) return true;
    if (ahead >= f.window) return false;
    if (f.has_received && sequence == f.next) return true;
    return f.segment > 0 && ahead % f.segment == 0;
}

tcpl_recovery::flow* tcpl_recovery::find_near(const segment_view& s, flow_key& key) {
    const flow_key came = key;
    flow* found = nullptr;
    for (auto& [k, f] : flows_) {
        if (k.local != came.local || k.remote != came.remote || !fits(f, s.sequence())) continue;
        const int errors = std::popcount(static_cast<unsigned>(k.local_port ^ came.local_port)) +
                           std::popcount(static_cast<unsigned>(k.remote_port ^ came.remote_port));
        if (errors > config_.most_port_errors) continue;
        if (found != nullptr) return nullptr;  // more than one
        found = &f;
        key = k;
    }
    return found;
}

verdict tcpl_recovery::recover(std::span<std::uint8_t> packet, const segment_view& s) {
    flow_key key{s.destination, s.source, s.destination_port(), s.source_port()};
    const auto it = flows_.find(key);
    flow* f = it != flows_.end() ? &it->second : nullptr;
    if (f == nullptr && config_.most_port_errors > 0) f = find_near(s, key);
    if (f == nullptr || !f->has_received) return verdict::no_flow;
    if (s.tcp.size() <= f->header_bytes) return verdict::no_data;
    const bytes options(f->options.data(), f->header_bytes - least_header);
    if (!f->plain_options) return verdict::header;
    if (s.header_bytes() != f->header_bytes &&
        !same_layout(options, s.tcp.subspan(least_header, options.size())))
        return verdict::header;
    if (!fits(*f, s.sequence())) return verdict::sequence;

    const auto tcp = packet.subspan(s.ip_bytes);
    std::array<std::uint8_t, 60> before;
    std::copy_n(tcp.begin(), f->header_bytes, before.begin());
    write16(tcp, 0, key.remote_port);
    write16(tcp, 2, key.local_port);
    write32(tcp, 8, f->acknowledgement);
    tcp[12] = static_cast<std::uint8_t>(f->header_bytes / 4 << 4);
    tcp[13] = static_cast<std::uint8_t>(ack | (tcp[13] & psh));
    write16(tcp, 14, f->peer_window);
    write16(tcp, 18, 0);
    std::ranges::copy(options, tcp.begin() + least_header);
    // Counts segments in which a field that is constant for the connection had bit errors.
    const auto is_unchanged = [&](std::size_t i) { return before[i] == tcp[i]; };
    if (!is_unchanged(0) || !is_unchanged(1) || !is_unchanged(2) || !is_unchanged(3) ||
        !is_unchanged(12) || !is_unchanged(13) || !is_unchanged(18) || !is_unchanged(19))
        ++restored_;
    write16(tcp, 16, 0);
    const auto sum = static_cast<std::uint16_t>(~segment_sum(packet, s.ip_bytes));
    write16(tcp, 16, sum);

    f->used = ++clock_;
    f->next = s.sequence() + static_cast<std::uint32_t>(tcp.size() - f->header_bytes);
    return verdict::recovered;
}

}  // namespace wip::tcpl
