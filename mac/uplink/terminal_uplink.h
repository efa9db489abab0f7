// SPDX-License-Identifier: GPL-3.0-or-later
// The terminal's half of an uplink by radio: a queue of IP packets, frames cut from them, and the
// form about the downlink. Sans-I/O. The base station commands the ARQ (types/uplink_grant.h): the
// terminal fills the frames that a grant asks for, holds them until the window edge has passed
// them, and sends again those that are asked for again. It gives up none.
//
//   on_sdu(packet, now)       an IP packet came from the TUN
//   on_slot(feedback, grant)  everything that goes out in the uplink slot that carries the form
//                             about slot feedback.air of the downlink
//
// SNs follow the grants. A grant is believed when it continues the one before: its first SN is the
// next SN here, or up to 511 later (the grants between were missed, their frames stay empty), and
// its window edge does not go back. One that does not continue is refused; two in a row come from a
// base station that has restarted, and the terminal starts over: what it had cut into frames is
// dropped. A terminal that has restarted itself goes on at the first SN of the first grant that it
// receives; older frames it answers with empty ones.
//
// A short grant (types/short_uplink_grant.h) is obeyed when this terminal has obeyed a grant in the
// slot that it refers to. Otherwise nothing is known of what it grants: no frame is sent, and it
// says nothing about a base station that has restarted.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "link/feedback.h"
#include "port/link_port.h"
#include "types/control_content.h"
#include "types/packets_bytes.h"
#include "types/short_uplink_grant.h"
#include "uplink/radio_uplink_config.h"

namespace wip {

// The transmission of a terminal in one slot of the uplink.
struct uplink_transmission {
    slot about;       // the downlink slot whose grant and form these are
    bool on = false;  // false: silence, because the terminal is not locked
    control_content form{};
    slot_plan frames;        // `air` is `about`; its grant holds the units
    int timing_samples = 0;  // sum of the timing steps: how much later than the downlink says
    int power_db = 0;        // sum of the power steps
};

// Conservation, packets and bytes: in = queued + sent + all that is dropped. `sent`: the window
// edge has passed the packet's last frame, so the base station has all of it.
struct terminal_uplink_statistics {
    packets_bytes in, queued, sent;
    packets_bytes marked;  // part of `in`: the queue wrote "congestion experienced"
    packets_bytes dropped_queue_full, dropped_queue_managed, dropped_not_ip;
    packets_bytes dropped_start_over;  // in frames when the base station had restarted

    std::uint64_t forms = 0;                     // sent
    std::uint64_t grants = 0;                    // uplink grants that were obeyed
    std::uint64_t grants_short = 0;              // of these, short ones
    std::uint64_t grants_refused = 0;            // did not continue the earlier ones
    std::uint64_t grants_without_reference = 0;  // short ones whose reference is unknown
    std::uint64_t started_over = 0;
    std::uint64_t frames_new = 0;       // filled with data, first transmissions
    std::uint64_t frames_repeated = 0;  // sent again, with data
    std::uint64_t frames_empty = 0;     // transmissions that carried nothing
};

class terminal_uplink {
public:
    // The sums of all timing and power steps stay within these.
    static constexpr int most_timing_samples = 512;
    static constexpr int most_power_db = 40;

    explicit terminal_uplink(const radio_uplink_config& config);  // throws as check() does
    ~terminal_uplink();
    terminal_uplink(terminal_uplink&&) noexcept;
    terminal_uplink& operator=(terminal_uplink&&) noexcept;

    // False when the packet was dropped (counted with its reason). It came `arrived_ns` nanoseconds
    // after the start of slot 0.
    bool on_sdu(std::span<const std::uint8_t> packet, std::int64_t arrived_ns);
    // Valid until the next call. Slots come in order.
    const uplink_transmission& on_slot(const slot_feedback& feedback,
                                       const std::optional<uplink_command>& grant);
    // Packets from now on, and grants; the profile cannot change. Throws as check() does.
    void reconfigure(const radio_uplink_config& config);

    // Whether nothing is queued and every frame has been received, as far as is known here.
    bool idle() const;
    const terminal_uplink_statistics& statistics() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace wip
