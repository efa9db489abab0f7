// SPDX-License-Identifier: GPL-3.0-or-later
// A library of rules, some of which do what must not be; which, its argument says.
#include <openwip/extension.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace {

struct rule {
    std::string kind;
    openwip_gains last{};
};

void* make(const char* argument, const openwip_cell*, openwip_error* why) {
    if (std::strcmp(argument, "refuses") == 0) {
        std::snprintf(why->text, sizeof why->text, "argument %s; valid: good", argument);
        return nullptr;
    }
    return new rule{argument};
}

void free_rule(void* r) { delete static_cast<rule*>(r); }

int share(void* r, openwip_slot* slot, openwip_error* why) {
    const std::string& kind = static_cast<rule*>(r)->kind;
    if (kind == "bin") openwip_give(slot, 0, 25);
    if (kind == "user") openwip_give(slot, slot->users, 3);
    if (kind == "too_many")
        for (int b = 0; b <= slot->bins; ++b) openwip_give(slot, 0, b);
    if (kind == "far_too_many")
        for (int b = 0; b < 1000; ++b) openwip_give(slot, 0, b);
    if (kind == "twice")
        for (int i = 0; i < 2; ++i) openwip_give(slot, 0, 4);
    if (kind == "negative") slot->nof_given = -1;
    if (kind == "good") openwip_give(slot, 0, 24);
    if (kind == "silent") return 1;
    if (kind == "long") {
        std::memset(why->text, 'x', sizeof why->text);
        return 1;
    }
    return 0;
}

[[maybe_unused]] int choose(void* r, openwip_report* report, openwip_error*) {
    const std::string& kind = static_cast<rule*>(r)->kind;
    if (kind == "nine") report->bits_per_symbol[12] = 9;
    if (kind == "zero") report->bits_per_symbol[0] = 0;
    return 0;
}

[[maybe_unused]] void* make_predictor(const char* argument, std::int32_t horizon, openwip_error*) {
    auto* made = new rule{argument};
    made->last.re[0] = static_cast<float>(horizon);
    return made;
}

[[maybe_unused]] int update(void* r, openwip_gains* gains, openwip_error*) {
    auto& own = *static_cast<rule*>(r);
    gains->known = gains->measured;
    gains->ahead_re[0] = own.last.re[0];
    if (own.kind == "nan") gains->ahead_im[3] = std::nanf("");
    return 0;
}

[[maybe_unused]] void reset(void* r) { static_cast<rule*>(r)->last.re[0] = 0; }

const openwip_extension_table table{
#ifdef WRONG_VERSION
    OPENWIP_EXTENSION_ABI + 1,
#else
    OPENWIP_EXTENSION_ABI,
#endif
    sizeof(openwip_extension_table),
    make,
    share,
    free_rule,
#ifdef SCHEDULER_ALONE
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr
#else
    make,
    choose,
    free_rule,
    make_predictor,
    update,
    reset,
    free_rule
#endif
};

}  // namespace

#ifndef WITHOUT_ENTRY
const openwip_extension_table* openwip_extension(void) { return &table; }
#else
const openwip_extension_table* unused = &table;
#endif
