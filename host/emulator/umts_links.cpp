// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cells/wcdma_cells.h"
#include "emulator/link_pair.h"
#include "station/mac_status.h"
#include "umts/cell.h"
#include "umts/rlc_capture.h"

namespace wip::emulator {
namespace {

using openwip::control::BearerDirection;
using openwip::control::MacStatus;
using umts::bearer;

constexpr std::array<const char*, 4> rrc_names{"idle", "pch", "fach", "dch"};

void fill_bearer(const bearer& b, bearer::way way, MacStatus& status) {
    BearerDirection& d = *status.mutable_bearer();
    const umts::rlc_counts sent = b.sender(way).counts();
    const auto& blocks = b.counts(way);
    d.set_rate_bps(b.kbps(way) * 1e3);
    d.set_blocks(blocks.blocks);
    d.set_blocks_lost(blocks.blocks_lost);
    d.set_pdus(sent.pdus);
    d.set_retransmissions(sent.retransmissions);
    d.set_polls(sent.polls);
    d.set_status_pdus(sent.status_pdus);
    d.set_status_piggybacked(sent.piggybacked);
    d.set_sdus_given_up(sent.discarded);
    d.set_resets(sent.resets);
    d.set_window_used(sent.window_used);
    d.set_sdus_held(sent.held);
    d.set_received_octets(b.receiver(way).counts().received);
    d.set_received_octets_most(b.receiver(way).counts().most_received);
    d.set_busy_rate_bps(b.busy_bps(way));
    d.set_pdu_bits(b.pdu_bits(way));
    status.set_rrc_state(rrc_names[static_cast<std::size_t>(b.control_state())]);
}

void fill_bearer_base(const bearer& b, MacStatus& status) {
    fill_sender(b.downlink().sums(), *status.mutable_downlink());
    fill_receiver(b.uplink().sums(), *status.mutable_uplink());
    fill_bearer(b, bearer::way::down, status);
    // The fields that every link has, counted in PDUs.
    auto& link = *status.mutable_base();
    link.set_slots_planned(b.counts(bearer::way::down).blocks);
    link.set_frames_sent(b.counts(bearer::way::down).pdus);
    link.set_frames_failed(b.counts(bearer::way::down).pdus_lost);
    link.set_frames_given_up(b.sender(bearer::way::down).counts().discarded);
    link.set_payload_bits_acknowledged(b.delivered(bearer::way::down).bytes * 8);
}

void fill_bearer_terminal(const bearer& b, MacStatus& status) {
    fill_receiver(b.downlink().sums(), *status.mutable_downlink());
    fill_sender(b.uplink().sums(), *status.mutable_uplink());
    fill_bearer(b, bearer::way::up, status);
    status.mutable_radio()->set_locked(true);
    status.mutable_radio()->set_locks(1);
}

void fill_wcdma(const cells::wcdma_cells& from, openwip::control::WcdmaCells& to) {
    to.set_side_m(from.config().side_m);
    to.set_handovers(from.handovers());
    for (int c = 0; c < from.sites().size(); ++c) {
        to.add_sites_m(from.sites().site(c).x);
        to.add_sites_m(from.sites().site(c).y);
    }
    for (int u = 0; u < from.users(); ++u) {
        auto& user = *to.add_users();
        user.set_sir_db(from.sir_db(u));
        user.set_power_dbw(from.power_dbw(u));
        user.set_cell(from.cell(u));
        user.set_x_m(from.place(u).x);
        user.set_y_m(from.place(u).y);
        user.set_lost(from.lost(u));
    }
}

class umts_links final : public link_pair {
public:
    explicit umts_links(const emulator_config& c) : cell_(c.bearer, c.umts_cell) {
        apply(c, 0);
        cell_.on_advance([this](std::int64_t now_ns) { keep_up(now_ns); });
    }
    packet_link& downlink() override { return cell_.downlink(); }
    packet_link& uplink() override { return cell_.uplink(); }
    void fill_base(MacStatus& status) const override {
        fill_users(status, fill_bearer_base);
        status.mutable_bearer()->set_rate_bps(down_bps_);
        if (wcdma_) fill_wcdma(*wcdma_, *status.mutable_wcdma());
    }
    void fill_terminal(MacStatus& status) const override {
        fill_users(status, fill_bearer_terminal);
        status.mutable_bearer()->set_rate_bps(cell_.user(0).kbps(bearer::way::up) * 1e3 *
                                              cell_.users());
    }
    void apply(const emulator_config& wanted, std::int64_t now_ns) override;
    void watch_pdus(const pdu_fn& watch) override;
    void follow_packets(const packet_fn& take) override;
    std::vector<moved_setting> moved_settings(std::int64_t now_ns) override;

private:
    // A spike or an outage that was set by a command.
    struct passing {
        const char* key;
        double ms = 0;
        umts::episode when{};
        void ask(double wanted_ms, std::int64_t now_ns);
        std::vector<umts::episode> with(std::vector<umts::episode> all) const;
        bool over(std::int64_t now_ns) const { return ms > 0 && now_ns >= when.end_ns(); }
    };
    template <class Fill>
    void fill_users(MacStatus& status, Fill fill) const {
        fill(cell_.user(0), status);
        if (cell_.users() == 1) return;
        for (int u = 0; u < cell_.users(); ++u) {
            fill(cell_.user(u), *status.add_users());
            if (u == 0) continue;
            host::add_up(status, status.users(u));
            auto& sum = *status.mutable_bearer();
            const auto& more = status.users(u).bearer();
            sum.set_window_used(sum.window_used() + more.window_used());
            sum.set_received_octets(sum.received_octets() + more.received_octets());
            sum.set_received_octets_most(
                std::max(sum.received_octets_most(), more.received_octets_most()));
        }
        status.mutable_bearer()->clear_busy_rate_bps();
    }
    void share(const emulator_config& c);
    void use_wcdma(const emulator_config& c);
    // The cells advance while nothing is sent, too, so that they are up to date when a block asks.
    void keep_up(std::int64_t now_ns) {
        if (wcdma_) wcdma_->advance_to(now_ns / cells::block_ns);
    }

