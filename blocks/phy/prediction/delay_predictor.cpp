// SPDX-License-Identifier: GPL-3.0-or-later
// Prediction in the delay domain: the 25 gains of the bins are taken apart into components that
// fade independently, each is predicted with a long memory by the Wiener filter that suits its SNR,
// and the bins are put together again.
//
// Components (fading_components.h): uncorrelated over the band, found while running. The start is
// the DFT over the bins, 200 ns a component.
//
// Filters (clarke_filters.h): 64 taps, for the Doppler frequency that doppler_search.h finds and
// the component's own SNR; the noise along any direction is that of the known elements.
//
// The level that all bins share (band_level.h) is taken out of the gains first and put back, as it
// will be by then, into the forecast.
//
// Where the channel is not Clarke's (a line of sight, another spectrum, more Doppler than the grid
// holds) least_squares_predictor may know better: the forecast is d + a (l - d), d this, l that,
// with the a in 0..1 that would have been best over the last 150 slots or so.
//
// A slot that was not measured is replaced by its prediction from the slots before. After more than
// two in a row that is not possible: the memory begins anew, with filters of fewer taps until it is
// full again, and what was learned about the channel stays.
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "phy/math/lane_sum.h"
#include "phy/prediction/band_level.h"
#include "phy/prediction/clarke_filters.h"
#include "phy/prediction/doppler_search.h"
#include "phy/prediction/fading_components.h"
#include "phy/prediction/predictors.h"

namespace wip::phy {
namespace {

constexpr double mix_forget = 1 - 1.0 / 150;
constexpr int longest_bridge = 2;  // slots

void scale(bin_gains& gains, float factor) noexcept {
    for (auto& v : gains.re) v *= factor;
    for (auto& v : gains.im) v *= factor;
}

class delay_predictor final : public gain_predictor {
public:
    explicit delay_predictor(int horizon)
        : horizon_(horizon),
          filters_(horizon, order),
          next_(1, order),
          short_filters_{clarke_filters(horizon, 1),  clarke_filters(horizon, 2),
                         clarke_filters(horizon, 4),  clarke_filters(horizon, 8),
                         clarke_filters(horizon, 16), clarke_filters(horizon, 32)},
          least_squares_(make_least_squares_predictor(horizon)),
          forecasts_(static_cast<std::size_t>(horizon)) {
        reset();
    }

    void reset() noexcept override {
        search_.reset();
        least_squares_->reset();
        components_.reset();
        level_.reset();
        skipped_ = 0;
        last_ = {};
        for (auto& f : forecasts_) f.valid = false;
        difference_power_ = projection_ = mix_ = 0;
    }

    bool update(const gain_sample& now, bin_gains& ahead) noexcept override {
        update_mixture(now.gain);
        last_ = now;
        skipped_ = 0;
        learn_level(now);
        const gain_sample fading = without_level(now);
        search_.update(fading);
        components_.store(fading.gain.re, fading.gain.im);
        components_.learn(fading.direction_error);
        if (search_.ready()) components_.set_offset(search_.offset());
        auto& f = forecasts_[due_];
        due_ = (due_ + 1) % forecasts_.size();
        const bool own = search_.ready();
        if (own) predict(f.own);
        const bool other = least_squares_->update(fading, f.other);
        f.valid = own && other;
        if (!own) f.own = f.other;
        const float ahead_amplitude = level_.amplitude_ahead(horizon_);
        scale(f.own, ahead_amplitude);
        scale(f.other, ahead_amplitude);
        ahead = f.own;
        if (f.valid) {
            const auto a = static_cast<float>(mix_);
            for (std::size_t b = 0; b < bin_gains::padded; ++b) {
                ahead.re[b] += a * (f.other.re[b] - f.own.re[b]);
                ahead.im[b] += a * (f.other.im[b] - f.own.im[b]);
            }
        }
        return own || other;
    }

