// SPDX-License-Identifier: GPL-3.0-or-later
// Interface set-up by ioctl: the few things needed (queue length, mtu, address, up) are older than
// netlink and need no message parsing.
#include "tun/tun_device.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/ipv6.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "types/failure.h"

namespace wip {
namespace {

struct prefix {
    int family = AF_INET;
    in_addr v4{};
    in6_addr v6{};
    int length = 0;
};

std::optional<prefix> parse_prefix(std::string_view text) {
    const auto slash = text.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    const std::string host(text.substr(0, slash));
    const auto digits = text.substr(slash + 1);
    prefix p;
    const auto [end, code] =
        std::from_chars(digits.data(), digits.data() + digits.size(), p.length);
    if (code != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    if (inet_pton(AF_INET, host.c_str(), &p.v4) == 1) {
        p.family = AF_INET;
    } else if (inet_pton(AF_INET6, host.c_str(), &p.v6) == 1) {
        p.family = AF_INET6;
    } else {
        return std::nullopt;
    }
    if (p.length < 1 || p.length > (p.family == AF_INET ? 32 : 128)) return std::nullopt;
    return p;
}

class socket_fd {
public:
    explicit socket_fd(int family) : fd_(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        if (fd_ < 0)
            throw machine_error("cannot make the socket that sets up a TUN interface", errno);
    }
    ~socket_fd() { ::close(fd_); }
    socket_fd(const socket_fd&) = delete;
    socket_fd& operator=(const socket_fd&) = delete;
    void call(unsigned long request, void* argument, const std::string& what) const {
        if (::ioctl(fd_, request, argument) == 0) return;
        const int e = errno;
        throw bad_input(what + ": " + strerror(e) +
                        (e == EPERM ? " (needs root or CAP_NET_ADMIN)" : ""));
    }

private:
    int fd_;
};

ifreq request_for(const std::string& name) {
    ifreq r{};
    std::memcpy(r.ifr_name, name.data(), name.size());
    return r;
}

void set_address(const socket_fd& control, const std::string& name, const prefix& p,
                 const std::string& what) {
    ifreq r = request_for(name);
    if (p.family == AF_INET) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr = p.v4;
        std::memcpy(&r.ifr_addr, &address, sizeof address);
        control.call(SIOCSIFADDR, &r, what);
        address.sin_addr.s_addr = htonl(0xffffffffU << (32 - p.length));
        std::memcpy(&r.ifr_netmask, &address, sizeof address);
        control.call(SIOCSIFNETMASK, &r, what);
        return;
    }
    control.call(SIOCGIFINDEX, &r, what);
    in6_ifreq r6{};
    r6.ifr6_addr = p.v6;
    r6.ifr6_prefixlen = static_cast<__u32>(p.length);
    r6.ifr6_ifindex = r.ifr_ifindex;
    socket_fd(AF_INET6).call(SIOCSIFADDR, &r6, what);
}

// False when the knob cannot be turned.
bool write_ipv6_knob(const std::string& name, const char* knob, const char* value) {
    std::ofstream out("/proc/sys/net/ipv6/conf/" + name + "/" + knob);
    out << value << std::flush;
    return out.good();
}

// Keeps the interface out of multicast groups; called before it is up. The kernel joins a group for
// each interface when it is made, and where IPv6 is forwarded that of all routers, which it reports
// (MLD) when the interface comes up. Without IFF_MULTICAST it does not join that one, neither now
// nor when forwarding is switched on later; but what was joined while the interface was made stays.
// An MTU below IPv6's least takes IPv6 off the interface, and the true one brings it back anew.
void join_no_groups(const socket_fd& control, const std::string& name) {
    const std::string what = "tun.name is " + name;
    ifreq r = request_for(name);
    control.call(SIOCGIFFLAGS, &r, what);
    r.ifr_flags = static_cast<short>(r.ifr_flags & ~IFF_MULTICAST);
    control.call(SIOCSIFFLAGS, &r, what);
    r = request_for(name);
    r.ifr_mtu = IPV6_MIN_MTU - 1;
    control.call(SIOCSIFMTU, &r, what);
}

// /proc/net shows the namespace of the process that opens it, unlike a /sys that was mounted
// elsewhere; the open file stays with that namespace.
std::uint64_t transmit_drops(int counts, const std::string& name) {
    std::string text;
    std::array<char, 4096> piece{};  // one read returns a part, of however many interfaces
    for (ssize_t n = 0;
         (n = ::pread(counts, piece.data(), piece.size(), static_cast<off_t>(text.size()))) > 0;)
        text.append(piece.data(), static_cast<std::size_t>(n));
    std::istringstream in(text);
    std::string line;
    while (std::getline(in, line)) {
        const auto colon = line.find(':');
        const auto start = line.find_first_not_of(' ');
        if (colon == std::string::npos || line.compare(start, colon - start, name) != 0) continue;
        std::istringstream fields(line.substr(colon + 1));
        std::uint64_t value = 0;
        // 8 receive counters, then bytes, packets, errs, drop
        for (int i = 0; i < 12; ++i) fields >> value;
        return fields ? value : 0;
    }
    return 0;
}

int open_device(const tun_settings& s) {
    const int fd = ::open(s.device.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) return fd;
    const int e = errno;
    if (e == ENOENT || e == ENXIO || e == ENODEV)
        throw bad_input(s.device +
                        ": not there: the kernel has no TUN support, or the container "
                        "does not pass it through (modprobe tun; docker: --device /dev/net/tun)");
    if (e == EACCES || e == EPERM)
        throw bad_input(s.device +
                        ": no permission to open it (start as root, see docs/explanation/macd.md)");
    throw bad_input(s.device + ": cannot be opened: " + strerror(e));
}

}  // namespace

std::string check_interface_name(std::string_view name) {
    const std::string rule = "an interface name: 1..15 letters, digits, '-', '_' or '.'";
    if (name.empty() || name.size() > 15 || name == "." || name == "..") return rule;
    for (const char c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_' && c != '.')
            return rule;
    return {};
}

std::string check_interface_address(std::string_view address) {
    if (parse_prefix(address)) return {};
    return "an address with prefix length, such as 10.42.0.1/30";
}

std::string check_interface_address6(std::string_view address) {
    const auto p = parse_prefix(address);
    if (address == "none" || (p && p->family == AF_INET6)) return {};
    return "none, or an IPv6 address with prefix length, such as fd42:10:42::1/64";
}

tun_device::tun_device(const tun_settings& s) : name_(s.name) {
    const auto p = parse_prefix(s.address);
    const auto p6 = parse_prefix(s.address6);
    if (!check_interface_name(s.name).empty() || !p || p6.has_value() == s.address6.empty())
        throw std::invalid_argument(
            "the TUN interface is '" + s.name + "' with the addresses '" + s.address + "' and '" +
            s.address6 +
            "'; valid: a name of 1..15 characters, ADDRESS/PREFIX, and an IPv6 ADDRESS/PREFIX or "
            "none");
    fd_ = open_device(s);
    try {
        ifreq r = request_for(s.name);
        // An interface that exists already (persistent, or any other kind) is not ours to take.
        r.ifr_flags = static_cast<short>(IFF_TUN | IFF_NO_PI | IFF_TUN_EXCL);
        if (::ioctl(fd_, TUNSETIFF, &r) != 0) {
            const int e = errno;
            const std::string what = "tun.name is " + s.name + ": ";
            if (e == EBUSY || e == EEXIST || e == EINVAL)
                throw bad_input(what +
                                "an interface of this name exists already; valid: another name");
            if (e == EPERM)
                throw bad_input(what +
                                "no permission to make an interface (needs root or "
                                "CAP_NET_ADMIN in this network namespace)");
            throw bad_input(what + strerror(e));
        }
        const bool ipv6 = p->family == AF_INET6 || p6;
        const socket_fd control(AF_INET);
        if (ipv6) join_no_groups(control, s.name);
        r = request_for(s.name);
        r.ifr_mtu = s.mtu;
        control.call(SIOCSIFMTU, &r, "tun.mtu is " + std::to_string(s.mtu));
        if (!ipv6) {
            if (!write_ipv6_knob(s.name, "disable_ipv6", "1") &&
                !write_ipv6_knob(s.name, "addr_gen_mode", "1"))
                warning_ = "IPv6 stays on at " + s.name +
                           ": its router solicitations and multicast reports will be "
                           "traffic on the idle link (/proc/sys is not writable)";
        } else {
            write_ipv6_knob(s.name, "disable_ipv6", "0");
            write_ipv6_knob(s.name, "addr_gen_mode", "1");
            write_ipv6_knob(s.name, "accept_dad", "0");
            write_ipv6_knob(s.name, "router_solicitations", "0");
        }
        r = request_for(s.name);
        r.ifr_qlen = s.txqueuelen;
        control.call(SIOCSIFTXQLEN, &r, "tun.txqueuelen is " + std::to_string(s.txqueuelen));
        if (p->family == AF_INET) set_address(control, s.name, *p, "tun.address is " + s.address);
        r = request_for(s.name);
        control.call(SIOCGIFFLAGS, &r, "tun.name is " + s.name);
        r.ifr_flags = static_cast<short>(r.ifr_flags | IFF_UP | IFF_RUNNING);
        control.call(SIOCSIFFLAGS, &r, "tun.name is " + s.name + ": cannot be brought up");
        if (p->family == AF_INET6) set_address(control, s.name, *p, "tun.address is " + s.address);
        if (p6) set_address(control, s.name, *p6, "tun.address6 is " + s.address6);
        counts_fd_ = ::open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC);
        drops_at_start_ = transmit_drops(counts_fd_, s.name);
    } catch (...) {
        ::close(std::exchange(fd_, -1));
        throw;
    }
}

tun_device tun_device::adopt(int fd) {
    tun_device d;
    d.fd_ = fd;
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    return d;
}

tun_device::~tun_device() {
    if (fd_ >= 0) ::close(fd_);
    if (counts_fd_ >= 0) ::close(counts_fd_);
}
tun_device::tun_device(tun_device&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      counts_fd_(std::exchange(other.counts_fd_, -1)),
      name_(std::move(other.name_)),
      warning_(std::move(other.warning_)),
      drops_at_start_(other.drops_at_start_) {}
tun_device& tun_device::operator=(tun_device&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(counts_fd_, other.counts_fd_);
    std::swap(name_, other.name_);
    std::swap(warning_, other.warning_);
    std::swap(drops_at_start_, other.drops_at_start_);
    return *this;
}

int tun_device::read(std::span<std::uint8_t> packet) noexcept {
    const auto n = ::read(fd_, packet.data(), packet.size());
    if (n >= 0) return static_cast<int>(n);
    return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

int tun_device::write(std::span<const std::uint8_t> packet) noexcept {
    for (;;) {
        const auto n = ::write(fd_, packet.data(), packet.size());
        if (n == static_cast<ssize_t>(packet.size())) return 0;
        if (n >= 0) return EMSGSIZE;
        if (errno != EINTR) return errno;
    }
}

std::uint64_t tun_device::kernel_drops() const {
    if (counts_fd_ < 0) return 0;
    const std::uint64_t now = transmit_drops(counts_fd_, name_);
    return now > drops_at_start_ ? now - drops_at_start_ : 0;
}

}  // namespace wip
