// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/virtual_run.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <vector>

#include "calendar/calendar.h"
#include "emulator/cell_path.h"
#include "emulator/emulator_telemetry.h"
#include "emulator/ends.h"
#include "emulator/status_json.h"
#include "runtime/telemetry_file.h"
#include "station/packet_gate.h"
#include "virtual/linux_guest.h"
#include "virtual/pcap_file.h"

namespace wip::emulator {
namespace {

using virtual_time::linux_guest;

// Between two looks whether the kernel has come to its end.
constexpr std::int64_t look_every_ns = 10'000'000;
// After that: everything is there, or was given up, long before.
constexpr std::int64_t longest_drain_ns = 60'000'000'000;

std::int64_t to_ns(double seconds) { return std::llround(seconds * 1e9); }

std::uint32_t address_of(const std::string& text) {
    in_addr a{};
    return ::inet_pton(AF_INET, text.substr(0, text.find('/')).c_str(), &a) == 1 ? a.s_addr : 0;
}

std::uint32_t destination(std::span<const std::uint8_t> packet) {
    std::uint32_t a = 0;
    if (packet.size() >= 20) std::memcpy(&a, packet.data() + 16, sizeof a);
    return a;
}

class virtual_cell {
public:
    virtual_cell(const emulator_config& config, const virtual_config& v)
        : path_(make_path(config)),
          down_(path_->downlink()),
          up_(path_->uplink()),
          guest_({v.kernel, v.folder, static_cast<int>(config.terminals.size()) + 1, 128}, time_,
                 [this](int interface, std::span<const std::uint8_t> packet, std::int64_t now) {
                     sent(interface, packet, now);
                 }),
          refused_(config.terminals.size() + 1) {
        for (const auto& t : config.terminals) addresses_.push_back(address_of(t.tun.address));
        if (!v.packets.empty()) packets_.emplace(v.packets);
        auto* const ofdm = dynamic_cast<cell_path*>(path_.get());
        if (!v.telemetry.empty() && ofdm != nullptr) tell(ofdm->cell, config, v.telemetry);
        path_->downlink().deliver_to(
            [this](const link_packet& p) { return deliver(p.tag + 1, p.data, p.due_ns); });
        path_->uplink().deliver_to(
            [this](const link_packet& p) { return deliver(0, p.data, p.due_ns); });
        // At the same time the kernel first: what it sends is there when the slot is planned.
        time_.add(guest_);
        time_.add(down_);
        time_.add(up_);
    }

