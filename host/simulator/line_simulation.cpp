// SPDX-License-Identifier: GPL-3.0-or-later
#include "simulator/line_simulation.h"

#include <chrono>
#include <stdexcept>

#include "simulator/hosts.h"
#include "tcpl/path_status.h"

namespace wip::simulator {
namespace {

using tcpl::damaged_path;

// One direction of the path. Either direction advances the path, whose packets in flight stay in
// it.
class direction final : public packet_link {
public:
    direction(damaged_path& path, damaged_path::side from) : path_(path), from_(from) {}

    bool offer(std::span<const std::uint8_t> packet, std::int64_t now_ns, int /*tag*/) override {
        from_ == damaged_path::side::sender ? path_.from_sender(packet, now_ns)
                                            : path_.from_receiver(packet, now_ns);
        return true;
    }
    void advance(std::int64_t now_ns) override { path_.release(now_ns); }
    std::int64_t next_wakeup() const override { return path_.next_due(); }
    link_sums sums() const override { return {}; }  // the path has the counts
    bool idle() const override { return path_.next_due() == never; }
    void deliver(std::span<const std::uint8_t> packet, std::int64_t due_ns) const {
        hand_over({packet, 0, due_ns, due_ns});
    }

private:
    damaged_path& path_;
    damaged_path::side from_;
};

}  // namespace

void run_line(const tcpl::tcpl_config& config, const std::string& plan, double seconds,
              std::ostream& out) {
    if (config.path.relay)
        throw std::invalid_argument(
            "relay.on is true with ns-3, which takes no damaged segments; valid: false");
    const auto t0 = std::chrono::steady_clock::now();
    damaged_path path(config.path);
    direction down(path, damaged_path::side::sender), up(path, damaged_path::side::receiver);
    path.deliver_to(
        [&](damaged_path::side to, std::span<const std::uint8_t> packet, std::int64_t due) {
            (to == damaged_path::side::receiver ? down : up).deliver(packet, due);
        });
    hosts ends(config.path.errors.seed, {config.sender.tun.address, config.receiver.tun.address},
               down, up, plan, config.sender.tun.mtu);
    ends.go_on(virtual_time::to_ns(seconds));
    // Flows that are not over end here, with the packets that are still on the line: their sender
    // would go on.
    if (ends.over()) ends.drain([&] { return down.idle(); });
    tcpl::calendar_run r{
        {ends.channel().received(0), ends.channel().received(1)}, {}, ends.steps(), ends.now(), 0};
    r.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
    auto result = tcpl::result_of(path, r);
    result["damaged"] = ends.channel().damaged(1);
    ends.add_members(result);
    out << result << "\n";
}

}  // namespace wip::simulator
