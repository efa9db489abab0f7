// SPDX-License-Identifier: GPL-3.0-or-later
// The terminal's end. Its clock is the receiver: one report for every 5120 samples, locked or not.
// For each report: the packets that came from the TUN during that slot enter the emulated uplink,
// the report goes through the MAC (which hands complete packets to the TUN), and one uplink message
// goes to the base station with the clock, the feedback and the packets whose last bit was sent.
#pragma once

#include <memory>

#include "link/terminal_mac.h"
#include "macd/macd_config.h"
#include "macd/receiver_control.h"
#include "macd/slot_clock.h"
#include "macd/station.h"
#include "packet/emulated_uplink.h"
#include "station/frame_log.h"
#include "station/ip_log.h"
#include "station/packet_gate.h"

namespace wip::host {

class terminal_station final : public station {
public:
    terminal_station(const macd_config& config, tun_device& tun, station_port& port);

    void on_request(const openwip::slot_link::SlotRequest& request) override;
    void on_report(const openwip::slot_link::SlotReport& report) override;
    void on_peer(std::span<const std::uint8_t> message) override;
    void peer_came() override;
    bool on_tun() override;
    bool tun_alive() const override { return tun_alive_; }
    slot next_slot() const override;
    party waits_for() const override;
    bool flowgraph_can_wait() const override { return false; }
    void fill(openwip::control::MacStatus& status) const override;
    void reset_counters() override;
    void flush_telemetry() override;
    void reconfigure(config::settings& next, const std::vector<std::string>& changed) override;
    void say_goodbye(const stop_reason& why) override;

private:
    void clear_message();
    void send_uplink(const slot_feedback& feedback);
    void follow_snr();
    void publish(const openwip::slot_link::SlotReport& report);
    void publish_slot();
    void publish_receiver(const openwip::slot_link::ReceiverDetail& detail);
    void ask_for_detail();
    void deliver(std::span<const std::uint8_t> packet);
    // Reads all packets that wait; false: the interface is gone.
    bool read_tun(slot now);

    station_port* port_;
    packet_gate gate_;
    ip_log ip_;
    frame_log frames_;
    link_profile profile_;
    terminal_mac mac_;
    emulated_uplink uplink_;

    bool tun_alive_ = true;
    slot_clock clock_;
    std::uint64_t stale_ = 0;
    bool locked_ = false;
    slot now_;                 // last slot reported
    std::uint64_t watch_ = 0;  // number of the base station's watch of packets; 0: none
    delivery_log reports_{4096};
    packets_bytes unsent_;  // uplink packets that the socket to the base station refused
    openwip::receiver::State state_;
    receiver_control receiver_;
    std::uint64_t overflows_at_reset_ = 0, clipped_at_reset_ = 0;
    int detail_every_ = 0;  // slots between details that were requested from the receiver
    double mean_snr_ = 0;   // linear mean over about a second of locked slots

    // Reused from slot to slot.
    slot_report report_in_;
    openwip::slot_link::ToFlowgraph request_;
    openwip::uplink::Uplink message_;
    std::unique_ptr<openwip::uplink::Feedback> feedback_;  // while it is not part of message_
};

}  // namespace wip::host
