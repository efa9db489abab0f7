// SPDX-License-Identifier: GPL-3.0-or-later
#include "cells/wcdma_cells.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "sample/counter_random.h"
#include "types/db.h"

namespace wip::cells {
namespace {

constexpr std::int64_t settling_blocks = 40;  // 600 slots: 300 dB in steps of 0.5 dB
constexpr std::int64_t blocks_per_move = 10;
constexpr double nearest_m = 10;  // the least distance in the path loss

cells_config checked(const cells_config& config) {
    config.check();
    return config;
}

}  // namespace

wcdma_cells::wcdma_cells(const cells_config& config, std::uint64_t seed)
    : config_(checked(config)),
      layout_(config.cells, config.side_m, config.wrap),
      random_(seed ^ 0x43454C4C53000000u),
      fading_(config.users, config.cells, config.rays, config.oscillators, config.doppler_hz,
              1.0 / slots_per_second, block_slots, seed),
      loop_(config),
      noise_w_(static_cast<float>(db(config.noise_dbw).power())),
      decide_key_(sample_model::derive_key(seed, 0x424C4F43u)),
      block_(-settling_blocks - 1) {
    const auto users = static_cast<std::size_t>(config.users);
    const std::size_t links = users * static_cast<std::size_t>(config.cells);
    const auto sums = static_cast<std::size_t>(config.cells * config.carriers);
    places_.resize(users);
    courses_.resize(users);
    serving_.assign(users, 0);
    shadow_db_.resize(links);
    gain_.resize(links);
    received_w_.resize(links);
    for (auto* v : {&own_w_, &own_gain_, &outside_w_, &sir_, &sir_lowest_, &sir_sum_, &sir_db_})
        v->resize(users);
    lost_.resize(users);
    for (auto* v : {&all_w_, &of_cell_w_}) v->resize(sums);
    for (int u = 0; u < config.users; ++u) {
        places_[static_cast<std::size_t>(u)] = layout_.place_in(u % config.cells, random_);
        turn(u);
        for (int c = 0; c < config.cells; ++c)
            shadow_db_[link(c, u)] = static_cast<float>(config.shadowing_db * normal());
        update_gains(u);
        choose_site(u, 0);
    }
    handovers_ = 0;
    advance_to(-1);
}

// A standard normal number, by the method of Box and Muller.
double wcdma_cells::normal() {
    const double r = std::sqrt(-2 * std::log(1 - fraction(random_)));
    return r * std::cos(2 * std::numbers::pi * fraction(random_));
}

// Gives the user a new random course.
void wcdma_cells::turn(int user) {
    const double angle = 2 * std::numbers::pi * fraction(random_);
    courses_[static_cast<std::size_t>(user)] = {std::cos(angle), std::sin(angle)};
}

double wcdma_cells::gain_db(int user, int cell) const {
    const double m =
        std::max(nearest_m, layout_.distance_m(places_[static_cast<std::size_t>(user)], cell));
    return config_.path_gain_db - 10 * config_.path_exponent * std::log10(m) +
           static_cast<double>(shadow_db_[link(cell, user)]);
}

void wcdma_cells::update_gains(int user) {
    for (int c = 0; c < config_.cells; ++c)
        gain_[link(c, user)] = static_cast<float>(db(gain_db(user, c)).power());
}

void wcdma_cells::choose_site(int user, double hysteresis_db) {
    int& now = serving_[static_cast<std::size_t>(user)];
    int best = 0;
    for (int c = 1; c < config_.cells; ++c)
        if (gain_[link(c, user)] > gain_[link(best, user)]) best = c;
    if (gain_db(user, best) <= gain_db(user, now) + hysteresis_db) return;
    now = best;
    ++handovers_;
}

// A user that leaves the layout comes in again on the other side with wrap-around, and turns back
// without.
void wcdma_cells::move() {
    const double step = config_.speed_kmh / 3.6 * static_cast<double>(blocks_per_move) * 0.01;
    const double kept = std::exp(-step / config_.shadowing_m);
    const double renewed = config_.shadowing_db * std::sqrt(1 - kept * kept);
    for (int u = 0; u < config_.users; ++u) {
        point& at = places_[static_cast<std::size_t>(u)];
        const point before = at;
        const course& way = courses_[static_cast<std::size_t>(u)];
        at = {at.x + step * way.x, at.y + step * way.y};
        if (!layout_.covers(at)) {
            at = layout_.wrapped(at);
            if (!layout_.covers(at)) {
                at = before;
                turn(u);
            }
        }
        for (int c = 0; c < config_.cells; ++c) {
            float& shadow = shadow_db_[link(c, u)];
            shadow = static_cast<float>(kept * static_cast<double>(shadow) + renewed * normal());
        }
        update_gains(u);
        choose_site(u, config_.handover_db);
    }
}

void wcdma_cells::advance_to(std::int64_t block) {
    while (block_ < block) {
        ++block_;
        if (config_.speed_kmh > 0 && block_ > 0 && block_ % blocks_per_move == 0) move();
        run_block();
    }
}

void wcdma_cells::run_block() {
    fading_.advance();
    std::ranges::fill(sir_sum_, 0.0f);
    std::ranges::fill(sir_lowest_, std::numeric_limits<float>::max());
    for (int slot = 0; slot < block_slots; ++slot) {
        const auto powers = loop_.next_slot();
        if (config_.of == direction::uplink)
            uplink_slot(slot, powers);
        else
            downlink_slot(slot, powers);
        loop_.measured(sir_);
        add_slot();
    }
    judge();
}

// The lowest SIR is taken out of the exponents, so that none of them overflows.
void wcdma_cells::add_slot() {
    if (config_.eesm_beta == 0) {
        for (std::size_t u = 0; u < sir_.size(); ++u) sir_sum_[u] += sir_[u];
        return;
    }
    const auto scale = static_cast<float>(1 / config_.eesm_beta);
    for (std::size_t u = 0; u < sir_.size(); ++u) {
        const float step = std::exp(-std::abs(sir_[u] - sir_lowest_[u]) * scale);
        sir_sum_[u] = sir_[u] < sir_lowest_[u] ? sir_sum_[u] * step + 1 : sir_sum_[u] + step;
        sir_lowest_[u] = std::min(sir_lowest_[u], sir_[u]);
    }
}

double wcdma_cells::block_sir(std::size_t user) const {
    const double mean = static_cast<double>(sir_sum_[user]) / block_slots;
    return config_.eesm_beta == 0
               ? mean
               : static_cast<double>(sir_lowest_[user]) - config_.eesm_beta * std::log(mean);
}

void wcdma_cells::uplink_slot(int slot, std::span<const float> powers) {
    const auto users = static_cast<std::size_t>(config_.users);
    for (int c = 0; c < config_.cells; ++c) {
        const auto fading = fading_.power(c, slot);
        const float* const gain = gain_.data() + link(c, 0);
        float* const received = received_w_.data() + link(c, 0);
        for (std::size_t u = 0; u < users; ++u) received[u] = powers[u] * gain[u] * fading[u];
        for (int carrier = 0; carrier < config_.carriers; ++carrier) {
            float sum = 0;
            for (int u = carrier; u < config_.users; u += config_.carriers)
                sum += received[static_cast<std::size_t>(u)];
            all_w_[static_cast<std::size_t>(c * config_.carriers + carrier)] = sum;
        }
    }
    std::ranges::fill(of_cell_w_, 0.0f);  // here: the power that a site receives from its users
    for (int u = 0; u < config_.users; ++u) {
        own_w_[static_cast<std::size_t>(u)] = received_w_[link(cell(u), u)];
        of_cell_w_[sum_of(cell(u), u)] += own_w_[static_cast<std::size_t>(u)];
    }
    for (int u = 0; u < config_.users; ++u) {
        const std::size_t at = sum_of(cell(u), u);
        const float own = own_w_[static_cast<std::size_t>(u)];
        const float inside = std::max(0.0f, of_cell_w_[at] - own);
        const float outside = std::max(0.0f, all_w_[at] - of_cell_w_[at]);
        sir_[static_cast<std::size_t>(u)] = ratio(own, inside, outside);
    }
}

void wcdma_cells::downlink_slot(int slot, std::span<const float> powers) {
    std::ranges::fill(of_cell_w_, 0.0f);  // here: the power that a site transmits
    for (int u = 0; u < config_.users; ++u)
        of_cell_w_[sum_of(cell(u), u)] += powers[static_cast<std::size_t>(u)];
    std::ranges::fill(outside_w_, 0.0f);
    for (int c = 0; c < config_.cells; ++c) {
        const auto fading = fading_.power(c, slot);
        for (int u = 0; u < config_.users; ++u) {
            const auto at = static_cast<std::size_t>(u);
            const float gain = gain_[link(c, u)] * fading[at];
            if (c == cell(u))
                own_gain_[at] = gain;
            else
                outside_w_[at] += gain * of_cell_w_[sum_of(c, u)];
        }
    }
    for (int u = 0; u < config_.users; ++u) {
        const auto at = static_cast<std::size_t>(u);
        const float inside = std::max(0.0f, of_cell_w_[sum_of(cell(u), u)] - powers[at]);
        sir_[at] = ratio(powers[at] * own_gain_[at], inside * own_gain_[at], outside_w_[at]);
    }
}

float wcdma_cells::ratio(float own, float inside, float outside) const {
    return static_cast<float>(config_.spreading) * own /
           (static_cast<float>(config_.orthogonality) * inside + outside + noise_w_);
}

// Decides for each user whether its block is lost: below the target, or with a probability that has
// its middle (one half) there.
void wcdma_cells::judge() {
    const double middle = (config_.target_low_db + config_.target_high_db) / 2 - config_.margin_db;
    for (int u = 0; u < config_.users; ++u) {
        const auto at = static_cast<std::size_t>(u);
        const double sir = db::from_power(std::max(block_sir(at), 1e-12)).value;
        sir_db_[at] = static_cast<float>(sir);
        bool lost = sir < middle;
        if (config_.curve_db > 0) {
            const double probability =
                0.5 * std::erfc((sir - middle) / config_.curve_db / std::numbers::sqrt2);
            // Blocks before block 0 are not seen by anybody.
            const auto counter = (static_cast<std::uint64_t>(u) << 40) +
                                 static_cast<std::uint64_t>(std::max<std::int64_t>(block_, 0));
            lost = sample_model::uniform(counter, decide_key_) < probability;
        }
        lost_[at] = lost ? 1 : 0;
    }
}

}  // namespace wip::cells
