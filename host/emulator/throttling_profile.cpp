// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/throttling_profile.h"

#include <array>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "types/require.h"
#include "types/setting_limits.h"

namespace wip::emulator {
namespace {

using nlohmann::json;

constexpr std::size_t longest_shown = 40;  // characters in an error
constexpr double kbps_of_bytes = 8e-3;
constexpr double most_packets = setting::link_queue_packets.high;

// Keys without a meaning for packets.
constexpr std::array unused{
    "title",           "name",       "i18nTitleKey",         "connectionType",
    "connection_type", "urlPattern", "cpuSlowdownMultiplier"};

[[noreturn]] void refuse_key(const std::string& key, const json& value, const std::string& valid) {
    throw std::invalid_argument(
        key + " is " +
        value.dump(-1, ' ', true, json::error_handler_t::replace).substr(0, longest_shown) +
        "; valid: " + valid);
}

// The keys of a profile, each of which is asked for once; what nobody asks for is refused.
class profile_reader {
public:
    explicit profile_reader(json tree) : tree_(std::move(tree)) {}

    std::optional<double> number(const char* key, double low, double high) {
        const auto found = tree_.find(key);
        if (found == tree_.end()) return std::nullopt;
        const json value = *found;
        tree_.erase(found);
        if (!value.is_number() || !(value.get<double>() >= low && value.get<double>() <= high))
            refuse_key(key, value, text_of(low) + ".." + text_of(high));
        return value.get<double>();
    }
    // The first of these keys that is there, in kbit/s; -1 and 0: no limit.
    std::optional<double> rate(std::initializer_list<const char*> keys, double kbps_of_one) {
        std::optional<double> found;
        const auto& limits = setting::to_base_rate_kbps;
        for (const char* key : keys) {
            const auto value = number(key, -1, limits.high / kbps_of_one);
            if (!value || found) continue;
            const double kbps = *value == -1 ? 0 : *value * kbps_of_one;
            if (kbps != 0 && kbps < limits.least)
                refuse_key(key, *value,
                           "-1 (no limit) or " + text_of(limits.least / kbps_of_one) + ".." +
                               text_of(limits.high / kbps_of_one));
            found = kbps;
        }
        return found;
    }
    void must_be_false(const char* key, const std::string& why) {
        const auto found = tree_.find(key);
        if (found == tree_.end()) return;
        if (*found != json(false)) refuse_key(key, *found, "false (" + why + ")");
        tree_.erase(found);
    }
    void finish() {
        for (const char* key : unused) tree_.erase(key);
        if (!tree_.empty())
            refuse_key("'" + tree_.begin().key().substr(0, longest_shown) + "'",
                       tree_.begin().value(),
                       "latency, downloadThroughput, uploadThroughput, packetLoss, "
                       "packetQueueLength, and the same keys of ChromeDriver, Puppeteer and "
                       "Lighthouse");
    }

private:
    json tree_;
};

json tree_of(const std::string& text) {
    json tree = json::parse(text, nullptr, false);
    if (tree.is_discarded())
        throw std::invalid_argument(
            "is no JSON, although it begins with { or [ like a browser's throttling profile; "
            "valid: one profile such as "
            "{\"latency\": 400, \"download\": 50000, \"upload\": 50000}");
    if (tree.is_array() && tree.size() == 1) tree = json(tree[0]);
    if (tree.is_object() && tree.size() == 1 && tree.begin().value().is_object())
        tree = json(tree.begin().value());
    if (!tree.is_object())
        throw std::invalid_argument(
            "is no object of JSON; valid: one profile such as "
            "{\"latency\": 400, \"download\": 50000, \"upload\": 50000}");
    return tree;
}

}  // namespace

bool is_throttling_profile(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

throttling_profile read_throttling_profile(const std::string& text) {
    const double longest_ms = 2 * setting::to_base_delay_ms.high;
    profile_reader r(tree_of(text));
    throttling_profile p;
    r.must_be_false("offline", "an offline network carries nothing");
    r.must_be_false("packetReordering", "packets stay in order");
    r.must_be_false("packet_reordering", "packets stay in order");
    // Lighthouse says the round trip of packets, and that of requests, which is longer.
    const auto packets_ms = r.number("rttMs", 0, longest_ms);
    const auto requests_ms = r.number("requestLatencyMs", 0, longest_ms);
    const auto latency_ms = r.number("latency", 0, longest_ms);
    p.round_trip_ms = packets_ms.value_or(latency_ms.value_or(requests_ms.value_or(0)));
    const auto both = r.rate({"throughputKbps"}, 1);
    const auto both_bytes = r.rate({"throughput"}, kbps_of_bytes);
    const auto down_kbps = r.rate({"downloadThroughputKbps"}, 1);
    const auto up_kbps = r.rate({"uploadThroughputKbps"}, 1);
    const auto down =
        r.rate({"downloadThroughput", "download_throughput", "download"}, kbps_of_bytes);
    const auto up = r.rate({"uploadThroughput", "upload_throughput", "upload"}, kbps_of_bytes);
    const auto chosen = [&](const std::optional<double>& own,
                            const std::optional<double>& own_kbps) {
        return both ? both : own ? own : own_kbps ? own_kbps : both_bytes;
    };
    const auto chosen_down = chosen(down, down_kbps), chosen_up = chosen(up, up_kbps);
    p.loss =
        r.number("packetLoss", 0, 100).value_or(r.number("packet_loss", 0, 100).value_or(0)) / 100;
    p.queue_packets = static_cast<int>(
        std::lround(r.number("packetQueueLength", 0, most_packets)
                        .value_or(r.number("packet_queue_length", 0, most_packets).value_or(0))));
    r.finish();
    if (!chosen_down || !chosen_up)
        throw std::invalid_argument(std::string("has no ") + (chosen_down ? "up" : "down") +
                                    "load throughput; valid: downloadThroughput and "
                                    "uploadThroughput in byte/s, or -1 for no limit");
    p.down_kbps = *chosen_down;
    p.up_kbps = *chosen_up;
    return p;
}

}  // namespace wip::emulator
