// SPDX-License-Identifier: GPL-3.0-or-later
// The downlink MAC of the base station: queue, segmentation, ARQ, scheduling, adaptation. Sans-I/O:
// the caller advances it with one integer, the slot.
//
//   on_sdu(packet, now)        an IP packet came from the TUN
//   on_not_sent(slot)          the radio could not send it
//   on_feedback(feedback)      the terminal's report about slot j; earliest use: plan(j + delay)
//   plan(air)                  everything that goes out in slot `air`; called once for each slot,
//                              in order
//   plan(air, bins)            the same, in these bins: another has shared them out, after
//                              look(air) (link/cell_scheduler.h)
//
// Feedback for slot j may be handed over early (the emulated uplink knows its arrival time); it is
// held until plan(j + retransmission_delay). A slot whose feedback has not come by then counts as
// not received.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "journal/packet_journal.h"
#include "link/feedback.h"
#include "link/grant_room.h"
#include "link/link_config.h"
#include "link/link_statistics.h"
#include "link/scheduling_view.h"
#include "link/slot_record.h"
#include "port/link_port.h"
#include "port/own_rules.h"
#include "types/slot_time.h"

namespace wip {

class base_station_mac {
public:
    // Throws std::invalid_argument that names the key, the value and what would be valid.
    // `first_sn`: the sequence number of the first frame, 0 or more.
    explicit base_station_mac(const link_config& config, frame_sn first_sn = 0);
    ~base_station_mac();
    base_station_mac(base_station_mac&&) noexcept;
    base_station_mac& operator=(base_station_mac&&) noexcept;

    // False when the packet was dropped (counted with its reason). It came at the start of slot
    // `now`, or `arrived_ns` nanoseconds after the start of slot 0; a queue discipline counts the
    // time in the queue from there to the start of the slot that is planned.
    bool on_sdu(std::span<const std::uint8_t> packet, slot now) {
        return on_sdu(packet, slot_start_ns(now));
    }
    bool on_sdu(std::span<const std::uint8_t> packet, std::int64_t arrived_ns);
    void on_feedback(const slot_feedback& feedback);
    // The plan of that slot did not go on the air: its frames count as failed, and its SDU
    // boundaries as not reported, at once and not only after the retransmission delay. Does nothing
    // for a slot that is resolved already, or was not planned.
    void on_not_sent(slot air);
    slot_plan plan(slot air);
    // The same into `out`. The plan takes the place of what `out` held, whose buffers are used
    // again, as in the other calls with `out`.
    void plan(slot air, slot_plan& out);
    // Uses every bin of the set (bit b: bin b) that it has something for; `bins` and `allocation`
    // of the configuration do not matter.
    void plan(slot air, std::uint32_t bins, slot_plan& out);
    // The same with a limited number of bits of a grant; plan.grant.addressed tells whether this
    // terminal has a section in it.
    void plan(slot air, std::uint32_t bins, const grant_room& room, slot_plan& out);
    // Bits at the end of the grant that later plans leave to something else (an uplink grant,
    // types/uplink_grant.h), where the grant is this terminal's alone; 0 at first.
    void reserve_grant_bits(int bits);
    // Units that wait for being sent again.
    std::size_t units_waiting() const;
    // After look(air): bits that a section with a frame has at least, and whether there is
    // something to say without a frame.
    int least_section(slot air) const;
    bool wants_section() const;
    // Processes the feedback that is due for slot `air` and returns what the scheduler may know;
    // plan(air) has to follow. Throws std::logic_error for a slot that is planned.
    const scheduling_view& look(slot air);

    // At run time, from the next plan on: everything except link.profile and link.eight_points (the
    // constellation of 8-QAM). A new retransmission delay also holds for what is on the way. Throws
    // as the constructor does.
    void reconfigure(const link_config& config);

    // Sets the rules that from the next plan on share out the bins instead of `allocation` in
    // plan(air), and choose the modulation instead of the switch table; nullptr: none. The caller
    // keeps the objects, which know this terminal by its number.
    void use(scheduler_port* own_scheduler, const openwip_cell& cell);
    void use(adaptation_port* own_adaptation, int user = 0);

    const base_statistics& statistics() const;
    // The record of a slot that was planned not more than 60 slots ago; its `air` is another slot
    // if the record is no longer kept.
    const slot_record& record(slot air) const;
    // The last slot up to which every frame is acknowledged or failed.
    slot resolved() const;

    // Records the packets that arrive from now on in this journal, which has to exist until another
    // one, or nullptr, replaces it.
    void follow_packets(packet_journal* journal);

    // Whether nothing is queued or outstanding: every packet has been sent or dropped.
    bool idle() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace wip
