// SPDX-License-Identifier: GPL-3.0-or-later
#include "resampler.h"
//
#include <liquid/liquid.h>  // its complex numbers are those of <complex> when that came first

#include <algorithm>
#include <cmath>
#include <new>
#include <numbers>

#include "types/require.h"

namespace wip {

namespace {

constexpr std::size_t most_inputs = 4096;  // number of samples converted at a time
// Half lengths of the two half-band filters, as long as their transition bands ask for: they begin
// at the edge of the cell, 2.505 MHz, and end at its image.
constexpr unsigned int up_half = 40, down_half = 8;

double checked_ratio(double input_hz) {
    check_range("input_hz", input_hz, resampler::lowest_hz, resampler::highest_hz);
    return static_cast<double>(sample_rate_hz) / input_hz;
}

struct destroy {
    void operator()(msresamp_crcf_s* r) const { msresamp_crcf_destroy(r); }
    void operator()(resamp2_crcf_s* r) const { resamp2_crcf_destroy(r); }
};

}  // namespace

struct resampler::chain {
    std::unique_ptr<resamp2_crcf_s, destroy> up;  // null: the input is fast enough
    std::unique_ptr<msresamp_crcf_s, destroy> any;
    std::unique_ptr<resamp2_crcf_s, destroy> down;
    std::vector<cf32> doubled;  // the input at twice its rate
    std::vector<cf32> fast;     // 15.36 MS/s; one sample may be left over for the next call
    double any_ratio;

    explicit chain(double ratio)
        : up(ratio > 1 ? resamp2_crcf_create(up_half, 0, stopband_db) : nullptr),
          any_ratio(2 * ratio / (up ? 2 : 1)) {
        any.reset(msresamp_crcf_create(static_cast<float>(any_ratio), stopband_db));
        down.reset(resamp2_crcf_create(down_half, 0, stopband_db));
        if (!any || !down || (ratio > 1 && !up)) throw std::bad_alloc();
    }

    void run(std::span<const cf32> in, std::vector<cf32>& out) {
        if (up) {
            doubled.resize(2 * in.size());
            for (std::size_t i = 0; i < in.size(); ++i)
                resamp2_crcf_interp_execute(up.get(), in[i], doubled.data() + 2 * i);
            in = doubled;
        }
        const std::size_t left_over = fast.size();
        fast.resize(left_over +
                    static_cast<std::size_t>(
                        2 * std::ceil(any_ratio * static_cast<double>(in.size())) + 64));
        unsigned int n = 0;
        // The function does not write to the samples, but its C declaration has no const.
        msresamp_crcf_execute(any.get(), const_cast<cf32*>(in.data()),
                              static_cast<unsigned int>(in.size()), fast.data() + left_over, &n);
        const std::size_t all = left_over + n;
        for (std::size_t i = 0; i + 1 < all; i += 2) {
            cf32 y;
            resamp2_crcf_decim_execute(down.get(), fast.data() + i, &y);
            out.push_back(y);
        }
        if (all % 2 == 1) fast[0] = fast[all - 1];
        fast.resize(all % 2);
    }
};

resampler::resampler(double input_hz)
    : ratio_(checked_ratio(input_hz)), filters_(std::make_unique<chain>(ratio_)) {
    // Gain and latency are not the same in all versions: they are measured, with a slow tone.
    constexpr double period = 2000;  // of the tone, output samples; more than twice any latency
    const auto tone = [](double at) { return std::polar(1.0, 2 * std::numbers::pi * at / period); };
    std::vector<cf32> in(static_cast<std::size_t>(period / ratio_)), out;
    for (std::size_t n = 0; n < in.size(); ++n) in[n] = cf32(tone(static_cast<double>(n) * ratio_));
    chain(ratio_).run(in, out);
    const auto measured =
        std::complex<double>(out.back()) * std::conj(tone(static_cast<double>(out.size() - 1)));
    scale_ = static_cast<float>(1 / std::abs(measured));
    outputs_to_skip_ = std::llround(-std::arg(measured) / (2 * std::numbers::pi) * period);
}

resampler::~resampler() = default;

std::vector<resampler::cf32> resampler::run(std::span<const cf32> in) {
    std::vector<cf32> out;
    out.reserve(static_cast<std::size_t>(ratio_ * static_cast<double>(in.size())) + 64);
    for (; !in.empty(); in = in.subspan(std::min(in.size(), most_inputs)))
        filters_->run(in.first(std::min(in.size(), most_inputs)), out);
    const auto skip = std::min(outputs_to_skip_, static_cast<std::int64_t>(out.size()));
    outputs_to_skip_ -= skip;
    out.erase(out.begin(), out.begin() + skip);
    for (auto& v : out) v *= scale_;
    return out;
}

std::vector<resampler::cf32> resampler::work(std::span<const cf32> in) {
    auto out = run(in);
    taken_ += static_cast<std::int64_t>(in.size());
    given_ += static_cast<std::int64_t>(out.size());
    return out;
}

std::vector<resampler::cf32> resampler::finish() {
    const auto all = static_cast<std::int64_t>(std::llround(static_cast<double>(taken_) * ratio_));
    const auto left = static_cast<std::size_t>(std::max<std::int64_t>(0, all - given_));
    std::vector<cf32> out;
    const std::vector<cf32> silence(most_inputs);
    while (out.size() < left) {
        const auto part = run(silence);
        out.insert(out.end(), part.begin(), part.end());
    }
    out.resize(left);
    given_ += static_cast<std::int64_t>(left);
    return out;
}

std::string resampler::name() { return std::string("liquid-dsp ") + liquid_libversion(); }

}  // namespace wip
