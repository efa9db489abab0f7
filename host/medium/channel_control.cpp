// SPDX-License-Identifier: GPL-3.0-or-later
#include "medium/channel_control.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>

#include "medium/air_config.h"
#include "profiles/channel_definition.h"

namespace wip::air {
namespace {

namespace name = config::name;

constexpr double blackout_loss_db = 100;
constexpr double unlimited = std::numeric_limits<double>::infinity();

std::string number(double v) {
    std::ostringstream text;
    text.precision(10);
    text << v;
    return text.str();
}

double rounded(db snr) { return std::round(snr.value * 1e3) / 1e3; }

dbfs level_of(const mix::mix_config& c, std::size_t path) {
    return level_at_unit_gain(c.nodes[c.paths[path].from], c.paths[path]);
}

}  // namespace

channel_control::channel_control(const mix::mix_config& config, std::string head, change_fn change,
                                 bool elsewhere)
    : config_(config),
      head_(std::move(head)),
      change_(std::move(change)),
      elsewhere_(elsewhere),
      names_(path_names(config)) {
    for (std::size_t i = 0; i < config.paths.size(); ++i) {
        const path_config& path = config.paths[i];
        values v;
        v.channel = path.request;
        v.user = path.user;
        if (const auto noise = config.nodes[path.to].noise_dbfs)
            v.snr_db = rounded(level_of(config, i) - dbfs(*noise));
        now_.push_back(v);
    }
}

std::string channel_control::all_names() const {
    std::string all;
    for (const auto& name : names_) all += (all.empty() ? "" : ", ") + name;
    return all;
}

channel_control::addressed channel_control::paths_of(const config::settings& asked) const {
    addressed found;
    std::string some;
    for (const auto& k : running_keys())
        if (some.empty() && asked.given(k.path)) some = k.path;
    const auto& named = asked.entries("paths");
    if (some.empty() && named.empty()) return found;
    if (elsewhere_) {
        const std::string why =
            "cannot change in this medium, whose channel is in a fader; valid: set it there";
        if (!some.empty()) throw asked.refuse(some, why);
        throw config::error("configure: " + named[0] + " " + why);
    }
    if (!some.empty()) {
        if (names_.size() != 1)
            throw asked.refuse(some, "cannot change in a medium of " +
                                         std::to_string(names_.size()) +
                                         " paths without the name of one; valid: paths.NAME." +
                                         some + ", NAME one of: " + all_names());
        found.emplace_back(0, "");
    }
    for (const auto& entry : named) {
        const auto at =
            std::find(names_.begin(), names_.end(), entry.substr(std::strlen("paths.")));
        if (at == names_.end())
            throw config::error("configure: there is no path " + entry + "; valid: " + all_names());
        if (!found.empty() && found[0].second.empty())
            throw config::error(
                "configure: " + entry +
                " is given beside channel, which is the same path; valid: one of the two");
        found.emplace_back(at - names_.begin(), entry + ".");
    }
    return found;
}

mix::mixer_change channel_control::change_of(const config::settings& asked, std::size_t path,
                                             const std::string& prefix, values& next) const {
    const auto wanted = config::read_medium_channel_change(asked, prefix);
    const values before = next;
    if (wanted.model && config::text_of(*wanted.model) != before.channel.model) {
        next.channel.model = config::text_of(*wanted.model);
        next.channel.delay_spread_ns.reset();
    }
    if (is_trace(next.channel.model))
        for (const auto& [key, given] : {std::pair{name::channel_snr_db, wanted.snr_db.has_value()},
                                         {name::channel_speed_kmh, wanted.speed_kmh.has_value()},
                                         {name::channel_shadowing, wanted.shadowing.has_value()},
                                         {name::channel_user, wanted.user.has_value()}})
            if (given)
                throw asked.refuse(prefix + key,
                                   "the channel is a trace, which has its own; valid: none");
    if (wanted.user) next.user = static_cast<std::uint32_t>(*wanted.user);
    if (wanted.shadowing) next.channel.shadowing = shadowing_from(*wanted.shadowing);
    if (wanted.speed_kmh) {
        next.channel.doppler_hz.reset();
        next.channel.speed_kmh = *wanted.speed_kmh;
    }
    if (wanted.snr_db) {
        if (!before.snr_db)
            throw asked.refuse(
                prefix + name::channel_snr_db,
                "the receiver of this path has no noise (nodes.NAME.noise_dbfs); valid: none");
        next.snr_db = wanted.snr_db;
    }
    if (wanted.blackout) {
        next.blackout_ms = wanted.blackout->number;
        if (wanted.blackout->is(config::channel_blackout_word::on)) next.blackout_ms = unlimited;
    }

    mix::mixer_change c{.path = path};
    const bool same_fading = next.channel.model == before.channel.model &&
                             next.channel.speed_kmh == before.channel.speed_kmh &&
                             next.channel.doppler_hz == before.channel.doppler_hz &&
                             next.user == before.user;
    c.level_only = same_fading;
    const bool new_channel = !same_fading || next.channel.shadowing != before.channel.shadowing;
    if (new_channel) {
        try {
            const auto definition =
                profiles::load_definition(next.channel.model, next.channel.delay_spread_ns);
            // A speed that was requested for another channel does not hold for this one.
            if (definition.own_motion() && !(wanted.speed_kmh && next.channel.speed_kmh))
                next.channel.speed_kmh.reset(), next.channel.doppler_hz.reset();
            path_config p = config_.paths[path];
            p.user = next.user;
            p.trace.reset();
            p.channel = realise(next.channel, next.user, config_.seed);
            c.channel = mix::mixer::prepare(p, path, config_.seed);
        } catch (const std::invalid_argument& e) {
            throw config::error("configure: " + prefix + "channel.model is '" + next.channel.model +
                                "': " + e.what());
        }
    }
    if (next.snr_db != before.snr_db) {
        c.noise_dbfs = (level_of(config_, path) - db(*next.snr_db)).value;
    }
    const bool timed = next.blackout_ms && *next.blackout_ms != unlimited;
    if (wanted.blackout && (timed || next.blackout_ms != before.blackout_ms)) {
        c.dark = mix::mixer_change::blackout{next.blackout_ms ? blackout_loss_db : 0, never};
        if (timed)
            c.dark->length = static_cast<tick>(std::llround(*next.blackout_ms * sample_rate / 1e3));
    }
    return c;
}

// Noise and blackout are those of the receiver: if they are requested for one path, all others to
// the receiver have them, too.
void channel_control::same_receiver(const addressed& paths, const config::settings& asked,
                                    std::vector<values>& next) const {
    std::map<std::pair<std::size_t, std::string>, std::string> asked_at;
    for (const auto& [path, prefix] : paths)
        for (const std::string key : {name::channel_snr_db, name::channel_blackout}) {
            if (!asked.given(prefix + key)) continue;
            const std::size_t receiver = config_.paths[path].to;
            const auto [first, fresh] = asked_at.try_emplace({receiver, key}, prefix + key);
            if (!fresh)
                throw asked.refuse(prefix + key, "with " + first->second +
                                                     ", which has the same receiver; valid: one of "
                                                     "the two");
            for (std::size_t i = 0; i < next.size(); ++i) {
                if (i == path || config_.paths[i].to != receiver) continue;
                if (key == name::channel_snr_db)
                    next[i].snr_db = rounded(level_of(config_, i) -
                                             (level_of(config_, path) - db(*next[path].snr_db)));
                else
                    next[i].blackout_ms = next[path].blackout_ms;
            }
        }
}

std::optional<tick> channel_control::configure(const std::string& yaml, tick now) {
    last_.clear();
    config::settings asked(change_keys());
    asked.merge_yaml(yaml, "configure", true);
    const addressed paths = paths_of(asked);
    std::vector<values> next = now_;
    for (values& v : next)
        if (v.blackout_end <= now) v.blackout_ms.reset(), v.blackout_end = never;
    const std::vector<values> before = next;
    mix::mixer_changes changes;
    std::map<std::size_t, tick> dark;  // receivers in blackout, and until when
    for (const auto& [path, prefix] : paths) {
        mix::mixer_change c = change_of(asked, path, prefix, next[path]);
        if (c.dark) dark[config_.paths[path].to] = c.dark->length;
        if (c.channel || c.noise_dbfs || c.dark) changes.push_back(std::move(c));
    }
    same_receiver(paths, asked, next);
    if (changes.empty()) return std::nullopt;
    const auto from = change_(std::move(changes));
    if (!from)
        throw config::error(
            "configure: the medium is not running yet, and nothing changed; valid: once it runs");
    for (std::size_t i = 0; i < next.size(); ++i)
        if (const auto d = dark.find(config_.paths[i].to); d != dark.end())
            next[i].blackout_end = d->second == never ? never : *from + d->second;
    now_ = next;
    const bool by_name = !paths.front().second.empty();
    for (std::size_t i = 0; i < now_.size(); ++i) {
        const texts old_text = as_text(before[i], now), new_text = as_text(now_[i], now);
        const auto darkened = dark.find(config_.paths[i].to);
        const bool again = darkened != dark.end() && darkened->second != never;
        for (std::size_t k = 0; k < new_text.size(); ++k)
            if (new_text[k].second != old_text[k].second ||
                (again && new_text[k].first == "blackout"))
                last_.push_back(
                    {(by_name ? "paths." + names_[i] + "." : "") + "channel." + new_text[k].first,
                     old_text[k].second, new_text[k].second});
    }
    return from;
}

channel_control::texts channel_control::as_text(const values& v, tick now) {
    texts t;
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
    if (elsewhere_ || names_.empty()) return out;
    const auto add = [&](std::size_t i, const std::string& indent) {
        out += indent + "channel:\n";
        for (const auto& [key, value] : as_text(now_[i], now))
            out.append(indent).append("  ").append(key).append(": ").append(value).append("\n");
    };
    if (names_.size() == 1) add(0, "");
    out += "paths:\n";
    for (std::size_t i = 0; i < names_.size(); ++i) {
        out += "  '" + names_[i] + "':\n";
        add(i, "    ");
    }
    return out;
}

}  // namespace wip::air
