// SPDX-License-Identifier: GPL-3.0-or-later
#include "air/mixer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sample/complex_multiply.h"
#include "types/db.h"

namespace wip::air {
namespace {

constexpr std::size_t block = 8192;

float amplitude(double gain_db) { return static_cast<float>(db(gain_db).amplitude()); }

// x[i] *= e^{j 2 pi hz (at + i) / fs}. Exact at every multiple of 64 of the absolute index, a fixed
// step between: the result depends on the index alone, not on where a call starts.
void shift(std::span<cf32> x, tick at, double hz) {
    constexpr tick grid = 64;
    static_assert(grid <= static_cast<tick>(sample_model::multiply_block));
    const double turns = hz / sample_rate;
    std::complex<double> step[grid];
    for (tick i = 0; i < grid; ++i)
        step[i] = std::polar(1.0, 2 * std::numbers::pi * turns * static_cast<double>(i));
    for (std::size_t i = 0; i < x.size();) {
        const tick n = at + static_cast<tick>(i);
        const std::size_t first = static_cast<std::size_t>(((n % grid) + grid) % grid);
        const double cycles = turns * static_cast<double>(n - static_cast<tick>(first));
        const std::complex<double> base =
            std::polar(1.0, 2 * std::numbers::pi * (cycles - std::floor(cycles)));
        const std::size_t size = std::min(x.size() - i, std::size_t{grid} - first);
        float re[grid], im[grid];
        for (std::size_t k = 0; k < size; ++k) {
            const std::complex<double> f = step[first + k];
            re[k] = static_cast<float>(base.real() * f.real() - base.imag() * f.imag());
            im[k] = static_cast<float>(base.real() * f.imag() + base.imag() * f.real());
        }
        sample_model::multiply(x.data() + i, re, im, x.data() + i, size);
        i += size;
    }
}

}  // namespace

tuning& node_tuning::of(command_kind kind) {
    switch (kind) {
        case command_kind::transmit_frequency:
            return transmit_frequency;
        case command_kind::receive_frequency:
            return receive_frequency;
        case command_kind::transmit_gain:
            return transmit_gain;
        default:
            return receive_gain;
    }
}

mixer::mixer(const medium_config& config)
    : paths_(config.nodes.size()),
      noise_(config.nodes.size()),
      scratch_(block),
      hearing_hz_(config.hearing_hz) {
    for (std::size_t i = 0; i < config.nodes.size(); ++i)
        if (config.nodes[i].noise_dbfs)
            noise_[i] =
                std::make_unique<sample_model::noise>(dbfs(*config.nodes[i].noise_dbfs).power(),
                                                      config.seed, static_cast<std::uint32_t>(i));
    for (std::size_t i = 0; i < config.paths.size(); ++i) {
        const path_config& c = config.paths[i];
        path p{c.from, amplitude(c.gain_db), c.delay_samples, c.frequency_shift_hz, nullptr};
        if (c.fading)
            p.fading = std::make_unique<sample_model::flat_fading>(
                c.doppler_hz, sample_rate, config.seed, static_cast<std::uint32_t>(i));
        max_delay_ = std::max(max_delay_, p.delay);
        paths_[c.to].push_back(std::move(p));
    }
}

void mixer::hear(std::size_t receiver, tick at, std::span<cf32> out,
                 std::span<const transmit_reader> transmitters,
                 std::span<const node_tuning> tunings) {
    const node_tuning& own = tunings[receiver];
    while (!out.empty()) {
        const std::span<cf32> part = out.first(std::min(block, out.size()));
        std::fill(part.begin(), part.end(), cf32{});
        for (path& p : paths_[receiver])
            add_path(p, receiver, at, part, transmitters[p.from], tunings[p.from], own);
        if (noise_[receiver]) {
            noise_[receiver]->seek(at);
            noise_[receiver]->work(part, part);
        }
        for (std::size_t done = 0; done < part.size();) {
            const tick t = at + static_cast<tick>(done);
            const tick until = own.receive_gain.next_change(t);
            const std::size_t n = until - t < static_cast<tick>(part.size() - done)
                                      ? static_cast<std::size_t>(until - t)
                                      : part.size() - done;
            const float g = amplitude(own.receive_gain.at(t));
            float* x = reinterpret_cast<float*>(part.data() + done);
            for (std::size_t i = 0; i < 2 * n; ++i)
                x[i] = std::min(1.0f, std::max(-1.0f, g * x[i]));
            done += n;
        }
        at += static_cast<tick>(part.size());
        out = out.subspan(part.size());
    }
}

void mixer::add_path(path& p, std::size_t, tick at, std::span<cf32> out,
                     const transmit_reader& transmitter, const node_tuning& from,
                     const node_tuning& to) {
    if (!transmitter.active()) return;
    for (std::size_t done = 0; done < out.size();) {
        const tick t = at + static_cast<tick>(done);
        const tick sent = t - p.delay;
        tick left = static_cast<tick>(out.size() - done);
        const auto limit = [&left](tick change, tick since) {
            if (change != never) left = std::min(left, change - since);
        };
        limit(to.receive_frequency.next_change(t), t);
        limit(from.transmit_frequency.next_change(sent), sent);
        limit(from.transmit_gain.next_change(sent), sent);
        const std::size_t n = static_cast<std::size_t>(left);
        const double offset = from.transmit_frequency.at(sent) - to.receive_frequency.at(t);
        const std::span<cf32> x(scratch_.data(), n);
        if (std::abs(offset) <= hearing_hz_ && transmitter.read(sent, x)) {
            const float g = p.amplitude * amplitude(from.transmit_gain.at(sent));
            if (p.fading) {
                p.fading->seek(t);
                p.fading->work(x, x);
            }
            if (offset + p.shift_hz != 0) shift(x, t, offset + p.shift_hz);
            float* y = reinterpret_cast<float*>(out.data() + done);
            const float* v = reinterpret_cast<const float*>(x.data());
            for (std::size_t i = 0; i < 2 * n; ++i) y[i] += g * v[i];
        }
        done += n;
    }
}

}  // namespace wip::air
