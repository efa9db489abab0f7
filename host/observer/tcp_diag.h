// SPDX-License-Identifier: GPL-3.0-or-later
// The TCP connections of one network namespace, as the kernel tells of them (inet_diag over a
// NETLINK_SOCK_DIAG socket, which stays in the namespace in which it was made; no rights are needed
// to ask).
//
// A listing walks the kernel's whole table of connections, which namespaces share and which can
// have hundred thousands of places, so it costs the more the larger the machine is. Asking for one
// connection by its addresses costs the same everywhere. So: search() lists from time to time,
// refresh() asks for the connections that were found, as often as wanted.
#pragma once

#include <linux/inet_diag.h>
#include <linux/tcp.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace wip::observer {

struct tcp_connection {
    std::uint8_t family = 0;  // AF_INET, AF_INET6
    std::uint8_t state = 0;   // TCP_ESTABLISHED, ...
    inet_diag_sockid id{};
    tcp_info info{};  // fields that this kernel does not know are 0
    std::array<char, 16> congestion_control{};
};

class tcp_diag {
public:
    // `network_namespace`: a name as in /run/netns; empty: the namespace of the process. At most
    // `limit` connections are kept. `key` names the setting in errors. Throws bad_input,
    // machine_error.
    tcp_diag(const std::string& network_namespace, const std::string& key, std::size_t limit);
    // Takes a descriptor to which questions are written and that yields one answer per read (a
    // SOCK_SEQPACKET pair in tests).
    static tcp_diag adopt(int fd, std::size_t limit);
    ~tcp_diag();
    tcp_diag(tcp_diag&& other) noexcept;
    tcp_diag& operator=(tcp_diag&&) = delete;

    // Lists all connections. If there are more than the limit, those that moved the most bytes are
    // kept. False: the kernel does not answer (no inet_diag); `failure()` has its error.
    bool search();
    // Asks for each that is kept; those that are gone are dropped.
    bool refresh();

    const std::vector<tcp_connection>& connections() const { return connections_; }
    std::size_t omitted() const { return omitted_; }  // connections left out by the last search
    const std::string& failure() const { return failure_; }

private:
    tcp_diag(int fd, std::size_t limit) : fd_(fd), limit_(limit) {}
    // These return false if the kernel refuses, and leave its error in failure_.
    bool dump(std::uint8_t family);
    bool request(const void* data, std::size_t size);
    // Reads answers until the kernel has no more; false on an error other than "no such
    // connection".
    template <typename Take>
    bool receive(bool until_done, Take&& take);
    bool fail(int code);

    int fd_ = -1;
    std::size_t limit_;
    std::uint32_t sequence_ = 0;
    std::size_t omitted_ = 0;
    std::vector<tcp_connection> connections_, found_;
    std::vector<std::uint8_t> requests_;
    alignas(8) std::array<std::uint8_t, 32768> answer_{};
    std::string failure_;
};

}  // namespace wip::observer
