// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sync_block.h>
#include <gnuradio/wip/api.h>
#include <gnuradio/wip/recording.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gr::wip {

struct slot_transmitter_status {
    std::int64_t next_slot = 0;  // the slot that is asked for next
    std::uint64_t slots = 0;     // slots sent
    // Events of the device; with a lead, slots that such events tell of, each counted once.
    std::uint64_t late_slots = 0;  // time_error
    std::uint64_t late_plans = 0;  // with a lead: plans that did not come in time, empty slot sent
    std::uint64_t slots_left_out = 0;  // with a lead: too late to be made, or given to end a burst
    std::uint64_t underflows = 0;      // underflow and sequence error
    std::uint64_t other_events = 0;    // burst_ack and anything else
    std::uint64_t restarts = 0;        // stretches begun after the first
    std::uint64_t plans_refused = 0;   // plans with an impossible grant or payload: empty slot sent
    std::uint64_t malformed = 0;       // messages on the slot link that are no message: dropped
    std::uint64_t unexpected = 0;      // messages that answer no question: dropped
};

// The parameters; slot_transmitter::doc says what they are.
struct slot_transmitter_config {
    int cell = 0;
    std::string endpoint;
    std::int64_t start_slot = 150;
    int modulation = 2;
    std::vector<int> bins;
    std::uint64_t seed = 1;
    double timeout_s = 2.0;
    int restart_slots = 30;
    std::int64_t nof_slots = 0;
    int transmissions = 1;
    int lead_slots = 0;
};

class WIP_API slot_transmitter : virtual public gr::sync_block, public can_record {
public:
    using sptr = std::shared_ptr<slot_transmitter>;
    // Describes the block and its parameters; Python has it as its help.
    static constexpr const char* doc =
        R"(Source of whole slots: samples of slot start_slot, start_slot + 1, ... at 7.68 MS/s.

Where the content comes from: with an endpoint, every slot is asked for over the slot link
(SlotRequest, SlotPlan), so macd decides as late as the radio allows; without one, from a seeded
test pattern.

Lead 0 is for a radio whose clock waits: a slot is made as soon as there is room for it. Its tags,
as gr-uhd defines them: the first sample of a contiguous stretch carries tx_sob and tx_time =
tuple(uint64 full seconds, double fraction), computed from the integer sample time; nothing after
that, so a USRP sink streams on. A transmit event (underflow, late) means that the device's
stretch is broken (connect "async_msgs" of a usrp_sink to "async"): a filler of 256 zeros with
tx_eob on its last sample ends it, and a new stretch starts restart_slots after the event.

With a lead the radio's clock runs freely, and set_radio_time() has to be called ten times a
second. A slot is asked for `lead` slots before it is on the air and made when its plan is there,
half a lead before the air at the latest: then it goes out empty (pilots and an empty grant). What
cannot be made in time any more is left out. Each slot has its tx_time; but a USRP looks at a time
only where a burst begins, so the same filler ends the burst before each gap, and the slot behind
the gap has tx_sob. After a transmit event one slot is left out for that.

cell            0..63, selects the pilot sequence
endpoint        address of macd's slot link (shm://PATH, ipc://PATH); empty: test pattern
start_slot      number of the first slot; its first sample has time start_slot / 1500 s
modulation      test pattern: bits per symbol 1..8; can change while it runs
bins            test pattern: bin indexes 0..24, ascending; empty: all 25; can change while it runs
seed            test pattern: seed of the frames' content
timeout_s       macd counts as gone after this silence of its socket, 0.1 .. 60 s
restart_slots   lead 0: distance of the new stretch from an underflow or late event, in slots
nof_slots       end after this many slots; 0: never
transmissions   test pattern: how often each frame is sent, 1..8, three slots apart
lead_slots      0: the radio's clock waits; 2..48: it runs freely

ValueError, in C++ invalid_argument, names parameter, value and range.)";

    static sptr make(const slot_transmitter_config& config = {});

    virtual slot_transmitter_status status() const = 0;
    // Sets the modulation of the test pattern, from the next slot on. Throws std::invalid_argument.
    virtual void set_modulation(int bits_per_symbol) = 0;
    virtual void set_bins(const std::vector<int>& bins) = 0;
    // Tells the time of a free-running radio: it was full + fraction seconds at `arrived`, ns of
    // CLOCK_MONOTONIC.
    virtual void set_radio_time(std::int64_t full, double fraction, std::int64_t arrived) = 0;
    // Why the flowgraph ended by itself ("macd ... went away"); empty otherwise. Looks after the
    // slot link as well, so that a dead macd is noticed when no samples move: call it now and then.
    virtual std::string end_reason() = 0;
    // Symbols fade into each other over so many samples, 0..40, from the next slot on; 0, as at the
    // start: hard edges. Throws std::invalid_argument.
    virtual void set_edge_samples(int samples) = 0;
    // Sets the length of bursts, with a lead: they end before each slot whose number is a multiple
    // of this, 2..1500, and the next one begins 16 samples later, in the prefix of that slot. 0,
    // the default: they end with their stretch. The radio acknowledges each end, so that a
    // usrp_sink, which looks for events only every other 100 ms while there are none, reports an
    // underflow at once. Call before the flowgraph runs. Throws std::invalid_argument.
    virtual void set_burst_slots(int slots) = 0;
    // Sends 106 slots with eight known bursts and nothing else (channels/fader/known_burst.h)
    // before the first slot that is requested. With them a fader measures the path through the
    // radios. Call before the flowgraph runs.
    virtual void send_bursts_first() = 0;
};

}  // namespace gr::wip
