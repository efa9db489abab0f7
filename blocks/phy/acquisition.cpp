// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/acquisition.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "phy/slot_extractor.h"

namespace wip::phy {

namespace {

constexpr double prefix_threshold = 0.15;
constexpr float pilot_threshold = 0.45F;
constexpr int first_decision = 3;  // blocks
constexpr int forget_after = 24;
constexpr double two_pi = 2 * std::numbers::pi;
constexpr std::size_t half = nof_pilots / 2;  // pilots of one OFDM symbol

// Pilots in the order of frequency: the 50 of symbol 1, then the 50 of symbol 4.
constexpr std::size_t pilot_index(std::size_t in_symbol, bool second) {
    return in_symbol / 2 * pilots_per_bin + (second ? 2 : 0) + in_symbol % 2;
}
constexpr int pilot_subcarrier(std::size_t in_symbol, bool second) {
    return static_cast<int>(in_symbol / 2) * subcarriers_per_bin +
           pilot_elements[(second ? 2U : 0U) + in_symbol % 2].subcarrier;
}

}  // namespace

pilot_score score_pilots(const std::array<cf32, nof_pilots>& received,
                         const std::array<cf32, nof_pilots>& sent) noexcept {
    std::complex<float> sum{};
    float magnitude = 0;
    for (const bool second : {false, true})
        for (std::size_t i = 0; i + 1 < half; ++i) {
            const auto a = pilot_index(i, second);
            const auto b = pilot_index(i + 1, second);
            const cf32 product = std::conj(received[a]) * received[b];
            sum += product * std::conj(std::conj(sent[a]) * sent[b]);
            magnitude += std::sqrt(std::norm(product));
        }
    if (!(magnitude > 0) || !std::isfinite(magnitude)) return {};
    return {std::abs(sum) / magnitude, std::arg(sum), magnitude};
}

acquisition::acquisition(const pilots& values)
    : values_(values),
      folded_(slot_samples),
      window_(fft_size),
      spectrum_(static_cast<std::size_t>(nof_windows) * fft_size),
      rotation_(fft_size),
      cumulated_(2 * slot_samples + 1) {}

void acquisition::reset() noexcept {
    std::fill(folded_.begin(), folded_.end(), cf32{});
    energy_ = 0;
    blocks_ = 0;
}

std::optional<acquired> acquisition::step(const cf32* end, std::size_t available,
                                          std::int64_t end_time) noexcept {
    if (available < slot_samples + fft_size) return std::nullopt;
    const cf32* block = end - slot_samples;
    double energy = 0;
    for (int i = -fft_size; i < slot_samples; ++i)
        energy += static_cast<double>(std::norm(block[i]));
    energy *= static_cast<double>(slot_samples) / (slot_samples + fft_size);
    if (!std::isfinite(energy)) {
        reset();
        return std::nullopt;
    }
    const std::int64_t start_time = end_time - slot_samples;
    auto place =
        static_cast<std::size_t>((start_time % slot_samples + slot_samples) % slot_samples);
    for (int i = 0; i < slot_samples; ++i) {
        folded_[place] += std::conj(block[i - fft_size]) * block[i];
        if (++place == slot_samples) place = 0;
    }
    energy_ += energy;
    if (++blocks_ < first_decision || !(energy_ > 0)) return std::nullopt;
    const auto c = best_prefix();
    std::optional<acquired> found;
    if (c.metric > prefix_threshold) found = resolve(c, end, available, end_time);
    if (found || blocks_ >= forget_after) reset();
    return found;
}

acquisition::candidate acquisition::best_prefix() noexcept {
    std::complex<double> sum{};
    for (std::size_t i = 0; i < 2 * slot_samples; ++i) {
        cumulated_[i] = sum;
        sum += std::complex<double>(folded_[i % slot_samples]);
    }
    cumulated_[2 * slot_samples] = sum;
    candidate best;
    std::complex<double> best_sum{};
    double best_power = -1;
    constexpr int length = 85;
    for (int m = 0; m < slot_samples; ++m) {
        std::complex<double> s{};
        for (int l = 0; l < symbols_per_slot; ++l) {
            // The later sample of a pair stands 768 after the prefix.
            const int from = (m + symbol_offset(l) + fft_size) % slot_samples;
            s += cumulated_[static_cast<std::size_t>(from + length)] -
                 cumulated_[static_cast<std::size_t>(from)];
        }
        if (std::norm(s) > best_power) {
            best_power = std::norm(s);
            best_sum = s;
            best.start = m;
        }
    }
    best.metric = std::abs(best_sum) / (energy_ * length * symbols_per_slot / slot_samples);
    best.cfo_hz = std::arg(best_sum) / two_pi * 10e3;
    return best;
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
    const cf32* base = end - (end_time - start);

    const double step = -two_pi * c.cfo_hz / static_cast<double>(sample_rate_hz);
    for (std::size_t i = 0; i < fft_size; ++i)
        rotation_[i] = cf32(std::polar(1.0, step * static_cast<double>(i)));
    for (int j = 0; j < nof_windows; ++j) {
        const int l = j % symbols_per_slot;
        const cf32* from = base + j / symbols_per_slot * slot_samples + symbol_offset(l) +
                           prefix_samples[static_cast<std::size_t>(l)] - window_advance;
        for (std::size_t i = 0; i < fft_size; ++i) window_[i] = from[i] * rotation_[i];
        to_subcarriers_.execute(window_.data(), spectrum_.data() + j * fft_size);
    }

    acquired best;
    float second_best = 0;
    float best_phase = 0;
    float strongest = 0;
    std::array<cf32, nof_pilots> received;
    // The score does not mind magnitude, so the leakage of the pilots into empty neighbouring
    // subcarriers (idle bins, high SNR) scores as well as the pilots themselves: hypotheses with
    // far less energy than the strongest one are no rivals.
    for (const bool measure : {true, false})
        for (int q = 0; q < symbols_per_slot; ++q)
            for (int shift = -1; shift <= 1; ++shift) {
                for (const bool second : {false, true})
                    for (std::size_t i = 0; i < half; ++i) {
                        const int k = fft_index(pilot_subcarrier(i, second)) + shift;
                        received[pilot_index(i, second)] = spectrum_[static_cast<std::size_t>(
                            (q + (second ? 4 : 1)) * fft_size + (k + fft_size) % fft_size)];
                    }
                for (int s = 0; s < slots_per_frame; ++s) {
                    const auto score = score_pilots(received, values_.of(s));
                    if (measure) {
                        strongest = std::max(strongest, score.energy);
                        break;
                    }
                    if (score.energy < 0.1F * strongest) break;
                    if (score.magnitude > static_cast<float>(best.score)) {
                        second_best = static_cast<float>(best.score);
                        best.score = static_cast<double>(score.magnitude);
                        best_phase = score.phase;
                        best.slot_start = start + symbol_offset(q);
                        best.slot_in_frame = s;
                        best.cfo_hz = c.cfo_hz + 10e3 * shift;
                    } else {
                        second_best = std::max(second_best, score.magnitude);
                    }
                }
            }
    if (best.score < static_cast<double>(pilot_threshold) ||
        second_best > 0.8F * static_cast<float>(best.score))
        return std::nullopt;
    // A signal d samples later than assumed turns by -2 pi 10 d / 768 from pilot to pilot, on top
    // of the window's advance.
    const double delay =
        std::remainder(-static_cast<double>(best_phase) * fft_size / (two_pi * 10) - window_advance,
                       fft_size / 10.0);
    best.slot_start += std::lround(delay);
    return best;
}

}  // namespace wip::phy
