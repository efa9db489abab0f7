// SPDX-License-Identifier: GPL-3.0-or-later
// The 802.11b cell beside ns-3's wifi module: stations that always have packets of 1500 bytes send
// them to one receiver, without errors and with bursts of failed attempts, with the same retry
// limits. Packets a second of each, from 2 s on, and their difference; more than 5 % is a failure.
// ns-3's stations are in ad hoc mode, so that no beacons take air, and answer at 11 Mbit/s, as ours
// do by settings.
#include <ns3/boolean.h>
#include <ns3/command-line.h>
#include <ns3/config.h>
#include <ns3/error-model.h>
#include <ns3/mobility-helper.h>
#include <ns3/packet-socket-address.h>
#include <ns3/packet-socket-client.h>
#include <ns3/packet-socket-helper.h>
#include <ns3/packet-socket-server.h>
#include <ns3/rng-seed-manager.h>
#include <ns3/simulator.h>
#include <ns3/string.h>
#include <ns3/uinteger.h>
#include <ns3/wifi-mac-header.h>
#include <ns3/wifi-net-device.h>
#include <ns3/wifi-remote-station-manager.h>
#include <ns3/yans-wifi-helper.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "emulator/emulator_config.h"
#include "packet/attempt_models.h"
#include "wlan/wlan_cell.h"

namespace {

constexpr int packet_bytes = 1500;
constexpr double from_s = 2, to_s = 22;

struct setup {
    int stations = 1;
    bool rts = false;
    int burst = 0;        // failed attempts of every 100 of each station
    int retry_limit = 0;  // 0: 7 and 4
    bool short_preamble = false;
};

double model_packets_per_s(const setup& c) {
    using namespace wip;
    config::settings asked(emulator::emulator_keys());
    for (const std::string& a :
         {std::string("link.kind=wlan"), std::string("terminal.namespace=x"),
          std::string("wlan.control_rate_mbps=11"), "terminals=" + std::to_string(c.stations),
          std::string("wlan.short_preamble=") + (c.short_preamble ? "on" : "off"),
          std::string("wlan.rts_threshold=") + (c.rts ? "0" : "2347"),
          "wlan.retry_limit=" + std::to_string(c.retry_limit)})
        asked.merge_assignment(a);
    wlan::wlan_cell cell(emulator::translate(asked).wlan.cell, [&c](int from, int to) {
        return packet_model::make_attempt_errors(
            {.kind = packet_model::attempt_config::model::burst, .burst = c.burst},
            static_cast<std::uint32_t>(100 * from + to));
    });
    constexpr std::int64_t from = from_s * 1e9, to = to_s * 1e9;
    std::uint64_t packets = 0;
    cell.uplink().deliver_to([&packets](const link_packet& p) {
        packets += p.due_ns >= from ? 1U : 0U;
        return 0;
    });
    const std::vector<std::uint8_t> packet(packet_bytes);
    for (std::int64_t now = 0; now < to; now = cell.next_wakeup()) {
        cell.advance(now);
        for (int s = 0; s < c.stations; ++s)
            while (cell.queued(1 + s).packets < 3) cell.uplink().offer(packet, now, s);
    }
    return static_cast<double>(packets) / (to_s - from_s);
}

// The same bursts, of the data frames that reach the receiver.
class burst_errors : public ns3::ErrorModel {
public:
    static ns3::TypeId GetTypeId() {
        static const auto id = ns3::TypeId("burst_errors").SetParent<ns3::ErrorModel>();
        return id;
    }
    void fail(int of_hundred) { burst_ = of_hundred; }

private:
    bool DoCorrupt(ns3::Ptr<ns3::Packet> p) override {
        ns3::WifiMacHeader header;
        if (p->GetSize() < packet_bytes) return false;
        p->PeekHeader(header);
        return counts_[header.GetAddr2()]++ % 100 < burst_;
    }
    void DoReset() override { counts_.clear(); }
    int burst_ = 0;
    std::map<ns3::Mac48Address, int> counts_;
};

double ns3_packets_per_s(const setup& c) {
    using namespace ns3;
    RngSeedManager::SetSeed(1);
    const int limit = c.retry_limit;
    Config::SetDefault("ns3::WifiRemoteStationManager::MaxSsrc", UintegerValue(limit ? limit : 7));
    Config::SetDefault("ns3::WifiRemoteStationManager::MaxSlrc", UintegerValue(limit ? limit : 4));
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold",
                       UintegerValue(c.rts ? 0 : 2347));
    NodeContainer nodes(static_cast<std::uint32_t>(c.stations) + 1);
    YansWifiPhyHelper phy;
    YansWifiChannelHelper channel = YansWifiChannelHelper::Default();
    phy.SetChannel(channel.Create());
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode",
                                 StringValue("DsssRate11Mbps"), "ControlMode",
                                 StringValue("DsssRate11Mbps"));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");
    Config::SetDefault("ns3::WifiPhy::ShortPlcpPreambleSupported", BooleanValue(c.short_preamble));
    const NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    for (std::uint32_t i = 0; i < devices.GetN(); ++i)
        DynamicCast<WifiNetDevice>(devices.Get(i))
            ->GetRemoteStationManager()
            ->SetShortPreambleEnabled(c.short_preamble);
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(nodes);
    PacketSocketHelper().Install(nodes);

    auto errors = CreateObject<burst_errors>();
    errors->fail(c.burst);
    DynamicCast<WifiNetDevice>(devices.Get(0))->GetPhy()->SetPostReceptionErrorModel(errors);
    PacketSocketAddress address;
    address.SetPhysicalAddress(devices.Get(0)->GetAddress());
    address.SetProtocol(1);
    std::uint64_t packets = 0;
    const auto server = CreateObject<PacketSocketServer>();
    PacketSocketAddress local;
    local.SetSingleDevice(devices.Get(0)->GetIfIndex());
    local.SetProtocol(1);
    server->SetLocal(local);
    nodes.Get(0)->AddApplication(server);
    server->TraceConnectWithoutContext(
        "Rx", Callback<void, Ptr<const Packet>, const Address&>(
                  [&packets](Ptr<const Packet>, const Address&) {
                      packets += Simulator::Now().GetSeconds() >= from_s ? 1U : 0U;
                  }));
    for (std::uint32_t s = 1; s < nodes.GetN(); ++s) {
        const auto client = CreateObject<PacketSocketClient>();
        address.SetSingleDevice(devices.Get(s)->GetIfIndex());
        client->SetRemote(address);
        client->SetAttribute("PacketSize", UintegerValue(packet_bytes));
        client->SetAttribute("MaxPackets", UintegerValue(0));
        client->SetAttribute("Interval", TimeValue(MicroSeconds(1300)));
        client->SetStartTime(Seconds(0.5 + 0.001 * s));
        nodes.Get(s)->AddApplication(client);
    }
    Simulator::Stop(Seconds(to_s));
    Simulator::Run();
    Simulator::Destroy();
    return static_cast<double>(packets) / (to_s - from_s);
}

}  // namespace

