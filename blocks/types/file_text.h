// SPDX-License-Identifier: GPL-3.0-or-later
// The text of a file that a user named. If the file is longer than a configuration can be, or has
// no end (/dev/zero), only as much is read as shows that.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>

#include "types/failure.h"

namespace wip {

inline constexpr std::size_t largest_file_text = 1 << 20;  // bytes

// Throws bad_input, with the path, if the file cannot be read or has more than largest_file_text
// bytes.
inline std::string file_text(const std::string& path) {
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    if (!in) throw bad_input(path + ": " + std::strerror(errno));
    std::string text(largest_file_text + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (in.bad() || (in.fail() && !in.eof()))
        throw bad_input(path + ": cannot be read: " + std::strerror(errno));
    text.resize(static_cast<std::size_t>(in.gcount()));
    if (text.size() > largest_file_text)
        throw bad_input(path + ": the file is too large for a configuration; valid: up to 1 MiB");
    return text;
}

}  // namespace wip
