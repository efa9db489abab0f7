// SPDX-License-Identifier: GPL-3.0-or-later
#include "macd/macd_config.h"

#include <cmath>
#include <cstdlib>

#include "config/endpoint.h"
#include "peer/endpoint.h"

namespace wip::host {
namespace {

// What two endpoints must not share, whatever their kind.
std::string place_of(const std::string& endpoint) {
    const std::string path = peer::socket_path(endpoint);
    return path.empty() ? endpoint : path;
}

using config::key;
using config::kind;

std::string check_word(std::string_view text) {
    const std::string rule = "1..32 letters, digits, '-', '_' or '.'";
    if (text.empty() || text.size() > 32) return rule;
    for (const char c : text)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_' && c != '.')
            return rule;
    return {};
}

std::vector<key> make_keys() {
    return {
        {.path = "role",
         .type = kind::choice,
         .doc = "which end of the downlink this is",
         .choices = {"base", "terminal"},
         .required = true},
        {.path = "name",
         .fallback = "demo",
         .doc = "name of the cell, for logs",
         .check = check_word},

        {.path = "link.profile",
         .type = kind::choice,
         .fallback = "radio",
         .doc = "frame format; `wipemu` (ideal error detection) exists only without a radio and is "
                "refused here",
         .choices = {"radio", "wipemu"}},
        {.path = "link.bins",
         .type = kind::integer,
         .fallback = "10",
         .doc = "bins used of every slot",
         .lowest = 1,
         .highest = nof_bins,
         .runtime = true},
        {.path = "link.allocation",
         .type = kind::choice,
         .fallback = "best",
         .doc = "always the same bins, or those with the highest predicted SNR",
         .choices = {"static", "best"},
         .runtime = true},
        {.path = "link.modulation",
         .type = kind::choice,
         .fallback = "adaptive",
         .doc = "bits per symbol, or adaptive per bin",
         .choices = {"adaptive", "1", "2", "3", "4", "5", "6", "7", "8"},
         .runtime = true},
        {.path = "link.switch_table",
         .type = kind::choice,
         .fallback = "nmse_0_1",
         .doc = "adaptation thresholds for perfect prediction, for a prediction NMSE of 0.1, or "
                "for the "
                "error that the terminal measures",
         .choices = {"nmse_0", "nmse_0_1", "measured"},
         .runtime = true},
        {.path = "link.max_retransmissions",
         .type = kind::integer,
         .fallback = "30",
         .doc = "of a frame, before it is given up",
         .lowest = 0,
         .highest = 30,
         .runtime = true},
        {.path = "link.retransmission_delay_ms",
         .type = kind::real,
         .fallback = "2",
         .doc = "from a frame to its retransmission; rounded up to slots of 2/3 ms, at least 3",
         .unit = "ms",
         .lowest = 2,
         .highest = 32,
         .runtime = true},
        {.path = "link.combining",
         .type = kind::boolean,
         .fallback = "on",
         .doc = "chase combining of the copies of a frame; the receiver does it, the terminal's "
                "macd tells it",
         .runtime = true},
        {.path = "link.packing",
         .type = kind::boolean,
         .fallback = "on",
         .doc = "fill the last frame of a packet with the next packet"},
        {.path = "link.order",
         .type = kind::choice,
         .fallback = "in_order",
         .doc = "delivery of packets to IP",
         .choices = {"in_order", "as_completed"}},
        {.path = "link.deliver_corrupt",
         .type = kind::boolean,
         .fallback = "off",
         .doc = "deliver packets with frames in error"},
        {.path = "link.tcp_l",
         .type = kind::boolean,
         .fallback = "off",
         .doc = "the terminal's TCP takes damaged segments of its connections (needs "
                "link.deliver_corrupt)"},
        {.path = "link.queue_packets",
         .type = kind::integer,
         .fallback = "54",
         .doc = "downlink queue, drop tail",
         .unit = "packets",
         .lowest = 1,
         .highest = 100000},

        {.path = "phy.predictor",
         .type = kind::choice,
         .fallback = "delay",
         .doc = "how the terminal's receiver predicts the SNR (docs/phy.md)",
         .choices = {"last", "ar", "ls", "kalman", "delay"},
         .runtime = true},

        {.path = "uplink.kbps",
         .type = kind::real,
         .fallback = "500",
         .doc = "capacity of the emulated uplink for IP packets",
         .unit = "kbit/s",
         .lowest = 0.001,
         .highest = 1e6,
         .runtime = true},
        {.path = "uplink.delay_slots",
         .type = kind::integer,
         .fallback = "0",
         .doc = "delay of the uplink beyond the two slots of the loop",
         .unit = "slots",
         .lowest = 0,
         .highest = 15000,
         .runtime = true},
        {.path = "uplink.loss",
         .type = kind::real,
         .fallback = "0",
         .doc = "probability that an IP packet is lost",
         .lowest = 0,
         .highest = 1,
         .runtime = true},
        {.path = "uplink.feedback_loss",
         .type = kind::real,
         .fallback = "0",
         .doc = "probability that the feedback of a slot is lost",
         .lowest = 0,
         .highest = 1,
         .runtime = true},
        {.path = "uplink.queue_packets",
         .type = kind::integer,
         .fallback = "54",
         .doc = "uplink queue, drop tail",
         .unit = "packets",
         .lowest = 1,
         .highest = 100000,
         .runtime = true},

        {.path = "tun.name",
         .fallback = "wip0",
         .doc = "interface that this program makes",
         .check = check_interface_name},
        {.path = "tun.address",
         .fallback = "10.42.0.1/30",
         .doc = "address of the interface",
         .check = check_interface_address,
         .fallback_doc = "10.42.0.1/30, terminal: 10.42.0.2/30"},
        {.path = "tun.mtu",
         .type = kind::integer,
         .fallback = "1500",
         .doc = "largest IP packet",
         .unit = "bytes",
         .lowest = 68,
         .highest = 65535},
        {.path = "tun.txqueuelen",
         .type = kind::integer,
         .fallback = "1000",
         .doc = "kernel queue; only bridges the time between two reads, drops there are counted",
         .unit = "packets",
         .lowest = 1,
         .highest = 100000},

        {.path = "endpoints.slot_link",
         .fallback = "shm://RUN/base.slot",
         .doc = "flowgraph (one partner, bound here)",
         .check = config::check_line_endpoint,
         .fallback_doc = "shm://RUN/*role*.slot"},
        {.path = "endpoints.uplink",
         .fallback = "shm://RUN/uplink",
         .doc = "other station's macd (one partner, the base station binds)",
         .check = config::check_line_endpoint},
        {.path = "endpoints.control",
         .fallback = "ipc://RUN/base.control",
         .doc = "control (REP, bound here)",
         .check = config::check_endpoint,
         .fallback_doc = "ipc://RUN/*role*.control"},
        {.path = "endpoints.telemetry",
         .fallback = "ipc://RUN/base.telemetry",
         .doc = "telemetry (XPUB, bound here)",
         .check = config::check_endpoint,
         .fallback_doc = "ipc://RUN/*role*.telemetry"},

        {.path = "telemetry.slot_every",
         .type = kind::integer,
         .fallback = "15",
         .doc = "publish a sample of every nth slot on topic `slot`; 0 = never",
         .unit = "slots",
         .lowest = 0,
         .highest = 1500000,
         .runtime = true},
        {.path = "telemetry.receiver_every",
         .type = kind::integer,
         .fallback = "150",
         .doc = "the same of topic `receiver`: constellation points, channel estimate",
         .unit = "slots",
         .lowest = 0,
         .highest = 1500000,
         .runtime = true},
        {.path = "telemetry.frames_every",
         .type = kind::integer,
         .fallback = "1",
         .doc = "the same of topic `frames`: link frames with their payload",
         .unit = "slots",
         .lowest = 0,
         .highest = 1500000,
         .runtime = true},
        {.path = "telemetry.packets_per_second",
         .type = kind::integer,
         .fallback = "5000",
         .doc = "records at most on topic `packet`; more are counted as skipped",
         .unit = "packets/s",
         .lowest = 0,
         .highest = 100000,
         .runtime = true},
        {.path = "telemetry.queue_messages",
         .type = kind::integer,
         .fallback = "2000",
         .doc = "that wait for a reader that is slow; what goes beyond is lost to it",
         .unit = "messages",
         .lowest = 1,
         .highest = 100000},
        {.path = "replay",
         .type = kind::boolean,
         .fallback = "off",
         .doc =
             "the terminal's flowgraph plays a recording (docs/iq.md): only telemetry can be set"},
        {.path = "user",
         .fallback = "nobody",
         .doc = "account to run as once the TUN and the sockets are open",
         .check = check_word},
        {.path = "seed",
         .type = kind::integer,
         .fallback = "1",
         .doc = "of the losses of the emulated uplink",
         .lowest = 0,
         .highest = 9e18},
        {.path = "peer_timeout_s",
         .type = kind::real,
         .fallback = "2",
         .doc = "a flowgraph or peer that owes something and is silent longer than this (wall "
                "clock) ends the run",
         .unit = "s",
         .lowest = 0.1,
         .highest = 3600},
    };
}

// The ranges of the tables are those of the MAC; what it refuses all the same is a bug of a table.
template <class Config>
Config checked(const Config& c) {
    try {
        c.check();
    } catch (const std::invalid_argument& e) {
        throw config::error(std::string("configuration: ") + e.what());
    }
    return c;
}

}  // namespace

link_config link_from(const config::settings& s) {
    link_config c;
    c.profile = s.text("link.profile") == "wipemu" ? link_profile::wipemu : link_profile::radio;
    c.bins = static_cast<int>(s.integer("link.bins"));
    c.allocation =
        s.text("link.allocation") == "static" ? allocation_kind::fixed : allocation_kind::best;
    c.modulation =
        s.text("link.modulation") == "adaptive" ? 0 : s.text("link.modulation").front() - '0';
    const std::string& table = s.text("link.switch_table");
    c.switch_table = table == "nmse_0"     ? switch_table_kind::nmse_0
                     : table == "measured" ? switch_table_kind::measured
                                           : switch_table_kind::nmse_0_1;
    c.max_retransmissions = static_cast<int>(s.integer("link.max_retransmissions"));
    // 1.5 slots a millisecond; a hair of tolerance so that 2 ms is 3 slots and not 4.
    c.retransmission_delay_slots =
        static_cast<int>(std::ceil(s.real("link.retransmission_delay_ms") * 1.5 - 1e-9));
    c.combining = s.flag("link.combining");
    c.packing = s.flag("link.packing");
    c.in_order = s.text("link.order") == "in_order";
    c.deliver_corrupt = s.flag("link.deliver_corrupt");
    c.queue_packets = static_cast<int>(s.integer("link.queue_packets"));
    return checked(c);
}

bool tcp_l_from(const config::settings& s) {
    const bool on = s.flag("link.tcp_l");
    if (on && !s.flag("link.deliver_corrupt"))
        throw s.refuse("link.tcp_l", "without link.deliver_corrupt no damaged segment arrives");
    return on;
}

uplink_config uplink_from(const config::settings& s) {
    uplink_config c;
    c.kbps = s.real("uplink.kbps");
    c.delay_slots = static_cast<int>(s.integer("uplink.delay_slots"));
    c.loss = s.real("uplink.loss");
    c.feedback_loss = s.real("uplink.feedback_loss");
    c.queue_packets = static_cast<int>(s.integer("uplink.queue_packets"));
    c.seed = static_cast<std::uint64_t>(s.integer("seed"));
    return checked(c);
}

telemetry_rates telemetry_from(const config::settings& s) {
    return {.slot_every = static_cast<int>(s.integer("telemetry.slot_every")),
            .receiver_every = static_cast<int>(s.integer("telemetry.receiver_every")),
            .frames_every = static_cast<int>(s.integer("telemetry.frames_every")),
            .queue_messages = static_cast<int>(s.integer("telemetry.queue_messages")),
            .packets_per_second = static_cast<int>(s.integer("telemetry.packets_per_second"))};
}

const std::vector<key>& macd_keys() {
    static const std::vector<key> keys = make_keys();
    return keys;
}

macd_config translate(config::settings& s) {
    s.finish();
    macd_config c;
    const std::string& role = s.text("role");
    c.role = role == "base" ? station_role_kind::base : station_role_kind::terminal;
    s.set_default("endpoints.slot_link", "shm://RUN/" + role + ".slot");
    for (const auto* end : {"control", "telemetry"})
        s.set_default(std::string("endpoints.") + end, "ipc://RUN/" + role + "." + end);
    if (c.role == station_role_kind::terminal) s.set_default("tun.address", "10.42.0.2/30");
    for (const auto* e : {"slot_link", "uplink", "control", "telemetry"})
        config::fill_in_run_folder(s, std::string("endpoints.") + e);

    c.name = s.text("name");
    if (s.text("link.profile") != "radio")
        throw s.refuse("link.profile",
                       "not possible on a radio: its error detection is ideal and leaves no room "
                       "for a CRC; expected radio");
    c.link = link_from(s);
    c.tcp_l = tcp_l_from(s);
    c.uplink = uplink_from(s);
    c.predictor = s.text("phy.predictor");

    c.tun.name = s.text("tun.name");
    c.tun.address = s.text("tun.address");
    c.tun.mtu = static_cast<int>(s.integer("tun.mtu"));
    c.tun.txqueuelen = static_cast<int>(s.integer("tun.txqueuelen"));
    if (c.tun.address.find(':') != std::string::npos && c.tun.mtu < 1280)
        throw s.refuse("tun.mtu", "IPv6 (tun.address) needs at least 1280 bytes");

    c.slot_link_endpoint = s.text("endpoints.slot_link");
    c.uplink_endpoint = s.text("endpoints.uplink");
    c.control_endpoint = s.text("endpoints.control");
    c.telemetry_endpoint = s.text("endpoints.telemetry");
    const std::string endpoint_keys[] = {"endpoints.slot_link", "endpoints.uplink",
                                         "endpoints.control", "endpoints.telemetry"};
    for (const auto& a : endpoint_keys)
        for (const auto& b : endpoint_keys)
            if (&a < &b && place_of(s.text(a)) == place_of(s.text(b)))
                throw s.refuse(b, "the same as " + a);
    c.telemetry = telemetry_from(s);
    c.replay = s.flag("replay");
    if (c.replay && c.role == station_role_kind::base)
        throw s.refuse("replay", "not possible at the base station: it receives nothing");
    c.user = s.text("user");
    c.peer_timeout_s = s.real("peer_timeout_s");
    return c;
}

}  // namespace wip::host
