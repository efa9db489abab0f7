// SPDX-License-Identifier: GPL-3.0-or-later
// Base station and terminal MAC over a port that fails, with the worlds of tests/sim and all that
// they check in every slot (cell_world.h). The input is the cell and what happens to it: a header
// with settings and seed, then steps. At the end the cell runs dry and the sums of both ends meet.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "cell_world.h"
#include "dry_cell.h"
#include "fuzz_input.h"

using namespace wip;
using namespace wip::fuzz;

namespace {

// An input is a moment, not an hour: what takes long finds little in 20 s.
constexpr int most_slots = 200;

void draw_link(fuzz_input& in, link_config& link) {
    link.bins = in.in(1, nof_bins);
    link.modulation = in.in(0, 8);
    const int choices = in.u8();
    link.allocation = (choices & 1) != 0 ? allocation_kind::best : allocation_kind::fixed;
    link.switch_table = static_cast<switch_table_kind>((choices >> 1 & 3) % 3);
    link.max_retransmissions = in.in(0, 30);
    link.retransmission_delay_slots = in.in(3, longest_delay_slots);
    link.queue_packets = in.in(1, 100);
}

sim::world_config draw_world(fuzz_input& in) {
    sim::world_config w;
    draw_link(in, w.link);
    const int choices = in.u8();
    w.link.profile = (choices & 1) != 0 ? link_profile::wipemu : link_profile::radio;
    w.link.packing = (choices & 2) == 0;
    w.link.in_order = (choices & 4) == 0;
    w.link.deliver_corrupt = (choices & 8) != 0;
    w.follow_packets = (choices & 16) != 0;
    w.early_feedback = (choices & 32) == 0;
    w.traffic.saturate = (choices & 64) != 0;
    w.seed = in.u16();
    w.first_sn = in.u16();
    w.traffic.ipv6 = in.share();
    return w;
}

void draw_channel(fuzz_input& in, sim::channel_config& c) {
    const int kind = in.u8();
    c.frame_error = (kind & 1) != 0 ? in.share() : -1;
    c.mean_snr_db = in.in(0, 40);
    c.grant_loss = (kind & 2) != 0 ? in.share() / 2 : 0;
    c.feedback_loss = (kind & 4) != 0 ? in.share() / 2 : 0;
    c.burst_start = (kind & 8) != 0 ? in.share() / 10 : 0;
    c.burst_slots = (kind & 8) != 0 ? in.in(1, 60) : 0;
}

void draw_traffic(fuzz_input& in, sim::traffic_config& t) {
    t.packets_per_slot = 2 * in.share();
    t.least_bytes = in.in(20, 255);
    t.most_bytes = t.least_bytes + 8 * in.u8();
    const int kind = in.u8();
    t.zeros = (kind & 1) != 0 ? in.share() : 0;
    t.nested = (kind & 2) != 0 ? in.share() : 0;
    t.crafted = (kind & 4) != 0 ? in.share() : 0;
    t.filled = (kind & 8) != 0 ? in.share() : 0;
    t.not_ip = (kind & 16) != 0 ? 0.1 : 0;
}

void run(fuzz_input& in) {
    const sim::world_config config = draw_world(in);
    sim::cell_world w(config);
    link_config link = config.link;
    for (int left = most_slots; left > 0 && !in.empty();) {
        switch (in.in(0, 5)) {
            case 0:
                draw_link(in, link);
                w.reconfigure(link);
                break;
            case 1:
                draw_channel(in, w.channel());
                break;
            case 2:
                draw_traffic(in, w.traffic());
                break;
            case 3: {
                const auto kind = static_cast<sim::blackout_kind>(in.in(0, 3));
                w.black_out(kind, in.in(1, 120));
                break;
            }
            default: {
                const int slots = std::min(left, in.in(1, 80));
                w.run(slots);
                left -= slots;
            }
        }
    }
    w.channel() = config.channel;
    sim::run_dry(w);
    sim::check_dry(w);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz_input in(data, size);
    try {
        run(in);
    } catch (const std::logic_error& e) {
        violated(e.what());
    }
    return 0;
}
