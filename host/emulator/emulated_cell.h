// SPDX-License-Identifier: GPL-3.0-or-later
// The cell of the emulator, without clock, thread or interface: base station, terminal, the air
// between them at one SNR for each bin, the emulated uplink, and the wired network on the far side
// of the base station.
//
//   server --> wired --> base station MAC --> symbol_channel --> terminal MAC --> terminal
//   server <-- wired <-- emulated uplink <--------------------------------------- terminal
//
// Time is nanoseconds since the cell's start; slot k begins at slot_start(k) = floor(k 2/3 ms), so
// nothing drifts. The owner calls run_slot(k) for each k in order, at that time, and hands over
// what the interfaces brought as it comes. What leaves has a due time and waits for release():
//
//   slot k planned and carried at slot_start(k), from what was there by then
//   packets complete in slot k leave for the terminal at slot_start(k + 1), the end of the slot
//   feedback of slot k is used in plan(k + retransmission delay), as everywhere
//   an uplink packet leaves the line at the start of a slot, then the wired part takes it
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "bin/bin_channel.h"
#include "bin/symbol_channel.h"
#include "link/base_station_mac.h"
#include "link/emulated_uplink.h"
#include "link/terminal_mac.h"
#include "packet/wired_link.h"
#include "schema/control.pb.h"

namespace wip::emulator {

constexpr std::int64_t slot_start(slot s) { return s.value * 2'000'000 / 3; }

// Where the SNRs come from; `prediction` may be the channel itself.
struct snr_source {
    std::unique_ptr<bin_model::bin_channel> channel;
    std::unique_ptr<bin_model::bin_prediction> prediction;
};

struct cell_config {
    link_config link;
    uplink_config uplink;
    bin_model::error_method errors = bin_model::error_method::symbols;
    packet_model::wired_config to_base, from_base;
    std::uint64_t seed = 1;
};

class emulated_cell {
public:
    enum class side : std::uint8_t { server, terminal };

    emulated_cell(const cell_config& config, snr_source source);

    // A packet came from an interface at `now_ns`, which never goes back.
    void from_server(std::span<const std::uint8_t> packet, std::int64_t now_ns);
    void from_terminal(std::span<const std::uint8_t> packet);

    void run_slot(slot k);

    // When the next packet leaves; nof_next when there is none.
    static constexpr std::int64_t no_next = INT64_MAX;
    std::int64_t next_due() const;
    // Hands over what is due by then, each side in order: write(side, packet, due_ns).
    template <class Write>
    void release(std::int64_t now_ns, Write&& write) {
        for (; !to_terminal_.empty() && to_terminal_.front().due_ns <= now_ns;
             to_terminal_.pop_front())
            write(side::terminal, to_terminal_.front().data, to_terminal_.front().due_ns);
        for (const auto* p = from_base_.front(); p != nullptr && p->due_ns <= now_ns;
             p = from_base_.front()) {
            write(side::server, p->data, p->due_ns);
            from_base_.pop();
        }
    }

    void reconfigure(const link_config& link);
    void reconfigure(const uplink_config& uplink);

    // Nothing is queued anywhere.
    bool idle() const;
    const base_statistics& base() const { return base_.statistics(); }
    const terminal_statistics& terminal() const { return terminal_.statistics(); }
    const packet_model::wired_statistics& to_base() const { return to_base_.statistics(); }
    // Everything but the interfaces' own counts (`delivered` is added by them).
    void fill_base(openwip::control::MacStatus& status) const;
    void fill_terminal(openwip::control::MacStatus& status) const;
    const openwip::control::SlotSample& sample() const { return sample_; }

private:
    void take_uplink(slot k);
    void note(const slot_plan& plan, const slot_report& report);

    cell_config config_;
    snr_source source_;
    base_station_mac base_;
    terminal_mac terminal_;
    bin_model::symbol_channel air_;
    emulated_uplink uplink_;
    packet_model::wired_link to_base_, from_base_;

    slot now_;
    std::deque<packet_model::wired_link::packet> to_terminal_;
    std::deque<uplink_packet> on_the_way_;  // left the uplink's line, by arrival
    packets_bytes uplink_in_, on_the_way_count_, staged_;
    slot_report report_;
    std::array<float, nof_bins> snr_{}, predicted_{};
    double mean_snr_ = 0;
    // Of the prediction: sums of |g - g^|^2 and g^2, and a ring of what was predicted.
    double error_power_ = 0, snr_power_ = 0;
    openwip::control::SlotSample sample_;
};

}  // namespace wip::emulator
