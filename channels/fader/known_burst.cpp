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

constexpr double alike_from = 0.4;                      // -1.8 dB of signal over noise
constexpr tick step = 8;                                // what is looked at of the samples
constexpr double silent = 1e-9;                         // -90 dBFS
constexpr tick shortest_run = 768, longest_run = 4608;  // 3900 without noise
// The least share of the power at the strongest delay; noise has 1 %.
constexpr double share_of_known = 0.04;
constexpr tick behind_centre = 1024;  // of the window and the period before it

complex turn(double cycles) { return std::polar(1.0, 2 * std::numbers::pi * cycles); }

// Means over 150 kHz of the response, without its mean delay (weighted by power).
values_array in_values(std::span<complex> h) {
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

// Like itself a period before is a tone, too, and a weak one in noise is now and then, without end.
// Whole 15 kHz are a delay to this sequence: at all delays at once it is the transform of what is
// left when its own phase is taken out.
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
    return static_cast<double>(best) > share_of_known * own * static_cast<double>(power);
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
    // Combines the four windows to a value in which a mean and changes with the time squared or
    // slower, such as the channel's, cancel.
    constexpr std::array<float, known_burst::windows> third{1, -3, 3, -1};
    std::vector<cf32> noise(size);
    for (std::size_t i = 0; i < b.samples.size(); ++i)
        noise[i % size] +=
            third[i / size] * b.samples[i] * cf32(turn(-off * static_cast<double>(i)));
    auto h = known_burst::spectrum(mean_window(b.samples, off));
    burst_response r;
    for (const complex& v : known_burst::spectrum(noise)) r.noise += std::norm(v);
    // The factor from the sum over windows to the noise of one value of the mean of four.
    r.noise /= 20 * double{known_burst::windows} * double{known_burst::bins_in_mean} *
               static_cast<double>(h.size()) * std::norm(sent[0]);
    for (std::size_t k = 0; k < h.size(); ++k) h[k] /= sent[k];
    r.values = in_values(h);
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
    return {in_values(h), 0};
}

void burst_listener::take(tick first, std::span<const cf32> x, const on_burst_fn& on_burst) {
    if (first != end_)
        begin_ = end_ = first, since_ = 0, alike_ = {}, power_ = {}, sum_ = 0, now_ = before_ = 0;
    while (!x.empty()) {
        const tick n = std::min(block - (end_ & (block - 1)), static_cast<tick>(x.size()));
        std::copy_n(x.begin(), n, ring_.begin() + static_cast<tick>(index(end_)));
        end_ += n;
        x = x.subspan(static_cast<std::size_t>(n));
        if ((end_ & (block - 1)) == 0 && end_ - begin_ > ring_size / 2) on_block(on_burst);
    }
}

burst_listener::likeness burst_listener::of_block() {
    const auto ago = [last = end_ / block - 1](tick blocks) {
        return static_cast<std::size_t>(last - blocks) % nof_blocks;
    };
    // Both in one piece: a block, and a period as well, is a divisor of the ring.
    const cf32* x = &ring_[index(end_ - block)];
    const cf32* y = &ring_[index(end_ - block - known_burst::period)];
    complex& alike = alike_[ago(0)] = {};
    double& power = power_[ago(0)] = 0;
    for (tick t = 0; t < block; t += step) {
        const float a = x[t].real(), b = x[t].imag(), c = y[t].real(), d = y[t].imag();
        alike += complex(cf32(a * c + b * d, b * c - a * d));
        power += static_cast<double>(a * a + b * b);
    }
    sum_ += alike - alike_[ago(window_blocks)];
    now_ += power - power_[ago(window_blocks)];
    before_ += power_[ago(blocks_in_period)] - power_[ago(blocks_in_period + window_blocks)];
    // A very loud sample, or one that is no number, does not stay in the sums.
    if (ago(0) == 0) sum_ = 0, now_ = before_ = 0;
    for (tick b = 0; ago(0) == 0 && b < window_blocks; ++b)
        sum_ += alike_[ago(b)], now_ += power_[ago(b)],
            before_ += power_[ago(b + blocks_in_period)];
    constexpr double looked_at = window_blocks * block / step;
    if (std::min(now_, before_) < silent * looked_at) return {};
    // Nearly always: root and angle are for what may be alike.
    if (std::norm(sum_) < 0.9 * alike_from * alike_from * now_ * before_) return {};
    return {std::abs(sum_) / std::sqrt(now_ * before_),
            std::arg(sum_) / (2 * std::numbers::pi * double{known_burst::period}),
            now_ / looked_at};
}

void burst_listener::on_block(const on_burst_fn& on_burst) {
    const likeness now = of_block();
    if (now.value >= alike_from) {
        if (since_ == 0) since_ = end_, best_ = {};
        if (now.value > best_.value) best_ = now;
        return;
    }
    const tick run = since_ == 0 ? 0 : end_ - block - since_;
    const tick centre = since_ + run / 2 - behind_centre;
    since_ = 0;
    if (run < shortest_run || run > longest_run) return;
    constexpr tick size = static_cast<tick>(known_burst::windows) * known_burst::period;
    std::vector<cf32> samples;
    for (tick t = centre - size / 2; t < centre + size / 2; ++t) samples.push_back(ring_[index(t)]);
    const heard_burst heard{centre, best_.cfo, best_.power, std::move(samples)};
    if (is_known(heard)) on_burst(heard);
}

}  // namespace wip::cabled
