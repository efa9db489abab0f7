// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/model/message_reader.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace wip::gui {
namespace {

using openwip::telemetry::Telemetry;

// Each with what it carries.
constexpr std::array<std::pair<std::string_view, Telemetry::WhatCase>, 12> topics{{
    {"status", Telemetry::kMac},
    {"slot", Telemetry::kSlotSample},
    {"receiver", Telemetry::kReceiver},
    {"packet", Telemetry::kPackets},
    {"frames", Telemetry::kFrames},
    {"ip", Telemetry::kIp},
    {"event", Telemetry::kEvent},
    {"air", Telemetry::kAir},
    {"tcp", Telemetry::kTcp},
    {"cpu", Telemetry::kCpu},
    {"verdict", Telemetry::kVerdict},
    {"attenuator", Telemetry::kAttenuator},
}};

Telemetry::WhatCase content_of(std::string_view topic) {
    const auto at = std::ranges::find(topics, topic, [](const auto& t) { return t.first; });
    return at == topics.end() ? Telemetry::WHAT_NOT_SET : at->second;
}

}  // namespace

message_reader::place message_reader::place_of(const raw_message& raw) {
    // A stranger that invents topics must not fill the memory: it has one entry.
    const bool known = content_of(raw.topic) != Telemetry::WHAT_NOT_SET;
    const std::pair key(raw.source, known ? raw.topic : std::string("other"));
    return {&by_topic_[key], &last_[key]};
}

const openwip::telemetry::Telemetry* message_reader::read(const raw_message& raw) {
    const place at = place_of(raw);
    latest_ = at.counts;
    const auto bad = [&](std::uint64_t reading_counts::*kind) {
        ++(at.counts->*kind);
        ++(total_.*kind);
        return nullptr;
    };
    if (!raw.two_frames ||
        !message_.ParseFromArray(raw.body.data(), static_cast<int>(raw.body.size())))
        return bad(&reading_counts::garbage);
    const bool future = message_.version() > openwip::telemetry::VERSION_CURRENT;
    if (message_.sequence() == 0 || (!future && (message_.version() == 0 || message_.slot() < 0 ||
                                                 message_.what_case() == Telemetry::WHAT_NOT_SET ||
                                                 message_.what_case() != content_of(raw.topic))))
        return bad(&reading_counts::garbage);

    const std::uint64_t sequence = message_.sequence();
    if (*at.last != 0) {
        if (sequence > *at.last + 1) {
            at.counts->lost += sequence - *at.last - 1;
            total_.lost += sequence - *at.last - 1;
        } else if (sequence <= *at.last) {
            ++at.counts->restarts;
            ++total_.restarts;
        }
    }
    *at.last = sequence;
    // A message of a future version has come, so it is not lost; nothing else of it is used.
    if (future) return bad(&reading_counts::future);
    ++at.counts->received;
    ++total_.received;
    return &message_;
}

void message_reader::was_garbage() {
    if (latest_ == nullptr) return;
    --latest_->received;
    --total_.received;
    ++latest_->garbage;
    ++total_.garbage;
}

void message_reader::clear() {
    total_ = {};
    latest_ = nullptr;
    by_topic_.clear();
    last_.clear();
}

}  // namespace wip::gui
