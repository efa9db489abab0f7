// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/delay_predictor.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

namespace wip::phy {

namespace {

constexpr int covariance_slots = 1500;
constexpr double mix_forget = 1 - 1.0 / 150;
constexpr int rotations = 4;  // in a slot
constexpr int classes_a_slot = 4;
constexpr int longest_bridge = 8;   // slots
constexpr float coherence = 0.02F;  // squared, between components: below it is chance
constexpr float nothing = 0.1F;     // SNR of a component that is not predicted
constexpr double two_pi = 2 * std::numbers::pi;

}  // namespace

delay_predictor::delay_predictor(int horizon)
    : horizon_(horizon),
      filters_(horizon, order),
      other_(horizon),
      forecasts_(static_cast<std::size_t>(horizon)) {
    reset();
}

void delay_predictor::reset() noexcept {
    search_.reset();
    other_.reset();
    for (std::size_t i = 0; i < nof_bins; ++i) {
        unitary_re_[i].fill(0);
        unitary_im_[i].fill(0);
        to_re_[i].fill(0);
        to_im_[i].fill(0);
        for (std::size_t b = 0; b < nof_bins; ++b) {
            const double angle = two_pi * static_cast<double>(i * b % nof_bins) / nof_bins;
            unitary_re_[i][b] = std::cos(angle) / std::sqrt(double{nof_bins});
            unitary_im_[i][b] = std::sin(angle) / std::sqrt(double{nof_bins});
            to_re_[i][b] = static_cast<float>(unitary_re_[i][b]);
            to_im_[i][b] = static_cast<float>(unitary_im_[i][b]);
        }
        covariance_re_[i].fill(0);
        covariance_im_[i].fill(0);
        past_re_[i].fill(0);
        past_im_[i].fill(0);
    }
    ring_start_ = 0;
    phase_ = offset_ = 0;
    averaged_ = filled_ = skipped_ = 0;
    last_ = {};
    noise_ = 0;
    class_.fill(-1);
    next_class_ = pair_i_ = 0;
    pair_k_ = 1;
    for (auto& f : forecasts_) f.valid = false;
    between_ = towards_ = mix_ = 0;
}

double delay_predictor::doppler_hz() const noexcept { return 1500 * doppler_at(search_.doppler()); }
double delay_predictor::offset_hz() const noexcept { return 1500 * search_.offset() / two_pi; }

void delay_predictor::project(const bin_gains& now) noexcept {
    for (std::size_t i = 0; i < nof_bins; ++i) {
        float re = 0;
        float im = 0;
        for (std::size_t b = 0; b < bin_gains::padded; ++b) {
            re += to_re_[i][b] * now.re[b] - to_im_[i][b] * now.im[b];
            im += to_re_[i][b] * now.im[b] + to_im_[i][b] * now.re[b];
        }
        component_re_[i] = re;
        component_im_[i] = im;
    }
}

// The component without the carrier offset into the history.
void delay_predictor::store() noexcept {
    phase_ = std::remainder(phase_ + offset_, two_pi);
    const auto c = static_cast<float>(std::cos(phase_));
    const auto s = static_cast<float>(std::sin(phase_));
    ring_start_ = (ring_start_ + ring - 1) % ring;
    for (std::size_t i = 0; i < nof_bins; ++i) {
        const float re = component_re_[i] * c + component_im_[i] * s;
        const float im = component_im_[i] * c - component_re_[i] * s;
        past_re_[i][ring_start_] = past_re_[i][ring_start_ + ring] = re;
        past_im_[i][ring_start_] = past_im_[i][ring_start_ + ring] = im;
    }
    filled_ = std::min(filled_ + 1, static_cast<int>(order));
}

// The search has another carrier offset: the history as if it had been known all along.
void delay_predictor::retune() noexcept {
    const double change = search_.offset() - offset_;
    if (change == 0) return;
    offset_ = search_.offset();
    std::array<float, 2 * ring> c, s;
    for (std::size_t age = 0; age < ring; ++age) {
        const std::size_t at = (ring_start_ + age) % ring;
        c[at] = c[at + ring] = static_cast<float>(std::cos(change * static_cast<double>(age)));
        s[at] = s[at + ring] = static_cast<float>(std::sin(change * static_cast<double>(age)));
    }
    for (std::size_t i = 0; i < nof_bins; ++i)
        for (std::size_t n = 0; n < 2 * ring; ++n) {
            const float re = past_re_[i][n];
            past_re_[i][n] = re * c[n] - past_im_[i][n] * s[n];
            past_im_[i][n] = past_im_[i][n] * c[n] + re * s[n];
        }
}

void delay_predictor::average() noexcept {
    averaged_ = std::min(averaged_ + 1, covariance_slots);
    const float weight = 1 / static_cast<float>(averaged_);
    const float keep = 1 - weight;
    for (std::size_t i = 0; i < nof_bins; ++i) {
        const float re = weight * component_re_[i];
        const float im = weight * component_im_[i];
        for (std::size_t k = 0; k < bin_gains::padded; ++k) {
            covariance_re_[i][k] =
                keep * covariance_re_[i][k] + re * component_re_[k] + im * component_im_[k];
            covariance_im_[i][k] =
                keep * covariance_im_[i][k] + im * component_re_[k] - re * component_im_[k];
        }
    }
}

void delay_predictor::rotate_some() noexcept {
    int rotated = 0;
    for (int tried = 0; tried < 24 && rotated < rotations; ++tried) {
        const std::size_t i = pair_i_;
        const std::size_t k = pair_k_;
        if (++pair_k_ == nof_bins) {
            pair_i_ = pair_i_ + 2 == nof_bins ? 0 : pair_i_ + 1;
            pair_k_ = pair_i_ + 1;
        }
        const float a = covariance_re_[i][i];
        const float b = covariance_re_[k][k];
        const float cross = covariance_re_[i][k] * covariance_re_[i][k] +
                            covariance_im_[i][k] * covariance_im_[i][k];
        if (!(cross > coherence * a * b) || std::max(a, b) < 2 * noise_) continue;
        rotate(i, k);
        ++rotated;
    }
}

// Jacobi: c_i' = x c_i + y e^jp c_k, c_k' = -y e^-jp c_i + x c_k, uncorrelated after it.
void delay_predictor::rotate(std::size_t i, std::size_t k) noexcept {
    const auto re = static_cast<double>(covariance_re_[i][k]);
    const auto im = static_cast<double>(covariance_im_[i][k]);
    const double size = std::hypot(re, im);
    const double tau =
        static_cast<double>(covariance_re_[i][i] - covariance_re_[k][k]) / (2 * size);
    const double t = (tau < 0 ? -1 : 1) / (std::abs(tau) + std::sqrt(1 + tau * tau));
    const double x = 1 / std::sqrt(1 + t * t);
    const double y_re = t * x * re / size;
    const double y_im = t * x * im / size;
    const auto turn = [&](auto* ire, auto* iim, auto* kre, auto* kim, std::size_t n) {
        using T = std::remove_reference_t<decltype(*ire)>;
        const T c = static_cast<T>(x), p = static_cast<T>(y_re), q = static_cast<T>(y_im);
        for (std::size_t m = 0; m < n; ++m) {
            const T ar = ire[m], ai = iim[m], br = kre[m], bi = kim[m];
            ire[m] = c * ar + p * br - q * bi;
            iim[m] = c * ai + p * bi + q * br;
            kre[m] = c * br - p * ar - q * ai;
            kim[m] = c * bi - p * ai + q * ar;
        }
    };
    turn(unitary_re_[i].data(), unitary_im_[i].data(), unitary_re_[k].data(), unitary_im_[k].data(),
         nof_bins);
    for (std::size_t b = 0; b < nof_bins; ++b) {
        to_re_[i][b] = static_cast<float>(unitary_re_[i][b]);
        to_im_[i][b] = static_cast<float>(unitary_im_[i][b]);
        to_re_[k][b] = static_cast<float>(unitary_re_[k][b]);
        to_im_[k][b] = static_cast<float>(unitary_im_[k][b]);
    }
    turn(past_re_[i].data(), past_im_[i].data(), past_re_[k].data(), past_im_[k].data(), 2 * ring);
    turn(covariance_re_[i].data(), covariance_im_[i].data(), covariance_re_[k].data(),
         covariance_im_[k].data(), bin_gains::padded);
    // The columns are the conjugates of the rows but for the square where both meet.
    const float a_re = covariance_re_[i][i], b_re = covariance_re_[k][k];
    const float ik_re = covariance_re_[i][k], ik_im = covariance_im_[i][k];
    const float ki_re = covariance_re_[k][i], ki_im = covariance_im_[k][i];
    for (std::size_t m = 0; m < nof_bins; ++m) {
        covariance_re_[m][i] = covariance_re_[i][m];
        covariance_im_[m][i] = -covariance_im_[i][m];
        covariance_re_[m][k] = covariance_re_[k][m];
        covariance_im_[m][k] = -covariance_im_[k][m];
    }
    const auto c = static_cast<float>(x), p = static_cast<float>(y_re),
               q = static_cast<float>(y_im);
    covariance_re_[i][i] = c * a_re + p * ik_re + q * ik_im;
    covariance_re_[k][k] = c * b_re - p * ki_re + q * ki_im;
    covariance_im_[i][i] = covariance_im_[k][k] = 0;
    covariance_re_[i][k] = covariance_re_[k][i] = 0;
    covariance_im_[i][k] = covariance_im_[k][i] = 0;
}

void delay_predictor::classify(float direction_error) noexcept {
    noise_ += (direction_error - noise_) / static_cast<float>(std::min(averaged_, 64));
    for (int n = 0; n < classes_a_slot; ++n) {
        const std::size_t i = next_class_;
        next_class_ = (next_class_ + 1) % nof_bins;
        const float snr = covariance_re_[i][i] / (noise_ + 1e-30F) - 1;
        class_[i] = snr > nothing ? clarke_filters::snr_class(snr) : -1;
    }
}

void delay_predictor::predict(bin_gains& ahead) const noexcept {
    ahead = {};
    const double angle = phase_ + offset_ * horizon_;
    const auto c = static_cast<float>(std::cos(angle));
    const auto s = static_cast<float>(std::sin(angle));
    for (std::size_t i = 0; i < nof_bins; ++i) {
        if (class_[i] < 0) continue;
        const float* w = filters_.weights(search_.doppler(), class_[i]);
        const float* pr = past_re_[i].data() + ring_start_;
        const float* pi = past_im_[i].data() + ring_start_;
        float re = 0;
        float im = 0;
        for (std::size_t n = 0; n < order; ++n) {
            re += w[n] * pr[n];
            im += w[n] * pi[n];
        }
        const float tr = re * c - im * s;
        const float ti = re * s + im * c;
        for (std::size_t b = 0; b < bin_gains::padded; ++b) {  // times conj(unitary)
            ahead.re[b] += to_re_[i][b] * tr + to_im_[i][b] * ti;
            ahead.im[b] += to_re_[i][b] * ti - to_im_[i][b] * tr;
        }
    }
}

// Which mixture of both forecasts for this slot would have been the best.
void delay_predictor::settle(const bin_gains& now) noexcept {
    const auto& f = forecasts_[due_];
    if (!f.valid) return;
    float between = 0;
    float towards = 0;
    for (std::size_t b = 0; b < bin_gains::padded; ++b) {
        const float dr = f.other.re[b] - f.own.re[b];
        const float di = f.other.im[b] - f.own.im[b];
        between += dr * dr + di * di;
        towards += dr * (now.re[b] - f.own.re[b]) + di * (now.im[b] - f.own.im[b]);
    }
    between_ = mix_forget * between_ + static_cast<double>(between);
    towards_ = mix_forget * towards_ + static_cast<double>(towards);
    mix_ = between_ > 0 ? std::clamp(towards_ / between_, 0.0, 1.0) : 0;
}

bool delay_predictor::update(const gain_sample& now, bin_gains& ahead) noexcept {
    settle(now.gain);
    last_ = now;
    skipped_ = 0;
    search_.update(now);
    project(now.gain);
    store();
    average();
    classify(now.direction_error);
    rotate_some();
    if (search_.ready()) retune();
    auto& f = forecasts_[due_];
    due_ = (due_ + 1) % forecasts_.size();
    const bool own = search_.ready() && filled_ == static_cast<int>(order);
    const bool other = other_.update(now, f.other);
    f.valid = own && other;
    if (own) predict(f.own);
    if (!own) f.own = f.other;
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

void delay_predictor::skip() noexcept {
    auto& f = forecasts_[due_];
    due_ = (due_ + 1) % forecasts_.size();
    if (f.valid) last_.gain = f.own;
    f.valid = false;
    if (++skipped_ > longest_bridge) filled_ = 0;
    project(last_.gain);
    store();
    search_.update(last_);
    bin_gains unused;
    other_.update(last_, unused);
}

}  // namespace wip::phy
