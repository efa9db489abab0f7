// SPDX-License-Identifier: GPL-3.0-or-later
// The facts of a recording of samples, as its recorder knows them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wip::iq {

// Samples without a jump of the sample time.
struct stretch {
    std::int64_t index = 0;         // index of the first sample in the file
    std::int64_t first_sample = 0;  // sample time of the first sample
    double later = 0;               // fraction of a sample by which it was taken later, -0.5 to 0.5
    // the samples missing before it were lost by the recorder; false: by the radio
    bool lost_by_recorder = false;
};

struct recording {
    bool complete = false;  // the last requested slot is in it
    std::int64_t samples = 0;
    std::int64_t samples_lost = 0;
    std::int64_t reports = 0;
    std::int64_t reports_lost = 0;
    std::vector<stretch> stretches;
    std::string error;  // error of the disk
};

}  // namespace wip::iq
