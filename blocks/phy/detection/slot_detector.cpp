// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/detection/slot_detector.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "phy/detection/expected_errors.h"
#include "phy/detection/wrong_decisions.h"
#include "phy/grid/sequence.h"

namespace wip::phy {

namespace {
constexpr std::size_t llr_per_bin = payload_symbols_per_bin * max_bits_per_symbol;
// Expected number of saved frames from which on a second pass is made.
constexpr float least_saved = 0.4F;
// Interference between subcarriers, relative to the noise: from the first value on it is worth the
// time to subtract it, from the second on a third pass is.
constexpr float least_interference = 0.05F;
constexpr float most_of_noise = 0.5F;
// The interference may be subtracted before the channel is estimated again, which takes time. If it
// is not, the share `let_through` of it disturbs the estimate as noise does (81 coefficients of
// 3000 elements). If it is, the first slope, which has no curvature, leaves an error of `bends`
// times the interference over the signal (3 % at 125 Hz). It is subtracted first if that is better
// by more than the share `least_more` of the noise.
constexpr float let_through = 0.027F, bends = 117, least_more = 0.004F;
// Copies between the list of a bin's payload elements and the planes (`Part`: re or im): to the
// planes if the list is const, else from them. The lengths of the runs are constants, so each is a
// few moves.
template <auto Part, class Planes, class List, std::size_t... I>
void copy_runs(Planes& planes, bin_index bin, List* list, std::index_sequence<I...>) {
    const int n = static_cast<int>(bin.n()) * subcarriers_per_bin;
    const auto copy = [](List* run, auto* there, std::size_t length) {
        if constexpr (std::is_const_v<List>)
            std::memcpy(there, run, length * sizeof(float));
        else
            std::memcpy(run, there, length * sizeof(float));
    };
    (copy(list + payload_runs[I].first,
          planes[static_cast<std::size_t>(payload_runs[I].from.symbol)].*Part + n +
              payload_runs[I].from.subcarrier,
          std::size_t{payload_runs[I].length}),
     ...);
}
template <auto Part, class Planes, class List>
void transfer(Planes& planes, bin_index bin, List* list) {
    copy_runs<Part>(planes, bin, list, std::make_index_sequence<nof_payload_runs>{});
}
}  // namespace

slot_detector::slot_detector(sender from, bool combining)
    : from_(from), combining_(combining), llr_(nof_bins * llr_per_bin) {
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
    if (std::ranges::any_of(grant.bins, &bin_grant::bits_per_symbol))
        image_.learn(equalised_, power_);
    add_image(equalised_, -image());
    second_pass_ = false;
    bool all_good = true;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        out[b] = {};
        const auto& g = grant.bins[b];
        if (g.bits_per_symbol == 0) continue;
        const bool good = attempt(bin_index(b), g, noise[b], false, out[b]);
        out[b].outcome = good ? frame_outcome::good : frame_outcome::bad;
        all_good = all_good && good;
    }
    if (!all_good && known != nullptr) run_second_pass(y, channel, noise, grant, out, *known);
    for (std::size_t b = 0; b < nof_bins; ++b)
        if (out[b].outcome != frame_outcome::unused) decide(bin_index(b), grant.bins[b], out[b]);
    if (grant.edge_said)
        store_.forget_before(static_cast<wire_sn>(grant.first_new_sn - grant.window_edge));
}

void slot_detector::run_second_pass(const std::array<plane, symbols_per_slot>& y,
                                    const channel_estimate& channel,
                                    const std::array<float, nof_bins>& noise,
                                    const slot_grant& grant, std::array<bin_result, nof_bins>& out,
                                    const known_symbols& known) noexcept {
    const float floor = *std::min_element(noise.begin(), noise.end());
    const float ici_power = std::min(intercarrier_power(channel), 0.9F * floor);
    const bool cancel = ici_power > least_interference * floor;
    // Where the interference is most of the noise, many decisions of the first pass are wrong, and
    // the estimate with them. Those of the second pass are better.
    const bool twice = ici_power >= most_of_noise * floor;
    const float most = twice ? most_for_hope_twice : most_for_hope;
    bin_set hopeful;
    float saved = 0;  // frames that a channel without error would save
    for (std::size_t b = 0; b < nof_bins; ++b) {
        if (out[b].outcome != frame_outcome::bad) continue;
        const float gain = cancel ? noise[b] / (noise[b] - ici_power) : 1;
        const float errors =
            expected_errors(copies_[b].weight.data(), gain, grant.bins[b].bits_per_symbol);
        hopeful[b] = errors <= most;
        if (hopeful[b]) saved += std::exp(-errors);
    }
    second_pass_ = saved > least_saved;
    if (!second_pass_) return;
    for (std::size_t b = 0; b < nof_bins; ++b)
        place_decisions(bin_index(b), grant.bins[b].bits_per_symbol);
    const bool subtract_first =
        ici_power * (let_through - bends * ici_power / known.signal) > least_more * floor;
    using subtract = decision_feedback::subtract;
    feedback_.work(y, channel, known, floor,
                   twice || subtract_first ? subtract::everywhere
                   : cancel                ? subtract::looked_at
                                           : subtract::nowhere,
                   hopeful);
    const auto detect_hopeful = [&] {
        for (std::size_t b = 0; b < nof_bins; ++b) {
            if (!hopeful[b]) continue;
            feedback_.equalise(y, bin_index(b), equalised_, power_);
            const int first = static_cast<int>(b) * subcarriers_per_bin;
            add_image(equalised_, -image(), first, first + subcarriers_per_bin);
            out[b].combined = false;
            hopeful[b] = !attempt(bin_index(b), grant.bins[b],
                                  cancel ? noise[b] - ici_power : noise[b], true, out[b]);
            if (!hopeful[b]) out[b].outcome = frame_outcome::good;
        }
        return hopeful.any();
    };
    if (!detect_hopeful() || !twice) return;
    for (std::size_t b = 0; b < nof_bins; ++b)
        if (hopeful[b] || known.image != nullptr)
            place_decisions(bin_index(b), grant.bins[b].bits_per_symbol);
    feedback_.again(y, known, floor - ici_power, hopeful);
    detect_hopeful();
}

