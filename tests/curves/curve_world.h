// SPDX-License-Identifier: GPL-3.0-or-later
// The world in which the curves are measured: modulator, multipath channel of known gains, CFO,
// timing, white noise, receiver, in one thread, all from one seed.
//
// The truth. With the gains a_p(t) of the taps the channel of resource element (l, n) is
//     H(l, n) = sum_p a_p(t_l) exp(-j 2 pi f_n (tau_p + latency / fs)),
// t_l = middle of the part of OFDM symbol l that the FFT sees; with shadowing, times its amplitude
// then. Noise has variance 1 / SNR per resource element of unit energy and unit mean channel power,
// so the true SNR of a bin in a slot is the mean of |H|^2 over its 120 elements times that SNR.
#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "../unit/phy/phy_link.h"
#include "phy/grid/resource_map.h"
#include "phy/grid/signal_level.h"
#include "phy/math/aligned.h"
#include "profiles/channel_definition.h"
#include "sample/large_scale_gain.h"
#include "sample/noise.h"
#include "sample/tapped_delay_line.h"

namespace wip::curves {

using phy::cf32;
using cf64 = std::complex<double>;

inline double from_db(double v) { return std::pow(10.0, v / 10); }
inline double to_db(double v) { return 10 * std::log10(v); }
// v = f c / 3e8: 75 km/h at 1.8 GHz are 125 Hz.
inline double doppler_of(double kmh, double carrier_hz = 1.8e9) {
    return kmh / 3.6 / 3e8 * carrier_hz;
}

inline constexpr std::int64_t first_slot = 150;

struct world_config {
    std::string profile{};  // empty: no channel, only a gain of 1
    double doppler_hz = 0;
    bool shadowing = false;  // with the shadowing of the profile
    double snr_db = 30;
    double cfo_hz = 0;
    int cell = 0;
    int bits_per_symbol = 2;
    std::uint64_t seed = 1;
    // terminal that sends on the uplink: random forms, frames in all bins
    std::optional<int> terminal{};
};

struct truth {
    std::array<std::array<cf64, nof_subcarriers>, symbols_per_slot> h;
    std::array<double, nof_bins> power{};  // mean |H|^2 of the bin over the slot
};

class world {
public:
    explicit world(const world_config& c)
        : config(c),
          source_(c.bits_per_symbol, static_cast<std::uint32_t>(c.seed * 2654435761U + 1)),
          forms_(c.seed),
          modulator_({.cell = c.cell, .terminal = c.terminal}),
          clean(slot_samples),
          noisy(slot_samples) {
        if (!c.profile.empty()) {
            const auto definition = profiles::load_definition(c.profile);
            const auto& profile = definition.profile;
            mean_delay_ = profile.mean_delay_s() * static_cast<double>(sample_rate_hz);
            line_.emplace(profile, c.doppler_hz,
                          sample_model::stage_context{.seed = c.seed, .purpose = 1});
            if (c.shadowing) shade(definition);
            for (const auto& t : profile.taps) {
                auto& row = phasor_.emplace_back();
                const double tau = t.delay_s + static_cast<double>(line_->latency()) /
                                                   static_cast<double>(sample_rate_hz);
                for (int n = 0; n < nof_subcarriers; ++n)
                    row[static_cast<std::size_t>(n)] = std::polar(
                        1.0, -2 * std::numbers::pi * 1e4 * phy::signed_subcarrier(n) * tau);
            }
        }
        set_snr(c.snr_db);
    }

    void set_snr(double snr_db) {
        const double a = static_cast<double>(phy::symbol_amplitude());
        snr = from_db(snr_db);
        noise_.emplace(a * a * fft_size / snr, config.seed, 2);
        noise_->seek(position());
    }
    void set_bits(int k) {
        source_ = phy::test::slot_source(k, static_cast<std::uint32_t>(config.seed));
    }
    // Samples by which the first path comes late, filter of the channel model included.
    double path_delay() const { return line_ ? static_cast<double>(line_->latency()) : 0; }
    double mean_delay() const { return path_delay() + mean_delay_; }

