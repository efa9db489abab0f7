// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/sync/slot_synchroniser.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace wip::phy {

namespace {

// A gap in the stream is bridged for 133 ms: UHD begins anew 50 ms after an overflow of a radio on
// a network, and the stall that made it comes on top. Timing is off by two samples then.
constexpr std::int64_t longest_gap = std::int64_t{2 * longest_hold} * slot_samples;
constexpr std::int64_t history = 3 * slot_samples;  // samples that acquisition may read
constexpr std::int64_t margin = 64;                 // tracking may move a slot's start back
constexpr std::int64_t near_enough = 32;            // to a held timing: a third of a prefix
constexpr double near_enough_hz = 750;              // to a held CFO: what tracking can follow
constexpr float direction_pace = 1.0F / 8;          // a slot, as fast as a fading channel's delay
constexpr float pilot_pass = 0.25F;  // a slot that may steer the tracking: chance passes 1 in 40

std::int64_t modulo(std::int64_t a, std::int64_t m) { return (a % m + m) % m; }

// The slot nearest to sample `time`, of the signal that was found.
acquired at_time(acquired found, std::int64_t time) {
    const std::int64_t ahead = (time - found.slot_start + slot_samples / 2) / slot_samples;
    found.slot_start += ahead * slot_samples;
    found.slot_in_frame = static_cast<int>(modulo(found.slot_in_frame + ahead, slots_per_frame));
    return found;
}

bool is_near(const acquired& a, const acquired& b) {
    return std::abs(a.slot_start - b.slot_start) <= near_enough && a.cell == b.cell &&
           a.slot_in_frame == b.slot_in_frame && std::abs(a.cfo_hz - b.cfo_hz) <= near_enough_hz;
}

}  // namespace

slot_synchroniser::slot_synchroniser(sender from, bool whole)
    : from_(from),
      acquisition_(from),
      pilots_(from.cell == any_cell ? from.in_cell(0) : from),
      buffer_(8 * slot_samples),
      early_(whole ? 0 : window_advance) {}

void slot_synchroniser::process(sample first, std::span<const cf32> in, slot_user& user) {
    if (in.empty()) return;
    const std::int64_t gap = first.value - end();
    if (!started_ || gap < 0 || gap > longest_gap) {
        restart(first.value, gap < 0 ? sync_loss::jump_back : sync_loss::gap, user);
    } else if (gap > 0) {
        if (next_ >= lost_to_) lost_from_ = end();
        lost_to_ = first.value;
        feed(nullptr, gap, user);
    }
    if (grid_ != tracked_grid_) track_.move_grid(grid_ - std::exchange(tracked_grid_, grid_));
    feed(in.data(), static_cast<std::int64_t>(in.size()), user);
}

void slot_synchroniser::restart(std::int64_t first, sync_loss why, slot_user& user) {
    if (started_) lose(why, user);
    // Gain steps were announced in the old sample count. The radio has made them by now, or makes
    // them at once.
    if (started_ && why == sync_loss::jump_back && nof_steps_ > 0) {
        set_scale(steps_[nof_steps_ - 1].scale, first);
        nof_steps_ = 0;
    }
    started_ = true;
    buffer_start_ = first;
    filled_ = 0;
    next_ = first + modulo(-first, slot_samples);
    lost_from_ = lost_to_ = first;
}

// The number of samples that have to be there for the next slot.
std::int64_t slot_synchroniser::due() const noexcept {
    return next_ + slot_samples - (state_ == sync_state::searching ? 0 : early_);
}

// Adds samples to the buffer (nullptr: zeros) and handles the slots that become complete. No sample
// after due() is taken before that slot is handled, so that the gain used does not depend on how
// the samples were cut into calls.
void slot_synchroniser::feed(const cf32* in, std::int64_t count, slot_user& user) {
    while (count > 0) {
        const std::int64_t n = std::min({count, due() - end(), std::int64_t{slot_samples}});
        cf32* to = buffer_.data() + filled_;
        if (in != nullptr) {
            take(in, n);
            in += n;
        } else {
            std::fill_n(to, n, cf32{});
            filled_ += n;
        }
        count -= n;
        while (end() >= due())
            if (state_ == sync_state::searching)
                search(user);
            else
                follow(user);
        trim();
    }
}

