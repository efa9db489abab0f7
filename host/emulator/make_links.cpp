// SPDX-License-Identifier: GPL-3.0-or-later
#include <utility>

#include "emulator/link_pair.h"
#include "packet/wired_link.h"

namespace wip::emulator {
namespace {

// The wired network alone.
class wire final : public link_pair {
public:
    explicit wire(const emulator_config& c) : down_(c.cell.to_base, 1), up_(c.cell.from_base, 2) {}
    packet_link& downlink() override { return down_; }
    packet_link& uplink() override { return up_; }
    void fill_base(openwip::control::MacStatus& status) const override {
        status.mutable_base()->set_payload_bits_acknowledged(8 * down_.sums().delivered.bytes);
    }
    void fill_terminal(openwip::control::MacStatus&) const override {}
    void apply(const emulator_config& wanted, std::int64_t) override {
        down_.reconfigure(wanted.cell.to_base);
        up_.reconfigure(wanted.cell.from_base);
    }

private:
    packet_model::wired_link down_, up_;
};

}  // namespace

std::unique_ptr<link_pair> make_links(const emulator_config& config) {
    const auto with_agent = [&config](std::unique_ptr<link_pair> links) {
        return config.snoop.on ? with_snoop(std::move(links), config.snoop) : std::move(links);
    };
    switch (config.kind) {
        case link_kind::umts:
            return with_agent(make_umts_links(config));
        case link_kind::wlan:
            return make_wlan_path(config);  // its agent stands behind the wired network
        case link_kind::hetnet:
            return with_agent(make_hetnet_path(config));
        case link_kind::trace:
            return with_agent(make_trace_path(config));
        default:
            return std::make_unique<wire>(config);
    }
}

}  // namespace wip::emulator
