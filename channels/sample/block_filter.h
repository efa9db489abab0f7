// SPDX-License-Identifier: GPL-3.0-or-later
// The loops of filters whose coefficients belong to blocks of the absolute index: samples come in
// pieces of any size, blocks begin at multiples of `block`, and vectors at multiples of their size,
// so that the way in which a stream is cut into calls changes no bit. For a part of a block, whole
// vectors are computed and the samples that were not requested are discarded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>

#include "sample/floor_divide.h"
#include "sample/history_buffer.h"
#include "sample/sample_stage.h"
#include "types/lanes.h"

namespace wip::sample_model {

// prepare(number of the block); filter(constant of vectors to compute, start of the block, first
// vector, re, im).
template <int block, class Prepare, class Filter>
inline void produce_blocks(std::int64_t first, std::span<cf32> out, Prepare prepare,
                           Filter filter) noexcept {
    const std::int64_t end = first + static_cast<std::int64_t>(out.size());
    for (std::int64_t at = first; at < end;) {
        const std::int64_t number = floor_divide(at, block);
        const std::int64_t start = number * block;
        const std::int64_t stop = std::min(end, start + block);
        prepare(number);
        alignas(64) float re[block], im[block];
        if (stop - at == block)
            filter(std::integral_constant<int, block / nof_lanes>{}, start, 0, re, im);
        else
            for (int v = static_cast<int>(at - start) / nof_lanes; v * nof_lanes < stop - start;
                 ++v)
                filter(std::integral_constant<int, 1>{}, start, v, re + v * nof_lanes,
                       im + v * nof_lanes);
        cf32* y = out.data() + (at - first);
        for (std::int64_t i = at - start; i < stop - start; ++i) *y++ = cf32(re[i], im[i]);
        at = stop;
    }
}

// The same for a stage that has one output for each input and reads earlier inputs from `history`.
template <int block, class Prepare, class Filter>
inline void filter_blocks(history_buffer& history, std::int64_t first, std::span<const cf32> in,
                          std::span<cf32> out, Prepare prepare, Filter filter) noexcept {
    if (first != history.end()) history.restart(first);
    for (std::size_t done = 0; done < out.size();) {
        const std::size_t n =
            std::min<std::size_t>(out.size() - done, history_buffer::largest_append);
        history.append(in.subspan(done, n));
        produce_blocks<block>(first + static_cast<std::int64_t>(done), out.subspan(done, n),
                              prepare, filter);
        done += n;
    }
}

}  // namespace wip::sample_model