// Appends samples to the buffer at the scale of gain 0, without the radio's DC offset and image.
void slot_synchroniser::take(const cf32* in, std::int64_t count) noexcept {
    while (count > 0) {
        std::int64_t n = count;
        while (nof_steps_ > 0) {
            if (steps_[0].from > end()) {
                n = std::min(n, steps_[0].from - end());
                break;
            }
            set_scale(steps_[0].scale, end());
            if (scale_ == scale_after_) watch_.applied(true);
            std::move(steps_.begin() + 1, steps_.end(), steps_.begin());
            --nof_steps_;
        }
        input_.process(end(), in, n, scale_, buffer_.data() + filled_);
        filled_ += n;
        in += n;
        count -= n;
    }
}

void slot_synchroniser::set_gain(sample from, db gain, bool exact) noexcept {
    const gain_step step{from.value, static_cast<float>((-gain).amplitude())};
    if (nof_steps_ == steps_.size()) --nof_steps_;
    scale_before_ = nof_steps_ > 0 ? steps_[nof_steps_ - 1].scale : scale_;
    scale_after_ = step.scale;
    steps_[nof_steps_++] = step;
    watch_.stop();
    if (!exact && from.value > end())
        watch_.expect(from, db(20 * std::log10(static_cast<double>(scale_before_) /
                                               static_cast<double>(scale_after_))));
}

void slot_synchroniser::set_scale(float scale, std::int64_t from) noexcept {
    if (scale == scale_) return;
    scale_ = scale;
    stepped_at_ = from;
    input_.gain_stepped();
}

// Checks the slot at next_, whose elements are there. The samples after it were scaled for the gain
// that does not hold any more.
bool slot_synchroniser::gain_changed_within() noexcept {
    const auto found = watch_.look(elements_, next_);
    if (!found.changes) return found.mixed;
    const float before = scale_;
    watch_.applied(!watch_.applied());
    set_scale(watch_.applied() ? scale_after_ : scale_before_, next_ + slot_samples);
    for (std::int64_t n = next_ + slot_samples - buffer_start_; n < filled_; ++n)
        buffer_[static_cast<std::size_t>(n)] *= scale_ / before;
    return true;
}

db slot_synchroniser::gain() const noexcept {
    return db(scale_ == 1 ? 0 : -20 * std::log10(static_cast<double>(scale_)));
}

void slot_synchroniser::trim() {
    const bool needs_history = state_ == sync_state::searching || state_ == sync_state::holding;
    const std::int64_t keep = next_ - (needs_history ? history : margin);
    const std::int64_t drop = std::min(keep - buffer_start_, filled_);
    if (drop <= 0) return;
    std::memmove(static_cast<void*>(buffer_.data()), buffer_.data() + drop,
                 static_cast<std::size_t>(filled_ - drop) * sizeof(cf32));
    buffer_start_ += drop;
    filled_ -= drop;
}

void slot_synchroniser::search(slot_user& user) {
    const sample block(next_);
    next_ += slot_samples;
    const auto available = next_ - buffer_start_;
    const auto found =
        acquisition_.step(buffer_.data() + available, static_cast<std::size_t>(available), next_);
    if (found) begin_candidate(*found, user);
    user.on_no_signal(block);
}

// Begins to confirm what acquisition has found, with the slot nearest to next_.
void slot_synchroniser::begin_candidate(const acquired& found, slot_user& user) {
    const acquired next = at_time(found, next_);
    next_ = next.slot_start;
    slot_in_frame_ = next.slot_in_frame;
    cell_ = found.cell;
    pilots_ = pilots(from_.in_cell(found.cell));
    track_.start(next_, found.cfo_hz);
    test_.start();
    pilot_direction_ = 1;
    state_ = sync_state::confirming;
    watch_.reset();
    user.on_candidate(found.cell);
}

