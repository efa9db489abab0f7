// SPDX-License-Identifier: GPL-3.0-or-later
// Residual bit errors of passing packets, from a pattern (Alfredsson 2012, 4.5: Dummynet with bit
// error insertion): a fixed number of errors n = BER x length at different positions of a long
// stretch of bits, which the packets run through one after the other and, at its end, again from
// the start. Positions come from a chain of two states: with probability 1 - burstiness the next
// error is anywhere in the pattern, with probability burstiness within 8 bits of the one placed
// before. So burstiness changes how errors cluster, not how many there are. Seeded: the same
// settings give the same pattern, and a packet's errors depend only on where in the stream of bits
// it is.
//
// The pattern has a whole number of errors, 1 to 100 000, from which its length follows: some 10^8
// bits (at 384 kbit/s it repeats after 260 s), 1 / BER below a BER of 10^-8, 10^5 / BER above
// 10^-3.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace wip::packet_model {

struct bit_error_config {
    double ber = 0;         // 0 .. 0.5
    double burstiness = 0;  // 0 .. 1
    std::uint64_t seed = 1;
    void check() const;  // throws std::invalid_argument naming key, value and what would be valid
};

class bit_error_pattern {
public:
    explicit bit_error_pattern(const bit_error_config& config);  // throws as check() does

    // Flips the bits that are wrong in the next stretch of the stream; returns how many.
    int apply(std::span<std::uint8_t> bytes) noexcept;

    std::int64_t length_bits() const { return length_; }
    std::span<const std::int64_t> positions() const { return positions_; }  // ascending

private:
    std::int64_t length_;
    std::vector<std::int64_t> positions_;
    std::int64_t position_ = 0;   // position of the next bit, 0 .. length_ - 1
    std::size_t next_error_ = 0;  // index of the first error at or after it
};

// Decorator of a packet port: every packet goes on, with its errors. The first
// `spared_bytes(packet)` bytes get no errors and take no bits of the pattern.
class bit_error_port {
public:
    using sink = std::function<void(std::span<const std::uint8_t> packet, bool damaged)>;
    using spared = std::function<std::size_t(std::span<const std::uint8_t> packet)>;

    bit_error_port(const bit_error_config& config, spared spared_bytes, sink next);

    void deliver(std::span<const std::uint8_t> packet);

    struct counts {
        std::uint64_t packets = 0, damaged = 0, bits = 0, wrong_bits = 0;
    };
    const counts& statistics() const { return counts_; }

private:
    bit_error_pattern pattern_;
    spared spared_bytes_;
    sink next_;
    std::vector<std::uint8_t> packet_;
    counts counts_;
};

}  // namespace wip::packet_model
