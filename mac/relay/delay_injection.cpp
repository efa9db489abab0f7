// SPDX-License-Identifier: GPL-3.0-or-later
#include "relay/delay_injection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "types/require.h"
#include "wire/tcp_options.h"

namespace wip {
namespace {

// The timestamp that a segment echoes.
std::optional<std::uint32_t> echo_of(tcp::bytes options) {
    std::optional<std::uint32_t> echo;
    tcp::for_each_option(options, [&echo](std::uint8_t kind, std::span<const std::uint8_t> option) {
        if (kind == tcp::option_timestamps && option.size() == 10) echo = tcp::read32(option, 6);
        return !echo;
    });
    return echo;
}

}  // namespace

void delay_injection_config::check() const {
    check_range(static_ms, setting::delay_injection_static_ms);
    check_range(factor, setting::delay_injection_factor);
    check_range("delay_injection spikes_apart", spikes_apart, 0.1, 1000);
    check_range("delay_injection first_deviation_ms", first_deviation_ms, 0, 60000);
    check_range("delay_injection most_delay_ms", most_delay_ms, 0, 60000);
    check_range("delay_injection most_held", most_held, 1, 100000);
    check_range("delay_injection most_flows", most_flows, 1, 65536);
    check_range("delay_injection expiry_s", expiry_s, 0.001, 1e6);
    check_range("delay_injection tick_ms", tick_ms, 1e-6, 1000);
}

delay_rule::delay_rule(const delay_injection_config& config)
    : config_(config), deviation_(config.first_deviation_ms) {}

double delay_rule::threshold_ms() const {
    return started_ ? mean_ + 4 * deviation_ : std::numeric_limits<double>::infinity();
}

delay_rule::decision delay_rule::on_sample(double p_ms, bool in_hold) {
    using reading = delay_injection_config::reading;
    const bool fixed = config_.kind == delay_injection_config::mode::fixed;
    decision d{p_ms > threshold_ms()};
    bool falls = !d.spike || config_.read_as == reading::listing;
    if (d.spike) {
        delay_ = std::min(fixed ? config_.static_ms : (p_ms - mean_) / config_.factor,
                          config_.most_delay_ms);
        const auto n = static_cast<double>(std::max<std::int64_t>(1, since_spike_));
        decrement_ = delay_ / (config_.spikes_apart * n);
        since_spike_ = 0;
    } else {
        ++since_spike_;
        if (!in_hold && delay_ > 0)
            d.hold_ms = fixed ? std::min(config_.static_ms, config_.most_delay_ms) : delay_;
        falls = falls && !(in_hold && config_.read_as == reading::figure);
    }
    if (falls) delay_ = std::max(0.0, delay_ - decrement_);
    mean_ = started_ ? mean_ + (p_ms - mean_) / 8 : p_ms;
    if (started_) deviation_ += (std::abs(p_ms - mean_) - deviation_) / 4;
    started_ = true;
    return d;
}

delay_injection::delay_injection(const delay_injection_config& config) : config_(config) {
    config.check();
}

bool delay_injection::offer(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag) {
    std::int64_t due = now_ns;
    if (config_.kind != delay_injection_config::mode::off)
        if (const auto s = tcp::read_segment(packet)) due = evaluate(*s, now_ns);
    in_.add(packet.size());
    queued_.add(packet.size());
    waiting_.emplace(place{due, next_++}, held_packet{{packet.begin(), packet.end()}, tag, now_ns});
    return true;
}

std::int64_t delay_injection::evaluate(const tcp::segment& s, std::int64_t now_ns) {
    const auto found = flows_.find(s.key);
    const auto echo = echo_of(s.options);
    const bool acknowledges =
        (s.flags & (tcp::syn | tcp::fin | tcp::rst | tcp::ack)) == tcp::ack && s.data == 0 && echo;
    if (!acknowledges) {
        if (found == flows_.end()) return now_ns;
        release(found->second, now_ns);
        if ((s.flags & (tcp::syn | tcp::rst)) != 0) flows_.erase(found);
        return now_ns;
    }
    const bool expired =
        found != flows_.end() &&
        static_cast<double>(now_ns - found->second.used_ns) > config_.expiry_s * 1e9;
    if (expired) {
        release(found->second, now_ns);
        flows_.erase(found);
        ++count_.expired;
    }
    const bool is_new = expired || found == flows_.end();
    flow& f = is_new ? open(s.key, now_ns) : found->second;
    if (is_new) f.first_ns = now_ns, f.echo = *echo;
    f.used_ns = now_ns;
    return sample(f, now_ns, *echo);
}

std::int64_t delay_injection::sample(flow& f, std::int64_t now_ns, std::uint32_t echo) {
    f.echoed += static_cast<std::int32_t>(echo - f.echo);
    f.echo = echo;
    if (f.until_ns <= now_ns) f.held.clear();  // they leave by themselves
    const double threshold_before_ms = f.rule.threshold_ms();
    count_.pdelay_ms = static_cast<double>(now_ns - f.first_ns) * 1e-6 -
                       static_cast<double>(f.echoed) * config_.tick_ms;
    const auto d = f.rule.on_sample(count_.pdelay_ms, !f.held.empty());
    count_.threshold_ms =
        std::isfinite(threshold_before_ms) ? threshold_before_ms : f.rule.threshold_ms();
    count_.delay_ms = f.rule.delay_ms();
    count_.last_ns = now_ns;
    ++count_.samples;
    if (d.spike) {
        ++count_.spikes;
        release(f, now_ns);
    }
    if (static_cast<int>(f.held.size()) >= config_.most_held) release(f, now_ns);
    if (d.hold_ms > 0 && f.held.empty())
        f.until_ns = now_ns + std::llround(d.hold_ms * 1e6);
    else if (f.held.empty())
        return now_ns;
    f.held.push_back(next_);
    ++count_.held;
    count_.held_ms += static_cast<double>(f.until_ns - now_ns) * 1e-6;
    return f.until_ns;
}

delay_injection::flow& delay_injection::open(const tcp::flow_key& key, std::int64_t now_ns) {
    if (static_cast<int>(flows_.size()) >= config_.most_flows) {
        const auto oldest = std::ranges::min_element(
            flows_, {}, [](const auto& entry) { return entry.second.used_ns; });
        release(oldest->second, now_ns);
        flows_.erase(oldest);
        ++count_.evicted;
    }
    return flows_.emplace(key, flow(config_)).first->second;
}

void delay_injection::release(flow& f, std::int64_t now_ns) {
    if (f.until_ns > now_ns)
        for (const std::uint64_t number : f.held) {
            auto packet = waiting_.extract({f.until_ns, number});
            packet.key().first = now_ns;
            waiting_.insert(std::move(packet));
            ++count_.released_early;
            count_.held_ms -= static_cast<double>(f.until_ns - now_ns) * 1e-6;
        }
    f.held.clear();
    f.until_ns = 0;
}

void delay_injection::flush(std::int64_t now_ns) {
    for (auto& [key, f] : flows_) release(f, now_ns);
}

void delay_injection::reconfigure(const delay_injection_config& config, std::int64_t now_ns) {
    config.check();
    flush(now_ns);
    flows_.clear();
    config_ = config;
}

void delay_injection::advance(std::int64_t now_ns) {
    while (!waiting_.empty() && waiting_.begin()->first.first <= now_ns) {
        const auto first = waiting_.extract(waiting_.begin());
        const held_packet& p = first.mapped();
        queued_.take(p.data.size());
        delivered_.add(p.data.size());
        hand_over({p.data, p.tag, p.offered_ns, first.key().first});
    }
}

}  // namespace wip
