// SPDX-License-Identifier: GPL-3.0-or-later
// A Snoop agent (relay/snoop.h) at the network side of any link.
#include <memory>
#include <utility>
#include <vector>

#include "emulator/link_pair.h"
#include "port/link_chain.h"

namespace wip::emulator {
namespace {

using openwip::control::MacStatus;

class snoop_links final : public link_pair {
public:
    snoop_links(std::unique_ptr<link_pair> links, const snoop_config& c)
        : links_(std::move(links)),
          agent_(c),
          downlink_(agent_.downlink(), links_->downlink()),
          uplink_(links_->uplink(), agent_.uplink()) {}
    packet_link& downlink() override { return downlink_; }
    packet_link& uplink() override { return uplink_; }
    void fill_base(MacStatus& status) const override { links_->fill_base(status); }
    void fill_terminal(MacStatus& status) const override { links_->fill_terminal(status); }
    void apply(const emulator_config& wanted, std::int64_t now_ns) override {
        links_->apply(wanted, now_ns);
    }
    void watch_pdus(const pdu_fn& watch) override { links_->watch_pdus(watch); }
    void follow_packets(const packet_fn& take) override { links_->follow_packets(take); }
    const snoop* agent() const override { return &agent_; }
    std::vector<moved_setting> moved_settings(std::int64_t now_ns) override {
        return links_->moved_settings(now_ns);
    }

private:
    std::unique_ptr<link_pair> links_;
    snoop agent_;
    link_chain downlink_, uplink_;
};

}  // namespace

std::unique_ptr<link_pair> with_snoop(std::unique_ptr<link_pair> links,
                                      const snoop_config& config) {
    return std::make_unique<snoop_links>(std::move(links), config);
}

}  // namespace wip::emulator
