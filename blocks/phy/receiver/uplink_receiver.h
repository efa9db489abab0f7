// SPDX-License-Identifier: GPL-3.0-or-later
// The base station's receiver of one terminal: samples of the uplink's carrier in, feedback forms
// and frames out. It is made of the parts of the terminal's receiver (slot_receiver.h) and differs
// in what is known in advance.
//
//   - Cell and terminal are known, the frame number is the base station's own: it follows from the
//     slot in the radio frame, which the pilots tell, and from the time at which the slot comes.
// - The control region carries a form that does not describe the frames. The base station has
// granted the content of the bins itself, and provides it on request.
//   - Frames are detected in slots whose form is lost, too, with the channel that the pilots give.
//
// Timing, carrier offset and level are the terminal's: they are followed from its own pilots, and
// reported for its corrections. One terminal's signal has to be by far the strongest on the carrier
// until it is found.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "phy/detection/bin_result.h"
#include "phy/ofdm/ofdm.h"
#include "types/control_content.h"
#include "types/grant.h"
#include "types/grid.h"

namespace wip::phy {

struct uplink_receiver_config {
    int cell = 0;      // 0..63
    int terminal = 0;  // 0..7
    bool combining = true;
    bool correct_input = true;  // direct_conversion.h
};

struct uplink_slot {
    sample start;            // sample time of the slot's first sample
    bool heard = false;      // the terminal's pilots are there; all below is valid
    int slot_in_frame = 0;   // 0..29
    bool form_ok = false;    // the CRC of the control region holds
    control_content form{};  // valid when form_ok
    // `unused` where nothing was granted.
    std::array<bin_result, nof_bins> bins;
    std::array<float, nof_bins> snr_db{};  // SNR of the bins, from this slot alone
    double timing_samples = 0;             // the mean delay, in samples modulo 5120
    double cfo_hz = 0;
    double level_dbfs = 0;  // terminal's signal with all subcarriers on, at the radio
};

struct uplink_receiver_counts {
    std::uint64_t synchronisations = 0;  // the terminal was found, and its pilots confirmed that
    std::uint64_t losses = 0;            // and lost after that
    std::uint64_t slots = 0;             // slots in which it was received
    std::uint64_t forms_failed = 0;      // forms of these slots that failed
    std::uint64_t second_passes = 0;     // slots with failed frames, detected again
};

class uplink_receiver {
public:
    // Units in the bins of the terminal's slot (modulation and SN of each unit), or nullptr for
    // nothing. The pointer has to stay valid during the call of process().
    using units_fn = std::function<const slot_grant*(sample start, int slot_in_frame)>;
    using on_slot_fn = std::function<void(const uplink_slot&)>;

    explicit uplink_receiver(const uplink_receiver_config& config);  // throws std::invalid_argument
    ~uplink_receiver();
    uplink_receiver(uplink_receiver&&) noexcept;
    uplink_receiver& operator=(uplink_receiver&&) noexcept;

    // Samples in order, as in slot_receiver::process(). `on_slot` is called for every slot as soon
    // as its last needed sample is there; while no terminal is heard, once for every 5120 samples.
    void process(sample first, std::span<const cf32> in, const units_fn& units,
                 const on_slot_fn& on_slot);

    const uplink_receiver_counts& counts() const noexcept;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace wip::phy
