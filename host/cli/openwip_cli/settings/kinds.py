# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds of values: each reads one (ValueError, TypeError or OverflowError for any other) and
says what is valid. The table of settings (table.py) has the kind of each setting."""

import functools
import math
import re
import sys
from collections.abc import Mapping
from typing import Any, Protocol

from .. import core_schema

# The words of a boolean, which the programs in C++ read alike (host/config/schema.cpp).
SWITCHES = {
    "on": "on",
    "true": "on",
    "True": "on",
    "TRUE": "on",
    "yes": "on",
    "off": "off",
    "false": "off",
    "False": "off",
    "FALSE": "off",
    "no": "off",
}


def of_text(value: Any) -> int | float:
    """A number, or the text of one by the rule of all files (core_schema.py): decimal, no leading
    zeros, no '_', no blanks."""
    if isinstance(value, str):
        return core_schema.number(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError
    return value


class Kind(Protocol):
    name: str
    valid: str

    def read(self, value: Any) -> Any: ...


class Integer:
    """A whole number. `least`: the smallest valid value besides 0, for a range that begins with
    0."""

    name = "integer"

    def __init__(self, low: float, high: float, least: float = 0) -> None:
        self.low, self.high, self.least = int(low), int(high), int(least)
        self.valid = f"0|{self.least}..{self.high}" if least else f"{self.low}..{self.high}"

    def read(self, value: Any) -> int:
        number = of_text(value)
        if not isinstance(number, int):
            raise ValueError
        if not self.low <= number <= self.high or 0 < number < self.least:
            raise ValueError
        return number


class Real:
    """A number. `least`: the smallest valid value besides 0, for a range that begins with 0."""

    name = "real"

    def __init__(self, low: float, high: float, least: float = 0) -> None:
        self.low, self.high, self.least = low, high, least
        self.valid = f"0|{least:.10g}..{high:.10g}" if least else f"{low:.10g}..{high:.10g}"

    def read(self, value: Any) -> float:
        number = float(of_text(value))
        if not (math.isfinite(number) and self.low <= number <= self.high):
            raise ValueError
        if 0 < number < self.least:
            raise ValueError
        return number


class Choice:
    """A choice that is a number is one; such numbers follow each other. Where `on` is one, so are
    the other words for it."""

    name = "choice"

    def __init__(self, *words: str, earlier: Mapping[str, str] | None = None) -> None:
        """`earlier`: words of an earlier release, which are taken for one release more, and what
        they are called now."""
        self.words, self.earlier = words, dict(earlier or {})
        numbers = [w for w in words if w.isdigit()]
        in_a_row = numbers and int(numbers[-1]) - int(numbers[0]) == len(numbers) - 1
        shown = (
            [w for w in words if w not in numbers] + [f"{numbers[0]}..{numbers[-1]}"]
            if in_a_row
            else words
        )
        self.valid = "|".join(shown)

    def read(self, value: Any) -> Any:
        text = str(value)
        if "on" in self.words:
            text = SWITCHES.get(text, text)
        if text in self.earlier:
            _warn_of_earlier(text, self.earlier[text])
            text = self.earlier[text]
        if text not in self.words:
            raise ValueError
        return int(text) if text.isdigit() else text


@functools.cache  # once, however often the value is read
def _warn_of_earlier(word: str, now: str) -> None:
    print(
        f"openwip: {word} is called {now} now; the next release does not take {word}",
        file=sys.stderr,
    )


class ChoiceOrFile(Choice):
    """One of the words, or the name of a file with one of the endings. Whether the file exists is
    checked by the process that reads it."""

    def __init__(self, words: tuple[str, ...], endings: tuple[str, ...]) -> None:
        super().__init__(*words)
        self.endings = endings
        self.valid += "".join(f"|FILE{ending}" for ending in endings)

    def read(self, value: Any) -> Any:
        return value if self.names_file(value) else super().read(value)

    def names_file(self, value: Any) -> bool:
        return isinstance(value, str) and value.endswith(self.endings)


class NumberOrWord:
    name = "number_or_word"

    def __init__(self, number: Integer | Real, words: tuple[str, ...]) -> None:
        self.number, self.words, self.low, self.high = number, words, number.low, number.high
        self.valid = "|".join((*words, number.valid))

    def read(self, value: Any) -> Any:
        is_word = str(value) in self.words or "on" in self.words and str(value) in SWITCHES
        return (Choice(*self.words) if is_word else self.number).read(value)


class Numbers:
    """A list, separated by commas."""

    name = "text"

    def __init__(self, number: Integer | Real, most: int) -> None:
        self.number, self.most = number, most
        self.valid = f"up to {most} of {number.valid} separated by commas"

    def read(self, value: Any) -> list[Any]:
        if isinstance(value, str):
            value = [part.strip(" ") for part in value.split(",")] if value.strip(" ") else []
        elif not isinstance(value, (list, tuple)):
            value = [value]
        if len(value) > self.most:
            raise ValueError
        return [self.number.read(v) for v in value]


class Text:
    """Checked by the process, which knows what there is."""

    name, valid = "text", "text, not empty"

    def read(self, value: Any) -> str:
        if type(value) is int:  # YAML reads an unquoted 123 as a number
            value = str(value)
        if not isinstance(value, str) or not value:
            raise ValueError
        return value


class TextOrFile(Text):
    """A word that the process knows, or the name of a file: one that ends so, or has a folder in
    it."""

    def __init__(self, endings: tuple[str, ...]) -> None:
        self.endings = endings

    def names_file(self, value: Any) -> bool:
        return isinstance(value, str) and (value.endswith(self.endings) or "/" in value)


class Extension(Text):
    """Code of the user's own (blocks/types/extension_name.h): a class in a Python file, or a shared
    library. The process loads it."""

    valid = "built_in, python:FILE:CLASS or library:FILE[:ARGUMENT]"

    def read(self, value: Any) -> str:
        text = super().read(value)
        if text != "built_in" and not self._parts(text):
            raise ValueError
        return text

    @staticmethod
    def is_code(value: Any) -> bool:
        return Extension._parts(value) is not None

    @staticmethod
    def _parts(value: Any) -> tuple[str, str, str] | None:
        """The text before the file's name, the name, and the text behind it."""
        found = re.fullmatch(r"(python:)(.+)(:[^:]+)|(library:)([^:]+)(:.*)?", str(value))
        if not found:
            return None
        before, name, after = found.groups()[:3] if found[1] else found.groups()[3:]
        return before, name, after or ""

    def file_of(self, value: Any) -> str | None:
        parts = self._parts(value)
        return parts[1] if parts else None

    def with_file(self, value: Any, name: str) -> str:
        """The same code in the file `name`."""
        parts = self._parts(value)
        return f"{parts[0]}{name}{parts[2]}" if parts else value


