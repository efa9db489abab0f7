// SPDX-License-Identifier: GPL-3.0-or-later
#include "packet/terminal_router.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>

#include "types/not_valid.h"

namespace wip::packet_model {
namespace {

constexpr std::size_t ipv4_header = 20, ipv4_destination = 16;
constexpr std::size_t ipv6_header = 40, ipv6_destination = 24;
constexpr std::uint32_t limited_broadcast = 0xffffffff;

struct network {
    std::uint32_t address = 0;
    int length = 0;
};

std::optional<network> read_network(const std::string& text) {
    network n;
    const char *at = text.data(), *const end = text.data() + text.size();
    for (int part = 0; part < 4; ++part) {
        std::uint8_t value = 0;
        const auto [next, code] = std::from_chars(at, end, value);
        if (code != std::errc{} || next == end || *next != (part < 3 ? '.' : '/')) return {};
        n.address = n.address << 8 | value;
        at = next + 1;
    }
    const auto [next, code] = std::from_chars(at, end, n.length);
    if (code != std::errc{} || next != end || n.length < 0 || n.length > 32) return {};
    return n;
}

}  // namespace

terminal_router::terminal_router(const std::vector<std::string>& terminals,
                                 const std::vector<address6>& terminals6)
    : addresses6_(terminals6) {
    if (!terminals6.empty() && terminals6.size() != terminals.size())
        throw std::invalid_argument(
            "only some of the terminals have an IPv6 address; valid: all of them, or none");
    if (terminals.empty())
        throw std::invalid_argument(
            "the list of addresses of the terminals is empty; valid: one address or more");
    if (terminals.size() == 1) {  // it gets everything, whatever its address
        addresses_.push_back(0);
        return;
    }
    for (const auto& text : terminals) {
        const auto n = read_network(text);
        if (!n)
            throw std::invalid_argument(
                not_valid("address of a terminal", text, "an IPv4 address with prefix length"));
        addresses_.push_back(n->address);
        if (addresses_.size() == 1 && n->length < 31)
            subnet_broadcast_ = n->address | limited_broadcast >> n->length;
    }
}

bool terminal_router::is_for_all(std::uint32_t address) const {
    return address >> 28 == 0xe || address == limited_broadcast ||
           (subnet_broadcast_ != 0 && address == subnet_broadcast_);
}

terminal_router::destination terminal_router::find(std::span<const std::uint8_t> packet,
                                                   int& user) const {
    user = 0;
    if (addresses_.size() == 1 || packet.empty()) return destination::one;
    const int version = packet[0] >> 4;
    if (version == 6 && packet.size() >= ipv6_header) {
        const auto to = packet.subspan(ipv6_destination, 16);
        if (to[0] == 0xff) return destination::every;
        const auto has = [to](const address6& a) { return std::ranges::equal(a, to); };
        const auto at = std::ranges::find_if(addresses6_, has);
        if (at == addresses6_.end()) return destination::none;
        user = static_cast<int>(at - addresses6_.begin());
        return destination::one;
    }
    if (version != 4 || packet.size() < ipv4_header) return destination::one;
    std::uint32_t to = 0;
    for (std::size_t i = 0; i < 4; ++i) to = to << 8 | packet[ipv4_destination + i];
    if (const auto at = std::ranges::find(addresses_, to); at != addresses_.end()) {
        user = static_cast<int>(at - addresses_.begin());
        return destination::one;
    }
    return is_for_all(to) ? destination::every : destination::none;
}

void terminal_router::offer(packet_link& down, std::span<const std::uint8_t> packet,
                            std::int64_t now_ns) {
    int user = 0;
    switch (find(packet, user)) {
        case destination::one:
            down.offer(packet, now_ns, user);
            return;
        case destination::every:
            for (int u = 0; u < static_cast<int>(addresses_.size()); ++u) {
                down.offer(packet, now_ns, u);
                if (u > 0) copies_.add(packet.size());
            }
            return;
        case destination::none:
            dropped_.add(packet.size());
            return;
    }
}

}  // namespace wip::packet_model
