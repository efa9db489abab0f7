// SPDX-License-Identifier: GPL-3.0-or-later
// Random worlds of one base station and one terminal: cell_world checks after every slot, the
// packets' records are compared with the oracle, and after every phase, when nothing is on its way
// any more, what went in must have come out.
#include <cmath>
#include <stdexcept>

#include "cell_world.h"
#include "drawn_world.h"
#include "dry_cell.h"

namespace wip::sim {
namespace {

constexpr int phases = 8;

struct cell_script {
    world_config world;
    int slots = 600;
    // The changes while the cell runs, every few slots; the dice of one do not move another's.
    struct {
        bool bins = false, modulation = false, table = false, delay = false, limit = false;
        bool queue = false, packing = false, losses = false, load = false;
    } change;
    std::uint64_t seed = 1;
    int blackouts = 0;  // phases for each blackout, whose kind and length are drawn; 0: none
};

drawn_world<cell_script> draw(std::uint64_t seed) {
    drawn_world<cell_script> d(seed);
    random_source& dice = d.dice;
    const auto link = [&d](const char* name, auto value, auto member) {
        d.set(name, static_cast<int>(value), [=](cell_script& s) { s.world.link.*member = value; });
    };
    const auto channel = [&d](const char* name, auto value, auto member) {
        d.set(name, value, [=](cell_script& s) { s.world.channel.*member = value; });
    };
    const auto traffic = [&d](const char* name, auto value, auto member) {
        d.set(name, value, [=](cell_script& s) { s.world.traffic.*member = value; });
    };
    d.set("seed", dice.next(), [v = dice.next()](cell_script& s) { s.seed = s.world.seed = v; });
    // One in forty runs long, for what only time brings about.
    const int slots = dice.hits(0.025) ? 20000 : 200 + dice.up_to(1000);
    d.set("slots", slots, [=](cell_script& s) { s.slots = slots; });
    if (dice.hits(0.5)) link("wipemu", link_profile::wipemu, &link_config::profile);
    link("bins", 1 + dice.up_to(25), &link_config::bins);
    if (dice.hits(0.5)) link("static", allocation_kind::fixed, &link_config::allocation);
    if (dice.hits(0.4)) link("modulation", 1 + dice.up_to(8), &link_config::modulation);
    link("switch_table", static_cast<switch_table_kind>(dice.up_to(3)), &link_config::switch_table);
    if (dice.hits(0.5)) link("limit", dice.up_to(31), &link_config::max_retransmissions);
    if (dice.hits(0.5)) link("delay", 3 + dice.up_to(46), &link_config::retransmission_delay_slots);
    if (dice.hits(0.3)) link("packing_off", false, &link_config::packing);
    if (dice.hits(0.5)) link("as_completed", false, &link_config::in_order);
    if (dice.hits(0.4)) link("corrupt", true, &link_config::deliver_corrupt);
    link("queue", 1 + dice.up_to(dice.hits(0.2) ? 2000 : 60), &link_config::queue_packets);

    if (dice.hits(0.5)) channel("frame_error", 0.6 * dice.uniform(), &channel_config::frame_error);
    channel("snr_db", 6 + 25 * dice.uniform(), &channel_config::mean_snr_db);
    channel("coherence", 0.8 + 0.199 * dice.uniform(), &channel_config::coherence);
    if (dice.hits(0.5)) channel("nmse", 0.2 * dice.uniform(), &channel_config::prediction_nmse);
    if (dice.hits(0.5)) channel("grant_loss", 0.15 * dice.uniform(), &channel_config::grant_loss);
    if (dice.hits(0.5)) channel("fb_loss", 0.25 * dice.uniform(), &channel_config::feedback_loss);
    if (dice.hits(0.3)) {
        // Some longer than the SNs last at the terminal.
        const int length = dice.hits(0.1) ? 1300 + dice.up_to(200) : 1 + dice.up_to(120);
        d.set("outages", length, [=](cell_script& s) {
            s.world.channel.outage_start = length > 1000 ? 0.001 : 0.004;
            s.world.channel.outage_slots = length;
        });
    }
    if (dice.hits(0.3)) {
        const int length = 1 + dice.up_to(20);
        d.set("bursts", length, [=](cell_script& s) {
            s.world.channel.burst_start = 0.01;
            s.world.channel.burst_slots = length;
        });
    }
    traffic("packets", 2 * dice.uniform() * dice.uniform(), &traffic_config::packets_per_slot);
    if (dice.hits(0.2)) traffic("saturate", true, &traffic_config::saturate);
    const int least = dice.hits(0.5) ? 20 : 20 + dice.up_to(1481);
    const int most = dice.hits(0.03) ? 65535 : least + dice.up_to(1501 - least);
    d.set("bytes", std::to_string(least) + ".." + std::to_string(most), [=](cell_script& s) {
        s.world.traffic.least_bytes = least;
        s.world.traffic.most_bytes = most;
    });
    if (dice.hits(0.5)) traffic("ipv6", dice.uniform(), &traffic_config::ipv6);
    if (dice.hits(0.5)) traffic("zeros", dice.uniform(), &traffic_config::zeros);
    if (dice.hits(0.3)) traffic("nested", dice.uniform(), &traffic_config::nested);
    if (dice.hits(0.2)) traffic("not_ip", 0.05, &traffic_config::not_ip);
    if (dice.hits(0.5))
        d.set("late_feedback", 1, [](cell_script& s) { s.world.early_feedback = false; });
    if (dice.hits(0.5)) d.set("followed", 1, [](cell_script& s) { s.world.follow_packets = true; });
    const auto change = [&](const char* name, auto member) {
        if (dice.hits(0.15)) d.set(name, 1, [=](cell_script& s) { s.change.*member = true; });
    };
    using changes = decltype(cell_script::change);
    change("change_bins", &changes::bins);
    change("change_modulation", &changes::modulation);
    change("change_table", &changes::table);
    change("change_delay", &changes::delay);
    change("change_limit", &changes::limit);
    change("change_queue", &changes::queue);
    change("change_packing", &changes::packing);
    change("change_losses", &changes::losses);
    change("change_load", &changes::load);
    if (dice.hits(0.5)) traffic("protocols", dice.uniform(), &traffic_config::protocols);
    if (dice.hits(0.3)) traffic("filled", dice.uniform(), &traffic_config::filled);
    if (dice.hits(0.3)) traffic("crafted", dice.uniform(), &traffic_config::crafted);
    if (dice.hits(0.7))
        d.set("first_sn", dice.up_to(65536),
              [v = dice.up_to(65536)](cell_script& s) { s.world.first_sn = v; });
    if (dice.hits(0.5))
        d.set("blackouts", 1 + dice.up_to(phases),
              [n = 1 + dice.up_to(phases)](cell_script& s) { s.blackouts = n; });
    if (dice.hits(0.3)) channel("not_sent", 0.1 * dice.uniform(), &channel_config::not_sent);
    return d;
}

// One step of everything that changes.
class changer {
public:
    explicit changer(const cell_script& s) : script_(s), now_(s.world) {
        for (std::uint64_t i = 0; i < dice_.size(); ++i) dice_[i] = random_source(s.seed + i);
    }
    void change(cell_world& w) {
        link_config& link = now_.link;
        const auto& c = script_.change;
        if (c.bins) {
            link.bins = 1 + dice_[0].up_to(25);
            link.allocation = dice_[0].hits(0.5) ? allocation_kind::best : allocation_kind::fixed;
        }
        if (c.modulation) link.modulation = dice_[1].hits(0.5) ? 0 : 1 + dice_[1].up_to(8);
        if (c.table) link.switch_table = static_cast<switch_table_kind>(dice_[2].up_to(3));
        if (c.delay) link.retransmission_delay_slots = 3 + dice_[3].up_to(46);
        if (c.limit) link.max_retransmissions = dice_[4].up_to(31);
        if (c.queue) link.queue_packets = 1 + dice_[5].up_to(100);
        // A terminal that is set to packing understands frames without it.
        if (c.packing && script_.world.link.packing) link.packing = dice_[6].hits(0.5);
        w.reconfigure(link);
        if (c.losses) {
            w.channel().grant_loss = dice_[7].hits(0.7) ? 0 : 0.5 * dice_[7].uniform();
            w.channel().feedback_loss = dice_[7].hits(0.7) ? 0 : 0.5 * dice_[7].uniform();
            w.channel().frame_error = dice_[7].hits(0.5) ? -1 : dice_[7].uniform();
        }
        if (c.load) w.traffic().packets_per_slot = 2 * dice_[8].uniform() * dice_[8].uniform();
    }
    // 0.1 to 60 s, as often short as long.
    void black_out(cell_world& w) {
        const double slots = 150 * std::pow(600, dice_[10].uniform());
        w.black_out(static_cast<blackout_kind>(dice_[10].up_to(4)), std::lround(slots));
        // When nothing is on its way any more packets would only meet a full queue, and a slot is
        // like the next: most blackouts leave those in the middle out.
        const int first = std::min(300, static_cast<int>(slots));
        w.run(first);
        int rest = static_cast<int>(slots) - first;
        if (rest > 100 && dice_[10].hits(0.95)) {
            w.skip(rest - 100);
            rest = 100;
        }
        w.run(rest, false);
    }
    // The number of slots until the next change.
    int slots() { return 1 + dice_[9].up_to(60); }
    int phase(int slots) { return slots > 0 ? dice_[10].up_to(slots) : 0; }
    // The channel as it was drawn, so that the cell runs dry.
    void calm(cell_world& w) const { w.channel() = script_.world.channel; }

private:
    const cell_script& script_;
    world_config now_;
    std::array<random_source, 11> dice_{random_source{0}, random_source{0}, random_source{0},
                                        random_source{0}, random_source{0}, random_source{0},
                                        random_source{0}, random_source{0}, random_source{0},
                                        random_source{0}, random_source{0}};
};

// Sends a few packets without errors. After a lost packet boundary the terminal may not know
// earlier where the next packet begins, or that there is none.
void show_a_boundary(cell_world& w) {
    const auto channel = w.channel();
    const auto traffic = w.traffic();
    w.channel() = {.frame_error = 0};
    w.traffic() = {.packets_per_slot = 1, .least_bytes = 100, .most_bytes = 100};
    w.run(10);
    run_dry(w);
    w.channel() = channel;
    w.traffic() = traffic;
}

world_kind::totals run(const cell_script& script) {
    cell_world w(script.world);
    changer changes(script);
    memory_watch memory(script.world.traffic.most_bytes);
    const auto& c = script.change;
    const bool any = c.bins || c.modulation || c.table || c.delay || c.limit || c.queue ||
                     c.packing || c.losses || c.load;
    for (int phase = 0; phase < phases; ++phase) {
        const bool dark = script.blackouts > 0 && phase % script.blackouts == 0;
        const int dark_at = dark ? changes.phase(script.slots / phases) : 0;
        for (int left = script.slots / phases; left > 0;) {
            int n = any ? std::min(left, changes.slots()) : left;
            if (dark && left > dark_at) n = std::min(n, left - dark_at);
            w.run(n);
            if (dark && left > dark_at && left - n <= dark_at) changes.black_out(w);
            left -= n;
            if (any) changes.change(w);
        }
        changes.calm(w);
        run_dry(w);
        check_dry(w);
        if (script.world.follow_packets) {
            if (w.journal().count().open() != 0) show_a_boundary(w);
            const auto& j = w.journal().count();
            if (j.open() != 0 || j.skipped != 0 || j.in != w.base_statistics_now().in.packets)
                throw std::logic_error("packets without a record: " + std::to_string(j.open()) +
                                       " open, " + std::to_string(j.skipped) + " skipped");
            w.oracle().all_recorded(0);
        }
        memory.after_phase();
    }
    return {static_cast<std::uint64_t>(w.now()), w.intact(), w.damaged(), w.altered_headers(),
            w.base_statistics_now().frames_dropped};
}

}  // namespace

world_kind cell_worlds() {
    return make_kind<cell_script>("cell", draw, [](const cell_script& s) { return run(s); });
}

}  // namespace wip::sim
