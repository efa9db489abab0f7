// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/trace_filter.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "sample/floor_divide.h"
#include "sample/snr_range.h"
#include "types/require.h"

namespace wip::sample_model {
namespace {

constexpr std::int64_t knot_samples = slot_samples / 2;
constexpr float most_correction_db = 3;

// The cubic interpolation halfway between the second and the third of four points at equal
// distances.
float halfway(float a, float b, float c, float d) { return (9 * (b + c) - a - d) / 16; }

float amplitude(float gain_db) { return std::pow(10.0f, gain_db / 20); }

// Mean power of a slot whose amplitude goes in straight lines through its begin, middle and end.
float mean_db(float begin, float middle, float end) {
    const float a = amplitude(begin), b = amplitude(middle), c = amplitude(end);
    return 10 * std::log10((a * a + a * b + 2 * b * b + b * c + c * c) / 6);
}

}  // namespace

trace_filter::trace_filter(const trace_config& config) : config_(config) {
    if (!config_.rows || config_.rows->empty())
        throw std::invalid_argument("the SNR trace has no slots; valid: one or more");
    for (std::size_t t = 0; t < config_.rows->size(); ++t)
        for (const float v : (*config_.rows)[t])
            if (!(v >= lowest_snr_db && v <= highest_snr_db))
                throw std::invalid_argument(
                    not_valid("the SNR in slot " + std::to_string(t) + " of the trace",
                              text_of(v) + " dB", "-60..80 dB"));
}

bin_gains_db trace_filter::limited(std::int64_t slot) const noexcept {
    const auto n = static_cast<std::int64_t>(config_.rows->size());
    const bin_gains_db& row = (*config_.rows)[static_cast<std::size_t>((slot % n + n) % n)];
    const float unit = static_cast<float>(config_.unit_snr_db);
    bin_gains_db gains;
    for (std::size_t b = 0; b < gains.size(); ++b)
        gains[b] = std::min(std::max(row[b], quietest_played_db) - unit, highest_gain_db);
    for (std::size_t b = 1; b < gains.size(); ++b)
        gains[b] = std::max(gains[b], gains[b - 1] - steepest_db);
    for (std::size_t b = gains.size() - 1; b > 0; --b)
        gains[b - 1] = std::max(gains[b - 1], gains[b] - steepest_db);
    return gains;
}

const bin_gains_db& trace_filter::middle_of(std::int64_t slot) noexcept {
    middle& m = middles_[static_cast<std::size_t>(slot) % middles_.size()];
    if (m.slot == slot) return m.gains;
    std::array<bin_gains_db, 5> rows;
    for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i] = limited(slot - 2 + static_cast<std::int64_t>(i));
    for (std::size_t b = 0; b < m.gains.size(); ++b) {
        const float begin = halfway(rows[0][b], rows[1][b], rows[2][b], rows[3][b]),
                    end = halfway(rows[1][b], rows[2][b], rows[3][b], rows[4][b]);
        const float excess_db = mean_db(begin, rows[2][b], end) - rows[2][b];
        m.gains[b] = rows[2][b] - std::clamp(excess_db, -most_correction_db, most_correction_db);
    }
    m.slot = slot;
    return m.gains;
}

// Knot 2t is the begin of slot t, 2t + 1 its middle.
const trace_filter::knot& trace_filter::knot_at(std::int64_t number) noexcept {
    knot& k = knots_[static_cast<std::size_t>(number) % knots_.size()];
    if (k.number == number) return k;
    const std::int64_t slot = floor_divide(number, 2);
    bin_gains_db gains = middle_of(slot);
    if (number == 2 * slot) {
        const bin_gains_db a = middle_of(slot - 2), b = middle_of(slot - 1),
                           d = middle_of(slot + 1);
        for (std::size_t i = 0; i < gains.size(); ++i)
            gains[i] = halfway(a[i], b[i], gains[i], d[i]);
    }
    response_.design(gains, k.re.data(), k.im.data());
    k.number = number;
    return k;
}

void trace_filter::coefficients(std::int64_t index, float* re, float* im) noexcept {
    const std::int64_t number = floor_divide(index, knot_samples);
    const float fraction = static_cast<float>(index - number * knot_samples) / float{knot_samples};
    const knot &from = knot_at(number), &to = knot_at(number + 1);
    for (std::size_t i = 0; i < padded; ++i) {
        re[i] = from.re[i] + fraction * (to.re[i] - from.re[i]);
        im[i] = from.im[i] + fraction * (to.im[i] - from.im[i]);
    }
}

void trace_filter::gains(std::int64_t index, std::span<cf32> out) noexcept {
    std::array<float, padded> re, im;
    coefficients(index, re.data(), im.data());
    for (std::size_t i = 0; i < nof_taps(); ++i) out[i] = {re[i], im[i]};
}

void trace_filter::work(std::int64_t first, std::span<const cf32> in,
                        std::span<cf32> out) noexcept {
    fir_.work(first, in, out,
              [this](std::int64_t index, float* re, float* im) { coefficients(index, re, im); });
}

}  // namespace wip::sample_model
