// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/clock_offset.h"

#include <algorithm>
#include <cmath>

#include "sample/block_filter.h"

namespace wip::sample_model {
namespace {

__extension__ typedef __int128 wide;
constexpr std::int64_t one = moving_delay::one;
constexpr std::int64_t parts_per_unit = 1'000'000'000'000;  // a part is 10^-12

}  // namespace

clock_offset::clock_offset(const clock_offset_config& c, const stage_context&)
    : memory_(static_cast<std::int64_t>(c.max_delay_samples >= 16 && c.max_delay_samples <= 1e6
                                            ? c.max_delay_samples
                                            : 16) +
              moving_delay::width),
      history_(memory_ + 2 * moving_delay::block) {
    check_range("clock_offset ppm", c.ppm, -100, 100);
    check_range("clock_offset max_delay_samples", c.max_delay_samples, 16, 1e6);
    check_range("clock_offset start_delay_samples", c.start_delay_samples, 0, c.max_delay_samples,
                "max_delay_samples");
    if (c.ppm < 0 && c.start_delay_samples == 0)
        refuse("clock_offset start_delay_samples", "0",
               "more than 0, for a ppm below 0 shortens the delay");
    parts_ = std::llround(c.ppm * 1e6);
    start_ = std::llround(c.start_delay_samples * static_cast<double>(one));
    limit_ = static_cast<std::int64_t>(c.max_delay_samples) * one;
    history_.restart(0);
}

std::int64_t clock_offset::delay(std::int64_t n) const noexcept {
    const wide moved = static_cast<wide>(n) * parts_ * one / parts_per_unit;
    return static_cast<std::int64_t>(
        std::clamp<wide>(start_ + moved, 0, static_cast<wide>(limit_)));
}

void clock_offset::work(std::int64_t first, std::span<const cf32> in,
                        std::span<cf32> out) noexcept {
    filter_blocks<moving_delay::block>(
        history_, first, in, out,
        [this](std::int64_t number) {
            filter_.prepare(number, [this](std::int64_t n) { return delay(n); });
        },
        [this](auto count, std::int64_t start, int v, float* re, float* im) {
            filter_.filter<count()>(history_, start, v, re, im);
        });
}

}  // namespace wip::sample_model
