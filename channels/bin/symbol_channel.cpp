// SPDX-License-Identifier: GPL-3.0-or-later
#include "bin/symbol_channel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "bin/failed_symbol.h"
#include "phy/detection/combining_store.h"
#include "phy/qam/constellation.h"
#include "sample/counter_random.h"
#include "sample/noise.h"
#include "types/bin.h"

namespace wip::bin_model {
namespace {

constexpr std::size_t symbols = payload_symbols_per_bin;
constexpr std::size_t padded = 112;    // whole vectors
constexpr std::size_t counters = 128;  // counters of the random numbers of a frame
constexpr int store_capacity = 8192;

using float_block = std::array<float, padded>;
using label_block = std::array<std::uint8_t, padded>;

struct copy {
    alignas(64) float_block re, im;  // sums, each copy weighted by its SNR
    label_block sent;
    float weight;  // sum of SNRs
};

}  // namespace

struct symbol_channel::state {
    explicit state(const symbol_channel_config& c)
        : config(c),
          noise(1, c.seed, 0x53594d31),
          label_key(sample_model::derive_key(c.seed, 0x53594d32)),
          store(store_capacity),
          outcome_key(sample_model::derive_key(c.seed, 0x53594d33)) {
        for (int k = 1; k <= max_bits_per_symbol; ++k) sets.emplace_back(k, c.eight);
    }

    void draw_labels(std::uint64_t frame, int k) noexcept;
    bool detect(int k) noexcept;
    void keep_bin(bin_index bin) noexcept;
    void damage(int k, std::vector<std::uint8_t>& payload) const noexcept;
    void transmit(std::uint64_t frame, int k, float snr, bool same_points) noexcept;
    void make_failed_frame(std::uint64_t frame, int k, float snr) noexcept;
    void remember(const phy::unit_key& key, float snr, bool combined) noexcept;
    frame_outcome carry_bin(std::uint64_t frame, const bin_grant& g, float snr,
                            std::vector<std::uint8_t>& payload, bool& combined) noexcept;

    symbol_channel_config config;
    sample_model::noise noise;
    std::uint32_t label_key;
    std::vector<phy::constellation> sets;
    phy::basic_combining_store<copy> store;
    std::uint32_t outcome_key;

