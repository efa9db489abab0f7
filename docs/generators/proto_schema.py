# SPDX-License-Identifier: GPL-3.0-or-later
"""The protobuf schemas of mac/schema as they are written: messages, fields and enums with their
comments. A declaration stands on a line of its own, its comment on the lines before it or behind
it; the comment of a number ends with its unit in square brackets."""

import pathlib
import re
from typing import NamedTuple

COMMENT = re.compile(r"\s*// ?(.*)$")
BEGIN = re.compile(r"\s*(message|enum|oneof)\s+(\w+)\s*\{\s*(\})?\s*(?://\s*(.*))?$")
FIELD = re.compile(
    r"\s*(?:(repeated|optional)\s+)?([\w.]+)\s+(\w+)\s*=\s*(\d+)\s*(?:\[[^\]]*\])?\s*;"
    r"\s*(?://\s*(.*))?$"
)
VALUE = re.compile(r"\s*(\w+)\s*=\s*(\d+)\s*;\s*(?://\s*(.*))?$")
PACKAGE = re.compile(r"package\s+([\w.]+);")
OTHER = re.compile(r"\s*(?:syntax\b|import\b|reserved\b|$)")
UNIT = re.compile(r"\s*\[([^\]\[]+)\]$")
NUMBERS = {
    *"double float int32 int64 uint32 uint64 sint32 sint64 fixed32 fixed64".split(),
    *"sfixed32 sfixed64 bytes".split(),
}


class Field(NamedTuple):
    """A field of a message."""

    name: str
    type: str
    number: int
    label: str  # "repeated", "optional" or empty
    oneof: str  # the name of the choice that it belongs to, or empty
    meaning: str
    unit: str  # empty: none is given


class Message(NamedTuple):
    """A message; a message within another one has that one's name before its own."""

    name: str
    meaning: str
    fields: list[Field]


class Value(NamedTuple):
    """A value of an enum."""

    name: str
    number: int
    meaning: str


class Enum(NamedTuple):
    """An enum; one within a message has the message's name before its own."""

    name: str
    meaning: str
    values: list[Value]


class Schema(NamedTuple):
    """A file of mac/schema."""

    file: str
    package: str
    meaning: list[str]  # the lines at the head of the file
    declared: list[Message | Enum]


class SchemaError(ValueError):
    """A line that is none of those that a schema has."""


def split_unit(comment: str) -> tuple[str, str]:
    """The comment without its unit, and the unit."""
    found = UNIT.search(comment)
    return (comment[: found.start()], found[1]) if found else (comment, "")


def read(path: pathlib.Path) -> Schema:
    """A schema with everything that its comments say."""
    lines = path.read_text().splitlines()
    head: list[str] = []
    for line in lines[1:]:  # the first line is the licence
        found = COMMENT.match(line)
        if not found:
            break
        head.append(found[1])
    package, declared = "", []
    scopes: list[tuple[str, str]] = []  # kind and name of what is open
    open_ones: list[Message | Enum] = []
    waiting: list[str] = []
    for number, line in enumerate(lines[1 + len(head) :], 2 + len(head)):
        alone = COMMENT.fullmatch(line)
        if alone:
            waiting.append(alone[1].strip())
            continue
        begin, field, value = BEGIN.match(line), FIELD.match(line), VALUE.match(line)
        in_enum = bool(scopes) and scopes[-1][0] == "enum"
        if begin:
            kind, name, closed, behind = begin.groups()
            if kind != "oneof":
                inside = [n for k, n in scopes if k == "message"]
                meaning = " ".join([*waiting, behind or ""]).strip()
                made: Message | Enum = (
                    Message(".".join([*inside, name]), meaning, [])
                    if kind == "message"
                    else Enum(".".join([*inside, name]), meaning, [])
                )
                declared.append(made)
                if not closed:
                    open_ones.append(made)
            if not closed:
                scopes.append((kind, name))
        elif re.fullmatch(r"\s*\}\s*", line) and scopes:
            if scopes.pop()[0] != "oneof":
                open_ones.pop()
        elif in_enum and value:
            comment = " ".join([*waiting, value[3] or ""]).strip()
            of = open_ones[-1]
            assert isinstance(of, Enum)
            of.values.append(Value(value[1], int(value[2]), comment))
        elif scopes and field:
            label, kind, name, count, behind = field.groups()
            comment, unit = split_unit(" ".join([*waiting, behind or ""]).strip())
            oneof = scopes[-1][1] if scopes[-1][0] == "oneof" else ""
            of = open_ones[-1]
            assert isinstance(of, Message)
            of.fields.append(Field(name, kind, int(count), label or "", oneof, comment, unit))
        elif PACKAGE.match(line):
            package = PACKAGE.match(line)[1]  # type: ignore[index]
        elif not OTHER.match(line):
            raise SchemaError(f"{path.name}:{number}: {line.strip()!r} is no line of a schema")
        waiting = []
    return Schema(path.name, package, head, declared)
