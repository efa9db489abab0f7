// SPDX-License-Identifier: GPL-3.0-or-later
#include "slot_synchroniser.h"

#include <algorithm>
#include <cstring>

#include "phy/slot_estimator.h"

namespace wip {

namespace {
constexpr std::int64_t history = 3 * slot_samples;  // what acquisition looks back on
constexpr std::int64_t margin = 64;                 // a slot's start may move back by tracking
constexpr float pilot_pass = 0.25F;
constexpr float mean_snr = 100;  // chooses the estimator's filter; tracking is not particular
constexpr int loss_after = 75, confirm_limit = 6;

std::int64_t modulo(std::int64_t a, std::int64_t m) { return (a % m + m) % m; }
}  // namespace

slot_synchroniser::slot_synchroniser(int cell)
    : pilots_(cell), acquisition_(pilots_), buffer_(8 * slot_samples) {}

void slot_synchroniser::restart(std::int64_t first) {
    tracking_ = confirmed_ = false;
    acquisition_.reset();
    started_ = true;
    buffer_start_ = next_ = first;
    filled_ = 0;
}

void slot_synchroniser::process(sample first, std::span<const phy::cf32> in,
                                const on_slot_fn& on_slot) {
    if (!started_ || first.value != end()) restart(first.value);
    std::memcpy(static_cast<void*>(buffer_.data() + filled_), in.data(), in.size_bytes());
    filled_ += static_cast<std::int64_t>(in.size());
    while (end() >= next_ + slot_samples)
        if (tracking_)
            track(on_slot);
        else
            search();
    trim();
}

void slot_synchroniser::trim() {
    const std::int64_t keep = next_ - (tracking_ ? margin : history);
    const std::int64_t drop = std::min(keep - buffer_start_, filled_);
    if (drop <= 0) return;
    std::memmove(static_cast<void*>(buffer_.data()), buffer_.data() + drop,
                 static_cast<std::size_t>(filled_ - drop) * sizeof(phy::cf32));
    buffer_start_ += drop;
    filled_ -= drop;
}

void slot_synchroniser::search() {
    next_ += slot_samples;
    const auto available = next_ - buffer_start_;
    const auto found =
        acquisition_.step(buffer_.data() + available, static_cast<std::size_t>(available), next_);
    if (!found) return;
    const std::int64_t ahead = (next_ - found->slot_start + slot_samples / 2) / slot_samples;
    next_ = found->slot_start + ahead * slot_samples;
    slot_in_frame_ = static_cast<int>(modulo(found->slot_in_frame + ahead, slots_per_frame));
    track_.start(next_, found->cfo_hz);
    estimator_.reset();
    tracking_ = true;
    failures_ = 0;
}

void slot_synchroniser::track(const on_slot_fn& on_slot) {
    const phy::cf32* samples = buffer_.data() + (next_ - buffer_start_);
    extractor_.set_cfo(track_.cfo_hz());
    extractor_.set_fraction(track_.fraction());
    extractor_.extract(samples, track_.phase(), elements_);
    const auto& sent = pilots_.of(slot_in_frame_);
    const float score = phy::score_pilots(phy::pilots_of(elements_), sent).magnitude;
    const bool there = score > pilot_pass;
    failures_ = there ? std::max(0, failures_ - 3) : failures_ + 1;
    if (there && !confirmed_) {
        confirmed_ = true;
        ++locks_;
    }
    if (confirmed_)
        on_slot({.samples = std::span<const phy::cf32, slot_samples>(samples, slot_samples),
                 .start = sample(next_),
                 .slot_in_frame = slot_in_frame_,
                 .cfo_hz = track_.cfo_hz(),
                 .cfo_phase = track_.phase(),
                 .cfo_turn = track_.turn(),
                 .fraction = track_.fraction(),
                 .shift = track_.shift(),
                 .pilot_score = score});
    if (there) {
        estimator_.from_pilots(elements_, sent.data(), mean_snr, channel_);
        track_.update(channel_);
    } else {
        track_.forget_last();
    }
    track_.advance();
    next_ = track_.slot_start();
    slot_in_frame_ = (slot_in_frame_ + 1) % slots_per_frame;
    if (failures_ > (confirmed_ ? loss_after : confirm_limit)) {
        tracking_ = confirmed_ = false;
        acquisition_.reset();
    }
}

}  // namespace wip
