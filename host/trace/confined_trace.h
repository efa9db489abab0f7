// SPDX-License-Identifier: GPL-3.0-or-later
// An SNR trace read by a process that has nothing to lose. A trace is a file from anywhere, its
// reader is libhdf5, and of 88,523 mutated files 39 made libhdf5 read or write beyond its memory.
// Emulator, medium and fader begin as root; so they open the file (with the rights of the user who
// started them) and leave the reading to a child:
//
//   parent  opens the file, copies its bytes to a sealed memory file, forks, and takes rows of
//           numbers from a pipe: their number is bounded (most_played_slots), and the channel
//           checks each once more (trace_channel, trace_filter). It waits as long as
//           `patience`, or until a signal is handled
//   child   has no other descriptor, becomes `user`, may open, write and start nothing and take no
//           more than data_limit of memory and cpu_limit_s of the processor, has no system call but
//           those that reading takes (call_filter.h), reads the copy, sends the rows, ends, at the
//           latest with its parent
//
// A child rather than reading after the privileges are given up: it also keeps libhdf5 away from
// the interfaces, radios and sockets that the parent keeps open, and its crash is an error message.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bin/trace_channel.h"
#include "trace/trace_file.h"
#include "types/grid.h"

namespace wip::trace {

// Two hours, about 1 GiB of rows; half of them with predictions. A dataset of any length may be a
// few bytes of file.
inline constexpr std::int64_t most_played_slots = slots_per_second * 2 * 3600;

struct confined_trace {
    // predicted_snr_db is empty if the trace has no predictions
    std::vector<bin_model::trace_row> snr_db, predicted_snr_db;
    std::optional<int> horizon_slots;  // horizon of its predictions, if it has any
};

// The account of a cell's processes, or nobody where that was not made
// (docs/explanation/rights.md).
std::string reading_account();

// Throws error, one line: what the reader says, or that it was ended by a signal. `user` is
// become only by a process that is root.
confined_trace read_confined(const std::string& file, const std::string& user,
                             std::chrono::milliseconds patience = std::chrono::seconds{90});

// The same of a trace of any length, for a caller that takes it piece by piece (wip_channel): as
// much as the child has memory for. The file is not copied: what changes meanwhile brings down the
// child.
class confined_reader {
public:
    confined_reader(const std::string& file, const std::string& user);  // throws error
    ~confined_reader();
    confined_reader(const confined_reader&) = delete;
    confined_reader& operator=(const confined_reader&) = delete;
    const trace_info& info() const noexcept;
    std::int64_t nof_slots() const noexcept;
    // Appends the next rows, up to chunk_slots of them; false: there were none left. A trace
    // without predictions leaves `predicted` unchanged. Throws error.
    bool next(std::vector<trace_row>& snr_db, std::vector<trace_row>& predicted_snr_db);

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace wip::trace
