// SPDX-License-Identifier: GPL-3.0-or-later
// rlc_capture MODE WORLD PDU_BYTES FILE [WORLDS]: an acknowledged link with losses (am), or an
// unacknowledged one without (um), or as many of them as WORLDS, each with its own U-RNTI; what its
// receiver got as a capture into FILE, and the SDUs that it put together, in their order, in
// hexadecimal on standard output. For the test against tshark (test_umts_tshark.py).
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "rlc_world.h"
#include "umts/rlc_capture.h"
#include "umts/um_entity.h"

using namespace wip;
using namespace wip::umts;

namespace {

void say(std::span<const std::uint8_t> sdu) {
    for (const auto b : sdu) std::printf("%02x", static_cast<unsigned>(b));
    std::printf("\n");
}

struct capture {
    rlc_channel channel;
    std::vector<std::uint8_t> file, framed;
    void take(std::span<const std::uint8_t> pdu, std::int64_t time_ns) {
        frame_pdu(channel, pdu, framed);
        append_pcap_packet(time_ns, framed, file);
    }
};

std::vector<std::uint8_t> draw_sdu(splitmix64& r) {
    std::vector<std::uint8_t> sdu(20 + r.next() % 500);
    for (auto& b : sdu) b = static_cast<std::uint8_t>(r.next());
    return sdu;
}

void acknowledged(std::uint64_t seed, int pdu_bytes, capture& to) {
    splitmix64 r(seed);
    const auto hits = [&r](int percent) { return r.next() % 100 < static_cast<unsigned>(percent); };
    am_config c;
    c.pdu_bytes = pdu_bytes;
    c.in_sequence = hits(50);
    c.special_he = hits(50);
    c.format = static_cast<missing_format>(r.next() % 3);
    c.status_prohibit_ns = 5 * tti_ns;
    c.max_dat = 100;
    rlc_world w(c, 3, 4);
    // What came, in the order of its numbers: tshark puts together what comes in order only. The
    // SDUs of the downlink are said.
    std::map<int, std::vector<std::uint8_t>> came[2];
    pdu_content content(pdu_bytes);
    w.heard = [&](int from, const auto& pdu) {
        if (read_pdu(data_mode::acknowledged, pdu, content)) came[from][content.sn] = pdu;
    };
    w.assembled = [](int side, std::span<const std::uint8_t> sdu) {
        if (side == 1) say(sdu);
    };
    w.lose = [&](int, const auto&) { return hits(10); };
    for (int t = 0; t < 250; ++t) {
        if (hits(40)) w.give(0, draw_sdu(r));
        if (hits(10)) w.give(1, draw_sdu(r));
        w.step();
    }
    for (int t = 0; t < 3000 && !w.quiet(); ++t) w.step();
    for (int from = 0; from < 2; ++from) {
        to.channel.downlink = from == 0;
        for (const auto& [sn, pdu] : came[from]) to.take(pdu, sn * tti_ns);
    }
}

void unacknowledged(std::uint64_t seed, int pdu_bytes, capture& to) {
    splitmix64 r(seed);
    um_config c;
    c.pdu_bytes = pdu_bytes;
    um_transmitter sender(c);
    um_receiver receiver(c, say);
    std::vector<std::uint8_t> pdu(static_cast<std::size_t>(pdu_bytes));
    to.channel.mode = rlc_mode::unacknowledged;
    for (int t = 0; t < 600; ++t) {
        if (r.next() % 100 < 30) sender.on_sdu(draw_sdu(r), t * tti_ns);
        for (int n = 0; n < 4 && sender.next_pdu(pdu, t * tti_ns); ++n) {
            to.take(pdu, t * tti_ns);
            receiver.on_pdu(pdu);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5 && argc != 6) return 2;
    const auto first = std::strtoull(argv[2], nullptr, 10);
    const auto worlds = argc == 6 ? std::strtoull(argv[5], nullptr, 10) : 1;
    const int pdu_bytes = std::atoi(argv[3]);
    const bool am = std::string(argv[1]) == "am";
    capture to;
    to.channel.wide_li =
        li_bytes(am ? data_mode::acknowledged : data_mode::unacknowledged, pdu_bytes) == 2;
    append_pcap_header(to.file);
    for (auto w = first; w < first + worlds; ++w) {
        to.channel.urnti = static_cast<std::uint32_t>(1 + w - first);
        (am ? acknowledged : unacknowledged)(w, pdu_bytes, to);
    }
    std::ofstream(argv[4], std::ios::binary)
        .write(reinterpret_cast<const char*>(to.file.data()),
               static_cast<std::streamsize>(to.file.size()));
    return 0;
}
