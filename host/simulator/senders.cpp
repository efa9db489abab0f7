// SPDX-License-Identifier: GPL-3.0-or-later
#include "simulator/senders.h"

#include <ns3/boolean.h>
#include <ns3/config.h>
#include <ns3/global-value.h>
#include <ns3/object-factory.h>
#include <ns3/string.h>
#include <ns3/tcp-l4-protocol.h>
#include <ns3/tcp-recovery-ops.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <regex>
#include <stdexcept>
#include <utility>

#include "simulator/eifel_socket.h"
#include "simulator/ns3_release.h"
#include "simulator/old_senders.h"
#include "simulator/westwood_per_ack.h"

namespace wip::simulator {
namespace {

enum class machine : std::uint8_t { plain, tahoe, coarse_reno, eifel };
// Fast recovery without or with proportional rate reduction (RFC 6937 of 2013).
enum class recovering : std::uint8_t { classic, proportional };

struct sender {
    const char* name;
    const char* congestion;
    recovering recovery = recovering::proportional;
    machine socket = machine::plain;
};

constexpr std::array senders{
    sender{"cubic", "ns3::TcpCubic"},
    sender{"reno", "ns3::TcpLinuxReno"},
    sender{"bbr", "ns3::TcpBbr"},
    sender{"westwood", westwood_plus},
    sender{"vegas", "ns3::TcpVegas"},
    sender{"veno", "ns3::TcpVeno"},
    sender{"dctcp", "ns3::TcpDctcp"},
    sender{"bic", "ns3::TcpBic"},
    sender{"highspeed", "ns3::TcpHighSpeed"},
    sender{"htcp", "ns3::TcpHtcp"},
    sender{"hybla", "ns3::TcpHybla"},
    sender{"illinois", "ns3::TcpIllinois"},
    sender{"ledbat", "ns3::TcpLedbat"},
    sender{"lp", "ns3::TcpLp"},
    sender{"scalable", "ns3::TcpScalable"},
    sender{"yeah", "ns3::TcpYeah"},
    sender{"newreno", "ns3::TcpNewReno", recovering::classic},
    sender{"tahoe", "ns3::TcpNewReno", recovering::classic, machine::tahoe},
    sender{"coarse-reno", "ns3::TcpNewReno", recovering::classic, machine::coarse_reno},
    sender{"eifel", "ns3::TcpNewReno", recovering::classic, machine::eifel},
    sender{"westwood-per-ack", "wip::westwood_per_ack", recovering::classic}};

ns3::Ptr<counting_socket> socket_of(machine m) {
    switch (m) {
        case machine::tahoe:
            return ns3::CreateObject<tahoe_socket>();
        case machine::coarse_reno:
            return ns3::CreateObject<coarse_reno_socket>();
        case machine::eifel:
            return ns3::CreateObject<eifel_socket>();
        case machine::plain:
            break;
    }
    return ns3::CreateObject<counting_socket>();
}

ns3::Ptr<ns3::RttEstimator> estimator_of(machine m) {
    if (m == machine::coarse_reno) return ns3::CreateObject<tick_estimator>();
    if (m == machine::eifel) return ns3::CreateObject<eifel_estimator>();
    return ns3::CreateObject<ns3::RttMeanDeviation>();
}

ns3::Ptr<ns3::Object> made(const std::string& type) {
    ns3::ObjectFactory factory;
    factory.SetTypeId(type);
    return factory.Create<ns3::Object>();
}

}  // namespace

ns3::Ptr<counting_socket> make_socket(const ns3::Ptr<ns3::Node>& node, const std::string& name) {
    const auto* s =
        std::ranges::find(senders, name, [](const sender& x) { return std::string(x.name); });
    if (s == senders.end()) {
        std::string valid;
        for (const auto& each : senders)
            valid += (valid.empty() ? "" : ", ") + std::string(each.name);
        throw std::invalid_argument("there is no TCP sender " + name + " in ns-3; valid: " + valid);
    }
    westwood_per_ack::GetTypeId();  // ns-3 knows a type from its first use on
    const auto socket = socket_of(s->socket);
    const auto tcp = node->GetObject<ns3::TcpL4Protocol>();
    socket->SetNode(node);
    socket->SetTcp(tcp);
    socket->SetRtt(estimator_of(s->socket));
    socket->SetCongestionControlAlgorithm(
        ns3::DynamicCast<ns3::TcpCongestionOps>(made(s->congestion)));
    socket->SetRecoveryAlgorithm(ns3::DynamicCast<ns3::TcpRecoveryOps>(made(
        s->recovery == recovering::classic ? "ns3::TcpClassicRecovery" : "ns3::TcpPrrRecovery")));
    // Neither has it, whatever the others are set to; a timer of ticks has nothing below them.
    if (s->socket == machine::tahoe || s->socket == machine::coarse_reno)
        socket->SetAttribute("Sack", ns3::BooleanValue(false));
    if (s->socket == machine::coarse_reno)
        socket->SetAttribute("Timestamp", ns3::BooleanValue(false));
    tcp->AddSocket(socket);
    return socket;
}

void set_attribute(const std::string& name, const std::string& value) {
    tick_estimator::GetTypeId();
    coarse_reno_socket::GetTypeId();
    westwood_per_ack::GetTypeId();
    // A time that it cannot read would end the process.
    static const std::regex time("[0-9]+(\\.[0-9]+)?(s|ms|us|ns)");
    const auto colon = name.rfind("::");
    ns3::TypeId type;
    ns3::TypeId::AttributeInformation attribute;
    const bool known = colon != std::string::npos &&
                       ns3::TypeId::LookupByNameFailSafe(name.substr(0, colon), &type) &&
                       type.LookupAttributeByName(name.substr(colon + 2), &attribute);
    const bool of_time = known && attribute.checker->GetValueTypeName() == "ns3::TimeValue";
    if (!known || (of_time && !std::regex_match(value, time)) ||
        !ns3::Config::SetDefaultFailSafe(name, ns3::StringValue(value)))
        throw std::invalid_argument("set " + name + " " + value +
                                    ": ns-3 has no such attribute, or it does not take the value");
}

void set_defaults() {
    // Links look at those of IP, captures show both, damaged packets need TCP's.
    ns3::GlobalValue::Bind("ChecksumEnabled", ns3::BooleanValue(true));
    make_westwood_westwood_plus();
    for (const auto& [name, value] : {std::pair("ns3::TcpSocket::SegmentSize", "1448"),
                                      {"ns3::TcpSocket::InitialCwnd", "10"},
                                      {"ns3::TcpSocket::SndBufSize", "4194304"},
                                      {"ns3::TcpSocket::RcvBufSize", "6291456"},
                                      {"ns3::TcpSocket::ConnTimeout", "1s"},
                                      {"ns3::TcpSocket::DataRetries", "15"},
                                      {"ns3::TcpSocket::DelAckCount", "2"},
                                      {"ns3::TcpSocket::DelAckTimeout", "40ms"},
                                      {"ns3::TcpSocketBase::MinRto", "200ms"}})
        set_attribute(name, value);
}

}  // namespace wip::simulator
