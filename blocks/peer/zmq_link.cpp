// SPDX-License-Identifier: GPL-3.0-or-later
// A ZeroMQ socket as a peer_link: ROUTER (bound) and DEALER. A PAIR will not do: it accepts a new
// partner only after the process has closed the connection to the last one; a process that connects
// earlier stays connected and is never answered. ZeroMQ hides connections; its monitor reports
// them, and a kill -9 of the other process shows at once as a closed connection, long before a
// timeout. Strangers that are no DEALER, or that do not speak the protocol, are turned away by
// ZeroMQ and leave the connection count alone. Silence is noticed by ZMTP heartbeats.
//
// The connecting end sends a `knock` as soon as the connection is established, and the bound end
// counts as connected when it has read that knock, or any other message: it then knows whom it
// answers, and that messages pass in both directions.
//
// The bound end has one partner at a time. A second one, which over TCP may have the same key, is
// not refused by ZeroMQ: it is told here that the line is occupied, as soon as it is known that the
// partner is alive (it has sent something since, or heartbeats have not failed). So a process that
// reconnects before the end of its old connection is noticed is accepted. A refused process sends
// nothing but knocks, with which it is accepted as soon as the partner is gone. A control message
// of the line (knock, occupied) has two parts, of which the first is empty and the second is its
// name.
//
// Over TCP no messages are queued without a partner: they would be out of date when it connects.
// With keys (curve_keys.h) the binding end checks that the connecting process has the key that it
// knows (ZAP, RFC 27, in this thread).
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>
#include <zmq.hpp>

#include "peer/curve_keys.h"
#include "peer/endpoint.h"
#include "peer/peer_link.h"
#include "types/descriptor.h"
#include "types/failure.h"