class ChoiceOrExtension(Choice):
    """One of the words, or code of the user's own."""

    name = "text"  # the valid values are not a closed list

    def __init__(self, *words: str) -> None:
        super().__init__(*words)
        self.code = Extension()
        self.valid += "|python:FILE:CLASS|library:FILE[:ARGUMENT]"

    def read(self, value: Any) -> Any:
        return value if Extension.is_code(value) else super().read(value)

    def file_of(self, value: Any) -> str | None:
        return self.code.file_of(value)

    def with_file(self, value: Any, name: str) -> str:
        return self.code.with_file(value, name)


CODE = (Extension, ChoiceOrExtension)


class Ports(Text):
    """TCP ports as the text that the option takes. YAML reads a single port as a number, and a list
    of ports may be given."""

    valid = "off, all, or ports and ranges such as 80,5001-5010"

    def read(self, value: Any) -> str:
        items = value if isinstance(value, list) else [value]
        text = super().read(
            ",".join(str(v) if type(v) is int else super(Ports, self).read(v) for v in items)
        )
        if not re.fullmatch(r"off|all|\d+(-\d+)?(,\s*\d+(-\d+)?)*", text):
            raise ValueError
        return text


class Optional:
    def __init__(self, kind: Kind, none: str) -> None:
        self.kind, self.none, self.name = kind, none, kind.name
        self.valid = f"{kind.valid} ({none} when not given)"

    def read(self, value: Any) -> Any:
        return None if value is None else self.kind.read(value)


class Impairments:
    """A list, in a scenario file only: each item a mapping of one name to a number or to fields.
    The medium checks the ranges. `names`: name -> fields, or None of a short name."""

    name = "text"

    def __init__(self, names: dict[str, list[str] | None]) -> None:
        self.names = names
        self.valid = "a list such as [{cfo_hz: 3000}, {clock_ppm: 5}] of " + ", ".join(names)

    def read(self, value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ValueError
        return [self._item(item) for item in value]

    def _item(self, item: object) -> dict[str, Any]:
        if not isinstance(item, dict) or len(item) != 1:
            raise ValueError
        ((name, given),) = item.items()
        if name not in self.names:
            raise ValueError
        fields = self.names[name]
        if fields is None:
            return {name: self._number(given)}
        if not isinstance(given, dict) or not set(given) <= set(fields):
            raise ValueError
        return {name: {field: self._number(v) for field, v in given.items()}}

    @staticmethod
    def _number(value: Any) -> float:
        number = of_text(value)
        if not math.isfinite(number):
            raise ValueError
        return number


ON_OFF = Choice("on", "off")


def file_of(kind: Kind, value: Any) -> str | None:
    """The file that a value of this kind names; None: it names none."""
    if isinstance(kind, CODE):
        return kind.file_of(value)
    is_file = isinstance(kind, (ChoiceOrFile, TextOrFile)) and kind.names_file(value)
    return value if is_file else None


def with_file(kind: Kind, value: Any, name: str) -> Any:
    """A value that names a file, naming another one."""
    return kind.with_file(value, name) if isinstance(kind, CODE) else name


def number_of(kind: Kind) -> Kind:
    """The kind of the number alone, without the words that are also valid."""
    return getattr(kind, "number", getattr(kind, "kind", kind))


def with_unit(kind: Kind, unit: str) -> str:
    """The valid values, the unit after the range."""
    number = number_of(kind)
    return (
        kind.valid.replace(number.valid, f"{number.valid} {unit}", 1)
        if unit and hasattr(number, "low")
        else kind.valid
    )
