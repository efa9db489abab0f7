// SPDX-License-Identifier: GPL-3.0-or-later
#include "medium/impairment_config.h"

namespace wip::air {
namespace {

using namespace sample_model;
using profiles::list;

// Fields by name; `set` gets a place for each one that is given.
template <class Config>
struct field {
    const char* name;
    double Config::*member;
};

template <class Config>
Config read(const place& p, const std::vector<field<Config>>& fields) {
    std::vector<std::string> known;
    for (const auto& f : fields) known.push_back(f.name);
    p.expect_keys(known);
    Config c;
    for (const auto& f : fields)
        if (const place v = p.at(f.name); v.given()) c.*f.member = v.number(-1e12, 1e12);
    return c;
}

template <class Config>
Config read_short(const place& p, double Config::*member) {
    Config c;
    c.*member = p.number(-1e12, 1e12);
    return c;
}

// Makes the stage once for its checks, so that a value out of range is refused with its place.
impairment_config checked(const place& p, const impairment_config& c) {
    try {
        stage_chain({c}, stage_context{});
    } catch (const std::invalid_argument& e) {
        p.refuse(e.what());
    }
    return c;
}

impairment_config read_item(const place& item, bool receiver) {
    const std::vector<std::string> names{
        "cfo_hz",    "cfo",       "clock_ppm", "clock",        "timing_jump", "phase_noise",
        "dc_dbfs",   "dc_offset", "image_db",  "iq_imbalance", "gain_step",   "adc_bits",
        "quantiser", "gap",       "tone",      "interference", "linewidth_hz"};
    item.expect_keys(names);
    std::string name;
    int given = 0;
    item.each_entry([&](const std::string& key, const place&) {
        name = key;
        ++given;
    });
    if (given != 1) item.refuse("one key of " + list(names));
    const place v = item.at(name);
    if (name == "cfo_hz") return checked(v, read_short(v, &cfo_config::hz));
    if (name == "cfo")
        return checked(v, read<cfo_config>(v, {{"hz", &cfo_config::hz},
                                               {"drift_hz_per_s", &cfo_config::drift_hz_per_s}}));
    if (name == "clock_ppm" || name == "clock") {
        clock_offset_config c;
        c.max_delay_samples = 65536;
        if (receiver) {  // a clock of its own, which needs no store
            if (name == "clock") v.expect_keys({"ppm"});
            c.ppm = (name == "clock" ? v.at("ppm") : v).number(-100, 100);
            return c;
        }
        if (name == "clock_ppm") {
            c.ppm = v.number(-100, 100);
            c.start_delay_samples = c.ppm < 0 ? 2560 : 0;
        } else {
            const double standard = c.max_delay_samples;
            c = read<clock_offset_config>(
                v, {{"ppm", &clock_offset_config::ppm},
                    {"start_delay_samples", &clock_offset_config::start_delay_samples},
                    {"max_delay_samples", &clock_offset_config::max_delay_samples}});
            if (!v.at("max_delay_samples").given()) c.max_delay_samples = standard;
            if (c.max_delay_samples > 65536)
                v.at("max_delay_samples")
                    .refuse("16 to 65536 on a path (a receiver's clock drifts for ever)");
        }
        return checked(v, c);
    }
    if (name == "timing_jump") {
        const auto c = read<timing_jump_config>(
            v, {{"samples", &timing_jump_config::samples},
                {"start_s", &timing_jump_config::start_s},
                {"period_s", &timing_jump_config::period_s},
                {"start_delay_samples", &timing_jump_config::start_delay_samples},
                {"max_delay_samples", &timing_jump_config::max_delay_samples}});
        if (c.max_delay_samples > 65536)
            v.at("max_delay_samples").refuse("0 to 65536 in the medium");
        return checked(v, c);
    }
    if (name == "linewidth_hz") return checked(v, read_short(v, &phase_noise_config::linewidth_hz));
    if (name == "phase_noise")
        return checked(
            v, read<phase_noise_config>(v, {{"linewidth_hz", &phase_noise_config::linewidth_hz}}));
    if (name == "dc_dbfs") return checked(v, read_short(v, &dc_offset_config::dbfs));
    if (name == "dc_offset")
        return checked(v, read<dc_offset_config>(v, {{"dbfs", &dc_offset_config::dbfs},
                                                     {"angle_deg", &dc_offset_config::angle_deg}}));
    if (name == "image_db")
        return checked(v, read_short(v, &iq_imbalance_config::image_rejection_db));
    if (name == "iq_imbalance")
        return checked(v, read<iq_imbalance_config>(
                              v, {{"image_rejection_db", &iq_imbalance_config::image_rejection_db},
                                  {"angle_deg", &iq_imbalance_config::angle_deg}}));
    if (name == "gain_step")
        return checked(v, read<gain_step_config>(v, {{"db", &gain_step_config::db},
                                                     {"start_s", &gain_step_config::start_s},
                                                     {"period_s", &gain_step_config::period_s}}));
    if (name == "adc_bits") return checked(v, read_short(v, &quantiser_config::bits));
    if (name == "quantiser")
        return checked(v, read<quantiser_config>(
                              v, {{"bits", &quantiser_config::bits},
                                  {"full_scale_dbfs", &quantiser_config::full_scale_dbfs}}));
    if (name == "gap")
        return checked(v, read<gap_config>(v, {{"samples", &gap_config::samples},
                                               {"start_s", &gap_config::start_s},
                                               {"period_s", &gap_config::period_s}}));
    if (name == "tone")
        return checked(
            v, read<tone_config>(v, {{"dbfs", &tone_config::dbfs}, {"hz", &tone_config::hz}}));
    return checked(
        v, read<interference_config>(v, {{"dbfs", &interference_config::dbfs},
                                         {"centre_hz", &interference_config::centre_hz},
                                         {"bandwidth_hz", &interference_config::bandwidth_hz}}));
}

}  // namespace

std::vector<impairment_config> read_impairments(const place& p, bool receiver) {
    std::vector<impairment_config> all;
    int clocks = 0;
    if (p.given())
        p.each_item([&](const place& item) {
            all.push_back(read_item(item, receiver));
            clocks += std::holds_alternative<clock_offset_config>(all.back());
            if (receiver && clocks > 1) item.refuse("one clock for a receiver");
        });
    return all;
}

}  // namespace wip::air
