// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/transmitter/slot_modulator.h"

#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

#include "phy/coding/control_region.h"
#include "phy/coding/frame_coder.h"
#include "phy/grid/pilots.h"
#include "phy/grid/resource_map.h"
#include "phy/grid/sequence.h"
#include "phy/grid/signal_level.h"
#include "phy/ofdm/ofdm.h"
#include "phy/qam/constellation.h"
#include "types/bin.h"
#include "types/not_valid.h"

namespace wip::phy {

namespace {

// The frame of a bin; none where k is 0.
struct bin_frame {
    std::uint8_t k = 0;
    std::uint64_t key = 0;  // key of its scrambling
};
using bin_frames = std::array<bin_frame, nof_bins>;

void add_frames(const slot_grant& grant, sender from, bin_frames& out) {
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const bin_grant& g = grant.bins[b];
        if (g.bits_per_symbol == 0) continue;
        out[b] = {g.bits_per_symbol, payload_key(from, g.sn, g.whole ? 0 : g.offset)};
    }
}

}  // namespace

struct slot_modulator::state {
    slot_modulator_config config;
    sender from;
    float amplitude = symbol_amplitude();
    pilots pilot_values;
    control_region control;
    dft to_samples{dft::direction::to_samples};
    std::array<std::vector<cf32>, max_bits_per_symbol + 1> scaled_points;
    // FFT input of the six symbols, and where the elements of each bin stand in it.
    aligned_vector<cf32> grid = aligned_vector<cf32>(symbols_per_slot * fft_size);
    aligned_vector<cf32> body = aligned_vector<cf32>(fft_size);
    std::array<std::array<std::uint16_t, payload_symbols_per_bin>, nof_bins> payload_indexes{};
    std::array<std::uint16_t, nof_pilots> pilot_indexes{};
    std::array<std::uint16_t, nof_control_symbols> control_indexes{};
    // Rising edge, and the samples by which the last symbol of slot next_slot - 1 fades out after
    // its end.
    std::vector<float> edge;
    std::array<cf32, most_edge_samples> ending{};
    std::int64_t next_slot = -1;

    explicit state(const slot_modulator_config& c)
        : config(c),
          from(c.terminal ? sender::on_uplink(c.cell, *c.terminal) : sender(c.cell)),
          pilot_values(from),
          control(from, c.terminal ? control_kind::feedback : c.control) {
        if (c.profile != link_profile::radio)
            throw std::invalid_argument(
                "profile is wipemu, which has no frame check on the air; valid in the PHY: radio");
        if (c.edge_samples < 0 || c.edge_samples > most_edge_samples)
            throw std::invalid_argument(not_valid("edge_samples", std::to_string(c.edge_samples),
                                                  "0.." + std::to_string(most_edge_samples)));
        for (int i = 0; i < c.edge_samples; ++i)
            edge.push_back(static_cast<float>(
                0.5 - 0.5 * std::cos(std::numbers::pi * (i + 0.5) / c.edge_samples)));
        for (int k = 1; k <= max_bits_per_symbol; ++k) {
            const constellation c_k(k);
            for (const auto p : c_k.points())
                scaled_points[static_cast<std::size_t>(k)].push_back(p * amplitude);
        }
        const auto index_of = [](bin_index bin, resource_element e) {
            return static_cast<std::uint16_t>(
                e.symbol * fft_size +
                fft_index(static_cast<int>(bin.n()) * subcarriers_per_bin + e.subcarrier));
        };
        for (int b = 0; b < nof_bins; ++b) {
            const auto ub = static_cast<std::size_t>(b);
            for (std::size_t i = 0; i < payload_elements.size(); ++i)
                payload_indexes[ub][i] = index_of(bin_index(b), payload_elements[i]);
            for (std::size_t i = 0; i < pilot_elements.size(); ++i)
                pilot_indexes[ub * pilots_per_bin + i] = index_of(bin_index(b), pilot_elements[i]);
            for (std::size_t i = 0; i < control_elements.size(); ++i)
                control_indexes[ub * control_symbols_per_bin + i] =
                    index_of(bin_index(b), control_elements[i]);
        }
    }

    // A grant of no frames in the place of one that cannot be sent.
    packed_grant empty_in_place_of(const slot_grant& grant) const {
        slot_grant empty;
        empty.first_new_sn = grant.first_new_sn;
        empty.window_edge = grant.window_edge;
        packed_grant packed;
        pack_grant(empty, config.profile, packed);
        return packed;
    }

    bool fits(const bin_frames& frames,
              std::span<const std::span<const std::uint8_t>, nof_bins> payload) const {
        for (std::size_t b = 0; b < nof_bins; ++b) {
            const int k = frames[b].k;
            if (k != 0 && (k > max_bits_per_symbol ||
                           payload[b].size() !=
                               static_cast<std::size_t>(frame_payload_bytes(config.profile, k))))
                return false;
        }
        return true;
    }

    // `frames` as `packed` says, whose frame number is set to that of `air`.
    void send_grant(slot air, const bin_frames& frames, packed_grant packed,
                    std::span<const std::span<const std::uint8_t>, nof_bins> payload,
                    std::span<cf32, slot_samples> out) noexcept {
        set_frame_number(packed, frame_number_of(air));
        send(air, frames, packed, payload, out);
    }
    // `content`: of the control region, as it is.
    void send(slot air, const bin_frames& frames, const control_content& content,
              std::span<const std::span<const std::uint8_t>, nof_bins> payload,
              std::span<cf32, slot_samples> out) noexcept;

