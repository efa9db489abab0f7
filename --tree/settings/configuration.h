// SPDX-License-Identifier: GPL-3.0-or-later
// Made of mac/schema/settings.yaml by the build (host/cli/openwip_cli/settings/code.py).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/typed.h"

namespace wip::config {

// The keys, for messages about them. That of an entry stands behind the entry's place.
namespace name {
inline constexpr const char* role = "role";
inline constexpr const char* name = "name";
inline constexpr const char* link_profile = "link.profile";
inline constexpr const char* link_bins = "link.bins";
inline constexpr const char* link_allocation = "link.allocation";
inline constexpr const char* link_modulation = "link.modulation";
inline constexpr const char* link_switch_table = "link.switch_table";
inline constexpr const char* link_max_retransmissions = "link.max_retransmissions";
inline constexpr const char* link_retransmission_delay_ms = "link.retransmission_delay_ms";
inline constexpr const char* link_transmit_lead_slots = "link.transmit_lead_slots";
inline constexpr const char* link_fader_slots = "link.fader_slots";
inline constexpr const char* link_combining = "link.combining";
inline constexpr const char* link_scheduler = "link.scheduler";
inline constexpr const char* link_adaptation = "link.adaptation";
inline constexpr const char* link_packing = "link.packing";
inline constexpr const char* link_order = "link.order";
inline constexpr const char* link_deliver_corrupt = "link.deliver_corrupt";
inline constexpr const char* link_tcp_l = "link.tcp_l";
inline constexpr const char* link_queue_packets = "link.queue_packets";
inline constexpr const char* phy_predictor = "phy.predictor";
inline constexpr const char* uplink_kbps = "uplink.kbps";
inline constexpr const char* uplink_delay_slots = "uplink.delay_slots";
inline constexpr const char* uplink_loss = "uplink.loss";
inline constexpr const char* uplink_feedback_loss = "uplink.feedback_loss";
inline constexpr const char* uplink_queue_packets = "uplink.queue_packets";
inline constexpr const char* to_base_delay_ms = "to_base.delay_ms";
inline constexpr const char* to_base_rate_kbps = "to_base.rate_kbps";
inline constexpr const char* to_base_loss = "to_base.loss";
inline constexpr const char* to_base_queue_packets = "to_base.queue_packets";
inline constexpr const char* to_base_held_mb = "to_base.held_mb";
inline constexpr const char* from_base_delay_ms = "from_base.delay_ms";
inline constexpr const char* from_base_rate_kbps = "from_base.rate_kbps";
inline constexpr const char* from_base_loss = "from_base.loss";
inline constexpr const char* tun_name = "tun.name";
inline constexpr const char* tun_namespace = "tun.namespace";
inline constexpr const char* tun_address = "tun.address";
inline constexpr const char* tun_mtu = "tun.mtu";
inline constexpr const char* tun_txqueuelen = "tun.txqueuelen";
inline constexpr const char* endpoints_slot_link = "endpoints.slot_link";
inline constexpr const char* endpoints_uplink = "endpoints.uplink";
inline constexpr const char* endpoints_uplink_keys = "endpoints.uplink_keys";
inline constexpr const char* endpoints_control = "endpoints.control";
inline constexpr const char* endpoints_telemetry = "endpoints.telemetry";
inline constexpr const char* telemetry_slot_every = "telemetry.slot_every";
inline constexpr const char* telemetry_receiver_every = "telemetry.receiver_every";
inline constexpr const char* telemetry_frames_every = "telemetry.frames_every";
inline constexpr const char* telemetry_packets_per_second = "telemetry.packets_per_second";
inline constexpr const char* telemetry_queue_messages = "telemetry.queue_messages";
inline constexpr const char* replay = "replay";
inline constexpr const char* user = "user";
inline constexpr const char* peer_timeout_s = "peer_timeout_s";
inline constexpr const char* peer_may_leave = "peer_may_leave";
inline constexpr const char* seed = "seed";
inline constexpr const char* link_kind = "link.kind";
inline constexpr const char* scheduling_method = "scheduling.method";
inline constexpr const char* scheduling_averaging_slots = "scheduling.averaging_slots";
inline constexpr const char* channel_model = "channel.model";
inline constexpr const char* channel_snr_db = "channel.snr_db";
inline constexpr const char* channel_bins_db = "channel.bins_db";
inline constexpr const char* channel_users_db = "channel.users_db";
inline constexpr const char* channel_speed_kmh = "channel.speed_kmh";
inline constexpr const char* channel_blackout = "channel.blackout";
inline constexpr const char* channel_shadowing = "channel.shadowing";
inline constexpr const char* channel_prediction_nmse = "channel.prediction_nmse";
inline constexpr const char* channel_errors = "channel.errors";
inline constexpr const char* channel_eight_points = "channel.eight_points";
inline constexpr const char* wlan_rate_mbps = "wlan.rate_mbps";
inline constexpr const char* wlan_control_rate_mbps = "wlan.control_rate_mbps";
inline constexpr const char* wlan_short_preamble = "wlan.short_preamble";
inline constexpr const char* wlan_rts_threshold = "wlan.rts_threshold";
inline constexpr const char* wlan_retry_limit = "wlan.retry_limit";
inline constexpr const char* wlan_retry_policy = "wlan.retry_policy";
inline constexpr const char* wlan_patience_ms = "wlan.patience_ms";
inline constexpr const char* wlan_window_growth = "wlan.window_growth";
inline constexpr const char* wlan_put_back = "wlan.put_back";
inline constexpr const char* wlan_hops = "wlan.hops";
inline constexpr const char* wlan_queue_packets = "wlan.queue_packets";
inline constexpr const char* wlan_errors = "wlan.errors";
inline constexpr const char* wlan_errors_of = "wlan.errors_of";
inline constexpr const char* wlan_errors_station = "wlan.errors_station";
inline constexpr const char* wlan_errors_from_s = "wlan.errors_from_s";
inline constexpr const char* wlan_errors_for_s = "wlan.errors_for_s";
inline constexpr const char* wlan_burst = "wlan.burst";
inline constexpr const char* wlan_good_ms = "wlan.good_ms";
inline constexpr const char* wlan_bad_ms = "wlan.bad_ms";
inline constexpr const char* delay_injection_mode = "delay_injection.mode";
inline constexpr const char* delay_injection_flows = "delay_injection.flows";
inline constexpr const char* delay_injection_static_ms = "delay_injection.static_ms";
inline constexpr const char* delay_injection_factor = "delay_injection.factor";
inline constexpr const char* delay_injection_reading = "delay_injection.reading";
inline constexpr const char* umts_profile = "umts.profile";
inline constexpr const char* umts_mode = "umts.mode";
inline constexpr const char* umts_down_kbps = "umts.down_kbps";
inline constexpr const char* umts_up_kbps = "umts.up_kbps";
inline constexpr const char* umts_one_way_ms = "umts.one_way_ms";
inline constexpr const char* umts_radio_ms = "umts.radio_ms";
inline constexpr const char* umts_pdu_octets = "umts.pdu_octets";
inline constexpr const char* umts_error_unit = "umts.error_unit";
inline constexpr const char* umts_errors = "umts.errors";
inline constexpr const char* umts_up_errors = "umts.up_errors";
inline constexpr const char* umts_error_model = "umts.error_model";
inline constexpr const char* umts_error_burst = "umts.error_burst";
inline constexpr const char* umts_up_error_model = "umts.up_error_model";
inline constexpr const char* umts_up_error_burst = "umts.up_error_burst";
inline constexpr const char* umts_error_trace = "umts.error_trace";
inline constexpr const char* umts_up_error_trace = "umts.up_error_trace";
inline constexpr const char* umts_discard = "umts.discard";
inline constexpr const char* umts_max_dat = "umts.max_dat";
inline constexpr const char* umts_discard_ms = "umts.discard_ms";
inline constexpr const char* umts_status_prohibit_ms = "umts.status_prohibit_ms";
inline constexpr const char* umts_poll_timer_ms = "umts.poll_timer_ms";
inline constexpr const char* umts_poll_last = "umts.poll_last";
inline constexpr const char* umts_poll_retransmitted = "umts.poll_retransmitted";
inline constexpr const char* umts_poll_pdus = "umts.poll_pdus";
inline constexpr const char* umts_poll_sdus = "umts.poll_sdus";
inline constexpr const char* umts_poll_window_percent = "umts.poll_window_percent";
inline constexpr const char* umts_poll_period_ms = "umts.poll_period_ms";
inline constexpr const char* umts_poll_prohibit_ms = "umts.poll_prohibit_ms";
inline constexpr const char* umts_poll_counted = "umts.poll_counted";
inline constexpr const char* umts_status_missing = "umts.status_missing";
inline constexpr const char* umts_status_period_ms = "umts.status_period_ms";
inline constexpr const char* umts_status_format = "umts.status_format";
inline constexpr const char* umts_receiver_window = "umts.receiver_window";
inline constexpr const char* umts_window = "umts.window";
inline constexpr const char* umts_order = "umts.order";
inline constexpr const char* umts_rrc = "umts.rrc";
inline constexpr const char* umts_rrc_set_up_ms = "umts.rrc_set_up_ms";
inline constexpr const char* umts_rrc_page_ms = "umts.rrc_page_ms";
inline constexpr const char* umts_rrc_switch_ms = "umts.rrc_switch_ms";
inline constexpr const char* umts_rrc_threshold_bytes = "umts.rrc_threshold_bytes";
inline constexpr const char* umts_rrc_fach_kbps = "umts.rrc_fach_kbps";
inline constexpr const char* umts_rrc_dch_s = "umts.rrc_dch_s";
inline constexpr const char* umts_rrc_fach_s = "umts.rrc_fach_s";
inline constexpr const char* umts_rrc_pch_s = "umts.rrc_pch_s";
inline constexpr const char* umts_cell_kbps = "umts.cell_kbps";
inline constexpr const char* umts_sharing = "umts.sharing";
inline constexpr const char* umts_users_db = "umts.users_db";
inline constexpr const char* umts_classes = "umts.classes";
inline constexpr const char* umts_spikes = "umts.spikes";
inline constexpr const char* umts_outages = "umts.outages";
inline constexpr const char* umts_spike_ms = "umts.spike_ms";
inline constexpr const char* umts_outage_ms = "umts.outage_ms";
inline constexpr const char* split_tcp_controller = "split_tcp.controller";
inline constexpr const char* server_namespace = "server.namespace";
inline constexpr const char* server_tun = "server.tun";
inline constexpr const char* server_address = "server.address";
inline constexpr const char* server_control = "server.control";
inline constexpr const char* server_telemetry = "server.telemetry";
inline constexpr const char* terminal_namespace = "terminal.namespace";
inline constexpr const char* terminal_tun = "terminal.tun";
inline constexpr const char* terminal_address = "terminal.address";
inline constexpr const char* terminal_control = "terminal.control";
inline constexpr const char* terminal_telemetry = "terminal.telemetry";
inline constexpr const char* terminals = "terminals";
inline constexpr const char* control = "control";
inline constexpr const char* pacing_limit_ms = "pacing_limit_ms";
inline constexpr const char* channel_user = "channel.user";
inline constexpr const char* air_name = "air.name";
inline constexpr const char* air_clock = "air.clock";
inline constexpr const char* air_speed = "air.speed";
inline constexpr const char* air_wait_for_transmitters = "air.wait_for.transmitters";
inline constexpr const char* air_wait_for_receivers = "air.wait_for.receivers";
inline constexpr const char* air_seed = "air.seed";
inline constexpr const char* air_control = "air.control";
inline constexpr const char* air_fader = "air.fader";
inline constexpr const char* air_pacing_limit_ms = "air.pacing_limit_ms";
inline constexpr const char* air_quantum = "air.quantum";
inline constexpr const char* air_hearing_hz = "air.hearing_hz";
inline constexpr const char* air_priority = "air.priority";
inline constexpr const char* air_stations_may_die = "air.stations_may_die";
inline constexpr const char* air_user = "air.user";
inline constexpr const char* nodes_noise_dbfs = ".noise_dbfs";
inline constexpr const char* nodes_transmit_dbfs = ".transmit_dbfs";
inline constexpr const char* nodes_impairments = ".impairments";
inline constexpr const char* paths_from = ".from";
inline constexpr const char* paths_to = ".to";
inline constexpr const char* paths_gain_db = ".gain_db";
inline constexpr const char* paths_delay_samples = ".delay_samples";
inline constexpr const char* paths_channel = ".channel";
inline constexpr const char* paths_trace_snr_db = ".trace_snr_db";
inline constexpr const char* paths_delay_spread_ns = ".delay_spread_ns";
inline constexpr const char* paths_doppler_hz = ".doppler_hz";
inline constexpr const char* paths_speed_kmh = ".speed_kmh";
inline constexpr const char* paths_carrier_hz = ".carrier_hz";
inline constexpr const char* paths_shadowing = ".shadowing";
inline constexpr const char* paths_user = ".user";
inline constexpr const char* paths_frequency_shift_hz = ".frequency_shift_hz";
inline constexpr const char* paths_impairments = ".impairments";
inline constexpr const char* fader_delay_samples = "fader.delay_samples";
inline constexpr const char* fader_piece_samples = "fader.piece_samples";
inline constexpr const char* fader_frequency_hz = "fader.frequency_hz";
inline constexpr const char* fader_start_delay_s = "fader.start_delay_s";
inline constexpr const char* fader_record = "fader.record";
inline constexpr const char* fader_record_s = "fader.record_s";
inline constexpr const char* nodes_radio = ".radio";
inline constexpr const char* nodes_channel = ".channel";
inline constexpr const char* nodes_receive_gain_db = ".receive_gain_db";
inline constexpr const char* nodes_transmit_gain_db = ".transmit_gain_db";
inline constexpr const char* nodes_clock_source = ".clock_source";
inline constexpr const char* nodes_time_source = ".time_source";
inline constexpr const char* line_rate_kbps = "line.rate_kbps";
inline constexpr const char* line_delay_ms = "line.delay_ms";
inline constexpr const char* line_queue_packets = "line.queue_packets";
inline constexpr const char* line_held_mb = "line.held_mb";
inline constexpr const char* mtu = "mtu";
inline constexpr const char* errors_ber = "errors.ber";
inline constexpr const char* errors_burstiness = "errors.burstiness";
inline constexpr const char* errors_spare_ip_header = "errors.spare_ip_header";
inline constexpr const char* relay_on = "relay.on";
inline constexpr const char* relay_port_errors = "relay.port_errors";
inline constexpr const char* relay_ports = "relay.ports";
inline constexpr const char* sender_namespace = "sender.namespace";
inline constexpr const char* sender_tun = "sender.tun";
inline constexpr const char* sender_address = "sender.address";
inline constexpr const char* receiver_namespace = "receiver.namespace";
inline constexpr const char* receiver_tun = "receiver.tun";
inline constexpr const char* receiver_address = "receiver.address";
inline constexpr const char* stations = "stations";
inline constexpr const char* telemetry = "telemetry";
inline constexpr const char* slots = "slots";
inline constexpr const char* medium = "medium";
inline constexpr const char* tcp_every_ms = "tcp.every_ms";
inline constexpr const char* tcp_search_ms = "tcp.search_ms";
inline constexpr const char* tcp_flows = "tcp.flows";
inline constexpr const char* cpu_every_ms = "cpu.every_ms";
inline constexpr const char* cpu_processes = "cpu.processes";
inline constexpr const char* air_every_ms = "air.every_ms";
inline constexpr const char* split_tcp_ports = "split_tcp.ports";
inline constexpr const char* split_tcp_connections = "split_tcp.connections";
inline constexpr const char* split_tcp_buffer_kb = "split_tcp.buffer_kb";
inline constexpr const char* split_tcp_keepalive_s = "split_tcp.keepalive_s";
inline constexpr const char* split_tcp_listen = "split_tcp.listen";
}  // namespace name

enum class link_profile_choice : std::uint8_t { radio, wipemu };
template <>
inline constexpr std::array<std::string_view, 2> words_of<link_profile_choice>{"radio", "wipemu"};
enum class link_allocation_choice : std::uint8_t { static_, best };
template <>
inline constexpr std::array<std::string_view, 2> words_of<link_allocation_choice>{"static", "best"};
enum class link_switch_table_choice : std::uint8_t { nmse_0, nmse_0_1, measured };
template <>
inline constexpr std::array<std::string_view, 3> words_of<link_switch_table_choice>{"nmse_0", "nmse_0_1", "measured"};
enum class link_order_choice : std::uint8_t { in_order, as_completed };
template <>
inline constexpr std::array<std::string_view, 2> words_of<link_order_choice>{"in_order", "as_completed"};
enum class link_kind_choice : std::uint8_t { ofdm, umts, wlan, wire };
template <>
inline constexpr std::array<std::string_view, 4> words_of<link_kind_choice>{"ofdm", "umts", "wlan", "wire"};
enum class scheduling_method_choice : std::uint8_t { as_allocation, static_, best, round_robin, max_rate, proportional_fair };
template <>
inline constexpr std::array<std::string_view, 6> words_of<scheduling_method_choice>{"as_allocation", "static", "best", "round_robin", "max_rate", "proportional_fair"};
enum class channel_blackout_word : std::uint8_t { on, off };
template <>
inline constexpr std::array<std::string_view, 2> words_of<channel_blackout_word>{"on", "off"};
enum class emulator_channel_shadowing_word : std::uint8_t { as_defined, on, off };
template <>
inline constexpr std::array<std::string_view, 3> words_of<emulator_channel_shadowing_word>{"as_defined", "on", "off"};
enum class channel_errors_choice : std::uint8_t { symbols, computed, none };
template <>
inline constexpr std::array<std::string_view, 3> words_of<channel_errors_choice>{"symbols", "computed", "none"};
enum class channel_eight_points_choice : std::uint8_t { star, cross, rectangle };
template <>
inline constexpr std::array<std::string_view, 3> words_of<channel_eight_points_choice>{"star", "cross", "rectangle"};
enum class wlan_retry_policy_choice : std::uint8_t { fixed, dynamic };
template <>
inline constexpr std::array<std::string_view, 2> words_of<wlan_retry_policy_choice>{"fixed", "dynamic"};
enum class wlan_window_growth_choice : std::uint8_t { standard, late };
template <>
inline constexpr std::array<std::string_view, 2> words_of<wlan_window_growth_choice>{"standard", "late"};
enum class wlan_errors_choice : std::uint8_t { none, burst, gilbert_elliott, fading };
template <>
inline constexpr std::array<std::string_view, 4> words_of<wlan_errors_choice>{"none", "burst", "gilbert_elliott", "fading"};
enum class wlan_errors_of_choice : std::uint8_t { all, up, down };
template <>
inline constexpr std::array<std::string_view, 3> words_of<wlan_errors_of_choice>{"all", "up", "down"};
enum class delay_injection_mode_choice : std::uint8_t { off, static_, adaptive };
template <>
inline constexpr std::array<std::string_view, 3> words_of<delay_injection_mode_choice>{"off", "static", "adaptive"};
enum class delay_injection_flows_choice : std::uint8_t { uplink, downlink, both };
template <>
inline constexpr std::array<std::string_view, 3> words_of<delay_injection_flows_choice>{"uplink", "downlink", "both"};
enum class delay_injection_reading_choice : std::uint8_t { rules, listing, figure };
template <>
inline constexpr std::array<std::string_view, 3> words_of<delay_injection_reading_choice>{"rules", "listing", "figure"};
enum class umts_profile_choice : std::uint8_t { umts_384, umts_128, umts_64, umts_32, lundsten_384, lundsten_128, lundsten_64, gprs, wlan, reference };
template <>
inline constexpr std::array<std::string_view, 10> words_of<umts_profile_choice>{"umts-384", "umts-128", "umts-64", "umts-32", "lundsten-384", "lundsten-128", "lundsten-64", "gprs", "wlan", "reference"};
enum class umts_mode_choice : std::uint8_t { am, um, tm };
template <>
inline constexpr std::array<std::string_view, 3> words_of<umts_mode_choice>{"am", "um", "tm"};
enum class umts_error_unit_choice : std::uint8_t { block, pdu };
template <>
inline constexpr std::array<std::string_view, 2> words_of<umts_error_unit_choice>{"block", "pdu"};
enum class umts_error_model_choice : std::uint8_t { uniform, markov2, markov3, burst };
template <>
inline constexpr std::array<std::string_view, 4> words_of<umts_error_model_choice>{"uniform", "markov2", "markov3", "burst"};
enum class umts_up_error_model_choice : std::uint8_t { as_down, uniform, markov2, markov3, burst };
template <>
inline constexpr std::array<std::string_view, 5> words_of<umts_up_error_model_choice>{"as_down", "uniform", "markov2", "markov3", "burst"};
enum class umts_discard_choice : std::uint8_t { never, max_dat, reset, timer };
template <>
inline constexpr std::array<std::string_view, 4> words_of<umts_discard_choice>{"never", "max_dat", "reset", "timer"};
enum class umts_status_format_choice : std::uint8_t { list, bitmap, rlist };
template <>
inline constexpr std::array<std::string_view, 3> words_of<umts_status_format_choice>{"list", "bitmap", "rlist"};
enum class umts_order_choice : std::uint8_t { in_order, as_completed };
template <>
inline constexpr std::array<std::string_view, 2> words_of<umts_order_choice>{"in_order", "as_completed"};
enum class umts_rrc_choice : std::uint8_t { dch, states };
template <>
inline constexpr std::array<std::string_view, 2> words_of<umts_rrc_choice>{"dch", "states"};
enum class umts_sharing_choice : std::uint8_t { equal_throughput, equal_resource, max_ci };
template <>
inline constexpr std::array<std::string_view, 3> words_of<umts_sharing_choice>{"equal_throughput", "equal_resource", "max_ci"};
enum class air_clock_choice : std::uint8_t { lockstep, realtime };
template <>
inline constexpr std::array<std::string_view, 2> words_of<air_clock_choice>{"lockstep", "realtime"};
enum class nodes_clock_source_choice : std::uint8_t { internal, external, gpsdo };
template <>
inline constexpr std::array<std::string_view, 3> words_of<nodes_clock_source_choice>{"internal", "external", "gpsdo"};
enum class paths_shadowing_word : std::uint8_t { on, off };
template <>
inline constexpr std::array<std::string_view, 2> words_of<paths_shadowing_word>{"on", "off"};
enum class channel_model_choice : std::uint8_t { awgn, flat, static_, jakes, epa, eva, etu, tdl_a, tdl_b, tdl_c, tdl_d, tdl_e, winner, hst, hst_tunnel, two_user, n_user, blackout, shadowing, attenuator };
template <>
inline constexpr std::array<std::string_view, 20> words_of<channel_model_choice>{"awgn", "flat", "static", "jakes", "epa", "eva", "etu", "tdl-a", "tdl-b", "tdl-c", "tdl-d", "tdl-e", "winner", "hst", "hst-tunnel", "two-user", "n-user", "blackout", "shadowing", "attenuator"};
enum class channel_shadowing_word : std::uint8_t { on, off };
template <>
inline constexpr std::array<std::string_view, 2> words_of<channel_shadowing_word>{"on", "off"};
enum class role_choice : std::uint8_t { base, terminal };
template <>
inline constexpr std::array<std::string_view, 2> words_of<role_choice>{"base", "terminal"};

struct link_settings {
    link_profile_choice profile{link_profile_choice::radio};
    int bins{10};
    link_allocation_choice allocation{link_allocation_choice::best};
    std::optional<int> modulation{};
    link_switch_table_choice switch_table{link_switch_table_choice::nmse_0_1};
    int max_retransmissions{30};
    double retransmission_delay_ms{2};
    bool combining{true};
    std::string scheduler{"built_in"};
    std::string adaptation{"built_in"};
    bool packing{true};
    link_order_choice order{link_order_choice::in_order};
    bool deliver_corrupt{};
    bool tcp_l{};
    int queue_packets{54};
};

struct macd_link_settings : link_settings {
    int transmit_lead_slots{0};
    int fader_slots{0};
};

struct emulator_link_settings : link_settings {
    link_kind_choice kind{link_kind_choice::ofdm};
};

struct phy_settings {
    std::string predictor{"delay"};
};

struct uplink_settings {
    double kbps{500};
    int delay_slots{0};
    double loss{0};
    double feedback_loss{0};
    int queue_packets{54};
};

struct to_base_settings {
    double delay_ms{10};
    double rate_kbps{0};
    double loss{0};
    int queue_packets{100};
    double held_mb{64};
};

struct from_base_settings {
    std::optional<double> delay_ms{};
    double rate_kbps{0};
    double loss{0};
};

struct tun_settings {
    std::string name{"wip0"};
    std::string namespace_{};
    std::string address{"10.42.0.1/30"};
    int mtu{1500};
    int txqueuelen{1000};
};

struct endpoints_settings {
    std::string slot_link{"shm://RUN/base.slot"};
    std::string uplink{"shm://RUN/uplink"};
    std::string uplink_keys{};
    std::string control{"ipc://RUN/base.control"};
    std::string telemetry{"ipc://RUN/base.telemetry"};
};

struct telemetry_settings {
    int slot_every{15};
    int receiver_every{150};
    int frames_every{1};
    int packets_per_second{5000};
    int queue_messages{2000};
};

struct scheduling_settings {
    scheduling_method_choice method{scheduling_method_choice::as_allocation};
    int averaging_slots{1500};
};

struct channel_settings {
    std::string model{"static"};
    double snr_db{16};
    std::vector<double> bins_db{};
    std::vector<double> users_db{};
    std::optional<double> speed_kmh{};
    number_or_word<channel_blackout_word> blackout{{}, channel_blackout_word::off};
    number_or_word<emulator_channel_shadowing_word> shadowing{{}, emulator_channel_shadowing_word::as_defined};
    std::optional<double> prediction_nmse{0.1};
    channel_errors_choice errors{channel_errors_choice::symbols};
    channel_eight_points_choice eight_points{channel_eight_points_choice::star};
};

struct wlan_settings {
    double rate_mbps{11};
    double control_rate_mbps{1};
    bool short_preamble{};
    int rts_threshold{2347};
    int retry_limit{0};
    wlan_retry_policy_choice retry_policy{wlan_retry_policy_choice::fixed};
    double patience_ms{150};
    wlan_window_growth_choice window_growth{wlan_window_growth_choice::standard};
    bool put_back{true};
    int hops{1};
    int queue_packets{50};
    wlan_errors_choice errors{wlan_errors_choice::none};
    wlan_errors_of_choice errors_of{wlan_errors_of_choice::all};
    int errors_station{0};
    double errors_from_s{0};
    double errors_for_s{0};
    int burst{10};
    double good_ms{900};
    double bad_ms{100};
};

struct delay_injection_settings {
    delay_injection_mode_choice mode{delay_injection_mode_choice::off};
    delay_injection_flows_choice flows{delay_injection_flows_choice::uplink};
    double static_ms{60};
    double factor{1.5};
    delay_injection_reading_choice reading{delay_injection_reading_choice::rules};
};

struct umts_settings {
    umts_profile_choice profile{umts_profile_choice::umts_384};
    umts_mode_choice mode{umts_mode_choice::am};
    double down_kbps{0};
    double up_kbps{0};
    double one_way_ms{0};
    std::optional<double> radio_ms{};
    int pdu_octets{0};
    umts_error_unit_choice error_unit{umts_error_unit_choice::block};
    double errors{0};
    double up_errors{0};
    umts_error_model_choice error_model{umts_error_model_choice::uniform};
    double error_burst{5};
    umts_up_error_model_choice up_error_model{umts_up_error_model_choice::as_down};
    double up_error_burst{0};
    std::vector<int> error_trace{};
    std::vector<int> up_error_trace{};
    umts_discard_choice discard{umts_discard_choice::max_dat};
    int max_dat{10};
    double discard_ms{2000};
    double status_prohibit_ms{100};
    double poll_timer_ms{300};
    bool poll_last{true};
    bool poll_retransmitted{true};
    int poll_pdus{0};
    int poll_sdus{0};
    int poll_window_percent{50};
    double poll_period_ms{0};
    double poll_prohibit_ms{0};
    bool poll_counted{};
    bool status_missing{true};
    double status_period_ms{0};
    umts_status_format_choice status_format{umts_status_format_choice::list};
    int receiver_window{0};
    int window{2047};
    umts_order_choice order{umts_order_choice::in_order};
    umts_rrc_choice rrc{umts_rrc_choice::dch};
    double rrc_set_up_ms{1000};
    double rrc_page_ms{200};
    double rrc_switch_ms{500};
    int rrc_threshold_bytes{512};
    double rrc_fach_kbps{16};
    double rrc_dch_s{5};
    double rrc_fach_s{10};
    double rrc_pch_s{600};
    double cell_kbps{0};
    umts_sharing_choice sharing{umts_sharing_choice::equal_throughput};
    std::vector<double> users_db{};
    std::string classes{"interactive"};
    std::vector<double> spikes{};
    std::vector<double> outages{};
    double spike_ms{0};
    double outage_ms{0};
};

struct emulator_split_tcp_settings {
    bool controller{};
};

struct split_split_tcp_settings {
    std::string ports{"off"};
    int connections{256};
    int buffer_kb{64};
    int keepalive_s{120};
    int listen{1};
};

struct server_settings {
    std::string namespace_{};
    std::string tun{"wip0"};
    std::string address{"10.42.0.1/30"};
    std::string control{"ipc://RUN/base.control"};
    std::string telemetry{"ipc://RUN/base.telemetry"};
};

struct terminal_settings {
    std::string namespace_{};
    std::string tun{"wip1"};
    std::string address{"10.42.0.2/30"};
    std::string control{"ipc://RUN/terminal.control"};
    std::string telemetry{"ipc://RUN/terminal.telemetry"};
};

struct air_settings {
    std::string name{};
    std::uint64_t seed{1};
    std::string control{};
    double hearing_hz{20000};
    int priority{9};
    std::string user{};
};

struct medium_air_settings : air_settings {
    air_clock_choice clock{air_clock_choice::lockstep};
    double speed{1};
    int wait_for_transmitters{0};
    int wait_for_receivers{0};
    std::string fader{};
    double pacing_limit_ms{10};
    int quantum{5120};
    bool stations_may_die{};
};

struct observer_air_settings {
    int every_ms{200};
};

struct nodes_entry {
    std::string name;
    std::string at;  // its place in the file, before name::...
    std::optional<double> noise_dbfs{};
    double transmit_dbfs{-15};
    std::vector<impairment> impairments{};
};

struct fader_nodes_entry : nodes_entry {
    std::string radio{};
    int channel{0};
    double receive_gain_db{0};
    double transmit_gain_db{0};
    nodes_clock_source_choice clock_source{nodes_clock_source_choice::internal};
    nodes_clock_source_choice time_source{nodes_clock_source_choice::internal};
};

struct paths_entry {
    std::string at;  // its place in the file, before name::...
    std::string from{};
    std::string to{};
    double gain_db{0};
    int delay_samples{0};
    std::string channel{};
    std::optional<double> trace_snr_db{};
    std::optional<double> delay_spread_ns{};
    std::optional<double> doppler_hz{};
    std::optional<double> speed_kmh{};
    std::optional<double> carrier_hz{};
    number_or_word<paths_shadowing_word> shadowing{{}, paths_shadowing_word::off};
    std::optional<int> user{};
    double frequency_shift_hz{0};
    std::vector<impairment> impairments{};
};

struct fader_settings {
    int delay_samples{10240};
    int piece_samples{1280};
    double frequency_hz{1800000000};
    double start_delay_s{0.1};
    std::string record{};
    double record_s{2};
};

struct line_settings {
    double rate_kbps{384};
    double delay_ms{70};
    int queue_packets{50};
    double held_mb{64};
};

struct errors_settings {
    double ber{0};
    double burstiness{0};
    bool spare_ip_header{true};
};

struct relay_settings {
    bool on{true};
    int port_errors{0};
    std::vector<int> ports{};
};

struct sender_settings {
    std::string namespace_{};
    std::string tun{"wip0"};
    std::string address{"10.42.0.1/30"};
};

struct receiver_settings {
    std::string namespace_{};
    std::string tun{"wip0"};
    std::string address{"10.42.0.2/30"};
};

struct tcp_settings {
    int every_ms{20};
    int search_ms{100};
    int flows{64};
};

struct cpu_settings {
    int every_ms{1000};
    int processes{64};
};

struct medium_channel_change {
    std::optional<channel_model_choice> model;
    std::optional<double> snr_db;
    std::optional<std::optional<double>> speed_kmh;
    std::optional<number_or_word<channel_blackout_word>> blackout;
    std::optional<number_or_word<channel_shadowing_word>> shadowing;
    std::optional<int> user;
};

struct macd_configuration {
    role_choice role{};
    std::string name{"demo"};
    bool replay{};
    std::string user{"nobody"};
    double peer_timeout_s{2};
    bool peer_may_leave{};
    std::uint64_t seed{1};
    macd_link_settings link;
    phy_settings phy;
    uplink_settings uplink;
    to_base_settings to_base;
    from_base_settings from_base;
    tun_settings tun;
    endpoints_settings endpoints;
    telemetry_settings telemetry;
};

struct emulator_configuration {
    std::string name{"emulate"};
    int terminals{1};
    std::string user{"nobody"};
    std::uint64_t seed{1};
    std::string control{"ipc://RUN/air.control"};
    double pacing_limit_ms{2};
    emulator_link_settings link;
    scheduling_settings scheduling;
    channel_settings channel;
    wlan_settings wlan;
    delay_injection_settings delay_injection;
    umts_settings umts;
    emulator_split_tcp_settings split_tcp;
    uplink_settings uplink;
    to_base_settings to_base;
    from_base_settings from_base;
    server_settings server;
    terminal_settings terminal;
    telemetry_settings telemetry;
};

struct medium_configuration {
    medium_air_settings air;
    std::vector<nodes_entry> nodes;
    std::vector<paths_entry> paths;
};

struct fader_configuration {
    air_settings air;
    std::vector<fader_nodes_entry> nodes;
    std::vector<paths_entry> paths;
    fader_settings fader;
};

struct tcpl_configuration {
    std::string user{"nobody"};
    std::uint64_t seed{1};
    std::string control{"ipc://RUN/air.control"};
    int mtu{1500};
    line_settings line;
    errors_settings errors;
    relay_settings relay;
    sender_settings sender;
    receiver_settings receiver;
};

struct observer_configuration {
    std::string user{"nobody"};
    std::string stations{"base="};
    std::string telemetry{"ipc://RUN/observer.telemetry"};
    std::string slots{"ipc://RUN/base.telemetry"};
    std::string medium{"ipc://RUN/air.control"};
    tcp_settings tcp;
    cpu_settings cpu;
    observer_air_settings air;
};

struct split_configuration {
    std::string user{"nobody"};
    std::string control{"ipc://RUN/split.control"};
    split_split_tcp_settings split_tcp;
};

// Of settings that are complete (settings::finish()).
macd_configuration read_macd(const settings& s);
emulator_configuration read_emulator(const settings& s);
medium_configuration read_medium(const settings& s);
fader_configuration read_fader(const settings& s);
tcpl_configuration read_tcpl(const settings& s);
observer_configuration read_observer(const settings& s);
split_configuration read_split(const settings& s);
// What is given of them below `at`, which is empty or ends in a dot.
medium_channel_change read_medium_channel_change(const settings& s, const std::string& at);

}  // namespace wip::config
