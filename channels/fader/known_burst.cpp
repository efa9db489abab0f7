// SPDX-License-Identifier: GPL-3.0-or-later
#include "fader/known_burst.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <unsupported/Eigen/FFT>

namespace wip::cabled {
namespace {

using complex = std::complex<double>;
using values_array = std::array<complex, known_burst::nof_values>;

constexpr double least_similarity = 0.4;  // reached at a signal-to-noise ratio of -1.8 dB
constexpr tick step = 8;                  // every 8th sample is compared
constexpr double least_power = 1e-9;      // -90 dBFS
constexpr tick shortest_run = 768, longest_run = 4608;  // samples; 3900 without noise
// The least share of the power at the strongest delay; noise has 1 %.
constexpr double least_share_at_best_delay = 0.04;
constexpr tick end_after_centre = 1024;  // samples from the middle of the burst to the end of the
                                         // comparison that has its middle there

complex turn(double cycles) { return std::polar(1.0, 2 * std::numbers::pi * cycles); }

// Averages the response over 150 kHz each, after its mean delay (weighted by power) has been
// removed.
values_array values_of(std::span<complex> h) {
    complex slope{};
    for (std::size_t b = 0; b + 1 < h.size(); ++b) slope += h[b + 1] * std::conj(h[b]);
    const double cycles = std::arg(slope) / (2 * std::numbers::pi);
    values_array values{};
    for (std::size_t b = 0; b < h.size(); ++b)
        values[b / known_burst::bins_in_mean] +=
            h[b] * turn(-cycles * static_cast<double>(b)) / double{known_burst::bins_in_mean};
    return values;
}

// Mean of the windows without the carrier's offset.
std::vector<cf32> mean_window(std::span<const cf32> samples, double cfo) {
    constexpr auto size = static_cast<std::size_t>(known_burst::period);
    std::vector<cf32> mean(size);
    const complex rotation = turn(-cfo);
    complex now = 1;
    for (std::size_t i = 0; i < samples.size(); ++i, now *= rotation)
        mean[i % size] +=
            samples[i] * cf32(now) * (1.0F / static_cast<float>(known_burst::windows));
    return mean;
}

// Checks that a periodic signal is the known sequence, since a tone is periodic, too, and a weak
// one in noise passes the comparison now and then. A carrier offset of a multiple of 15 kHz acts on
// a Zadoff-Chu sequence as a delay, so the Fourier transform of the product with the conjugate
// sequence is the correlation at all delays at once.
bool is_known(const heard_burst& b) {
    static const std::vector<cf32> known = [] {
        std::vector<cf32> k;
        for (tick n = 0; n < known_burst::period; ++n) k.push_back(known_burst::sample(n));
        return k;
    }();
    thread_local Eigen::FFT<float> transform;
    thread_local std::vector<cf32> at_delay;
    std::vector<cf32> x = mean_window(b.samples, b.cfo);
    float power = 0, best = 0;
    for (std::size_t n = 0; n < x.size(); ++n)
        power += std::norm(x[n]), x[n] *= std::conj(known[n]);
    transform.fwd(at_delay, x);
    for (const cf32 v : at_delay) best = std::max(best, std::norm(v));
    constexpr double own =
        known_burst::amplitude * known_burst::amplitude * double{known_burst::period};
    return static_cast<double>(best) > least_share_at_best_delay * own * static_cast<double>(power);
}

}  // namespace

cf32 known_burst::sample(tick n) {
    n %= period;
    return cf32(amplitude * turn(-static_cast<double>(n * n % (2 * period)) / double{2 * period}));
}

std::vector<complex> known_burst::spectrum(std::span<const cf32> x) {
    static const std::vector<complex> phase = [] {
        std::vector<complex> p;
        for (tick n = 0; n < period; ++n)
            p.push_back(turn(-static_cast<double>(n) / double{period}));
        return p;
    }();
    std::vector<complex> bins(nof_bins);
    for (int b = 0; b < nof_bins; ++b) {
        double re = 0, im = 0;
        for (std::size_t n = 0; n < x.size(); ++n) {
            const complex p =
                phase[static_cast<std::size_t>((b + first_bin) * static_cast<int>(n)) %
                      static_cast<std::size_t>(period)];
            const double u = static_cast<double>(x[n].real()), v = static_cast<double>(x[n].imag());
            re += u * p.real() - v * p.imag();
            im += u * p.imag() + v * p.real();
        }
        bins[static_cast<std::size_t>(b)] = {re, im};
    }
    return bins;
}

burst_response response_of(const heard_burst& b, double cfo) {
    constexpr auto size = static_cast<std::size_t>(known_burst::period);
    static const std::vector<complex> sent = [] {
        std::vector<cf32> x;
        for (tick n = 0; n < known_burst::period; ++n) x.push_back(known_burst::sample(n));
        return known_burst::spectrum(x);
    }();
    constexpr double whole = 1 / double{known_burst::period};
    const double off = cfo == 0 ? b.cfo : b.cfo + whole * std::round((cfo - b.cfo) / whole);
    // The weights of the four windows: their sum with these weights is free of everything that
    // changes at most quadratically with time, as the channel does, and leaves noise.
    constexpr std::array<float, known_burst::windows> third_difference{1, -3, 3, -1};
    std::vector<cf32> noise(size);
    for (std::size_t i = 0; i < b.samples.size(); ++i)
        noise[i % size] +=
            third_difference[i / size] * b.samples[i] * cf32(turn(-off * static_cast<double>(i)));
    auto h = known_burst::spectrum(mean_window(b.samples, off));
    burst_response r;
    for (const complex& v : known_burst::spectrum(noise)) r.noise += std::norm(v);
    // From the power of the weighted sum (20 = 1 + 9 + 9 + 1) to the noise power of one value of
    // the mean of the windows.
    r.noise /= 20 * double{known_burst::windows} * double{known_burst::bins_in_mean} *
               static_cast<double>(h.size()) * std::norm(sent[0]);
    for (std::size_t k = 0; k < h.size(); ++k) h[k] /= sent[k];
    r.values = values_of(h);
    return r;
}

burst_response response_of(std::span<const mix::path_tap> taps, double cfo) {
    std::vector<complex> h(known_burst::nof_bins);
    for (const auto& tap : taps) {
        const complex next = turn(-tap.delay_samples / double{known_burst::period});
        complex v =
            tap.gain * turn(-(cfo + double{known_burst::first_bin} / double{known_burst::period}) *
                            tap.delay_samples);
        for (complex& one : h) one += v, v *= next;
    }
    return {values_of(h), 0};
}

void burst_listener::take(tick first, std::span<const cf32> x, const on_burst_fn& on_burst) {
    if (first != end_)
        begin_ = end_ = first, similar_since_ = 0, correlation_ = {}, power_ = {}, sum_ = 0,
        power_now_ = power_before_ = 0;
    while (!x.empty()) {
        const tick n = std::min(block - (end_ & (block - 1)), static_cast<tick>(x.size()));
        std::copy_n(x.begin(), n, ring_.begin() + static_cast<tick>(index(end_)));
        end_ += n;
        x = x.subspan(static_cast<std::size_t>(n));
        if ((end_ & (block - 1)) == 0 && end_ - begin_ > ring_size / 2) on_block(on_burst);
    }
}

burst_listener::similarity burst_listener::similarity_at_block() {
    const auto ago = [last = end_ / block - 1](tick blocks) {
        return static_cast<std::size_t>(last - blocks) % nof_blocks;
    };
    // Neither block wraps around the end of the ring, since block and period divide its size.
    const cf32* x = &ring_[index(end_ - block)];
    const cf32* y = &ring_[index(end_ - block - known_burst::period)];
    complex& correlation = correlation_[ago(0)] = {};
    double& power = power_[ago(0)] = 0;
    for (tick t = 0; t < block; t += step) {
        const float a = x[t].real(), b = x[t].imag(), c = y[t].real(), d = y[t].imag();
        correlation += complex(cf32(a * c + b * d, b * c - a * d));
        power += static_cast<double>(a * a + b * b);
    }
    sum_ += correlation - correlation_[ago(window_blocks)];
    power_now_ += power - power_[ago(window_blocks)];
    power_before_ += power_[ago(blocks_in_period)] - power_[ago(blocks_in_period + window_blocks)];
    // The sums are computed anew once a round, so that a very large sample, or a NaN, does not stay
    // in them.
    if (ago(0) == 0) sum_ = 0, power_now_ = power_before_ = 0;
    for (tick b = 0; ago(0) == 0 && b < window_blocks; ++b)
        sum_ += correlation_[ago(b)], power_now_ += power_[ago(b)],
            power_before_ += power_[ago(b + blocks_in_period)];
    constexpr double compared_samples = window_blocks * block / step;
    if (std::min(power_now_, power_before_) < least_power * compared_samples) return {};
    // Nearly every block returns here; root and angle are computed only for blocks that may be
    // similar.
    if (std::norm(sum_) < 0.9 * least_similarity * least_similarity * power_now_ * power_before_)
        return {};
    return {std::abs(sum_) / std::sqrt(power_now_ * power_before_),
            std::arg(sum_) / (2 * std::numbers::pi * double{known_burst::period}),
            power_now_ / compared_samples};
}

void burst_listener::on_block(const on_burst_fn& on_burst) {
    const similarity now = similarity_at_block();
    if (now.value >= least_similarity) {
        if (similar_since_ == 0) similar_since_ = end_, best_ = {};
        if (now.value > best_.value) best_ = now;
        return;
    }
    const tick run = similar_since_ == 0 ? 0 : end_ - block - similar_since_;
    const tick centre = similar_since_ + run / 2 - end_after_centre;
    similar_since_ = 0;
    if (run < shortest_run || run > longest_run) return;
    constexpr tick size = static_cast<tick>(known_burst::windows) * known_burst::period;
    std::vector<cf32> samples;
    for (tick t = centre - size / 2; t < centre + size / 2; ++t) samples.push_back(ring_[index(t)]);
    const heard_burst heard{centre, best_.cfo, best_.power, std::move(samples)};
    if (is_known(heard)) on_burst(heard);
}

}  // namespace wip::cabled
