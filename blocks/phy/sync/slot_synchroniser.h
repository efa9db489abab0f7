// SPDX-License-Identifier: GPL-3.0-or-later
// Samples in; the resource elements of every slot out.
//
//   searching     nothing known; acquisition examines every 5120 samples
//   confirming    a candidate: timing, CFO, cell and slot in frame, to be verified
//   synchronised  the pilots of several slots agreed (sequential_test.h)
//   holding       the pilots are missing, and timing and CFO stay as they were last. The state is
//                 synchronised again as soon as pilots agree at that timing. Acquisition searches
//                 at the same time, so that a signal that comes back with another timing is not
//                 found later than by a search. A signal that it finds at the held timing is taken
//                 as another one when it has been found twice with the same cell, slot in frame and
//                 CFO, and these are not the held ones: a base station that was started anew by the
//                 same clock
//
// Back to searching: the candidate was refuted, the pilots were missing while timing was held, more
// samples are missing than it would be held for, or the sample count jumped back. Fewer missing
// slots keep their numbers: the user gets each of them as missing, and timing is kept. (The
// receiver adds a state above: locked, when grants have told the frame number.)
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "phy/estimation/channel_estimator.h"
#include "phy/estimation/pilot_score.h"
#include "phy/grid/pilots.h"
#include "phy/ofdm/slot_extractor.h"
#include "phy/sync/acquisition.h"
#include "phy/sync/direct_conversion.h"
#include "phy/sync/gain_watch.h"
#include "phy/sync/sequential_test.h"
#include "phy/sync/tracking.h"
#include "types/db.h"
#include "types/quantity.h"

namespace wip::phy {

enum class sync_state : std::uint8_t { searching, confirming, holding, synchronised };
enum class sync_loss : std::uint8_t { refuted, pilots_missing, gap, jump_back };

// The time, in slots, that timing is held without a signal: 67 ms. At 20 ppm between two clocks, of
// which a tenth is not known after a second of tracking, it is off by one sample then.
inline constexpr int longest_hold = 100;

struct aligned_slot {
    sync_state state = sync_state::searching;
    sample start;  // sample time of the first sample
    // Samples are missing, or the radio's gain changed within the slot: nothing below is valid but
    // the slot in frame.
    bool missing = false;
    // The radio's gain has changed since the last slot that was not missing. The change of the
    // level is known as exactly as the radio's gain is; the change of the phase is not known at
    // all.
    bool gain_stepped = false;
    int slot_in_frame = 0;  // 0..29
    // The samples at the scale of gain 0, without the radio's DC offset and image; the last
    // window_advance may not have come yet (see the constructor).
    std::span<const cf32, slot_samples> samples;
    const slot_planes& elements;  // CFO and timing taken out
    float pilot_score;            // 0..1
};

// Receives the synchroniser's events. All callbacks run inside process().
class slot_user {
public:
    virtual ~slot_user() = default;
    // A candidate has been found. Knowledge about an earlier channel is void.
    virtual void on_candidate(int cell) noexcept = 0;
    virtual void on_lock_lost(sync_loss why) noexcept = 0;
    // While searching: 5120 samples without a slot, which begin at `start`.
    virtual void on_no_signal(sample start) = 0;
    // A slot. Returns the channel when it could be measured, for the tracking; it has to stay
    // valid until on_tracking_updated().
    virtual const channel_estimate* on_slot(const aligned_slot& s) = 0;
    // Tracking has gone on to the next slot, or on_lock_lost() has been called.
    virtual void on_tracking_updated() = 0;
};

class slot_synchroniser {
public:
    // `from`: its cell is 0..63 or any_cell; throws std::invalid_argument. A slot is handed over as
    // soon as its last FFT window is there, window_advance samples before its end; `whole`: when
    // all of it is.
    explicit slot_synchroniser(sender from, bool whole = false);

    // Samples in order; a jump in `first`, the sample time of in[0], is a gap.
    void process(sample first, std::span<const cf32> in, slot_user& user);

    // Sets the times at which samples are taken: sample n at time n + `later`, -0.5 to 0.5 samples,
    // from the next call of process() on. A receiver that a radio starts anew after an overflow
    // begins at any tick of the radio's clock. What is tracked stays where it is in time.
    void set_grid(double later) noexcept { grid_ = later; }

    // Sets the radio's gain from that sample on, dB. Samples are brought to the scale of gain 0, so
    // that the parts of the receiver that learn from slot to slot see no step. If it is not
    // `exact`, the step may come at another time (gain_watch.h), and the slot it falls into is
    // missing. At most 4 steps may be announced ahead; when the sample count jumps back, they hold
    // at once.
    void set_gain(sample from, db gain, bool exact = true) noexcept;
    db gain() const noexcept;  // gain of the newest sample

    // DC offset and image of the radio are taken out of the samples (direct_conversion.h); false:
    // they stay.
    void correct_input(bool on) noexcept { input_.correct(on); }

    sync_state state() const noexcept { return state_; }
    const tracking& track() const noexcept { return track_; }

private:
    void restart(std::int64_t first, sync_loss why, slot_user& user);
    void feed(const cf32* in, std::int64_t count, slot_user& user);
    void search(slot_user& user);
    void begin_candidate(const acquired& found, slot_user& user);
    void begin_hold();
    void hold(slot_user& user);
    bool is_another(const acquired& found) noexcept;
    void follow(slot_user& user);
    void lose(sync_loss why, slot_user& user);
    void trim();
    void take(const cf32* in, std::int64_t count) noexcept;
    bool gain_changed_within() noexcept;
    void set_scale(float scale, std::int64_t from) noexcept;
    std::int64_t end() const noexcept { return buffer_start_ + filled_; }
    std::int64_t due() const noexcept;

    const sender from_;
    direct_conversion input_;
    acquisition acquisition_;
    slot_extractor extractor_;
    tracking track_;
    pilots pilots_;
    sequential_test test_;
    cf32 pilot_direction_ = 1;  // see pilot_score.h; mean of the last slots
    slot_planes elements_;

    sync_state state_ = sync_state::searching;
    std::vector<cf32> buffer_;  // samples buffer_start_ .. buffer_start_ + filled_
    std::int64_t buffer_start_ = 0, filled_ = 0;
    const int early_;  // samples before its end at which a slot is handed over
    bool started_ = false;
    double grid_ = 0;          // samples, as set_grid() has set it
    double tracked_grid_ = 0;  // the one that the tracked timing contains
    std::int64_t next_ = 0;    // start of the next slot (of the next 5120 samples while searching)
    int held_ = 0;             // slots
    std::int64_t next_search_ = 0;  // start of the next 5120 samples for acquisition while holding
    std::optional<acquired> suspected_;         // found at the held timing, but not what is held
    std::int64_t lost_from_ = 0, lost_to_ = 0;  // missing samples, replaced by zeros
    int cell_ = 0, slot_in_frame_ = 0;

    struct gain_step {
        std::int64_t from = 0;
        float scale = 1;
    };
    float scale_ = 1;
    // Sample of the last gain step, until the first slot after it is measured.
    std::optional<std::int64_t> stepped_at_;
    float scale_before_ = 1, scale_after_ = 1;  // before and after the step that is watched
    gain_watch watch_;
    std::array<gain_step, 4> steps_;  // announced, in order
    std::size_t nof_steps_ = 0;
};

}  // namespace wip::phy
