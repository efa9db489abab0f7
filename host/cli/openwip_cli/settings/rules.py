# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules between settings, which the table has as data (mac/schema/settings.yaml, `rules`): a command
evaluates its options by them here, a process its configuration by the same rows in C++
(host/config/setting_rules.cpp)."""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

from ..air import SLOTS_PER_SECOND
from ..errors import BadInput, shown
from . import table

Values = tuple[str, ...] | None  # None: the column is not given


@dataclasses.dataclass(frozen=True)
class Rule:
    """`of` with a value of `is_`, or with another one than those of `is_not`, needs `needs` with a
    value of `to_be`, or with another one than those of `not_to_be`. Values are texts; *END stands
    for each one that ends so."""

    of: str
    is_: Values
    is_not: Values
    needs: str
    to_be: Values
    not_to_be: Values
    why: str
    valid: tuple[str, ...]  # valid values of `of`, whatever the value of `needs`

    def is_broken(self, of: str, needs: str) -> bool:
        return _applies(of, self.is_, self.is_not) and not _applies(
            needs, self.to_be, self.not_to_be
        )

    def refusal(self, of: str, needs: str, name: Callable[[str], str], equals: str) -> str:
        """The error of these values, and the valid ones, from "with" or "without" on. `name`: the
        name of a setting, as the user knows it; `equals`: the text between it and a value."""
        other = name(self.needs)
        instead = (
            f"{'another' if needs else 'a'} {other}"
            if self.to_be is None
            else f"{other}{equals}{' or '.join(v or 'nothing' for v in self.to_be)}"
        )
        valid = "".join(f"{v or 'nothing'}, " for v in self.valid)
        beside = f"with {other}{equals}{shown(needs)}" if needs else f"without {other}"
        return f"{beside}, {self.why}; valid: {f'{valid}or ' if valid else ''}{instead}"


def _applies(value: str, to: Values, not_to: Values) -> bool:
    if to is not None:
        return any(map(functools.partial(_matches, value), to))
    return not any(map(functools.partial(_matches, value), not_to or ()))


def _matches(value: str, pattern: str) -> bool:
    return value.endswith(pattern[1:]) if pattern.startswith("*") else value == pattern


def _expanded(key: str) -> list[str]:
    """The keys that a pattern such as umts.poll_* stands for."""
    if not key.endswith("*"):
        return [key]
    return [k for k in table.entries() if k.startswith(key[:-1])]


def _others(key: str, row: dict[str, Any], views: table.Views) -> Values:
    """The choices that are left, where they are few enough to be named."""
    if table.column(key, "type", views) != "choice" or table.column(key, "files", views):
        return None
    left = tuple(c for c in table.column(key, "choices", views) if c not in row["not_to_be"])
    return left if len(left) <= 4 else None


def rules_of(program: str) -> list[Rule]:
    """The rules between settings that the program has."""
    views, keys, found = table.views(program), set(table.keys_of(program)), []
    for row in table.tree().get("rules", ()):
        if program not in row.get("in", (program,)):
            continue
        columns: dict[str, Values] = {
            name: tuple(row[name]) if name in row else None
            for name in ("is", "is_not", "to_be", "not_to_be")
        }
        if columns["not_to_be"] is not None and (rest := _others(row["needs"], row, views)):
            columns |= {"to_be": rest, "not_to_be": None}
        for key in (k for pattern in row["of"] for k in _expanded(pattern)):
            if key not in keys or row["needs"] not in keys:
                continue
            is_, is_not = columns["is"], columns["is_not"]
            if is_ is None and is_not is None:
                is_not = (str(table.column(key, "default", views)),)
            choices = ("on", "off") if table.column(key, "type", views) == "boolean" else ()
            choices = tuple(table.column(key, "choices", views)) or choices
            valid = is_not if is_ is None else tuple(c for c in choices if c not in is_)
            found.append(
                Rule(
                    key,
                    is_,
                    is_not,
                    row["needs"],
                    columns["to_be"],
                    columns["not_to_be"],
                    row["why"],
                    valid or (),
                )
            )
    return found


_of_command = functools.cache(rules_of)


@dataclasses.dataclass(frozen=True)
class Sum:
    """The slots that the time `of` (ms) takes have to be at least the sum of the settings `at_least`
    (slots) and `plus`."""

    of: str
    at_least: tuple[str, ...]
    plus: int
    why: str

    def refusal(self, ms: float, values: Mapping[str, int], name: Callable[[str], str]) -> str:
        """What is wrong, and what would be valid; empty: nothing is. `name`: the name of a setting,
        as the user knows it; a setting without a value counts as 0."""
        slots, given = slots_of(ms), [values.get(key) or 0 for key in self.at_least]
        if slots >= (least := sum(given) + self.plus):
            return ""
        terms = "".join(f"{name(key)} = {n} + " for key, n in zip(self.at_least, given))
        # Hundredths of a ms, rounded down, still take as many slots.
        valid = math.floor(least * 100_000 / SLOTS_PER_SECOND) / 100
        return (
            f"its {slots} slots are fewer than {terms}{self.plus} {self.why}; valid: {valid:g} ms or"
            " more, or lower values of the others"
        )


def slots_of(ms: float) -> int:
    """The slots that a time takes, rounded up."""
    return math.ceil(ms * SLOTS_PER_SECOND / 1000 - 1e-9)


def sums_of(program: str) -> list[Sum]:
    """The sums between settings that the program has."""
    keys = set(table.keys_of(program))
    found = []
    for row in table.tree().get("sums", ()):
        if row["of"] in keys and keys & set(row["at_least"]):
            # A process reads all of them; a command computes what it has no setting of.
            found.append(Sum(row["of"], tuple(row["at_least"]), int(row["plus"]), row["why"]))
    return found


@functools.cache
def feedback_slots() -> int:
    """The slots of the retransmission delay that the feedback takes, beside lead and fader."""
    (delay,) = (s for s in sums_of("macd") if s.of == "link.retransmission_delay_ms")
    return delay.plus


def check_sums(command: str, values: Mapping[str, Any]) -> None:
    """BadInput: a sum between settings of a command is broken. `values` may have settings of a
    process that the command computes."""
    flags = {s.key: s.flag or s.key for s in table.settings_of(command)}
    for one in sums_of(command):
        if (ms := values.get(one.of)) is None:
            continue
        if why := one.refusal(ms, values, lambda key: flags.get(key, key)):
            raise BadInput(f"{flags[one.of]} is {ms:g}: {why}")


def excluded(command: str, of: str, needs: str) -> tuple[str, ...]:
    """The values of setting `needs` with which setting `of` can only have its default, without the
    patterns such as *END."""
    return tuple(
        value
        for rule in _of_command(command)
        if (rule.of, rule.needs) == (of, needs)
        for value in rule.not_to_be or ()
        if not value.startswith("*")
    )


def check(command: str, values: Mapping[str, Any], text_of: Callable[[Any], str]) -> None:
    """BadInput: a rule between options of a command is broken. A value that is None is not
    given."""
    flags = {s.key: s.flag or s.key for s in table.settings_of(command)}
    for rule in _of_command(command):
        value, needed = values.get(rule.of), values.get(rule.needs)
        if needed is None and rule.needs in values and "" in (rule.not_to_be or ()):
            needed = ""  # the rule only requires that another setting is given
        if value is None or needed is None:
            continue
        if rule.is_broken(text_of(value), text_of(needed)):
            what = rule.refusal(text_of(value), text_of(needed), flags.__getitem__, " ")
            raise BadInput(f"{flags[rule.of]} is {shown(text_of(value))} {what}")
