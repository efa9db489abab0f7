// SPDX-License-Identifier: GPL-3.0-or-later
// The base station's end. The transmitter asks for slot k; the answer is held until the terminal's
// clock has passed slot k - 3 (a fader between the radios: as many slots earlier as it takes, else
// the radios' clock would wait for a plan that waits for that clock), so that packets and feedback
// are taken as late as the retransmission delay allows (the first three requests of a run are
// answered at once: nothing has been sent yet that the terminal's clock could follow). Just before
// planning, all waiting packets are read.
//
// With a lead the transmitter's clock does not wait: it asks when a slot has to be planned, and is
// answered at once. If several requests have piled up, only the last can still be met. Then the
// two stations' clocks need not agree either: the terminal numbers what it receives as the air
// says, which is this station's count modulo a hyperframe (82 s), and here that is undone.
//
// The terminal's clock comes with its uplink messages. A packet that arrives at the start of slot a
// is written to the TUN when that clock has passed slot a - 1.
//
// Between MAC and TUN is the wired network, which may be nothing. Its time is that clock, too, or,
// with a lead, this station's own, which goes on without a terminal.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "extension/link_rules.h"
#include "link/base_station_mac.h"
#include "macd/macd_config.h"
#include "macd/packet_watch.h"
#include "macd/slot_clock.h"
#include "macd/station.h"
#include "packet/wired_link.h"
#include "station/frame_log.h"
#include "station/ip_log.h"
#include "station/packet_gate.h"

namespace wip::host {

class base_station final : public station {
public:
    base_station(const macd_config& config, tun_device& tun, station_port& port);

    void load_rules() override;
    void on_request(const openwip::slot_link::SlotRequest& request) override;
    void on_report(const openwip::slot_link::SlotReport& report) override;
    void on_peer(std::span<const std::uint8_t> message) override;
    bool on_tun() override;
    bool tun_alive() const override { return tun_alive_; }
    slot next_slot() const override;
    party waits_for() const override;
    bool flowgraph_can_wait() const override;
    void caught_up() override;
    void peer_came() override;
    void fill(openwip::control::MacStatus& status) const override;
    void reset_counters() override;
    void flush_telemetry() override;
    void reconfigure(config::settings& next, const std::vector<std::string>& changed) override;
    void say_goodbye(const stop_reason& why) override;

private:
    struct arriving_packet {
        slot arrival;
        std::vector<std::uint8_t> data;
    };
    // True: the terminal's clock is known and far enough for this slot to be planned.
    bool clock_allows(slot air) const;
    void answer_requests();
    void plan_and_send(slot air);
    void send_plan(const slot_plan& plan);
    void publish_settled();
    void renumber(openwip::uplink::Uplink& message) const;
    void deliver_at_once(const openwip::uplink::Uplink& message);
    void take_packets(const openwip::uplink::Uplink& message);
    void deliver_arrived();
    // Reads all packets that wait; false: the interface is gone.
    bool read_tun();
    void move_wires();
    // Nanoseconds that the terminal's clock has passed: known to the slot, as everything here is.
    std::int64_t sample_time() const;
    void tell_loop();

    station_port* port_;
    packet_gate gate_;
    ip_log ip_;
    frame_log frames_;
    link_config link_;
    const slot_count lead_;
    const slot_count loop_;  // the plan of slot k waits for the terminal's report of slot k - loop_
    const bool free_running_;
    const extension::link_rules_config rules_config_;
    std::optional<extension::link_rules> rules_;  // declared before the MAC that uses it
    base_station_mac mac_;
    packet_watch packets_;

    // Open requests, ascending: a damaged one far ahead must not hold up the true ones.
    std::vector<slot> requests_;
    int answered_ = 0;  // only counted up to the three that need no clock
    bool planned_any_ = false;
    slot planned_;           // last slot planned
    slot_grant last_grant_;  // grant of that slot
    slot published_;         // topic `slot` is published, or was not due, up to this slot
    // Slot numbers of the transmitter's requests, when free-running: here() makes this station's
    // count of such a number, there() the transmitter's.
    slot_clock asked_;
    slot_clock clock_;  // the terminal has passed the end of this slot
    std::uint64_t stale_ = 0;
    bool tun_alive_ = true;
    int loop_to_tell_ =
        0;  // retransmission delay that is still to be sent to the terminal; 0: none

    packet_model::wired_link to_base_, from_base_;
    std::int64_t wired_now_ = 0,
                 uplink_now_ = 0;  // time of both, and of the last packet from the uplink

    std::deque<arriving_packet> arriving_;  // packets by their time of arrival
    packets_bytes uplink_in_;
    packets_bytes uplink_queued_;
    packets_bytes uplink_bad_arrival_;
    packets_bytes feedback_;
    struct missed_slots {  // slots that missed their time, by the reasons of receiver.proto
        std::uint64_t late = 0, underflows = 0, late_plans = 0, skipped = 0;
    };
    missed_slots missed_, missed_at_reset_;

    // Reused from slot to slot.
    openwip::uplink::Uplink uplink_message_;
    openwip::slot_link::ToFlowgraph plan_message_;
    slot_feedback feedback_in_;
    slot_plan plan_;
};

}  // namespace wip::host