int main() {
    int wrong = 0;
    std::printf("stations  rts  burst  retry limit  preamble   ours   ns-3  difference\n");
    for (const setup& c :
         {setup{1}, setup{2}, setup{5}, setup{10}, setup{1, true}, setup{5, true},
          setup{1, false, 10}, setup{1, false, 20}, setup{1, false, 30}, setup{1, false, 10, 50},
          setup{1, false, 20, 50}, setup{1, false, 30, 50}, setup{2, false, 20, 50},
          setup{5, false, 20}, setup{1, false, 0, 0, true}, setup{5, true, 0, 0, true}}) {
        const double of_model = model_packets_per_s(c), of_ns3 = ns3_packets_per_s(c),
                     percent = 100 * (of_model / of_ns3 - 1);
        const bool far = !(std::abs(percent) <= 5);
        std::printf("%8d  %3s  %5d  %11s  %8s  %5.1f  %5.1f  %+8.1f %%%s\n", c.stations,
                    c.rts ? "yes" : "no", c.burst, c.retry_limit ? "50" : "7, 4",
                    c.short_preamble ? "short" : "long", of_model, of_ns3, percent,
                    far ? "  more than 5 %" : "");
        std::fflush(stdout);
        wrong += far ? 1 : 0;
    }
    return wrong > 0 ? 1 : 0;
}
