// SPDX-License-Identifier: GPL-3.0-or-later
// Prints how the room in a common grant limits a cell: MACs of base station and terminals with flat
// Rayleigh bins (users_world.h), where a part of the frames is lost whatever their SNR, as
// where the channel differs within a bin. It prints what a slot had in the mean, after 300 slots
// that do not count: terminals with frames, bins with frames, retransmissions sent, sections in
// which not all retransmissions found room, and retransmissions that wait behind the plan.
//   grant_lists [slots [loss]]   default 900 slots a cell, a loss of 0.06; JSON lines
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "users_world.h"

namespace {

using namespace wip;
using namespace wip::sim;

constexpr int warm_up = 300;  // slots
constexpr double coherence = 0.97;

struct sums {
    double served = 0, bins = 0, repeated = 0, waiting = 0;
};

// Retransmissions sent so far, by terminal, go on in `repeated`.
void add_slot(sums& sum, users_world& world, std::vector<double>& repeated) {
    const auto& plans = world.plans();
    for (std::size_t t = 0; t < plans.size(); ++t) {
        int bins = 0;
        for (const bin_grant& b : plans[t].grant.bins) {
            if (b.bits_per_symbol == 0) continue;
            ++bins;
            sum.repeated += b.retransmission;
            repeated[t] += b.retransmission;
        }
        sum.served += bins > 0;
        sum.bins += bins;
        // A unit that is cut is sent in several pieces, so this is a lower bound.
        const auto& s = world.cell().user(static_cast<int>(t)).statistics();
        sum.waiting +=
            std::max(0.0, static_cast<double>(s.frames_failed - s.frames_dropped) - repeated[t]);
    }
}

struct totals {
    double bits = 0, sent = 0, failed = 0, shed = 0;
};

totals totals_of(users_world& world) {
    totals all;
    for (int t = 0; t < world.cell().users(); ++t) {
        const auto& s = world.cell().user(t).statistics();
        all.bits += static_cast<double>(s.payload_bits_acknowledged);
        all.sent += static_cast<double>(s.frames_sent);
        all.failed += static_cast<double>(s.frames_failed);
        all.shed += static_cast<double>(s.grant_overflows);
    }
    return all;
}

void run_cell(int terminals, bool alike, scheduling_kind scheduling, int limit, double loss,
              int slots) {
    users_config c;
    c.cell.users = terminals;
    c.cell.scheduling = scheduling;
    c.cell.most_served = limit;
    c.cell.link.bins = nof_bins;
    c.coherence = coherence;
    c.frame_loss = loss;
    for (int t = 0; t < terminals; ++t)
        c.mean_snr_db.push_back(alike ? 16 : 22 - 12.0 * t / (terminals - 1));
    users_world world(c);
    world.saturate(std::vector<bool>(static_cast<std::size_t>(terminals), true));
    std::vector<double> repeated(static_cast<std::size_t>(terminals));
    sums sum;
    totals before;
    for (int i = 0; i < warm_up + slots; ++i) {
        if (i == warm_up) {
            sum = {};
            before = totals_of(world);
        }
        world.run(1);
        add_slot(sum, world, repeated);
    }
    const totals all = totals_of(world);
    std::printf(
        "{\"terminals\": %d, \"snr\": \"%s\", \"scheduling\": \"%s\", \"limit\": %d, \"loss\": "
        "%.3f, \"slots\": %d, \"mbit_s\": %.2f, \"failed\": %.4f, \"served\": %.2f, \"bins\": "
        "%.2f, \"repeated\": %.2f, \"waiting\": %.1f, \"shed\": %.3f}\n",
        terminals, alike ? "16" : "22 to 10",
        std::string(scheduling_names[static_cast<std::size_t>(scheduling)]).c_str(), limit, loss,
        slots, (all.bits - before.bits) / slots * slots_per_second / 1e6,
        (all.failed - before.failed) / (all.sent - before.sent), sum.served / slots,
        sum.bins / slots, sum.repeated / slots, sum.waiting / slots,
        (all.shed - before.shed) / slots);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const int slots = argc > 1 ? std::atoi(argv[1]) : 900;
    const double loss = argc > 2 ? std::atof(argv[2]) : 0.06;
    if (slots < 1 || loss < 0 || loss >= 1) {
        std::fprintf(stderr, "usage: grant_lists [slots, 1 or more [loss, 0 to less than 1]]\n");
        return 2;
    }
    for (const int terminals : {4, 8})
        for (const bool alike : {true, false})
            for (const auto scheduling : {scheduling_kind::best, scheduling_kind::max_rate,
                                          scheduling_kind::proportional_fair})
                for (const int limit : {2, 4})
                    run_cell(terminals, alike, scheduling, limit, loss, slots);
}
