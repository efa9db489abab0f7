// SPDX-License-Identifier: GPL-3.0-or-later
// Frames of a slot from its resource elements: one-tap equaliser without bias (y conj(h) / |h|^2),
// nearest point, descrambling, CRC; when the CRC fails, once more after chase combining with the
// stored copies. When frames of the slot still fail and have a chance to be saved
// (expected_errors.h), the channel is estimated again from all decisions (decision_feedback.h) and
// these frames are detected again, combined where there is a copy. Where interference between
// subcarriers is most of the noise, this is done twice. The CRC of a frame is checked at most
//     once as received, once combined, once after feedback, once after a second feedback.
// A frame that is too likely to be wrong is not accepted even if its CRC holds
// (wrong_decisions.h).
#pragma once

#include <array>
#include <complex>
#include <vector>

#include "phy/coding/frame_coder.h"
#include "phy/detection/bin_result.h"
#include "phy/detection/combining_store.h"
#include "phy/estimation/channel_estimator.h"
#include "phy/estimation/decision_feedback.h"
#include "phy/estimation/sent_image.h"
#include "phy/grid/sender.h"
#include "phy/qam/constellation.h"
#include "types/bin.h"
#include "types/grant.h"

namespace wip::phy {

// For measurements: is called at every check of a frame with the decided labels, whether the CRC
// holds, and whether the frame would be accepted then.
class check_watcher {
public:
    virtual ~check_watcher() = default;
    virtual void on_check(bin_index bin, const label_array& labels, bool holds, bool accepted) = 0;
};

class slot_detector {
public:
    // Detects the frames that this sender sends; on the downlink of a cell with several terminals,
    // those for the terminal `from.terminal`.
    slot_detector(sender from, bool combining);

    void set_sender(sender from) noexcept { from_ = from; }
    // Copies that were kept before it was switched off are not used after it is on again.
    void set_combining(bool on) noexcept {
        combining_ = on;
        if (!on) store_.clear();
    }
    void want_soft_bits(bool on) noexcept { soft_ = on; }
    // Detects every bin of the grant. The spans in `out` stay valid until the next call. Without
    // `known` there is no second pass. `noise`: variance per element, of each bin.
    void detect(const std::array<plane, symbols_per_slot>& y, const channel_estimate& channel,
                const std::array<float, nof_bins>& noise, const slot_grant& grant,
                std::array<bin_result, nof_bins>& out,
                const known_symbols* known = nullptr) noexcept;
    // Whether the last call made a second pass with decision feedback.
    bool second_pass() const noexcept { return second_pass_; }
    // Share of the transmitter's IQ image (sent_image.h).
    cf32 image() const noexcept { return image_.share(); }
    void clear() noexcept {
        store_.clear();
        image_.clear();
    }
    void watch(check_watcher* watcher) noexcept { watcher_ = watcher; }

private:
    void equalise(const std::array<plane, symbols_per_slot>& y,
                  const channel_estimate& channel) noexcept;
    // Decodes the present copy, and if that fails the one combined with the stored copy (`again`,
    // in a second pass: only the combined one if there is one). True when the CRC holds and the
    // frame is accepted.
    bool attempt(bin_index bin, const bin_grant& grant, float noise, bool again,
                 bin_result& out) noexcept;
    // Stores or erases the copy of the bin's unit, and writes the result.
    void decide(bin_index bin, const bin_grant& grant, bin_result& out) noexcept;
    void run_second_pass(const std::array<plane, symbols_per_slot>& y,
                         const channel_estimate& channel, const std::array<float, nof_bins>& noise,
                         const slot_grant& grant, std::array<bin_result, nof_bins>& out,
                         const known_symbols& known) noexcept;
    bool is_certain(bin_index bin, int k, float noise) const noexcept;
    void place_decisions(bin_index bin, int k) noexcept;
    unit_key key_of(const bin_grant& grant) const noexcept;
    void load_weights(bin_index bin, float noise, soft_copy& copy) const noexcept;
    // `certain`: the frame is accepted without regard to the weights of the symbols, which need not
    // be set.
    bool decode(bin_index bin, const soft_copy& symbols, int k, std::uint64_t key,
                bool certain) noexcept;

    sender from_;
    bool combining_;
    bool soft_ = false;
    std::vector<constellation> constellations_;
    combining_store store_;
    std::array<plane, symbols_per_slot> equalised_;
    std::array<plane, symbols_per_slot> power_;  // |h|^2 in re
    sent_image image_;
    decision_feedback feedback_;
    bool second_pass_ = false;
    check_watcher* watcher_ = nullptr;
    std::array<soft_copy, nof_bins> copies_{};  // copies of this slot, combined with any earlier
    std::array<label_array, nof_bins> labels_{};
    std::array<frame_array, nof_bins> frames_{};
    std::array<std::array<cf32, label_capacity>, nof_bins> symbols_{};
    std::vector<float> llr_;
};

}  // namespace wip::phy
