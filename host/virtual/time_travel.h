// SPDX-License-Identifier: GPL-3.0-or-later
// The clock of a User Mode Linux started with time-travel=ext:SOCKET, as its calendar sees it
// (include/uapi/linux/um_timetravel.h of the kernel). Time is nanoseconds in a page that both
// sides map, so the kernel reads it, asks for its next wake-up and runs on to the next event of
// anybody else without a message; two are left for each time that it has nothing to do, and are a
// word of that page once it has booted (kernel.patch):
//
//   calendar -> kernel   RUN: it is `time`; calls of network devices are in the page
//   kernel -> calendar   WAIT: wakeup() is when it wants to run again; so are its kicks
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace wip::virtual_time {

class time_travel {
public:
    // Throws machine_error.
    time_travel();
    ~time_travel();
    time_travel(const time_travel&) = delete;
    time_travel& operator=(const time_travel&) = delete;

    // The kernel has connected; the descriptor is this object's from now on.
    void attach(int fd);
    int fd() const { return fd_; }
    bool attached() const { return fd_ >= 0; }
    // Whether the kernel is running or starting; nothing else may run then.
    bool running() const { return running_; }
    // Whether the kernel has ended.
    bool ended() const { return ended_; }

    // A message of the kernel, which is waited for.
    void serve();
    void run(std::int64_t now_ns);
    // From the next WAIT on RUN and WAIT are not messages but a word of the shared page, for which
    // both sides wait; that takes three fifths of the processor time.
    void use_futex();
    bool uses_futex() const;  // use_futex() has been called
    // Waits at most 5 ms for WAIT in the shared page; false: it has not come.
    bool wait_for_futex();
    // Sets the time until which the kernel may run without a message.
    void set_free_until(std::int64_t ns);
    // take_kick(): true if the kernel has put something into this queue (0, 1) of a network device,
    // at now(); the mark is removed. call(): leaves a call for the kernel, which takes it once it
    // is told to run.
    static constexpr int most_devices = 64;
    bool take_kick(int device, int queue);
    void call(int device, int queue);

    // The kernel's time as last reported; while it runs, the time of its last message to a device.
    std::int64_t now() const;
    // The time at which the kernel wants to run; packet_link::never: only after a message or call.
    std::int64_t wakeup() const;

private:
    struct message;
    struct shared;
    void send(const message& m, bool with_memory);

    int fd_ = -1, memory_ = -1;
    shared* shared_ = nullptr;
    bool running_ = true, ended_ = false, futex_in_use_ = false;
    std::uint32_t sequence_ = 0;
};

}  // namespace wip::virtual_time
