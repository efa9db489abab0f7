// SPDX-License-Identifier: GPL-3.0-or-later
// A kernel TUN interface: whole IP packets, one per read or write, without a header of its own
// (IFF_TUN | IFF_NO_PI), non-blocking. It is made in the network namespace of the calling process
// and disappears with the last descriptor, so nothing has to be cleaned up after a kill.
//
// The interface's kernel queue only bridges the time until the next read (`txqueuelen`, generous):
// the queue that counts is the MAC's. What the kernel drops there all the same is counted by the
// kernel and read back with kernel_drops(), so that conservation covers it.
//
// Router solicitations, duplicate address detection and multicast listener reports would be traffic
// on an idle link: IPv6 is switched off on the interface unless it is given an IPv6 address (alone
// or beside an IPv4 address), and then address generation and solicitations are, and the interface
// joins no group of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "types/setting_limits.h"

namespace wip {

struct tun_settings {
    std::string name = "wip0";             // 1..15 characters
    std::string address = "10.42.0.1/30";  // IPv4 or IPv6, with prefix length
    std::string address6 = {};  // additional IPv6 address with prefix length; empty: none
    int mtu = setting::tun_mtu.initial;
    int txqueuelen = setting::tun_txqueuelen.initial;  // packets
    std::string device = "/dev/net/tun";
};

// Empty when valid, else what would be valid.
std::string check_interface_name(std::string_view name);
std::string check_interface_address(std::string_view address);
// The same for the setting tun.address6, an IPv6 address or "none".
std::string check_interface_address6(std::string_view address);
inline std::string address6_of(const std::string& setting) {
    return setting == "none" ? std::string() : setting;
}
inline bool has_ipv6(const tun_settings& s) {
    return !s.address6.empty() || s.address.find(':') != std::string::npos;
}

class tun_device {
public:
    // Creates the interface, sets queue length, mtu and address, and brings it up.
    explicit tun_device(const tun_settings& settings);
    // Takes a descriptor that yields one packet per read (a SOCK_SEQPACKET pair in tests).
    static tun_device adopt(int fd);
    ~tun_device();
    tun_device(tun_device&& other) noexcept;
    tun_device& operator=(tun_device&& other) noexcept;

    int fd() const { return fd_; }
    const std::string& warning() const { return warning_; }  // empty when all went well

    // > 0: bytes of one packet; 0: nothing to read now; < 0: -errno.
    int read(std::span<std::uint8_t> packet) noexcept;
    // 0, or the errno of the refusal.
    int write(std::span<const std::uint8_t> packet) noexcept;
    // Packets that the kernel dropped before they could be read, since this object was made. Right
    // also when the process has gone to another network namespace since.
    std::uint64_t kernel_drops() const;

private:
    tun_device() = default;
    int fd_ = -1;
    int counts_fd_ = -1;  // the kernel's counters in the namespace in which this was made
    std::string name_;
    std::string warning_;
    std::uint64_t drops_at_start_ = 0;
};

}  // namespace wip