    void go_to(std::int64_t ns) {
        while (time_.step(ns)) {
            if (guest_.ended())
                throw std::runtime_error(
                    "virtual time: the Linux kernel ended before its run was over; its last words "
                    "are in kernel.log");
        }
    }
    bool idle() const { return path_->downlink().idle() && path_->uplink().idle(); }
    std::int64_t now() const { return time_.now(); }
    std::uint64_t steps() const { return time_.steps(); }
    // Of the cell, whatever carries.
    std::int64_t slots() const { return now() * slots_per_second / 1'000'000'000; }
    std::string statuses() const;
    std::string interfaces() const;

private:
    void tell(emulated_cell& cell, const emulator_config& config, const std::string& file);
    void fill_base(openwip::control::MacStatus& base) const;
    void fill_terminal(openwip::control::MacStatus& terminal) const;
    void sent(int interface, std::span<const std::uint8_t> packet, std::int64_t now) {
        if (packets_) packets_->write(now, packet);
        // The kernel has gone on by itself until now; nothing is due before.
        path_->downlink().advance(now - 1);
        path_->uplink().advance(now - 1);
        if (interface > 0) {
            path_->uplink().offer(packet, now, interface - 1);
            return;
        }
        const auto at = std::ranges::find(addresses_, destination(packet));
        path_->downlink().offer(
            packet, now, at == addresses_.end() ? 0 : static_cast<int>(at - addresses_.begin()));
    }
    int deliver(int interface, std::span<const std::uint8_t> packet, std::int64_t now) {
        const int error = guest_.give(interface, packet);
        if (error != 0)
            refused_[static_cast<std::size_t>(interface)][error].add(packet.size());
        else if (packets_)
            packets_->write(now, packet);
        return error;
    }
    void add_refused(int interface, openwip::control::Direction& d) const {
        for (const auto& [error, count] : refused_[static_cast<std::size_t>(interface)])
            host::add_drop(d, std::string("kernel_refused_") + strerrorname_np(error), count);
    }

    std::unique_ptr<packet_path> path_;
    calendar time_;
    link_participant down_, up_;
    linux_guest guest_;
    std::vector<std::uint32_t> addresses_;
    std::vector<std::map<int, packets_bytes>> refused_;
    std::optional<virtual_time::pcap_file> packets_;
    struct told {
        told(emulated_cell& cell, const emulator_config& c, const host::telemetry_file::file& file)
            : base(file, "base", c.telemetry),
              terminal(file, "terminal", c.telemetry),
              base_events(base, "base"),
              terminal_events(terminal, "terminal"),
              topics(cell, base, terminal, c.cell.cell, c.telemetry.packets_per_second) {}
        host::telemetry_file base, terminal;
        host::status_events base_events, terminal_events;
        emulator_telemetry topics;
    };
    std::optional<told> telemetry_;  // after what it reads
};

void virtual_cell::tell(emulated_cell& cell, const emulator_config& config,
                        const std::string& file) {
    telemetry_.emplace(cell, config, host::telemetry_file::open(file));
    cell.watch({[this](slot k) { telemetry_->topics.prepare(k); },
                [this](slot k) {
                    auto& t = *telemetry_;
                    t.topics.publish(k);
                    publish_status(t.base, t.base_events, k, [this](auto& m) { fill_base(m); });
                    publish_status(t.terminal, t.terminal_events, k,
                                   [this](auto& m) { fill_terminal(m); });
                }});
}

std::string virtual_cell::statuses() const {
    openwip::control::MacStatus base, terminal;
    fill_base(base);
    fill_terminal(terminal);
    return "{\"base\": " + to_json(base) + ", \"terminal\": " + to_json(terminal) + "}";
}

void virtual_cell::fill_base(openwip::control::MacStatus& base) const {
    base.Clear();
    base.set_role("base");
    path_->fill_base(base);
    base.set_slot(slots());
    host::set(*base.mutable_uplink()->mutable_delivered(), guest_.interface(0).given());
    add_refused(0, *base.mutable_uplink());
}

void virtual_cell::fill_terminal(openwip::control::MacStatus& terminal) const {
    terminal.Clear();
    terminal.set_role("terminal");
    path_->fill_terminal(terminal);
    terminal.set_slot(slots());
    auto& down = *terminal.mutable_downlink();
    packets_bytes delivered;
    for (int u = 1; u < static_cast<int>(refused_.size()); ++u) {
        delivered += guest_.interface(u).given();
        add_refused(u, down);
    }
    host::set(*down.mutable_delivered(), delivered);
}

// What the kernel says it gave and took, for the sums.
std::string virtual_cell::interfaces() const {
    std::string text;
    for (int i = 0; i < static_cast<int>(refused_.size()); ++i) {
        const auto& nic = guest_.interface(i);
        text += (i == 0 ? "[" : ", ") + ("{\"sent\": [" + std::to_string(nic.taken().packets)) +
                ", " + std::to_string(nic.taken().bytes) + "], \"received\": [" +
                std::to_string(nic.given().packets) + ", " + std::to_string(nic.given().bytes) +
                "], \"not_ip\": " + std::to_string(nic.not_ip().packets) + "}";
    }
    return text + "]";
}

}  // namespace

void run_virtual(const emulator_config& config, const virtual_config& v, std::ostream& out) {
    const auto t0 = std::chrono::steady_clock::now();
    virtual_cell cell(config, v);
    cell.go_to(to_ns(v.first_s));
    out << "{\"first\": " << cell.statuses() << ",\n";
    const auto t1 = std::chrono::steady_clock::now();
    const std::string result = v.folder + "/result";
    // The traffic may be over before.
    while (cell.now() < to_ns(v.last_s) && ::access(result.c_str(), F_OK) != 0)
        cell.go_to(std::min(cell.now() + look_every_ns, to_ns(v.last_s)));
    const double measured_s = static_cast<double>(cell.now()) * 1e-9 - v.first_s;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - t1;
    out << "\"last\": " << cell.statuses() << ",\n";
    while (::access(result.c_str(), F_OK) != 0) {
        if (cell.now() >= to_ns(v.longest_s))
            throw std::runtime_error("virtual time: the run was not over after " +
                                     std::to_string(v.longest_s) + " s");
        cell.go_to(cell.now() + look_every_ns);
    }
    const std::int64_t ended = cell.now();
    while (!cell.idle() && cell.now() < ended + longest_drain_ns)
        cell.go_to(cell.now() + look_every_ns);
    out << "\"drained\": " << cell.statuses() << ",\n";
    const std::chrono::duration<double> all = std::chrono::steady_clock::now() - t0;
    out << "\"interfaces\": " << cell.interfaces() << ", \"slots\": " << cell.slots()
        << ", \"steps\": " << cell.steps()
        << ", \"virtual_seconds\": " << static_cast<double>(cell.now()) * 1e-9
        << ", \"wall_seconds\": " << all.count()
        << ", \"real_time_factor\": " << measured_s / wall.count() << "}\n";
}

}  // namespace wip::emulator
