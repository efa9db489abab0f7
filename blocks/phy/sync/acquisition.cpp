// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/sync/acquisition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "phy/math/lane_sum.h"
#include "phy/math/turn.h"
#include "phy/ofdm/slot_extractor.h"

namespace wip::phy {

namespace {

constexpr int first_decision = 3, forget_after = 24;  // blocks
constexpr double prefix_threshold = 0.15, two_pi = 2 * std::numbers::pi;
constexpr double spacing_hz = 10e3, near_hz = 11e3, wide_hz = 46e3;
constexpr int most_shifts = 5, nof_shifts = 2 * most_shifts + 1;
static_assert(std::size_t{symbols_per_slot * nof_shifts} <= cell_search::most_sets);

}  // namespace

acquisition::acquisition(sender from)
    : search_(from),
      folded_(slot_samples),
      window_(fft_size),
      spectrum_(static_cast<std::size_t>(nof_windows) * fft_size),
      rotation_(fft_size),
      sums_(2 * slot_samples) {}

void acquisition::reset() noexcept {
    std::fill(folded_.begin(), folded_.end(), cf32{});
    energy_ = 0;
    blocks_ = next_decision_ = 0;
    wide_ = false;
}

std::optional<acquired> acquisition::step(const cf32* end, std::size_t available,
                                          std::int64_t end_time) noexcept {
    if (available < slot_samples + fft_size) return std::nullopt;
    const cf32* block = end - slot_samples;
    constexpr std::size_t nof_read = slot_samples + fft_size;
    const auto* x = reinterpret_cast<const float*>(block - fft_size);
    const float sum = lane_sum(2 * nof_read, [&](auto at) {
                          const auto part = at(x);
                          return lane_terms{part * part};
                      }).of[0];
    const double energy = static_cast<double>(sum) * slot_samples / nof_read;
    if (!std::isfinite(energy)) {
        reset();
        return std::nullopt;
    }
    const std::int64_t start_time = end_time - slot_samples;
    auto position =
        static_cast<std::size_t>((start_time % slot_samples + slot_samples) % slot_samples);
    for (int i = 0; i < slot_samples; ++i) {
        folded_[position] += std::conj(block[i - fft_size]) * block[i];
        if (++position == slot_samples) position = 0;
    }
    energy_ += energy;
    blocks_ = std::min(blocks_ + 1, forget_after);
    if (blocks_ < std::max(next_decision_, first_decision) || !(energy_ > 0)) return std::nullopt;
    const auto c = best_prefix();
    std::optional<acquired> found;
    if (c.metric > prefix_threshold) {
        found = resolve(c, end, available, end_time);
        next_decision_ = std::min(blocks_ * 3 / 2, forget_after);
    }
    if (found || blocks_ >= forget_after) {
        const bool wider = !found && !wide_;
        reset();
        wide_ = wider;
    }
    return found;
}

acquisition::candidate acquisition::best_prefix() noexcept {
    constexpr int length = 85;
    // sums_[t]: the 85 products from t on; repeated, so that no index has to wrap.
    std::complex<double> running{};
    for (std::size_t i = 0; i < length; ++i) running += std::complex<double>(folded_[i]);
    for (std::size_t t = 0; t < slot_samples; ++t) {
        sums_[t] = sums_[t + slot_samples] = cf32(running);
        running += std::complex<double>(folded_[(t + length) % slot_samples]) -
                   std::complex<double>(folded_[t]);
    }
    std::array<const cf32*, symbols_per_slot> of_symbol;
    // The later sample of a pair is 768 after the prefix.
    for (int l = 0; l < symbols_per_slot; ++l)
        of_symbol[static_cast<std::size_t>(l)] =
            sums_.data() + (symbol_offset(l) + fft_size) % slot_samples;
    candidate best;
    cf32 best_sum{};
    float best_power = -1;
    for (int m = 0; m < slot_samples; ++m) {
        cf32 s{};
        for (const cf32* from : of_symbol) s += from[m];
        if (std::norm(s) > best_power) {
            best_power = std::norm(s);
            best_sum = s;
            best.start = m;
        }
    }
    best.metric = static_cast<double>(std::abs(best_sum)) /
                  (energy_ * length * symbols_per_slot / slot_samples);
    best.cfo_hz = double{angle_of(best_sum)} / two_pi * spacing_hz;
    return best;
}

// Ten OFDM symbols from `base` on, CFO taken out.
void acquisition::transform(const cf32* base, double cfo_hz) noexcept {
    const double step = -two_pi * cfo_hz / static_cast<double>(sample_rate_hz);
    for (std::size_t i = 0; i < fft_size; ++i)
        rotation_[i] = cf32(turn_by(step * static_cast<double>(i)));
    for (int j = 0; j < nof_windows; ++j) {
        const int l = j % symbols_per_slot;
        const cf32* from = base + j / symbols_per_slot * slot_samples + symbol_offset(l) +
                           prefix_samples[static_cast<std::size_t>(l)] - window_advance;
        for (std::size_t i = 0; i < fft_size; ++i) window_[i] = from[i] * rotation_[i];
        to_subcarriers_.execute(window_.data(), spectrum_.data() + j * fft_size);
    }
}

std::optional<acquired> acquisition::resolve(const candidate& c, const cf32* end,
                                             std::size_t available,
                                             std::int64_t end_time) noexcept {
    // Newest place where ten symbols, starting with a prefix at c.start (mod 5120), fit.
    constexpr int span = slot_samples + symbol_offset(nof_windows - symbols_per_slot);
    std::int64_t start = end_time - span;
    start -= ((start - c.start) % slot_samples + slot_samples) % slot_samples;
    const std::int64_t oldest = end_time - static_cast<std::int64_t>(available);
    if (start < oldest) return std::nullopt;
    transform(end - (end_time - start), c.cfo_hz);

    // Removes the phase step from pilot to pilot that the advance of the FFT window causes.
    const auto advance = cf32(turn_by(two_pi * pilot_distance * window_advance / fft_size));
    const double reach_hz = wide_ ? wide_hz : near_hz;
    search_.clear();
    pilot_row received;
    for (int q = 0; q < symbols_per_slot; ++q)
        for (int shift = -most_shifts; shift <= most_shifts; ++shift) {
            if (std::abs(c.cfo_hz + spacing_hz * shift) > reach_hz) continue;
            for (const bool second : {false, true})
                for (std::size_t i = 0; i < pilots_per_symbol; ++i) {
                    const int k = fft_index(pilot_subcarrier(i, second)) + shift;
                    received[pilot_index(i, second)] = spectrum_[static_cast<std::size_t>(
                        (q + (second ? 4 : 1)) * fft_size + (k + fft_size) % fft_size)];
                }
            auto products = products_of(received);
            for (auto& p : products) p *= advance;
            search_.add(products, nof_shifts * q + shift + most_shifts);
        }
    const double sets = symbols_per_slot * std::floor(2 * reach_hz / spacing_hz);
    const auto match = search_.strongest(
        static_cast<float>(std::log(100 * sets * static_cast<double>(search_.hypotheses()))));
    if (match.tag < 0) return std::nullopt;
    // A signal d samples later than assumed turns by -2 pi 10 d / 768 from pilot to pilot.
    const double delay = -double{angle_of(match.sum)} * fft_size / (two_pi * pilot_distance);
    acquired found;
    found.cell = match.cell;
    found.slot_in_frame = match.slot_in_frame;
    found.slot_start = start + symbol_offset(match.tag / nof_shifts) + std::lround(delay);
    found.cfo_hz = c.cfo_hz + spacing_hz * (match.tag % nof_shifts - most_shifts);
    return found;
}

}  // namespace wip::phy
