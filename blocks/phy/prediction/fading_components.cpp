// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/prediction/fading_components.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "phy/math/lane_sum.h"
#include "phy/math/turn.h"
#include "types/grid.h"
#include "types/multiply_add.h"

namespace wip::phy {

namespace {

constexpr int covariance_slots = 1500;
// Work in each slot: number of components whose SNR is updated, for every 25 points, and of pairs
// that are turned if needed, for every 25 x 25 points. Neither depends on the slots before.
constexpr int classes_a_slot = 4;
constexpr int pairs_a_slot = 8;
constexpr double coherence = 0.005;  // squared coherence of two components that is taken for chance
constexpr double resolution = 1e-12;  // least share of one component's power in another's
constexpr int recent_slots = 24;
// growth() estimates a factor. Both are inverse variances: that of the estimate from which on the
// factor is used at all, and that of the prior of the factor's logarithm (1 dB).
constexpr float least_known = 25, known_of_level = 75;
// Recent power relative to the noise that noise alone can cause.
constexpr float noise_share = 0.5F;
constexpr snr_class least_class_for_level{
    3};  // from this SNR (5 dB) on a component contributes to the estimate of the level
// So many strong components do not suffice for an estimate of the level; twice as many have full
// weight.
constexpr float too_few_for_level = 2;
constexpr double two_pi = 2 * std::numbers::pi;

}  // namespace

template <std::size_t Count, std::size_t Depth>
void fading_components<Count, Depth>::reset() noexcept {
    for (std::size_t i = 0; i < Count; ++i) {
        unitary_re_[i].fill(0);
        unitary_im_[i].fill(0);
        to_re_[i].fill(0);
        to_im_[i].fill(0);
        for (std::size_t p = 0; p < Count; ++p) {
            const double angle = two_pi * static_cast<double>(i * p % Count) / Count;
            unitary_re_[i][p] = std::cos(angle) / std::sqrt(double{Count});
            unitary_im_[i][p] = std::sin(angle) / std::sqrt(double{Count});
            to_re_[i][p] = static_cast<float>(unitary_re_[i][p]);
            to_im_[i][p] = static_cast<float>(unitary_im_[i][p]);
        }
        covariance_re_[i].fill(0);
        covariance_im_[i].fill(0);
        past_re_[i].fill(0);
        past_im_[i].fill(0);
    }
    start_ = 0;
    phase_ = offset_ = 0;
    averaged_ = filled_ = 0;
    noise_ = covariance_noise_ = 0;
    follows_ = false;
    recent_.fill(0);
    extra_.fill(0);
    level_ = 1;
    place_.fill({});
    next_class_ = pair_i_ = 0;
    pair_k_ = 1;
}

template <std::size_t Count, std::size_t Depth>
void fading_components<Count, Depth>::project(const row& points_re, const row& points_im) noexcept {
    for (std::size_t i = 0; i < Count; ++i) {
        const auto [re, im] = lane_sum(padded, [&](auto at) {
                                  const auto xr = at(to_re_[i].data()), xi = at(to_im_[i].data());
                                  const auto yr = at(points_re.data()), yi = at(points_im.data());
                                  return lane_terms{xr * yr - xi * yi, xr * yi + xi * yr};
                              }).of;
        component_re_[i] = re;
        component_im_[i] = im;
    }
}

// Makes room for another slot in the history.
template <std::size_t Count, std::size_t Depth>
void fading_components<Count, Depth>::advance() noexcept {
    phase_ = std::remainder(phase_ + offset_, two_pi);
    start_ = (start_ + Depth - 1) % Depth;
    filled_ = std::min(filled_ + 1, static_cast<int>(Depth));
}

// Stores the components, without the carrier offset, in the history.
template <std::size_t Count, std::size_t Depth>
void fading_components<Count, Depth>::store(const row& points_re, const row& points_im) noexcept {
    project(points_re, points_im);
    advance();
    const auto c = static_cast<float>(std::cos(phase_));
    const auto s = static_cast<float>(std::sin(phase_));
    for (std::size_t i = 0; i < Count; ++i) {
        const float re = component_re_[i] * c + component_im_[i] * s;
        const float im = component_im_[i] * c - component_re_[i] * s;
        past_re_[i][start_] = past_re_[i][start_ + Depth] = re;
        past_im_[i][start_] = past_im_[i][start_ + Depth] = im;
    }
}

template <std::size_t Count, std::size_t Depth>
float fading_components<Count, Depth>::power_of(std::size_t i) const noexcept {
    const auto power = static_cast<float>(covariance_re_[i][i]);
    const float usual = level_ * std::max(0.F, power - covariance_noise_);
    // A power of the last slots that is more than twice what chance explains is accepted as it is.
    return std::max(usual, std::min(recent_[i], 2 * (recent_[i] - noise_share * noise_)));
}

// Updates the recent powers and the level with the components of this slot, whose variance of the
// noise is `noise`. Here `usual` is the power of the components as the covariance has it.
template <std::size_t Count, std::size_t Depth>
void fading_components<Count, Depth>::follow(float noise) noexcept {
    const float weight = std::min(1.F, noise_ / noise) / recent_slots;
    float now = 0, usual = 0;
    for (std::size_t i = 0; i < Count; ++i) {
        const float power =
            component_re_[i] * component_re_[i] + component_im_[i] * component_im_[i];
        recent_[i] += weight * (power - noise - recent_[i]);
        const float counts = place_[i].part;
        now += counts * recent_[i];
        usual += counts * (static_cast<float>(covariance_re_[i][i]) - covariance_noise_);
    }
    level_ = usual > 0 ? std::clamp(now / usual, 0.01F, 10.F) : 1;
}

template <std::size_t Count, std::size_t Depth>
std::size_t fading_components<Count, Depth>::innovations(
    const row& points_re, const row& points_im, float noise, const clarke_filters& next,
    doppler_index doppler, std::span<band_level::innovation, Count> out) noexcept {
    static_assert(Depth >= band_level::lags);
    project(points_re, points_im);
    const double angle = phase_ + offset_;
    const auto c = static_cast<float>(std::cos(angle));
    const auto s = static_cast<float>(std::sin(angle));
    std::array<float, Depth> w;
    std::size_t count = 0;
    float all = 0;
    for (std::size_t i = 0; i < Count; ++i) {
        const float counts = place_[i].counts_from(least_class_for_level);
        if (!(counts > 0)) continue;
        all += counts;
        next.weights(doppler, place_[i], w);
        const float* pr = past_re_[i].data() + start_;
        const float* pi = past_im_[i].data() + start_;
        auto& o = out[count++];
        const auto [sr, si] = lane_sum(Depth, [&](auto at) {
                                  const auto weight = at(w.data());
                                  return lane_terms{weight * at(pr), weight * at(pi)};
                              }).of;
        o.to_re[0] = o.to_im[0] = 0;
        o.to_re[1] = sr;
        o.to_im[1] = si;
        for (std::size_t n = 0; n < band_level::lags; ++n) {
            o.to_re[n + 2] = -w[n] * pr[n];
            o.to_im[n + 2] = -w[n] * pi[n];
        }
        o.re = component_re_[i] * c + component_im_[i] * s - sr;
        o.im = component_im_[i] * c - component_re_[i] * s - si;
        o.variance = (power_of(i) * next.error(doppler, place_[i]) + noise + 1e-30F) / counts;
    }
    const float share = std::clamp(all / too_few_for_level - 1, 0.F, 1.F);
    if (!(share > 0)) return 0;
    if (share < 1)
        for (auto& o : out.first(count)) o.variance /= share;
    return count;
}

template <std::size_t Count, std::size_t Depth>
std::complex<float> fading_components<Count, Depth>::growth(const row& points_re,
                                                            const row& points_im, float noise,
                                                            const clarke_filters& next,
                                                            doppler_index doppler) noexcept {
    project(points_re, points_im);
    const double angle = phase_ + offset_;
    const auto c = static_cast<float>(std::cos(angle));
    const auto s = static_cast<float>(std::sin(angle));
    std::array<float, Depth> w;
    std::complex<float> towards{};
    float known = 0;
    for (std::size_t i = 0; i < Count; ++i) {
        if (!(place_[i].part > 0)) continue;
        next.weights(doppler, place_[i], w);
        const float* pr = past_re_[i].data() + start_;
        const float* pi = past_im_[i].data() + start_;
        const auto [re, im] = lane_sum(Depth, [&](auto at) {
                                  const auto weight = at(w.data());
                                  return lane_terms{weight * at(pr), weight * at(pi)};
                              }).of;
        const float dr = component_re_[i] * c + component_im_[i] * s - re;
        const float di = component_im_[i] * c - component_re_[i] * s - im;
        const float counts =
            place_[i].part / (power_of(i) * next.error(doppler, place_[i]) + noise + 1e-30F);
        towards += counts * std::complex<float>(re * dr + im * di, re * di - im * dr);
        known += counts * (re * re + im * im);
    }
    if (!(known > least_known)) return 1;
    const std::complex<float> factor = 1.F + towards / known;
    const float level = 0.5F * std::log(std::norm(factor)) * known / (known + known_of_level);
    return std::polar(std::exp(level), angle_of(factor));
}

template <std::size_t Count, std::size_t Depth>
void fading_components<Count, Depth>::rescale(std::span<const float> factors) noexcept {
    alignas(64) std::array<float, 2 * Depth> all;
    all.fill(1);
    for (std::size_t n = 0; n < std::min(factors.size(), Depth); ++n) {
        const std::size_t at = (start_ + n) % Depth;
        all[at] = all[at + Depth] = factors[n];
    }
    for (std::size_t i = 0; i < Count; ++i)
        for (std::size_t n = 0; n < 2 * Depth; ++n) {
            past_re_[i][n] *= all[n];
            past_im_[i][n] *= all[n];
        }
}

// `noise` is the error variance of these points, `usual` that of most slots, for which the filters
// are made.
// A measurement y with error variance w moves an estimate x with error variance P by P / (P + w) of
// y - x. The measurement with error variance v that does the same is x + (P + v) / (P + w) (y - x).
template <std::size_t Count, std::size_t Depth>
float fading_components<Count, Depth>::store(const row& points_re, const row& points_im,
                                             float noise, float usual, const clarke_filters& next,
                                             doppler_index doppler) noexcept {
    const bool measured = std::isfinite(noise);
    follows_ = true;
    noise_ = usual;
    classify();
    if (measured) {
        project(points_re, points_im);
        follow(noise);
    }
    const std::size_t newest = start_;
    advance();
    const auto c = static_cast<float>(std::cos(phase_));
    const auto s = static_cast<float>(std::sin(phase_));
    std::array<float, Depth> w;
    float surprise = 0, mean = 0;
    for (std::size_t i = 0; i < Count; ++i) {
        const float counts = place_[i].part;
        const float error = power_of(i) * next.error(doppler, place_[i]);
        float re = 0, im = 0, inherited = 0;
        if (counts > 0) {
            next.weights(doppler, place_[i], w);
            const float* pr = past_re_[i].data() + newest;
            const float* pi = past_im_[i].data() + newest;
            const auto [filtered_re, filtered_im] =
                lane_sum(Depth, [&](auto at) {
                    const auto weight = at(w.data());
                    return lane_terms{weight * at(pr), weight * at(pi)};
                }).of;
            re = filtered_re;
            im = filtered_im;
            inherited = w[0] * w[0] * std::max(0.F, extra_[i]);  // from the slot before
        }
        // The error that the filters suppose after this slot, and the error that is left.
        const float supposed = error * noise_ / (error + noise_ + 1e-30F);
        extra_[i] = (measured ? error * noise / (error + noise + 1e-30F) : error) - supposed;
        if (measured) {
            const float dr = component_re_[i] * c + component_im_[i] * s - re;
            const float di = component_im_[i] * c - component_re_[i] * s - im;
            const float share = std::min(1.F, (error + noise_) / (error + noise + 1e-30F));
            surprise += counts * (dr * dr + di * di);
            mean += counts * (error + inherited + noise);
            re += share * dr;
            im += share * di;
        }
        past_re_[i][start_] = past_re_[i][start_ + Depth] = re;
        past_im_[i][start_] = past_im_[i][start_ + Depth] = im;
    }
    return mean > 0 ? surprise / mean : 0;
}

template <std::size_t Count, std::size_t Depth>
void fading_components<Count, Depth>::learn(float noise) noexcept {
    averaged_ = std::min(averaged_ + 1, covariance_slots);
    if (follows_) {
        covariance_noise_ += (noise - covariance_noise_) / static_cast<float>(averaged_);
    } else {
        noise_ += (noise - noise_) / static_cast<float>(std::min(averaged_, 64));
        covariance_noise_ = noise_;
    }
    average();
    if (!follows_) classify();
    rotate_some();
}

template <std::size_t Count, std::size_t Depth>
void fading_components<Count, Depth>::set_offset(double radians) noexcept {
    const double change = radians - offset_;
    if (change == 0) return;
    offset_ = radians;
    std::array<float, 2 * Depth> c, s;
    for (std::size_t age = 0; age < Depth; ++age) {
        const std::size_t at = (start_ + age) % Depth;
        c[at] = c[at + Depth] = static_cast<float>(std::cos(change * static_cast<double>(age)));
        s[at] = s[at + Depth] = static_cast<float>(std::sin(change * static_cast<double>(age)));
    }
    for (std::size_t i = 0; i < Count; ++i)
        for (std::size_t n = 0; n < 2 * Depth; ++n) {
            const float re = past_re_[i][n];
            past_re_[i][n] = re * c[n] - past_im_[i][n] * s[n];
            past_im_[i][n] = past_im_[i][n] * c[n] + re * s[n];
        }
}

template <std::size_t Count, std::size_t Depth>
void fading_components<Count, Depth>::average() noexcept {
    const double weight = 1 / static_cast<double>(averaged_);
    const double keep = 1 - weight;
    alignas(64) std::array<double, padded> all_re, all_im;
    std::copy(component_re_.begin(), component_re_.end(), all_re.begin());
    std::copy(component_im_.begin(), component_im_.end(), all_im.begin());
    for (std::size_t i = 0; i < Count; ++i) {
        const double re = weight * all_re[i];
        const double im = weight * all_im[i];
        double* to_re = covariance_re_[i].data();
        double* to_im = covariance_im_[i].data();
        for (std::size_t k = i / 8 * 8; k < padded; ++k) {
            to_re[k] = multiply_add(im, all_im[k], multiply_add(re, all_re[k], keep * to_re[k]));
            to_im[k] = multiply_add(-re, all_im[k], multiply_add(im, all_re[k], keep * to_im[k]));
        }
    }
}

template <std::size_t Count, std::size_t Depth>
void fading_components<Count, Depth>::classify() noexcept {
    for (int n = 0; n < classes_a_slot * static_cast<int>(Count / 25); ++n) {
        const std::size_t i = next_class_;
        next_class_ = (next_class_ + 1) % Count;
        place_[i] = clarke_filters::place_of(power_of(i) / (noise_ + 1e-30F));
    }
}

// Rotates some pairs of components so that each pair becomes uncorrelated. Two precautions:
// 1. A covariance of few slots has a rank below the number of components. A component without
//    power of its own then holds only rounding errors, and its coherence with the others (or even
//    the sign of its power) is arbitrary. So every power counts as at least that of the noise, and
//    rounding errors never rotate the basis.
// 2. A pair is rotated until its coherence is what chance explains, and no further. If it were
//    rotated either completely or not at all, the last bit of a sum would decide which of both, and
//    with it the basis of all later slots.
template <std::size_t Count, std::size_t Depth>
void fading_components<Count, Depth>::rotate_some() noexcept {
    constexpr int size = Count / 25;
    for (int n = 0; n < pairs_a_slot * size * size; ++n) {
        const std::size_t i = pair_i_;
        const std::size_t k = pair_k_;
        if (++pair_k_ == Count) {
            pair_i_ = pair_i_ + 2 == Count ? 0 : pair_i_ + 1;
            pair_k_ = pair_i_ + 1;
        }
        const double a = covariance_re_[i][i];
        const double b = covariance_re_[k][k];
        const double cross = covariance_re_[i][k] * covariance_re_[i][k] +
                             covariance_im_[i][k] * covariance_im_[i][k];
        const double more = std::max(a, b);
        const auto noise = static_cast<double>(noise_);
        const double less = std::max({std::min(a, b), noise, resolution * more});
        const double by_chance = coherence * more * less;
        if (!(cross > by_chance) || !(more > 2 * noise)) continue;
        rotate(i, k, std::min(1 - std::sqrt(by_chance / cross), (more / noise - 2) / 4));
    }
}

// Jacobi: c_i' = x c_i + y e^jp c_k, c_k' = -y e^-jp c_i + x c_k, uncorrelated after the whole of
// it.
template <std::size_t Count, std::size_t Depth>
void fading_components<Count, Depth>::rotate(std::size_t i, std::size_t k, double part) noexcept {
    for (const std::size_t n : {i, k})
        for (std::size_t m = 0; m < n; ++m) {
            covariance_re_[n][m] = covariance_re_[m][n];
            covariance_im_[n][m] = -covariance_im_[m][n];
        }
    const double re = covariance_re_[i][k];
    const double im = covariance_im_[i][k];
    const double size = std::hypot(re, im);
    const double tau = (covariance_re_[i][i] - covariance_re_[k][k]) / (2 * size);
    const double t = (tau < 0 ? -1 : 1) / (std::abs(tau) + std::sqrt(1 + tau * tau));
    const double angle = part * std::atan(t);
    const double x = std::cos(angle);
    const double y_re = std::sin(angle) * re / size;
    const double y_im = std::sin(angle) * im / size;
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
         Count);
    for (std::size_t b = 0; b < Count; ++b) {
        to_re_[i][b] = static_cast<float>(unitary_re_[i][b]);
        to_im_[i][b] = static_cast<float>(unitary_im_[i][b]);
        to_re_[k][b] = static_cast<float>(unitary_re_[k][b]);
        to_im_[k][b] = static_cast<float>(unitary_im_[k][b]);
    }
    turn(past_re_[i].data(), past_im_[i].data(), past_re_[k].data(), past_im_[k].data(), 2 * Depth);
    turn(covariance_re_[i].data(), covariance_im_[i].data(), covariance_re_[k].data(),
         covariance_im_[k].data(), padded);
    const double a_re = covariance_re_[i][i], b_re = covariance_re_[k][k];
    const double ik_re = covariance_re_[i][k], ik_im = covariance_im_[i][k];
    const double a_im = covariance_im_[i][i];
    const double ki_re = covariance_re_[k][i], ki_im = covariance_im_[k][i];
    // The columns are the conjugates of the rows but for the square where both meet.
    for (const std::size_t n : {i, k})
        for (std::size_t m = 0; m < n; ++m) {
            covariance_re_[m][n] = covariance_re_[n][m];
            covariance_im_[m][n] = -covariance_im_[n][m];
        }
    covariance_re_[i][i] = x * a_re + y_re * ik_re + y_im * ik_im;
    covariance_re_[k][k] = x * b_re - y_re * ki_re + y_im * ki_im;
    covariance_im_[i][i] = covariance_im_[k][k] = 0;
    covariance_re_[i][k] = covariance_re_[k][i] = x * ik_re - y_re * a_re + y_im * a_im;
    covariance_im_[i][k] = x * ik_im - y_re * a_im - y_im * a_re;
    covariance_im_[k][i] = -covariance_im_[i][k];
}

