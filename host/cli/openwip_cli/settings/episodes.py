# SPDX-License-Identifier: GPL-3.0-or-later
"""Spikes and outages of a UMTS bearer from a file: a line for each, when it begins and how long it lasts, in seconds; the next one begins
when it is over, or later. `#` begins a comment."""
import argparse
import pathlib

from ..errors import BadInput
from . import table
from .kinds import Numbers

KEYS = ("umts.spikes", "umts.outages")


def read(flag: str, path: pathlib.Path, kind: Numbers) -> str:
    """As the option takes them: from when, how long, ..."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as e:
        raise BadInput(f"{flag} {path}: {getattr(e, 'strerror', None) or 'it is not text'}") from None
    values: list[float] = []
    over = 0.0
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            begin, length = (kind.number.read(w) for w in words)
        except ValueError:
            raise BadInput(f"{flag} {path}: line {number} is {line.strip()[:60]!r}; valid: begin and length, {kind.number.valid} s each") from None
        if begin < over:
            raise BadInput(f"{flag} {path}: line {number} begins at {begin:g} s, before the one above it is over ({over:.10g} s); valid: one after the other")
        over = round(begin + length, 9)     # 0.1 + 0.2 s is not 0.3 in binary
        values += [begin, length]
        if len(values) > kind.most:
            raise BadInput(f"{flag} {path}: line {number} is one more than the {kind.most // 2} that are valid")
    if not values:
        raise BadInput(f"{flag} {path}: there is nothing in it; valid: a line for each, begin and length in seconds")
    return ",".join(f"{v:.10g}" for v in values)


def take_files(given: argparse.Namespace, command: str) -> None:
    """Where an option of parsed arguments is no list of numbers, it is a file's name."""
    for key in KEYS:
        setting, text = table.setting(key, command), getattr(given, key)
        if text is None or not isinstance(setting.kind, Numbers) or not setting.flag:
            continue
        try:
            setting.kind.read(text)
        except ValueError:
            if pathlib.Path(text).exists():
                setattr(given, key, read(setting.flag, pathlib.Path(text), setting.kind))
