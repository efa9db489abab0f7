// SPDX-License-Identifier: GPL-3.0-or-later
#include "virtual/vhost_nic.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "types/failure.h"
#include "virtual/unix_socket.h"

namespace wip::virtual_time {
namespace {

constexpr std::uint32_t version = 1, is_reply = 4, needs_reply = 8;
enum request : std::uint32_t {
    get_features = 1,
    set_features = 2,
    set_owner = 3,
    set_memory = 5,
    set_size = 8,
    set_addresses = 9,
    set_base = 10,
    get_protocol = 15,
    set_protocol = 16,
    set_enable = 18,
    set_call_fd = 21,
    get_config = 24,
    kick = 35
};
// VIRTIO_NET_F_MAC, VHOST_USER_F_PROTOCOL_FEATURES, VIRTIO_F_VERSION_1: no offloads, the packets
// are as they are on a line.
constexpr std::uint64_t features = 1ULL << 5 | 1ULL << 30 | 1ULL << 32;
// An answer to everything, calls and kicks in band (time_travel.h), configuration.
constexpr std::uint64_t protocol = 1ULL << 3 | 1ULL << 5 | 1ULL << 9 | 1ULL << 14;
constexpr std::array<std::uint8_t, 6> address{2, 0, 0, 0, 0, 1};
constexpr std::size_t device_header = 12, ethernet_header = 14,
                      header = device_header + ethernet_header;
constexpr std::size_t most_payload = 512;  // bytes of a vhost-user message

}  // namespace

struct vhost_nic::message {
    struct {
        std::uint32_t request, flags, size;
    } head;
    std::array<std::uint8_t, most_payload> payload;

    template <class T>
    T at(std::size_t offset) const {
        if (offset + sizeof(T) > head.size)
            refuse_kernel("sends a message about its network interface that is too short");
        T v;
        std::memcpy(&v, payload.data() + offset, sizeof v);
        return v;
    }
};

vhost_nic::~vhost_nic() {
    for (const int fd : {fd_, call_fd_})
        if (fd >= 0) ::close(fd);
}

void vhost_nic::attach(int fd) {
    if (fd_ >= 0) refuse_kernel("connects a network interface a second time");
    fd_ = fd;
}

bool vhost_nic::serve() {
    message m;
    std::vector<int> fds;
    if (!unix_socket::receive(fd_, &m, sizeof m.head, &fds)) return false;
    if (m.head.size > most_payload)
        refuse_kernel("sends a message of " + std::to_string(m.head.size) +
                      " bytes about its network interface");
    if (m.head.size > 0 && !unix_socket::receive(fd_, m.payload.data(), m.head.size)) return false;
    handle(m, fds);
    for (const int fd : fds)
        if (fd != call_fd_) ::close(fd);
    return true;
}

void vhost_nic::handle(const message& m, std::vector<int>& fds) {
    const auto queue = [&]() -> vring& {
        const auto i = m.at<std::uint32_t>(0);
        if (i >= nof_queues)
            refuse_kernel("names queue " + std::to_string(i) +
                          " of a network interface that has two");
        return queues_[i];
    };
    switch (m.head.request) {
        case get_features:
            return answer(m, features);
        case get_protocol:
            return answer(m, protocol);
        case get_config: {
            message reply = m;
            reply.head.flags = version | is_reply;
            constexpr std::size_t before = 12;  // bytes before the data: offset, size, flags
            if (m.head.size > before) {
                std::fill_n(reply.payload.begin() + before, m.head.size - before, 0);
                std::copy_n(address.begin(), std::min(address.size(), m.head.size - before),
                            reply.payload.begin() + before);
            }
            unix_socket::send(fd_, &reply, sizeof reply.head + m.head.size);
            return;
        }
        case set_memory:
            show_memory(m, fds);
            break;
        case set_size:
            queue().set_size(m.at<std::uint32_t>(4));
            break;
        case set_base:
            queue().set_next(static_cast<std::uint16_t>(m.at<std::uint32_t>(4)));
            break;
        case set_addresses:
            queue().set_addresses(memory_, m.at<std::uint64_t>(8), m.at<std::uint64_t>(16),
                                  m.at<std::uint64_t>(24));
            break;
        case set_enable:
            if (m.at<std::uint32_t>(4) == 0) queue().stop();
            break;
        case set_call_fd:
            if (fds.size() == 1) call_fd_ = fds[0];
            break;
        case set_features:
        case set_owner:
        case set_protocol:
            break;
        case kick:
            refuse_kernel("asks for a kick of a queue, as another version of it does");
        default:
            refuse_kernel("asks for " + std::to_string(m.head.request) +
                          " of its network interface, which was not offered");
    }
    if ((m.head.flags & needs_reply) != 0) answer(m, 0);
}

void vhost_nic::answer(const message& m, std::uint64_t value) {
    struct {
        std::uint32_t request, flags, size, value[2];
    } reply{m.head.request, version | is_reply, sizeof value, {}};
    std::memcpy(reply.value, &value, sizeof value);
    unix_socket::send(fd_, &reply, sizeof reply);
}

void vhost_nic::show_memory(const message& m, const std::vector<int>& fds) {
    const auto n = m.at<std::uint32_t>(0);
    if (n != fds.size())
        refuse_kernel("shows " + std::to_string(n) + " pieces of memory with " +
                      std::to_string(fds.size()) + " files");
    for (auto& q : queues_) q.stop();
    memory_.clear();
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = 8 + 32 * i;
        memory_.add(fds[i], m.at<std::uint64_t>(at), m.at<std::uint64_t>(at + 8),
                    m.at<std::uint64_t>(at + 24));
    }
}

void vhost_nic::take_sent() {
    auto& q = queues_[transmit];
    while (q.take(memory_, false, buffer_)) {
        frame_.clear();
        for (const auto& p : buffer_.parts) frame_.insert(frame_.end(), p.begin(), p.end());
        q.give_back(buffer_, 0);
        to_call_[transmit] = true;
        const bool is_ip =
            frame_.size() > header && frame_[header - 2] == 8 && frame_[header - 1] == 0;
        if (!is_ip) {
            not_ip_.add(frame_.size());
            continue;
        }
        const auto packet = std::span<const std::uint8_t>(frame_).subspan(header);
        taken_.add(packet.size());
        sent_(packet);
    }
}

int vhost_nic::give(std::span<const std::uint8_t> packet) {
    auto& q = queues_[receive];
    if (!q.ready()) return ENETDOWN;
    if (!q.take(memory_, true, buffer_)) return ENOBUFS;
    frame_.assign(header, 0);
    frame_[10] = 1;  // one buffer, in the device's header
    std::ranges::copy(address, frame_.begin() + device_header);
    std::ranges::copy(address, frame_.begin() + device_header + address.size());
    frame_[header - 2] = 8;
    frame_.insert(frame_.end(), packet.begin(), packet.end());
    std::size_t done = 0;
    for (const auto& p : buffer_.parts) {
        const std::size_t n = std::min(p.size(), frame_.size() - done);
        std::memcpy(p.data(), frame_.data() + done, n);
        done += n;
    }
    const bool whole = done == frame_.size();
    q.give_back(buffer_, whole ? static_cast<std::uint32_t>(done) : 0);
    to_call_[receive] = true;
    if (!whole) return EMSGSIZE;
    given_.add(packet.size());
    return 0;
}

bool vhost_nic::call_wanted(int queue) {
    return std::exchange(to_call_[static_cast<std::size_t>(queue)], false) &&
           queues_[static_cast<std::size_t>(queue)].wants_call();
}

}  // namespace wip::virtual_time
