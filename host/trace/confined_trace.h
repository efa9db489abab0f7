// SPDX-License-Identifier: GPL-3.0-or-later
// An SNR trace read by a process that has nothing to lose. A trace is a file from anywhere, its
// reader is libhdf5, and of 88,523 mutated files 39 made libhdf5 read or write beyond its memory.
// Emulator, medium and fader begin as root; so they open the file (with the rights of whoever
// started them) and leave the reading to a child:
//
//   parent  opens the file, copies its bytes to a sealed memory file, forks, and takes rows of
//           numbers from a pipe: their number is bounded (most_played_slots), and whoever plays
//           them checks each once more (trace_channel, trace_filter). It waits as long as
//           `patience`, or until a signal is handled
//   child   has no other descriptor, becomes `user`, may write no file and take no more than
//           data_limit of memory and cpu_limit_s of the processor, reads the copy, sends the rows,
//           ends, at the latest with its parent
//
// A child rather than reading after the privileges are given up: it also keeps libhdf5 away from
// the interfaces, radios and sockets that the parent keeps open, and its crash is an error message.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bin/trace_channel.h"
#include "types/grid.h"

namespace wip::trace {

// Two hours, about 1 GiB of rows; half of them with predictions. A dataset of any length may be a
// few bytes of file.
inline constexpr std::int64_t most_played_slots = slots_per_second * 2 * 3600;

struct confined_trace {
    std::vector<bin_model::trace_row> snr_db, predicted_snr_db;  // the latter empty: no predictions
    std::optional<int> horizon_slots;  // of its predictions, if it holds any
};

// Throws error, one line: what the reader says, or that it was ended by a signal. `user` is
// become only by a process that is root.
confined_trace read_confined(const std::string& file, const std::string& user,
                             std::chrono::milliseconds patience = std::chrono::seconds{90});

}  // namespace wip::trace
