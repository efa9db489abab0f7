// SPDX-License-Identifier: GPL-3.0-or-later
// The 802.11b cell (wlan/wlan_cell.h) as a link, the wired network on the far side of its access
// point with it.
#include <algorithm>
#include <cstdint>

#include "emulator/link_pair.h"
#include "packet/wired_link.h"
#include "port/link_chain.h"
#include "wlan/wlan_cell.h"

namespace wip::emulator {
namespace {

// The fields that every link has, with the counts of the access point.
void fill_link(const wlan::wlan_cell::node_counts& c, const packets_bytes& delivered,
               openwip::control::BaseLink& b) {
    b.set_payload_bits_acknowledged(8 * delivered.bytes);
    b.set_frames_sent(c.attempts);
    b.set_frames_failed(c.failed);
    b.set_frames_acknowledged(c.attempts - c.failed);
    b.set_frames_given_up(c.dropped);
}

class wlan_path final : public link_pair {
public:
    wlan_path(const wlan_path_config& c, const snoop_config& s)
        : config_(c),
          to_base_(c.to_base, 1),
          from_base_(c.from_base, 2),
          cell_(c.cell, errors_of(c)),
          agent_(s),
          has_agent_(s.on) {
        // Packets of the wired network go on to the cell, with the time that they took in it.
        to_base_.deliver_to([this](const link_packet& p) {
            cell_.set_wired(p.due_ns - p.offered_ns);
            down().offer(p.data, p.due_ns, p.tag);
            return 0;
        });
    }

    packet_link& downlink() override { return downlink_; }
    packet_link& uplink() override { return uplink_; }
    void fill_base(openwip::control::MacStatus& status) const override {
        for (int n = 0; n < cell_.nodes(); ++n) {
            const auto c = cell_.counts(n);
            auto& node = *status.add_wlan();
            node.set_attempts(c.attempts);
            node.set_failed(c.failed);
            node.set_collisions(c.collisions);
            node.set_put_back(c.put_back);
            node.set_given_up(c.dropped);
            node.set_retry_limit(static_cast<std::uint32_t>(cell_.retry_limit(n)));
        }
        fill_link(cell_.counts(0), downlink_.sums().delivered, *status.mutable_base());
        for (int s = 0; s < cell_.stations() && cell_.stations() > 1; ++s) {
            const link_sums down = cell_.downlink_sums(s);
            auto& user = *status.add_users();
            fill_link(cell_.counts_to(s), down.delivered, *user.mutable_base());
            fill_sender(down, *user.mutable_downlink());
            fill_receiver(cell_.uplink_sums(s), *user.mutable_uplink());
        }
    }

    void fill_terminal(openwip::control::MacStatus& status) const override {
        for (int s = 0; s < cell_.stations() && cell_.stations() > 1; ++s) {
            auto& user = *status.add_users();
            fill_sender(cell_.uplink_sums(s), *user.mutable_uplink());
            fill_receiver(cell_.downlink_sums(s), *user.mutable_downlink());
            user.mutable_radio()->set_locked(true);
            user.mutable_radio()->set_locks(1);
        }
    }

    // Errors start anew only where they are others.
    void apply(const emulator_config& wanted, std::int64_t /*now_ns*/) override {
        cell_.reconfigure(wanted.wlan.cell);
        to_base_.reconfigure(wanted.wlan.to_base);
        from_base_.reconfigure(wanted.wlan.from_base);
        if (wanted.wlan.errors != config_.errors || wanted.wlan.errors_up != config_.errors_up ||
            wanted.wlan.errors_down != config_.errors_down ||
            wanted.wlan.errors_station != config_.errors_station)
            cell_.replace(errors_of(wanted.wlan));
        config_ = wanted.wlan;
    }

    void follow_packets(const packet_fn& take) override { cell_.follow(take); }
    const snoop* agent() const override { return has_agent_ ? &agent_ : nullptr; }

private:
    static wlan::wlan_cell::make_errors errors_of(const wlan_path_config& c) {
        return [c](int from, int to) -> std::unique_ptr<attempt_errors> {
            if (!(to < from ? c.errors_up : c.errors_down)) return nullptr;
            const int station = std::max(from, to) - c.cell.hops + 1;
            if (c.errors_station > 0 && station != c.errors_station) return nullptr;
            return packet_model::make_attempt_errors(
                c.errors, static_cast<std::uint32_t>(1000 + 100 * from + to));
        };
    }

    packet_link& down() { return has_agent_ ? radio_down_ : cell_.downlink(); }
    packet_link& up() { return has_agent_ ? radio_up_ : cell_.uplink(); }

    wlan_path_config config_;
    packet_model::wired_link to_base_, from_base_;
    wlan::wlan_cell cell_;
    snoop agent_;  // at the access point, between cell and wired network
    bool has_agent_;
    // The radio link with the agent. Where there is none, downlink_ and uplink_ take its place.
    link_chain radio_down_{agent_.downlink(), cell_.downlink()},
        radio_up_{cell_.uplink(), agent_.uplink()};
    link_chain downlink_{to_base_, down()}, uplink_{up(), from_base_};
};

}  // namespace

std::unique_ptr<link_pair> make_wlan_links(const emulator_config& config) {
    return std::make_unique<wlan_path>(config.wlan, config.snoop);
}

}  // namespace wip::emulator
