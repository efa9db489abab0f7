// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/detection/slot_detector.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "phy/detection/expected_errors.h"
#include "phy/detection/wrong_decisions.h"
#include "phy/grid/sequence.h"

namespace wip::phy {

namespace {
constexpr int nof_symbols = payload_symbols_per_bin;
constexpr std::size_t llr_per_bin = payload_symbols_per_bin * max_bits_per_symbol;
constexpr float least_saved = 0.4F;          // frames: for less a second look is not taken
constexpr float least_interference = 0.05F;  // of the noise: less is not worth the time
constexpr float most_of_noise = 0.5F;        // from there on its decisions are worth another pass
// between(floats of the list, floats of the planes, length) for every run of payload elements of a
// bin. `Part`: re or im of the planes. The lengths are constants, so each run is a few moves.
template <auto Part, class Planes, class List, class Between, std::size_t... I>
void each_run(Planes& planes, bin_index bin, List* list, Between between,
              std::index_sequence<I...>) {
    const int n = static_cast<int>(bin.n()) * subcarriers_per_bin;
    (between(list + payload_runs[I].first,
             planes[static_cast<std::size_t>(payload_runs[I].from.symbol)].*Part + n +
                 payload_runs[I].from.subcarrier,
             std::integral_constant<std::size_t, std::size_t{payload_runs[I].length}>{}),
     ...);
}
using all_runs = std::make_index_sequence<nof_payload_runs>;

template <auto Part>
void gather(const std::array<plane, symbols_per_slot>& planes, bin_index bin, float* list) {
    each_run<Part>(
        planes, bin, list,
        [](float* to, const float* from, auto length) {
            std::memcpy(to, from, length.value * sizeof(float));
        },
        all_runs{});
}
template <auto Part>
void scatter(const float* list, std::array<plane, symbols_per_slot>& planes, bin_index bin) {
    each_run<Part>(
        planes, bin, list,
        [](const float* from, float* to, auto length) {
            std::memcpy(to, from, length.value * sizeof(float));
        },
        all_runs{});
}
}  // namespace

slot_detector::slot_detector(int cell, bool combining)
    : cell_(cell), combining_(combining), llr_(nof_bins * llr_per_bin) {
    for (int k = 1; k <= max_bits_per_symbol; ++k) constellations_.emplace_back(k);
}

void slot_detector::equalise(const std::array<plane, symbols_per_slot>& y,
                             const channel_estimate& c) noexcept {
    for (int l = 0; l < symbols_per_slot; ++l) {
        const float t = symbol_time(l);
        const auto& in = y[static_cast<std::size_t>(l)];
        auto& out = equalised_[static_cast<std::size_t>(l)];
        auto& power = power_[static_cast<std::size_t>(l)];
        for (int n = 0; n < nof_subcarriers; ++n) {
            const float hr = c.middle.re[n] + t * c.slope.re[n];
            const float hi = c.middle.im[n] + t * c.slope.im[n];
            const float p = hr * hr + hi * hi + 1e-30F;
            const float inverse = 1 / p;
            out.re[n] = (in.re[n] * hr + in.im[n] * hi) * inverse;
            out.im[n] = (in.im[n] * hr - in.re[n] * hi) * inverse;
            power.re[n] = p;
        }
    }
}

void slot_detector::detect(const std::array<plane, symbols_per_slot>& y,
                           const channel_estimate& channel,
                           const std::array<float, nof_bins>& noise, const slot_grant& grant,
                           std::array<bin_result, nof_bins>& out,
                           const known_symbols* known) noexcept {
    equalise(y, channel);
    const auto used = [](const bin_grant& g) { return g.bits_per_symbol != 0; };
    if (std::any_of(grant.bins.begin(), grant.bins.end(), used)) image_.learn(equalised_, power_);
    image_.remove(equalised_);
    second_look_ = false;
    bool all_good = true;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        out[b] = {};
        const auto& g = grant.bins[b];
        if (g.bits_per_symbol == 0) continue;
        const bool good = attempt(bin_index(b), g, noise[b], false, out[b]);
        out[b].outcome = good ? bin_outcome::good : bin_outcome::bad;
        all_good = all_good && good;
    }
    if (!all_good && known != nullptr) look_again(y, channel, noise, grant, out, *known);
    for (std::size_t b = 0; b < nof_bins; ++b)
        if (out[b].outcome != bin_outcome::unused) settle(bin_index(b), grant.bins[b], out[b]);
    store_.forget_before(static_cast<wire_sn>(grant.first_new_sn - grant.window_edge));
}

