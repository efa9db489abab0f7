// SPDX-License-Identifier: GPL-3.0-or-later
// voip: a voice-like stream over UDP with one-way delays. Both ends have one clock
// (CLOCK_MONOTONIC), so a delay is a difference. Packets keep to a grid of absolute times: a late
// one does not shift those after it.
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>

#include "flow/kernel_time.h"
#include "flow/kinds.h"

namespace wip::flow {
namespace {

constexpr std::size_t longest_packet = 1 << 16;  // bytes
constexpr std::int32_t voip_magic = 0x70696f76;  // "voip"

struct packet_header {  // header of a packet
    double sent = 0;
    std::int32_t number = 0;
    std::int32_t magic = voip_magic;
};

struct arrived_packet {
    ssize_t size;
    double at;
};

arrived_packet receive(int s, char* packet, bool kernel_times) {
    if (!kernel_times) {
        const ssize_t size = ::recv(s, packet, longest_packet, 0);
        return {size, now()};
    }
    iovec data = {packet, longest_packet};
    alignas(cmsghdr) char control[128];
    msghdr m = {};
    m.msg_iov = &data;
    m.msg_iovlen = 1;
    m.msg_control = control;
    m.msg_controllen = sizeof control;
    const ssize_t size = ::recvmsg(s, &m, 0);
    return {size, size < 0 ? now() : arrival_of(m)};
}

// Number and delay (us) of every packet, in the order of arrival.
void listen_voip(const job& j) {
    const flow& f = j.f;
    static char packet[longest_packet];
    const int s = j.with().listening(SOCK_DGRAM);
    const double until =
        f.start_s ? *f.start_s + f.seconds + drained_s : std::numeric_limits<double>::infinity();
    int received = 0, foreign = 0;
    long_list arrived(j.to, "arrived");
    if (f.kernel_times) stamp_arrivals(s);
    if (f.start_s)
        wake_at(until);
    else
        wake_when_asked_to_end();
    j.listening();
    for (;;) {
        packet_header p;
        const arrived_packet h = receive(s, packet, f.kernel_times);
        if (h.at >= until || (h.size < 0 && asked_to_end())) break;
        if (h.size < static_cast<ssize_t>(sizeof p)) {
            foreign += h.size >= 0 ? 1 : 0;
            continue;
        }
        std::memcpy(&p, packet, sizeof p);
        if (p.magic != voip_magic) {
            ++foreign;
            continue;
        }
        arrived.add({p.number, std::llrint(1e6 * (h.at - p.sent))});
        ++received;
    }
    arrived.finish();
    j.to.say({{"received", received}, {"foreign", foreign}});
}

void talk_voip(const job& j) {
    const flow& f = j.f;
    static char packet[longest_packet];
    const double start = j.start();
    const int s = ::socket(AF_INET, SOCK_DGRAM, 0), packets = f.packets();
    int not_sent = 0;
    double latest = 0;
    packet_header p;
    if (s < 0 || j.with().connect_to(s) != 0) give_up("socket");
    for (; p.number < packets; ++p.number) {
        const double at = start + p.number * f.interval_s;
        sleep_until(at);
        p.sent = now();
        latest = std::max(latest, p.sent - at);
        std::memcpy(packet, &p, sizeof p);
        if (::send(s, packet, f.bytes, 0) < 0) ++not_sent;
    }
    j.to.say({{"sent", packets - not_sent},
              {"not_sent", not_sent},
              {"worst_lateness_us", std::llrint(1e6 * latest)}});
}

constexpr end ends[] = {{"receiver", true, true, listen_voip}, {"sender", false, true, talk_voip}};
const kind voip("voip", ends);

}  // namespace
}  // namespace wip::flow
