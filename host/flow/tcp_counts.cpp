// SPDX-License-Identifier: GPL-3.0-or-later
#include "flow/tcp_counts.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

#include "flow/sockets.h"
#include "flow/tell.h"

namespace wip::flow {
namespace {

constexpr std::array<const char*, 8> marked = {"TCPTimeouts",   "TCPSpuriousRTOs", "TCPLossUndo",
                                               "TCPFullUndo",   "TCPDSACKUndo",    "TCPDSACKRecv",
                                               "TCPLossProbes", "TCPFastRetrans"};

// Reads the kernel's TCP counters in this namespace; a name that the kernel does not have keeps its
// value.
void kernel_counts(std::span<const char* const> wanted, std::span<unsigned long long> counts) {
    static char text[1 << 15];
    // Two lines of the same words: names, values.
    std::FILE* f = std::fopen("/proc/self/net/netstat", "r");
    const std::size_t size = f != nullptr ? std::fread(text, 1, sizeof text - 1, f) : 0;
    if (f != nullptr) std::fclose(f);
    text[size] = 0;
    char *names = ::strtok(text, "\n"), *values = ::strtok(nullptr, "\n");
    char *in_names = nullptr, *in_values = nullptr;
    if (names == nullptr || values == nullptr) return;
    for (char *name = ::strtok_r(names, " ", &in_names), *v = ::strtok_r(values, " ", &in_values);
         name != nullptr && v != nullptr;
         name = ::strtok_r(nullptr, " ", &in_names), v = ::strtok_r(nullptr, " ", &in_values))
        for (std::size_t c = 0; c < wanted.size(); ++c)
            if (std::strcmp(name, wanted[c]) == 0) counts[c] = std::strtoull(v, nullptr, 10);
}

}  // namespace

tcp_info info_of(int s) {
    tcp_info i = {};
    socklen_t size = sizeof i;
    ::getsockopt(s, IPPROTO_TCP, TCP_INFO, &i, &size);
    return i;
}

void round_trips::sample(int s) {
    const tcp_info i = info_of(s);
    const double ms = i.tcpi_rtt * 1e-3;
    const double offered =
        static_cast<double>(i.tcpi_snd_wnd) / (i.tcpi_snd_mss > 0 ? i.tcpi_snd_mss : 1);
    const double window = std::min<double>(i.tcpi_snd_cwnd, offered);
    if (i.tcpi_total_retrans > 0 && first_again_ == 0) first_again_ = now();
    window_ += window;
    squares_ += window * window;
    widest_ = std::max(widest_, window);
    sum_ += ms;
    longest_ = std::max(longest_, ms);
    ++n_;
}

sent_bytes sent_bytes::with(int s) const {
    if (s < 0) return *this;
    const tcp_info i = info_of(s);
    return {acked + i.tcpi_bytes_acked, sent + i.tcpi_bytes_sent, again + i.tcpi_bytes_retrans};
}

mark mark::of(int s, const sent_bytes& before) {
    mark m;
    m.at_ = now();
    m.bytes_ = before.with(s);
    kernel_counts(marked, m.counts_);
    return m;
}

nlohmann::json mark::since(int s, int side, const round_trips& trips,
                           const sent_bytes& before) const {
    const mark m = of(s, before);
    nlohmann::json found{{"side", side},
                         {"seconds", rounded(m.at_ - at_, 9)},
                         {"bytes_acked", m.bytes_.acked - bytes_.acked},
                         {"bytes_sent", m.bytes_.sent - bytes_.sent},
                         {"bytes_retransmitted", m.bytes_.again - bytes_.again},
                         {"rtt_ms", rounded(trips.mean_ms(), 3)},
                         {"window_most", rounded(trips.widest(), 5)}};
    for (std::size_t c = 0; c < marked.size(); ++c) found[marked[c]] = m.counts_[c] - counts_[c];
    return found;
}

recoveries recoveries_now() {
    static constexpr std::array<const char*, 7> names = {
        "TCPTimeouts",    "TCPRenoRecovery", "TCPSackRecovery", "TCPFullUndo",
        "TCPPartialUndo", "TCPDSACKUndo",    "TCPLossUndo"};
    std::array<unsigned long long, names.size()> c{};
    kernel_counts(names, c);
    return {c[0], c[1] + c[2], c[3] + c[4] + c[5] + c[6]};
}

}  // namespace wip::flow
