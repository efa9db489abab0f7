// SPDX-License-Identifier: GPL-3.0-or-later
#include "bin/symbol_channel.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "phy/combining_store.h"
#include "phy/constellation.h"
#include "sample/counter_random.h"
#include "sample/noise.h"

namespace wip::bin_model {
namespace {

constexpr std::size_t symbols = payload_symbols_per_bin;
constexpr std::size_t padded = 128;  // counters of one frame; whole vectors
constexpr int store_capacity = 8192;

using float_block = std::array<float, padded>;
using label_block = std::array<std::uint8_t, padded>;

struct copy {
    alignas(64) float_block re, im;  // sums, each copy weighted by its SNR
    label_block sent;
    float weight = 0;  // sum of SNRs
};

}  // namespace

struct symbol_channel::state {
    explicit state(const symbol_channel_config& c)
        : config(c),
          noise(1, c.seed, 0x53594d31),
          label_key(sample_model::derive_key(c.seed, 0x53594d32)),
          store(store_capacity) {
        for (int k = 1; k <= max_bits_per_symbol; ++k) sets.emplace_back(k);
    }

    void draw_labels(std::uint64_t frame, int k) noexcept;
    bool detect(int k) noexcept;
    void damage(int k, std::vector<std::uint8_t>& payload) const noexcept;
    frame_outcome carry_bin(std::uint64_t frame, const bin_grant& g, float snr,
                            std::vector<std::uint8_t>& payload, bool& combined) noexcept;

    symbol_channel_config config;
    sample_model::noise noise;
    std::uint32_t label_key;
    std::vector<phy::constellation> sets;
    phy::basic_combining_store<copy> store;

    copy now;  // of the frame at hand
    alignas(64) float_block re{}, im{};
    label_block detected{};
    std::array<sample_model::cf32, padded> unit_noise{};
};

symbol_channel::symbol_channel(const symbol_channel_config& config)
    : state_(std::make_unique<state>(config)) {}
symbol_channel::~symbol_channel() = default;
symbol_channel::symbol_channel(symbol_channel&&) noexcept = default;
symbol_channel& symbol_channel::operator=(symbol_channel&&) noexcept = default;

void symbol_channel::set_combining(bool on) {
    state_->config.combining = on;
    if (!on) state_->store.clear();
}

// Uniform labels, four from each random word.
void symbol_channel::state::draw_labels(std::uint64_t frame, int k) noexcept {
    const auto mask = static_cast<std::uint8_t>((1U << k) - 1);
    for (std::size_t i = 0; i < padded / 8; ++i) {
        const auto p = sample_model::philox(frame * (padded / 8) + i, label_key);
        const std::uint64_t word = std::uint64_t{p.a} << 32 | p.b;
        for (std::size_t j = 0; j < 8; ++j)
            now.sent[8 * i + j] = static_cast<std::uint8_t>(word >> (8 * j)) & mask;
    }
}

// Decides on re, im; true when all symbols are right.
bool symbol_channel::state::detect(int k) noexcept {
    sets[static_cast<std::size_t>(k - 1)].slice(re.data(), im.data(), detected.data(),
                                                static_cast<int>(padded));
    return std::equal(detected.begin(), detected.begin() + symbols, now.sent.begin());
}

void symbol_channel::state::damage(int k, std::vector<std::uint8_t>& payload) const noexcept {
    const std::size_t bits = static_cast<std::size_t>(frame_payload_bits(config.profile, k));
    for (std::size_t i = 0; i < symbols; ++i) {
        const auto wrong = static_cast<unsigned>(detected[i] ^ now.sent[i]);
        if (wrong == 0) continue;
        for (int b = 0; b < k; ++b) {
            const std::size_t at = i * static_cast<std::size_t>(k) + static_cast<std::size_t>(b);
            if ((wrong >> (k - 1 - b) & 1U) != 0 && at < bits)
                payload[at / 8] = static_cast<std::uint8_t>(payload[at / 8] ^ (0x80U >> at % 8));
        }
    }
}

frame_outcome symbol_channel::state::carry_bin(std::uint64_t frame, const bin_grant& g, float snr,
                                               std::vector<std::uint8_t>& payload,
                                               bool& combined) noexcept {
    const int k = g.bits_per_symbol;
    const phy::unit_key key{g.sn, g.whole ? std::uint8_t{0} : g.offset, g.bits_per_symbol};
    const copy* earlier = config.combining && g.retransmission ? store.find(key) : nullptr;
    if (earlier != nullptr)
        now = *earlier;
    else
        draw_labels(frame, k);

    noise.seek(static_cast<std::int64_t>(frame * padded));
    std::fill(unit_noise.begin(), unit_noise.end(), sample_model::cf32{});
    noise.work(unit_noise, unit_noise);
    const auto points = sets[static_cast<std::size_t>(k - 1)].points();
    const float sigma = 1 / std::sqrt(snr);
    for (std::size_t i = 0; i < padded; ++i) {
        re[i] = points[now.sent[i]].real() + sigma * unit_noise[i].real();
        im[i] = points[now.sent[i]].imag() + sigma * unit_noise[i].imag();
    }
    if (earlier != nullptr) {
        now.weight += snr;
        const float inverse = 1 / now.weight;
        for (std::size_t i = 0; i < padded; ++i) {
            now.re[i] += snr * re[i];
            now.im[i] += snr * im[i];
            re[i] = now.re[i] * inverse;
            im[i] = now.im[i] * inverse;
        }
        combined = true;
    }
    if (detect(k)) {
        if (earlier != nullptr) store.erase(key);
        return frame_outcome::good;
    }
    if (config.combining) {
        if (earlier == nullptr) {
            now.weight = snr;
            for (std::size_t i = 0; i < padded; ++i) {
                now.re[i] = snr * re[i];
                now.im[i] = snr * im[i];
            }
        }
        store.put(key, now);
    }
    damage(k, payload);
    return frame_outcome::bad;
}

void symbol_channel::carry(slot_plan& plan, std::span<const float, nof_bins> snr,
                           slot_report& report) {
    auto& s = *state_;
    report.air = plan.air;
    report.locked = report.grant_ok = true;
    report.grant = plan.grant;
    report.combined = 0;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const bin_grant& g = plan.grant.bins[b];
        report.payload[b].swap(plan.payload[b]);
        if (g.bits_per_symbol == 0) {
            report.outcome[b] = frame_outcome::unused;
            report.payload[b].clear();
            continue;
        }
        if (s.config.errors == error_method::none) {
            report.outcome[b] = frame_outcome::good;
            continue;
        }
        const auto frame = static_cast<std::uint64_t>(plan.air.value) * nof_bins + b;
        bool combined = false;
        report.outcome[b] = s.carry_bin(frame, g, snr[b], report.payload[b], combined);
        if (combined) report.combined |= 1U << b;
    }
    s.store.forget_before(static_cast<wire_sn>(plan.grant.first_new_sn - plan.grant.window_edge));
}

}  // namespace wip::bin_model
