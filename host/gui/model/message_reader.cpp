// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/model/message_reader.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace wip::gui {
namespace {

constexpr std::array<std::string_view, 11> known_topics{"status", "slot", "receiver", "packet",
                                                        "frames", "ip",   "event",    "air",
                                                        "tcp",    "cpu",  "verdict"};

}  // namespace

message_reader::place message_reader::place_of(const raw_message& raw) {
    // A stranger that invents topics must not fill the memory: it has one entry.
    const bool known = std::ranges::find(known_topics, raw.topic) != known_topics.end();
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
    // A later version may number its messages as it likes, so its sequence is not looked at.
    if (message_.version() > openwip::telemetry::VERSION_CURRENT)
        return bad(&reading_counts::future);
    if (message_.version() == 0 || message_.sequence() == 0 || message_.slot() < 0 ||
        message_.what_case() == openwip::telemetry::Telemetry::WHAT_NOT_SET)
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
