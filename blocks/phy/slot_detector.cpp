// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/slot_detector.h"

#include "phy/sequence.h"

namespace wip::phy {

namespace {
constexpr int nof_symbols = payload_symbols_per_bin;
constexpr std::size_t llr_per_bin = payload_symbols_per_bin * max_bits_per_symbol;
const float* floats(const std::array<plane, symbols_per_slot>& p) { return p[0].re; }
}  // namespace

slot_detector::slot_detector(int cell, bool combining)
    : cell_(cell), combining_(combining), llr_(nof_bins * llr_per_bin) {
    static_assert(sizeof(plane) == 2 * plane_size * sizeof(float));
    for (int k = 1; k <= max_bits_per_symbol; ++k) constellations_.emplace_back(k);
    for (std::size_t b = 0; b < nof_bins; ++b)
        for (std::size_t i = 0; i < payload_elements.size(); ++i) {
            const auto& e = payload_elements[i];
            places_[b][i] = static_cast<std::uint16_t>(e.symbol * 2 * plane_size +
                                                       static_cast<int>(b) * subcarriers_per_bin +
                                                       e.subcarrier);
        }
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
                           const channel_estimate& channel, float noise, const slot_grant& grant,
                           std::array<bin_result, nof_bins>& out) noexcept {
    equalise(y, channel);
    for (std::size_t b = 0; b < nof_bins; ++b) {
        out[b] = {};
        if (grant.bins[b].bits_per_symbol != 0) detect_bin(b, grant.bins[b], noise, out[b]);
    }
    store_.forget_before(static_cast<wire_sn>(grant.first_new_sn - grant.window_edge));
}

void slot_detector::load_weights(std::size_t bin, float noise, soft_copy& copy) const noexcept {
    const float* p = floats(power_);
    const float scale = 1 / (noise + 1e-30F);
    for (std::size_t i = 0; i < nof_symbols; ++i) copy.weight[i] = p[places_[bin][i]] * scale;
}

bool slot_detector::decode(std::size_t bin, const soft_copy& symbols, int k,
                           std::uint64_t key) noexcept {
    label_array labels;  // whole vectors: the four symbols of padding are sliced too
    constellations_[static_cast<std::size_t>(k - 1)].slice(symbols.re.data(), symbols.im.data(),
                                                           labels.data(), label_capacity);
    return decode_frame(labels, k, key, frames_[bin]);
}

void slot_detector::detect_bin(std::size_t bin, const bin_grant& grant, float noise,
                               bin_result& out) noexcept {
    const int k = grant.bits_per_symbol;
    const std::uint8_t offset = grant.whole ? 0 : grant.offset;
    const auto key = payload_key(cell_, grant.sn, offset);
    const float* z = floats(equalised_);
    for (std::size_t i = 0; i < nof_symbols; ++i) {
        present_.re[i] = z[places_[bin][i]];
        present_.im[i] = z[places_[bin][i] + plane_size];
    }
    const soft_copy* best = &present_;
    bool good = decode(bin, present_, k, key);
    if (combining_) {
        const unit_key unit{grant.sn, offset, grant.bits_per_symbol};
        const soft_copy* earlier = good ? nullptr : store_.find(unit);
        if (!good) load_weights(bin, noise, present_);
        if (earlier != nullptr) {
            for (std::size_t i = 0; i < nof_symbols; ++i) {
                const float w = earlier->weight[i] + present_.weight[i];
                const float inverse = 1 / (w + 1e-30F);
                combined_.re[i] =
                    (earlier->re[i] * earlier->weight[i] + present_.re[i] * present_.weight[i]) *
                    inverse;
                combined_.im[i] =
                    (earlier->im[i] * earlier->weight[i] + present_.im[i] * present_.weight[i]) *
                    inverse;
                combined_.weight[i] = w;
            }
            good = decode(bin, combined_, k, key);
            best = &combined_;
            out.combined = true;
        }
        if (good)
            store_.erase(unit);
        else
            store_.put(unit, *best);
    }
    out.outcome = good ? bin_outcome::good : bin_outcome::bad;
    out.payload = {frames_[bin].data(),
                   static_cast<std::size_t>(frame_payload_bytes(link_profile::radio, k))};
    for (std::size_t i = 0; i < nof_symbols; ++i) symbols_[bin][i] = {best->re[i], best->im[i]};
    out.symbols = {symbols_[bin].data(), nof_symbols};
    if (soft_) {
        if (best == &present_) load_weights(bin, noise, present_);
        float* llr = llr_.data() + bin * llr_per_bin;
        constellations_[static_cast<std::size_t>(k - 1)].soft(
            best->re.data(), best->im.data(), best->weight.data(), llr, nof_symbols);
        out.llr = {llr, static_cast<std::size_t>(nof_symbols * k)};
    }
}

}  // namespace wip::phy
