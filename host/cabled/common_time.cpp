// SPDX-License-Identifier: GPL-3.0-or-later
#include "cabled/common_time.h"

#include <algorithm>

#include "types/failure.h"

namespace wip::cabled {
namespace {

using mix::tick;

constexpr double look_s = 0.01, longest_s = 2.5;  // seconds; longest_s holds two edges at least
// Seconds to wait after an edge: all devices have seen it by then, and the next one is still far.
constexpr double settled_s = 0.2;
// 10 us in samples: two clocks that differ by more have different pulses (reading takes less)
constexpr tick max_difference = 77;

[[noreturn]] void refuse(const timed_device& d, const std::string& why) {
    throw bad_input(d.name() + ": " + why);
}

std::string seconds(tick t) {
    return std::to_string(static_cast<double>(t) / mix::sample_rate) + " s";
}

// Waits until the time of the last edge has changed.
void wait_for_edge(timed_device& d, const sleep_fn& sleep) {
    const tick before = d.time_of_last_edge();
    for (double waited = 0; d.time_of_last_edge() == before; waited += look_s) {
        if (waited > longest_s)
            refuse(d, "no edge of the second within 2.5 s; connect 1 PPS to it (time_source)");
        sleep(look_s);
    }
}

void compare(timed_device& first, timed_device& other) {
    const char* mend = "; connect the same 1 PPS and reference to both (time_source, clock_source)";
    tick a = first.time_of_last_edge(), b = other.time_of_last_edge();
    if (a != b)  // an edge came between the two readings
        a = first.time_of_last_edge(), b = other.time_of_last_edge();
    if (a != b)
        refuse(other, "its time at the last edge of the second is " + seconds(b) + ", that of " +
                          first.name() + " " + seconds(a) + mend);
    const tick earliest = first.now(), now = other.now(), latest = first.now();
    if (now < earliest - max_difference || now > latest + max_difference)
        refuse(other, "its time is " + seconds(now) + " while that of " + first.name() + " is " +
                          seconds(earliest) + " to " + seconds(latest) + mend);
}

}  // namespace

void give_common_time(const std::vector<timed_device*>& devices, const sleep_fn& sleep) {
    if (devices.size() < 2) return;
    std::vector<timed_device*> pulsed;
    std::ranges::copy_if(devices, std::back_inserter(pulsed), &timed_device::takes_pulses);
    if (!pulsed.empty()) {
        wait_for_edge(*pulsed[0], sleep);
        for (timed_device* d : pulsed) d->set_time_at_next_edge(0);
        wait_for_edge(*pulsed[0], sleep);
        sleep(settled_s);
    }
    for (timed_device* d : devices)
        if (d != devices[0]) compare(*devices[0], *d);
}

}  // namespace wip::cabled
