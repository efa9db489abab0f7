// SPDX-License-Identifier: GPL-3.0-or-later
#include "macd/event_loop.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <bit>

#include "peer/endpoint.h"
#include "runtime/process.h"
#include "schema/kept_message.h"
#include "station/link_settings.h"

namespace wip::host {
namespace {

using openwip::slot_link::ToFlowgraph;
using namespace std::chrono_literals;

// A station on another machine that does not even answer the line for so long has left: its machine
// may be off, and then nothing closes the connection.
constexpr auto silence_of_a_machine = 1000ms;
// Messages taken from one socket before the others get their turn.
constexpr int batch = 64;
// If there is no slot for this long, the packets of the TUN are taken without one.
constexpr auto slots_pause = 5ms;
// The places in watched_, in the order in which attach() adds them.
enum watched_place : poll_set::place {
    slot_link_at,
    uplink_at,
    control_at,
    slot_link_news,
    uplink_news,
    tun_at,
    signal_at
};

const char* role_name(const macd_config& c) {
    return c.role == station_role_kind::base ? "base" : "terminal";
}

}  // namespace

event_loop::event_loop(zmq::context_t& context, const config::settings& settings,
                       const macd_config& config)
    : settings_(settings),
      config_(config),
      effective_yaml_(settings.to_yaml()),
      slot_link_(peer::make_link(
          {.endpoint = config.slot_link_endpoint, .which = peer::end::bind, .name = "slot_link"})),
      uplink_(peer::make_link(
          {.endpoint = config.uplink_endpoint,
           .which = config.role == station_role_kind::base ? peer::end::bind : peer::end::connect,
           .name = "uplink",
           .silence = config.peer_may_leave ? silence_of_a_machine : 0ms,
           .keys = config.uplink_keys})),
      control_(context, config.control_endpoint, "endpoints.control"),
      telemetry_(context, config.telemetry_endpoint, config.telemetry.queue_messages,
                 "endpoints.telemetry"),
      events_(telemetry_, role_name(config)),
      liveness_(config.peer_timeout_s),
      end_(role_name(config), [this](const stop_reason& why) { say_goodbye(why); }) {
    telemetry_.set_rates(config.telemetry);
}

std::vector<std::string> event_loop::bound_paths() const {
    std::vector<std::string> paths{peer::socket_path(config_.slot_link_endpoint),
                                   peer::socket_path(config_.control_endpoint),
                                   peer::socket_path(config_.telemetry_endpoint)};
    if (config_.role == station_role_kind::base)
        paths.push_back(peer::socket_path(config_.uplink_endpoint));
    return paths;
}

std::string event_loop::name_of(party p) const {
    if (p == party::flowgraph)
        return config_.role == station_role_kind::base ? "the base station's flowgraph"
                                                       : "the terminal's flowgraph";
    return config_.role == station_role_kind::base ? "the terminal's macd"
                                                   : "the base station's macd";
}

int event_loop::run() {
    while (!end_.reached()) turn();
    return end_.code();
}

void event_loop::attach(station& s, int tun_fd, int signal_fd) {
    station_ = &s;
    tun_fd_ = tun_fd;
    signal_fd_ = signal_fd;
    watched_.add(slot_link_->message_fd());
    watched_.add(uplink_->message_fd());
    watched_.add(control_.socket());
    watched_.add(slot_link_->connection_fd());
    watched_.add(uplink_->connection_fd());
    watched_.add(tun_fd);
    watched_.add(signal_fd);
}

bool event_loop::wait() {
    const bool slot_link_rests = slot_link_->rest(station_->flowgraph_can_wait());
    const bool uplink_rests = uplink_->rest();
    const bool sleep = slot_link_rests && uplink_rests;
    const bool slots_come = watched_.fd(tun_at) < 0;
    auto left = sleep ? patience(clock::now()) : 0ns;
    if (slots_come && (left < 0ns || left > slots_pause)) left = slots_pause;
    const bool stirred = watched_.sleep(left);
    slot_link_->rise(watched_.ready(slot_link_at));
    uplink_->rise(watched_.ready(uplink_at));
    if (!stirred && sleep && slots_come) watched_.replace(tun_at, tun_fd_);
    return stirred;
}

void event_loop::turn() {
    const bool news = wait();
    on_slot_link();
    on_uplink();
    on_slot_link();  // takes what came in while a plan was sent
    if (watched_.ready(control_at)) on_control();
    if (!end_.reached() && (news || first_turn_)) {
        on_connections();
        if (watched_.ready(tun_at) && !station_->on_tun())
            end_.set({openwip::stop::GONE, "the interface " + config_.tun.name + " is gone"});
        if (watched_.ready(signal_at)) end_.signalled(signal_fd_);
    }
    check_liveness(clock::now());
}

void event_loop::on_connections() {
    if ((watched_.ready(slot_link_news) || first_turn_) && slot_link_->watch())
        on_lost(party::flowgraph);
    if ((watched_.ready(uplink_news) || first_turn_) && uplink_->watch()) on_lost(party::peer);
    follow_peer();
    first_turn_ = false;
    send_hellos();
}

// A peer that may leave and come back.
void event_loop::follow_peer() {
    if (!uplink_->refusal.empty()) {
        // The refusals 1, 2, 4, 8, ... are logged, since the uplink goes on trying.
        if (std::has_single_bit(++refusals_))
            spdlog::warn("uplink: {} ({} times)", uplink_->refusal, refusals_);
        uplink_->refusal.clear();
    }
    if (occupied_ != uplink_->occupied) {
        occupied_ = uplink_->occupied;
        events_.say(openwip::telemetry::Event::WARNING, "peer", "refused", last_slot_);
    }
    if (!config_.peer_may_leave || uplink_->connected() == peer_here_) return;
    peer_here_ = uplink_->connected();
    const std::string change = name_of(party::peer) + (peer_here_ ? " is there" : " has left");
    spdlog::info("{} (slot {})", change, last_slot_.value);
    events_.say(peer_here_ ? openwip::telemetry::Event::INFO : openwip::telemetry::Event::WARNING,
                "peer", peer_here_ ? "connected" : "left", last_slot_);
    if (!peer_here_) return;
    peer_greeted_ = peer_fits_ = false;
    station_->peer_came();
}

// The first word of each connection: tried whenever a link stirs, until somebody is there.
void event_loop::send_hellos() {
    if (!hello_sent_) {
        ToFlowgraph message;
        message.mutable_hello()->set_version(openwip::slot_link::VERSION_CURRENT);
        message.mutable_hello()->set_role(role_name(config_));
        hello_sent_ = send_to_flowgraph(message);
    }
    if (config_.role == station_role_kind::base && !peer_greeted_) {
        openwip::uplink::DownlinkControl note;
        note.set_hello(config_.name);
        for (const auto& line : settings_.format()) note.add_format(line);
        peer_greeted_ = to_peer(note);
    }
}

void event_loop::on_slot_link() {
    std::span<const std::uint8_t> in;
    for (int i = 0; i < batch && !end_.reached(); ++i) {
        const bool got = slot_link_->receive(in);
        send_hellos();
        if (!got) break;
        if (!read_from_flowgraph(in)) {
            malformed("slot link", "not a ToMacd message");
            continue;
        }
        using message = openwip::slot_link::ToMacd;
        switch (from_flowgraph_.what_case()) {
            case message::kHello:
                on_hello(from_flowgraph_.hello());
                break;
            case message::kRequest:
            case message::kReport:
                liveness_.heard(party::flowgraph, true, clock::now());
                if (from_flowgraph_.has_request())
                    station_->on_request(from_flowgraph_.request());
                else
                    station_->on_report(from_flowgraph_.report());
                break;
            case message::WHAT_NOT_SET:
                malformed("slot link", "an empty message");
                break;
        }
    }
    if (!end_.reached()) station_->caught_up();
    for (; slot_link_->malformed_messages > 0; --slot_link_->malformed_messages)
        malformed("slot link", "what is no message of this link");
}

// Parses a message of the flowgraph into from_flowgraph_. The message that comes in every slot (a
// request at the base station, a report at the terminal) reuses the memory of the last one.
bool event_loop::read_from_flowgraph(std::span<const std::uint8_t> in) {
    using message = openwip::slot_link::ToMacd;
    if (config_.role == station_role_kind::base)
        return parse_kept(from_flowgraph_, &message::mutable_request, message::kRequestFieldNumber,
                          in);
    return parse_kept(from_flowgraph_, &message::mutable_report, message::kReportFieldNumber, in);
}

void event_loop::on_hello(const openwip::slot_link::Hello& hello) {
    const auto own_version = static_cast<unsigned>(openwip::slot_link::VERSION_CURRENT);
    const bool fits = hello.version() == own_version && hello.role() == role_name(config_);
    if (fits) {
        hello_received_ = true;
        return;
    }
    // Only the first message counts: later, a wrong hello can only be a damaged message.
    if (hello_received_ || liveness_.started(party::flowgraph)) {
        malformed("slot link", "a hello that does not fit");
        return;
    }
    if (hello.version() != own_version)
        end_.set({openwip::stop::UNFIT, "slot link: the flowgraph speaks version " +
                                            std::to_string(hello.version()) + ", macd version " +
                                            std::to_string(own_version) +
                                            "; build both from one tree"});
    else
        end_.set({openwip::stop::UNFIT, "slot link: the flowgraph's role is \"" +
                                            hello.role().substr(0, 32) + "\", here is \"" +
                                            role_name(config_) + "\""});
}

void event_loop::on_uplink() {
    std::span<const std::uint8_t> in;
    for (int i = 0; i < batch && !end_.reached(); ++i) {
        const bool got = uplink_->receive(in);
        send_hellos();
        if (!got) break;
        liveness_.heard(party::peer, config_.role == station_role_kind::base, clock::now());
        station_->on_peer(in);
    }
    for (; uplink_->malformed_messages > 0; --uplink_->malformed_messages)
        malformed("uplink", "what is no message of this link");
}

void event_loop::on_control() {
    stop_reason stop;
    using ask = openwip::control::Request;
    const auto answer = [&](const ask& request, openwip::control::Reply& reply) {
        switch (request.what_case()) {
            case ask::kStatus:
                break;
            case ask::kConfigureYaml:
                if (configure(request.configure_yaml()))
                    reply.set_effective_slot(station_->next_slot().value);
                break;
            case ask::kResetCounters:
                station_->reset_counters();
                break;
            case ask::kStop:
                stop = reason_of(request);
                break;
            case ask::WHAT_NOT_SET:
                break;
        }
        fill(*reply.mutable_mac());
        changes_.fill(*reply.mutable_mac());
    };
    switch (control_.serve(answer)) {
        case control_socket::result::nothing:
            return;
        case control_socket::result::malformed:
            malformed("control", "not a Request message");
            break;
        case control_socket::result::answered:
            break;
    }
    // Waiting telemetry goes out also when no slot comes any more.
    station_->flush_telemetry();
    telemetry_.flush();
    telemetry_.listen();
    if (stop.given()) end_.set(stop);
}

bool event_loop::configure(const std::string& yaml) {
    config::settings next = settings_;
    next.merge_yaml(yaml, "configure", true);
    const auto changed = next.changed_from(settings_);
    if (changed.empty()) return false;
    for (const auto& key : changed)
        if (config_.replay && !key.starts_with("telemetry."))
            throw next.refuse(key, "a recording is played, as it was recorded; valid: no change");
    station_->reconfigure(next, changed);
    telemetry_.set_rates(translate(next).telemetry);
    const slot from = station_->next_slot();
    for (const auto& key : changed) {
        const std::string text = key + " = " + next.text(key);
        spdlog::info("{} from slot {}", text, from.value);
        changes_.add(from.value, key, settings_.text(key), next.text(key));
        events_.say(openwip::telemetry::Event::INFO, "setting", text, from);
    }
    settings_ = next;
    effective_yaml_ = settings_.to_yaml();
    return true;
}

void event_loop::fill(openwip::control::MacStatus& status) {
    status.Clear();
    status.set_role(role_name(config_));
    status.set_effective_yaml(effective_yaml_);
    station_->fill(status);
    status.set_malformed_messages(malformed_);
    status.set_telemetry_sequence(telemetry_.sequence(topic::status));
    status.set_flowgraph_connected(slot_link_->connected());
    status.set_peer_connected(uplink_->connected());
    status.set_peers_refused(uplink_->occupied);
}

void event_loop::slot_done(slot now) {
    last_slot_ = now;
    watched_.replace(tun_at, -1);  // the station has read it already
    if (!station_->tun_alive())
        end_.set({openwip::stop::GONE, "the interface " + config_.tun.name + " is gone"});
    const bool status = telemetry_.due(topic::status, now);
    const bool events = telemetry_.due(topic::event, now);
    if (status || events) {
        auto& mac = *telemetry_.message(topic::status).mutable_mac();
        fill(mac);
        if (events) events_.compare(mac, now);
        if (status) telemetry_.publish(topic::status, now);
    }
    telemetry_.on_slot();
    if (!telemetry_.wanted(topic::event)) events_.forget();
}

bool event_loop::send(peer::peer_link& link, const google::protobuf::MessageLite& message) {
    out_.resize(message.ByteSizeLong());
    message.SerializeWithCachedSizesToArray(out_.data());
    return link.send(out_);
}

bool event_loop::send_to_flowgraph(const google::protobuf::MessageLite& message) {
    return send(*slot_link_, message);
}

void event_loop::to_flowgraph(const ToFlowgraph& message) {
    // the flowgraph has ended, so the frames of the plan count as lost
    if (!send_to_flowgraph(message)) ++unsent_plans_;
}

bool event_loop::to_peer(const google::protobuf::MessageLite& message) {
    return send(*uplink_, message);
}

void event_loop::malformed(const char* socket, const char* why) {
    // The messages 1, 2, 4, 8, ... are logged: a flood of garbage must not become a flood of log
    // lines.
    if (std::has_single_bit(++malformed_))
        spdlog::warn("{}: dropped a malformed message: {} ({} so far on all sockets)", socket, why,
                     malformed_);
}

void event_loop::peer_ends(stop_cause cause, const std::string& why) {
    const std::string text = why.substr(0, 500);
    if (config_.peer_may_leave) {
        spdlog::info("{} ended: {}", name_of(party::peer), text);
        return;
    }
    end_.set({cause, name_of(party::peer) + " ended: " + text});
}

void event_loop::peer_format(const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    const auto why = settings_.misfit(lines);
    // Only the first message of a peer counts: a later wrong one can only be a damaged message.
    if (!why.empty() && peer_fits_)
        malformed("uplink", "a hello that does not fit");
    else if (!why.empty())
        end_.set({openwip::stop::UNFIT, "the base station does not fit: " + why});
    peer_fits_ = true;
}

// To the flowgraph, and to a peer that is there.
void event_loop::say_goodbye(const stop_reason& why) {
    ToFlowgraph stop;
    stop.set_stop(why.words);
    send_to_flowgraph(stop);
    if (uplink_->connected()) station_->say_goodbye(why);
}

std::chrono::nanoseconds event_loop::patience(clock::time_point now) const {
    const auto next = liveness_.next_look();
    if (!next) return -1ns;
    return std::max<std::chrono::nanoseconds>(0ns, *next - now);
}

void event_loop::on_lost(party p) {
    if (p == party::peer && config_.peer_may_leave) {
        if (uplink_->connected()) peer_here_ = false;  // otherwise it is a new connection already
        return;
    }
    liveness_.closed(p, clock::now());
}

void event_loop::check_liveness(clock::time_point now) {
    if (end_.reached()) return;
    const auto found = liveness_.look(station_->waits_for(), now, [this](party p) {
        return (p == party::flowgraph ? *slot_link_ : *uplink_).connected();
    });
    if (!found) return;
    const std::string name = name_of(found->missing);
    if (found->silent)
        end_.set({openwip::stop::SILENT,
                  fmt::format("{} is silent for {} s", name, config_.peer_timeout_s)});
    else
        end_.set({openwip::stop::DIED, name + " died (its connection closed)"});
}

}  // namespace wip::host