template <std::size_t Count, std::size_t Depth>
template <std::size_t Taps>
void fading_components<Count, Depth>::filter(const clarke_filters& filters, doppler_index doppler,
                                             row& re, row& im) const noexcept {
    re.fill(0);
    im.fill(0);
    const double angle = phase_ + offset_ * filters.ahead();
    const auto c = static_cast<float>(std::cos(angle));
    const auto s = static_cast<float>(std::sin(angle));
    std::array<float, Taps> w;
    for (std::size_t i = 0; i < Count; ++i) {
        if (!(place_[i].part > 0)) continue;
        filters.weights(doppler, place_[i], w);
        const float* pr = past_re_[i].data() + start_;
        const float* pi = past_im_[i].data() + start_;
        const auto [sr, si] = lane_sum(Taps, [&](auto at) {
                                  const auto weight = at(w.data());
                                  return lane_terms{weight * at(pr), weight * at(pi)};
                              }).of;
        const float tr = sr * c - si * s;
        const float ti = sr * s + si * c;
        for (std::size_t p = 0; p < padded; ++p) {  // times conj(unitary)
            re[p] = multiply_add(to_im_[i][p], ti, multiply_add(to_re_[i][p], tr, re[p]));
            im[p] = multiply_add(-to_im_[i][p], tr, multiply_add(to_re_[i][p], ti, im[p]));
        }
    }
}

