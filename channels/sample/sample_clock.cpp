// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/sample_clock.h"

#include <cmath>

#include "sample/block_filter.h"

namespace wip::sample_model {
namespace {

__extension__ typedef __int128 wide;
constexpr std::int64_t parts_per_unit = 1'000'000'000'000;  // a part is 10^-12

}  // namespace

sample_clock::sample_clock(double ppm) : history_(memory) {
    check_range("clock ppm", ppm, -100, 100);
    parts_ = std::llround(ppm * 1e6);
    history_.restart(0);
}

std::int64_t sample_clock::delay(std::int64_t n) const noexcept {
    const wide d = static_cast<wide>(n) * parts_ * moving_delay::one;
    return static_cast<std::int64_t>(d >= 0 ? d / parts_per_unit
                                            : -((parts_per_unit - 1 - d) / parts_per_unit));
}

std::int64_t sample_clock::time_of(std::int64_t n) const noexcept {
    return n - floor_divide(delay(n), moving_delay::one);
}

std::int64_t sample_clock::newest_input(std::int64_t n) const noexcept {
    const std::int64_t start = floor_divide(n, moving_delay::block) * moving_delay::block;
    return n - moving_delay::base(delay(start), delay(start + moving_delay::block));
}

std::int64_t sample_clock::ready(std::int64_t time) const noexcept {
    std::int64_t n = time + floor_divide(delay(time), moving_delay::one);
    while (newest_input(n) < time) ++n;
    while (newest_input(n - 1) >= time) --n;
    return n;
}

void sample_clock::feed(std::span<const cf32> in) noexcept { history_.append(in); }

void sample_clock::work(std::int64_t first, std::span<cf32> out) noexcept {
    produce_blocks<moving_delay::block>(
        first, out,
        [this](std::int64_t number) {
            filter_.prepare(number, [this](std::int64_t n) { return delay(n); });
        },
        [this](auto count, std::int64_t start, int v, float* re, float* im) {
            filter_.filter<count()>(history_, start, v, re, im);
        });
}

}  // namespace wip::sample_model