    // Makes the next slot: `sent` (on the uplink also `form`), `clean` (noiseless) and `noisy`.
    void next() {
        const slot air(first_slot + made_);
        sent = source_.make(air);
        const auto x = config.terminal ? modulate_uplink() : phy::test::modulate(modulator_, sent);
        const std::int64_t at = position();
        if (line_)
            line_->work(at, x, clean);
        else
            std::copy(x.begin(), x.end(), clean.begin());
        if (shade_) shade_->work(at, clean, clean);
        if (config.cfo_hz != 0) {
            const double turns = config.cfo_hz / static_cast<double>(sample_rate_hz);
            const double start = std::fmod(turns * static_cast<double>(at), 1.0);
            cf64 w = std::polar(1.0, 2 * std::numbers::pi * start);
            const cf64 step = std::polar(1.0, 2 * std::numbers::pi * turns);
            for (auto& v : clean) {
                v = cf32(cf64(v) * w);
                w *= step;
            }
        }
        noise_->work(clean, noisy);
        ++made_;
    }
    // Leaves n slots out: what follows is as if they had been sent (SNs do not count them).
    void skip(int n) {
        made_ += n;
        noise_->seek(position());
    }
    slot now() const { return slot(first_slot + made_ - 1); }
    std::int64_t position() const { return made_ * slot_samples; }

    // The channel of the slot that next() made.
    void look(truth& t) const {
        t.power.fill(line_ ? 0.0 : 1.0);
        for (auto& row : t.h) row.fill(line_ ? 0.0 : 1.0);
        if (!line_) return;
        std::vector<cf32> gains(line_->nof_taps());
        for (int l = 0; l < symbols_per_slot; ++l) {
            const auto ul = static_cast<std::size_t>(l);
            const std::int64_t middle = position() - slot_samples + symbol_offset(l) +
                                        prefix_samples[ul] - 34 + fft_size / 2;
            line_->gains(middle, gains);
            const double level = level_ ? level_->slow(middle).amplitude() : 1;
            for (std::size_t p = 0; p < gains.size(); ++p) {
                const cf64 a = level * cf64(gains[p]);
                for (std::size_t n = 0; n < nof_subcarriers; ++n) t.h[ul][n] += a * phasor_[p][n];
            }
            for (std::size_t n = 0; n < nof_subcarriers; ++n)
                t.power[n / subcarriers_per_bin] += std::norm(t.h[ul][n]) / 120;
        }
    }

    world_config config;
    double snr = 1;

private:
    std::vector<cf32> modulate_uplink() {
        for (auto& byte : form) byte = static_cast<std::uint8_t>(forms_());
        std::array<std::span<const std::uint8_t>, nof_bins> views;
        for (std::size_t b = 0; b < nof_bins; ++b) views[b] = sent.payload[b];
        std::vector<cf32> out(slot_samples);
        modulator_.work_uplink(sent.air, form, sent.grant, views,
                               std::span<cf32, slot_samples>(out));
        return out;
    }
    void shade(const profiles::channel_definition& d) {
        const auto all = profiles::realise(
            d, {.doppler_hz = config.doppler_hz, .shadowing = profiles::channel_choice::use::on},
            config.seed);
        const sample_model::stage_context context{.seed = config.seed, .purpose = 1};
        const sample_model::motion movement(all.movement, context.sample_rate);
        shade_.emplace(all.large_scale, movement, context);
        level_.emplace(all.large_scale, movement, context);
    }

    phy::test::slot_source source_;
    std::mt19937_64 forms_;
    phy::slot_modulator modulator_;
    std::optional<sample_model::tapped_delay_line> line_;
    std::optional<sample_model::large_scale_gain> shade_;     // applied to the samples
    mutable std::optional<sample_model::large_scale> level_;  // the same process, for the truth
    std::optional<sample_model::noise> noise_;
    std::vector<std::array<cf64, nof_subcarriers>> phasor_;
    double mean_delay_ = 0;
    std::int64_t made_ = 0;

public:
    phy::test::sent_slot sent;
    control_content form{};
    std::vector<cf32> clean, noisy;
};

// Called with every report of a slot; the receiver reports a slot in the call that brings it, so
// the report of a locked receiver is about the slot that the world has just made.
inline void feed(phy::slot_receiver& receiver, const world& w,
                 const phy::slot_receiver::on_slot_fn& on_slot) {
    receiver.process(first_sample(w.now()), w.noisy, on_slot);
}

struct options {
    int trials = 2;
    std::uint64_t seed = 1;
    bool full = false;
};

// One function for each curve; prints JSON lines.
void awgn_curve(const options& o);
void fading_curve(const options& o);
void estimation_curve(const options& o);
void acquisition_curve(const options& o);
void noise_curve(const options& o);
void clock_curve(const options& o);
void clock20_curve(const options& o);
void tracking_curve(const options& o);
void snr_curve(const options& o);
void prediction_curve(const options& o);
void spectra_curve(const options& o);
void goodput_curve(const options& o);
void uplink_curve(const options& o);

}  // namespace wip::curves
