// SPDX-License-Identifier: GPL-3.0-or-later
// Recording of the samples that a block sends or receives, while it runs: in the radio's thread a
// copy into a queue of 1.1 s, everything else in a thread of the recording. Samples for which the
// disk is too slow are missing in the recording; they are counted and seen in `stretches`. The
// radio never waits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gr::wip {

// Samples without a jump of the sample time.
struct recorded_stretch {
    std::int64_t index = 0;         // index of its first sample in the file
    std::int64_t first_sample = 0;  // sample time of that sample
    double later = 0;               // part of a sample by which it was taken later, -0.5 to 0.5
    bool lost_by_recorder = false;  // the samples missing before it; false: the radio lost them
};

struct recording_status {
    bool running = false;
    bool complete = false;  // the last slot asked for is there
    std::int64_t samples = 0;
    // These four are known once the recording has ended.
    std::int64_t samples_lost = 0;
    std::int64_t reports = 0;
    std::int64_t reports_lost = 0;
    std::vector<recorded_stretch> stretches;
    std::string error;  // error of the disk; empty: none
};

class can_record {
public:
    virtual ~can_record() = default;
    // samples_file  cf32; empty: none
    // reports_file  of a receiver: "OWSLOTS1", then uint32 length and SlotReport (mac/schema/
    //               slot_link.proto) of every slot; empty: none
    // begin_slot, end_slot  by sample time: from the first sample of the one to the last before the
    //               other; -1: from now on, until stop_recording()
    // nof_slots     so many from the first sample that comes; -1: as many as come
    // Throws std::runtime_error: a file cannot be made, or a recording runs.
    virtual void start_recording(const std::string& samples_file, const std::string& reports_file,
                                 std::int64_t begin_slot, std::int64_t end_slot,
                                 std::int64_t nof_slots) = 0;
    virtual recording_status recording() const = 0;
    // Writes what is in the queue. Throws std::runtime_error when none runs.
    virtual recording_status stop_recording() = 0;
};

}  // namespace gr::wip
