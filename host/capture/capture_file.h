// SPDX-License-Identifier: GPL-3.0-or-later
// Where a capture goes: a file, a FIFO or standard output. Blocks are gathered and written whole.
// When the disk is full or the reader has gone, the rest is refused, and a file is cut behind its
// last whole block: what is there stays readable, and its packets are known. A file gets its name
// with the first blocks that are written; until then what stood there stays.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/pcap_records.h"
#include "capture/pcapng_blocks.h"
#include "os/output_file.h"

namespace wip::capture {

class capture_file {
public:
    // "-": standard output. Throws bad_input or machine_error that names the file and the reason.
    // While `stop` is readable a reader that does not read is not waited for.
    // `pcap`: the blocks are written as records of classic pcap, of one link type.
    explicit capture_file(const std::string& name, int stop = -1, bool pcap = false);
    capture_file(const capture_file&) = delete;
    capture_file& operator=(const capture_file&) = delete;

    // The buffer to which blocks are appended; it is written when it is large enough.
    byte_buffer& blocks() { return blocks_; }
    void write_if_much();
    void flush();
    // The packets of an interface that have been written.
    std::uint64_t packets(std::uint32_t interface) const;
    // Overwrites bytes that were written earlier; false where that cannot be (pipes, pcap).
    bool overwrite(std::uint64_t at, std::string_view text);

    // From now on a write waits for a slow reader for at most a second.
    void hurry() { hurried_ = true; }

    bool failed() const { return error_ != 0; }
    // True: writing failed because the reader of the pipe has closed it.
    bool reader_gone() const;
    // Why nothing more is written, in words; failure() names the file as well.
    std::string reason() const;
    std::string failure() const;
    bool seekable() const { return seekable_; }
    std::uint64_t written() const { return written_; }

private:
    // False: the reader of a pipe did not read in time.
    bool wait_for_room() const;
    std::size_t whole(std::size_t n) const;

    std::string name_;
    int stop_;
    std::optional<os::output_file> file_;
    int fd_;
    std::vector<std::uint64_t> packets_;  // packets written, by interface
    bool seekable_ = false, hurried_ = false;
    int error_ = 0;
    std::uint64_t written_ = 0;
    byte_buffer blocks_;
    std::optional<pcap_records> pcap_;
};

}  // namespace wip::capture
