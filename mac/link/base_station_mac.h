// SPDX-License-Identifier: GPL-3.0-or-later
// The downlink MAC of the base station: queue, segmentation, ARQ, scheduling, adaptation. It does
// no I/O and reads no clock: the caller passes the number of the slot.
//
//   on_sdu(packet, now)        an IP packet came from the TUN
//   on_not_sent(slot)          the radio could not send the plan of this slot
//   on_feedback(feedback)      the terminal's report about slot j; it is used in plan(j + delay)
//   plan(air)                  returns everything that is sent in slot `air`; called once for each
//                              slot, in order
//   plan(air, bins)            the same in these bins; a scheduler of several users chooses them
//                              after look(air) (link/cell_scheduler.h)
//
// The caller may hand over the feedback of slot j early, as the emulated uplink does, which knows
// when it arrives. The MAC holds it until plan(j + retransmission_delay). If there is no feedback
// by then, all frames of slot j count as not received.
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
    // Throws std::invalid_argument, which names the key, the value and the valid values. `first_sn`
    // is the sequence number of the first frame, 0 or more.
    explicit base_station_mac(const link_config& config, frame_sn first_sn = 0);
    ~base_station_mac();
    base_station_mac(base_station_mac&&) noexcept;
    base_station_mac& operator=(base_station_mac&&) noexcept;

    // Returns false if the packet was dropped, and counts the reason. The packet arrived at the
    // start of slot `now`, or `arrived_ns` nanoseconds after the start of slot 0. From then to the
    // start of the planned slot a queue discipline counts its time in the queue.
    bool on_sdu(std::span<const std::uint8_t> packet, slot now) {
        return on_sdu(packet, slot_start_ns(now));
    }
    bool on_sdu(std::span<const std::uint8_t> packet, std::int64_t arrived_ns);
    void on_feedback(const slot_feedback& feedback);
    // The plan of that slot was not sent. Its frames count as failed, and its SDU boundaries as not
    // reported, at once and not only after the retransmission delay. The call has no effect if the
    // slot was not planned or is already resolved.
    void on_not_sent(slot air);
    slot_plan plan(slot air);
    // Writes the same plan into `out` and replaces what `out` held. As in all calls with `out`, its
    // buffers are used again.
    void plan(slot air, slot_plan& out);
    // Plans in the given bins (bit b stands for bin b), as many as the waiting data needs. The
    // settings `bins` and `allocation` have no effect here.
    void plan(slot air, std::uint32_t bins, slot_plan& out);
    // The same with a limited number of bits in a common grant. plan.grant.addressed says whether
    // this terminal has a section in it.
    void plan(slot air, std::uint32_t bins, const grant_room& room, slot_plan& out);
    // Later plans leave this many bits (0 at first) free at the end of a grant that is for this
    // terminal alone. An uplink grant takes them (types/uplink_grant.h).
    void reserve_grant_bits(int bits);
    // Returns the number of units that wait to be sent again.
    std::size_t units_waiting() const;
    // Both are valid after look(air): the least bits of a section with a frame; and whether this
    // terminal needs a section even without a frame.
    int least_section(slot air) const;
    bool wants_section() const;
    // Processes the feedback that is due for slot `air`, and returns what a scheduler needs.
    // plan(air) must follow. Throws std::logic_error if the slot is already planned.
    const scheduling_view& look(slot air);

    // Changes the configuration from the next plan on, except link.profile and link.eight_points
    // (the points of 8-QAM). A new retransmission delay also holds for frames that were sent
    // already. Throws what the constructor throws.
    void reconfigure(const link_config& config);

    // From the next plan on these rules decide: the scheduler shares out the bins of plan(air) in
    // place of `allocation`, the rule replaces the switch table; nullptr removes them. The caller
    // keeps the objects, which know this terminal by its number.
    void use(scheduler_port* own_scheduler, const openwip_cell& cell);
    void use(adaptation_port* own_adaptation, int user = 0);

    const base_statistics& statistics() const;
    // Returns the record of a slot that was planned at most 60 slots ago. For an older slot the
    // record's `air` is another slot.
    const slot_record& record(slot air) const;
    // Returns the last slot up to which all frames are acknowledged or have failed.
    slot resolved() const;

    // Records packets that arrive from now on in this journal. It must exist until another one (or
    // nullptr) replaces it.
    void follow_packets(packet_journal* journal);

    // Returns true if nothing is queued or outstanding: every packet has been sent or dropped.
    bool idle() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace wip
