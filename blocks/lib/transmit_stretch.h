// SPDX-License-Identifier: GPL-3.0-or-later
// Which slot a transmitter makes next. Slots follow one another in a stretch, which is one burst of
// the radio. A late slot, an underflow or a slot that cannot be made ends it by a filler of zeros,
// and another stretch begins on its own time: after an event `restart` slots later. A radio looks
// at a time only where a burst begins, so that a gap inside of a burst would move all that follows.
// The filler is shorter than one slot, for a burst that should begin before the end of the one
// before is late; and it has more than one sample, for the FPGA of some radios loses the end of a
// burst of one sample.
//
// A radio that has run dry without the end of a burst is behind: by the time from the first sample
// that was missing (underflow) until the next packet came and was too late (the first late event
// after it). It stays so up to the end of the burst, for the FPGA of some radios drops what is late
// no faster than it would send it. A stretch that began within that time would be late from its
// first sample on, and so would each one after it: so the gap is longer by it.
//
// Bursts may be set to be short. Each one that ends is acknowledged, and GNU Radio's sink, which
// polls for events of the radio only every other tenth of a second while there are none, then polls
// all the time: an underflow is reported at once, not 150 slots later. Such a burst ends with its
// last slot, and the next one begins some samples later, in the cyclic prefix of its first slot.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "types/grid.h"

namespace wip {

class transmit_stretch {
public:
    static constexpr std::int64_t filler_samples = 256;
    static_assert(filler_samples >= 2 && filler_samples < slot_samples / 2);

    // More than any radio needs between two bursts (3 ticks of its master clock), less than a fifth
    // of a prefix.
    static constexpr std::int64_t pause_samples = 16;
    static_assert(pause_samples * 5 < prefix_samples[0]);

    transmit_stretch(slot first, slot_count restart)
        : restart_(restart), next_(first), first_(first), gap_begin_(first), gap_end_(first) {}

    // Bursts end before each slot whose number is a multiple of this; 0: with their stretch.
    void set_burst(slot_count slots) { burst_ = slots.value; }
    // The next slot is the last of its burst.
    bool ends_burst() const { return is_first_of_burst(next_ + slot_count(1)); }
    // The next slot begins a burst within its stretch.
    bool resumes() const { return !begins_ && is_first_of_burst(next_); }
    // The radio has a burst that has not ended.
    bool is_open() const { return !begins_ && !resumes(); }

    slot next() const { return next_; }
    bool begins() const { return begins_; }  // the next slot is the first of its stretch
    bool broken() const { return broken_; }  // the filler that ends it is next

    slot first() const { return first_; }  // of the last stretch of which a slot was made

    void made() {
        if (begins_) first_ = next_;
        begins_ = false;
        ++next_;
    }
    // Skips the slots before `s`, after the filler has ended the present stretch; the next stretch
    // begins with `s`.
    void skip_to(slot s) {
        if (!begins_) gap_begin_ = next_;
        gap_end_ = next_ = s;
        resume_ = std::max(resume_, s);
        broken_ = false;
        begins_ = true;
    }
    // The filler has ended a broken stretch.
    void ended() { skip_to(std::max(next_, resume_)); }
    bool is_skipped(slot s) const { return s >= gap_begin_ && s < gap_end_; }
    // The last one up to s that was made, of the stretch of s and the one before.
    slot made_until(slot s) const {
        const slot last = std::min(s, next_ - slot_count(1));
        return is_skipped(last) ? gap_begin_ - slot_count(1) : last;
    }
    // Events come from the device's past: those of a stretch that has already been ended do not
    // count.
    void fault(std::optional<slot> at) {
        const slot happened = at.value_or(next_);
        if (begins_ || happened < resume_) return;
        broken_ = true;
        resume_ = std::max(happened, next_) + restart_;
    }
    // A radio whose clock does not wait had no sample from `at` on.
    void ran_dry(sample at) {
        underflow_at_ = at;
        fault(std::min(slot_of(at), next_));
    }
    // The radio received a packet for this time too late.
    void was_late(sample at) {
        if (underflow_at_) {
            const sample_count behind = at - *std::exchange(underflow_at_, std::nullopt);
            return resume_later(slots_of(behind));
        }
        if (begins_ || slot_of(at) < resume_) return;
        fault(std::min(slot_of(at), next_));
        const sample_count behind = at - first_sample(began_before(slot_of(at)));
        if (behind < first_sample(slot(most_behind)) - first_sample(slot(0)))
            resume_ = resume_ + slots_of(behind);
    }

private:
    // Largest distance in samples from the beginning of a burst at which a late packet shows how
    // far the radio is behind. Only the first packet of a burst is checked against its own time; a
    // later packet is late for another reason.
    static constexpr std::int64_t most_behind = 16;

    slot began_before(slot s) const {
        return burst_ > 0 ? std::max(first_, slot(s.value - s.value % burst_)) : first_;
    }
    bool is_first_of_burst(slot s) const { return burst_ > 0 && s.value % burst_ == 0; }
    // Slots by which a gap has to be longer if the radio is this far behind: the filler is sent
    // late, too.
    static slot_count slots_of(sample_count behind) {
        return slot_count((std::max<std::int64_t>(behind.value, 0) + 2 * filler_samples) /
                          slot_samples);
    }
    // The radio is behind with the stretch that has been ended, or is to be.
    void resume_later(slot_count behind) {
        if (broken_) {
            resume_ = std::max(resume_, next_ + restart_ + behind);
            return;
        }
        const slot earliest = gap_begin_ + restart_ + behind;
        if (earliest <= (begins_ ? next_ : first_)) return;
        if (begins_) return skip_to(earliest);
        broken_ = true;  // the one after it has begun too early
        resume_ = next_ + restart_ + (earliest - first_);
    }

    slot_count restart_;
    std::int64_t burst_ = 0;
    slot next_, first_;
    slot gap_begin_, gap_end_;  // the last gap: its first slot, and the first slot after it
    std::optional<sample> underflow_at_;  // the underflow since which no late event has come
    slot resume_{0};                      // where the next stretch begins, when broken
    bool broken_ = false;
    bool begins_ = true;
};

}  // namespace wip