    bool keep = false;
    slot_symbols kept;
    alignas(64) float_block re{}, im{};  // points of the frame at hand
    label_block sent{}, detected{};
};

symbol_channel::symbol_channel(const symbol_channel_config& config)
    : state_(std::make_unique<state>(config)) {
    set_errors(config.errors);
}
symbol_channel::~symbol_channel() = default;
symbol_channel::symbol_channel(symbol_channel&&) noexcept = default;
symbol_channel& symbol_channel::operator=(symbol_channel&&) noexcept = default;

void symbol_channel::set_combining(bool on) {
    state_->config.combining = on;
    if (!on) state_->store.clear();
}

void symbol_channel::set_errors(error_method errors,
                                std::shared_ptr<const failure_tables> failures) {
    symbol_channel_config& c = state_->config;
    c.errors = errors;
    if (failures) c.failures = std::move(failures);
    if (errors == error_method::computed && !c.failures)
        c.failures = std::make_shared<failure_tables>(c.eight);
}

void symbol_channel::keep_symbols(bool on) { state_->keep = on; }

const slot_symbols& symbol_channel::kept() const { return state_->kept; }

void symbol_channel::state::keep_bin(bin_index bin) noexcept {
    kept.made |= bin.bit();
    for (std::size_t i = 0; i < symbols; ++i) kept.of_bin[bin.n()][i] = {re[i], im[i]};
}

// Uniform labels, four from each random word.
void symbol_channel::state::draw_labels(std::uint64_t frame, int k) noexcept {
    const auto mask = static_cast<std::uint8_t>((1U << k) - 1);
    std::array<std::uint32_t, counters / 8> a, b;
    static_assert(a.size() % sample_model::philox_width == 0);
    sample_model::philox_row(frame * a.size(), label_key, padded / 8, a.data(), b.data());
    for (std::size_t i = 0; i < padded / 8; ++i) {
        const std::uint64_t word = std::uint64_t{a[i]} << 32 | b[i];
        for (std::size_t j = 0; j < 8; ++j)
            sent[8 * i + j] = static_cast<std::uint8_t>(word >> (8 * j)) & mask;
    }
}

// Detects the labels from re, im; returns whether all symbols are right.
bool symbol_channel::state::detect(int k) noexcept {
    sets[static_cast<std::size_t>(k - 1)].slice(re.data(), im.data(), detected.data(),
                                                static_cast<int>(padded));
    return std::equal(detected.begin(), detected.begin() + symbols, sent.begin());
}

void symbol_channel::state::damage(int k, std::vector<std::uint8_t>& payload) const noexcept {
    const std::size_t bits = static_cast<std::size_t>(frame_payload_bits(config.profile, k));
    for (std::size_t first = 0; first < padded; first += 8) {
        // Eight symbols at a time: most are right.
        std::uint64_t a, b;
        std::memcpy(&a, &detected[first], 8);
        std::memcpy(&b, &sent[first], 8);
        for (std::uint64_t differ = a ^ b; differ != 0;) {
            const auto byte = static_cast<std::size_t>(std::countr_zero(differ)) / 8;
            const std::size_t i = first + byte;
            const auto wrong = static_cast<unsigned>(differ >> 8 * byte & 0xFFU);
            differ &= ~(std::uint64_t{0xFF} << 8 * byte);
            const std::size_t start = i * static_cast<std::size_t>(k);
            for (unsigned left = wrong; left != 0; left &= left - 1) {
                const auto bit = static_cast<std::size_t>(std::countr_zero(left));
                const std::size_t at = start + static_cast<std::size_t>(k) - 1 - bit;
                if (at < bits)
                    payload[at / 8] =
                        static_cast<std::uint8_t>(payload[at / 8] ^ (0x80U >> at % 8));
            }
        }
    }
}

// Symbols y = x + n in re, im.
void symbol_channel::state::transmit(std::uint64_t frame, int k, float snr,
                                     bool same_points) noexcept {
    if (!same_points) draw_labels(frame, k);
    noise.seek(static_cast<std::int64_t>(frame * counters));
    noise.write(re, im);
    const auto points = sets[static_cast<std::size_t>(k - 1)].points();
    const float sigma = 1 / std::sqrt(snr);
    for (std::size_t i = 0; i < padded; ++i) {
        re[i] = points[sent[i]].real() + sigma * re[i];
        im[i] = points[sent[i]].imag() + sigma * im[i];
    }
}

// Replaces the received symbols in re, im by symbols drawn given that the frame fails.
void symbol_channel::state::make_failed_frame(std::uint64_t frame, int k, float snr) noexcept {
    const auto& f = config.failures->of(k);
    const auto points = sets[static_cast<std::size_t>(k - 1)].points();
    const auto mask = static_cast<std::uint8_t>((1U << k) - 1);
    std::uint64_t counter = frame << 16;  // 65535 draws: a redrawn symbol takes a few
    const auto draw = [&] { return sample_model::uniform(++counter, outcome_key); };
    const float sigma = 1 / std::sqrt(snr);
    const auto set_symbol = [&](std::size_t i, std::uint8_t label, float radius, double turn) {
        sent[i] = label;
        const auto angle = static_cast<float>(2 * std::numbers::pi * turn);
        re[i] = points[label].real() + radius * std::cos(angle);
        im[i] = points[label].imag() + radius * std::sin(angle);
    };
    const auto label = [&](double u) {
        return static_cast<std::uint8_t>(static_cast<unsigned>(u * 256) & mask);
    };
    const std::size_t first = f.first_wrong(snr, draw());
    detect(k);
    for (std::size_t i = 0; i < first; ++i) {
        while (detected[i] != sent[i]) {
            const double u = draw(), r = draw(), turn = draw();
            set_symbol(i, label(u), sigma * static_cast<float>(std::sqrt(-std::log(r))), turn);
            sets[static_cast<std::size_t>(k - 1)].slice(&re[i], &im[i], &detected[i], 1);
        }
    }
    for (;;) {
        const double u = draw(), turn = draw(), chance = draw();
        const double border = f.boundary_distance_squared(label(u), turn);
        if (chance >= std::exp(-(border - f.least_distance_squared()) * snr)) continue;
        set_symbol(first, label(u), static_cast<float>(std::sqrt(border - std::log(draw()) / snr)),
                   turn);
        return;
    }
}

// Keeps what is needed to combine the next copy with this one. `combined`: re, im are already a
// combination with the stored copies.
void symbol_channel::state::remember(const phy::unit_key& key, float snr, bool combined) noexcept {
    if (!config.combining) return;
    copy& first = store.place_of(key);
    if (combined) return;
    first.sent = sent;
    first.weight = snr;
    for (std::size_t i = 0; i < padded; ++i) {
        first.re[i] = snr * re[i];
        first.im[i] = snr * im[i];
    }
}

frame_outcome symbol_channel::state::carry_bin(std::uint64_t frame, const bin_grant& g, float snr,
                                               std::vector<std::uint8_t>& payload,
                                               bool& combined) noexcept {
    const int k = g.bits_per_symbol;
    const phy::unit_key key{g.sn, g.whole ? std::uint8_t{0} : g.offset, g.bits_per_symbol};
    copy* earlier = config.combining && g.retransmission ? store.find(key) : nullptr;
    if (earlier != nullptr) sent = earlier->sent;
    const bool fails = earlier == nullptr && config.errors == error_method::computed;
    if (fails &&
        config.failures->of(k).frame_right(snr, sample_model::uniform(frame << 16, outcome_key)))
        return frame_outcome::good;
    transmit(frame, k, snr, earlier != nullptr);
    if (fails) make_failed_frame(frame, k, snr);
    if (earlier != nullptr) {
        earlier->weight += snr;
        const float inverse = 1 / earlier->weight;
        for (std::size_t i = 0; i < padded; ++i) {
            earlier->re[i] += snr * re[i];
            earlier->im[i] += snr * im[i];
            re[i] = earlier->re[i] * inverse;
            im[i] = earlier->im[i] * inverse;
        }
        combined = true;
    }
    if (keep) keep_bin(bin_index(frame % nof_bins));
    if (detect(k) && !fails) {
        if (earlier != nullptr) store.erase(key);
        return frame_outcome::good;
    }
    remember(key, snr, earlier != nullptr);
    damage(k, payload);
    return frame_outcome::bad;
}

void symbol_channel::carry(const slot_plan& plan, std::span<const float, nof_bins> snr,
                           slot_report& report) {
    auto& s = *state_;
    report.air = plan.air;
    report.locked = report.grant_ok = true;
    report.grant = plan.grant;
    report.combined = 0;
    s.kept.made = 0;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const bin_grant& g = plan.grant.bins[b];
        if (g.bits_per_symbol == 0) {
            report.outcome[b] = frame_outcome::unused;
            report.payload[b].clear();
            continue;
        }
        report.payload[b].assign(plan.payload[b].begin(), plan.payload[b].end());
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
