# SPDX-License-Identifier: GPL-3.0-or-later
"""Types of the fields of SigMF's core that are used here, as its standard has them, and of the
field of our extension that replay reckons with: metadata come from any program."""

import math
from typing import Any

from ..machine.confined import printable

MOST_INDEX = 2**63 - 1  # largest sample index: SigMF's integers have 64 bits with a sign


def _is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MOST_INDEX


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and abs(value) < 1e300


def _is_part(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= 0.5


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


WHOLE, NUMBER, TEXT = (
    (_is_whole, "a whole number, 0 or more"),
    (_is_number, "a finite number"),
    (_is_text, "a text"),
)
GLOBAL = {
    "core:version": TEXT,
    "core:description": TEXT,
    "core:hw": TEXT,
    "core:sha512": TEXT,
    "core:recorder": TEXT,
    "core:author": TEXT,
    "core:dataset": TEXT,
    "core:offset": WHOLE,
    "core:trailing_bytes": WHOLE,
    "core:num_channels": WHOLE,
}
CAPTURE = {
    "core:sample_start": WHOLE,
    "core:global_index": WHOLE,
    "core:header_bytes": WHOLE,
    "core:frequency": NUMBER,
    "core:datetime": TEXT,
    "openwip:later": (_is_part, "a number, -0.5 to 0.5"),
}
ANNOTATION = {
    "core:sample_start": WHOLE,
    "core:sample_count": WHOLE,
    "core:label": TEXT,
    "core:comment": TEXT,
}


def with_whole_numbers(meta: Any) -> Any:
    """The metadata with 0.0 as 0 where a whole number has to be: some languages write no other, and
    to a JSON schema both are integers."""
    if not isinstance(meta, dict):
        return meta
    parts = [(meta.get("global"), GLOBAL)]
    for name, fields in (("captures", CAPTURE), ("annotations", ANNOTATION)):
        found = meta.get(name)
        parts += [(item, fields) for item in found] if isinstance(found, list) else []
    for item, fields in parts:
        if isinstance(item, dict):
            for key, kind in fields.items():
                value = item.get(key)
                if kind is WHOLE and type(value) is float and abs(value) <= 2**53:
                    item[key] = int(value) if value.is_integer() else value
    return meta


def wrong(meta: dict[str, Any]) -> str | None:
    """The fields whose type is not that of SigMF's core, each with the valid one; `meta` has a
    global object."""
    parts: list[tuple[str, Any, dict[str, Any]]] = [("global", meta["global"], GLOBAL)]
    for name, fields in (("captures", CAPTURE), ("annotations", ANNOTATION)):
        found = meta.get(name, [])
        if not isinstance(found, list):
            return f"{name} is {_shown(found)}; valid: a list of objects"
        parts += [(f"{name}/{n}", item, fields) for n, item in enumerate(found)]
    for where, item, fields in parts:
        if not isinstance(item, dict):
            return f"{where} is {_shown(item)}; valid: an object"
        for key, (is_right, valid) in fields.items():
            if key in item and not is_right(item[key]):
                return f"{where}/{key} is {_shown(item[key])}; valid: {valid}"
    extensions = meta["global"].get("core:extensions", [])
    if not isinstance(extensions, list) or not all(
        isinstance(e, dict) and isinstance(e.get("name"), str) for e in extensions
    ):
        return (
            f"global/core:extensions is {_shown(extensions)}; valid: a list of objects with a name"
        )
    return None


def needed_extensions(meta: dict[str, Any]) -> list[str]:
    """Extensions without which the samples cannot be understood, by what the metadata say of
    them."""
    return [
        e["name"]
        for e in meta["global"].get("core:extensions", [])
        if e.get("optional") is False and e["name"] != "openwip"
    ]


def _shown(value: Any) -> str:
    return printable(repr(value), 60)
