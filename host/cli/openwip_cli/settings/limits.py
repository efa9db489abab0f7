# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranges and defaults of the numbers of the table of settings, and the names of its channels and
predictors, for the core, which is built without Python: blocks/types/setting_limits.h, kept in the
tree (tests/unit/structure/test_once.py holds it to the table)."""

import textwrap

from . import table
from .code import PROCESSES, is_number, name_of, number, text
from .kinds import Integer, Real

HEAD = """// SPDX-License-Identifier: GPL-3.0-or-later
// Ranges and defaults of settings that are a number, for the structs of the core that check
// themselves, and names of channels and predictors. Made from the table of settings by
// `python3 host/cli/settings_code.py mac/schema/settings.yaml --tree .`, and kept in the tree
// because the core is built without Python.
// clang-format off
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "types/require.h"

namespace wip {

// `least` applies to values other than 0, if the range begins with 0.
template <class Number>
struct setting_limits {
    std::string_view key;
    Number low, high, initial, least = 0;
};

// Refuses NaN, too. `key`: where the value is not that of the setting itself.
template <class Number>
void check_range(std::string_view key, double value, const setting_limits<Number>& limits) {
    const auto least = static_cast<double>(limits.least);
    if (least == 0)
        check_range(key, value, static_cast<double>(limits.low), static_cast<double>(limits.high));
    else if (value != 0 && !(value >= least && value <= static_cast<double>(limits.high)))
        refuse(key, text_of(value),
               "0, or " + text_of(least) + ".." + text_of(static_cast<double>(limits.high)));
}

template <class Number>
void check_range(double value, const setting_limits<Number>& limits) {
    check_range(limits.key, value, limits);
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
    head = f"inline constexpr setting_limits<{type_}> {name_of(key)}{{"
    rest = f"{text(key)}, {shown}}};"
    return f"{head}{rest}\n" if len(head + rest) <= 100 else f"{head}\n    {rest}\n"


def names(key: str) -> str:
    words = table.column(key, "choices", ())
    listed = f"{', '.join(map(text, words))}}};"
    wrapped = textwrap.fill(
        listed, 98, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
    )
    head = f"inline constexpr std::array<std::string_view, {len(words)}> {name_of(key)}_choices{{"
    return f"{head}\n{wrapped}\n"


def header() -> str:
    keys = dict.fromkeys(
        key for p in PROCESSES for key in table.keys_of(p) if "*" not in key and "[]" not in key
    )
    lists = f"\n{names('channel.model')}{names('phy.predictor')}"
    return (
        HEAD + "".join(map(row, keys)) + lists + "}  // namespace setting\n\n}  // namespace wip\n"
    )
