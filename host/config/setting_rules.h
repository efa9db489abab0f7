// SPDX-License-Identifier: GPL-3.0-or-later
// Rules between settings, which the table has as data (mac/schema/settings.yaml, `rules`). The
// commands evaluate their options by the same rows (openwip_cli/settings/rules.py).
#pragma once

#include <span>

#include "config/schema.h"
#include "config/settings_table.h"

namespace wip::config {

// `of` with a value of `is`, or with another one than those of `is_not`, needs `needs` with a value
// of `to_be`, or with another one than those of `not_to_be`. Values have | between them; null: the
// column is not given. *END stands for each value that ends so.
struct setting_rule {
    const char* of;
    const char* is;
    const char* is_not;
    const char* needs;
    const char* to_be;
    const char* not_to_be;
    const char* why;
    const char* valid;  // valid values of `of`, whatever the value of `needs`
};
std::span<const setting_rule> rules_of(process of);

// The slots that the time `of` (ms) takes have to be at least the sum of the settings `at_least`,
// which have | between them, and `plus`.
struct setting_sum {
    const char* of;
    const char* at_least;
    int plus;
    const char* why;
};
std::span<const setting_sum> sums_of(process of);

// Throws `error` when one is broken.
void check_sums(const settings& s, std::span<const setting_sum> sums);

// The same.
void check_rules(const settings& s, std::span<const setting_rule> rules);

}  // namespace wip::config