    void skip() noexcept override {
        forecasts_[due_].valid = false;
        due_ = (due_ + 1) % forecasts_.size();
        level_.advance();
        if (++skipped_ > longest_bridge) {
            components_.forget();
            search_.skip();
            least_squares_->skip();
            return;
        }
        gain_sample fading = without_level(last_);
        if (components_.full() && search_.ready())
            components_.filter(next_, search_.doppler(), fading.gain.re, fading.gain.im);
        components_.store(fading.gain.re, fading.gain.im);
        search_.update(fading);
        bin_gains unused;
        least_squares_->update(fading, unused);
    }

private:
    static constexpr std::size_t order = 64;
    // Predicts with no more taps than there are slots in the history.
    void predict(bin_gains& out) const noexcept {
        const doppler_index doppler = search_.doppler();
        if (components_.full())
            components_.filter(filters_, doppler, out.re, out.im);
        else
            predict_with<32>(doppler, out);
    }
    template <std::size_t Taps>
    void predict_with(doppler_index doppler, bin_gains& out) const noexcept {
        if constexpr (Taps > 1)
            if (components_.filled() < static_cast<int>(Taps))
                return predict_with<Taps / 2>(doppler, out);
        components_.template filter<Taps>(short_filters_[std::countr_zero(Taps)], doppler, out.re,
                                          out.im);
    }

    struct forecast {
        bool valid = false;
        bin_gains own, other;
    };
    // Finds the mixture of both forecasts that would have been the best for this slot.
    void update_mixture(const bin_gains& now) noexcept {
        const auto& f = forecasts_[due_];
        if (!f.valid) return;
        const auto [between, towards] =
            lane_sum(bin_gains::padded, [&](auto at) {
                const auto own_re = at(f.own.re.data()), own_im = at(f.own.im.data());
                const auto dr = at(f.other.re.data()) - own_re, di = at(f.other.im.data()) - own_im;
                return lane_terms{dr * dr + di * di, dr * (at(now.re.data()) - own_re) +
                                                         di * (at(now.im.data()) - own_im)};
            }).of;
        difference_power_ = mix_forget * difference_power_ + static_cast<double>(between);
        projection_ = mix_forget * projection_ + static_cast<double>(towards);
        mix_ = difference_power_ > 0 ? std::clamp(projection_ / difference_power_, 0.0, 1.0) : 0;
    }

    void learn_level(const gain_sample& now) noexcept {
        level_.advance();
        if (!search_.ready() || !components_.full()) return;
        const gain_sample supposed = without_level(now);
        const std::size_t count =
            components_.innovations(supposed.gain.re, supposed.gain.im, supposed.direction_error,
                                    next_, search_.doppler(), innovations_);
        components_.rescale(level_.learn({innovations_.data(), count}));
    }

    gain_sample without_level(const gain_sample& now) const noexcept {
        gain_sample out = now;
        const float inverse = 1 / level_.amplitude();
        scale(out.gain, inverse);
        out.error *= inverse * inverse;
        out.direction_error *= inverse * inverse;
        return out;
    }

    int horizon_;
    clarke_filters filters_, next_;
    std::array<clarke_filters, 6> short_filters_;  // filters of 1, 2, 4 .. 32 taps
    doppler_search search_;
    std::unique_ptr<gain_predictor> least_squares_;

    fading_components<nof_bins, order> components_;
    band_level level_;
    std::array<band_level::innovation, nof_bins> innovations_;
    int skipped_ = 0;
    gain_sample last_;  // as measured

    std::vector<forecast> forecasts_;  // by target slot
    std::size_t due_ = 0;
    double difference_power_ = 0, projection_ = 0;  // |l-d|^2 and Re conj(l-d) (h-d), due forecasts
    double mix_ = 0;
};

}  // namespace

std::unique_ptr<gain_predictor> make_delay_predictor(int horizon) {
    return std::make_unique<delay_predictor>(horizon);
}

}  // namespace wip::phy