    umts::cell cell_;
    // made once a direction's errors come from the cells
    std::unique_ptr<cells::wcdma_cells> wcdma_;
    double down_bps_ = 0;
    std::vector<std::uint8_t> framed_;
    std::vector<std::unique_ptr<sdu_journal>> journals_;
    passing spike_{"umts.spike_ms"}, outage_{"umts.outage_ms"};
};

void umts_links::use_wcdma(const emulator_config& c) {
    using umts::error_model;
    if (wcdma_ || (c.bearer.errors_down.model != error_model::external &&
                   c.bearer.errors_up.model != error_model::external))
        return;
    wcdma_ = std::make_unique<cells::wcdma_cells>(c.wcdma, c.bearer.seed);
    for (int u = 0; u < cell_.users(); ++u)
        cell_.user(u).set_fates([this, u](std::int64_t start_ns) {
            keep_up(start_ns);
            return wcdma_->lost(u);
        });
}

// Shares out the most that the cell can carry: its bearers, and all of it to the user with the
// highest C/I.
void umts_links::share(const emulator_config& c) {
    double sum = 0, best = 0;
    for (std::size_t u = 0; u < static_cast<std::size_t>(cell_.users()); ++u) {
        const double db = u < c.umts_cell.users_db.size() ? c.umts_cell.users_db[u] : 0;
        best = std::max(best, c.umts_cell.kbps * std::pow(10, db / 10));
        sum += c.bearer.profile.kbps_down;
    }
    down_bps_ = 1e3 * (c.umts_cell.kbps > 0 ? std::min(sum, best) : sum);
}

void umts_links::passing::ask(double wanted_ms, std::int64_t now_ns) {
    if (wanted_ms != ms) when = {now_ns, std::llround(wanted_ms * 1e6)};
    ms = wanted_ms;
}

std::vector<umts::episode> umts_links::passing::with(std::vector<umts::episode> all) const {
    if (ms > 0) all.push_back(when);
    return all;
}

void umts_links::apply(const emulator_config& wanted, std::int64_t now_ns) {
    spike_.ask(wanted.spike_ms, now_ns);
    outage_.ask(wanted.outage_ms, now_ns);
    for (int u = 0; u < cell_.users(); ++u) {
        bearer& b = cell_.user(u);
        const auto& c = wanted.bearer;
        b.set_rate(c.profile.kbps_down, c.profile.kbps_up);
        if (c.errors_down != b.config().errors_down || c.errors_up != b.config().errors_up)
            b.set_errors(c.errors_down, c.errors_up);
        b.grant_window(c.granted_window);
        b.set_episodes(spike_.with(c.spikes), outage_.with(c.outages));
    }
    use_wcdma(wanted);
    cell_.reconfigure(wanted.umts_cell);
    share(wanted);
}

void umts_links::watch_pdus(const pdu_fn& watch) {
    for (int u = 0; u < cell_.users(); ++u)
        cell_.user(u).watch([this, watch, u](bearer::way way, std::span<const std::uint8_t> pdu,
                                             std::int64_t sent_ns, bool lost) {
            const bool down = way == bearer::way::down;
            umts::frame_pdu(umts::channel_of(cell_.user(u).config().mode, down, u, pdu.size()), pdu,
                            framed_);
            watch(down, u, framed_, sent_ns, lost);
        });
}

void umts_links::follow_packets(const packet_fn& take) {
    std::vector<std::unique_ptr<sdu_journal>> journals;
    for (int u = 0; u < cell_.users(); ++u)
        for (const auto way : {bearer::way::down, bearer::way::up}) {
            if (take)
                journals.push_back(std::make_unique<sdu_journal>(
                    [take, u](const packet_record& r) { take(r, u); },
                    umts::numbers_of(cell_.user(u).config().mode), way == bearer::way::up));
            cell_.user(u).follow(way, take ? journals.back().get() : nullptr);
        }
    journals_ = std::move(journals);
}

std::vector<link_pair::moved_setting> umts_links::moved_settings(std::int64_t now_ns) {
    std::vector<moved_setting> moved;
    for (const passing* p : {&spike_, &outage_})
        if (p->over(now_ns)) moved.push_back({p->key, "0"});
    return moved;
}

}  // namespace

std::unique_ptr<link_pair> make_umts_links(const emulator_config& config) {
    return std::make_unique<umts_links>(config);
}

}  // namespace wip::emulator
