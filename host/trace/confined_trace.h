// SPDX-License-Identifier: GPL-3.0-or-later
// An SNR trace read by a process that has nothing to lose. A trace is a file from anywhere, its
// reader is libhdf5, and of 88,523 mutated files 39 made libhdf5 read or write beyond its memory.
// The emulator begins as root; so it opens the file (with the rights of whoever started it) and
// leaves the reading to a child:
//
//   parent  opens the file, copies its bytes to a sealed memory file, forks, and takes rows of
//           numbers from a pipe: each is checked once more (trace_channel), their number is bounded
//   child   has no other descriptor, becomes `user`, may write no file and take no more than
//           data_limit of memory, reads the copy, sends the rows, ends
//
// A child rather than reading after the privileges are given up: it also keeps libhdf5 away from
// the interfaces and sockets that the emulator keeps open, and its crash is an error message.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bin/trace_channel.h"

namespace wip::emulator {

struct confined_trace {
    std::unique_ptr<bin_model::trace_channel> channel;
    std::optional<int> horizon_slots;  // of its predictions, if it holds any
};

// Throws trace::error, one line: what the reader says, or that it was ended by a signal. `user` is
// become only by a process that is root.
confined_trace read_confined(const std::string& file, const std::string& user);

}  // namespace wip::emulator
