// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/sync/gain_control.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "types/require.h"

namespace wip::phy {

namespace {

constexpr int blocks_synchronised = 150, blocks_searching = 6;
constexpr double far_above_db = 12, far_below_db = 20;
constexpr float full_scale = 0.998F;  // a 12-bit converter's largest value is 1
constexpr int most_clipped = 5;       // samples in a block, one in a thousand
constexpr double clipping_step_db = 10;
constexpr double least_power = 1e-12;  // -120 dBFS: nothing there

}  // namespace

std::uint64_t nof_clipped(std::span<const cf32> in) noexcept {
    const auto* x = reinterpret_cast<const float*>(in.data());
    std::uint64_t clipped = 0;
    constexpr std::size_t piece = 4096;
    for (std::size_t first = 0; first < in.size(); first += piece) {
        const std::size_t end = std::min(first + piece, in.size());
        int in_piece = 0;
        for (std::size_t i = first; i < end; ++i)
            in_piece += std::max(std::abs(x[2 * i]), std::abs(x[2 * i + 1])) >= full_scale;
        clipped += static_cast<std::uint64_t>(in_piece);
    }
    return clipped;
}

gain_control::gain_control(const gain_control_config& config)
    : config_(config), gain_(config.gain_db) {
    if (!(config.lowest_db <= config.highest_db) || !std::isfinite(config.lowest_db) ||
        !std::isfinite(config.highest_db))
        throw std::invalid_argument(
            not_valid("gain control: the lowest gain", text_of(config.lowest_db) + " dB",
                      "at most the highest, " + text_of(config.highest_db) + " dB"));
    if (config.lowest_db < config.highest_db)
        check_range("gain_db", config.gain_db, config.lowest_db, config.highest_db);
    else if (!std::isfinite(config.gain_db))
        throw std::invalid_argument(
            not_valid("gain control: the gain", text_of(config.gain_db), "a finite number of dB"));
}

void gain_control::forget() noexcept {
    filled_ = clipped_ = blocks_ = 0;
    energy_ = sum_ = 0;
    too_strong_ = false;
}

// The gain that the blocks measured so far call for.
double gain_control::wanted(bool synchronised) noexcept {
    const double mean = 10 * std::log10(std::max(sum_ / blocks_, least_power));
    double change = 0;
    if (too_strong_) {
        change = std::min(config_.target_dbfs - level_, -clipping_step_db);
    } else if (blocks_ >= blocks_synchronised ||
               (blocks_ >= blocks_searching &&
                (!synchronised || mean < config_.target_dbfs - far_below_db))) {
        if (std::abs(mean - config_.target_dbfs) > config_.band_db)
            change = config_.target_dbfs - mean;
        sum_ = 0;
        blocks_ = 0;
    }
    too_strong_ = false;
    change = std::round(change / config_.step_db) * config_.step_db;
    return std::clamp(gain_ + change, config_.lowest_db, config_.highest_db);
}

std::int64_t gain_control::until_decision(sample first) const noexcept {
    if (!(config_.lowest_db < config_.highest_db)) return INT64_MAX;
    const bool goes_on = first.value == next_;
    const std::int64_t settled = first.value < next_ ? long_ago : settled_;
    return std::max<std::int64_t>(settled - first.value, 0) + slot_samples -
           (goes_on ? filled_ : 0);
}

std::optional<gain_change> gain_control::process(sample first, std::span<const cf32> in,
                                                 bool synchronised, double slot_start) noexcept {
    if (!(config_.lowest_db < config_.highest_db)) return std::nullopt;
    if (first.value != next_) {
        forget();
        if (first.value < next_) settled_ = long_ago;
    }
    next_ = first.value + static_cast<std::int64_t>(in.size());
    const std::int64_t skip =
        std::clamp<std::int64_t>(settled_ - first.value, 0, static_cast<std::int64_t>(in.size()));
    std::optional<gain_change> change;
    std::int64_t position = first.value + skip;
    for (const cf32 v : in.subspan(static_cast<std::size_t>(skip))) {
        ++position;
        energy_ += static_cast<double>(std::norm(v));
        clipped_ += std::abs(v.real()) >= full_scale || std::abs(v.imag()) >= full_scale;
        if (++filled_ < slot_samples) continue;
        const double power = std::isfinite(energy_) ? energy_ / slot_samples : 0;
        level_ = 10 * std::log10(std::max(power, least_power));
        sum_ += power;
        ++blocks_;
        too_strong_ = clipped_ >= most_clipped || level_ > config_.target_dbfs + far_above_db;
        filled_ = clipped_ = 0;
        energy_ = 0;
        const double gain = wanted(synchronised);
        if (gain == gain_) continue;
        gain_ = gain;
        ++changes_;
        std::int64_t at = position + std::int64_t{config_.lead_slots} * slot_samples;
        const std::int64_t phase = synchronised ? std::llround(slot_start) : 0;
        at += ((phase - at) % slot_samples + slot_samples) % slot_samples;
        settled_ = at;
        forget();
        change = gain_change{sample(at), db(gain)};
        break;
    }
    return change;
}

}  // namespace wip::phy
