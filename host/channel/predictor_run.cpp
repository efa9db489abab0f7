// SPDX-License-Identifier: GPL-3.0-or-later
#include "channel/predictor_run.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sample/counter_random.h"

namespace wip::channel_program {
namespace {

constexpr float known_elements = pilots_per_bin + control_symbols_per_bin;

phy::cf32 gaussian(std::uint64_t counter, std::uint32_t key) {
    const auto p = sample_model::philox(counter, key);
    const double u = (p.a + 0.5) * 0x1p-32, v = p.b * 0x1p-32;
    return phy::cf32(std::polar(std::sqrt(-std::log(u)), 2 * std::numbers::pi * v));
}

std::size_t place(std::int64_t s, std::size_t size) {
    const auto n = static_cast<std::int64_t>(size);
    return static_cast<std::size_t>((s % n + n) % n);
}

}  // namespace

predictor_run::predictor_run(const bin_model::fading_config& config, int horizon_slots,
                             const std::string& method)
    : channel_(config),
      predictor_(
          horizon_slots, method,
          [this](std::string_view name, int horizon) { return makers_.make(name, horizon); }),
      key_(sample_model::derive_key(config.seed, 0x50524400u ^ config.purpose)),
      predicted_(static_cast<std::size_t>(horizon_slots) + 1),
      truth_(predicted_.size()) {
    for (std::int64_t s = -warm_up; s < 0; ++s) measure(slot(s));
}

void predictor_run::measure(slot s) noexcept {
    phy::bin_measurement m;
    auto& truth = truth_[place(s.value, truth_.size())];
    channel_.snr_and_gain(s, truth, m.gain);
    m.noise = 1;
    m.gain_noise = 1 / known_elements;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const float before = std::norm(m.gain[b]);
        m.gain[b] += std::sqrt(m.gain_noise) *
                     gaussian(static_cast<std::uint64_t>(s.value + warm_up) * nof_bins + b, key_);
        m.power[b] = std::max(0.0f, truth[b] + std::norm(m.gain[b]) - before - m.gain_noise);
    }
    const slot target(s.value + static_cast<std::int64_t>(predicted_.size()) - 1);
    predictor_.update(m, predicted_[place(target.value, predicted_.size())]);
}

void predictor_run::next(std::span<float, nof_bins> linear, std::span<float, nof_bins> predicted) {
    // measure(s) makes the prediction for s + horizon, in one of horizon + 1 places: it does not
    // touch the one for s, unless the horizon is 0 and that is what is asked for.
    const std::size_t at = place(next_, predicted_.size());
    measure(slot(next_));
    if (makers_.has_failed()) throw bad_input(makers_.failure());
    std::copy_n(predicted_[at].begin(), nof_bins, predicted.begin());
    std::copy_n(truth_[at].begin(), nof_bins, linear.begin());
    ++next_;
}

}  // namespace wip::channel_program
