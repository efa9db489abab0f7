# SPDX-License-Identifier: GPL-3.0-or-later
"""The scalars of a YAML document by the core schema of YAML 1.2, as the programs in C++ read them
(channels/yaml/core_schema.h says the rules and why; tests/vectors/yaml_scalars.tsv holds both to
them). PyYAML by itself reads YAML 1.1."""

import math
import re
from typing import Any

import yaml

from .errors import shown

NULLS = ("", "~", "null", "Null", "NULL")
BOOLEANS = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
INTEGER = re.compile(r"[-+]?[0-9]+")
DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
# Decimal numbers of YAML 1.1.
OLD_DECIMAL = re.compile(r"[-+]?(\.[0-9_]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9_]+)?")
OF_ANOTHER_BASE = re.compile(r"[-+]?0([xX][0-9a-fA-F_]+|[oO][0-7_]+|[bB][01_]+)")
SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")
LEADING_ZERO = re.compile(r"[-+]?0[0-9]")


def number(text: str) -> int | float:
    """A decimal number without leading zeros; ValueError: any other text."""
    if not DECIMAL.fullmatch(text) or LEADING_ZERO.match(text):
        raise ValueError
    real = float(text) + 0.0  # minus zero is zero
    if not math.isfinite(real) or real == 0 and re.search("[1-9]", re.split("[eE]", text)[0]):
        raise ValueError
    return int(text) if INTEGER.fullmatch(text) else real


def refusal(plain: str) -> str:
    """ "", or what is wrong with a plain scalar and what to write instead."""

    def valid(instead: str) -> str:
        quoted = f"'{plain}'"
        return f"; valid: {instead}, or {shown(quoted)} in quotes for a text"

    if OF_ANOTHER_BASE.fullmatch(plain):
        return "is a number that is not decimal" + valid("a decimal number")
    if SEXAGESIMAL.fullmatch(plain):
        return "is a number of base 60 in YAML 1.1 and a text in YAML 1.2" + valid(
            "a decimal number"
        )
    if not OLD_DECIMAL.fullmatch(plain):
        return ""
    if "_" in plain:
        return "is a number in YAML 1.1 and a text in YAML 1.2" + valid(
            shown(plain.replace("_", ""))
        )
    if LEADING_ZERO.match(plain):
        decimal = re.sub(r"^([-+]?)0+(?=[0-9])", r"\1", plain)
        return "begins with 0, which means octal in YAML 1.1 and nothing in YAML 1.2" + valid(
            shown(decimal)
        )
    try:
        number(plain)
    except ValueError:
        return "is a number that is too large or too small" + valid("a number of double precision")
    return ""


def value(plain: str) -> Any:
    """The value of a plain scalar that is not refused."""
    if plain in NULLS:
        return None
    if plain in BOOLEANS:
        return BOOLEANS[plain]
    try:
        return number(plain)
    except ValueError:
        return plain


TAG = "tag:yaml.org,2002:"
BY_TAG: tuple[tuple[str, str, Any], ...] = (
    (f"{TAG}null", r"~|null|Null|NULL|", "~nN"),
    (f"{TAG}bool", "|".join(BOOLEANS), "tTfF"),
    (f"{TAG}int", INTEGER.pattern, "-+0123456789"),
    (f"{TAG}float", DECIMAL.pattern, "-+.0123456789"),
    (f"{TAG}merge", "<<", "<"),
)


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads one document. Keys are texts, as they stand there."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def scalar(self, node: Any) -> Any:
        return value(node.value)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
        self.flatten_mapping(node)
        return {
            key.value: self.construct_object(node_value, deep=deep)
            for key, node_value in node.value
        }


for _tag, _pattern, _first in BY_TAG:
    Loader.add_implicit_resolver(
        _tag,
        re.compile(rf"^(?:{_pattern})$"),
        [*_first, ""] if _tag.endswith("null") else list(_first),
    )
for _tag in ("null", "bool", "int", "float"):
    Loader.add_constructor(TAG + _tag, Loader.scalar)


class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """A text that a reader of YAML 1.1 or 1.2 would take for something else is quoted."""

    def text(self, data: str) -> Any:
        return self.represent_scalar(
            f"{TAG}str", data, style=None if value(data) is data and not refusal(data) else "'"
        )


Dumper.add_representer(str, Dumper.text)
