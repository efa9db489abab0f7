// SPDX-License-Identifier: GPL-3.0-or-later
// Ranges and defaults of settings that are a number, for the structs of the core that check
// themselves, and names of channels and predictors. Made from the table of settings by
// `python3 host/cli/settings_code.py mac/schema/settings.yaml --tree .`, and kept in the tree
// because the core is built without Python.
// clang-format off
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "types/require.h"

namespace wip {

// `least` applies to values other than 0, if the range begins with 0.
template <class Number>
struct setting_limits {
    std::string_view key;
    Number low, high, initial, least = 0;
};

// Refuses NaN, too. `key`: where the value is not that of the setting itself.
template <class Number>
void check_range(std::string_view key, double value, const setting_limits<Number>& limits) {
    const auto least = static_cast<double>(limits.least);
    if (least == 0)
        check_range(key, value, static_cast<double>(limits.low), static_cast<double>(limits.high));
    else if (value != 0 && !(value >= least && value <= static_cast<double>(limits.high)))
        refuse(key, text_of(value),
               "0, or " + text_of(least) + ".." + text_of(static_cast<double>(limits.high)));
}

template <class Number>
void check_range(double value, const setting_limits<Number>& limits) {
    check_range(limits.key, value, limits);
}

namespace setting {
inline constexpr setting_limits<int> link_bins{"link.bins", 1, 25, 10};
inline constexpr setting_limits<int> link_max_retransmissions{
    "link.max_retransmissions", 0, 30, 30};
inline constexpr setting_limits<double> link_retransmission_delay_ms{
    "link.retransmission_delay_ms", 2.0, 32.0, 2.0};
inline constexpr setting_limits<int> link_transmit_lead_slots{
    "link.transmit_lead_slots", 0, 45, 0, 2};
inline constexpr setting_limits<int> link_fader_slots{"link.fader_slots", 0, 30, 0};
inline constexpr setting_limits<int> link_queue_packets{"link.queue_packets", 1, 100000, 54};
inline constexpr setting_limits<double> link_queue_target_ms{
    "link.queue_target_ms", 0.0, 10000.0, 0.0, 0.1};
inline constexpr setting_limits<double> uplink_kbps{"uplink.kbps", 0.001, 1000000.0, 500.0};
inline constexpr setting_limits<int> uplink_delay_slots{"uplink.delay_slots", 0, 15000, 0};
inline constexpr setting_limits<double> uplink_loss{"uplink.loss", 0.0, 1.0, 0.0};
inline constexpr setting_limits<double> uplink_feedback_loss{"uplink.feedback_loss", 0.0, 1.0, 0.0};
inline constexpr setting_limits<int> uplink_queue_packets{"uplink.queue_packets", 1, 100000, 54};
inline constexpr setting_limits<double> uplink_queue_target_ms{
    "uplink.queue_target_ms", 0.0, 10000.0, 0.0, 0.1};
inline constexpr setting_limits<double> to_base_delay_ms{"to_base.delay_ms", 0.0, 60000.0, 10.0};
inline constexpr setting_limits<double> to_base_rate_kbps{
    "to_base.rate_kbps", 0.0, 10000000.0, 0.0, 1.0};
inline constexpr setting_limits<double> to_base_loss{"to_base.loss", 0.0, 1.0, 0.0};
inline constexpr setting_limits<int> to_base_queue_packets{"to_base.queue_packets", 1, 100000, 100};
inline constexpr setting_limits<double> to_base_queue_target_ms{
    "to_base.queue_target_ms", 0.0, 10000.0, 0.0, 0.1};
inline constexpr setting_limits<double> to_base_held_mb{"to_base.held_mb", 0.01, 100000.0, 64.0};
inline constexpr setting_limits<double> from_base_rate_kbps{
    "from_base.rate_kbps", 0.0, 10000000.0, 0.0, 1.0};
inline constexpr setting_limits<double> from_base_loss{"from_base.loss", 0.0, 1.0, 0.0};
inline constexpr setting_limits<int> tun_mtu{"tun.mtu", 68, 65535, 1500};
inline constexpr setting_limits<int> tun_txqueuelen{"tun.txqueuelen", 1, 100000, 1000};
inline constexpr setting_limits<int> telemetry_slot_every{"telemetry.slot_every", 0, 1500000, 15};
inline constexpr setting_limits<int> telemetry_receiver_every{
    "telemetry.receiver_every", 0, 1500000, 150};
inline constexpr setting_limits<int> telemetry_frames_every{
    "telemetry.frames_every", 0, 1500000, 1};
inline constexpr setting_limits<int> telemetry_packets_per_second{
    "telemetry.packets_per_second", 0, 100000, 5000};
inline constexpr setting_limits<int> telemetry_queue_messages{
    "telemetry.queue_messages", 1, 100000, 2000};
inline constexpr setting_limits<double> peer_timeout_s{"peer_timeout_s", 0.1, 3600.0, 2.0};
inline constexpr setting_limits<std::int64_t> seed{"seed", 0, 9007199254740991, 1};
inline constexpr setting_limits<int> scheduling_averaging_slots{
    "scheduling.averaging_slots", 1, 1000000, 1500};
inline constexpr setting_limits<double> channel_snr_db{"channel.snr_db", -60.0, 80.0, 16.0};
inline constexpr setting_limits<int> wlan_rts_threshold{"wlan.rts_threshold", 0, 2347, 2347};
inline constexpr setting_limits<int> wlan_retry_limit{"wlan.retry_limit", 0, 255, 0};
inline constexpr setting_limits<double> wlan_patience_ms{"wlan.patience_ms", 1.0, 60000.0, 150.0};
inline constexpr setting_limits<int> wlan_hops{"wlan.hops", 1, 4, 1};
inline constexpr setting_limits<int> wlan_queue_packets{"wlan.queue_packets", 1, 100000, 50};
inline constexpr setting_limits<int> wlan_errors_station{"wlan.errors_station", 0, 25, 0};
inline constexpr setting_limits<double> wlan_errors_from_s{
    "wlan.errors_from_s", 0.0, 1000000.0, 0.0};
inline constexpr setting_limits<double> wlan_errors_for_s{"wlan.errors_for_s", 0.0, 1000000.0, 0.0};
inline constexpr setting_limits<int> wlan_burst{"wlan.burst", 0, 100, 10};
inline constexpr setting_limits<double> wlan_good_ms{"wlan.good_ms", 0.001, 1000000.0, 900.0};
inline constexpr setting_limits<double> wlan_bad_ms{"wlan.bad_ms", 0.001, 1000000.0, 100.0};
inline constexpr setting_limits<double> delay_injection_static_ms{
    "delay_injection.static_ms", 0.0, 60000.0, 60.0};
inline constexpr setting_limits<double> delay_injection_factor{
    "delay_injection.factor", 0.1, 100.0, 1.5};
inline constexpr setting_limits<double> umts_down_kbps{"umts.down_kbps", 0.0, 20000.0, 0.0, 1.0};
inline constexpr setting_limits<double> umts_up_kbps{"umts.up_kbps", 0.0, 20000.0, 0.0, 1.0};
inline constexpr setting_limits<double> umts_one_way_ms{"umts.one_way_ms", 0.0, 60000.0, 0.0};
inline constexpr setting_limits<int> umts_pdu_octets{"umts.pdu_octets", 0, 2000, 0, 8};
inline constexpr setting_limits<double> umts_errors{"umts.errors", 0.0, 1.0, 0.0};
inline constexpr setting_limits<double> umts_up_errors{"umts.up_errors", 0.0, 1.0, 0.0};
inline constexpr setting_limits<double> umts_error_burst{"umts.error_burst", 1.0, 1000.0, 5.0};
inline constexpr setting_limits<double> umts_up_error_burst{
    "umts.up_error_burst", 0.0, 1000.0, 0.0, 1.0};
inline constexpr setting_limits<double> umts_error_p12{"umts.error_p12", 0.0, 1.0, 0.5};
inline constexpr setting_limits<double> umts_error_p22{"umts.error_p22", 0.0, 0.999, 0.5};
inline constexpr setting_limits<double> umts_again_ms{"umts.again_ms", 0.0, 60000.0, 60.0};
inline constexpr setting_limits<int> umts_max_dat{"umts.max_dat", 1, 1000, 10};
inline constexpr setting_limits<double> umts_discard_ms{"umts.discard_ms", 1.0, 600000.0, 2000.0};
inline constexpr setting_limits<double> umts_status_prohibit_ms{
    "umts.status_prohibit_ms", 0.0, 10000.0, 100.0};
inline constexpr setting_limits<double> umts_poll_timer_ms{
    "umts.poll_timer_ms", 0.0, 10000.0, 300.0};
inline constexpr setting_limits<int> umts_poll_pdus{"umts.poll_pdus", 0, 128, 0};
inline constexpr setting_limits<int> umts_poll_sdus{"umts.poll_sdus", 0, 64, 0};
inline constexpr setting_limits<int> umts_poll_window_percent{
    "umts.poll_window_percent", 0, 100, 50};
inline constexpr setting_limits<double> umts_poll_period_ms{
    "umts.poll_period_ms", 0.0, 60000.0, 0.0};
inline constexpr setting_limits<double> umts_poll_prohibit_ms{
    "umts.poll_prohibit_ms", 0.0, 10000.0, 0.0};
inline constexpr setting_limits<double> umts_status_period_ms{
    "umts.status_period_ms", 0.0, 60000.0, 0.0};
inline constexpr setting_limits<int> umts_receiver_window{"umts.receiver_window", 0, 2048, 0};
inline constexpr setting_limits<int> umts_window{"umts.window", 1, 2048, 2047};
inline constexpr setting_limits<double> umts_rrc_set_up_ms{
    "umts.rrc_set_up_ms", 1.0, 60000.0, 1000.0};
inline constexpr setting_limits<double> umts_rrc_page_ms{"umts.rrc_page_ms", 1.0, 60000.0, 200.0};
inline constexpr setting_limits<double> umts_rrc_switch_ms{
    "umts.rrc_switch_ms", 1.0, 60000.0, 500.0};
inline constexpr setting_limits<int> umts_rrc_threshold_bytes{
    "umts.rrc_threshold_bytes", 0, 1000000, 512};
inline constexpr setting_limits<double> umts_rrc_fach_kbps{
    "umts.rrc_fach_kbps", 1.0, 20000.0, 16.0};
inline constexpr setting_limits<double> umts_rrc_dch_s{"umts.rrc_dch_s", 0.01, 3600.0, 5.0};
inline constexpr setting_limits<double> umts_rrc_fach_s{"umts.rrc_fach_s", 0.01, 3600.0, 10.0};
inline constexpr setting_limits<double> umts_rrc_pch_s{"umts.rrc_pch_s", 0.01, 3600.0, 600.0};
inline constexpr setting_limits<double> umts_cell_kbps{"umts.cell_kbps", 0.0, 1000000.0, 0.0};
inline constexpr setting_limits<double> umts_spike_ms{"umts.spike_ms", 0.0, 600000.0, 0.0};
inline constexpr setting_limits<double> umts_outage_ms{"umts.outage_ms", 0.0, 600000.0, 0.0};
inline constexpr setting_limits<int> cells_count{"cells.count", 1, 37, 7};
inline constexpr setting_limits<double> cells_side_m{"cells.side_m", 1.0, 100000.0, 200.0};
inline constexpr setting_limits<int> cells_users{"cells.users", 0, 1000, 0};
inline constexpr setting_limits<int> cells_carriers{"cells.carriers", 1, 16, 1};
inline constexpr setting_limits<int> cells_spreading{"cells.spreading", 1, 512, 32};
inline constexpr setting_limits<double> cells_orthogonality{"cells.orthogonality", 0.0, 1.0, 1.0};
inline constexpr setting_limits<double> cells_path_exponent{"cells.path_exponent", 1.0, 8.0, 3.5};
inline constexpr setting_limits<double> cells_path_gain_db{
    "cells.path_gain_db", -200.0, 0.0, -30.0};
inline constexpr setting_limits<double> cells_shadowing_db{"cells.shadowing_db", 0.0, 20.0, 4.0};
inline constexpr setting_limits<double> cells_shadowing_m{"cells.shadowing_m", 0.1, 100000.0, 20.0};
inline constexpr setting_limits<double> cells_doppler_hz{"cells.doppler_hz", 0.0, 500.0, 6.0};
inline constexpr setting_limits<int> cells_rays{"cells.rays", 1, 16, 5};
inline constexpr setting_limits<int> cells_oscillators{"cells.oscillators", 4, 64, 8};
inline constexpr setting_limits<double> cells_noise_dbw{"cells.noise_dbw", -200.0, 0.0, -132.0};
inline constexpr setting_limits<double> cells_power_dbw{"cells.power_dbw", -100.0, 40.0, -16.0};
inline constexpr setting_limits<double> cells_power_range_db{
    "cells.power_range_db", 0.0, 200.0, 80.0};
inline constexpr setting_limits<double> cells_step_db{"cells.step_db", 0.01, 10.0, 0.5};
inline constexpr setting_limits<int> cells_loop_slots{"cells.loop_slots", 1, 100, 1};
inline constexpr setting_limits<double> cells_target_low_db{
    "cells.target_low_db", -20.0, 40.0, 2.5};
inline constexpr setting_limits<double> cells_target_high_db{
    "cells.target_high_db", -20.0, 40.0, 3.0};
inline constexpr setting_limits<double> cells_eesm_beta{"cells.eesm_beta", 0.0, 1000.0, 0.0, 0.01};
inline constexpr setting_limits<double> cells_margin_db{"cells.margin_db", -10.0, 20.0, 1.18};
inline constexpr setting_limits<double> cells_curve_db{"cells.curve_db", 0.0, 10.0, 0.5};
inline constexpr setting_limits<double> cells_speed_kmh{"cells.speed_kmh", 0.0, 500.0, 0.0};
inline constexpr setting_limits<double> cells_handover_db{"cells.handover_db", 0.0, 30.0, 3.0};
inline constexpr setting_limits<double> hetnet_delay_s{"hetnet.delay_s", 0.0, 600.0, 0.0};
inline constexpr setting_limits<double> hetnet_network_timer_s{
    "hetnet.network_timer_s", 0.0, 3600.0, 0.0, 0.1};
inline constexpr setting_limits<double> hetnet_state_timer_ms{
    "hetnet.state_timer_ms", 0.0, 600000.0, 0.0, 1.0};
inline constexpr setting_limits<double> hetnet_held_mb{"hetnet.held_mb", 0.01, 100000.0, 64.0};
inline constexpr setting_limits<double> trace_delay_ms{"trace.delay_ms", 0.0, 60000.0, 0.0};
inline constexpr setting_limits<int> terminals{"terminals", 1, 250, 1};
inline constexpr setting_limits<double> pacing_limit_ms{"pacing_limit_ms", 0.001, 10000.0, 2.0};
inline constexpr setting_limits<int> channel_user{"channel.user", 0, 63, 0};
inline constexpr setting_limits<double> air_speed{"air.speed", 0.0, 100.0, 1.0};
inline constexpr setting_limits<int> air_wait_for_transmitters{
    "air.wait_for.transmitters", 0, 64, 0};
inline constexpr setting_limits<int> air_wait_for_receivers{"air.wait_for.receivers", 0, 64, 0};
inline constexpr setting_limits<std::int64_t> air_seed{"air.seed", 0, 9007199254740991, 1};
inline constexpr setting_limits<double> air_pacing_limit_ms{
    "air.pacing_limit_ms", 0.001, 10000.0, 10.0};
inline constexpr setting_limits<int> air_quantum{"air.quantum", 64, 65536, 5120};
inline constexpr setting_limits<double> air_hearing_hz{"air.hearing_hz", 0.0, 3840000.0, 20000.0};
inline constexpr setting_limits<int> air_priority{"air.priority", 0, 99, 9};
inline constexpr setting_limits<int> fader_delay_samples{"fader.delay_samples", 256, 131072, 10240};
inline constexpr setting_limits<int> fader_piece_samples{"fader.piece_samples", 64, 5120, 1280};
inline constexpr setting_limits<double> fader_frequency_hz{
    "fader.frequency_hz", 1000000.0, 10000000000.0, 1800000000.0};
inline constexpr setting_limits<double> fader_start_delay_s{"fader.start_delay_s", 0.01, 60.0, 0.1};
inline constexpr setting_limits<double> fader_record_s{"fader.record_s", 0.001, 3600.0, 2.0};
inline constexpr setting_limits<double> line_rate_kbps{
    "line.rate_kbps", 0.0, 10000000.0, 384.0, 1.0};
inline constexpr setting_limits<double> line_delay_ms{"line.delay_ms", 0.0, 60000.0, 70.0};
inline constexpr setting_limits<int> line_queue_packets{"line.queue_packets", 1, 100000, 50};
inline constexpr setting_limits<double> line_held_mb{"line.held_mb", 0.01, 100000.0, 64.0};
inline constexpr setting_limits<int> mtu{"mtu", 68, 65535, 1500};
inline constexpr setting_limits<double> errors_ber{"errors.ber", 0.0, 0.5, 0.0};
inline constexpr setting_limits<double> errors_burstiness{"errors.burstiness", 0.0, 1.0, 0.0};
inline constexpr setting_limits<int> relay_port_errors{"relay.port_errors", 0, 4, 0};
inline constexpr setting_limits<int> tcp_every_ms{"tcp.every_ms", 1, 60000, 20};
inline constexpr setting_limits<int> tcp_search_ms{"tcp.search_ms", 1, 60000, 100};
inline constexpr setting_limits<int> tcp_flows{"tcp.flows", 1, 1024, 64};
inline constexpr setting_limits<int> cpu_every_ms{"cpu.every_ms", 50, 60000, 1000};
inline constexpr setting_limits<int> cpu_processes{"cpu.processes", 1, 1024, 64};
inline constexpr setting_limits<int> air_every_ms{"air.every_ms", 20, 60000, 200};
inline constexpr setting_limits<int> split_tcp_connections{"split_tcp.connections", 1, 10000, 256};
inline constexpr setting_limits<int> split_tcp_buffer_kb{"split_tcp.buffer_kb", 4, 65536, 64};
inline constexpr setting_limits<int> split_tcp_keepalive_s{"split_tcp.keepalive_s", 1, 30000, 120};
inline constexpr setting_limits<int> split_tcp_listen{"split_tcp.listen", 1, 65535, 1};

inline constexpr std::array<std::string_view, 20> channel_model_choices{
    "awgn", "flat", "static", "jakes", "epa", "eva", "etu", "tdl-a", "tdl-b", "tdl-c", "tdl-d",
    "tdl-e", "winner", "hst", "hst-tunnel", "two-user", "n-user", "blackout", "shadowing",
    "attenuator"};
inline constexpr std::array<std::string_view, 5> phy_predictor_choices{
    "last", "ar", "ls", "kalman", "delay"};
}  // namespace setting

}  // namespace wip
