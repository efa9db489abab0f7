// SPDX-License-Identifier: GPL-3.0-or-later
#include "packet/bit_errors.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <unordered_set>

#include "sample/counter_random.h"
#include "types/require.h"
#include "types/setting_limits.h"

namespace wip::packet_model {
namespace {

constexpr std::uint32_t purpose = 0x42455250;  // "BERP": tells this use of a seed from others
constexpr double usual_length_bits = 1e8, most_errors = 1e5;
constexpr int burst_reach_bits = 8;

}  // namespace

void bit_error_config::check() const {
    check_range(ber, setting::errors_ber);
    check_range(burstiness, setting::errors_burstiness);
}

bit_error_pattern::bit_error_pattern(const bit_error_config& config) {
    config.check();
    const double errors =
        config.ber > 0 ? std::clamp(std::round(config.ber * usual_length_bits), 1.0, most_errors)
                       : 0;
    length_ =
        std::llround(config.ber > 0 ? std::min(errors / config.ber, 1e18) : usual_length_bits);
    const auto n = static_cast<std::size_t>(errors);
    const std::uint32_t key = sample_model::derive_key(config.seed, purpose);
    std::uint64_t draws = 0;
    const auto draw = [&](std::int64_t count) {
        return static_cast<std::int64_t>(sample_model::uniform(draws++, key) *
                                         static_cast<double>(count));
    };
    std::unordered_set<std::int64_t> taken;
    std::int64_t last = -1;
    while (taken.size() < n) {
        const bool near = last >= 0 && sample_model::uniform(draws++, key) < config.burstiness;
        std::int64_t at = last;
        if (near) {
            // After 64 tries (all positions nearby may be taken) the error is placed anywhere.
            for (int i = 0; i < 64 && taken.contains(at); ++i)
                at = std::clamp<std::int64_t>(
                    last + draw(2 * burst_reach_bits + 1) - burst_reach_bits, 0, length_ - 1);
        }
        while (at < 0 || taken.contains(at)) at = draw(length_);
        taken.insert(at);
        last = at;
    }
    positions_.assign(taken.begin(), taken.end());
    std::ranges::sort(positions_);
}

int bit_error_pattern::apply(std::span<std::uint8_t> bytes) noexcept {
    if (positions_.empty()) return 0;
    int flipped = 0;
    std::int64_t left = static_cast<std::int64_t>(bytes.size()) * 8;
    for (std::int64_t done = 0; left > 0;) {
        const std::int64_t stretch = std::min(left, length_ - position_);
        for (; next_error_ < positions_.size() && positions_[next_error_] < position_ + stretch;
             ++next_error_) {
            const std::int64_t bit = done + positions_[next_error_] - position_;
            bytes[static_cast<std::size_t>(bit / 8)] ^=
                static_cast<std::uint8_t>(0x80 >> (bit % 8));
            ++flipped;
        }
        done += stretch;
        left -= stretch;
        position_ += stretch;
        if (position_ == length_) position_ = 0, next_error_ = 0;
    }
    return flipped;
}

bit_error_port::bit_error_port(const bit_error_config& config, spared spared_bytes, sink next)
    : pattern_(config), spared_bytes_(std::move(spared_bytes)), next_(std::move(next)) {
    if (!spared_bytes_ || !next_)
        throw std::invalid_argument(
            "bit_error_port: spared_bytes or next is empty; valid: two functions");
}

void bit_error_port::deliver(std::span<const std::uint8_t> packet) {
    packet_.assign(packet.begin(), packet.end());
    const std::size_t first = std::min(spared_bytes_(packet), packet_.size());
    const auto exposed = std::span(packet_).subspan(first);
    const int wrong = pattern_.apply(exposed);
    ++counts_.packets;
    counts_.bits += exposed.size() * 8;
    counts_.wrong_bits += static_cast<std::uint64_t>(wrong);
    if (wrong > 0) ++counts_.damaged;
    next_(packet_, wrong > 0);
}

}  // namespace wip::packet_model