void slot_detector::look_again(const std::array<plane, symbols_per_slot>& y,
                               const channel_estimate& channel,
                               const std::array<float, nof_bins>& noise, const slot_grant& grant,
                               std::array<bin_result, nof_bins>& out,
                               const known_symbols& known) noexcept {
    const float floor = *std::min_element(noise.begin(), noise.end());
    const float between = std::min(intercarrier_power(channel), 0.9F * floor);
    const bool cancel = between > least_interference * floor;
    // Where the interference is most of the noise, many decisions of the first look are wrong, and
    // the estimate with them. Those of the second are better.
    const bool twice = between >= most_of_noise * floor;
    const float most = twice ? most_for_hope_twice : most_for_hope;
    std::array<bool, nof_bins> hopeful{};
    float saved = 0;  // frames that a channel without error would save
    for (std::size_t b = 0; b < nof_bins; ++b) {
        if (out[b].outcome != bin_outcome::bad) continue;
        const float gain = cancel ? noise[b] / (noise[b] - between) : 1;
        const float errors =
            expected_errors(copies_[b].weight.data(), gain, grant.bins[b].bits_per_symbol);
        hopeful[b] = errors <= most;
        if (hopeful[b]) saved += std::exp(-errors);
    }
    second_look_ = saved > least_saved;
    if (!second_look_) return;
    for (std::size_t b = 0; b < nof_bins; ++b)
        place_decisions(bin_index(b), grant.bins[b].bits_per_symbol);
    feedback_.work(y, channel, known, floor, cancel);
    const auto detect_failed = [&] {
        bool all = true;
        for (std::size_t b = 0; b < nof_bins; ++b) {
            if (!hopeful[b] || out[b].outcome != bin_outcome::bad) continue;
            feedback_.equalise(bin_index(b), equalised_, power_);
            const int first = static_cast<int>(b) * subcarriers_per_bin;
            image_.remove(equalised_, first, first + subcarriers_per_bin);
            out[b].combined = false;
            if (attempt(bin_index(b), grant.bins[b], cancel ? noise[b] - between : noise[b], true,
                        out[b]))
                out[b].outcome = bin_outcome::good;
            else
                all = false;
        }
        return all;
    };
    if (detect_failed() || !twice) return;
    for (std::size_t b = 0; b < nof_bins; ++b)
        if (hopeful[b] && out[b].outcome == bin_outcome::bad)
            place_decisions(bin_index(b), grant.bins[b].bits_per_symbol);
    feedback_.again(y, known, floor - between);
    detect_failed();
}

void slot_detector::place_decisions(bin_index bin, int k) noexcept {
    alignas(vector_alignment) std::array<float, label_capacity> re{}, im{};
    if (k != 0) {
        const auto& copy = copies_[bin.n()];
        constellations_[static_cast<std::size_t>(k - 1)].points_of(
            copy.re.data(), copy.im.data(), labels_[bin.n()].data(), re.data(), im.data(),
            label_capacity);
    }
    scatter<&plane::re>(re.data(), feedback_.symbols(), bin);
    scatter<&plane::im>(im.data(), feedback_.symbols(), bin);
}

void slot_detector::load_weights(bin_index bin, float noise, soft_copy& copy) const noexcept {
    const float scale = 1 / (noise + 1e-30F);
    gather<&plane::re>(power_, bin, copy.weight.data());
    for (auto& w : copy.weight) w *= scale;
}

