// SPDX-License-Identifier: GPL-3.0-or-later
// The contract of everything that changes a stream of IQ samples.
//
//   work(first, in, out)   out[i] is the output at absolute sample index first + i, a function of
//                          the input up to that index, of the seed and of the index: not of where
//                          a call starts or ends. in and out have one size and may be one memory.
//   memory()               out[n] depends on in[n - memory() .. n] and on nothing older
//   latency()              samples of delay that the filters of the model add
//
// Calls that continue each other (first = the previous first + size) see one stream. A call that
// does not starts afresh, with zeros before `first`; a caller who goes back or jumps, and can read
// the input again, first calls work on the memory() samples before and discards those outputs.
// Constructors allocate and check (std::invalid_argument); work does neither.
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "types/require.h"

namespace wip::sample_model {

using cf32 = std::complex<float>;

template <class Stage>
concept sample_stage = requires(Stage s, const Stage c, std::int64_t first,
                                std::span<const cf32> in, std::span<cf32> out) {
    { s.work(first, in, out) }
    noexcept;
    { c.memory() } -> std::same_as<std::int64_t>;
    { c.latency() } -> std::same_as<std::int64_t>;
};

// A stage whose output depends on the input at its own index alone.
struct memoryless {
    std::int64_t memory() const noexcept { return 0; }
    std::int64_t latency() const noexcept { return 0; }
};

// The arguments of a stage besides its own configuration.
struct stage_context {
    double sample_rate = 7.68e6;
    std::uint64_t seed = 1;
    std::uint32_t purpose = 0;  // tells apart the stages that share a seed
};

}  // namespace wip::sample_model
