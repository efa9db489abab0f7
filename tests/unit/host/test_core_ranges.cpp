// SPDX-License-Identifier: GPL-3.0-or-later
// The core checks its own structs, the table of settings every key: both have the same limits. Each
// limit of the table is taken by the core's check(), and what lies just outside is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <stdexcept>

#include "configured_processes.h"
#include "packet/attempt_models.h"
#include "packet/bit_errors.h"
#include "packet/emulated_uplink.h"
#include "packet/wired_link.h"
#include "relay/delay_injection.h"

using namespace wip;

namespace {

// A number of a struct of the core that is a setting of a process.
struct core_number {
    const std::vector<config::key>* keys;
    std::string path;
    std::function<void(double)> check;
};

template <class Config, class Number>
core_number number(const std::vector<config::key>& keys, const std::string& path,
                   Number Config::*field) {
    return {&keys, path, [field](double value) {
                Config c;
                c.*field = static_cast<Number>(value);
                c.check();
            }};
}

// The processes that have the setting.
template <class Config, class Number>
void add(std::vector<core_number>& all, const std::string& path, Number Config::*field) {
    for (const auto* keys : {&host::macd_keys(), &emulator::emulator_keys(), &tcpl::tcpl_keys()})
        if (std::ranges::any_of(*keys, [&](const config::key& k) { return k.path == path; }))
            all.push_back(number(*keys, path, field));
}

std::vector<core_number> core_numbers() {
    std::vector<core_number> all;
    add(all, "link.bins", &link_config::bins);
    add(all, "link.max_retransmissions", &link_config::max_retransmissions);
    add(all, "link.queue_packets", &link_config::queue_packets);
    add(all, "scheduling.averaging_slots", &cell_config::averaging_slots);
    add(all, "uplink.kbps", &uplink_config::kbps);
    add(all, "uplink.delay_slots", &uplink_config::delay_slots);
    add(all, "uplink.loss", &uplink_config::loss);
    add(all, "uplink.feedback_loss", &uplink_config::feedback_loss);
    add(all, "uplink.queue_packets", &uplink_config::queue_packets);
    for (const std::string group : {"to_base", "from_base", "line"}) {
        add(all, group + ".delay_ms", &packet_model::wired_config::delay_ms);
        add(all, group + ".rate_kbps", &packet_model::wired_config::rate_kbps);
        add(all, group + ".loss", &packet_model::wired_config::loss);
        if (group == "from_base") continue;  // the ranges are those of to_base
        add(all, group + ".held_mb", &packet_model::wired_config::held_mb);
        add(all, group + ".queue_packets", &packet_model::wired_config::queue_packets);
    }
    add(all, "errors.ber", &packet_model::bit_error_config::ber);
    add(all, "errors.burstiness", &packet_model::bit_error_config::burstiness);
    add(all, "relay.port_errors", &tcpl::recovery_config::most_port_errors);
    add(all, "wlan.burst", &packet_model::attempt_config::burst);
    add(all, "wlan.errors_from_s", &packet_model::attempt_config::from_s);
    add(all, "wlan.errors_for_s", &packet_model::attempt_config::for_s);
    add(all, "wlan.good_ms", &packet_model::attempt_config::good_ms);
    add(all, "wlan.bad_ms", &packet_model::attempt_config::bad_ms);
    add(all, "channel.snr_db", &packet_model::attempt_config::snr_db);
    add(all, "wlan.rts_threshold", &wlan::wlan_config::rts_threshold);
    add(all, "wlan.retry_limit", &wlan::wlan_config::retry_limit);
    add(all, "wlan.patience_ms", &wlan::wlan_config::patience_ms);
    add(all, "wlan.hops", &wlan::wlan_config::hops);
    add(all, "wlan.queue_packets", &wlan::wlan_config::queue_packets);
    add(all, "umts.errors", &umts::block_error_config::rate);
    add(all, "umts.error_burst", &umts::block_error_config::burst);
    add(all, "umts.max_dat", &umts::am_config::max_dat);
    add(all, "delay_injection.static_ms", &delay_injection_config::static_ms);
    add(all, "delay_injection.factor", &delay_injection_config::factor);
    return all;
}

// The settings that a limit needs beside it: the longest lead needs the longest delay, several
// terminals need names and more than 25 of them a UMTS bearer, many connections small buffers, a
// receiver's window one that is as large, no timer of polls a period, times of the RRC its states,
// a target of the power control the other one on the right side of it.
std::vector<std::string> needed_settings(const std::string& path) {
    if (path == "link.transmit_lead_slots" || path == "link.fader_slots")
        return {"link.retransmission_delay_ms=32"};
    if (path == "terminals") return {"terminal.namespace=x", "link.kind=umts"};
    if (path == "wlan.errors_station") return {"terminal.namespace=x", "terminals=25"};
    if (path == "split_tcp.connections") return {"split_tcp.buffer_kb=4"};
    if (path == "umts.poll_timer_ms") return {"umts.poll_period_ms=100"};
    if (path == "umts.receiver_window") return {"umts.window=2048"};
    if (path.starts_with("umts.rrc_")) return {"umts.rrc=states"};
    if (path == "umts.again_ms") return {"umts.feedback=known"};
    if (path == "cells.target_low_db") return {"cells.target_high_db=40"};
    if (path == "cells.target_high_db") return {"cells.target_low_db=-20"};
    if (path == "split_tcp.buffer_kb") return {"split_tcp.connections=1"};
    return {};
}

}  // namespace

TEST(CoreRanges, limits_of_the_table_are_those_of_the_core) {
    const auto all = core_numbers();
    EXPECT_EQ(all.size(), 56U);
    for (const auto& one : all) {
        const auto k = std::ranges::find(*one.keys, one.path, &config::key::path);
        const bool whole = k->type == config::kind::integer;
        const auto beyond = [whole](double limit) {
            return whole ? 1 : std::max(std::abs(limit) * 1e-3, 1e-6);
        };
        for (const double limit : {k->lowest, k->highest}) {
            EXPECT_NO_THROW(one.check(limit)) << one.path << " = " << limit;
            const double outside =
                limit == k->lowest ? limit - beyond(limit) : limit + beyond(limit);
            EXPECT_THROW(one.check(outside), std::invalid_argument) << one.path << " = " << outside;
        }
    }
}

// Each limit is given to a whole process, with the other settings that it needs.
TEST(CoreRanges, every_limit_of_the_table_is_accepted_by_its_process) {
    std::size_t seen = 0;
    for (const auto& process : wip::test::configured_processes())
        for (const auto& k : *process.keys) {
            if (k.type != config::kind::integer && k.type != config::kind::real) continue;
            for (const double limit : {k.lowest, k.highest}) {
                config::settings s = wip::test::started(process);
                try {
                    for (const auto& assignment : needed_settings(k.path))
                        s.merge_assignment(assignment);
                    std::ostringstream value;
                    value.precision(17);
                    value << k.path << "=";
                    if (k.type == config::kind::integer)
                        value << static_cast<std::int64_t>(limit);
                    else
                        value << limit;
                    s.merge_assignment(value.str());
                    process.translate(s);
                    ++seen;
                } catch (const std::exception& e) {
                    ADD_FAILURE() << process.name << ": " << k.path << " = " << limit << ": "
                                  << e.what();
                }
            }
        }
    EXPECT_GT(seen, 300U);
}
