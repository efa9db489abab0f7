// SPDX-License-Identifier: GPL-3.0-or-later
#include "air/meeting_place.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "peer/local_socket.h"
#include "types/failure.h"

namespace wip::air {
namespace {

std::string folder_of_login(uid_t user) { return "/run/user/" + std::to_string(user); }

// The folder, if it is a folder of that user in which nobody else can write. Throws machine_error
// for anything else that stands at its name; invalid when nothing does.
descriptor open_folder(uid_t user) {
    const std::string path = meeting_folder(user);
    descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder.valid() && errno == ENOENT) return folder;
    // Root's folder may be passed through by others, not read.
    if (!folder.valid() && errno == EACCES)
        folder = descriptor(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat found {};
    if (!folder.valid() || ::fstat(folder.get(), &found) != 0 || found.st_uid != user ||
        (found.st_mode & 022) != 0)
        throw machine_error(path + " is not a folder of user " + std::to_string(user) +
                            " alone; valid: no such file, or a folder of that user in which "
                            "nobody else may write");
    return folder;
}

descriptor make_folder(uid_t user) {
    const std::string path = meeting_folder(user);
    for (;;) {
        if (descriptor folder = open_folder(user); folder.valid()) return folder;
        // Other users may enter root's folder to reach a socket whose mode admits them, but not
        // list it.
        if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) throw machine_error(path, errno);
        descriptor made = open_folder(user);
        if (made.valid() && user == 0 && ::fchmod(made.get(), 0711) != 0)
            throw machine_error(path, errno);
    }
}

// The number that a lock file holds, 0 if none.
long process_in(int lock) {
    std::array<char, 24> text{};
    const ssize_t n = ::pread(lock, text.data(), text.size() - 1, 0);
    return n > 0 ? std::strtol(text.data(), nullptr, 10) : 0;
}

}  // namespace

std::string meeting_folder(uid_t user) {
    if (user == 0) return "/run/openwip-air";
    struct stat found {};
    const std::string login = folder_of_login(user);
    if (::lstat(login.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == user)
        return login + "/openwip-air";
    return "/tmp/openwip-air-" + std::to_string(user);
}

std::string socket_of(uid_t user, const std::string& name) {
    return meeting_folder(user) + "/" + name + ".socket";
}

held_name::held_name(const std::string& name) : name_(name), path_(socket_of(::geteuid(), name)) {
    const std::string file = name + ".lock";
    for (;;) {
        folder_ = make_folder(::geteuid());
        lock_ = descriptor(
            ::openat(folder_.get(), file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (!lock_.valid() && errno == ENOENT) continue;  // the folder was removed meanwhile
        if (!lock_.valid())
            throw machine_error(meeting_folder(::geteuid()) + "/" + file + " cannot be opened",
                                errno);
        const bool locked = ::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0;
        struct stat own {};
        struct stat named {};
        const bool same =
            ::fstat(lock_.get(), &own) == 0 &&
            ::fstatat(folder_.get(), file.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
            own.st_ino == named.st_ino && own.st_dev == named.st_dev;
        if (!same) continue;  // its former holder removed it between open and flock
        const long holder = process_in(lock_.get());
        if (!locked)
            throw machine_error("a medium named '" + name + "' is " +
                                (holder > 0
                                     ? "running already (process " + std::to_string(holder) + ")"
                                     : "starting already"));
        cleaned_ = holder > 0;
        break;
    }
    ::unlinkat(folder_.get(), (name_ + ".socket").c_str(), 0);
    const std::string process = std::to_string(::getpid()) + "\n";
    if (::ftruncate(lock_.get(), 0) != 0 || ::pwrite(lock_.get(), process.data(), process.size(),
                                                     0) != static_cast<ssize_t>(process.size()))
        throw machine_error(meeting_folder(::geteuid()) + "/" + file + " cannot be opened", errno);
}

// A process that has given up being root cannot remove the files: it leaves a lock file without a
// process number, and a socket at which no process listens.
held_name::~held_name() {
    (void)!::ftruncate(lock_.get(), 0);
    ::unlinkat(folder_.get(), (name_ + ".socket").c_str(), 0);
    ::unlinkat(folder_.get(), (name_ + ".lock").c_str(), 0);
}

descriptor held_name::listen(std::optional<gid_t> group) {
    descriptor listener = peer::make_local_socket();
    const sockaddr_un address = peer::address_of(path_);
    const mode_t before = ::umask(0177);
    const bool bound =
        ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    const int error = errno;
    ::umask(before);
    if (!bound) throw machine_error(path_, error);
    if (group && (::fchownat(folder_.get(), (name_ + ".socket").c_str(), static_cast<uid_t>(-1),
                             *group, AT_SYMLINK_NOFOLLOW) != 0 ||
                  ::fchmodat(folder_.get(), (name_ + ".socket").c_str(), 0660, 0) != 0))
        throw machine_error(path_, errno);
    if (::listen(listener.get(), 64) != 0) throw machine_error(path_, errno);
    return listener;
}

descriptor meet(const std::string& name) {
    std::vector<uid_t> users{::geteuid()};
    if (users[0] != 0) users.push_back(0);
    for (const uid_t user : users) {
        if (!open_folder(user).valid()) continue;
        descriptor connection = peer::connect_to(socket_of(user, name));
        if (connection.valid() && peer::is_own_or_root(peer::process_at(connection.get()).user))
            return connection;
    }
    return descriptor();
}

}  // namespace wip::air
