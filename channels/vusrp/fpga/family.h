// SPDX-License-Identifier: GPL-3.0-or-later
// How the families of USRP differ in the control logic of their FPGAs. transmit_control and
// receive_control are one model each; whatever a family or a version does differently is a value
// here. The numbers in brackets are those of the rules in tests/vectors/usrp/README.md, where the
// evidence is. Some values are held by no family: they are the ways in which a model would be
// wrong (most of them kinder than the device), and test_fpga_control shows for each rule that a
// scenario notices.
//
// All times are ticks of the master clock.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace wip::vusrp::fpga {

using tick = std::int64_t;

// The fate of the next packet after the device has run dry between two packets.
enum class after_dry {
    begins_burst,  // [5] it is judged like any first packet
    lost_at_once,  // [5] the same, but a packet that comes in the very next tick is lost
    is_dropped,    // [6] it is dropped without an event, whatever it is
};

struct transmit_rules {
    after_dry after_dry_between = after_dry::begins_burst;  // [5, 6]
    // [13] The error policy holds after running dry between packets as well.
    bool dry_obeys_policy = false;
    // [17] Ticks from a packet's arrival to its first word; 0: it can be taken at once.
    tick header_ticks = 0;
    // Ticks from the decision that a packet is late until its first word is dropped.
    tick late_ticks = 2;
    // [14] A timed packet has to be at the head for so many ticks before its time.
    tick head_ticks = 0;
    // [15] Ticks from the end of a burst's last sample to the next decision.
    tick restart_ticks = 2;
    // [12] Samples in a word of the input; dropping takes a tick for each word.
    int word_samples = 1;
    // [20] Sequence numbers are checked.
    bool has_sequence = false;
    // Ticks from what happened to the time in its report, and between two such times.
    tick event_delay = 0;
    tick event_spacing = 0;
    // [19] So many reports can wait for the host, more are lost; 0: no limit.
    int report_store = 0;
    // [7, 8, 11, 22] The DUC of an RFNoC radio stands in front; its clocks in a tick.
    bool has_converter = false;
    int converter_clocks = 4;

    bool reads_time_in_burst = false;      // [1, 2] a jump of the times ends the burst
    bool end_of_burst_ends = true;         // [3]
    bool reports_dry = true;               // [4]
    bool dry_packet_is_dropped = true;     // [9] the rest of a packet that ran dry is dropped
    bool late_is_dropped = true;           // [10]
    bool head_blocks = true;               // [16] a packet that waits blocks those behind it
    bool empty_packet_is_lost = true;      // [21] its end of burst is lost with it
    bool acknowledges_dropped = false;     // [18] a dropped end of burst is acknowledged
    bool converter_counts_time = true;     // [7] only a burst's first time is read
    bool converter_end_ends = true;        // [8] the end of a burst ends the counting
    bool converter_cuts = true;            // [11] into packets as long as the host's
    bool converter_loses_lone_end = true;  // [22]
};

struct receive_rules {
    // Ticks from the register write until the command is at the head of the queue.
    tick command_ticks = 2;
    // Ticks from the decision to start until the first sample's interval begins.
    tick start_ticks = 2;
    // [23] A command has to be at the head so many ticks before its time.
    tick check_ticks = 2;
    // A command that is late by less than this is found out as soon as it is looked at.
    tick late_ticks = 0;
    // [24] Ticks from a command's last sample to the next decision.
    tick turnaround_ticks = 2;
    // Ticks from what happened to the time in its report.
    tick event_ticks = 0;
    bool overflow_ends_burst = true;        // [28] the packet that is cut has the end flag
    bool stop_is_queued = false;            // [25] a stop waits behind the commands before it
    bool start_takes_over = false;          // [26] from a start that is running
    bool chains = false;                    // [27] num_samps_and_more goes on without a gap
    bool reports_in_stream = false;         // [29] reports stand behind the data
    bool waits_for_acknowledgement = true;  // [32] of a report, before the next command
    // [33] So many packets can wait in the store; 0: no limit.
    int header_store = 0;
    // Samples in a word of the store.
    int word_samples = 1;
    // [28] The store says that it is full when so many words are free.
    int reserve = 4;
    // Words that fit between the framer behind the store and the sink, and words that the framer
    // puts in front of a packet; 0: there is no framer.
    int output_words = 0;
    int header_words = 0;

    bool refuses_late = true;           // [23]
    bool overflow_stops = true;         // [28] the receiver stands until a new start
    bool starts_on_any_tick = true;     // [30] not on the grid of the samples before
    bool overflow_ends_command = true;  // [31] a finite command is not resumed
};

struct family {
    std::string_view name;      // rfnoc, rfnoc_duc, b200
    std::string_view versions;  // of UHD
    transmit_rules transmit;
    receive_rules receive;
};

const std::vector<family>& families();
// The rules of no device: a time is read wherever it stands, late and dry cost what is late or dry
// alone, and bursts touch each other. For tests of signals.
const family& ideal_family();
// The family as it is in this release of UHD, "4.1" to "4.10". Throws as find_family.
const family& family_of_release(std::string_view name, std::string_view release);

// Throws std::invalid_argument with one line that says which there are.
const family& find_family(std::string_view name, std::string_view versions);

}  // namespace wip::vusrp::fpga
