// SPDX-License-Identifier: GPL-3.0-or-later
// Random worlds of several terminals that share a slot's bins: every scheduler, losses of grants
// and feedback, terminals that lose their lock, settings that change. users_world checks after
// every slot; when nothing is on its way any more, what went in must have come out.
#include <stdexcept>

#include "drawn_world.h"
#include "users_world.h"

namespace wip::sim {
namespace {

struct users_script {
    users_config world;
    int slots = 400;
    double load = 0.5;  // packets per slot, all users together
    int least = 20, most = 1500;
    bool saturate = false, locks = false, restarts = false;
    bool change_scheduling = false, change_link = false;
};

drawn_world<users_script> draw(std::uint64_t seed) {
    drawn_world<users_script> d(seed);
    random_source& dice = d.dice;
    const auto link = [&d](const char* name, auto value, auto member) {
        d.set(name, static_cast<int>(value),
              [=](users_script& s) { s.world.cell.link.*member = value; });
    };
    const auto world = [&d](const char* name, auto value, auto member) {
        d.set(name, value, [=](users_script& s) { s.world.*member = value; });
    };
    const auto own = [&d](const char* name, auto value, auto member) {
        d.set(name, value, [=](users_script& s) { s.*member = value; });
    };
    world("seed", dice.next(), &users_config::seed);
    own("slots", 100 + dice.up_to(500), &users_script::slots);
    const int users = 1 + dice.up_to(dice.hits(0.2) ? 30 : 6);
    d.set("users", users, [=](users_script& s) { s.world.cell.users = users; });
    const int method = dice.up_to(5);
    d.set("scheduling", std::string(scheduling_names[static_cast<std::size_t>(method)]),
          [=](users_script& s) { s.world.cell.scheduling = static_cast<scheduling_kind>(method); });
    if (users <= most_terminals && dice.hits(0.6)) {
        const int served = 1 + dice.up_to(4);
        d.set("most_served", served, [=](users_script& s) { s.world.cell.most_served = served; });
    }
    if (dice.hits(0.5)) link("wipemu", link_profile::wipemu, &link_config::profile);
    link("bins", 1 + dice.up_to(25), &link_config::bins);
    if (dice.hits(0.4)) link("modulation", 1 + dice.up_to(8), &link_config::modulation);
    if (dice.hits(0.5)) link("limit", dice.up_to(31), &link_config::max_retransmissions);
    if (dice.hits(0.5)) link("delay", 3 + dice.up_to(46), &link_config::retransmission_delay_slots);
    if (dice.hits(0.4)) link("packing_off", false, &link_config::packing);
    if (dice.hits(0.5)) link("as_completed", false, &link_config::in_order);
    link("queue", 1 + dice.up_to(60), &link_config::queue_packets);
    const double snr = 6 + 20 * dice.uniform();
    d.set("snr_db", snr, [=](users_script& s) { s.world.mean_snr_db = {snr}; });
    world("coherence", 0.8 + 0.199 * dice.uniform(), &users_config::coherence);
    if (dice.hits(0.5)) world("grant_loss", 0.15 * dice.uniform(), &users_config::grant_loss);
    if (dice.hits(0.5)) world("fb_loss", 0.25 * dice.uniform(), &users_config::feedback_loss);
    own("load", 2 * dice.uniform(), &users_script::load);
    const int least = 20 + dice.up_to(1481);
    own("least", least, &users_script::least);
    own("most", least + dice.up_to(1501 - least), &users_script::most);
    if (dice.hits(0.2)) own("saturate", true, &users_script::saturate);
    if (dice.hits(0.3)) own("locks", true, &users_script::locks);
    if (dice.hits(0.2)) own("restarts", true, &users_script::restarts);
    if (dice.hits(0.3)) own("change_scheduling", true, &users_script::change_scheduling);
    if (dice.hits(0.3)) own("change_link", true, &users_script::change_link);
    return d;
}

world_kind::totals run(users_script script) {
    auto& c = script.world;
    const int users = c.cell.users;
    // The first as drawn, the others up to 10 dB above or below.
    random_source dice(c.seed + 1);
    const double mean = c.mean_snr_db.empty() ? 16 : c.mean_snr_db[0];
    c.mean_snr_db.resize(static_cast<std::size_t>(users));
    for (double& snr : c.mean_snr_db) snr = mean + 20 * (dice.uniform() - 0.5);
    users_world w(c);
    std::vector<bool> restarted(static_cast<std::size_t>(users));
    for (int i = 0; i < script.slots; ++i) {
        for (double owed = 2 * script.load * dice.uniform(); dice.hits(owed); owed -= 1)
            w.give(dice.up_to(users), 1, script.least + dice.up_to(script.most - script.least + 1));
        if (script.saturate && i % 100 == 0) {
            std::vector<bool> full;
            for (int u = 0; u < users; ++u) full.push_back(dice.hits(0.3));
            w.saturate(full);
        }
        if (script.locks && dice.hits(0.05)) w.set_locked(dice.up_to(users), dice.hits(0.5));
        if (script.restarts && dice.hits(0.02)) {
            const int u = dice.up_to(users);
            w.restart_terminal(u);
            restarted[static_cast<std::size_t>(u)] = true;
        }
        if (i % 40 == 39) {
            if (script.change_scheduling)
                c.cell.scheduling = static_cast<scheduling_kind>(dice.up_to(5));
            if (script.change_link) {
                c.cell.link.bins = 1 + dice.up_to(25);
                c.cell.link.retransmission_delay_slots = 3 + dice.up_to(46);
                c.cell.link.queue_packets = 1 + dice.up_to(60);
            }
            w.reconfigure(c.cell);
        }
        w.run(1);
    }
    for (int u = 0; u < users; ++u) w.set_locked(u, true);
    // `static` leaves a user without a bin where there are more users than bins.
    c.cell.scheduling = scheduling_kind::round_robin;
    w.reconfigure(c.cell);
    if (!w.drain(200000)) throw std::logic_error("the cell does not run dry");
    world_kind::totals sum;
    for (int u = 0; u < users; ++u) {
        const auto& s = w.cell().user(u).statistics();
        // the queue of a restarted terminal is lost
        if (restarted[static_cast<std::size_t>(u)]) continue;
        if (s.frames_dropped == 0 && w.delivered(u) != w.accepted(u))
            throw std::logic_error("user " + std::to_string(u) + " has got " +
                                   std::to_string(w.delivered(u)) + " packets of " +
                                   std::to_string(w.accepted(u)));
        if (w.delivered(u) < s.sent.packets)
            throw std::logic_error("packets acknowledged were not delivered");
        sum.delivered += w.delivered(u);
        sum.dropped += s.frames_dropped;
    }
    sum.slots = static_cast<std::uint64_t>(script.slots);
    return sum;
}

}  // namespace

world_kind user_worlds() {
    return make_kind<users_script>("users", draw, [](const users_script& s) { return run(s); });
}

}  // namespace wip::sim
