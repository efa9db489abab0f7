// SPDX-License-Identifier: GPL-3.0-or-later
// A ZeroMQ socket as a peer_link: PAIR, or over TCP ROUTER (bound) and DEALER, since a PAIR that is
// not done with its last partner leaves the next one connected and unheard. ZeroMQ hides
// connections; its monitor tells of them, and a
// kill -9 of the other process shows at once as a closed connection, long before a timeout.
// Strangers that try to join a pair, or that do not speak the protocol, are turned away by ZeroMQ
// and leave the connection count alone. Silence is told by ZMTP heartbeats.
//
// Over TCP the bound end has one partner at a time. A second one, who may have the same key, is not
// turned away by ZeroMQ: he is told here that the line is occupied, once it is known that the
// partner is alive (he has spoken since, or heartbeats would have shown that he is not); so one who
// comes back before the death of his old connection is seen is let in and not refused. Who is
// refused sends nothing but knocks, with which he comes in as soon as the partner is gone. A line
// word is a message of two parts, of which the first is empty and the second says what it is.
//
// Over TCP nothing is kept for a partner who is not there: what is old when he comes is of no use.
// With keys (curve_keys.h) the binding end asks of everybody who connects whether his is the one
// that it knows (ZAP, RFC 27, in this thread).
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
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
constexpr int linger_ms = 200;  // for the last word
constexpr int reconnect_ms = 50;
// To a machine that is off, or behind a cable that is out.
constexpr int connect_ms = 500;
constexpr auto knock_every = std::chrono::milliseconds(20);
// After so long a partner who is not heard is known to be alive by the heartbeats alone.
constexpr auto partner_is_alive = std::chrono::milliseconds(1500);
// Those of whom it is known whether they have been told.
constexpr std::size_t most_strangers = 64;
constexpr std::string_view word_occupied = "occupied", word_knock = "knock";
const char* const monitor_address = "inproc://monitor";
const char* const door_address = "inproc://zeromq.zap.01";

bool over_tcp(const link_config& config) { return config.endpoint.starts_with("tcp://"); }

zmq::socket_type kind_of(const link_config& config) {
    if (!over_tcp(config)) return zmq::socket_type::pair;
    return config.which == end::bind ? zmq::socket_type::router : zmq::socket_type::dealer;
}

