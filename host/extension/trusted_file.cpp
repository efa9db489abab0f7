// SPDX-License-Identifier: GPL-3.0-or-later
#include "extension/trusted_file.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "types/number_text.h"

namespace wip::extension {
namespace {

// The user who called sudo; empty: the process was not started by sudo.
std::optional<uid_t> caller() {
    const char* text = std::getenv("SUDO_UID");
    return text == nullptr ? std::nullopt : read_number<uid_t>(text);
}

bool is_trusted(uid_t owner) { return owner == 0 || owner == caller(); }

// The error of a file or folder that cannot be looked at.
std::string not_readable(const std::string& path, int error) {
    const std::string text = path + ": " + std::strerror(error) + "; valid: a file that ";
    if (error != EACCES) return text + "can be read";
    const passwd* me = ::getpwuid(::geteuid());
    return text + "user " + (me != nullptr ? me->pw_name : std::to_string(::geteuid())) +
           " can read, in folders that let that user pass (chmod o+x)";
}

// The reason why a process of root's must not load a file, or one through this folder; empty: none.
std::string why_not_trusted(const std::string& path, const struct stat& found) {
    if (!is_trusted(found.st_uid))
        return path + " is owned by user " + std::to_string(found.st_uid) +
               "; valid in a process of root's: a file of root's, or of the user who calls sudo";
    const bool sticky = S_ISDIR(found.st_mode) && (found.st_mode & S_ISVTX) != 0;
    if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !sticky)
        return path +
               " may be changed by other users; valid in a process of root's: a file and "
               "folders that only their owner may write (chmod go-w)";
    return {};
}

}  // namespace

std::string why_not_loaded(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return not_readable(path, errno);
    if (!S_ISREG(found.st_mode)) return path + " is no regular file; valid: a file";
    if (::geteuid() != 0) return {};
    // Links are followed first, so that what is evaluated is what is loaded.
    std::error_code error;
    const auto real = std::filesystem::canonical(path, error);
    if (error) return not_readable(path, error.value());
    for (auto at = real;; at = at.parent_path()) {
        if (::stat(at.c_str(), &found) != 0) return not_readable(at.string(), errno);
        if (const auto why = why_not_trusted(at.string(), found); !why.empty()) return why;
        if (at == at.parent_path()) return {};
    }
}

}  // namespace wip::extension
