// SPDX-License-Identifier: GPL-3.0-or-later
// How the families of USRP differ in the control logic of their FPGAs. transmit_control and
// receive_control are one model each; whatever a family or a version does differently is a value
// here. The numbers in brackets are those of the rules in tests/vectors/usrp/README.md, where the
// evidence is. Some values belong to no family: they make the model wrong on purpose (most of them
// more tolerant than the device), and test_fpga_control shows for each rule that a scenario detects
// this.
//
// All times are ticks of the master clock.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace wip::vusrp::fpga {

using tick = std::int64_t;

// The treatment of the next packet after the device has run dry (had no sample in time) between two
// packets.
enum class after_dry {
    begins_burst,  // [5] it is treated like the first packet of a burst
    lost_at_once,  // [5] the same, but a packet that arrives in the next tick is lost
    is_dropped,    // [6] it is dropped without an event, whatever it is
};

struct transmit_rules {
    after_dry after_dry_between = after_dry::begins_burst;  // [5, 6]
    // [13] The error policy also holds after running dry between packets.
    bool dry_obeys_policy = false;
    // [17] Ticks from a packet's arrival to its first word; 0: it can be taken at once.
    tick header_ticks = 0;
    // Ticks from the decision that a packet is late until its first word is dropped.
    tick late_ticks = 2;
    // [14] The number of ticks that a timed packet has to be at the head of the queue before its
    // time.
    tick head_ticks = 0;
    // [15] Ticks from the end of a burst's last sample to the next decision.
    tick restart_ticks = 2;
    // [12] Samples in a word of the input; dropping takes a tick for each word.
    int word_samples = 1;
    // [20] Sequence numbers are checked.
    bool has_sequence = false;
    // Ticks from an event to the time in its report, and at least between the times of two reports.
    tick event_delay = 0;
    tick event_spacing = 0;
    // [19] The number of reports that can wait for the host; more are lost; 0: no limit.
    int report_store = 0;
    // [7, 8, 11, 22] Whether the DUC of an RFNoC radio comes before the control, and its clocks in
    // a tick.
    bool has_converter = false;
    int converter_clocks = 4;

    bool reads_time_in_burst = false;      // [1, 2] a jump of the times ends the burst
    bool end_of_burst_ends = true;         // [3] the end of burst ends the burst
    bool reports_dry = true;               // [4] running dry is reported
    bool dry_packet_is_dropped = true;     // [9] the rest of a packet that ran dry is dropped
    bool late_is_dropped = true;           // [10] a late packet is dropped
    bool head_blocks = true;               // [16] a packet that waits blocks those behind it
    bool empty_packet_is_lost = true;      // [21] its end of burst is lost with it
    bool acknowledges_dropped = false;     // [18] a dropped end of burst is acknowledged
    bool converter_counts_time = true;     // [7] only a burst's first time is read
    bool converter_end_ends = true;        // [8] the end of a burst ends the counting
    bool converter_cuts = true;            // [11] into packets as long as the host's
    bool converter_loses_lone_end = true;  // [22] the end of a burst of one sample is lost
};

struct receive_rules {
    // Ticks from the register write until the command is at the head of the queue.
    tick command_ticks = 2;
    // Ticks from the decision to start until the first sample's interval begins.
    tick start_ticks = 2;
    // [23] The number of ticks that a command has to be at the head of the queue before its time.
    tick check_ticks = 2;
    // If a command is late by less than this, that is detected in the tick in which it is examined.
    tick late_ticks = 0;
    // [24] Ticks from a command's last sample to the next decision.
    tick turnaround_ticks = 2;
    // Ticks from what happened to the time in its report.
    tick event_ticks = 0;
    bool overflow_ends_burst = true;  // [28] the packet that is cut has the end flag
    bool stop_is_queued = false;      // [25] a stop waits behind the commands before it
    bool start_takes_over =
        false;            // [26] a start while the receiver runs replaces the running command
    bool chains = false;  // [27] the command after num_samps_and_more continues without a gap
    bool reports_in_stream = false;  // [29] reports follow the data in the same stream
    // [32] the next command waits until a report is acknowledged.
    bool waits_for_acknowledgement = true;
    // [33] The number of packets that can wait in the store; 0: no limit.
    int header_store = 0;
    // Samples in a word of the store.
    int word_samples = 1;
    // [28] The store reports that it is full when only this many words are free.
    int reserve = 4;
    // Words that fit between the framer, which follows the store, and the sink, and words that the
    // framer puts before a packet; output_words 0: there is no framer.
    int output_words = 0;
    int header_words = 0;

    bool refuses_late = true;           // [23] a command whose time has passed is refused
    bool overflow_stops = true;         // [28] the receiver is idle until a new start
    bool starts_on_any_tick = true;     // [30] independent of the grid of the earlier samples
    bool overflow_ends_command = true;  // [31] a finite command is not resumed
};

struct family {
    std::string_view name;      // rfnoc, rfnoc_duc, b200
    std::string_view versions;  // versions of UHD whose FPGA images have these rules
    transmit_rules transmit;
    receive_rules receive;
};

const std::vector<family>& families();
// The rules of no real device, for tests of signals: the time of every packet is read, only samples
// that are late themselves are lost, and bursts may follow each other without a gap.
const family& ideal_family();
// The family with its rules in this release of UHD, "4.1" to "4.10". Throws as find_family().
const family& family_of_release(std::string_view name, std::string_view release);

// Throws std::invalid_argument with one line that lists the valid ones.
const family& find_family(std::string_view name, std::string_view versions);

}  // namespace wip::vusrp::fpga
