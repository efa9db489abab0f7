// SPDX-License-Identifier: GPL-3.0-or-later
#include "simulator/link_channel.h"

#include <ns3/ipv4-address.h>
#include <ns3/ipv4.h>
#include <ns3/mac48-address.h>
#include <ns3/packet.h>
#include <ns3/simulator.h>

#include <algorithm>
#include <cstddef>

#include "wire/ip_header.h"

namespace wip::simulator {
namespace {

constexpr std::uint16_t ipv4_protocol = 0x0800;  // EtherType

// Links may deliver what they have damaged. ns-3 reads headers before it looks at checksums, and
// some that cannot be end it.
bool intact(std::span<const std::uint8_t> packet) {
    constexpr std::uint8_t tcp = 6, udp = 17;  // protocol numbers of IP
    if (packet.empty() || packet.size() < ip_header_bytes(packet[0])) return false;
    const auto ip = read_ip_header(packet);
    if (!ip || ip->version != 4 || ip->total_bytes != packet.size()) return false;
    const std::uint8_t protocol = packet[9];
    if (protocol != tcp && protocol != udp) return true;
    const auto segment = packet.subspan(ip->header_bytes);
    const auto pseudo = static_cast<std::uint32_t>(protocol + segment.size());
    return internet_sum(segment, internet_sum(packet.subspan(12, 8)) + pseudo) == 0xffff;
}

}  // namespace

ns3::TypeId link_channel::GetTypeId() {
    static const ns3::TypeId id = ns3::TypeId("wip::link_channel").SetParent<ns3::Channel>();
    return id;
}

void link_channel::connect(packet_link& down, packet_link& up) {
    down_ = &down, up_ = &up;
    std::vector<std::string> terminals;
    for (std::size_t i = 1; i < sides_.size(); ++i) terminals.push_back(sides_[i].address);
    router_.emplace(terminals);
    down.deliver_to([this](const link_packet& p) {
        deliver(static_cast<std::size_t>(p.tag) + 1, p);
        return 0;
    });
    up.deliver_to([this](const link_packet& p) {
        deliver(0, p);
        return 0;
    });
    plan();
}

void link_channel::attach(const ns3::Ptr<ns3::Node>& node, const std::string& address,
                          std::uint16_t mtu) {
    const auto slash = address.find('/');
    const int prefix = std::stoi(address.substr(slash + 1));
    const auto device = ns3::CreateObject<link_device>();
    device->be(this, sides_.size());
    device->SetMtu(mtu);
    sides_.push_back({device, address, {}, {}, 0});
    node->AddDevice(device);
    const auto ip = node->GetObject<ns3::Ipv4>();
    const std::uint32_t interface = ip->AddInterface(device);
    const ns3::Ipv4Mask mask(prefix > 0 ? ~0U << (32 - prefix) : 0U);
    ip->AddAddress(interface, ns3::Ipv4InterfaceAddress(
                                  ns3::Ipv4Address(address.substr(0, slash).c_str()), mask));
    ip->SetUp(interface);
}

ns3::Ptr<ns3::NetDevice> link_channel::GetDevice(std::size_t i) const { return sides_[i].device; }

void link_channel::send(std::size_t side, const ns3::Ptr<const ns3::Packet>& packet) {
    bytes_.resize(packet->GetSize());
    packet->CopyData(bytes_.data(), packet->GetSize());
    const std::span<const std::uint8_t> bytes(bytes_);
    const std::int64_t now = ns3::Simulator::Now().GetNanoSeconds();
    if (seen_) seen_(now, bytes);
    sides_[side].sent.add(bytes.size());
    if (side > 0) {
        up_->offer(bytes, now, static_cast<int>(side) - 1);
    } else {
        router_->offer(*down_, bytes, now);
    }
    if (!awake_) plan();
}

void link_channel::deliver(std::size_t side, const link_packet& packet) {
    if (seen_) seen_(ns3::Simulator::Now().GetNanoSeconds(), packet.data);
    sides_[side].received.add(packet.data.size());
    if (intact(packet.data))
        sides_[side].device->receive(packet.data);
    else
        ++sides_[side].damaged;
}

std::int64_t link_channel::next_wakeup() const {
    return std::min(down_->next_wakeup(), up_->next_wakeup());
}

void link_channel::wake() {
    const std::int64_t now = ns3::Simulator::Now().GetNanoSeconds();
    planned_ns_ = packet_link::never;
    awake_ = true;
    do {
        down_->advance(now);
        up_->advance(now);
    } while (next_wakeup() <= now);
    awake_ = false;
    plan();
}

// An offer may have made the links want something earlier than before.
void link_channel::plan() {
    const std::int64_t next = next_wakeup();
    if (next >= planned_ns_) return;
    event_.Cancel();
    planned_ns_ = next;
    const std::int64_t now = ns3::Simulator::Now().GetNanoSeconds();
    event_ = ns3::Simulator::Schedule(ns3::NanoSeconds(std::max<std::int64_t>(0, next - now)),
                                      &link_channel::wake, this);
}

ns3::TypeId link_device::GetTypeId() {
    static const ns3::TypeId id = ns3::TypeId("wip::link_device").SetParent<ns3::NetDevice>();
    return id;
}

void link_device::be(const ns3::Ptr<link_channel>& channel, std::size_t side) {
    channel_ = channel;
    side_ = side;
}

void link_device::receive(std::span<const std::uint8_t> packet) {
    up_(this, ns3::Create<ns3::Packet>(packet.data(), static_cast<std::uint32_t>(packet.size())),
        ipv4_protocol, GetAddress());
}

// The address is not used, but the stack requires one.
ns3::Address link_device::GetAddress() const { return ns3::Mac48Address("02:00:00:00:00:01"); }

bool link_device::Send(ns3::Ptr<ns3::Packet> packet, const ns3::Address& /*to*/,
                       std::uint16_t protocol) {
    if (protocol == ipv4_protocol) channel_->send(side_, packet);
    return protocol == ipv4_protocol;
}

bool link_device::SendFrom(ns3::Ptr<ns3::Packet> packet, const ns3::Address& /*from*/,
                           const ns3::Address& to, std::uint16_t protocol) {
    return Send(packet, to, protocol);
}

void link_device::DoDispose() {
    channel_ = nullptr;
    node_ = nullptr;
    up_.Nullify();
    ns3::NetDevice::DoDispose();
}

}  // namespace wip::simulator
