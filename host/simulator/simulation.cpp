// SPDX-License-Identifier: GPL-3.0-or-later
#include "simulator/simulation.h"

#include <ns3/internet-stack-helper.h>
#include <ns3/node-container.h>
#include <ns3/rng-seed-manager.h>
#include <ns3/simulator.h>

#include <fstream>
#include <optional>
#include <stdexcept>
#include <vector>

#include "emulator/path_run.h"
#include "simulator/link_channel.h"
#include "simulator/senders.h"
#include "simulator/traffic.h"
#include "virtual/timed_run.h"

namespace wip::simulator {
namespace {

class simulation final : public emulator::path_run, private virtual_time::timed_run {
public:
    simulation(const emulator::emulator_config& config, const run_config& r)
        : path_run(config, r.times) {
        ns3::RngSeedManager::SetSeed(static_cast<std::uint32_t>(config.cell.seed % 4294944442U) +
                                     1);
        set_defaults();
        ns3::NodeContainer nodes(static_cast<std::uint32_t>(config.terminals.size()) + 1);
        ns3::InternetStackHelper stack;
        stack.SetIpv6StackInstall(false);
        stack.Install(nodes);
        std::vector<place> places;
        for (std::uint32_t i = 0; i < nodes.GetN(); ++i) {
            const std::string& text =
                (i == 0 ? config.server : config.terminals[i - 1]).tun.address;
            const auto slash = text.find('/');
            const ns3::Ipv4Address address(text.substr(0, slash).c_str());
            channel_->attach(nodes.Get(i), address, std::stoi(text.substr(slash + 1)));
            places.push_back({nodes.Get(i), address});
        }
        if (packets_)
            channel_->watch([this](std::int64_t now, std::span<const std::uint8_t> packet) {
                packets_->write(now, packet);
            });
        channel_->connect(path_->downlink(), path_->uplink());
        traffic_.emplace(std::move(places));
        std::ifstream plan(r.plan);
        if (!plan) throw std::invalid_argument("there is no plan " + r.plan);
        for (std::string line; std::getline(plan, line);) traffic_->add(line);
    }
    ~simulation() override { ns3::Simulator::Destroy(); }

private:
    void go_to(std::int64_t ns) override {
        ns3::Simulator::Stop(ns3::NanoSeconds(ns) - ns3::Simulator::Now());
        ns3::Simulator::Run();
    }
    std::int64_t now() const override { return ns3::Simulator::Now().GetNanoSeconds(); }
    timed_run& run() override { return *this; }
    std::uint64_t steps() const override { return ns3::Simulator::GetEventCount(); }
    bool over() const override { return traffic_->done(); }
    counts interface(std::size_t side) const override {
        return {channel_->sent(side), channel_->received(side), {}};
    }
    std::string more_members() const override { return ", \"flows\": " + traffic_->json(); }

    ns3::Ptr<link_channel> channel_ = ns3::CreateObject<link_channel>();
    std::optional<traffic> traffic_;
};

}  // namespace

void run_simulation(const emulator::emulator_config& config, const run_config& r,
                    std::ostream& out) {
    simulation(config, r).write(r.longest_s, out);
}

}  // namespace wip::simulator
