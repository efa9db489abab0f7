// SPDX-License-Identifier: GPL-3.0-or-later
// The counts of a receiver block, for status(): written by work(), read by other threads.
#pragma once

#include <gnuradio/wip/slot_receiver.h>

#include <cstdint>
#include <mutex>

#include "fader/known_burst.h"
#include "phy/receiver/received_slot.h"
#include "receiver_message.h"

namespace wip {

class receiver_account {
public:
    // The state as of the last slot; for the thread that counts.
    const openwip::receiver::State& state() const { return state_; }

    void overflow() {
        const std::lock_guard lock(mutex_);
        state_.set_overflows(state_.overflows() + 1);
    }
    void burst(const cabled::heard_burst& b, double cfo) {
        const cabled::burst_response r = response_of(b, cfo);
        const std::lock_guard lock(mutex_);
        auto& entry = *state_.add_bursts();
        entry.set_centre(b.centre);
        entry.set_noise(r.noise);
        for (const auto& v : r.values)
            for (const double part : {v.real(), v.imag()})
                entry.add_response(static_cast<float>(part));
    }
    // Counts a slot. fill(state, status) adds the fields that do not come from the PHY.
    template <class Fill>
    void count(const phy::received_slot& received, const phy::receiver_state& receiver,
               std::int64_t air, Fill&& fill) {
        const std::lock_guard lock(mutex_);
        fill_state(receiver, state_);
        status_.air = air;
        ++status_.slots;
        fill(state_, status_);
        if (!received.locked) return;
        ++status_.slots_locked;
        state_.set_mean_snr_db(phy::mean_snr(received).value);
        if (!received.grant_ok) return;
        ++status_.grants_ok;
        for (const auto& bin : received.bins) {
            status_.frames_good += bin.outcome == frame_outcome::good;
            status_.frames_bad += bin.outcome == frame_outcome::bad;
            status_.frames_combined += bin.combined;
        }
    }
    gr::wip::slot_receiver_status status() const {
        const std::lock_guard lock(mutex_);
        auto status = status_;
        status.receiver = values_of(state_);
        return status;
    }

private:
    mutable std::mutex mutex_;
    gr::wip::slot_receiver_status status_;
    openwip::receiver::State state_;
};

}  // namespace wip
