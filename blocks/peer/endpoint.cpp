// SPDX-License-Identifier: GPL-3.0-or-later
#include "peer/endpoint.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "types/failure.h"

namespace wip::peer {
namespace {

// Whether a process listens at the path. The sockets of ZeroMQ are streams, those of shm:// keep
// message boundaries.
bool somebody_listens(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return false;
    std::memcpy(address.sun_path, path.data(), path.size());
    for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
        const int fd = ::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0) return false;
        const bool listens =
            ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 ||
            errno == EAGAIN;
        ::close(fd);
        if (listens) return true;
    }
    return false;
}

}  // namespace

std::string socket_path(const std::string& endpoint) {
    for (const char* scheme : {"ipc://", "shm://"})
        if (endpoint.starts_with(scheme)) return endpoint.substr(6);
    return "";
}

void check_free(const std::string& path, const std::string& what) {
    if (somebody_listens(path))
        throw bad_input(what + "another process listens there; valid: an endpoint that is free");
    struct stat info {};
    if (::lstat(path.c_str(), &info) == 0 && !S_ISSOCK(info.st_mode))
        throw bad_input(
            what + "there is a file of this name that is no socket; valid: a name that is free");
    const auto folder = path.substr(0, path.rfind('/') + 1);
    if (!folder.empty() && ::access(folder.c_str(), F_OK) != 0)
        throw bad_input(what + "there is no folder " + folder + "; valid: a folder that exists");
}

void bind_endpoint(zmq::socket_t& socket, const std::string& endpoint, const std::string& key) {
    const std::string what = key + " is " + endpoint + ": ";
    if (const std::string path = socket_path(endpoint); !path.empty()) check_free(path, what);
    const mode_t before = ::umask(0177);
    try {
        socket.bind(endpoint);
    } catch (const zmq::error_t& e) {
        ::umask(before);
        throw bad_input(what + e.what());
    }
    ::umask(before);
}

}  // namespace wip::peer
