// SPDX-License-Identifier: GPL-3.0-or-later
// Makes a trace into patterns for other network emulators: a link without retransmissions or with
// ideal ones, over the bins with the highest predicted SNR. Layouts: docs/how-to/channel-traces.md.
//
// Every slot: the n bins with the highest predicted SNR (the true one where the trace has no
// predictions), each with the bits per symbol that the switch table gives for the prediction, or
// with fixed ones.
//   mahimahi   ideal ARQ: frames in error take their time and are sent again. The expected number
//              of right bits, sum 108 k P(frame right | true SNR), is added up; every 12000 bits
//              are one opportunity to deliver 1500 bytes, in the millisecond in which they are
//              complete.
//   kaunet     no ARQ: three patterns of one and the same transmission, errors drawn with the seed:
//              bandwidth by time (bits sent in each millisecond), bit errors and packet losses by
//              data. A symbol is wrong with the symbol error rate at the true SNR and then flips
//              one of its k bits.
#pragma once

#include <cstdint>
#include <string>

namespace wip::channel_program {

struct pattern_config {
    std::string trace, kind = "mahimahi", file;
    int bins = 10;
    int modulation = 0;       // 0 = adaptive, else 1..8
    int packet_bytes = 1500;  // kaunet: packets whose loss is written
    std::uint64_t seed = 1;
};

// The lengths of the patterns, as a generator of patterns asks for them: time-driven ones in
// milliseconds, data-driven ones in bits or packets.
struct pattern_sizes {
    std::int64_t ms = 0, bits = 0, packets = 0;
};

// Writes FILE, or FILE.bandwidth, FILE.biterror and FILE.packetloss. Throws std::invalid_argument
// or trace::error, one line.
pattern_sizes write_patterns(const pattern_config& config);

}  // namespace wip::channel_program