// By its symbols in the middle of the slot.
bool slot_detector::is_clear(bin_index bin, int k, float noise) const noexcept {
    const float* p = power_[symbols_per_slot / 2].re + bin.n() * subcarriers_per_bin;
    float least = p[0];
    for (int i = 1; i < subcarriers_per_bin; ++i) least = std::min(least, p[i]);
    return least > clear_snr(k) * noise;
}

bool slot_detector::decode(bin_index bin, const soft_copy& symbols, int k, std::uint64_t key,
                           bool clear) noexcept {
    // Whole vectors: the four symbols of padding are sliced too.
    constellations_[static_cast<std::size_t>(k - 1)].slice(symbols.re.data(), symbols.im.data(),
                                                           labels_[bin.n()].data(), label_capacity);
    const bool holds = decode_frame(labels_[bin.n()], k, key, frames_[bin.n()]);
    const bool asked = holds || watcher_ != nullptr;
    const bool believed =
        asked && (clear || wrong_decisions(constellations_[static_cast<std::size_t>(k - 1)],
                                           symbols, labels_[bin.n()]) <= most_wrong(k));
    if (watcher_ != nullptr) watcher_->on_check(bin, labels_[bin.n()], holds, believed);
    return holds && believed;
}

unit_key slot_detector::key_of(const bin_grant& grant) const noexcept {
    return {grant.sn, grant.whole ? std::uint8_t{0} : grant.offset, grant.bits_per_symbol};
}

bool slot_detector::attempt(bin_index bin, const bin_grant& grant, float noise, bool again,
                            bin_result& out) noexcept {
    const unit_key unit = key_of(grant);
    const auto key = payload_key(cell_, unit.sn, unit.offset);
    auto& copy = copies_[bin.n()];
    gather<&plane::re>(equalised_, bin, copy.re.data());
    gather<&plane::im>(equalised_, bin, copy.im.data());
    const bool clear = is_clear(bin, unit.bits_per_symbol, noise);
    const bool weighted = !clear || soft_ || again;
    if (weighted) load_weights(bin, noise, copy);
    const soft_copy* earlier = again && combining_ ? store_.find(unit) : nullptr;
    if (earlier == nullptr) {
        const bool good = decode(bin, copy, unit.bits_per_symbol, key, clear);
        if (good || again) return good;
        if (!weighted) load_weights(bin, noise, copy);
        if (combining_) earlier = store_.find(unit);
        if (earlier == nullptr) return false;
    }
    for (std::size_t i = 0; i < nof_symbols; ++i) {
        const float w = earlier->weight[i] + copy.weight[i];
        const float inverse = 1 / (w + 1e-30F);
        copy.re[i] = (earlier->re[i] * earlier->weight[i] + copy.re[i] * copy.weight[i]) * inverse;
        copy.im[i] = (earlier->im[i] * earlier->weight[i] + copy.im[i] * copy.weight[i]) * inverse;
        copy.weight[i] = w;
    }
    out.combined = true;
    return decode(bin, copy, unit.bits_per_symbol, key, false);
}

void slot_detector::settle(bin_index bin, const bin_grant& grant, bin_result& out) noexcept {
    const int k = grant.bits_per_symbol;
    const auto& copy = copies_[bin.n()];
    if (combining_) {
        if (out.outcome == bin_outcome::good)
            store_.erase(key_of(grant));
        else
            store_.put(key_of(grant), copy);
    }
    out.payload = {frames_[bin.n()].data(),
                   static_cast<std::size_t>(frame_payload_bytes(link_profile::radio, k))};
    for (std::size_t i = 0; i < nof_symbols; ++i) symbols_[bin.n()][i] = {copy.re[i], copy.im[i]};
    out.symbols = {symbols_[bin.n()].data(), nof_symbols};
    if (soft_) {
        float* llr = llr_.data() + bin.n() * llr_per_bin;
        constellations_[static_cast<std::size_t>(k - 1)].soft(copy.re.data(), copy.im.data(),
                                                              copy.weight.data(), llr, nof_symbols);
        out.llr = {llr, static_cast<std::size_t>(nof_symbols * k)};
    }
}

}  // namespace wip::phy
