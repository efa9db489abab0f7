// SPDX-License-Identifier: GPL-3.0-or-later
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "emulator/link_pair.h"
#include "packet/wired_link.h"

namespace wip::emulator {

#define WIP_LINK_KIND(kind) \
    std::unique_ptr<link_pair> make_##kind##_links(const emulator_config& config);
#include "emulator/link_kinds.inc"
#undef WIP_LINK_KIND

namespace {

struct kind_of_link {
    link_kind kind;
    std::unique_ptr<link_pair> (*make)(const emulator_config& config);
};

#define WIP_LINK_KIND(kind) {link_kind::kind, make_##kind##_links},
constexpr kind_of_link kinds[] = {
#include "emulator/link_kinds.inc"
};
#undef WIP_LINK_KIND

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
    if (config.kind == link_kind::wire) return std::make_unique<wire>(config);
    for (const auto& [kind, make] : kinds)
        if (kind == config.kind)  // the agent of 802.11 stands behind the wired network
            return kind == link_kind::wlan ? make(config) : with_agent(make(config));
    throw std::logic_error("link.kind is " + std::string(config::text_of(config.kind)) +
                           ", which link_kinds in host/emulator/CMakeLists.txt does not have");
}

}  // namespace wip::emulator
