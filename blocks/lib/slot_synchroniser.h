// SPDX-License-Identifier: GPL-3.0-or-later
// wip::phy's acquisition and tracking put together to a synchroniser alone: samples in, the samples
// of every slot out, with what a slot_extractor needs. The channel that drives the tracking is
// estimated from the pilots; no control region is decoded, so a lock rests on the pilots alone
// (phy::slot_receiver also asks for a grant with a good CRC). Lock is given up after 75 slots
// without pilots (6 while none has been seen) and at a jump of the sample time.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "phy/acquisition.h"
#include "phy/channel_estimator.h"
#include "phy/pilots.h"
#include "phy/slot_extractor.h"
#include "phy/tracking.h"
#include "types/quantity.h"

namespace wip {

struct aligned_slot {
    std::span<const phy::cf32, slot_samples> samples;
    sample start;           // sample time of the first one
    int slot_in_frame = 0;  // 0..29
    double cfo_hz = 0;
    double cfo_phase = 0;
    double cfo_turn = 0;
    double fraction = 0;
    double shift = 0;  // what the steps of the timing loop have added up to, samples
    float pilot_score = 0;
};

class slot_synchroniser {
public:
    using on_slot_fn = std::function<void(const aligned_slot&)>;
    explicit slot_synchroniser(int cell);  // throws std::invalid_argument

    // At most slot_samples at a time; `first` is the sample time of in[0].
    void process(sample first, std::span<const phy::cf32> in, const on_slot_fn& on_slot);

    bool locked() const noexcept { return tracking_ && confirmed_; }
    double cfo_hz() const noexcept { return track_.cfo_hz(); }
    std::uint64_t locks() const noexcept { return locks_; }

private:
    void restart(std::int64_t first);
    void search();
    void track(const on_slot_fn& on_slot);
    void trim();
    std::int64_t end() const noexcept { return buffer_start_ + filled_; }

    phy::pilots pilots_;
    phy::acquisition acquisition_;
    phy::slot_extractor extractor_;
    phy::channel_estimator estimator_;
    phy::tracking track_;
    std::array<phy::plane, symbols_per_slot> elements_;
    phy::channel_estimate channel_;

    std::vector<phy::cf32> buffer_;
    std::int64_t buffer_start_ = 0, filled_ = 0;
    std::int64_t next_ = 0;  // start of the next slot, or of the next block to search
    bool started_ = false, tracking_ = false, confirmed_ = false;
    int slot_in_frame_ = 0;
    int failures_ = 0;
    std::uint64_t locks_ = 0;
};

}  // namespace wip
