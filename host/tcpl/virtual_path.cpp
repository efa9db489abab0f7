// SPDX-License-Identifier: GPL-3.0-or-later
#include "tcpl/virtual_path.h"

#include <chrono>
#include <ostream>

#include "tcpl/path_status.h"

namespace wip::tcpl {
namespace {

using side = damaged_path::side;

class path_events final : public participant {
public:
    explicit path_events(damaged_path& path) : path_(&path) {}
    std::int64_t next_wakeup() const override { return path_->next_due(); }
    std::int64_t advance(std::int64_t now_ns) override {
        path_->release(now_ns);
        return now_ns;
    }

private:
    damaged_path* path_;
};

}  // namespace

void run_virtual(const tcpl_config& config, const virtual_time::run_config& v, std::ostream& out) {
    const auto t0 = std::chrono::steady_clock::now();
    damaged_path path(config.path);
    calendar time;
    path_events events(path);
    virtual_time::linux_guest guest(
        {v.kernel, v.folder, 2, 128}, time,
        [&](int interface, std::span<const std::uint8_t> packet, std::int64_t now) {
            // The kernel has gone on by itself until now; nothing is due before.
            path.release(now - 1);
            interface == 0 ? path.from_sender(packet, now) : path.from_receiver(packet, now);
        });
    calendar_run r;
    path.deliver_to([&](side to, std::span<const std::uint8_t> packet, std::int64_t) {
        const int interface = to == side::sender ? 0 : 1;
        const int error = guest.give(interface, packet);
        if (error != 0) r.refused[static_cast<std::size_t>(interface)][error].add(packet.size());
    });
    time.add(guest);
    time.add(events);
    virtual_time::guest_run run(time, guest, v.folder);
    run.to_result(v.longest_s);
    run.drain([&] { return path.next_due() == damaged_path::no_next; });

    for (const int to : {0, 1})
        r.delivered[static_cast<std::size_t>(to)] = guest.interface(to).given();
    r.steps = time.steps();
    r.ended_ns = time.now();
    r.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
    out << result_of(path, r) << "\n";
}

}  // namespace wip::tcpl