template <std::size_t Count, std::size_t Depth>
void fading_components<Count, Depth>::error(const clarke_filters& first,
                                            const clarke_filters& second, doppler_index doppler,
                                            row& out) const noexcept {
    out.fill(0);
    for (std::size_t i = 0; i < Count; ++i) {
        const float missed =
            (first.error(doppler, place_[i]) + second.error(doppler, place_[i])) / 2;
        const float e = power_of(i) * missed + extra_[i];
        if (!(e > 0)) continue;
        for (std::size_t p = 0; p < padded; ++p)
            out[p] = multiply_add(
                e, multiply_add(to_re_[i][p], to_re_[i][p], to_im_[i][p] * to_im_[i][p]), out[p]);
    }
}

using predicted = fading_components<nof_bins, 64>;     // delay_predictor
using filtered = fading_components<2 * nof_bins, 16>;  // bin_power_filter
template class fading_components<nof_bins, 64>;
template class fading_components<2 * nof_bins, 16>;
using filters = const clarke_filters&;
template void predicted::filter<1>(filters, doppler_index, row&, row&) const noexcept;
template void predicted::filter<2>(filters, doppler_index, row&, row&) const noexcept;
template void predicted::filter<4>(filters, doppler_index, row&, row&) const noexcept;
template void predicted::filter<8>(filters, doppler_index, row&, row&) const noexcept;
template void predicted::filter<16>(filters, doppler_index, row&, row&) const noexcept;
template void predicted::filter<32>(filters, doppler_index, row&, row&) const noexcept;
template void predicted::filter<64>(filters, doppler_index, row&, row&) const noexcept;
template void filtered::filter<16>(filters, doppler_index, row&, row&) const noexcept;

}  // namespace wip::phy
