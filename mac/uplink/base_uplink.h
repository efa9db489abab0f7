// SPDX-License-Identifier: GPL-3.0-or-later
// The base station's half of an uplink by radio, for one terminal. It decides what each downlink
// slot grants, runs the ARQ, makes packets of the frames, and reads the feedback in the forms. It
// does no I/O and has no clock.
//
//   plan(air)          the uplink grant of downlink slot `air`, to be put behind its own grant; or
//                      nothing. Called once for each slot, in order
//   not_granted(air)   that grant did not go out
//   units(j)           what the uplink slot that answers to slot j carries, for the receiver
//   on_slot(report)    what came in that uplink slot; returns the feedback about slot j
//
// A frame that was granted in slot j is asked for again from plan(j + delay_slots) on, until
// it comes. If the caller hands over the uplink slot earlier, its frames and its buffer
// status are not used before. So no packet is lost on the way, and packets arrive in order.
// The window sets a limit: while 127 frames wait for the oldest one, no new frame is
// granted.
//
//   form             a grant goes out in its short form (types/short_uplink_grant.h) when
//                    there is a reference: the latest slot, `delay_slots` ago or more, whose
//                    form has said that the grant was decoded and from which a frame has come.
//                    The frame shows that the terminal has obeyed that grant; a decoded one that
//                    the terminal refused is no reference. Otherwise, or when the short form
//                    cannot say it, the grant is a full one. A reference ends with its 32 slots
//                    unless a newer one follows, so a terminal that has lost it because it has
//                    restarted soon gets a full grant
//   window edge      a short grant carries it where it has moved and the downlink has no use for
//                    the room, or the terminal would fall back by more than 127 frames
//   room             an uplink grant takes 56 bits of the downlink's grant, a short one about 20.
//                    While more units wait for being sent again on the downlink than fit beside it,
//                    only every 8th slot has one: what is put off by that goes with the next slots,
//                    but no retransmission is put off for ever
//   bins of a slot   first the frames that are asked for again, oldest first, all of one
//                    modulation; then new frames, as many as the last buffer status asks for less
//                    those granted since then, and at least `standing_bins`
//
// Frames that carry nothing take no part in the stream.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "link/feedback.h"
#include "types/control_content.h"
#include "types/frame_outcome.h"
#include "types/packets_bytes.h"
#include "types/short_uplink_grant.h"
#include "uplink/radio_uplink_config.h"

namespace wip {

// The uplink slot that answers to downlink slot `about`, as it came.
struct uplink_report {
    slot about;
    bool heard = false;    // the terminal's pilots were there; all below is valid
    bool form_ok = false;  // the CRC of the control region holds
    control_content form{};
    std::array<frame_outcome, nof_bins> outcome{};
    std::array<std::vector<std::uint8_t>, nof_bins> payload;  // nibble-packed, as in slot_report
    std::array<float, nof_bins> snr_db{};
};

// The uplink grant of a slot.
struct planned_uplink_grant {
    uplink_grant grant;      // everything that it says
    uplink_command command;  // the same in the form in which it goes out
};

struct base_uplink_statistics {
    packets_bytes delivered;
    // Known packets of which a part never came, because the terminal has restarted.
    packets_bytes dropped_lost_frame;
    std::uint64_t resynchronised = 0;  // times a packet boundary was lost

    std::uint64_t slots = 0, slots_heard = 0;
    std::uint64_t forms = 0;                // accepted
    std::uint64_t forms_lost = 0;           // heard slots whose control region was not decoded
    std::uint64_t forms_refused = 0;        // decoded, but not a form about this slot
    std::uint64_t grants = 0;               // uplink grants planned
    std::uint64_t grants_short = 0;         // of these, in the short form
    std::uint64_t grant_bits = 0;           // bits of downlink grants that they took
    std::uint64_t grants_without_room = 0;  // planned grants that did not go out
    std::uint64_t grants_put_off = 0;       // slots in which the downlink's list had the room
    std::uint64_t frames_granted = 0;       // new ones
    std::uint64_t frames_repeated = 0;      // asked for again
    std::uint64_t frames_good = 0;          // frames received
    std::uint64_t frames_bad = 0;           // not received
    std::uint64_t frames_empty = 0;         // received, carrying nothing
    std::uint64_t frames_duplicate = 0;     // received before
    std::uint64_t frames_malformed = 0;     // with a header that no terminal writes
    std::uint64_t window_stalls = 0;        // slots in which the window allowed no new frame
    std::array<std::uint64_t, max_bits_per_symbol + 1> modulation{};  // frames by bits/symbol
};

class base_uplink {
public:
    using deliver_fn = std::function<void(std::span<const std::uint8_t> packet)>;

    // `first_sn`: of the first frame, 0 or more. Throws as check() does, and without `deliver`.
    base_uplink(const radio_uplink_config& config, deliver_fn deliver, frame_sn first_sn = 0);
    ~base_uplink();
    base_uplink(base_uplink&&) noexcept;
    base_uplink& operator=(base_uplink&&) noexcept;

    // Timing and power steps that the next grant carries, -4..3 samples and -2..1 dB.
    void correct(int timing_step, int power_step_db);
    // Valid until the next call; nullptr: nothing to say, or the turn is the downlink's.
    // `downlink_waiting`: units that wait for being sent again on the downlink. When there are
    // many, their list needs the room of the uplink grant, and only some slots have one.
    const planned_uplink_grant* plan(slot air, std::size_t downlink_waiting = 0);
    // Takes the grant of the last plan back: there was no room for it in the downlink's, or the
    // slot was not sent.
    void not_granted(slot air);
    // nullptr: nothing was granted in slot j, or it is longer ago than 64 slots.
    const slot_grant* units(slot j) const;
    // Packets that became complete are delivered before it returns. nullopt: no form about this
    // slot came. Each slot is reported once; a second report, or one about a slot that was not
    // planned, is ignored.
    std::optional<slot_feedback> on_slot(const uplink_report& report);
    // From the next plan on; the profile cannot change. Throws as check() does.
    void reconfigure(const radio_uplink_config& config);

    const base_uplink_statistics& statistics() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace wip
