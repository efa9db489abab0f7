// SPDX-License-Identifier: GPL-3.0-or-later
// The surroundings of a station in a test: a TUN that is a socket pair, and a port that keeps what
// was sent.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "macd/macd_config.h"
#include "macd/station.h"
#include "tun/tun_device.h"

namespace wip::host {

// Keeps what was published; nothing is wanted until `want` says so.
class telemetry_spy : public telemetry_port {
public:
    void want(topic t, bool wanted = true) { wanted_[static_cast<std::size_t>(t)] = wanted; }
    bool wanted(topic t) const override { return wanted_[static_cast<std::size_t>(t)]; }
    int every(topic t) const override { return wanted(t) ? rate : 0; }
    int rate = 1;
    openwip::telemetry::Telemetry& message(topic t) override {
        return messages_[static_cast<std::size_t>(t)];
    }
    void publish(topic t, slot now, int user) override {
        auto m = message(t);
        m.set_slot(now.value);
        m.set_user(static_cast<std::uint32_t>(user));
        published[static_cast<std::size_t>(t)].push_back(m);
    }
    const std::vector<openwip::telemetry::Telemetry>& of(topic t) const {
        return published[static_cast<std::size_t>(t)];
    }

private:
    std::array<bool, nof_topics> wanted_{};
    std::array<openwip::telemetry::Telemetry, nof_topics> messages_;
    std::array<std::vector<openwip::telemetry::Telemetry>, nof_topics> published;
};

class station_port_spy : public station_port {
public:
    void to_flowgraph(const openwip::slot_link::ToFlowgraph& m) override {
        if (m.has_plan()) plans.push_back(m.plan());
        if (m.has_detail()) detail_every.push_back(static_cast<int>(m.detail().every()));
        if (m.has_receiver()) receiver.push_back(m.receiver());
    }
    bool to_peer(const google::protobuf::MessageLite& m) override {
        if (!peer_listens) return false;
        sent.push_back(m.SerializeAsString());
        return true;
    }
    void malformed(const char*, const char* why) override { dropped.push_back(why); }
    void peer_ends(stop_cause cause, const std::string& why) override {
        peer_ended = why;
        peer_cause = cause;
    }
    void peer_format(const std::vector<std::string>& lines) override { format = lines; }
    telemetry_port& telemetry() override { return watched; }
    void slot_done(slot now) override { done.push_back(now); }

    openwip::uplink::Uplink last_uplink() const {
        openwip::uplink::Uplink m;
        EXPECT_FALSE(sent.empty());
        if (!sent.empty()) m.ParseFromString(sent.back());
        return m;
    }

    telemetry_spy watched;
    std::vector<std::string> format;
    // values of detail_every in the order in which they were requested
    std::vector<int> detail_every;
    bool peer_listens = true;
    std::vector<openwip::slot_link::SlotPlan> plans;
    std::vector<openwip::slot_link::ReceiverSettings> receiver;
    std::vector<std::string> sent;
    std::vector<std::string> dropped;
    std::vector<slot> done;
    std::string peer_ended;
    stop_cause peer_cause = openwip::stop::CAUSE_UNSPECIFIED;
};

struct tun_pair {
    tun_pair() {
        int pair[2];
        if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair) != 0) std::abort();
        tun = std::make_unique<tun_device>(tun_device::adopt(pair[0]));
        applications = pair[1];
    }
    ~tun_pair() {
        if (applications >= 0) ::close(applications);
    }
    void give(const std::vector<std::uint8_t>& packet) const {
        ASSERT_EQ(::write(applications, packet.data(), packet.size()),
                  static_cast<ssize_t>(packet.size()));
    }
    // The next packet that came out, empty when there is none.
    std::vector<std::uint8_t> take() const {
        std::vector<std::uint8_t> packet(65536);
        const auto n = ::read(applications, packet.data(), packet.size());
        packet.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
        return packet;
    }
    void hang_up() {
        ::close(applications);
        applications = -1;
    }
    std::unique_ptr<tun_device> tun;
    int applications = -1;
};

inline std::vector<std::uint8_t> ip_packet(std::size_t size, std::uint8_t fill = 0x5a) {
    std::vector<std::uint8_t> p(size, fill);
    const std::uint8_t header[] = {0x45,
                                   0,
                                   static_cast<std::uint8_t>(size >> 8),
                                   static_cast<std::uint8_t>(size),
                                   0,
                                   0,
                                   0,
                                   0,
                                   64,
                                   17,
                                   0,
                                   0,
                                   10,
                                   42,
                                   0,
                                   1,
                                   10,
                                   42,
                                   0,
                                   2};
    std::copy(std::begin(header), std::end(header), p.begin());
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < 20; i += 2) sum += static_cast<std::uint32_t>(p[i] << 8 | p[i + 1]);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ~((sum & 0xffff) + (sum >> 16));
    p[10] = static_cast<std::uint8_t>(sum >> 8);
    p[11] = static_cast<std::uint8_t>(sum);
    return p;
}

inline macd_config configuration(const std::string& role,
                                 const std::vector<std::string>& assignments = {}) {
    config::settings s(macd_keys());
    s.merge_assignment("role=" + role);
    for (const auto& a : assignments) s.merge_assignment(a);
    return translate(s);
}

template <class Drops>
std::uint64_t dropped_with(const Drops& direction, const std::string& reason) {
    for (const auto& d : direction.dropped())
        if (d.reason() == reason) return d.count().packets();
    return 0;
}

inline bool conserved(const openwip::control::Direction& d) {
    std::uint64_t packets = d.delivered().packets() + d.queued().packets();
    std::uint64_t bytes = d.delivered().bytes() + d.queued().bytes();
    for (const auto& drop : d.dropped()) {
        packets += drop.count().packets();
        bytes += drop.count().bytes();
    }
    return packets == d.in().packets() && bytes == d.in().bytes();
}

}  // namespace wip::host
