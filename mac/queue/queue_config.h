// SPDX-License-Identifier: GPL-3.0-or-later
// Which queue discipline a link's queue has, and its parameters.
#pragma once

#include <cstdint>
#include <string>

namespace wip {

enum class queue_kind : std::uint8_t {
    drop_tail,
    codel,     // RFC 8289
    fq_codel,  // RFC 8290
    pie,       // RFC 8033
    dualpi2,   // RFC 9332, appendix A
};

// The delay by which a discipline decides what it marks and drops.
enum class queue_marking : std::uint8_t {
    sojourn,    // how long the packet has waited, as the RFCs have it
    predicted,  // how long the queue takes to empty at the rate that is expected
};

struct queue_config {
    queue_kind kind = queue_kind::drop_tail;
    queue_marking marking = queue_marking::sojourn;
    double target_ms = 0;  // time in the queue that is aimed at; 0: that of the RFC
    std::uint64_t seed = 1;

    bool operator==(const queue_config&) const = default;
    // The target in nanoseconds, with that of the RFC where none is set: 5 ms for CoDel and
    // FQ-CoDel, 15 ms for PIE and for the classic queue of DualPI2.
    std::int64_t target_ns() const;
    // Throws std::invalid_argument that names the key, the value and what would be valid.
    // `group`: the prefix of the keys in the errors, such as "link.".
    void check(const std::string& group = "") const;
};

}  // namespace wip
