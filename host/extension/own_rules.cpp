// SPDX-License-Identifier: GPL-3.0-or-later
#include "extension/own_rules.h"

#include <cmath>
#include <cstring>

#include "os/monotonic.h"
#include "types/slot_time.h"

namespace wip::extension {
namespace {

constexpr double slot_us = 2e3 / 3;

std::string at(std::int64_t slot) { return "slot " + std::to_string(slot); }

}  // namespace

rule::rule(const std::string& key, const std::string& value)
    : library_(key, value), object_(nullptr, [](void*) {}), times_(slot_us) {}

void rule::take(void* made, free_function free, const openwip_error& why) {
    if (made == nullptr) throw library_.refuse(reason(why));
    object_ = {made, free};
}

void rule::lacks(const char* kind, const char* functions) const {
    throw library_.refuse(
        std::string("the table that openwip_extension() returns has not all functions of ") + kind +
        "; valid: a library with " + functions + " (docs/how-to/extend.md)");
}

bad_input rule::refuse(const std::string& where, const std::string& why) const {
    return library_.refuse(where + ": " + why);
}

std::int64_t rule::now_ns() { return os::monotonic_ns(); }

std::string rule::reason(const openwip_error& why) {
    const std::string text(why.text, ::strnlen(why.text, sizeof why.text));
    return text.empty() ? "it failed and gave no reason" : text;
}

own_scheduler::own_scheduler(const std::string& key, const std::string& value,
                             const openwip_cell& cell)
    : rule(key, value) {
    const auto& t = library_.table();
    if (t.scheduler_make == nullptr || t.scheduler_share_bins == nullptr ||
        t.scheduler_free == nullptr)
        lacks("a scheduler", "scheduler_make, scheduler_share_bins and scheduler_free");
    openwip_error why{};
    take(t.scheduler_make(library_.argument(), &cell, &why), t.scheduler_free, why);
}

void own_scheduler::share(openwip_slot& slot) {
    const auto where = [&] { return at(slot.slot); };
    call(library_.table().scheduler_share_bins, slot, where);
    if (slot.nof_given < 0 || slot.nof_given > slot.bins)
        throw refuse(where(), std::to_string(slot.nof_given) + " bins were given; valid: 0.." +
                                  std::to_string(slot.bins) + " (link.bins)");
    std::uint32_t taken = 0;
    for (int i = 0; i < slot.nof_given; ++i) {
        const openwip_given& g = slot.given[i];
        if (g.bin < 0 || g.bin >= OPENWIP_BINS)
            throw refuse(where(), "bin " + std::to_string(g.bin) + " was given; valid: 0.." +
                                      std::to_string(OPENWIP_BINS - 1));
        if (g.user < 0 || g.user >= slot.users)
            throw refuse(where(), "bin " + std::to_string(g.bin) + " was given to terminal " +
                                      std::to_string(g.user) + "; valid: 0.." +
                                      std::to_string(slot.users - 1));
        if ((taken >> g.bin & 1U) != 0)
            throw refuse(where(),
                         "bin " + std::to_string(g.bin) + " was given twice; valid: each bin once");
        taken |= 1U << g.bin;
    }
}

own_adaptation::own_adaptation(const std::string& key, const std::string& value,
                               const openwip_cell& cell)
    : rule(key, value) {
    const auto& t = library_.table();
    if (t.adaptation_make == nullptr || t.adaptation_choose_modulation == nullptr ||
        t.adaptation_free == nullptr)
        lacks("an adaptation rule",
              "adaptation_make, adaptation_choose_modulation and adaptation_free");
    openwip_error why{};
    take(t.adaptation_make(library_.argument(), &cell, &why), t.adaptation_free, why);
}

void own_adaptation::choose(openwip_report& report) {
    const auto where = [&] {
        return at(report.slot) + ", terminal " + std::to_string(report.user);
    };
    call(library_.table().adaptation_choose_modulation, report, where);
    for (int b = 0; b < OPENWIP_BINS; ++b)
        if (const int k = report.bits_per_symbol[b]; k < 1 || k > OPENWIP_MOST_BITS_PER_SYMBOL)
            throw refuse(where(), "bin " + std::to_string(b) + " has " + std::to_string(k) +
                                      " bits per symbol; valid: 1.." +
                                      std::to_string(OPENWIP_MOST_BITS_PER_SYMBOL));
}

own_predictor::own_predictor(const std::string& key, const std::string& value, int horizon)
    : rule(key, value) {
    const auto& t = library_.table();
    if (t.predictor_make == nullptr || t.predictor_update == nullptr ||
        t.predictor_reset == nullptr || t.predictor_free == nullptr)
        lacks("a predictor",
              "predictor_make, predictor_update, predictor_reset and predictor_free");
    openwip_error why{};
    take(t.predictor_make(library_.argument(), horizon, &why), t.predictor_free, why);
}

void own_predictor::update(openwip_gains& gains) {
    const auto where = [] { return std::string("update"); };
    call(library_.table().predictor_update, gains, where);
    if (gains.known == 0) return;
    for (int b = 0; b < OPENWIP_BINS; ++b)
        if (!std::isfinite(gains.ahead_re[b]) || !std::isfinite(gains.ahead_im[b]))
            throw refuse(where(), "the gain of bin " + std::to_string(b) +
                                      " is not finite; valid: a finite complex number");
}

void own_predictor::reset() { library_.table().predictor_reset(object_.get()); }

}  // namespace wip::extension
