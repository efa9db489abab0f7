// SPDX-License-Identifier: GPL-3.0-or-later
// A Linux kernel as a participant of virtual time: a User Mode Linux, a process without privileges.
// It boots at time 0, runs as long as it has something to do, infinitely fast (a look at its clock
// takes 256 ns), and waits for its next timer or for a packet. Its root file system is a folder of
// the host, its network interfaces are eth0, eth1, ...
//
// Nothing of the host enters but that folder: clocks, random numbers and interrupts come from this
// class, and all paths that it gets are relative, so the same folder gives the same packets.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "calendar/calendar.h"
#include "virtual/time_travel.h"
#include "virtual/vhost_nic.h"

namespace wip::virtual_time {

struct guest_config {
    std::string kernel;  // path of the kernel, a program
    std::string folder;  // holds /init; sockets and the kernel's messages (kernel.log) go there
    int interfaces = 2;
    int memory_mb = 64;
};

class linux_guest final : public participant {
public:
    // A packet that the guest sends on an interface, and its time.
    using packet_fn =
        std::function<void(int interface, std::span<const std::uint8_t>, std::int64_t now_ns)>;

    // Starts the process, which waits for the calendar. Throws machine_error.
    linux_guest(const guest_config& config, const calendar& time, packet_fn sent);
    ~linux_guest() override;

    // Gives the guest a packet, which it learns of at the calendar's time. Returns 0, or the errno
    // of the refusal.
    int give(int interface, std::span<const std::uint8_t> packet);

    std::int64_t next_wakeup() const override;
    // Throws peer_error when it breaks the protocols, or is silent for silence_s in which it could
    // have spoken: a suspended job stops together with its kernel.
    std::int64_t advance(std::int64_t now_ns) override;
    bool ended() const { return clock_.ended(); }
    // The network card of an interface.
    const vhost_nic& interface(int i) const { return nics_[static_cast<std::size_t>(i)]; }

private:
    static constexpr int silence_s = 120;
    void start(const guest_config& config);
    // Serves messages of the kernel, for which it waits at most wait_ms; false: none came.
    bool take_messages(int wait_ms);
    void take_sent();
    // Calls the kernel about a queue; false: the kernel wants no call for it.
    bool call(int interface, int queue);
    void run_until_it_waits();

    const calendar& time_;
    packet_fn sent_;
    time_travel clock_;
    std::deque<vhost_nic> nics_;
    // listener of the clock, then of each interface; -1: it is connected
    std::vector<int> listeners_;
    pid_t process_ = -1;
    bool started_ = false, called_ = false;
    // time of the first packet that the kernel does not know of yet
    std::int64_t given_ns_ = never;
};

}  // namespace wip::virtual_time
