// SPDX-License-Identifier: GPL-3.0-or-later
#include "medium/channel_control.h"

#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "profiles/channel_definition.h"
#include "types/db.h"
#include "types/grid.h"

namespace wip::air {
namespace {

using profiles::place;

constexpr double blackout_loss_db = 100;
constexpr double longest_blackout_ms = 600'000;
constexpr double unlimited = std::numeric_limits<double>::infinity();
constexpr const char* blackout_valid = "on, off, or 1 to 600000 ms";

// The noise is that of the whole sample rate, the signal fills the subcarriers.
const double snr_offset_db =
    nominal_transmit_level.value + 10 * std::log10(double{fft_size} / double{nof_subcarriers});

// What `blackout` asks for, as values::blackout_ms.
std::optional<double> read_blackout(const place& v) {
    const std::string t = v.text(blackout_valid);
    if (t == "on" || t == "true") return unlimited;
    if (t == "off" || t == "false") return std::nullopt;
    return v.number(1, longest_blackout_ms, " ms, on or off");
}

std::string number(double v) {
    std::ostringstream text;
    text.precision(10);
    text << v;
    return text.str();
}

// What a running medium keeps, with the reason.
[[noreturn]] void refuse_key(const std::string& key, const std::string& why) {
    profiles::refuse("configure: " + key + ": cannot change in a running medium: " + why +
                     "; valid: channel.model, channel.snr_db, channel.speed_kmh, "
                     "channel.shadowing, channel.user, channel.blackout");
}

}  // namespace

channel_control::channel_control(const medium_config& config, change_fn change)
    : config_(config), change_(std::move(change)) {
    if (config.paths.size() != 1) {
        why_not_ = "it has " + std::to_string(config.paths.size()) + " paths, and one is expected";
        return;
    }
    const path_config& path = config.paths[0];
    now_.channel = path.request;
    now_.user = path.user;
    if (const auto noise = config.nodes[path.to].noise_dbfs)
        now_.snr_db = std::round((snr_offset_db + path.gain_db - *noise) * 1e3) / 1e3;
}

std::optional<tick> channel_control::configure(const std::string& yaml, tick now) {
    YAML::Node root;
    try {
        root = YAML::Load(yaml);
    } catch (const YAML::Exception& e) {
        profiles::refuse("configure: not YAML: " + e.msg);
    }
    last_.clear();
    const place top(root, "configure", "");
    for (const auto* name : {"air", "nodes", "paths"})
        if (top.is_map() && top.at(name).given())
            refuse_key(name, "its stations have been built around it");
    top.expect_keys({"channel"});
    const place p = top.at("channel");
    if (!p.given()) return std::nullopt;
    if (!why_not_.empty()) refuse_key("channel", why_not_);
    for (const auto* name : {"doppler_hz", "delay_spread_ns", "carrier_hz"})
        if (p.is_map() && p.at(name).given())
            refuse_key(std::string("channel.") + name, "give model and speed_kmh instead");
    p.expect_keys({"model", "snr_db", "speed_kmh", "shadowing", "user", "blackout"});

    values next = now_;
    if (next.blackout_end <= now) next.blackout_ms.reset(), next.blackout_end = never;
    const values before = next;
    // Names only: whoever may ask over a socket is not to have files read.
    if (const place v = p.at("model"); v.given() && v.text("a name") != now_.channel.model) {
        next.channel.model = profiles::names()[v.one_of(profiles::names())];
        next.channel.delay_spread_ns.reset();
    }
    if (const place v = p.at("user"); v.given())
        next.user = static_cast<std::uint32_t>(v.integer(0, 255));
    if (const place v = p.at("shadowing"); v.given()) next.channel.shadowing = read_shadowing(v);
    const place speed = p.at("speed_kmh");
    if (speed.given()) {
        next.channel.doppler_hz.reset();
        next.channel.speed_kmh.reset();
        if (speed.text("0 to 500 km/h, or own") != "own")
            next.channel.speed_kmh = speed.number(0, 500, " km/h, or own");
    }
    if (const place v = p.at("snr_db"); v.given()) {
        if (!now_.snr_db) v.refuse("none: the receiver has no noise");
        next.snr_db = v.number(-30, 80, " dB");
    }
    const place dark = p.at("blackout");
    if (dark.given()) next.blackout_ms = read_blackout(dark);

    medium_change c;
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
            if (definition.own_motion() && !(speed.given() && next.channel.speed_kmh))
                next.channel.speed_kmh.reset(), next.channel.doppler_hz.reset();
            path_config path = config_.paths[0];
            path.user = next.user;
            path.channel = realise(next.channel, next.user, config_.seed);
            c.channel = mixer::prepare(path, 0, config_.seed);
        } catch (const std::invalid_argument& e) {
            profiles::refuse("configure: channel: model '" + next.channel.model + "': " + e.what());
        }
    }
    if (next.snr_db != before.snr_db)
        c.noise_dbfs = snr_offset_db + config_.paths[0].gain_db - *next.snr_db;
    const bool timed = next.blackout_ms && *next.blackout_ms != unlimited;
    if (dark.given() && (timed || next.blackout_ms != before.blackout_ms)) {
        c.dark = medium_change::blackout{next.blackout_ms ? blackout_loss_db : 0, never};
        if (timed)
            c.dark->length = static_cast<tick>(std::llround(*next.blackout_ms * sample_rate / 1e3));
    }
    if (!c.channel && !c.noise_dbfs && !c.dark) return std::nullopt;
    const bool darkens = c.dark.has_value();
    const tick length = darkens ? c.dark->length : never;
    const auto from = change_(std::move(c));
    if (!from) profiles::refuse("configure: the medium is not running; nothing changed");
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
    std::string out =
        "air:\n  name: " + config_.name +
        "\n  clock: " + (config_.clock == clock_kind::lockstep ? "lockstep" : "realtime") +
        "\n  speed: " + number(config_.speed) + "\n  seed: " + std::to_string(config_.seed) +
        "\n  pacing_limit_ms: " + number(config_.pacing_limit_ms) + "\n";
    if (!why_not_.empty()) return out;
    out += "channel:\n";
    for (const auto& [key, value] : as_text(now_, now)) out += "  " + key + ": " + value + "\n";
    return out;
}

}  // namespace wip::air
