// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sync_block.h>
#include <gnuradio/wip/api.h>
#include <gnuradio/wip/recording.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>

namespace gr::wip {

struct slot_receiver_status {
    std::int64_t air = 0;     // last slot reported
    std::uint64_t slots = 0;  // slots reported
    std::uint64_t slots_locked = 0;
    std::uint64_t grants_ok = 0;
    std::uint64_t frames_good = 0;
    std::uint64_t frames_bad = 0;
    std::uint64_t frames_combined = 0;
    std::uint64_t malformed = 0;  // messages on the slot link that are no message: dropped
    std::uint64_t unexpected = 0;
    // The receiver's own state, by the names of openwip.receiver.State.
    std::map<std::string, std::variant<bool, std::int64_t, double, std::string>> receiver;
};

// The parameters; slot_receiver::doc says what they are.
struct slot_receiver_config {
    int cell = 0;
    int horizon = 3;
    bool combining = true;
    std::string endpoint;
    int message_period = 0;
    std::int64_t start_slot = 150;
    double timeout_s = 2.0;
    std::string predictor = "delay";
    double gain_db = 0;
    double lowest_gain_db = 0;
    double highest_gain_db = 0;
    bool timed_gain = true;
};

class WIP_API slot_receiver : virtual public gr::sync_block, public can_record {
public:
    using sptr = std::shared_ptr<slot_receiver>;
    // Describes the block and its parameters; Python has it as its help.
    static constexpr const char* doc =
        R"(Sink: samples at 7.68 MS/s into the slot receiver of wip::phy, slot reports out.

It takes whatever number of samples comes, never waits for a whole slot, and reports a slot in the
call that brought its last needed sample: over the slot link when there is an endpoint, and as
messages for plots and teaching when asked (every n-th slot).

Time: the rx_time tag of gr-uhd gives the time of a sample exactly (full * 7680000 +
round(fraction * 7680000)); from there samples are counted. Without a tag the first sample is the
first of start_slot.

Message ports out: "slots" pmt dict per reported slot (air, locked, grant_ok, snr_db[25],
slot_snr_db[25] (of the slot alone), predicted_snr_db[25], bits_per_symbol[25], outcome[25]: 0
unused, 1 good, 2 bad), "symbols" PDU of the equalised payload symbols of the used bins (for a
constellation sink), "gain" what gain control (phy/sync/gain_control.h) asks of the radio, for
"command" of a usrp_source: a dict chan, gain, time of the first sample with that gain.

cell            0..63: that one and no other; -1: the strongest, whichever it is
horizon         SNR is predicted this many slots (2/3 ms) ahead, 0..64; the feedback loop has 3
combining       chase combining of the copies of a frame
endpoint        address of macd's slot link (shm://PATH, ipc://PATH); empty: no macd
message_period  messages for every n-th slot; 0: none
start_slot      slot of the first sample when no rx_time tag says otherwise
timeout_s       macd counts as gone after this silence of its socket, 0.1 .. 60 s
predictor       of the SNR: last, ar, ls, kalman or delay (docs/explanation/phy.md), or code of the
                user's own (docs/how-to/own-predictor.md)
gain_db         gain of the radio at the beginning, dB; within its range
lowest_gain_db, highest_gain_db  its range; the same: gain control is off
timed_gain      the radio takes the time of "gain" seriously; false: it may be another, which
                is looked for (phy/sync/gain_watch.h)

ValueError, in C++ invalid_argument, names parameter, value and range.)";

    static sptr make(const slot_receiver_config& config = {});

    virtual slot_receiver_status status() const = 0;
    // Why the flowgraph ended by itself ("macd ... went away"); empty otherwise. Looks after the
    // slot link as well, so that a dead macd is noticed when no samples move: call it now and then.
    virtual std::string end_reason() = 0;
};

}  // namespace gr::wip