void slot_detector::place_decisions(bin_index bin, int k) noexcept {
    alignas(vector_alignment) std::array<float, label_capacity> re{}, im{};
    if (k != 0) {
        const auto& copy = copies_[bin.n()];
        constellations_[static_cast<std::size_t>(k - 1)].points_of(
            copy.re.data(), copy.im.data(), labels_[bin.n()].data(), re.data(), im.data(),
            label_capacity);
    }
    transfer<&plane::re>(feedback_.symbols(), bin, std::as_const(re).data());
    transfer<&plane::im>(feedback_.symbols(), bin, std::as_const(im).data());
}

void slot_detector::load_weights(bin_index bin, float noise, soft_copy& copy) const noexcept {
    const float scale = 1 / (noise + 1e-30F);
    transfer<&plane::re>(power_, bin, copy.weight.data());
    for (auto& w : copy.weight) w *= scale;
}

// Whether the SNR of the bin's symbols in the middle of the slot leaves no doubt about any of them.
bool slot_detector::is_certain(bin_index bin, int k, float noise) const noexcept {
    const float* p = power_[symbols_per_slot / 2].re + bin.n() * subcarriers_per_bin;
    float least = p[0];
    for (int i = 1; i < subcarriers_per_bin; ++i) least = std::min(least, p[i]);
    return least > clear_snr(k) * noise;
}

bool slot_detector::decode(bin_index bin, const soft_copy& symbols, int k, std::uint64_t key,
                           bool certain) noexcept {
    // Whole vectors: the four symbols of padding are sliced too.
    constellations_[static_cast<std::size_t>(k - 1)].slice(symbols.re.data(), symbols.im.data(),
                                                           labels_[bin.n()].data(), label_capacity);
    const bool holds = decode_frame(labels_[bin.n()], k, key, frames_[bin.n()]);
    const bool must_check = holds || watcher_ != nullptr;
    const bool accepted =
        must_check && (certain || wrong_decisions(constellations_[static_cast<std::size_t>(k - 1)],
                                                  symbols, labels_[bin.n()]) <= most_wrong(k));
    if (watcher_ != nullptr) watcher_->on_check(bin, labels_[bin.n()], holds, accepted);
    return holds && accepted;
}

unit_key slot_detector::key_of(const bin_grant& grant) const noexcept {
    return {grant.sn, grant.whole ? std::uint8_t{0} : grant.offset, grant.bits_per_symbol};
}

bool slot_detector::attempt(bin_index bin, const bin_grant& grant, float noise, bool again,
                            bin_result& out) noexcept {
    const unit_key unit = key_of(grant);
    const auto key = payload_key(from_, unit.sn, unit.offset);
    auto& copy = copies_[bin.n()];
    transfer<&plane::re>(equalised_, bin, copy.re.data());
    transfer<&plane::im>(equalised_, bin, copy.im.data());
    const bool certain = is_certain(bin, unit.bits_per_symbol, noise);
    const bool weighted = !certain || soft_ || again;
    if (weighted) load_weights(bin, noise, copy);
    const soft_copy* earlier = again && combining_ ? store_.find(unit) : nullptr;
    if (earlier == nullptr) {
        const bool good = decode(bin, copy, unit.bits_per_symbol, key, certain);
        if (good || again) return good;
        if (!weighted) load_weights(bin, noise, copy);
        if (combining_) earlier = store_.find(unit);
        if (earlier == nullptr) return false;
    }
    for (std::size_t i = 0; i < payload_symbols_per_bin; ++i) {
        const float w = earlier->weight[i] + copy.weight[i];
        const float inverse = 1 / (w + 1e-30F);
        copy.re[i] = (earlier->re[i] * earlier->weight[i] + copy.re[i] * copy.weight[i]) * inverse;
        copy.im[i] = (earlier->im[i] * earlier->weight[i] + copy.im[i] * copy.weight[i]) * inverse;
        copy.weight[i] = w;
    }
    out.combined = true;
    return decode(bin, copy, unit.bits_per_symbol, key, false);
}

void slot_detector::decide(bin_index bin, const bin_grant& grant, bin_result& out) noexcept {
    const int k = grant.bits_per_symbol;
    const auto& copy = copies_[bin.n()];
    if (combining_) {
        if (out.outcome == frame_outcome::good)
            store_.erase(key_of(grant));
        else
            store_.put(key_of(grant), copy);
    }
    out.payload = {frames_[bin.n()].data(),
                   static_cast<std::size_t>(frame_payload_bytes(link_profile::radio, k))};
    for (std::size_t i = 0; i < payload_symbols_per_bin; ++i)
        symbols_[bin.n()][i] = {copy.re[i], copy.im[i]};
    out.symbols = {symbols_[bin.n()].data(), payload_symbols_per_bin};
    if (soft_) {
        float* llr = llr_.data() + bin.n() * llr_per_bin;
        constellations_[static_cast<std::size_t>(k - 1)].soft(
            copy.re.data(), copy.im.data(), copy.weight.data(), llr, payload_symbols_per_bin);
        out.llr = {llr, static_cast<std::size_t>(payload_symbols_per_bin * k)};
    }
}

}  // namespace wip::phy
