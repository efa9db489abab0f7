// SPDX-License-Identifier: GPL-3.0-or-later
// A network interface of a User Mode Linux: virtio-net over vhost-user (virtio_uml.device=SOCKET:1)
// whose notifications are in the clock's page, so that every packet has its place in virtual time.
// The kernel waits for the answer to what it says; what it sends is read from its memory. Ethernet
// ends here: packets are IP, both ends of all lines have the same address, and nobody asks for it
// (NOARP).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "types/packets_bytes.h"
#include "virtual/vring.h"

namespace wip::virtual_time {

class vhost_nic {
public:
    // A packet that the kernel sends.
    using packet_fn = std::function<void(std::span<const std::uint8_t>)>;
    explicit vhost_nic(packet_fn sent) : sent_(std::move(sent)) {}
    ~vhost_nic();
    vhost_nic(const vhost_nic&) = delete;
    vhost_nic& operator=(const vhost_nic&) = delete;

    void attach(int fd);
    int fd() const { return fd_; }

    // A message of the kernel, which waits for its answer; false: the kernel has gone.
    bool serve();
    // Gives the kernel a packet. Returns 0, or the reason why not (ENETDOWN, ENOBUFS, EMSGSIZE).
    int give(std::span<const std::uint8_t> packet);
    // Whether the kernel has sent its whole configuration; what follows are packets.
    bool ready() const { return queues_[transmit].ready(); }
    // Takes what the kernel has put into its queue.
    void take_sent();
    // Whether buffers were given or taken since the last call, and the kernel wants an interrupt
    // for them.
    bool call_wanted(int queue);

    static constexpr int receive = 0, transmit = 1, nof_queues = 2;

    const packets_bytes& given() const { return given_; }
    const packets_bytes& taken() const { return taken_; }
    const packets_bytes& not_ip() const { return not_ip_; }

private:
    struct message;
    void handle(const message& m, std::vector<int>& fds);
    void show_memory(const message& m, const std::vector<int>& fds);
    void answer(const message& m, std::uint64_t value);

    packet_fn sent_;
    int fd_ = -1;
    int call_fd_ = -1;  // unused; were it closed, the device would be taken for broken
    guest_memory memory_;
    std::array<vring, nof_queues> queues_;
    std::array<bool, nof_queues> to_call_{};
    vring::buffer buffer_;
    std::vector<std::uint8_t> frame_;
    packets_bytes given_, taken_, not_ip_;
};

}  // namespace wip::virtual_time
