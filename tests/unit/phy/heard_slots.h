// SPDX-License-Identifier: GPL-3.0-or-later
// Samples of a few worlds, and what the receiver says about them however they are cut. The last
// world is rough: carrier offset, DC offset and image of a radio, lost samples, two steps of its
// gain, the second of which comes later than it is announced.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <type_traits>
#include <vector>

#include "../../curves/curve_world.h"
#include "phy/receiver/slot_receiver.h"

namespace wip::heard {

using phy::cf32;

inline const std::array<curves::world_config, 5> worlds{{
    {.snr_db = 12, .bits_per_symbol = 2},
    {.profile = "jakes", .doppler_hz = 125, .snr_db = 16, .bits_per_symbol = 2, .seed = 3},
    {.profile = "jakes", .doppler_hz = 125, .snr_db = 34, .bits_per_symbol = 6, .seed = 4},
    {.profile = "eva", .doppler_hz = 5, .snr_db = 25, .bits_per_symbol = 4, .seed = 5},
    {.profile = "eva",
     .doppler_hz = 40,
     .snr_db = 22,
     .cfo_hz = 3000,
     .bits_per_symbol = 4,
     .seed = 6},
}};
inline constexpr std::size_t smooth = 4;  // worlds before the rough one
inline constexpr std::int64_t lost = 77;  // samples

// Places in the rough world, in samples from its begin.
constexpr std::int64_t loss_at(std::int64_t slots) { return slots / 2 * slot_samples + 1000; }
constexpr std::int64_t first_step_at(std::int64_t slots) { return slots / 3 * slot_samples; }
constexpr std::int64_t second_step_at(std::int64_t slots) { return slots * 3 / 4 * slot_samples; }
inline constexpr std::int64_t second_step_late = 700, announced_before = 3 * slot_samples;

// One world after another, `slots` slots each.
struct recording {
    std::int64_t slots;
    std::vector<cf32> samples;

    std::span<const cf32> of(std::size_t world) const {
        const auto n = static_cast<std::size_t>(slots * slot_samples);
        return std::span(samples).subspan(world * n, n);
    }
};

inline recording record(std::int64_t slots) {
    recording made{slots, {}};
    for (std::size_t n = 0; n < worlds.size(); ++n) {
        curves::world w(worlds[n]);
        for (std::int64_t i = 0; i < slots; ++i) {
            w.next();
            for (std::size_t k = 0; k < w.noisy.size(); ++k) {
                cf32 v = w.noisy[k];
                if (n >= smooth) {
                    v += cf32(0.02F, 0.05F) * std::conj(v) + cf32(0.004F, -0.003F);
                    const std::int64_t at = i * slot_samples + static_cast<std::int64_t>(k);
                    if (at >= first_step_at(slots)) v *= 2;
                    if (at >= second_step_at(slots) + second_step_late) v *= 2;
                }
                made.samples.push_back(v);
            }
        }
    }
    return made;
}

// The report about a slot. `fingerprint` covers the bits of the whole report and of the receiver's
// state; the rest is the part that a user sees.
struct heard_slot {
    std::size_t world;
    bool locked;
    std::array<frame_outcome, nof_bins> outcome;
    std::array<float, nof_bins> snr_db, predicted_snr_db;
    std::uint64_t fingerprint;
};

class fingerprint {
public:
    template <class Value>
    void add(const Value& value) requires std::is_arithmetic_v<Value> || std::is_enum_v<Value> {
        add_bytes(&value, sizeof value);
    }
    template <class Value>
    void add(std::span<const Value> values) {
        add(values.size());
        add_bytes(values.data(), values.size_bytes());
    }
    std::uint64_t value() const { return hash_; }

private:
    void add_bytes(const void* from, std::size_t n) {
        const auto* bytes = static_cast<const unsigned char*>(from);
        for (std::size_t i = 0; i < n; i += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes + i, std::min<std::size_t>(8, n - i));
            hash_ = (hash_ ^ word) * 1099511628211U;
            hash_ ^= hash_ >> 32;
        }
    }
    std::uint64_t hash_ = 14695981039346656037U;
};

