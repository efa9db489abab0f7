# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of a table of settings that would go unnoticed in a program: the build asks before it makes
C++ of it (host/settings_code.py)."""

import re
from typing import Any

from ..errors import BadInput, not_valid
from ..text import NotYaml, of_yaml
from . import table

# mac/schema/settings.yaml says what they mean
COLUMNS = set(
    "in type range least unit words choices check default files help flag live fixed like own_key"
    " monitor earlier"
    " offers none most shown required experiment zero role part attributes".split()
)
PROGRAMS = set(
    "macd emulator medium fader tcpl observer split demo emulate tcp-l running demo-live"
    " emulate-live experiment ns3".split()
)
TYPES = set("integer real boolean choice text integers reals impairments".split())
RULE_COLUMNS = set("of is is_not needs to_be not_to_be why in".split())
SUM_COLUMNS = set("of at_least plus why".split())
CHECKS = set(
    "endpoint endpoint_or_none extension folder_or_none line_endpoint namespace uplink_endpoint"
    " word"
    " interface_name interface_address interface_address6 medium_name account_or_none stations"
    " split_ports".split()
)


def check(text: str, file: str) -> None:
    """BadInput: file, line where one is known, setting, and what is valid."""
    try:
        of_yaml(text)
    except NotYaml as e:
        raise BadInput(f"{file}{f':{e.line}' if e.line else ''} {e}") from None
    for key, entry in table.entries().items():
        check_entry(f"{file}: {key}", entry)
    for number, rule in enumerate(table.tree().get("rules", ()), 1):
        check_rule(f"{file}: rule {number}", rule)
    for number, one in enumerate(table.tree().get("sums", ()), 1):
        check_sum(f"{file}: sum {number}", one)


def one_of(where: str, what: str, given: Any, valid: set[str]) -> None:
    if given not in valid:
        raise not_valid(f"{where}: {what}", given, ", ".join(sorted(valid)))


def check_entry(where: str, entry: dict[str, Any]) -> None:
    for program in entry.get("in", ()):
        one_of(where, "program", program, PROGRAMS)
    if entry.get("like", "") not in {"", *table.entries()}:
        raise not_valid(f"{where}: like", entry["like"], "a setting of the table")
    for column, value in entry.items():
        if isinstance(value, dict) and column in PROGRAMS - COLUMNS:
            for own, of in value.items():
                check_column(f"{where}: {column}", own, of)
        else:
            check_column(where, column, value)


def check_rule(where: str, rule: dict[str, Any]) -> None:
    for column in rule:
        one_of(where, "column", column, RULE_COLUMNS)
    for column in ("of", "needs", "why"):
        if column not in rule:
            raise BadInput(f"{where}: has no {column}; valid: a rule with of, needs and why")
    for key in (*rule["of"], rule["needs"]):
        if key not in table.entries() and not (
            key.endswith("*") and any(k.startswith(key[:-1]) for k in table.entries())
        ):
            raise BadInput(f"{where}: {key} is no setting of the table; valid: one of its keys")
    for program in rule.get("in", ()):
        one_of(where, "program", program, PROGRAMS)
    if len({"to_be", "not_to_be"} & set(rule)) != 1:
        raise BadInput(
            f"{where}: to_be and not_to_be are both given or both missing; valid: one of the two"
        )
    if {"is", "is_not"} <= set(rule):
        raise BadInput(f"{where}: is and is_not are both given; valid: one of the two, or neither")


def check_sum(where: str, one: dict[str, Any]) -> None:
    if one.keys() != SUM_COLUMNS:
        raise BadInput(f"{where}: has {', '.join(one)}; valid: {', '.join(sorted(SUM_COLUMNS))}")
    for key in (one["of"], *one["at_least"]):
        one_of(where, "setting", key, set(table.entries()))
    if not str(one["plus"]).isdigit():
        raise not_valid(f"{where}: plus", repr(one["plus"]), "a whole number of slots")


def check_column(where: str, column: str, value: Any) -> None:
    one_of(where, "column", column, COLUMNS)
    if column == "type":
        one_of(where, "type", value, TYPES)
    if column == "check":
        one_of(where, "check", value, CHECKS)
    if column == "earlier" and not isinstance(value, dict):
        raise BadInput(f"{where}: earlier {value}; valid: {{WORD: what it is called now}}")
    if column == "range":
        number = r"-?\d+(\.\d+)?"
        low, _, high = value.partition("..")
        if not re.fullmatch(rf"{number}\.\.{number}", value) or float(low) > float(high):
            raise not_valid(f"{where}: range", value, "LOW..HIGH")
