// SPDX-License-Identifier: GPL-3.0-or-later
// A file driver of HDF5 that writes to a descriptor and remembers the first write that failed. The
// library is told that every write went well: after one that failed it closes the file only in
// part, and crashes when the process ends. Python's writer does the same
// (host/cli/openwip_cli/records/record_storage.py).
#pragma once

#include "trace/hdf5_handle.h"

namespace wip::trace {

class hdf5_output {
public:
    hdf5_output() = default;
    ~hdf5_output();
    hdf5_output(const hdf5_output&) = delete;
    hdf5_output& operator=(const hdf5_output&) = delete;

    // Takes the descriptor of an empty file, and closes it at the end.
    void own(int fd) noexcept { fd_ = fd; }
    int descriptor() const noexcept { return fd_; }
    // errno of the first write that failed; 0: none has. What HDF5 read or wrote since is invalid.
    int error() const noexcept { return error_; }
    // The new HDF5 file in the descriptor. No handle at all: HDF5 refuses. The file has to be
    // closed before this object ends.
    hdf5_handle create();

private:
    friend struct hdf5_output_calls;

    int fd_ = -1, error_ = 0;
    haddr_t size_ = 0;  // bytes, as HDF5 is told
    hdf5_handle driver_;
};

}  // namespace wip::trace
