// SPDX-License-Identifier: GPL-3.0-or-later
// A terminal that moves between networks (handover/handover.h) as a link, each network a pair of
// wired lines.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "emulator/link_pair.h"
#include "handover/handover.h"
#include "packet/wired_link.h"
#include "settings/configuration.h"

namespace wip::emulator {
namespace {

using hetnet::handover;
using openwip::control::MacStatus;

// Purpose of the lines' random numbers. The lines lose nothing, but each one needs a key of its
// own.
constexpr std::uint32_t first_purpose = 0x48455400;

// Makes the lines of a network without a limit of their own: handover_config::held_mb is the limit.
handover::make_line maker_of_lines() {
    return [purpose = first_purpose](handover::way) mutable {
        packet_model::wired_config c;
        c.queue_packets = setting::to_base_queue_packets.high;
        c.held_mb = setting::to_base_held_mb.high;
        return std::make_unique<packet_model::wired_link>(c, purpose++);
    };
}

class hetnet_path final : public link_pair {
public:
    explicit hetnet_path(const hetnet::handover_config& c)
        : config_(c), link_(c, maker_of_lines()) {}
    packet_link& downlink() override { return link_.downlink(); }
    packet_link& uplink() override { return link_.uplink(); }
    void fill_base(MacStatus& status) const override {
        status.mutable_base()->set_payload_bits_acknowledged(
            8 * link_.sums(handover::way::down).delivered.bytes);
        fill(handover::way::down, *status.mutable_mobility());
    }
    void fill_terminal(MacStatus& status) const override {
        fill(handover::way::up, *status.mutable_mobility());
    }
    void apply(const emulator_config& wanted, std::int64_t now_ns) override;
    void follow_packets(const packet_fn& take) override { link_.follow(take); }
    std::vector<moved_setting> moved_settings(std::int64_t now_ns) override;

private:
    void fill(handover::way w, openwip::control::Mobility& m) const;
    std::string name_of(const hetnet::place& where) const {
        return hetnet::text_of(where, link_.networks());
    }

    hetnet::handover_config config_;
    handover link_;
};

void hetnet_path::fill(handover::way w, openwip::control::Mobility& m) const {
    const auto& count = link_.count();
    const auto& rates = link_.rates();
    m.set_network(name_of(link_.here()));
    m.set_destination(name_of(link_.destination()));
    m.set_handing_over(link_.is_handing_over());
    m.set_handovers(count.handovers);
    m.set_state_changes(count.state_changes);
    m.set_handing_over_s(static_cast<double>(count.handing_over_ns) * 1e-9);
    m.set_waiting_packets(link_.waiting(w).packets);
    m.set_rate_bps(1e3 * (w == handover::way::down ? rates.down_kbps : rates.up_kbps));
    m.set_one_way_ms(rates.one_way_ms);
    if (link_.now_ns() > 0)
        m.set_mean_rate_bps(link_.capacity_bits(w) / (static_cast<double>(link_.now_ns()) * 1e-9));
    m.set_application_bytes(count.application_bytes);
    for (const auto& made : link_.latest()) {
        auto& one = *m.add_latest();
        one.set_from(name_of(made.from));
        one.set_to(name_of(made.to));
        one.set_began_s(static_cast<double>(made.began_ns) * 1e-9);
        one.set_over_s(static_cast<double>(made.over_ns) * 1e-9);
    }
}

void hetnet_path::apply(const emulator_config& wanted, std::int64_t now_ns) {
    link_.set_buffering(wanted.handover.keep);
    link_.set_delay(wanted.handover.delay_s);
    if (wanted.handover.first != config_.first) link_.go_to(wanted.handover.first, now_ns);
    config_ = wanted.handover;
}

// hetnet.network follows a terminal that has moved as planned or by chance.
std::vector<link_pair::moved_setting> hetnet_path::moved_settings(std::int64_t /*now_ns*/) {
    if (link_.destination() == config_.first) return {};
    config_.first = link_.destination();
    return {{config::name::hetnet_network, name_of(config_.first)}};
}

}  // namespace

std::unique_ptr<link_pair> make_hetnet_links(const emulator_config& config) {
    return std::make_unique<hetnet_path>(config.handover);
}

}  // namespace wip::emulator
