// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/virtual_run.h"

#include <map>
#include <optional>
#include <vector>

#include "calendar/calendar.h"
#include "emulator/delayed_path.h"
#include "emulator/ends.h"
#include "emulator/path_run.h"
#include "relay/tcpl_recovery.h"
#include "runtime/message_json.h"
#include "station/packet_gate.h"
#include "virtual/guest_run.h"
#include "virtual/linux_guest.h"

namespace wip::emulator {
namespace {

using virtual_time::linux_guest;

class virtual_cell final : public path_run {
public:
    virtual_cell(const emulator_config& config, const virtual_config& v)
        : path_run(config, v.times),
          down_(path_->downlink()),
          up_(path_->uplink()),
          router_(make_router(config)),
          wired_(config),
          guest_({v.run.kernel, v.run.folder, interfaces_of(config), v.run.memory_mb}, time_,
                 [this](int interface, std::span<const std::uint8_t> packet, std::int64_t now) {
                     sent(interface, packet, now);
                 }),
          run_(time_, guest_, v.run.folder),
          refused_(static_cast<std::size_t>(interfaces_of(config))) {
        if (config.tcp_l) relays_.resize(config.terminals.size());
        path_->downlink().deliver_to(
            [this](const link_packet& p) { return deliver(p.tag + 1, p.data, p.due_ns); });
        path_->uplink().deliver_to(
            [this](const link_packet& p) { return deliver(link_end(), p.data, p.due_ns); });
        // The kernel is the first of those with events at the same time, so that what it sends is
        // in the queue when the slot is planned.
        time_.add(guest_);
        time_.add(down_);
        time_.add(up_);
        if (wired_.there()) connect_wired();
    }

private:
    virtual_time::timed_run& run() override { return run_; }
    std::uint64_t steps() const override { return time_.steps(); }
    counts interface(std::size_t side) const override {
        return counts_of(side == 0 ? link_end() : static_cast<int>(side));
    }
    counts counts_of(int nic) const {
        const auto& n = guest_.interface(nic);
        return {n.taken(), n.given(), refused_[static_cast<std::size_t>(nic)]};
    }
    bool others_are_idle() const override { return !wired_.there() || wired_.idle(); }
    void add_members(nlohmann::json& result) const override;
    void connect_wired();
    // A controller is a relay of TCP between the wired network and the link. Its two interfaces
    // follow those of the server and the terminals: one to the wired network, one to the link.
    static int interfaces_of(const emulator_config& c) {
        return static_cast<int>(c.terminals.size()) + (c.controller ? 3 : 1);
    }
    int wired_end() const { return static_cast<int>(refused_.size()) - 2; }
    int link_end() const { return wired_.there() ? wired_end() + 1 : 0; }
    void add_to_base(openwip::control::MacStatus& base) const override {
        add_router(router_, *base.mutable_downlink());
    }
    void add_to_terminal(openwip::control::MacStatus& terminal) const override {
        for (const auto& relay : relays_) host::add_relay(relay, *terminal.mutable_terminal());
    }
    void sent(int interface, std::span<const std::uint8_t> packet, std::int64_t now) {
        if (wired_.there() && (interface == 0 || interface == wired_end()))
            return wired_.offer(interface == 0, packet, now);
        if (interface == link_end()) interface = 0;
        if (packets_) packets_->write(now, packet);
        // The kernel has gone on by itself until now; nothing is due before.
        path_->downlink().advance(now - 1);
        path_->uplink().advance(now - 1);
        if (interface > 0) {
            if (!relays_.empty())
                relays_[static_cast<std::size_t>(interface) - 1].on_outgoing(packet);
            path_->uplink().offer(packet, now, interface - 1);
            return;
        }
        router_.offer(path_->downlink(), packet, now);
    }
    int deliver(int interface, std::span<const std::uint8_t> packet, std::int64_t now) {
        // Damaged TCP segments of known connections are repaired, as packet_gate does it.
        if (interface > 0 && static_cast<std::size_t>(interface) <= relays_.size()) {
            repaired_.assign(packet.begin(), packet.end());
            relays_[static_cast<std::size_t>(interface) - 1].on_incoming(repaired_);
            packet = repaired_;
        }
        const int error = guest_.give(interface, packet);
        if (error != 0)
            refused_[static_cast<std::size_t>(interface)][error].add(packet.size());
        else if (packets_ && (!wired_.there() || (interface != 0 && interface != wired_end())))
            packets_->write(now, packet);
        return error;
    }
    // The wired network before a controller, or none.
    class wired_network {
    public:
        explicit wired_network(emulator_config c) {
            if (!c.controller) return;
            c.kind = link_kind::wire;
            path_.emplace(c);
            down_.emplace(path_->downlink());
            up_.emplace(path_->uplink());
        }
        bool there() const { return path_.has_value(); }
        bool idle() const { return path_->links.downlink().idle() && path_->links.uplink().idle(); }
        void offer(bool from_server, std::span<const std::uint8_t> packet, std::int64_t now) {
            path_->links.advance(now - 1);
            (from_server ? path_->downlink() : path_->uplink()).offer(packet, now, 0);
        }
        pair_path& path() { return *path_; }
        const pair_path& path() const { return *path_; }
        void join(calendar& time) { time.add(*down_), time.add(*up_); }

    private:
        std::optional<pair_path> path_;
        std::optional<link_participant> down_, up_;
    };

    calendar time_;
    link_participant down_, up_;
    packet_model::terminal_router router_;
    wired_network wired_;
    linux_guest guest_;
    virtual_time::guest_run run_;
    std::vector<tcpl::tcpl_recovery> relays_;  // one for each terminal, or none
    std::vector<std::uint8_t> repaired_;
    std::vector<std::map<int, packets_bytes>> refused_;
};

void virtual_cell::connect_wired() {
    wired_.path().downlink().deliver_to(
        [this](const link_packet& p) { return deliver(wired_end(), p.data, p.due_ns); });
    wired_.path().uplink().deliver_to(
        [this](const link_packet& p) { return deliver(0, p.data, p.due_ns); });
    wired_.join(time_);
}

void virtual_cell::add_members(nlohmann::json& result) const {
    if (!wired_.there()) return;
    openwip::control::MacStatus base, terminal;
    wired_.path().fill_base(base);
    wired_.path().fill_terminal(terminal);
    const counts server = counts_of(0), controller = counts_of(wired_end());
    fill_delivered(server, *base.mutable_uplink());
    fill_delivered(controller, *terminal.mutable_downlink());
    result["wired"] = {{"base", host::to_json(base)},
                       {"terminal", host::to_json(terminal)},
                       {"interfaces", {to_json(server), to_json(controller)}}};
}

}  // namespace

void run_virtual(const emulator_config& config, const virtual_config& v, std::ostream& out) {
    virtual_cell(config, v).write(v.run.longest_s, out);
}

}  // namespace wip::emulator
