// SPDX-License-Identifier: GPL-3.0-or-later
// The same signal at another sample rate: output n is the input at position p(n) = n fin/fout.
//
// Rates are ratios of whole numbers, so p(n) is a fraction that is known exactly for any n: nothing
// drifts, the phase is exact after days too, and a stream may begin anywhere. The signal between
// input samples is interpolated by a sinc of the lower of the two rates under a Kaiser window;
// signals up to 0.3255 of that rate (a carrier of 250 of 768 subcarriers either side at 7.68 MS/s)
// pass, their images from 1 - 0.3255 on are 90 dB down. Coefficients are tabulated at 256 positions
// between two inputs and interpolated linearly (error below -95 dB in the band). At equal rates and
// whole positions the output is the input exactly.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sample/exact_rate.h"
#include "sample/history_buffer.h"
#include "sample/sample_stage.h"

namespace wip::sample_model {

// The position of output n in the input, n fin/fout, and its inverse.
class rate_map {
public:
    rate_map(const exact_rate& in, const exact_rate& out);

    struct position {
        std::int64_t whole;
        std::uint64_t fraction;  // units of 2^-64
    };
    position of(std::int64_t output) const noexcept;
    // Moves the outputs by `by`: output n is then at input n fin/fout + `by`.
    void shift(position by) noexcept { shift_ = by; }
    // The first output whose position is at or after an input.
    std::int64_t at_or_after(std::int64_t input) const noexcept;
    double step() const noexcept;

private:
    __extension__ typedef __int128 wide;
    position at(std::int64_t output) const noexcept;
    wide numerator_, denominator_;
    position shift_{0, 0};
};

class rate_converter {
public:
    rate_converter(const exact_rate& in, const exact_rate& out);

    // Output n needs the inputs [whole(p(n)) - before(), whole(p(n)) + after()].
    const rate_map& map() const noexcept { return map_; }
    rate_map& map() noexcept { return map_; }
    std::int64_t before() const noexcept { return half_; }
    std::int64_t after() const noexcept { return half_; }

    // Begins again, with zeros before `input`.
    void restart(std::int64_t input) noexcept { history_.restart(input); }
    std::int64_t fed() const noexcept { return history_.end(); }
    void feed(std::span<const cf32> in) noexcept;  // any size
    // Writes the outputs from `first` on. Their inputs must have been fed, and at most `keep`
    // inputs after the first of them.
    void work(std::int64_t first, std::span<cf32> out) const noexcept;

    static constexpr std::int64_t keep = 8192;

private:
    static constexpr int nof_positions = 256;
    static constexpr std::int64_t block = 64;
    void interpolate(std::int64_t whole, std::uint64_t fraction, cf32& out) const noexcept;

    rate_map map_;
    int half_ = 0;
    int taps_ = 0;
    std::vector<float> coefficients_;  // [position][tap]
    std::int64_t step_whole_;
    std::uint64_t step_fraction_;
    history_buffer history_;
};

}  // namespace wip::sample_model
