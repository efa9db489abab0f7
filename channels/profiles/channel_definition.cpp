// SPDX-License-Identifier: GPL-3.0-or-later
#include "profiles/channel_definition.h"

#include <yaml-cpp/yaml.h>

#include <cmath>
#include <stdexcept>

#include "sample/clarke_waves.h"
#include "types/file_text.h"
#include "types/setting_limits.h"
#include "yaml/place.h"

namespace wip::profiles {
namespace {

using namespace sample_model;
using yaml::place, yaml::refuse;

constexpr int deepest = 4;  // most definitions in a chain of based_on

struct source_text {
    std::string text, file;
};

source_text read_source(const std::string& name, const std::string& beside) {
    std::string known;
    for (const auto& [builtin, text] : detail::builtin_texts()) {
        if (builtin == name) return {text, name + ".yaml"};
        known += builtin + ", ";
    }
    if (name.empty() || (name.find('/') == std::string::npos && !name.ends_with(".yaml")))
        refuse("channel '" + shown(name) + "': unknown; valid: " + known + "or a file FILE.yaml");
    const std::size_t folder = beside.rfind('/');
    const std::string path = name.front() == '/' || folder == std::string::npos
                                 ? name
                                 : beside.substr(0, folder + 1) + name;
    try {
        return {file_text(path), path};
    } catch (const bad_input& e) {
        refuse(std::string(e.what()) + "; valid: a YAML file");
    }
}

// Merges a definition with the one that it is based on; its own keys replace those of the other.
YAML::Node resolve(const source_text& source, int depth) {
    const place top(source.text, source.file);
    top.expect_keys({"name", "source", "based_on", "carrier_hz", "speed_kmh", "delay_spread_ns",
                     "taps", "shadowing", "train", "path_loss", "users", "random_users",
                     "attenuator", "blackout"});
    const place base = top.at("based_on");
    if (!base.given()) return top.node();
    if (depth >= deepest) base.refuse("at most " + std::to_string(deepest) + " deep");
    const std::string name = base.text("the name of a channel, or a file FILE.yaml");
    YAML::Node all;
    try {
        all = resolve(read_source(name, source.file), depth + 1);
    } catch (const std::invalid_argument& e) {
        base.refuse(e.what());
    }
    // A list of taps and the spread that scales it belong together.
    if (top.at("taps").given()) all.remove("delay_spread_ns");
    for (const char* moves : {"train", "users", "random_users"})
        if (top.at(moves).given()) all.remove("speed_kmh");
    top.each_entry([&all](const std::string& key, const place& own) {
        if (key != "based_on") all[key] = own.node();
    });
    return all;
}

profile_tap read_tap(const place& t, double spread_s) {
    t.expect_keys({"delay_ns", "delay", "power_db", "fading", "k_db"});
    if (t.at("delay").given() == t.at("delay_ns").given() ||
        t.at("delay").given() != (spread_s > 0))
        t.refuse("delay_ns, or delay in a file that has delay_spread_ns");
    profile_tap tap;
    tap.delay_s = t.at("delay").given() ? t.at("delay").number(0, 1e4) * spread_s
                                        : t.at("delay_ns").number(0, 1e6) * 1e-9;
    tap.power_db = t.at("power_db").number(-100, 100);
    if (const place f = t.at("fading"); f.given())
        tap.fading = std::array{
            tap_fading::rayleigh, tap_fading::rice, tap_fading::constant,
            tap_fading::line_of_sight}[f.one_of({"rayleigh", "rice", "constant", "line_of_sight"})];
    const place k = t.at("k_db");
    if ((tap.fading == tap_fading::rice) != k.given())
        k.refuse("a number with fading: rice, none without");
    if (k.given()) tap.k_db = k.number(-40, 60);
    return tap;
}

delay_profile read_profile(const place& top, const std::string& name,
                           std::optional<double> delay_spread_ns) {
    delay_profile profile{.name = name, .taps = {}};
    double spread_ns = 0;
    if (const place s = top.at("delay_spread_ns"); s.given()) {
        if (delay_spread_ns) check_range("delay_spread_ns", *delay_spread_ns, 1e-3, 12500);
        spread_ns = delay_spread_ns ? *delay_spread_ns : s.number(1e-3, 12500);
    } else if (delay_spread_ns) {
        wip::refuse("delay_spread_ns", text_of(*delay_spread_ns),
                    "none, as the delays of " + name + " are fixed");
    }
    const place taps = top.at("taps");
    if (!taps.given()) taps.refuse("a list");
    taps.each_item([&](const place& t) { profile.taps.push_back(read_tap(t, spread_ns * 1e-9)); });
    try {
        check_profile(profile);
    } catch (const std::invalid_argument& e) {
        taps.refuse(e.what());
    }
    return profile;
}

// A key that has a number, and the member that gets it: the number times `unit`.
template <class Config>
struct number_field {
    const char* name;
    double Config::*member;
    double low, high, unit = 1;
};
// Reads numbers by key into the members of a struct; a member whose key is missing keeps its
// default.
template <class Config>
Config read_numbers(const place& p, const std::vector<number_field<Config>>& fields,
                    const std::vector<std::string>& others = {}) {
    std::vector<std::string> known = others;
    for (const auto& f : fields) known.push_back(f.name);
    p.expect_keys(known);
    Config c;
    for (const auto& f : fields)
        if (const place v = p.at(f.name); v.given()) c.*f.member = v.number(f.low, f.high) * f.unit;
    return c;
}

constexpr double kmh = 1 / 3.6;  // m/s

speed_range read_speed(const place& p) {
    if (!p.is_map()) {
        const double v = p.number(0, 500);
        return {v, v};
    }
    const auto range =
        read_numbers<speed_range>(p, {{"lowest", &speed_range::lowest_kmh, 0, 500},
                                      {"highest", &speed_range::highest_kmh, 0, 500}});
    if (range.lowest_kmh > range.highest_kmh) p.at("lowest").refuse("at most the highest");
    return range;
}

void read_shadowing(const place& p, channel_definition& d) {
    using config = shadowing_config;
    config c = read_numbers<config>(p,
                                    {{"spread_db", &config::deviation_db, 0, 400},
                                     {"correlation_length_m", &config::correlation_m, 0.1, 1e4},
                                     {"pole", &config::pole, 0.1, 0.99}},
                                    {"reading", "mean", "default"});
    // `reading`: what spread_db is: the standard deviation of the shadowing, its variance, or the
    // variance of the noise that drives its autoregressive process. It becomes the deviation.
    if (const place r = p.at("reading"); r.given()) {
        const auto reading = r.one_of({"deviation", "variance", "innovation"});
        if (reading != 0) c.deviation_db = std::sqrt(c.deviation_db);
        if (reading == 2) c.deviation_db /= std::sqrt(1 - c.pole * c.pole);
    }
    if (c.deviation_db > 20) p.at("spread_db").refuse("at most 20 dB of standard deviation");
    if (const place m = p.at("mean"); m.given()) c.linear_mean = m.one_of({"linear", "db"}) == 0;
    // Shadowing is on unless the file, or the user, switches it off.
    d.shadowing_default = true;
    if (const place u = p.at("default"); u.given())
        d.shadowing_default = u.one_of({"on", "true", "off", "false"}) < 2;
    d.shadowing = c;
}

waypoint_track read_track(const place& user) {
    waypoint_track track;
    if (const place c = user.at("closed"); c.given())
        track.closed = c.one_of({"true", "false"}) == 0;
    const place points = user.at("track");
    if (!points.given()) points.refuse("a list of points {x_m, y_m, speed_kmh}");
    points.each_item([&](const place& p) {
        track.points.push_back(
            read_numbers<waypoint>(p, {{"x_m", &waypoint::x_m, -1e6, 1e6},
                                       {"y_m", &waypoint::y_m, -1e6, 1e6},
                                       {"speed_kmh", &waypoint::speed_mps, 0, 500, kmh}}));
    });
    return track;
}

void read_users(const place& users, channel_definition& d) {
    users.each_item([&](const place& u) {
        u.expect_keys({"name", "closed", "track"});
        const waypoint_track track = read_track(u);
        try {
            // Made to check the track, and dropped.
            motion({.path = track, .carrier_hz = d.carrier_hz}, 7.68e6);
        } catch (const std::invalid_argument& e) {
            u.at("track").refuse(e.what());
        }
        d.users.push_back({u.at("name").text("a name"), track});
    });
    if (d.users.empty()) users.refuse("at least one user");
}

channel_definition read_definition(const YAML::Node& root, const std::string& file,
                                   std::optional<double> delay_spread_ns) {
    const place top(root, file, "");
    channel_definition d;
    d.name = top.at("name").text("a name");
    d.source = top.at("source").text("where the numbers come from");
    YAML::Emitter out;
    out << root;
    d.text = out.c_str();
    d.text += '\n';
    d.profile = read_profile(top, d.name, delay_spread_ns);
    if (const place v = top.at("carrier_hz"); v.given())
        d.carrier_hz = v.number(lowest_carrier_hz, highest_carrier_hz);
    if (const place v = top.at("speed_kmh"); v.given()) d.speed = read_speed(v);
    if (const place v = top.at("shadowing"); v.given()) read_shadowing(v, d);
    if (const place v = top.at("train"); v.given())
        d.train = read_numbers<passing_train>(
            v, {{"doppler_hz", &passing_train::doppler_hz, 0, max_doppler_hz},
                {"speed_kmh", &passing_train::speed_mps, 1, 1000, kmh},
                {"spacing_m", &passing_train::spacing_m, 1, 1e5},
                {"distance_m", &passing_train::distance_m, 0.1, 1e5}});
    if (const place v = top.at("path_loss"); v.given()) {
        d.path_loss = read_numbers<path_loss_config>(
            v, {{"exponent", &path_loss_config::exponent, 0, 8},
                {"reference_m", &path_loss_config::reference_m, 0.1, 1e5},
                {"minimum_m", &path_loss_config::minimum_m, 0.1, 1e5}});
        if (d.path_loss->minimum_m > d.path_loss->reference_m)
            v.at("minimum_m").refuse("at most reference_m");
    }
    if (const place v = top.at("users"); v.given()) read_users(v, d);
    if (const place v = top.at("random_users"); v.given()) {
        using area = random_user_area;
        d.random_users = read_numbers<area>(v, {{"inner_m", &area::inner_m, 0, 1e5},
                                                {"outer_m", &area::outer_m, 1, 1e5},
                                                {"slowest_kmh", &area::slowest_kmh, 0.1, 500},
                                                {"fastest_kmh", &area::fastest_kmh, 0.1, 500}});
        if (d.random_users->inner_m >= d.random_users->outer_m)
            v.at("inner_m").refuse("less than outer_m");
        if (d.random_users->slowest_kmh > d.random_users->fastest_kmh)
            v.at("slowest_kmh").refuse("at most fastest_kmh");
    }
    if (d.train.has_value() + !d.users.empty() + d.random_users.has_value() > 1)
        top.refuse("one of train, users, random_users");
    if (d.own_motion() && top.at("speed_kmh").given())
        top.at("speed_kmh").refuse("none where train, users or random_users say how it moves");
    if (d.path_loss && d.users.empty() && !d.random_users)
        top.at("path_loss").refuse("only with users or random_users");
    if (const place v = top.at("attenuator"); v.given()) {
        using config = attenuator_config;
        d.attenuator = read_numbers<config>(v, {{"step_db", &config::step_db, 0.01, 10},
                                                {"tick_ms", &config::tick_ms, 1, 1000},
                                                {"headroom_db", &config::headroom_db, 0, 60},
                                                {"range_db", &config::range_db, 1, 127}});
    }
    if (const place v = top.at("blackout"); v.given())
        v.each_item([&](const place& b) {
            using config = blackout_config;
            d.blackouts.push_back(
                read_numbers<config>(b, {{"start_s", &config::start_s, 0, 1e6},
                                         {"duration_s", &config::duration_s, 1e-6, 1e6},
                                         {"period_s", &config::period_s, 0, 1e6},
                                         {"depth_db", &config::depth_db, 0, 200}}));
            try {
                // Made to check the blackout, and dropped.
                const motion still({}, 7.68e6);
                large_scale({.blackouts = {d.blackouts.back()}}, still, {});
            } catch (const std::invalid_argument& e) {
                b.refuse(e.what());
            }
        });
    return d;
}

}  // namespace

std::vector<std::string> names() {
    return {setting::channel_model_choices.begin(), setting::channel_model_choices.end()};
}

channel_definition parse_definition(const std::string& text, const std::string& file,
                                    std::optional<double> delay_spread_ns) {
    return read_definition(resolve({text, file}, 0), file, delay_spread_ns);
}

channel_definition load_definition(const std::string& name, std::optional<double> delay_spread_ns) {
    const source_text source = read_source(name, "");
    return parse_definition(source.text, source.file, delay_spread_ns);
}

delay_profile load(const std::string& name, std::optional<double> delay_spread_ns) {
    return load_definition(name, delay_spread_ns).profile;
}

delay_profile parse(const std::string& text, const std::string& file,
                    std::optional<double> delay_spread_ns) {
    return parse_definition(text, file, delay_spread_ns).profile;
}

}  // namespace wip::profiles