// Whether acquisition has found another signal than the one that is held. A cell or slot that is
// found where there are no pilots is wrong in one of a hundred tries, so it has to be found twice.
bool slot_synchroniser::is_another(const acquired& found) noexcept {
    const acquired next = at_time(found, next_);
    if (std::abs(next.slot_start - next_) > near_enough) return true;
    const acquired held{next_, cell_, slot_in_frame_, track_.cfo_hz()};
    const bool again = suspected_ && is_near(next, at_time(*suspected_, next_));
    suspected_.reset();
    if (!is_near(next, held)) suspected_ = found;
    return again && suspected_;
}

// Searches for another signal after a slot at the held timing. The held signal is confirmed by its
// pilots.
void slot_synchroniser::hold(slot_user& user) {
    test_.keep_open();
    std::optional<acquired> found;
    for (; !found && next_search_ + slot_samples <= end(); next_search_ += slot_samples) {
        const std::int64_t to = next_search_ + slot_samples;
        found = acquisition_.step(buffer_.data() + (to - buffer_start_),
                                  static_cast<std::size_t>(to - buffer_start_), to);
    }
    if (found && is_another(*found)) {
        lose(sync_loss::pilots_missing, user);
        begin_candidate(*found, user);
    } else if (++held_ >= longest_hold) {
        lose(sync_loss::pilots_missing, user);
    }
}

void slot_synchroniser::lose(sync_loss why, slot_user& user) {
    acquisition_.reset();
    if (state_ == sync_state::searching) return;
    state_ = sync_state::searching;
    user.on_lock_lost(why);
}

void slot_synchroniser::begin_hold() {
    state_ = sync_state::holding;
    held_ = 0;
    next_search_ = next_ - slot_samples;
    suspected_.reset();
    acquisition_.reset();
    test_.start();
}

void slot_synchroniser::follow(slot_user& user) {
    bool missing = next_ < lost_to_ && next_ + slot_samples > lost_from_;
    const cf32* samples = buffer_.data() + (next_ - buffer_start_);
    pilot_score score;
    if (!missing) {
        extractor_.set_cfo(track_.cfo_hz());
        extractor_.set_fraction(track_.fraction());
        extractor_.extract(samples, track_.phase(), elements_);
        missing = state_ == sync_state::synchronised && gain_changed_within();
    } else {
        watch_.forget();
    }
    if (!missing) {
        score = score_pilots(pilots_of(elements_), pilots_.of(slot_in_frame_), pilot_direction_);
        test_.add(score.z);
        if (state_ < sync_state::synchronised && test_.confirmed())
            state_ = sync_state::synchronised;
        if (state_ == sync_state::synchronised) {
            test_.hold();
            if (score.magnitude > pilot_pass)
                pilot_direction_ += direction_pace * (score.direction - pilot_direction_);
        }
    }
    const bool stepped = !missing && stepped_at_ && next_ + slot_samples / 2 > *stepped_at_;
    if (stepped) {
        stepped_at_.reset();
        track_.forget_last();
    }
    const auto* channel =
        user.on_slot({.state = state_,
                      .start = sample(next_),
                      .missing = missing,
                      .gain_stepped = stepped,
                      .slot_in_frame = slot_in_frame_,
                      .samples = std::span<const cf32, slot_samples>(samples, slot_samples),
                      .elements = elements_,
                      .pilot_score = score.magnitude});
    if (channel == nullptr || state_ == sync_state::holding)
        track_.forget_last();
    else if (score.magnitude > pilot_pass)
        track_.update(*channel);
    track_.advance();
    next_ = track_.slot_start();
    slot_in_frame_ = (slot_in_frame_ + 1) % slots_per_frame;
    if (state_ == sync_state::confirming && test_.refuted())
        lose(sync_loss::refuted, user);
    else if (state_ == sync_state::holding)
        hold(user);
    else if (state_ == sync_state::synchronised && test_.lost())
        begin_hold();
    user.on_tracking_updated();
}

}  // namespace wip::phy
