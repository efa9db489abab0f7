// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/path_run.h"

#include <chrono>
#include <cstring>
#include <ostream>

#include "emulator/delayed_path.h"
#include "emulator/emulator_telemetry.h"
#include "emulator/ends.h"
#include "runtime/message_json.h"
#include "runtime/telemetry_file.h"
#include "station/packet_gate.h"
#include "station/packet_topic.h"
#include "types/slot_time.h"

namespace wip::emulator {
namespace {

using openwip::control::Direction;
using openwip::control::MacStatus;

void add_refused(Direction& d, const std::map<int, packets_bytes>& refused) {
    for (const auto& [error, count] : refused)
        host::add_drop(d, std::string("kernel_refused_") + strerrorname_np(error), count);
}

}  // namespace

// The results that are published during a run: an OFDM cell's slot by slot, other links' every 10
// ms, as in real time.
struct path_run::publication {
    publication(const emulator_config& c, const host::telemetry_file::file& file)
        : base(file, "base", c.telemetry),
          terminal(file, "terminal", c.telemetry),
          base_events(base, "base"),
          terminal_events(terminal, "terminal"),
          packets(c.telemetry.packets_per_second) {}
    ~publication() {
        if (links != nullptr) links->follow_packets({});
    }
    // Finishes a run that came to its end: all results are published. Throws machine_error.
    void finish() {
        if (cell) cell->flush();
        packets.flush(next, 0, base);
        base.flush();
        terminal.flush();
    }
    host::telemetry_file base, terminal;
    host::status_events base_events, terminal_events;
    std::optional<emulator_telemetry> cell;
    link_pair* links = nullptr;
    host::packet_topic packets;  // topic `packet` of the links
    slot next;                   // slot in which the links report next
};

path_run::path_run(const emulator_config& config, const run_times& times)
    : path_(make_path(config)), times_(times), sides_(config.terminals.size() + 1) {
    path_->load_rules(config);
    if (!times.packets.empty()) packets_.emplace(times.packets);
    if (times.telemetry.empty()) return;
    telemetry_ = std::make_unique<publication>(config, host::telemetry_file::open(times.telemetry));
    publication& t = *telemetry_;
    if (auto* const ofdm = dynamic_cast<cell_path*>(path_.get())) {
        t.cell.emplace(ofdm->cell, t.base, t.terminal, config.cell.cell,
                       config.telemetry.packets_per_second);
        ofdm->cell.watch({[&t](slot k) { t.cell->prepare(k); },
                          [this, &t](slot k) {
                              t.cell->publish(k);
                              publish_statuses(k);
                          }});
    } else {
        t.links = dynamic_cast<pair_path&>(*path_).carrier.get();
        t.packets.begin();
        if (t.base.wanted(host::topic::packet))
            t.links->follow_packets(
                [&t](const packet_record& r, int user) { t.packets.add(r, user); });
    }
}
path_run::~path_run() = default;

void path_run::publish_statuses(slot k) {
    auto& t = *telemetry_;
    publish_status(t.base, t.base_events, k, [this](auto& m) { fill_base(m); });
    publish_status(t.terminal, t.terminal_events, k, [this](auto& m) { fill_terminal(m); });
}

void path_run::tell_of_links() {
    auto& t = *telemetry_;
    for (const slot now(slots()); t.next <= now; t.next += slot_count(beat_slots)) {
        for (std::int64_t i = 0; i < beat_slots; ++i)
            t.packets.slot_done(t.next + slot_count(i), 0, t.base);
        publish_statuses(t.next);
    }
}

std::int64_t path_run::slots() { return run().now() * slots_per_second / 1'000'000'000; }

void path_run::fill_base(MacStatus& base) {
    base.Clear();
    base.set_role("base");
    path_->fill_base(base);
    stamp(base, slots());
    fill_delivered(interface(0), *base.mutable_uplink());
    add_to_base(base);
}

void path_run::fill_delivered(const counts& c, Direction& d) {
    host::set(*d.mutable_delivered(), c.received);
    add_refused(d, c.refused);
}

void path_run::fill_terminal(MacStatus& terminal) {
    terminal.Clear();
    terminal.set_role("terminal");
    path_->fill_terminal(terminal);
    stamp(terminal, slots());
    auto& down = *terminal.mutable_downlink();
    packets_bytes delivered;
    for (std::size_t side = 1; side < sides_; ++side) {
        const counts c = interface(side);
        delivered += c.received;
        add_refused(down, c.refused);
        if (static_cast<int>(side) > terminal.users_size()) continue;
        auto& user = *terminal.mutable_users(static_cast<int>(side) - 1);
        fill_delivered(c, *user.mutable_downlink());
    }
    host::set(*down.mutable_delivered(), delivered);
    add_to_terminal(terminal);
}

nlohmann::json path_run::statuses() {
    MacStatus base, terminal;
    // The status of a link changes while nothing is sent, too.
    path_->downlink().advance(run().now() - 1);
    fill_base(base);
    fill_terminal(terminal);
    return {{"base", host::to_json(base)}, {"terminal", host::to_json(terminal)}};
}

nlohmann::json path_run::to_json(const counts& c) {
    const auto pair = [](const packets_bytes& n) {
        return nlohmann::json::array({n.packets, n.bytes});
    };
    return {{"sent", pair(c.sent)}, {"received", pair(c.received)}};
}

// The counts of packets that it gave and took, for the sums.
nlohmann::json path_run::interfaces() const {
    auto all = nlohmann::json::array();
    for (std::size_t side = 0; side < sides_; ++side) all.push_back(to_json(interface(side)));
    return all;
}

void path_run::write(double longest_s, std::ostream& out) {
    using clock = std::chrono::steady_clock;
    const auto since = [](clock::time_point t) {
        return std::chrono::duration<double>(clock::now() - t).count();
    };
    const auto seconds = [this] { return static_cast<double>(run().now()) * 1e-9; };
    const auto began = clock::now();
    if (telemetry_ && telemetry_->links != nullptr) run().watch([this] { tell_of_links(); });
    run().go_through(virtual_time::to_ns(times_.first_s));
    nlohmann::json result{{"first", statuses()}};
    const auto first = clock::now();
    run().go_on(virtual_time::to_ns(times_.last_s));
    const double factor = (seconds() - times_.first_s) / since(first);
    result["last"] = statuses();
    run().to_result(longest_s);
    run().drain(
        [this] { return path_->downlink().idle() && path_->uplink().idle() && others_are_idle(); });
    result["drained"] = statuses();
    result["interfaces"] = interfaces();
    add_members(result);
    result["slots"] = slots();
    result["steps"] = steps();
    result["virtual_seconds"] = seconds();
    result["wall_seconds"] = since(began);
    result["real_time_factor"] = factor;
    out << result << "\n";
    if (telemetry_) telemetry_->finish();
    if (packets_) packets_->flush();
}

}  // namespace wip::emulator
