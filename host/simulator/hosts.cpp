// SPDX-License-Identifier: GPL-3.0-or-later
#include "simulator/hosts.h"

#include <ns3/internet-stack-helper.h>
#include <ns3/node-container.h>
#include <ns3/rng-seed-manager.h>
#include <ns3/simulator.h>
#include <ns3/version-defines.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "flow/plan.h"
#include "simulator/senders.h"

namespace wip::simulator {
namespace {

flow::plan read(const std::string& file, std::size_t sides) {
    std::ifstream in(file);
    std::ostringstream text;
    if (!(text << in.rdbuf()))
        throw std::invalid_argument(file +
                                    ": the plan of the traffic flows is missing, empty or not "
                                    "readable; valid: a file in JSON");
    return flow::read_plan(text.str(), sides);
}

}  // namespace

hosts::hosts(std::uint64_t seed, const std::vector<std::string>& addresses, packet_link& down,
             packet_link& up, const std::string& plan, int mtu)
    : channel_(ns3::CreateObject<link_channel>()) {
    ns3::RngSeedManager::SetSeed(static_cast<std::uint32_t>(seed % 4294944442U) + 1);
    set_defaults();
    ns3::NodeContainer nodes(static_cast<std::uint32_t>(addresses.size()));
    ns3::InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);
    std::vector<place> places;
    for (std::uint32_t i = 0; i < nodes.GetN(); ++i) {
        const std::string& text = addresses[i];
        channel_->attach(nodes.Get(i), text, static_cast<std::uint16_t>(mtu));
        places.push_back({nodes.Get(i), ns3::Ipv4Address(text.substr(0, text.find('/')).c_str())});
    }
    channel_->connect(down, up);
    traffic_ = std::make_unique<traffic>(std::move(places));
    const flow::plan wanted = read(plan, addresses.size());
    for (const auto& [name, value] : wanted.attributes) set_attribute(name, value);
    for (const flow::flow& f : wanted.flows) try {
            traffic_->add(f);
        } catch (const std::invalid_argument& e) {
            throw std::invalid_argument("flows[" + std::to_string(f.number) + "]: " + e.what());
        }
}

hosts::~hosts() { ns3::Simulator::Destroy(); }

void hosts::go_to(std::int64_t ns) {
    ns3::Simulator::Stop(ns3::NanoSeconds(ns) - ns3::Simulator::Now());
    ns3::Simulator::Run();
}

std::int64_t hosts::now() const { return ns3::Simulator::Now().GetNanoSeconds(); }
void hosts::add_members(nlohmann::json& result) const {
    result["flows"] = traffic_->result();
    result["ns3"] = std::to_string(NS3_VERSION_MAJOR) + "." + std::to_string(NS3_VERSION_MINOR);
}

std::uint64_t hosts::steps() const { return ns3::Simulator::GetEventCount(); }

}  // namespace wip::simulator
