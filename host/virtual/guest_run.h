// SPDX-License-Identifier: GPL-3.0-or-later
// The run of a kernel's plan on a calendar: its traffic is over when it has written its result.
#pragma once

#include <unistd.h>

#include <string>

#include "calendar/calendar.h"
#include "types/failure.h"
#include "virtual/linux_guest.h"
#include "virtual/timed_run.h"

namespace wip::virtual_time {

struct run_config {
    std::string kernel;       // path of the kernel, a program
    std::string folder;       // root file system of the kernel: init, plan
    int memory_mb = 64;       // memory of the kernel
    double longest_s = 3600;  // seconds of virtual time after which a run is abandoned
};

class guest_run final : public timed_run {
public:
    guest_run(calendar& time, const linux_guest& guest, const std::string& folder)
        : time_(&time), guest_(&guest), result_(folder + "/result") {}

    // Throws peer_error when the kernel has ended.
    void go_to(std::int64_t ns) override {
        while (time_->step(ns)) {
            if (guest_->ended())
                throw peer_error(
                    "virtual time: the Linux kernel ended before its run was over; its last "
                    "messages are in the file kernel.log of the run's folder");
        }
    }
    std::int64_t now() const override { return time_->now(); }
    bool over() const override { return ::access(result_.c_str(), F_OK) == 0; }

private:
    calendar* time_;
    const linux_guest* guest_;
    std::string result_;
};

}  // namespace wip::virtual_time
