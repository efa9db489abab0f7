# SPDX-License-Identifier: GPL-3.0-or-later
"""Spikes and outages of a UMTS bearer from a file: a line for each, when it begins and how long it
lasts, in seconds; the next one begins when it is over, or later. Its lost blocks: 0 for one that
arrives, 1 for one that is lost, with or without space between them. `#` begins a comment."""

import argparse
import itertools
import os
import pathlib

from ..errors import BadInput, not_valid
from ..text import LONGEST_TABLE, of_file
from . import table
from .kinds import Numbers

TRACES = ("umts.error_trace", "umts.up_error_trace")
KEYS = ("umts.spikes", "umts.outages", *TRACES)


def lines_of(flag: str, path: pathlib.Path) -> list[str]:
    try:
        return of_file(path, LONGEST_TABLE).splitlines()
    except (OSError, ValueError) as e:
        raise BadInput(
            f"{flag} {path}: cannot be read:"
            f" {'it is not text' if isinstance(e, UnicodeDecodeError) else getattr(e, 'strerror', None) or e};"
            " valid: a text file"
        ) from None


def read_trace(flag: str, path: pathlib.Path, kind: Numbers) -> str:
    """The trace as the value of the option: how many blocks arrive, are lost, arrive, ..."""
    blocks = ""
    for number, line in enumerate(lines_of(flag, path), 1):
        digits = "".join(line.partition("#")[0].split())
        if set(digits) - {"0", "1"}:
            raise not_valid(
                f"{flag} {path}: line {number}",
                repr(line.strip()[:60]),
                "0 for a block that arrives, 1 for one that is lost",
            )
        blocks += digits
    runs = [len(list(run)) for _, run in itertools.groupby(blocks)]
    if blocks.startswith("1"):
        runs.insert(0, 0)
    if not runs:
        raise BadInput(
            f"{flag} {path}: the file is empty; valid: 0 for a block that arrives, 1 for one that"
            " is lost"
        )
    text = ",".join(map(str, runs))
    try:
        kind.read(text)
    except ValueError:
        raise BadInput(
            f"{flag} {path}: it has {len(runs)} runs of equal blocks (arrived or lost), the"
            f" longest of {max(runs)} blocks; valid: {kind.valid}"
        ) from None
    return text


def read(flag: str, path: pathlib.Path, kind: Numbers) -> str:
    """The episodes as the value of the option: start, duration, start, ..."""
    lines = lines_of(flag, path)
    values: list[float] = []
    over = 0.0
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            begin, length = (kind.number.read(w) for w in words)
        except ValueError:
            raise not_valid(
                f"{flag} {path}: line {number}",
                repr(line.strip()[:60]),
                f"begin and length, {kind.number.valid} s each",
            ) from None
        if begin < over:
            raise BadInput(
                f"{flag} {path}: line {number} begins at {begin:g} s, before the one above it is"
                f" over ({over:.10g} s); valid: one after the other"
            )
        over = round(begin + length, 9)  # 0.1 + 0.2 s is not 0.3 in binary
        values += [begin, length]
        if len(values) > kind.most:
            raise BadInput(
                f"{flag} {path}: has {number} lines or more; valid: up to {kind.most // 2}"
            )
    if not values:
        raise BadInput(
            f"{flag} {path}: the file is empty; valid: a line for each, begin and length in seconds"
        )
    return ",".join(f"{v:.10g}" for v in values)


def numbers_of(key: str, where: str, text: str, kind: Numbers) -> str:
    """A value that is no list of numbers is the name of a file, whose content is taken."""
    try:
        kind.read(text)
    except ValueError:
        if os.path.exists(text):
            return (read_trace if key in TRACES else read)(where, pathlib.Path(text), kind)
    return text


def take_files(given: argparse.Namespace, command: str) -> list[str]:
    """Puts what is in the files into `given`; returns their names."""
    files = []
    for key in KEYS:
        setting, text = table.setting(key, command), getattr(given, key)
        if text is not None and isinstance(setting.kind, Numbers) and setting.flag:
            setattr(given, key, read := numbers_of(key, setting.flag, text, setting.kind))
            files += [text] if read != text else []
    return files
