// SPDX-License-Identifier: GPL-3.0-or-later
#include "capture/capture_file.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "types/failure.h"

namespace wip::capture {
namespace {
constexpr std::size_t flush_bytes = 256 << 10;
constexpr int last_patience_ms = 1000;
}  // namespace

capture_file::capture_file(const std::string& name, int stop, bool pcap)
    : name_(name), stop_(stop) {
    if (pcap) pcap_.emplace();
    struct stat info {};
    if (name == "-") {
        name_ = "standard output";
        if (::isatty(STDOUT_FILENO) != 0)
            throw bad_input(
                "-o -: standard output is a terminal; pipe it, e.g. to wireshark -k -i -");
        fd_ = STDOUT_FILENO;
    } else {
        file_.emplace(name);
        fd_ = file_->descriptor();
    }
    seekable_ = file_ && ::fstat(fd_, &info) == 0 && S_ISREG(info.st_mode) &&
                ::lseek(fd_, 0, SEEK_CUR) == 0;
}

std::uint64_t capture_file::packets(std::uint32_t interface) const {
    return interface < packets_.size() ? packets_[interface] : 0;
}

void capture_file::write_if_much() {
    if (blocks_.size() >= flush_bytes) flush();
}

bool capture_file::wait_for_room() const {
    pollfd waits[2] = {{fd_, POLLOUT, 0}, {stop_, POLLIN, 0}};
    if (hurried_) return ::poll(waits, 1, last_patience_ms) > 0;
    while (true) {
        if (::poll(waits, stop_ < 0 ? 1 : 2, -1) < 0 && errno != EINTR) return false;
        if (waits[0].revents != 0) return true;
        if (waits[1].revents != 0) return ::poll(waits, 1, last_patience_ms) > 0;
    }
}

// Length of the whole blocks among the first `n` bytes: a file may end there.
std::size_t capture_file::whole(std::size_t n) const {
    return pcap_ ? pcap_records::whole(blocks_, n, written_ == 0) : whole_blocks(blocks_, n);
}

void capture_file::flush() {
    std::size_t done = 0;
    std::vector<std::uint64_t> packets;
    if (pcap_) {
        count_packets(blocks_, packets);
        byte_buffer records;
        pcap_->append(records, blocks_);
        blocks_.swap(records);
    }
    while (!failed() && done < blocks_.size()) {
        // A pipe that poll() calls writable takes PIPE_BUF bytes without blocking.
        const std::size_t rest = blocks_.size() - done;
        if (!seekable_ && !wait_for_room()) {
            error_ = ETIMEDOUT;
            break;
        }
        errno = 0;
        const ssize_t n = ::write(fd_, blocks_.data() + done,
                                  seekable_ ? rest : std::min<std::size_t>(rest, PIPE_BUF));
        if (n > 0) {
            done += static_cast<std::size_t>(n);
        } else if (errno != EINTR) {
            error_ = errno;
        }
    }
    if (failed() && seekable_) {
        done = whole(done);
        if (::ftruncate(fd_, static_cast<off_t>(written_ + done)) != 0 ||
            ::lseek(fd_, 0, SEEK_END) < 0)
            name_ += " (not cut behind the last whole block)";
    }
    if (!pcap_) {
        count_packets(std::span(blocks_).first(whole(done)), packets_);
    } else if (done == blocks_.size()) {
        packets_.resize(std::max(packets_.size(), packets.size()));
        for (std::size_t i = 0; i < packets.size(); ++i) packets_[i] += packets[i];
    } else {  // the interface of the last records is not known, so they count for the first one
        packets_.resize(std::max<std::size_t>(packets_.size(), 1));
        packets_[0] += pcap_records::count(std::span(blocks_).first(whole(done)), written_ == 0);
    }
    written_ += done;
    blocks_.clear();
    if (file_ && written_ > 0 && !failed()) file_->give_name();
}

bool capture_file::overwrite(std::uint64_t at, std::string_view text) {
    if (!seekable_ || pcap_ || at + text.size() > written_) return false;
    return ::pwrite(fd_, text.data(), text.size(), static_cast<off_t>(at)) ==
           static_cast<ssize_t>(text.size());
}

bool capture_file::reader_gone() const { return error_ == EPIPE; }

std::string capture_file::reason() const { return std::strerror(error_); }

std::string capture_file::failure() const { return name_ + ": " + reason(); }

}  // namespace wip::capture
