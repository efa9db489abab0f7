// SPDX-License-Identifier: GPL-3.0-or-later
#include "observer/tcp_flow.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstdio>
#include <cstring>
#include <limits>

namespace wip::observer {
namespace {

// The names that `ss` uses; the index is the kernel's state.
constexpr const char* state_names[] = {
    "UNKNOWN", "ESTAB",      "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2",  "TIME-WAIT",
    "UNCONN",  "CLOSE-WAIT", "LAST-ACK", "LISTEN",   "CLOSING",    "NEW-SYN-RECV"};
constexpr std::uint32_t ssthresh_not_set = 0x7fffffff;  // TCP_INFINITE_SSTHRESH

std::string endpoint(std::uint8_t family, const __be32* address, __be16 port) {
    in6_addr a{};
    std::memcpy(&a, address, sizeof a);
    char text[INET6_ADDRSTRLEN] = "?";
    char whole[INET6_ADDRSTRLEN + 10];
    // An IPv6 socket that talks IPv4 shows the address that is on the packets.
    const bool mapped = family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&a) != 0;
    if (mapped)
        ::inet_ntop(AF_INET, a.s6_addr + 12, text, sizeof text);
    else
        ::inet_ntop(family, &a, text, sizeof text);
    const bool brackets = family == AF_INET6 && !mapped;
    std::snprintf(whole, sizeof whole, brackets ? "[%s]:%u" : "%s:%u", text, unsigned{ntohs(port)});
    return whole;
}

double ms(std::uint32_t us) { return us * 1e-3; }

}  // namespace

void fill(const tcp_connection& c, const std::string& station, openwip::telemetry::TcpFlow& flow) {
    const tcp_info& i = c.info;
    flow.set_station(station);
    flow.set_local(endpoint(c.family, c.id.idiag_src, c.id.idiag_sport));
    flow.set_remote(endpoint(c.family, c.id.idiag_dst, c.id.idiag_dport));
    flow.set_state(state_names[c.state < std::size(state_names) ? c.state : 0]);
    flow.set_congestion_control(c.congestion_control.data());
    flow.set_cwnd_segments(i.tcpi_snd_cwnd);
    flow.set_ssthresh_segments(i.tcpi_snd_ssthresh >= ssthresh_not_set ? 0 : i.tcpi_snd_ssthresh);
    flow.set_mss_bytes(i.tcpi_snd_mss);
    flow.set_rtt_ms(ms(i.tcpi_rtt));
    flow.set_rtt_variation_ms(ms(i.tcpi_rttvar));
    flow.set_min_rtt_ms(
        i.tcpi_min_rtt == std::numeric_limits<std::uint32_t>::max() ? 0 : ms(i.tcpi_min_rtt));
    flow.set_rto_ms(ms(i.tcpi_rto));
    flow.set_retransmitted_segments(i.tcpi_total_retrans);
    flow.set_unacknowledged_segments(i.tcpi_unacked);
    flow.set_lost_segments(i.tcpi_lost);
    flow.set_bytes_acknowledged(i.tcpi_bytes_acked);
    flow.set_bytes_received(i.tcpi_bytes_received);
    flow.set_delivery_rate_bps(i.tcpi_delivery_rate * 8);
    flow.set_reordering(i.tcpi_reordering);
    flow.set_backoff(i.tcpi_backoff);
}

}  // namespace wip::observer
