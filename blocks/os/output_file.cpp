// SPDX-License-Identifier: GPL-3.0-or-later
#include "os/output_file.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "types/failure.h"

namespace wip::os {
namespace {

constexpr int most_links = 40;

bool is_trusted(uid_t owner) { return owner == 0 || owner == ::geteuid(); }

[[noreturn]] void refuse(const std::string& path, int error) {
    if (error == ENOSPC || error == EDQUOT || error == EIO)
        throw machine_error(path + ": cannot be written", error);
    throw bad_input(path + ": cannot be written: " + std::strerror(error));
}

}  // namespace

output_file::output_file(const std::string& path) : path_(path) {
    if (is_stream(path.c_str())) return;
    try {
        open(path);
    } catch (...) {
        if (folder_ >= 0) ::close(folder_);
        throw;
    }
}

bool output_file::is_stream(const char* path) {
    struct stat found {
    }, stream{};
    if (::stat(path, &found) != 0) return false;
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
        if (::fstat(fd, &stream) == 0 && stream.st_dev == found.st_dev &&
            stream.st_ino == found.st_ino) {
            file_ = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
            if (file_ < 0) refuse(path_, errno);
            return written_in_place_ = true;
        }
    return false;
}

void output_file::open(std::string path) {
    struct stat found {};
    bool exists = false;
    for (int links = 0;; ++links) {
        const auto slash = path.rfind('/');
        const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
        name_ = slash == std::string::npos ? path : path.substr(slash + 1);
        if (name_.empty() || name_ == "." || name_ == "..") refuse(path_, EISDIR);
        if (folder_ >= 0) ::close(folder_);
        folder_ = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (folder_ < 0) refuse(path_, errno);
        exists = ::fstatat(folder_, name_.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
        if (!exists && errno != ENOENT) refuse(path_, errno);
        if (!exists || !S_ISLNK(found.st_mode) || !is_trusted(found.st_uid)) break;
        struct statfs system {};
        if (::fstatfs(folder_, &system) == 0 && system.f_type == PROC_SUPER_MAGIC &&
            ::stat(path.c_str(), &found) == 0 &&
            (file_ = ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC)) >= 0) {
            written_in_place_ = true;  // one of this process's own descriptors
            return;
        }
        if (links == most_links) refuse(path_, ELOOP);
        std::array<char, PATH_MAX> target;
        const ssize_t n = ::readlinkat(folder_, name_.c_str(), target.data(), target.size());
        if (n < 0) refuse(path_, errno);
        const std::string to(target.data(), static_cast<std::size_t>(n));
        path = to.starts_with('/') ? to : folder + "/" + to;
    }
    if (exists && S_ISDIR(found.st_mode)) refuse(path_, EISDIR);
    if (exists && !S_ISREG(found.st_mode) && is_trusted(found.st_uid) && !S_ISLNK(found.st_mode)) {
        written_in_place_ = true;
        file_ = ::openat(folder_, name_.c_str(), O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
    } else {
        partial_ = "." + name_ + "." + std::to_string(::getpid()) + ".part";
        file_ = ::openat(folder_, partial_.c_str(),
                         O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    }
    if (file_ < 0) refuse(path_, errno);
}

output_file::~output_file() {
    if (!written_in_place_ && !has_name_) ::unlinkat(folder_, partial_.c_str(), 0);
    ::close(file_);
    if (folder_ >= 0) ::close(folder_);
}

void output_file::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(file_, bytes.data(), bytes.size());
        if (n < 0 && errno != EINTR) fail(errno);
        if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    }
}

void output_file::give_name() {
    if (written_in_place_ || has_name_) return;
    if (::renameat(folder_, partial_.c_str(), folder_, name_.c_str()) != 0) fail(errno);
    has_name_ = true;
}

void output_file::fail(int error) const {
    throw machine_error(path_ + ": cannot be written", error);
}

}  // namespace wip::os