class zmq_link final : public peer_link {
public:
    explicit zmq_link(const link_config& config)
        : socket_(context_, kind_of(config)),
          monitor_(context_, zmq::socket_type::pair),
          over_tcp_(over_tcp(config)),
          routed_(over_tcp_ && config.which == end::bind) {
        socket_.set(zmq::sockopt::sndhwm, queue_limit);
        socket_.set(zmq::sockopt::rcvhwm, queue_limit);
        socket_.set(zmq::sockopt::linger, linger_ms);
        socket_.set(zmq::sockopt::maxmsgsize, largest_message);
        socket_.set(zmq::sockopt::reconnect_ivl, reconnect_ms);
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
                throw bad_input("endpoints." + config.name + " = " + config.endpoint + ": " +
                                e.what());
            }
        }
        message_fd_ = socket_.get(zmq::sockopt::fd);
        connection_fd_ = monitor_.get(zmq::sockopt::fd);
        if (!door_) return;
        both_ = descriptor(::epoll_create1(EPOLL_CLOEXEC));
        if (!both_.valid()) throw zmq::error_t();
        watch_for(monitor_);
        watch_for(*door_);
        connection_fd_ = both_.get();
    }

    int message_fd() const override { return message_fd_; }
    int connection_fd() const override { return connection_fd_; }
    bool connected() const override { return connected_ && !refused_; }
    // The monitor's messages have two parts: event number (16 bits) and value (32 bits), then an
    // address.
    bool watch() override {
        if (door_) answer_doorbell();
        bool lost = std::exchange(refused_now_, false);
        zmq::message_t frame;
        while (monitor_.recv(frame, zmq::recv_flags::dontwait)) {
            std::uint16_t event = 0;
            std::uint32_t value = 0;
            if (frame.size() < sizeof event + sizeof value) continue;
            const auto* bytes = frame.data<std::uint8_t>();
            std::memcpy(&event, bytes, sizeof event);
            std::memcpy(&value, bytes + sizeof event, sizeof value);
            while (frame.more() && monitor_.recv(frame, zmq::recv_flags::dontwait)) {
            }
            const int fd = static_cast<int>(value);
            if (event == ZMQ_EVENT_ACCEPTED || event == ZMQ_EVENT_CONNECTED) {
                accepted_fd_ = fd;
                if (fd == unheard_fd_) unheard_fd_ = -1;
            } else if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED && live_fd_ < 0) {
                live_fd_ = accepted_fd_;
                connected_ = true;
                refused_ = false;
                lost = false;
            } else if (event == ZMQ_EVENT_DISCONNECTED && fd == live_fd_) {
                live_fd_ = -1;
                if (partner_.empty())
                    unheard_fd_ = fd;
                else
                    gone_ = std::exchange(partner_, {});
                connected_ = false;
                lost = true;
            } else if (!door_ && (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH ||
                                  event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL ||
                                  event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)) {
                refusal =
                    "the handshake with the other end failed: one of the two has other keys, or "
                    "none";
            }
        }
        return lost;
    }

    bool receive(std::span<const std::uint8_t>& out) override {
        while (socket_.recv(in_, zmq::recv_flags::dontwait)) {
            const taken what = routed_ ? receive_routed() : receive_plain();
            if (what == taken::message) {
                out = {in_.data<std::uint8_t>(), in_.size()};
                return open_ = true;
            }
            while (in_.more() && socket_.recv(in_, zmq::recv_flags::dontwait)) {
            }
            odd_messages += what == taken::odd;
        }
        return open_ = false;
    }

    bool send(std::span<const std::uint8_t> message, bool) override {
        if (routed_ && partner_.empty()) return false;  // the socket was not used: it may rest
        if (refused_) {
            knock();
            return false;
        }
        open_ = true;
        if (routed_ && !socket_.send(zmq::buffer(partner_),
                                     zmq::send_flags::sndmore | zmq::send_flags::dontwait))
            return false;
        return socket_
            .send(zmq::const_buffer(message.data(), message.size()), zmq::send_flags::dontwait)
            .has_value();
    }

    // A ZeroMQ descriptor signals once: a socket that was used since is "open" until a receive has
    // found it empty, and nobody sleeps over an open one.
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
        door_.emplace(context_, zmq::socket_type::rep);
        door_->bind(door_address);
        socket_.set(zmq::sockopt::curve_server, true);
        socket_.set(zmq::sockopt::curve_secretkey, keys.own_secret);
        socket_.set(zmq::sockopt::zap_domain, "openwip");
    }

    void watch_for(zmq::socket_t& socket) {
        epoll_event event{};
        event.events = EPOLLIN;
        if (::epoll_ctl(both_.get(), EPOLL_CTL_ADD, socket.get(zmq::sockopt::fd), &event) != 0)
            throw zmq::error_t();
    }

    // Asked: version, number, domain, address, identity, mechanism, key. Answered: version, number,
    // code, text, user, nothing.
    void answer_doorbell() {
        zmq::message_t frame;
        while (door_->recv(frame, zmq::recv_flags::dontwait)) {
            std::vector<std::string> asked{frame.to_string()};
            while (frame.more() && door_->recv(frame, zmq::recv_flags::dontwait))
                asked.push_back(frame.to_string());
            const bool good = asked.size() == 7 && asked[5] == "CURVE" && asked[6] == allowed_;
            if (!good)
                refusal = (asked.size() > 3 ? asked[3] : "somebody") +
                          " has another key than that of " + "client.public";
            const std::array<std::string, 6> answer{
                "1.0", asked.size() > 1 ? asked[1] : "", good ? "200" : "400", "", "", ""};
            for (std::size_t i = 0; i < answer.size(); ++i)
                door_->send(zmq::buffer(answer[i]), i + 1 < answer.size() ? zmq::send_flags::sndmore
                                                                          : zmq::send_flags::none);
        }
    }

    enum class taken : std::uint8_t { message, line_word, odd };
    using clock = std::chrono::steady_clock;

    // `in_` has the first part of a line word: true when `word` is the rest of it.
    bool take_word(std::string_view word) {
        return in_.size() == 0 && in_.more() && socket_.recv(in_, zmq::recv_flags::dontwait) &&
               !in_.more() && in_.to_string_view() == word;
    }

    taken receive_plain() {
        if (!in_.more()) {
            refused_ = false;
            return taken::message;
        }
        if (!over_tcp_ || !take_word(word_occupied)) return taken::odd;
        if (!refused_) {
            refused_now_ = connected();
            ++occupied;
            refusal =
                "the other end has a partner already, whose connection is alive; this one goes on "
                "trying";
        }
        refused_ = true;
        return taken::line_word;
    }

    // In `in_` is the routing id; then the message is. Odd: not of one part, or a stranger's. Who
    // speaks first when nobody is there is the partner, until his connection is lost: what is there
    // of him then is still taken, but makes nobody a partner again.
    taken receive_routed() {
        const std::string from = in_.to_string();
        if (!in_.more() || !socket_.recv(in_, zmq::recv_flags::dontwait)) return taken::odd;
        const int fd = zmq_msg_get(in_.handle(), ZMQ_SRCFD);
        const char* address = zmq_msg_gets(in_.handle(), "Peer-Address");
        const std::string where = address != nullptr ? address : "somebody";
        const bool knocked = in_.more();
        if (knocked && !take_word(word_knock)) return taken::odd;
        const bool gone = from == gone_ || fd == unheard_fd_;
        if (partner_.empty() && !gone) {
            partner_ = from;
            live_fd_ = fd;
            connected_ = true;
            strangers_.clear();
        }
        if (from == partner_) partner_spoke_ = clock::now();
        if (!gone && from != partner_) turn_away(from, where);
        if (knocked) return taken::line_word;
        return gone || from == partner_ ? taken::message : taken::odd;
    }

    void turn_away(const std::string& stranger, const std::string& where) {
        const auto now = clock::now();
        if (strangers_.size() >= most_strangers && !strangers_.contains(stranger))
            strangers_.clear();
        auto& his = strangers_.try_emplace(stranger, now).first->second;
        if (!his || (partner_spoke_ <= *his && now - *his < partner_is_alive)) return;
        his.reset();
        ++occupied;
        refusal = where +
                  " has the right key, but the line has a partner, who keeps his place; it is told "
                  "so";
        for (const std::string_view part : {std::string_view(stranger), std::string_view()})
            if (!socket_.send(zmq::buffer(part),
                              zmq::send_flags::sndmore | zmq::send_flags::dontwait))
                return;
        socket_.send(zmq::buffer(word_occupied), zmq::send_flags::dontwait);
    }

    // By the one who was refused.
    void knock() {
        const auto now = clock::now();
        if (now - knocked_ < knock_every) return;
        knocked_ = now;
        open_ = true;
        if (socket_.send(zmq::message_t(), zmq::send_flags::sndmore | zmq::send_flags::dontwait))
            socket_.send(zmq::buffer(word_knock), zmq::send_flags::dontwait);
    }

    zmq::context_t context_{1};
    std::optional<zmq::socket_t> door_;  // asks whether a key may come in
    std::string allowed_;                // that key, 32 bytes
    zmq::socket_t socket_;
    zmq::socket_t monitor_;
    int message_fd_ = -1, connection_fd_ = -1;
    bool connected_ = false;
    descriptor both_;  // of door and monitor, where there are both
    bool open_ = true;
    const bool over_tcp_;
    const bool routed_;    // bound, over TCP
    std::string partner_;  // his routing id: of the first message of his connection
    std::string gone_;     // that of the last one
    int unheard_fd_ = -1;  // of one whose connection was lost before a message of his was taken
    clock::time_point partner_spoke_{};
    // Others who speak meanwhile: when they did so first; nothing: they have been told.
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
