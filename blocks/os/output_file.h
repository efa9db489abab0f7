// SPDX-License-Identifier: GPL-3.0-or-later
// A file that a command writes for its user, in the same way as
// host/cli/openwip_cli/machine/outputs.py: it is written beside its name and gets the name once
// there is something in it, so that an older file of that name stays until then. The folder is held
// open from the beginning to the rename. A link at the name is followed if root or this user made
// it; another user's link, FIFO or device is replaced and never opened. A device, a FIFO or a
// standard stream has no contents to be replaced and is written as it is.
#pragma once

#include <string>
#include <string_view>

namespace wip::os {

class output_file {
public:
    // Throws bad_input that names the file and the reason, or machine_error when the disk is full.
    explicit output_file(const std::string& path);
    // A file that has not got its name is removed.
    ~output_file();
    output_file(const output_file&) = delete;
    output_file& operator=(const output_file&) = delete;

    int descriptor() const noexcept { return file_; }
    bool is_written_as_it_is() const noexcept { return written_in_place_; }
    // Writes all of it; throws machine_error with the reason, such as a disk that is full.
    void write(std::string_view bytes);
    // Gives the file its name, at which others find it from now on. Throws machine_error.
    void give_name();
    // Throws machine_error: `path: cannot be written: REASON`.
    [[noreturn]] void fail(int error) const;

private:
    bool is_stream(const char* path);
    void open(std::string path);

    std::string path_, name_, partial_;
    int folder_ = -1, file_ = -1;
    bool written_in_place_ = false, has_name_ = false;
};

}  // namespace wip::os
