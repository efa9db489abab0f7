// SPDX-License-Identifier: GPL-3.0-or-later
#include "medium/channel_control.h"

#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "medium/air_config.h"
#include "profiles/channel_definition.h"

namespace wip::air {
namespace {

constexpr double blackout_loss_db = 100;
constexpr double unlimited = std::numeric_limits<double>::infinity();

std::string number(double v) {
    std::ostringstream text;
    text.precision(10);
    text << v;
    return text.str();
}

}  // namespace

channel_control::channel_control(const mix::mix_config& config, std::string head, change_fn change,
                                 bool elsewhere)
    : config_(config), head_(std::move(head)), change_(std::move(change)) {
    if (elsewhere) {
        why_not_ = "the channel is elsewhere";
        return;
    }
    if (config.paths.size() != 1) {
        why_not_ = "it has " + std::to_string(config.paths.size()) + " paths, and one is expected";
        return;
    }
    const path_config& path = config.paths[0];
    now_.channel = path.request;
    now_.user = path.user;
    if (const auto noise = config.nodes[path.to].noise_dbfs)
        now_.snr_db =
            std::round(snr_at_unit_gain_db(config.nodes[path.from], path, *noise) * 1e3) / 1e3;
}

std::optional<tick> channel_control::configure(const std::string& yaml, tick now) {
    last_.clear();
    config::settings asked(running_keys());
    asked.merge_yaml(yaml, "configure", true);
    const auto given = [&](const char* key) { return asked.given(std::string("channel.") + key); };
    for (const auto& k : running_keys())
        if (!why_not_.empty() && asked.given(k.path))
            throw asked.refuse(k.path, "cannot change in a running medium: " + why_not_);

    values next = now_;
    if (next.blackout_end <= now) next.blackout_ms.reset(), next.blackout_end = never;
    const values before = next;
    if (given("model") && asked.text("channel.model") != now_.channel.model) {
        next.channel.model = asked.text("channel.model");
        next.channel.delay_spread_ns.reset();
    }
    if (is_trace(next.channel.model))
        for (const char* key : {"snr_db", "speed_kmh", "shadowing", "user"})
            if (given(key))
                throw asked.refuse(std::string("channel.") + key,
                                   "the channel is a trace, which has its own");
    if (given("user")) next.user = static_cast<std::uint32_t>(asked.integer("channel.user"));
    if (given("shadowing")) next.channel.shadowing = read_shadowing(asked, "channel.shadowing");
    if (given("speed_kmh")) {
        next.channel.doppler_hz.reset();
        next.channel.speed_kmh = asked.number("channel.speed_kmh");
    }
    if (given("snr_db")) {
        if (!now_.snr_db)
            throw asked.refuse("channel.snr_db", "not valid; the receiver has no noise");
        next.snr_db = asked.real("channel.snr_db");
    }
    if (given("blackout")) {
        next.blackout_ms = asked.number("channel.blackout");
        if (asked.text("channel.blackout") == "on") next.blackout_ms = unlimited;
    }

    mix::mixer_change c;
    const bool same_fading = next.channel.model == before.channel.model &&
                             next.channel.speed_kmh == before.channel.speed_kmh &&
                             next.channel.doppler_hz == before.channel.doppler_hz &&
                             next.user == before.user;
    c.alike = same_fading;
    const bool new_channel = !same_fading || next.channel.shadowing != before.channel.shadowing;
    if (new_channel) {
        try {
            const auto definition =
                profiles::load_definition(next.channel.model, next.channel.delay_spread_ns);
            // A speed that was asked of another channel is not one that was asked of this.
            if (definition.own_motion() && !(given("speed_kmh") && next.channel.speed_kmh))
                next.channel.speed_kmh.reset(), next.channel.doppler_hz.reset();
            path_config path = config_.paths[0];
            path.user = next.user;
            path.trace.reset();
            path.channel = realise(next.channel, next.user, config_.seed);
            c.channel = mix::mixer::prepare(path, 0, config_.seed);
        } catch (const std::invalid_argument& e) {
            throw config::error("configure: channel: model '" + next.channel.model +
                                "': " + e.what());
        }
    }
    if (next.snr_db != before.snr_db) {
        const path_config& path = config_.paths[0];
        c.noise_dbfs = snr_at_unit_gain_db(config_.nodes[path.from], path, *next.snr_db);
    }
    const bool timed = next.blackout_ms && *next.blackout_ms != unlimited;
    if (given("blackout") && (timed || next.blackout_ms != before.blackout_ms)) {
        c.dark = mix::mixer_change::blackout{next.blackout_ms ? blackout_loss_db : 0, never};
        if (timed)
            c.dark->length = static_cast<tick>(std::llround(*next.blackout_ms * sample_rate / 1e3));
    }
    if (!c.channel && !c.noise_dbfs && !c.dark) return std::nullopt;
    const bool darkens = c.dark.has_value();
    const tick length = darkens ? c.dark->length : never;
    const auto from = change_(std::move(c));
    if (!from) throw config::error("configure: the medium is not running; nothing changed");
    if (darkens) next.blackout_end = length == never ? never : *from + length;
    const auto old_text = as_text(before, now), new_text = as_text(next, now);
    now_ = next;
    for (std::size_t i = 0; i < new_text.size(); ++i)
        if (new_text[i].second != old_text[i].second ||
            (darkens && timed && new_text[i].first == "blackout"))
            last_.push_back(
                {"channel." + new_text[i].first, old_text[i].second, new_text[i].second});
    return from;
}

std::vector<std::pair<std::string, std::string>> channel_control::as_text(const values& v,
                                                                          tick now) const {
    std::vector<std::pair<std::string, std::string>> t;
    t.emplace_back("model", v.channel.model.empty() ? "none" : v.channel.model);
    if (v.snr_db) t.emplace_back("snr_db", number(*v.snr_db));
    t.emplace_back("speed_kmh", v.channel.speed_kmh ? number(*v.channel.speed_kmh) : "own");
    const shadowing_request& s = v.channel.shadowing;
    t.emplace_back("shadowing", s.deviation_db ? number(*s.deviation_db) : s.on ? "on" : "off");
    t.emplace_back("user", std::to_string(v.user));
    const bool over = !v.blackout_ms || now >= v.blackout_end;
    t.emplace_back("blackout", over                          ? "off"
                               : *v.blackout_ms == unlimited ? "on"
                                                             : number(*v.blackout_ms));
    return t;
}

std::string channel_control::settings(tick now) const {
    std::string out = head_;
    if (!why_not_.empty()) return out;
    out += "channel:\n";
    for (const auto& [key, value] : as_text(now_, now)) out += "  " + key + ": " + value + "\n";
    return out;
}

}  // namespace wip::air
