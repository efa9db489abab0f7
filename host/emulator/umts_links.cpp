// SPDX-License-Identifier: GPL-3.0-or-later
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>

#include "emulator/link_pair.h"
#include "umts/bearer.h"

namespace wip::emulator {
namespace {

using openwip::control::BearerDirection;
using openwip::control::MacStatus;
using umts::bearer;

constexpr std::array<const char*, 4> rrc_names{"idle", "pch", "fach", "dch"};

void fill(const bearer& b, bearer::way way, MacStatus& status) {
    BearerDirection& d = *status.mutable_bearer();
    const auto& entity = b.sender(way);
    const auto& sent = entity.transmitter().counts();
    const auto& blocks = b.counts(way);
    d.set_rate_bps(b.kbps(way) * 1e3);
    d.set_blocks(blocks.blocks);
    d.set_blocks_lost(blocks.blocks_lost);
    d.set_pdus(sent.pdus);
    d.set_retransmissions(sent.retransmissions);
    d.set_polls(sent.polls);
    d.set_status_pdus(entity.counts().status_pdus);
    d.set_status_piggybacked(entity.counts().piggybacked);
    d.set_sdus_given_up(sent.discarded);
    d.set_resets(entity.counts().resets);
    d.set_window_used(entity.transmitter().next_sn() - entity.transmitter().acknowledged());
    d.set_sdus_held(entity.transmitter().held_sdus());
    status.set_rrc_state(rrc_names[static_cast<std::size_t>(b.control().state())]);
}

class umts_links final : public link_pair {
public:
    explicit umts_links(const umts::bearer_config& c) : bearer_(c) {}
    packet_link& downlink() override { return bearer_.downlink(); }
    packet_link& uplink() override { return bearer_.uplink(); }
    void fill_base(MacStatus& status) const override {
        fill_sender(bearer_.downlink(), *status.mutable_downlink());
        fill_receiver(bearer_.uplink(), *status.mutable_uplink());
        fill(bearer_, bearer::way::down, status);
        // In the words of every link: what has been carried, PDU by PDU.
        auto& link = *status.mutable_base();
        const auto& sent = bearer_.sender(bearer::way::down).transmitter().counts();
        link.set_slots_planned(bearer_.counts(bearer::way::down).blocks);
        link.set_frames_sent(bearer_.counts(bearer::way::down).pdus);
        link.set_frames_failed(bearer_.counts(bearer::way::down).pdus_lost);
        link.set_frames_given_up(sent.discarded);
        link.set_payload_bits_acknowledged(bearer_.delivered(bearer::way::down).bytes * 8);
    }
    void fill_terminal(MacStatus& status) const override {
        fill_receiver(bearer_.downlink(), *status.mutable_downlink());
        fill_sender(bearer_.uplink(), *status.mutable_uplink());
        fill(bearer_, bearer::way::up, status);
        status.mutable_radio()->set_locked(true);
        status.mutable_radio()->set_locks(1);
    }
    void apply(const emulator_config& wanted) override {
        bearer_.set_rate(wanted.bearer.profile.kbps_down, wanted.bearer.profile.kbps_up);
        bearer_.set_errors(wanted.bearer.errors_down, wanted.bearer.errors_up);
    }

private:
    bearer bearer_;
};

}  // namespace

std::unique_ptr<link_pair> make_links(const emulator_config& config) {
    return std::make_unique<umts_links>(config.bearer);
}

}  // namespace wip::emulator
