// SPDX-License-Identifier: GPL-3.0-or-later
#include "simulator/simulation.h"

#include <vector>

#include "emulator/ends.h"
#include "emulator/path_run.h"
#include "simulator/hosts.h"

namespace wip::simulator {
namespace {

std::vector<std::string> addresses(const emulator::emulator_config& config) {
    std::vector<std::string> all{config.server.tun.address};
    for (const auto& terminal : config.terminals) all.push_back(terminal.tun.address);
    return all;
}

class simulation final : public emulator::path_run {
public:
    simulation(const emulator::emulator_config& config, const run_config& r)
        : path_run(config, r.times),
          hosts_(config.cell.seed, addresses(config), path_->downlink(), path_->uplink(), r.plan) {
        if (packets_)
            hosts_.channel().watch([this](std::int64_t now, std::span<const std::uint8_t> packet) {
                packets_->write(now, packet);
            });
    }

private:
    virtual_time::timed_run& run() override { return hosts_; }
    std::uint64_t steps() const override { return hosts_.steps(); }
    counts interface(std::size_t side) const override {
        return {hosts_.channel().sent(side), hosts_.channel().received(side), {}};
    }
    void add_to_base(openwip::control::MacStatus& base) const override {
        emulator::add_router(hosts_.channel().router(), *base.mutable_downlink());
    }
    void add_members(nlohmann::json& result) const override { hosts_.add_members(result); }

    hosts hosts_;
};

}  // namespace

void run_simulation(const emulator::emulator_config& config, const run_config& r,
                    std::ostream& out) {
    simulation(config, r).write(r.longest_s, out);
}

}  // namespace wip::simulator