namespace wip::peer {
namespace {

// Largest message taken: an uplink slot at 1 Gbit/s is 83 kB.
constexpr std::int64_t largest_message = 4 << 20;
// A station that cannot send this many slots is seconds behind.
constexpr int queue_limit = 4096;
constexpr int linger_ms = 200;  // time at the end for messages that are still queued
constexpr int reconnect_ms = 50;
// Time after which an attempt to connect to a machine that does not answer is repeated.
constexpr int connect_ms = 500;
constexpr auto knock_every = std::chrono::milliseconds(20);
// A partner that has been silent for this long is known to be alive by the heartbeats alone.
constexpr auto partner_is_alive = std::chrono::milliseconds(1500);
// Most strangers that are remembered, with whether they have been told that the line is occupied.
constexpr std::size_t most_strangers = 64;
constexpr std::string_view control_occupied = "occupied", control_knock = "knock";
const char* const monitor_address = "inproc://monitor";
const char* const zap_address = "inproc://zeromq.zap.01";

bool over_tcp(const link_config& config) { return config.endpoint.starts_with("tcp://"); }

zmq::socket_type kind_of(const link_config& config) {
    return config.which == end::bind ? zmq::socket_type::router : zmq::socket_type::dealer;
}

class zmq_link final : public peer_link {
public:
    explicit zmq_link(const link_config& config)
        : socket_(context_, kind_of(config)),
          monitor_(context_, zmq::socket_type::pair),
          routed_(config.which == end::bind) {
        socket_.set(zmq::sockopt::sndhwm, queue_limit);
        socket_.set(zmq::sockopt::rcvhwm, queue_limit);
        socket_.set(zmq::sockopt::linger, linger_ms);
        socket_.set(zmq::sockopt::maxmsgsize, largest_message);
        socket_.set(zmq::sockopt::reconnect_ivl, reconnect_ms);
        // send() then fails if the queue is full or there is no such peer; otherwise the message
        // would vanish.
        if (routed_) socket_.set(zmq::sockopt::router_mandatory, true);
        if (const int silence_ms = static_cast<int>(config.silence.count()); silence_ms > 0) {
            socket_.set(zmq::sockopt::heartbeat_ivl, std::max(silence_ms / 4, 25));
            socket_.set(zmq::sockopt::heartbeat_timeout, silence_ms);
        }
        if (over_tcp(config)) {
            socket_.set(zmq::sockopt::immediate, true);
            socket_.set(zmq::sockopt::connect_timeout, connect_ms);
            socket_.set(zmq::sockopt::handshake_ivl, 2 * connect_ms);
            socket_.set(zmq::sockopt::ipv6, config.endpoint.find('[') != std::string::npos);
        }
        if (!config.keys.empty()) use_keys(config);
        if (zmq_socket_monitor(socket_.handle(), monitor_address,
                               ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_CONNECTED |
                                   ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED |
                                   ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                                   ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                   ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) != 0)
            throw zmq::error_t();
        monitor_.connect(monitor_address);
        if (config.which == end::bind) {
            bind_endpoint(socket_, config.endpoint, "endpoints." + config.name);
        } else {
            try {
                socket_.connect(config.endpoint);
            } catch (const zmq::error_t& e) {
                throw bad_input("endpoints." + config.name + " is " + config.endpoint + ": " +
                                e.what());
            }
        }
        message_fd_ = socket_.get(zmq::sockopt::fd);
        connection_events_ = checked(::epoll_create1(EPOLL_CLOEXEC));
        bell_ = checked(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
        watch_for(bell_.get());
        watch_for(monitor_.get(zmq::sockopt::fd));
        if (zap_socket_) watch_for(zap_socket_->get(zmq::sockopt::fd));
    }

    int message_fd() const override { return message_fd_; }
    int connection_fd() const override { return connection_events_.get(); }
    bool connected() const override { return connected_ && !refused_; }
    bool watch() override {
        if (zap_socket_) answer_zap();
        std::uint64_t rings = 0;
        (void)!::read(bell_.get(), &rings, sizeof rings);
        take_events();
        if (routed_ && partner_.empty()) look_for_partner();
        const bool lost = std::exchange(lost_, false);
        return std::exchange(refused_now_, false) || (lost && !connected_);
    }

    bool receive(std::span<const std::uint8_t>& out) override {
        if (std::exchange(message_is_held_, false)) {
            out = {in_.data<std::uint8_t>(), in_.size()};
            return open_ = true;
        }
        while (socket_.recv(in_, zmq::recv_flags::dontwait)) {
            if (take() == received_kind::message) {
                out = {in_.data<std::uint8_t>(), in_.size()};
                return open_ = true;
            }
        }
        return open_ = false;
    }

    bool send(std::span<const std::uint8_t> message, bool) override {
        if (!connected_ && !routed_ && take_events()) ring();
        if (!connected_) return false;  // the socket was not used: it may rest
        if (refused_) {
            if (clock::now() - knocked_ >= knock_every) knock();
            return false;
        }
        open_ = true;
        if (try_to_send(message)) return true;
        // ZeroMQ looks only now and then whether there is room again.
        take_in_commands();
        return try_to_send(message);
    }

    // A ZeroMQ descriptor signals once: a socket that was used since is "open" until a receive has
    // found it empty, and rest() does not allow sleeping while it is open.
    bool rest(bool) override { return !open_; }
    void rise(bool readable) override { open_ |= readable; }

private:
    void use_keys(const link_config& config) {
        const auto keys = read_curve_keys(config.keys, config.which);
        if (config.which == end::connect) {
            socket_.set(zmq::sockopt::curve_serverkey, keys.other_public);
            socket_.set(zmq::sockopt::curve_publickey, keys.own_public);
            socket_.set(zmq::sockopt::curve_secretkey, keys.own_secret);
            return;
        }
        allowed_.resize(32);
        zmq_z85_decode(reinterpret_cast<std::uint8_t*>(allowed_.data()), keys.other_public.c_str());
        zap_socket_.emplace(context_, zmq::socket_type::rep);
        zap_socket_->bind(zap_address);
        socket_.set(zmq::sockopt::curve_server, true);
        socket_.set(zmq::sockopt::curve_secretkey, keys.own_secret);
        socket_.set(zmq::sockopt::zap_domain, "openwip");
    }

    static descriptor checked(int fd) {
        if (fd < 0) throw zmq::error_t();
        return descriptor(fd);
    }

    void watch_for(int fd) {
        epoll_event event{};
        event.events = EPOLLIN;
        if (::epoll_ctl(connection_events_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
            throw zmq::error_t();
    }

    // Makes connection_fd() readable for events that have been read from the monitor already.
    void ring() {
        const std::uint64_t one = 1;
        (void)!::write(bell_.get(), &one, sizeof one);
    }

    // Request of ZAP: version, number, domain, address, identity, mechanism, key. Reply: version,
    // number, status code, status text, user, metadata (empty).
    void answer_zap() {
        zmq::message_t frame;
        while (zap_socket_->recv(frame, zmq::recv_flags::dontwait)) {
            std::vector<std::string> asked{frame.to_string()};
            while (frame.more() && zap_socket_->recv(frame, zmq::recv_flags::dontwait))
                asked.push_back(frame.to_string());
            const bool good = asked.size() == 7 && asked[5] == "CURVE" && asked[6] == allowed_;
            if (!good)
                refusal = (asked.size() > 3 ? asked[3] : "somebody") +
                          " has another key than that of " + "client.public";
            const std::array<std::string, 6> answer{
                "1.0", asked.size() > 1 ? asked[1] : "", good ? "200" : "400", "", "", ""};
            for (std::size_t i = 0; i < answer.size(); ++i)
                zap_socket_->send(zmq::buffer(answer[i]), i + 1 < answer.size()
                                                              ? zmq::send_flags::sndmore
                                                              : zmq::send_flags::none);
        }
    }

    // The monitor's messages have two parts: event number (16 bits) and value (32 bits), then an
    // address. True: there was one.
    bool take_events() {
        bool any = false;
        zmq::message_t frame;
        while (monitor_.recv(frame, zmq::recv_flags::dontwait)) {
            any = true;
            std::uint16_t event = 0;
            std::uint32_t value = 0;
            if (frame.size() < sizeof event + sizeof value) continue;
            const auto* bytes = frame.data<std::uint8_t>();
            std::memcpy(&event, bytes, sizeof event);
            std::memcpy(&value, bytes + sizeof event, sizeof value);
            while (frame.more() && monitor_.recv(frame, zmq::recv_flags::dontwait)) {
            }
            on_event(event, static_cast<int>(value));
        }
        return any;
    }

    void on_event(std::uint16_t event, int fd) {
        if (event == ZMQ_EVENT_ACCEPTED || event == ZMQ_EVENT_CONNECTED) {
            accepted_fd_ = fd;
            closed_.erase(fd);
        } else if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED && !routed_ && live_fd_ < 0) {
            live_fd_ = accepted_fd_;
            connected_ = true;
            refused_ = false;
            // ZeroMQ sends to the new connection only after the socket has processed the end of the
            // last one.
            take_in_commands();
            knock();
        } else if (event == ZMQ_EVENT_DISCONNECTED) {
            if (routed_) closed_.insert(fd);
            if (fd == live_fd_) lose();
        } else if (!zap_socket_ && (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH ||
                                    event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL ||
                                    event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)) {
            refusal =
                "the handshake with the other end failed: one of the two has other keys, or none";
        }
    }

    // Makes the socket process what ZeroMQ's own thread has reported to it: connections, their
    // ends, room in the queues. The descriptor may have signalled that.
    void take_in_commands() {
        (void)socket_.get(zmq::sockopt::events);
        open_ = true;
    }

    bool try_to_send(std::span<const std::uint8_t> message) {
        return (!routed_ || send_part(partner_, ZMQ_SNDMORE)) &&
               send_part({reinterpret_cast<const char*>(message.data()), message.size()}, 0);
    }

    // Returns false when the queue is full, or there is no partner (a ROUTER then fails with
    // EHOSTUNREACH).
    bool send_part(std::string_view part, int more) {
        const int sent = zmq_send(socket_.handle(), part.data(), part.size(), more | ZMQ_DONTWAIT);
        if (sent < 0 && zmq_errno() != EAGAIN && zmq_errno() != EHOSTUNREACH) throw zmq::error_t();
        return sent >= 0;
    }

    void lose() {
        live_fd_ = -1;
        if (!partner_.empty()) former_partner_ = std::exchange(partner_, {});
        connected_ = false;
        lost_ = true;
    }

    // The bound end looks for a partner when it has none. A message that it reads while doing so is
    // held for receive().
    void look_for_partner() {
        open_ = true;
        while (!message_is_held_ && partner_.empty() &&
               socket_.recv(in_, zmq::recv_flags::dontwait))
            message_is_held_ = take() == received_kind::message;
    }

    enum class received_kind : std::uint8_t { message, control, malformed };
    using clock = std::chrono::steady_clock;

    // `in_` has the first part of a control message: true when `word` is the rest of it.
    bool take_control(std::string_view word) {
        return in_.size() == 0 && in_.more() && socket_.recv(in_, zmq::recv_flags::dontwait) &&
               !in_.more() && in_.to_string_view() == word;
    }

    // Receives the rest of what has its first part in `in_`. A message is in `in_` afterwards,
    // anything else is discarded.
    received_kind take() {
        const received_kind what = routed_ ? receive_routed() : receive_plain();
        if (what == received_kind::message) return what;
        while (in_.more() && socket_.recv(in_, zmq::recv_flags::dontwait)) {
        }
        malformed_messages += what == received_kind::malformed;
        return what;
    }

    received_kind receive_plain() {
        if (!in_.more()) {
            refused_ = false;
            return received_kind::message;
        }
        if (!take_control(control_occupied)) return received_kind::malformed;
        if (!refused_) {
            refused_now_ = connected();
            ++occupied;
            refusal =
                "the other end has a partner already, whose connection is alive; this one goes on "
                "trying";
        }
        refused_ = true;
        return received_kind::control;
    }

    // Receives the rest of a message, of which `in_` has the routing id; then `in_` has the
    // message. Malformed: it does not have one part, or is from a stranger. Without a partner the
    // first sender becomes the partner, until its connection is lost. Messages of a lost connection
    // are still received, but do not make their sender a partner again. The same holds if the
    // connection was lost before a message of it was read.
    received_kind receive_routed() {
        const std::string from = in_.to_string();
        if (!in_.more() || !socket_.recv(in_, zmq::recv_flags::dontwait))
            return received_kind::malformed;
        const int fd = zmq_msg_get(in_.handle(), ZMQ_SRCFD);
        const char* address = zmq_msg_gets(in_.handle(), "Peer-Address");
        const std::string where = address != nullptr ? address : "somebody";
        const bool knocked = in_.more();
        if (knocked && !take_control(control_knock)) return received_kind::malformed;
        // If the partner's connection has ended, the event of that came before a message of the
        // next partner.
        if (!partner_.empty() && from != partner_ && from != former_partner_ && take_events())
            ring();
        if (partner_.empty() && closed_.contains(fd)) former_partner_ = from;
        const bool is_former_partner = from == former_partner_;
        // The partner spoke over a connection that was lost, and its descriptor has a new owner.
        if (!partner_.empty() && from != partner_ && !is_former_partner && fd == live_fd_) lose();
        if (partner_.empty() && !is_former_partner) {
            partner_ = from;
            live_fd_ = fd;
            connected_ = true;
            strangers_.clear();
        }
        if (from == partner_) partner_spoke_ = clock::now();
        if (!is_former_partner && from != partner_) turn_away(from, where);
        if (knocked) return received_kind::control;
        return is_former_partner || from == partner_ ? received_kind::message
                                                     : received_kind::malformed;
    }

    void turn_away(const std::string& stranger, const std::string& where) {
        const auto now = clock::now();
        if (strangers_.size() >= most_strangers && !strangers_.contains(stranger))
            strangers_.clear();
        auto& first_message = strangers_.try_emplace(stranger, now).first->second;
        if (!first_message ||
            (partner_spoke_ <= *first_message && now - *first_message < partner_is_alive))
            return;
        first_message.reset();
        ++occupied;
        refusal =
            where + " may come in, but the line has a partner, who keeps his place; it is told so";
        if (send_part(stranger, ZMQ_SNDMORE) && send_part({}, ZMQ_SNDMORE))
            send_part(control_occupied, 0);
    }

    // The connecting end announces that it is there, or still there.
    void knock() {
        knocked_ = clock::now();
        open_ = true;
        if (send_part({}, ZMQ_SNDMORE)) send_part(control_knock, 0);
    }

    zmq::context_t context_{1};
    std::optional<zmq::socket_t> zap_socket_;  // on which ZeroMQ asks whether a key is accepted
    std::string allowed_;                      // that key, 32 bytes
    zmq::socket_t socket_;
    zmq::socket_t monitor_;
    descriptor connection_events_;  // epoll: the monitor, the bell and, with keys, the ZAP socket
    descriptor bell_;
    int message_fd_ = -1;
    bool connected_ = false;
    bool lost_ = false;  // a connection was lost since the last watch()
    bool open_ = true;   // the socket was used: it has to be read until it is empty before sleeping
    bool message_is_held_ = false;  // `in_` has a message that receive() has not given yet
    const bool routed_;             // bound
    std::string partner_;  // routing id of the partner, from the first message of its connection
    std::string former_partner_;  // routing id of the partner before
    std::set<int> closed_;        // descriptors of connections that were lost
    clock::time_point partner_spoke_{};
    // Strangers, with the time of their first message; nullopt: they have been told that the line
    // is occupied.
    std::map<std::string, std::optional<clock::time_point>> strangers_;
    bool refused_ = false;  // by the bound end, which has another partner
    bool refused_now_ = false;
    clock::time_point knocked_{};
    int accepted_fd_ = -1;
    int live_fd_ = -1;
    zmq::message_t in_;
};

}  // namespace

std::unique_ptr<peer_link> make_zmq_link(const link_config& config) {
    return std::make_unique<zmq_link>(config);
}

}  // namespace wip::peer