inline std::uint64_t fingerprint_of(const phy::received_slot& r, const phy::receiver_state& s) {
    fingerprint f;
    f.add(r.start.value);
    f.add(r.mode);
    f.add(r.slot_in_hyperframe);
    f.add(r.grant_ok);
    f.add(r.grant.frame_number);
    f.add(r.grant.first_new_sn);
    f.add(r.grant.window_edge);
    for (const auto& b : r.grant.bins) {
        f.add(b.bits_per_symbol);
        f.add(b.sn);
    }
    for (const auto& b : r.bins) {
        f.add(b.outcome);
        f.add(b.combined);
        f.add(b.payload);
        f.add(b.symbols);
    }
    f.add(std::span<const float>(r.snr_db));
    f.add(std::span<const float>(r.predicted_snr_db));
    f.add(r.channel);
    f.add(r.bin_noise);
    f.add(r.bin_power);
    f.add(r.unit_dbfs);
    for (const double v :
         {s.cfo_hz, s.timing_samples, s.evm_percent, s.level_dbfs, s.prediction_nmse})
        f.add(v);
    return f.value();
}

using on_reports_fn = std::function<void(const heard_slot&)>;
// How many samples the next call has, and where its buffer begins, counted in samples.
struct piece {
    std::int64_t samples;
    std::size_t offset;
};
using cut_fn = std::function<piece()>;

// One receiver hears all worlds, with a pause between two of them that ends its lock.
class listener {
public:
    void hear(const recording& from, std::size_t world, const cut_fn& cut,
              const on_reports_fn& reported) {
        from_ = from.of(world);
        begin_ = first_sample(slot(curves::first_slot +
                                   static_cast<std::int64_t>(world) * (from.slots + pause_slots)))
                     .value;
        cut_ = &cut;
        say_ = [&, world](const phy::received_slot& r) {
            heard_slot w{world, r.locked, {}, r.snr_db, r.predicted_snr_db, 0};
            for (std::size_t b = 0; b < nof_bins; ++b) w.outcome[b] = r.bins[b].outcome;
            w.fingerprint = fingerprint_of(r, receiver_.state());
            reported(w);
        };
        const auto size = static_cast<std::int64_t>(from_.size());
        if (world < smooth) return stretch(0, size);
        const db step(20 * std::log10(2.0));
        const std::int64_t second = second_step_at(from.slots);
        receiver_.set_gain(sample(begin_ + first_step_at(from.slots)), step);
        stretch(0, loss_at(from.slots));
        stretch(loss_at(from.slots) + lost, second - announced_before);
        receiver_.set_gain(sample(begin_ + second), step + step, false);
        stretch(second - announced_before, size);
    }

private:
    static constexpr std::int64_t pause_slots = 1000;

    void stretch(std::int64_t at, std::int64_t end) {
        while (at < end) {
            const piece p = (*cut_)();
            const std::int64_t n = std::min(p.samples, end - at);
            buffer_.resize(p.offset + static_cast<std::size_t>(n));
            std::copy_n(from_.begin() + at, n,
                        buffer_.begin() + static_cast<std::ptrdiff_t>(p.offset));
            receiver_.process(sample(begin_ + at), std::span(buffer_).subspan(p.offset), say_);
            at += n;
        }
    }

    phy::slot_receiver receiver_{{}};
    std::span<const cf32> from_;
    std::int64_t begin_ = 0;
    const cut_fn* cut_ = nullptr;
    phy::slot_receiver::on_slot_fn say_;
    std::vector<cf32> buffer_;
};

inline piece whole_slots() { return {slot_samples, 0}; }

inline std::vector<heard_slot> hear_whole(const recording& from, std::size_t nof_worlds) {
    std::vector<heard_slot> all;
    const cut_fn whole = whole_slots;
    listener receiver;
    for (std::size_t n = 0; n < nof_worlds; ++n)
        receiver.hear(from, n, whole, [&](const heard_slot& w) { all.push_back(w); });
    return all;
}

// Pieces of 1 to 16384 samples, as many short ones as long ones, anywhere in a cache line.
class random_cut {
public:
    explicit random_cut(std::uint64_t seed) : random_(seed) {}
    piece operator()() {
        const std::uint64_t longest = std::uint64_t{1} << random_() % 15;
        return {static_cast<std::int64_t>(1 + random_() % longest),
                static_cast<std::size_t>(random_() % 16)};
    }

private:
    std::mt19937_64 random_;
};

// The first slot of the recording that is received differently when it is cut by this seed than in
// `whole`.
inline std::optional<std::size_t> first_difference(const recording& from,
                                                   const std::vector<heard_slot>& whole,
                                                   std::uint64_t seed) {
    std::size_t number = 0;
    std::optional<std::size_t> first;
    listener receiver;
    const cut_fn cut = random_cut(seed);
    for (std::size_t n = 0; n < worlds.size(); ++n)
        receiver.hear(from, n, cut, [&](const heard_slot& w) {
            const bool same = number < whole.size() && w.fingerprint == whole[number].fingerprint;
            if (!same && !first) first = number;
            ++number;
        });
    if (!first && number < whole.size()) first = number;
    return first;
}

}  // namespace wip::heard
