// SPDX-License-Identifier: GPL-3.0-or-later
// Made of mac/schema/settings.yaml by the build (host/cli/openwip_cli/settings/code.py).
#include "settings/configuration.h"

#include "config/setting_rules.h"

namespace wip::config {
namespace {

void read(const settings& s, link_settings& into) {
    into.profile = choice<link_profile_choice>(s.text(name::link_profile));
    into.bins = static_cast<int>(s.integer(name::link_bins));
    into.allocation = choice<link_allocation_choice>(s.text(name::link_allocation));
    into.modulation = optional_number<int>(s, name::link_modulation);
    into.switch_table = choice<link_switch_table_choice>(s.text(name::link_switch_table));
    into.max_retransmissions = static_cast<int>(s.integer(name::link_max_retransmissions));
    into.retransmission_delay_ms = s.real(name::link_retransmission_delay_ms);
    into.combining = s.flag(name::link_combining);
    into.scheduler = s.text(name::link_scheduler);
    into.adaptation = s.text(name::link_adaptation);
    into.packing = s.flag(name::link_packing);
    into.order = choice<link_order_choice>(s.text(name::link_order));
    into.deliver_corrupt = s.flag(name::link_deliver_corrupt);
    into.tcp_l = s.flag(name::link_tcp_l);
    into.queue_packets = static_cast<int>(s.integer(name::link_queue_packets));
}

void read(const settings& s, macd_link_settings& into) {
    read(s, static_cast<link_settings&>(into));
    into.transmit_lead_slots = static_cast<int>(s.integer(name::link_transmit_lead_slots));
    into.fader_slots = static_cast<int>(s.integer(name::link_fader_slots));
}

void read(const settings& s, emulator_link_settings& into) {
    read(s, static_cast<link_settings&>(into));
    into.kind = choice<link_kind_choice>(s.text(name::link_kind));
}

void read(const settings& s, phy_settings& into) {
    into.predictor = s.text(name::phy_predictor);
}

void read(const settings& s, uplink_settings& into) {
    into.kbps = s.real(name::uplink_kbps);
    into.delay_slots = static_cast<int>(s.integer(name::uplink_delay_slots));
    into.loss = s.real(name::uplink_loss);
    into.feedback_loss = s.real(name::uplink_feedback_loss);
    into.queue_packets = static_cast<int>(s.integer(name::uplink_queue_packets));
}

void read(const settings& s, to_base_settings& into) {
    into.delay_ms = s.real(name::to_base_delay_ms);
    into.rate_kbps = s.real(name::to_base_rate_kbps);
    into.loss = s.real(name::to_base_loss);
    into.queue_packets = static_cast<int>(s.integer(name::to_base_queue_packets));
    into.held_mb = s.real(name::to_base_held_mb);
}

void read(const settings& s, from_base_settings& into) {
    into.delay_ms = optional_number<double>(s, name::from_base_delay_ms);
    into.rate_kbps = s.real(name::from_base_rate_kbps);
    into.loss = s.real(name::from_base_loss);
}

void read(const settings& s, tun_settings& into) {
    into.name = s.text(name::tun_name);
    into.namespace_ = s.text(name::tun_namespace);
    into.address = s.text(name::tun_address);
    into.mtu = static_cast<int>(s.integer(name::tun_mtu));
    into.txqueuelen = static_cast<int>(s.integer(name::tun_txqueuelen));
}

void read(const settings& s, endpoints_settings& into) {
    into.slot_link = s.text(name::endpoints_slot_link);
    into.uplink = s.text(name::endpoints_uplink);
    into.uplink_keys = s.text(name::endpoints_uplink_keys);
    into.control = s.text(name::endpoints_control);
    into.telemetry = s.text(name::endpoints_telemetry);
}

void read(const settings& s, telemetry_settings& into) {
    into.slot_every = static_cast<int>(s.integer(name::telemetry_slot_every));
    into.receiver_every = static_cast<int>(s.integer(name::telemetry_receiver_every));
    into.frames_every = static_cast<int>(s.integer(name::telemetry_frames_every));
    into.packets_per_second = static_cast<int>(s.integer(name::telemetry_packets_per_second));
    into.queue_messages = static_cast<int>(s.integer(name::telemetry_queue_messages));
}

void read(const settings& s, scheduling_settings& into) {
    into.method = choice<scheduling_method_choice>(s.text(name::scheduling_method));
    into.averaging_slots = static_cast<int>(s.integer(name::scheduling_averaging_slots));
}

void read(const settings& s, channel_settings& into) {
    into.model = s.text(name::channel_model);
    into.snr_db = s.real(name::channel_snr_db);
    into.bins_db = list_of<double>(s, name::channel_bins_db);
    into.users_db = list_of<double>(s, name::channel_users_db);
    into.speed_kmh = optional_number<double>(s, name::channel_speed_kmh);
    into.blackout = number_or_word_of<channel_blackout_word>(s, name::channel_blackout);
    into.shadowing = number_or_word_of<emulator_channel_shadowing_word>(s, name::channel_shadowing);
    into.prediction_nmse = optional_number<double>(s, name::channel_prediction_nmse);
    into.errors = choice<channel_errors_choice>(s.text(name::channel_errors));
    into.eight_points = choice<channel_eight_points_choice>(s.text(name::channel_eight_points));
}

void read(const settings& s, wlan_settings& into) {
    into.rate_mbps = s.real(name::wlan_rate_mbps);
    into.control_rate_mbps = s.real(name::wlan_control_rate_mbps);
    into.short_preamble = s.flag(name::wlan_short_preamble);
    into.rts_threshold = static_cast<int>(s.integer(name::wlan_rts_threshold));
    into.retry_limit = static_cast<int>(s.integer(name::wlan_retry_limit));
    into.retry_policy = choice<wlan_retry_policy_choice>(s.text(name::wlan_retry_policy));
    into.patience_ms = s.real(name::wlan_patience_ms);
    into.window_growth = choice<wlan_window_growth_choice>(s.text(name::wlan_window_growth));
    into.put_back = s.flag(name::wlan_put_back);
    into.hops = static_cast<int>(s.integer(name::wlan_hops));
    into.queue_packets = static_cast<int>(s.integer(name::wlan_queue_packets));
    into.errors = choice<wlan_errors_choice>(s.text(name::wlan_errors));
    into.errors_of = choice<wlan_errors_of_choice>(s.text(name::wlan_errors_of));
    into.errors_station = static_cast<int>(s.integer(name::wlan_errors_station));
    into.errors_from_s = s.real(name::wlan_errors_from_s);
    into.errors_for_s = s.real(name::wlan_errors_for_s);
    into.burst = static_cast<int>(s.integer(name::wlan_burst));
    into.good_ms = s.real(name::wlan_good_ms);
    into.bad_ms = s.real(name::wlan_bad_ms);
}

void read(const settings& s, delay_injection_settings& into) {
    into.mode = choice<delay_injection_mode_choice>(s.text(name::delay_injection_mode));
    into.flows = choice<delay_injection_flows_choice>(s.text(name::delay_injection_flows));
    into.static_ms = s.real(name::delay_injection_static_ms);
    into.factor = s.real(name::delay_injection_factor);
    into.reading = choice<delay_injection_reading_choice>(s.text(name::delay_injection_reading));
}

void read(const settings& s, umts_settings& into) {
    into.profile = choice<umts_profile_choice>(s.text(name::umts_profile));
    into.mode = choice<umts_mode_choice>(s.text(name::umts_mode));
    into.down_kbps = s.real(name::umts_down_kbps);
    into.up_kbps = s.real(name::umts_up_kbps);
    into.one_way_ms = s.real(name::umts_one_way_ms);
    into.radio_ms = optional_number<double>(s, name::umts_radio_ms);
    into.pdu_octets = static_cast<int>(s.integer(name::umts_pdu_octets));
    into.error_unit = choice<umts_error_unit_choice>(s.text(name::umts_error_unit));
    into.errors = s.real(name::umts_errors);
    into.up_errors = s.real(name::umts_up_errors);
    into.error_model = choice<umts_error_model_choice>(s.text(name::umts_error_model));
    into.error_burst = s.real(name::umts_error_burst);
    into.up_error_model = choice<umts_up_error_model_choice>(s.text(name::umts_up_error_model));
    into.up_error_burst = s.real(name::umts_up_error_burst);
    into.error_trace = list_of<int>(s, name::umts_error_trace);
    into.up_error_trace = list_of<int>(s, name::umts_up_error_trace);
    into.discard = choice<umts_discard_choice>(s.text(name::umts_discard));
    into.max_dat = static_cast<int>(s.integer(name::umts_max_dat));
    into.discard_ms = s.real(name::umts_discard_ms);
    into.status_prohibit_ms = s.real(name::umts_status_prohibit_ms);
    into.poll_timer_ms = s.real(name::umts_poll_timer_ms);
    into.poll_last = s.flag(name::umts_poll_last);
    into.poll_retransmitted = s.flag(name::umts_poll_retransmitted);
    into.poll_pdus = static_cast<int>(s.integer(name::umts_poll_pdus));
    into.poll_sdus = static_cast<int>(s.integer(name::umts_poll_sdus));
    into.poll_window_percent = static_cast<int>(s.integer(name::umts_poll_window_percent));
    into.poll_period_ms = s.real(name::umts_poll_period_ms);
    into.poll_prohibit_ms = s.real(name::umts_poll_prohibit_ms);
    into.poll_counted = s.flag(name::umts_poll_counted);
    into.status_missing = s.flag(name::umts_status_missing);
    into.status_period_ms = s.real(name::umts_status_period_ms);
    into.status_format = choice<umts_status_format_choice>(s.text(name::umts_status_format));
    into.receiver_window = static_cast<int>(s.integer(name::umts_receiver_window));
    into.window = static_cast<int>(s.integer(name::umts_window));
    into.order = choice<umts_order_choice>(s.text(name::umts_order));
    into.rrc = choice<umts_rrc_choice>(s.text(name::umts_rrc));
    into.rrc_set_up_ms = s.real(name::umts_rrc_set_up_ms);
    into.rrc_page_ms = s.real(name::umts_rrc_page_ms);
    into.rrc_switch_ms = s.real(name::umts_rrc_switch_ms);
    into.rrc_threshold_bytes = static_cast<int>(s.integer(name::umts_rrc_threshold_bytes));
    into.rrc_fach_kbps = s.real(name::umts_rrc_fach_kbps);
    into.rrc_dch_s = s.real(name::umts_rrc_dch_s);
    into.rrc_fach_s = s.real(name::umts_rrc_fach_s);
    into.rrc_pch_s = s.real(name::umts_rrc_pch_s);
    into.cell_kbps = s.real(name::umts_cell_kbps);
    into.sharing = choice<umts_sharing_choice>(s.text(name::umts_sharing));
    into.users_db = list_of<double>(s, name::umts_users_db);
    into.classes = s.text(name::umts_classes);
    into.spikes = list_of<double>(s, name::umts_spikes);
    into.outages = list_of<double>(s, name::umts_outages);
    into.spike_ms = s.real(name::umts_spike_ms);
    into.outage_ms = s.real(name::umts_outage_ms);
}

void read(const settings& s, emulator_split_tcp_settings& into) {
    into.controller = s.flag(name::split_tcp_controller);
}

void read(const settings& s, split_split_tcp_settings& into) {
    into.ports = s.text(name::split_tcp_ports);
    into.connections = static_cast<int>(s.integer(name::split_tcp_connections));
    into.buffer_kb = static_cast<int>(s.integer(name::split_tcp_buffer_kb));
    into.keepalive_s = static_cast<int>(s.integer(name::split_tcp_keepalive_s));
    into.listen = static_cast<int>(s.integer(name::split_tcp_listen));
}

void read(const settings& s, server_settings& into) {
    into.namespace_ = s.text(name::server_namespace);
    into.tun = s.text(name::server_tun);
    into.address = s.text(name::server_address);
    into.control = s.text(name::server_control);
    into.telemetry = s.text(name::server_telemetry);
}

void read(const settings& s, terminal_settings& into) {
    into.namespace_ = s.text(name::terminal_namespace);
    into.tun = s.text(name::terminal_tun);
    into.address = s.text(name::terminal_address);
    into.control = s.text(name::terminal_control);
    into.telemetry = s.text(name::terminal_telemetry);
}

void read(const settings& s, air_settings& into) {
    into.name = s.text(name::air_name);
    into.seed = static_cast<std::uint64_t>(s.integer(name::air_seed));
    into.control = s.text(name::air_control);
    into.hearing_hz = s.real(name::air_hearing_hz);
    into.priority = static_cast<int>(s.integer(name::air_priority));
    into.user = s.text(name::air_user);
}

void read(const settings& s, medium_air_settings& into) {
    read(s, static_cast<air_settings&>(into));
    into.clock = choice<air_clock_choice>(s.text(name::air_clock));
    into.speed = s.real(name::air_speed);
    into.wait_for_transmitters = static_cast<int>(s.integer(name::air_wait_for_transmitters));
    into.wait_for_receivers = static_cast<int>(s.integer(name::air_wait_for_receivers));
    into.fader = s.text(name::air_fader);
    into.pacing_limit_ms = s.real(name::air_pacing_limit_ms);
    into.quantum = static_cast<int>(s.integer(name::air_quantum));
    into.stations_may_die = s.flag(name::air_stations_may_die);
}

void read(const settings& s, observer_air_settings& into) {
    into.every_ms = static_cast<int>(s.integer(name::air_every_ms));
}

void read(const settings& s, const std::string& at, nodes_entry& into) {
    into.noise_dbfs = optional_number<double>(s, at + name::nodes_noise_dbfs);
    into.transmit_dbfs = s.real(at + name::nodes_transmit_dbfs);
    into.impairments = s.items(at + name::nodes_impairments);
}

void read(const settings& s, const std::string& at, fader_nodes_entry& into) {
    read(s, at, static_cast<nodes_entry&>(into));
    into.radio = s.text(at + name::nodes_radio);
    into.channel = static_cast<int>(s.integer(at + name::nodes_channel));
    into.receive_gain_db = s.real(at + name::nodes_receive_gain_db);
    into.transmit_gain_db = s.real(at + name::nodes_transmit_gain_db);
    into.clock_source = choice<nodes_clock_source_choice>(s.text(at + name::nodes_clock_source));
    into.time_source = choice<nodes_clock_source_choice>(s.text(at + name::nodes_time_source));
}

void read(const settings& s, const std::string& at, paths_entry& into) {
    into.from = s.text(at + name::paths_from);
    into.to = s.text(at + name::paths_to);
    into.gain_db = s.real(at + name::paths_gain_db);
    into.delay_samples = static_cast<int>(s.integer(at + name::paths_delay_samples));
    into.channel = s.text(at + name::paths_channel);
    into.trace_snr_db = optional_number<double>(s, at + name::paths_trace_snr_db);
    into.delay_spread_ns = optional_number<double>(s, at + name::paths_delay_spread_ns);
    into.doppler_hz = optional_number<double>(s, at + name::paths_doppler_hz);
    into.speed_kmh = optional_number<double>(s, at + name::paths_speed_kmh);
    into.carrier_hz = optional_number<double>(s, at + name::paths_carrier_hz);
    into.shadowing = number_or_word_of<paths_shadowing_word>(s, at + name::paths_shadowing);
    into.user = optional_number<int>(s, at + name::paths_user);
    into.frequency_shift_hz = s.real(at + name::paths_frequency_shift_hz);
    into.impairments = s.items(at + name::paths_impairments);
}

void read(const settings& s, fader_settings& into) {
    into.delay_samples = static_cast<int>(s.integer(name::fader_delay_samples));
    into.piece_samples = static_cast<int>(s.integer(name::fader_piece_samples));
    into.frequency_hz = s.real(name::fader_frequency_hz);
    into.start_delay_s = s.real(name::fader_start_delay_s);
    into.record = s.text(name::fader_record);
    into.record_s = s.real(name::fader_record_s);
}

void read(const settings& s, line_settings& into) {
    into.rate_kbps = s.real(name::line_rate_kbps);
    into.delay_ms = s.real(name::line_delay_ms);
    into.queue_packets = static_cast<int>(s.integer(name::line_queue_packets));
    into.held_mb = s.real(name::line_held_mb);
}

void read(const settings& s, errors_settings& into) {
    into.ber = s.real(name::errors_ber);
    into.burstiness = s.real(name::errors_burstiness);
    into.spare_ip_header = s.flag(name::errors_spare_ip_header);
}

void read(const settings& s, relay_settings& into) {
    into.on = s.flag(name::relay_on);
    into.port_errors = static_cast<int>(s.integer(name::relay_port_errors));
    into.ports = list_of<int>(s, name::relay_ports);
}

void read(const settings& s, sender_settings& into) {
    into.namespace_ = s.text(name::sender_namespace);
    into.tun = s.text(name::sender_tun);
    into.address = s.text(name::sender_address);
}

void read(const settings& s, receiver_settings& into) {
    into.namespace_ = s.text(name::receiver_namespace);
    into.tun = s.text(name::receiver_tun);
    into.address = s.text(name::receiver_address);
}

void read(const settings& s, tcp_settings& into) {
    into.every_ms = static_cast<int>(s.integer(name::tcp_every_ms));
    into.search_ms = static_cast<int>(s.integer(name::tcp_search_ms));
    into.flows = static_cast<int>(s.integer(name::tcp_flows));
}

void read(const settings& s, cpu_settings& into) {
    into.every_ms = static_cast<int>(s.integer(name::cpu_every_ms));
    into.processes = static_cast<int>(s.integer(name::cpu_processes));
}

}  // namespace

macd_configuration read_macd(const settings& s) {
    check_rules(s, rules_of(process::macd));
    macd_configuration c;
    c.role = choice<role_choice>(s.text(name::role));
    c.name = s.text(name::name);
    c.replay = s.flag(name::replay);
    c.user = s.text(name::user);
    c.peer_timeout_s = s.real(name::peer_timeout_s);
    c.peer_may_leave = s.flag(name::peer_may_leave);
    c.seed = static_cast<std::uint64_t>(s.integer(name::seed));
    read(s, c.link);
    read(s, c.phy);
    read(s, c.uplink);
    read(s, c.to_base);
    read(s, c.from_base);
    read(s, c.tun);
    read(s, c.endpoints);
    read(s, c.telemetry);
    return c;
}

emulator_configuration read_emulator(const settings& s) {
    check_rules(s, rules_of(process::emulator));
    emulator_configuration c;
    c.name = s.text(name::name);
    c.terminals = static_cast<int>(s.integer(name::terminals));
    c.user = s.text(name::user);
    c.seed = static_cast<std::uint64_t>(s.integer(name::seed));
    c.control = s.text(name::control);
    c.pacing_limit_ms = s.real(name::pacing_limit_ms);
    read(s, c.link);
    read(s, c.scheduling);
    read(s, c.channel);
    read(s, c.wlan);
    read(s, c.delay_injection);
    read(s, c.umts);
    read(s, c.split_tcp);
    read(s, c.uplink);
    read(s, c.to_base);
    read(s, c.from_base);
    read(s, c.server);
    read(s, c.terminal);
    read(s, c.telemetry);
    return c;
}

medium_configuration read_medium(const settings& s) {
    check_rules(s, rules_of(process::medium));
    medium_configuration c;
    read(s, c.air);
    for (const auto& at : s.entries("nodes")) {
        auto& e = c.nodes.emplace_back();
        e.at = at;
        e.name = at.substr(6);
        read(s, at, e);
    }
    for (const auto& at : s.entries("paths")) {
        auto& e = c.paths.emplace_back();
        e.at = at;
        read(s, at, e);
    }
    return c;
}

fader_configuration read_fader(const settings& s) {
    check_rules(s, rules_of(process::fader));
    fader_configuration c;
    read(s, c.air);
    for (const auto& at : s.entries("nodes")) {
        auto& e = c.nodes.emplace_back();
        e.at = at;
        e.name = at.substr(6);
        read(s, at, e);
    }
    for (const auto& at : s.entries("paths")) {
        auto& e = c.paths.emplace_back();
        e.at = at;
        read(s, at, e);
    }
    read(s, c.fader);
    return c;
}

tcpl_configuration read_tcpl(const settings& s) {
    check_rules(s, rules_of(process::tcpl));
    tcpl_configuration c;
    c.user = s.text(name::user);
    c.seed = static_cast<std::uint64_t>(s.integer(name::seed));
    c.control = s.text(name::control);
    c.mtu = static_cast<int>(s.integer(name::mtu));
    read(s, c.line);
    read(s, c.errors);
    read(s, c.relay);
    read(s, c.sender);
    read(s, c.receiver);
    return c;
}

observer_configuration read_observer(const settings& s) {
    check_rules(s, rules_of(process::observer));
    observer_configuration c;
    c.user = s.text(name::user);
    c.stations = s.text(name::stations);
    c.telemetry = s.text(name::telemetry);
    c.slots = s.text(name::slots);
    c.medium = s.text(name::medium);
    read(s, c.tcp);
    read(s, c.cpu);
    read(s, c.air);
    return c;
}

split_configuration read_split(const settings& s) {
    check_rules(s, rules_of(process::split));
    split_configuration c;
    c.user = s.text(name::user);
    c.control = s.text(name::control);
    read(s, c.split_tcp);
    return c;
}

medium_channel_change read_medium_channel_change(const settings& s, const std::string& at) {
    medium_channel_change c;
    if (s.given(at + name::channel_model)) c.model = choice<channel_model_choice>(s.text(at + name::channel_model));
    if (s.given(at + name::channel_snr_db)) c.snr_db = s.real(at + name::channel_snr_db);
    if (s.given(at + name::channel_speed_kmh)) c.speed_kmh = optional_number<double>(s, at + name::channel_speed_kmh);
    if (s.given(at + name::channel_blackout)) c.blackout = number_or_word_of<channel_blackout_word>(s, at + name::channel_blackout);
    if (s.given(at + name::channel_shadowing)) c.shadowing = number_or_word_of<channel_shadowing_word>(s, at + name::channel_shadowing);
    if (s.given(at + name::channel_user)) c.user = static_cast<int>(s.integer(at + name::channel_user));
    return c;
}

}  // namespace wip::config
