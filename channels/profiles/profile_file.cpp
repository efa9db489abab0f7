// SPDX-License-Identifier: GPL-3.0-or-later
#include "profiles/profile_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace wip::profiles {
namespace {

using sample_model::profile_tap;
using sample_model::tap_fading;

[[noreturn]] void refuse(const std::string& file, const std::string& key, const std::string& what) {
    throw std::invalid_argument(file + ": " + key + ": " + what);
}

void expect_keys(const YAML::Node& node, const std::string& file, const std::string& key,
                 const std::vector<std::string>& known) {
    std::string list;
    for (const std::string& k : known) list += (list.empty() ? "" : ", ") + k;
    if (!node.IsMap()) refuse(file, key, "valid: a mapping with the keys " + list);
    for (const auto& entry : node) {
        const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "?";
        if (std::find(known.begin(), known.end(), name) == known.end())
            refuse(file, key + "." + name, "unknown key; valid: " + list);
    }
}

double number(const YAML::Node& node, const std::string& file, const std::string& key) {
    double v = 0;
    if (!node.IsDefined() || !node.IsScalar() || !YAML::convert<double>::decode(node, v))
        refuse(file, key, "valid: a number");
    return v;
}

}  // namespace

std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const auto& [name, text] : detail::builtin_texts()) all.push_back(name);
    return all;
}

delay_profile parse(const std::string& text, const std::string& file,
                    std::optional<double> delay_spread_ns) {
    YAML::Node root;
    try {
        root = YAML::Load(text);
    } catch (const YAML::Exception& e) {
        throw std::invalid_argument(file + ": line " + std::to_string(e.mark.line + 1) +
                                    ": not YAML: " + e.msg);
    }
    expect_keys(root, file, "file", {"name", "source", "delay_spread_ns", "taps"});
    delay_profile profile;
    if (!root["name"].IsDefined() || !root["name"].IsScalar())
        refuse(file, "name", "valid: a name");
    profile.name = root["name"].Scalar();
    if (!root["source"].IsDefined() || !root["source"].IsScalar())
        refuse(file, "source", "valid: where the numbers come from");
    double spread = 0;
    if (const YAML::Node s = root["delay_spread_ns"]; s.IsDefined()) {
        spread = delay_spread_ns ? *delay_spread_ns : number(s, file, "delay_spread_ns");
        if (!(spread > 0 && spread <= 12500))
            refuse(file, "delay_spread_ns", "valid: more than 0 to 12500");
    } else if (delay_spread_ns) {
        refuse(file, "delay_spread_ns",
               "the delays of " + profile.name + " are fixed; valid: none");
    }
    const YAML::Node taps = root["taps"];
    if (!taps.IsDefined() || !taps.IsSequence()) refuse(file, "taps", "valid: a list");
    for (std::size_t i = 0; i < taps.size(); ++i) {
        const std::string key = "taps[" + std::to_string(i) + "]";
        const YAML::Node t = taps[i];
        expect_keys(t, file, key, {"delay_ns", "delay", "power_db", "fading", "k_db"});
        if (t["delay"].IsDefined() == t["delay_ns"].IsDefined() ||
            t["delay"].IsDefined() != (spread > 0))
            refuse(file, key, "valid: delay_ns, or delay in a file that has delay_spread_ns");
        profile_tap tap;
        tap.delay_s = t["delay"].IsDefined()
                          ? number(t["delay"], file, key + ".delay") * spread * 1e-9
                          : number(t["delay_ns"], file, key + ".delay_ns") * 1e-9;
        tap.power_db = number(t["power_db"], file, key + ".power_db");
        if (const YAML::Node f = t["fading"]; f.IsDefined()) {
            const std::string kind = f.IsScalar() ? f.Scalar() : "";
            if (kind == "rice")
                tap.fading = tap_fading::rice;
            else if (kind == "constant")
                tap.fading = tap_fading::constant;
            else if (kind != "rayleigh")
                refuse(file, key + ".fading", "valid: one of rayleigh, rice, constant");
        }
        if ((tap.fading == tap_fading::rice) != t["k_db"].IsDefined())
            refuse(file, key + ".k_db", "valid: a number with fading: rice, none without");
        if (tap.fading == tap_fading::rice) tap.k_db = number(t["k_db"], file, key + ".k_db");
        profile.taps.push_back(tap);
    }
    try {
        sample_model::check_profile(profile);
    } catch (const std::invalid_argument& e) {
        throw std::invalid_argument(file + ": " + e.what());
    }
    return profile;
}

delay_profile load(const std::string& name, std::optional<double> delay_spread_ns) {
    std::string known;
    for (const auto& [builtin, text] : detail::builtin_texts()) {
        if (builtin == name) return parse(text, name + ".yaml", delay_spread_ns);
        known += builtin + ", ";
    }
    if (name.find('/') == std::string::npos && !name.ends_with(".yaml"))
        throw std::invalid_argument("delay profile '" + name + "': unknown; valid: " + known +
                                    "or a file FILE.yaml");
    std::ifstream in(name);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    if (!in.good() && !in.eof())
        throw std::invalid_argument(name + ": cannot be read; valid: a YAML file");
    return parse(text, name, delay_spread_ns);
}

}  // namespace wip::profiles