    // Fades the symbol at p in and the end of the one before it out.
    void apply_edge(cf32* p) noexcept {
        for (std::size_t i = 0; i < edge.size(); ++i) {
            p[i] = edge[i] * p[i] + ending[i];
            ending[i] = edge[edge.size() - 1 - i] * body[i];
        }
    }

    void put_payload(const bin_frames& frames,
                     std::span<const std::span<const std::uint8_t>, nof_bins> payload) {
        label_array labels;
        for (std::size_t b = 0; b < nof_bins; ++b) {
            const auto& indexes = payload_indexes[b];
            const int k = frames[b].k;
            if (k == 0) {
                for (const auto p : indexes) grid[p] = {};
                continue;
            }
            encode_frame(payload[b], k, frames[b].key, labels);
            const cf32* points = scaled_points[static_cast<std::size_t>(k)].data();
            for (std::size_t i = 0; i < indexes.size(); ++i) grid[indexes[i]] = points[labels[i]];
        }
    }
};

slot_modulator::slot_modulator(const slot_modulator_config& config)
    : state_(std::make_unique<state>(config)) {}
slot_modulator::~slot_modulator() = default;
slot_modulator::slot_modulator(slot_modulator&&) noexcept = default;
slot_modulator& slot_modulator::operator=(slot_modulator&&) noexcept = default;

bool slot_modulator::work(slot air, const slot_grant& grant,
                          std::span<const std::span<const std::uint8_t>, nof_bins> payload,
                          std::span<cf32, slot_samples> out) noexcept {
    packed_grant packed;
    if (pack_grant(grant, state_->config.profile, packed))
        return work(air, grant, packed, payload, out);
    state_->send_grant(air, {}, state_->empty_in_place_of(grant), payload, out);
    return false;
}

bool slot_modulator::work(slot air, const slot_grant& grant, packed_grant packed,
                          std::span<const std::span<const std::uint8_t>, nof_bins> payload,
                          std::span<cf32, slot_samples> out) noexcept {
    bin_frames frames;
    add_frames(grant, state_->from, frames);
    const bool sent = state_->fits(frames, payload);
    state_->send_grant(air, sent ? frames : bin_frames{},
                       sent ? packed : state_->empty_in_place_of(grant), payload, out);
    return sent;
}

bool slot_modulator::work_uplink(slot air, const control_content& form, const slot_grant& units,
                                 std::span<const std::span<const std::uint8_t>, nof_bins> payload,
                                 std::span<cf32, slot_samples> out) noexcept {
    bin_frames frames;
    add_frames(units, state_->from, frames);
    const bool sent = state_->fits(frames, payload);
    state_->send(air, sent ? frames : bin_frames{}, form, payload, out);
    return sent;
}

bool slot_modulator::work(slot air, const common_grant_sections& grants,
                          std::span<const std::span<const std::uint8_t>, nof_bins> payload,
                          std::span<cf32, slot_samples> out) noexcept {
    bin_frames frames;
    for (std::size_t t = 0; t < most_terminals; ++t)
        if (grants.of[t] != nullptr)
            add_frames(*grants.of[t], sender::to_terminal(state_->config.cell, static_cast<int>(t)),
                       frames);
    packed_grant packed;
    const bool sent =
        state_->fits(frames, payload) && pack_common_grant(grants, state_->config.profile, packed);
    if (!sent) pack_common_grant({}, state_->config.profile, packed);
    state_->send_grant(air, sent ? frames : bin_frames{}, packed, payload, out);
    return sent;
}

void slot_modulator::state::send(slot air, const bin_frames& frames, const control_content& content,
                                 std::span<const std::span<const std::uint8_t>, nof_bins> payload,
                                 std::span<cf32, slot_samples> out) noexcept {
    const auto slot_in_frame =
        static_cast<int>((air.value % slots_per_frame + slots_per_frame) % slots_per_frame);

    control_symbols symbols;
    control.encode(content, slot_in_frame, symbols);
    for (std::size_t i = 0; i < symbols.size(); ++i)
        grid[control_indexes[i]] = amplitude * symbols[i];
    const auto& sent_pilots = pilot_values.of(slot_in_frame);
    for (std::size_t i = 0; i < sent_pilots.size(); ++i)
        grid[pilot_indexes[i]] = amplitude * sent_pilots[i];
    put_payload(frames, payload);

    if (air.value != next_slot) ending.fill({});
    next_slot = air.value + 1;
    for (int l = 0; l < symbols_per_slot; ++l) {
        to_samples.execute(grid.data() + l * fft_size, body.data());
        cf32* p = out.data() + symbol_offset(l);
        const int prefix = prefix_samples[static_cast<std::size_t>(l)];
        std::memcpy(p, body.data() + fft_size - prefix,
                    static_cast<std::size_t>(prefix) * sizeof(cf32));
        std::memcpy(p + prefix, body.data(), fft_size * sizeof(cf32));
        apply_edge(p);
    }
}

}  // namespace wip::phy
