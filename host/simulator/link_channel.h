// SPDX-License-Identifier: GPL-3.0-or-later
// A pair of packet links as ns-3's channel, and ns-3's scheduler as their calendar: an event at the
// links' next_wakeup() moves them on, what they deliver goes up in the node that it is for, what a
// node sends is offered at the time of its event. Device 0 is the server's, the next ones are the
// terminals', whose number is the packet's tag.
#pragma once

#include <ns3/channel.h>
#include <ns3/event-id.h>
#include <ns3/net-device.h>
#include <ns3/node.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "packet/terminal_router.h"
#include "port/packet_link.h"

namespace wip::simulator {

class link_device;

constexpr std::uint16_t usual_mtu = 1500;  // bytes

class link_channel final : public ns3::Channel {
public:
    static ns3::TypeId GetTypeId();

    // Every packet that a node sends or gets, and when.
    using watch_fn = std::function<void(std::int64_t now_ns, std::span<const std::uint8_t>)>;

    // `address`: with the length of the prefix. Calls in the order of the sides, then connect().
    void attach(const ns3::Ptr<ns3::Node>& node, const std::string& address,
                std::uint16_t mtu = usual_mtu);
    // The links outlive the simulation.
    void connect(packet_link& down, packet_link& up);
    void watch(watch_fn seen) { seen_ = std::move(seen); }

    packets_bytes sent(std::size_t side) const { return sides_[side].sent; }
    packets_bytes received(std::size_t side) const { return sides_[side].received; }
    // The received packets that had bit errors and ended at the interface.
    std::uint64_t damaged(std::size_t side) const { return sides_[side].damaged; }
    // The router of the first side's packets, from connect() on.
    const packet_model::terminal_router& router() const { return *router_; }
    std::size_t GetNDevices() const override { return sides_.size(); }
    ns3::Ptr<ns3::NetDevice> GetDevice(std::size_t i) const override;

    // Sends a packet of a device.
    void send(std::size_t side, const ns3::Ptr<const ns3::Packet>& packet);

private:
    struct end {
        ns3::Ptr<link_device> device;
        std::string address;
        packets_bytes sent, received;
        std::uint64_t damaged = 0;
    };
    void deliver(std::size_t side, const link_packet& packet);
    void wake();
    void plan();
    std::int64_t next_wakeup() const;

    packet_link *down_ = nullptr, *up_ = nullptr;
    std::optional<packet_model::terminal_router> router_;
    std::vector<end> sides_;
    std::vector<std::uint8_t> bytes_;
    watch_fn seen_;
    ns3::EventId event_;
    std::int64_t planned_ns_ = packet_link::never;
    bool awake_ = false;
};

// An interface for IP packets, without addresses of its own and without ARP.
class link_device final : public ns3::NetDevice {
public:
    static ns3::TypeId GetTypeId();

    void be(const ns3::Ptr<link_channel>& channel, std::size_t side);
    void receive(std::span<const std::uint8_t> packet);

    void SetIfIndex(std::uint32_t index) override { index_ = index; }
    std::uint32_t GetIfIndex() const override { return index_; }
    ns3::Ptr<ns3::Channel> GetChannel() const override { return channel_; }
    void SetAddress(ns3::Address /*address*/) override {}
    ns3::Address GetAddress() const override;
    bool SetMtu(std::uint16_t mtu) override {
        mtu_ = mtu;
        return true;
    }
    std::uint16_t GetMtu() const override { return mtu_; }
    bool IsLinkUp() const override { return true; }
    void AddLinkChangeCallback(ns3::Callback<void> /*changed*/) override {}
    bool IsBroadcast() const override { return false; }
    ns3::Address GetBroadcast() const override { return GetAddress(); }
    bool IsMulticast() const override { return false; }
    ns3::Address GetMulticast(ns3::Ipv4Address /*group*/) const override { return GetAddress(); }
    ns3::Address GetMulticast(ns3::Ipv6Address /*group*/) const override { return GetAddress(); }
    bool IsBridge() const override { return false; }
    bool IsPointToPoint() const override { return true; }
    bool Send(ns3::Ptr<ns3::Packet> packet, const ns3::Address& to,
              std::uint16_t protocol) override;
    bool SendFrom(ns3::Ptr<ns3::Packet> packet, const ns3::Address& from, const ns3::Address& to,
                  std::uint16_t protocol) override;
    ns3::Ptr<ns3::Node> GetNode() const override { return node_; }
    void SetNode(ns3::Ptr<ns3::Node> node) override { node_ = node; }
    bool NeedsArp() const override { return false; }
    void SetReceiveCallback(ReceiveCallback up) override { up_ = up; }
    void SetPromiscReceiveCallback(PromiscReceiveCallback /*up*/) override {}
    bool SupportsSendFrom() const override { return false; }

private:
    void DoDispose() override;

    ns3::Ptr<link_channel> channel_;
    std::size_t side_ = 0;
    std::uint16_t mtu_ = usual_mtu;
    std::uint32_t index_ = 0;
    ns3::Ptr<ns3::Node> node_;
    ReceiveCallback up_;
};

}  // namespace wip::simulator
