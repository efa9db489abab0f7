// SPDX-License-Identifier: GPL-3.0-or-later
#include "medium/impairment_config.h"

#include <functional>
#include <map>
#include <stdexcept>

#include "types/require.h"

namespace wip::air {
namespace {

using namespace sample_model;
using config::impairment;

constexpr double longest_delay_samples = 65536;

template <class Config>
using members = std::map<std::string, double Config::*>;

template <class Config>
Config filled(const impairment& i, const members<Config>& fields, Config c = {}) {
    for (const auto& [name, value] : i.fields) c.*fields.at(name) = value;
    return c;
}

template <class Config>
auto reader(const members<Config>& fields) {
    return [fields](const impairment& i) -> impairment_config { return filled(i, fields); };
}

impairment_config read_clock(const impairment& i) {
    clock_offset_config c;
    c.max_delay_samples = longest_delay_samples;
    c = filled<clock_offset_config>(
        i,
        {{"ppm", &clock_offset_config::ppm},
         {"start_delay_samples", &clock_offset_config::start_delay_samples},
         {"max_delay_samples", &clock_offset_config::max_delay_samples}},
        c);
    if (i.written == "clock_ppm" && c.ppm < 0) c.start_delay_samples = 2560;
    return c;
}

using readers = std::map<std::string, std::function<impairment_config(const impairment&)>>;
const readers& kinds() {
    using jump = timing_jump_config;
    using tones = tone_config;
    static const readers all{
        {"cfo", reader<cfo_config>(
                    {{"hz", &cfo_config::hz}, {"drift_hz_per_s", &cfo_config::drift_hz_per_s}})},
        {"clock", read_clock},
        {"timing_jump", reader<jump>({{"samples", &jump::samples},
                                      {"start_s", &jump::start_s},
                                      {"period_s", &jump::period_s},
                                      {"start_delay_samples", &jump::start_delay_samples},
                                      {"max_delay_samples", &jump::max_delay_samples}})},
        {"phase_noise",
         reader<phase_noise_config>({{"linewidth_hz", &phase_noise_config::linewidth_hz}})},
        {"dc_offset", reader<dc_offset_config>({{"dbfs", &dc_offset_config::dbfs},
                                                {"angle_deg", &dc_offset_config::angle_deg}})},
        {"iq_imbalance", reader<iq_imbalance_config>(
                             {{"image_rejection_db", &iq_imbalance_config::image_rejection_db},
                              {"angle_deg", &iq_imbalance_config::angle_deg}})},
        {"gain_step", reader<gain_step_config>({{"db", &gain_step_config::db},
                                                {"start_s", &gain_step_config::start_s},
                                                {"period_s", &gain_step_config::period_s}})},
        {"quantiser",
         reader<quantiser_config>({{"bits", &quantiser_config::bits},
                                   {"full_scale_dbfs", &quantiser_config::full_scale_dbfs}})},
        {"gap", reader<gap_config>({{"samples", &gap_config::samples},
                                    {"start_s", &gap_config::start_s},
                                    {"period_s", &gap_config::period_s}})},
        {"tone", reader<tones>({{"dbfs", &tones::dbfs}, {"hz", &tones::hz}})},
        {"interference",
         reader<interference_config>({{"dbfs", &interference_config::dbfs},
                                      {"centre_hz", &interference_config::centre_hz},
                                      {"bandwidth_hz", &interference_config::bandwidth_hz}})}};
    return all;
}

// The error of the impairment; empty: it is valid.
std::string fault(const impairment& i, const impairment_config& c, bool receiver) {
    if (const auto* clock = std::get_if<clock_offset_config>(&c)) {
        if (receiver) {
            // a clock of the receiver's own needs no sample store and drifts without end
            if (i.fields.contains("start_delay_samples") || i.fields.contains("max_delay_samples"))
                return "it has fields of a path; valid at a receiver: ppm, and nothing else";
            return clock->ppm >= -100 && clock->ppm <= 100
                       ? ""
                       : not_valid("ppm", text_of(clock->ppm), "-100..100");
        }
        if (clock->max_delay_samples > longest_delay_samples)
            return not_valid("max_delay_samples", text_of(clock->max_delay_samples),
                             "16..65536 on a path (a receiver's clock drifts for ever)");
    }
    if (const auto* jump = std::get_if<timing_jump_config>(&c);
        jump != nullptr && jump->max_delay_samples > longest_delay_samples)
        return not_valid("max_delay_samples", text_of(jump->max_delay_samples),
                         "0..65536 in the medium");
    try {  // made once only to check the values
        stage_chain({c}, stage_context{});
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return {};
}

}  // namespace

std::vector<impairment_config> read_impairments(const config::settings& s, const std::string& path,
                                                const std::vector<impairment>& given,
                                                bool receiver) {
    std::vector<impairment_config> all;
    int clocks = 0;
    for (const auto& i : given) {
        const std::string place = "[" + std::to_string(all.size()) + "]." + i.written;
        all.push_back(kinds().at(i.kind)(i));
        clocks += std::holds_alternative<clock_offset_config>(all.back());
        std::string why = fault(i, all.back(), receiver);
        if (why.empty() && receiver && clocks > 1)
            why = "it is the second clock of this receiver; valid: one";
        if (!why.empty()) throw s.refuse(path, place + ": " + why);
    }
    return all;
}

}  // namespace wip::air
