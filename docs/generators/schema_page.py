# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of the messages: every message, field and enum of mac/schema, from the comments of the
schemas (proto_schema.py)."""

import pathlib
import re

import proto_schema
from proto_schema import Enum, Message, Schema

TITLES = {
    "telemetry": "Telemetry",
    "control": "Control and status",
    "receiver": "State of a receiver",
    "stop": "Causes of an end",
    "slot_link": "Slot link between macd and flowgraph",
    "uplink": "Emulated uplink",
    "attenuator": "Serial line of the attenuator",
}


def cell(text: str) -> str:
    """Text as a cell of a table has it."""
    return re.sub(r"([|<*\\])", r"\\\1", text).replace("\n", " ")


def anchor(package: str, name: str) -> str:
    return f"{package}.{name}".replace("_", "-").replace(".", "-").lower()


def resolve(schemas: list[Schema], schema: Schema, within: str, name: str) -> str:
    """The anchor of the type that a field names; empty: a type of protobuf itself."""
    for each in schemas:
        for declared in each.declared:
            full = f"{each.package}.{declared.name}"
            near = {f"{within}.{name}", name} if each is schema else set()
            if full == name or declared.name in near:
                return anchor(each.package, declared.name)
    return ""


def type_of(schemas: list[Schema], schema: Schema, message: Message, field) -> str:
    label = f"{field.label} " if field.label else ""
    target = resolve(schemas, schema, message.name, field.type)
    name = field.type.rpartition(".")[2]
    return label + (f"[{name}](#{target})" if target else f"`{name}`")


def of_message(schemas: list[Schema], schema: Schema, message: Message) -> list[str]:
    lines = [f"({anchor(schema.package, message.name)})=", f"### {message.name}", ""]
    lines += [message.meaning.replace("*", r"\*"), ""]
    if message.fields:
        lines += ["| field | number | type | unit | meaning |", "|---|---|---|---|---|"]
        lines += [
            f"| `{f.name}` | {f.number} | {type_of(schemas, schema, message, f)}"
            f" | {cell('' if f.unit == '1' else f.unit)} | {cell(f.meaning)} |"
            for f in message.fields
        ]
        choices = dict.fromkeys(f.oneof for f in message.fields if f.oneof)
        for choice in choices:
            names = ", ".join(f"`{f.name}`" for f in message.fields if f.oneof == choice)
            lines += ["", f"A message has at most one of {names}."]
    return [*lines, ""]


def of_enum(schema: Schema, enum: Enum) -> list[str]:
    lines = [f"({anchor(schema.package, enum.name)})=", f"### {enum.name}", ""]
    lines += [enum.meaning, "", "| value | number | meaning |", "|---|---|---|"]
    lines += [f"| `{v.name}` | {v.number} | {cell(v.meaning)} |" for v in enum.values]
    return [*lines, ""]


def read_all(top: pathlib.Path) -> list[Schema]:
    """The schemas in the order of the page."""
    return [proto_schema.read(top / f"mac/schema/{name}.proto") for name in TITLES]


def markdown(top: pathlib.Path) -> str:
    schemas = read_all(top)
    page = [
        "# Messages",
        "",
        "Every message that the programs of OpenWIP exchange, with the type, the unit and the"
        " meaning of each field.",
        "The page is made from the comments of `mac/schema/*.proto` when this site is built.",
        "A number without a unit is a count, an index or a ratio, as its meaning says.",
        "How to subscribe to telemetry, and how often each topic is published:"
        " [Telemetry](telemetry.md).",
        "",
    ]
    for name, schema in zip(TITLES, schemas):
        page += [f"## {TITLES[name]}", "", f"`mac/schema/{schema.file}`, package", ""]
        page[-2] += f" `{schema.package}`."
        for declared in schema.declared:
            page += (
                of_message(schemas, schema, declared)
                if isinstance(declared, Message)
                else of_enum(schema, declared)
            )
    return "\n".join(page)
