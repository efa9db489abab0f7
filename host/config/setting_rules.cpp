// SPDX-License-Identifier: GPL-3.0-or-later
#include "config/setting_rules.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <string_view>

#include "config/between_bars.h"
#include "types/slots_of.h"

namespace wip::config {
namespace {

bool is_one_of(std::string_view value, const char* values) {
    return std::ranges::any_of(between_bars(values), [value](std::string_view v) {
        return v.starts_with('*') ? value.ends_with(v.substr(1)) : value == v;
    });
}

bool applies(std::string_view value, const char* to, const char* not_to) {
    return to != nullptr ? is_one_of(value, to) : !is_one_of(value, not_to);
}

std::string joined(const char* values, const char* between) {
    std::string all;
    for (const auto v : between_bars(values)) {
        if (!all.empty()) all += between;
        all += v.empty() ? "nothing" : v;
    }
    return all;
}

}  // namespace

void check_sums(const settings& s, std::span<const setting_sum> sums) {
    for (const auto& sum : sums) {
        const auto slots = slots_of_ms(s.real(sum.of));
        std::int64_t least = sum.plus;
        std::ostringstream terms;
        for (const auto key : between_bars(sum.at_least)) {
            const std::string name(key);
            const auto value = s.integer(name);
            least += value;
            terms << name << " = " << value << " + ";
        }
        if (slots >= least) continue;
        std::ostringstream why;
        // Hundredths of a ms, rounded down, still take as many slots.
        const double valid =
            std::floor(static_cast<double>(least) * 100'000 / slots_per_second) / 100;
        why << "its " << slots << " slots are fewer than " << terms.str() << sum.plus << ' '
            << sum.why << "; valid: " << valid << " ms or more, or lower values of the others";
        throw s.refuse(sum.of, why.str());
    }
}

// A rule reads: setting `of`, if its value `is` one of these, needs setting `needs` `to_be` one of
// those.
void check_rules(const settings& s, std::span<const setting_rule> rules) {
    for (const auto& r : rules) {
        const std::string& needs = s.text(r.needs);
        if (!applies(s.text(r.of), r.is, r.is_not) || applies(needs, r.to_be, r.not_to_be))
            continue;
        std::string why = needs.empty() ? "without " : "with ";
        why.append(r.needs);
        if (!needs.empty()) why.append(" = ").append(needs);
        why.append(", ").append(r.why);
        why.append("; valid: ");
        if (*r.valid != '\0' || r.is_not != nullptr) why += joined(r.valid, ", ") + ", or ";
        why += r.to_be != nullptr ? std::string(r.needs) + " = " + joined(r.to_be, " or ")
                                  : (needs.empty() ? "a " : "another ") + std::string(r.needs);
        throw s.refuse(r.of, why);
    }
}

}  // namespace wip::config
