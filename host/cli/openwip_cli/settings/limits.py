# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranges and defaults of the numbers of the table of settings for the core, which is built without
Python: mac/port/setting_limits.h, kept in the tree (tests/unit/structure/test_once.py holds it to the
table)."""

from . import table
from .code import PROCESSES, is_number, name_of, number
from .kinds import Integer, Real

HEAD = """// SPDX-License-Identifier: GPL-3.0-or-later
// Ranges and defaults of settings that are a number, for the structs of the core that check
// themselves. Made by `python3 host/cli/settings_code.py mac/schema/settings.yaml --limits
// mac/port/setting_limits.h`, and kept in the tree because the core is built without Python.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "types/require.h"

namespace wip {

// Of `least` is what is not 0, where the range begins with 0.
template <class Number>
struct setting_limits {
    Number low, high, initial, least = 0;
};

// Refuses NaN, too.
template <class Number>
void check_range(std::string_view key, double value, const setting_limits<Number>& limits) {
    const auto least = static_cast<double>(limits.least);
    if (least == 0)
        check_range(key, value, static_cast<double>(limits.low), static_cast<double>(limits.high));
    else if (value != 0 && !(value >= least && value <= static_cast<double>(limits.high)))
        refuse(key, text_of(value),
               "0 or " + text_of(least) + " .. " + text_of(static_cast<double>(limits.high)));
}

namespace setting {
"""


def row(key: str) -> str:
    """Empty: it is no number, or has a word as its default."""
    kind, default = table.kind_of(key, ()), table.column(key, "default", ())
    if not isinstance(kind, (Integer, Real)) or not is_number(default.removeprefix("-")):
        return ""
    whole = isinstance(kind, Integer)
    type_ = ("std::int64_t" if kind.high >= 2**31 else "int") if whole else "double"
    values = [kind.low, kind.high, float(default), *([kind.least] if kind.least else [])]
    shown = ", ".join(str(int(v)) if whole else number(v) for v in values)
    return f"inline constexpr setting_limits<{type_}> {name_of(key)}{{{shown}}};\n"


def header() -> str:
    keys = dict.fromkeys(
        key for p in PROCESSES for key in table.keys_of(p) if "*" not in key and "[]" not in key
    )
    return HEAD + "".join(map(row, keys)) + "}  // namespace setting\n\n}  // namespace wip\n"
