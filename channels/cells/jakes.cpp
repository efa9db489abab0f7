// SPDX-License-Identifier: GPL-3.0-or-later
#include "cells/jakes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "sample/counter_random.h"
#include "types/lanes.h"

namespace wip::cells {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;
// calls after which the phases are computed from the time again, before rounding errors add up
constexpr std::int64_t exact_every = 256;

std::size_t index(int n) { return static_cast<std::size_t>(n); }

}  // namespace

jakes_fading::jakes_fading(int users, int receivers, int rays, int oscillators, double doppler_hz,
                           double slot_s, int slots, std::uint64_t seed)
    : users_(users),
      width_((users + nof_lanes - 1) / nof_lanes * nof_lanes),
      receivers_(receivers),
      rays_(rays),
      oscillators_(oscillators),
      slots_(slots),
      slot_s_(slot_s),
      parts_(index(receivers * rays * 2)),
      power_(index(receivers) * index(slots) * index(width_)) {
    const int groups = receivers * rays;
    const std::uint32_t key = sample_model::derive_key(seed, 0x4A414B45u);
    for (int g = 0; g < groups; ++g)
        for (int quadrature = 0; quadrature < 2; ++quadrature) {
            quadrature_part& p = parts_[index(g * 2 + quadrature)];
            const double u = (g + 0.5) / groups;
            for (int n = 0; n < oscillators; ++n) {
                const double angle =
                    std::numbers::pi / 2 * (n + (quadrature == 0 ? u : 1 - u)) / oscillators;
                p.hz.push_back(doppler_hz * std::cos(angle));
                for (int m = 0; m < slots; ++m) {
                    const double turned = two_pi * p.hz.back() * slot_s * m;
                    p.cosine.push_back(static_cast<float>(std::cos(turned)));
                    p.sine.push_back(static_cast<float>(std::sin(turned)));
                }
                const double all = two_pi * p.hz.back() * slot_s * slots;
                p.turn_cosine.push_back(static_cast<float>(std::cos(all)));
                p.turn_sine.push_back(static_cast<float>(std::sin(all)));
                // A user's numbers do not depend on how many users there are.
                for (int k = 0; k < width_; ++k)
                    p.phase.push_back(sample_model::uniform(
                        (static_cast<std::uint64_t>(k) << 32) +
                            static_cast<std::uint64_t>((g * 2 + quadrature) * oscillators + n),
                        key));
            }
            p.start_cosine.resize(p.phase.size());
            p.start_sine.resize(p.phase.size());
        }
}

void jakes_fading::compute_phases(quadrature_part& p) const {
    const double t = static_cast<double>(calls_) * slots_ * slot_s_;
    for (int n = 0; n < oscillators_; ++n)
        for (int k = 0; k < width_; ++k) {
            const std::size_t i = index(n) * index(width_) + index(k);
            const double turns = p.hz[index(n)] * t + p.phase[i];
            const double angle = two_pi * (turns - std::floor(turns));
            p.start_cosine[i] = static_cast<float>(std::cos(angle));
            p.start_sine[i] = static_cast<float>(std::sin(angle));
        }
}

void jakes_fading::rotate_phases(quadrature_part& p) const {
    for (int n = 0; n < oscillators_; ++n) {
        const float c = p.turn_cosine[index(n)], s = p.turn_sine[index(n)];
        float* const re = p.start_cosine.data() + index(n) * index(width_);
        float* const im = p.start_sine.data() + index(n) * index(width_);
        for (int k = 0; k < width_; ++k) {
            const float old = re[k];
            re[k] = old * c - im[k] * s;
            im[k] = im[k] * c + old * s;
        }
    }
}

void jakes_fading::add_power(const quadrature_part& p, float* power) const {
    const float scale = 1.0f / static_cast<float>(oscillators_ * rays_);
    for (int k = 0; k < width_; k += nof_lanes)
        for (int m = 0; m < slots_; ++m) {
            lanes sum{};
            for (int n = 0; n < oscillators_; ++n) {
                lanes c, s;
                const std::size_t at = index(n) * index(width_) + index(k);
                std::memcpy(&c, p.start_cosine.data() + at, sizeof c);
                std::memcpy(&s, p.start_sine.data() + at, sizeof s);
                const std::size_t of_slot = index(n) * index(slots_) + index(m);
                sum += c * p.cosine[of_slot] - s * p.sine[of_slot];
            }
            float* const to = power + index(m) * index(width_) + index(k);
            lanes all;
            std::memcpy(&all, to, sizeof all);
            all += scale * sum * sum;
            std::memcpy(to, &all, sizeof all);
        }
}

void jakes_fading::advance() {
    std::ranges::fill(power_, 0.0f);
    for (int r = 0; r < receivers_; ++r)
        for (int g = r * rays_ * 2; g < (r + 1) * rays_ * 2; ++g) {
            quadrature_part& p = parts_[index(g)];
            if (calls_ % exact_every == 0)
                compute_phases(p);
            else
                rotate_phases(p);
            add_power(p, power_.data() + index(r) * index(slots_) * index(width_));
        }
    ++calls_;
}

std::span<const float> jakes_fading::power(int receiver, int slot) const {
    return std::span(power_).subspan(
        (index(receiver) * index(slots_) + index(slot)) * index(width_), index(users_));
}

void jakes_fading::ray(int receiver, int ray, int user, std::span<float> in_phase,
                       std::span<float> quadrature) const {
    const double scale = 1 / std::sqrt(static_cast<double>(oscillators_));
    for (int which = 0; which < 2; ++which) {
        const quadrature_part& p = parts_[index((receiver * rays_ + ray) * 2 + which)];
        for (int m = 0; m < slots_; ++m) {
            double sum = 0;
            for (int n = 0; n < oscillators_; ++n) {
                const std::size_t at = index(n) * index(width_) + index(user);
                const std::size_t of_slot = index(n) * index(slots_) + index(m);
                sum += static_cast<double>(p.start_cosine[at] * p.cosine[of_slot] -
                                           p.start_sine[at] * p.sine[of_slot]);
            }
            (which == 0 ? in_phase : quadrature)[index(m)] = static_cast<float>(scale * sum);
        }
    }
}

}  // namespace wip::cells
