# SPDX-License-Identifier: GPL-3.0-or-later
"""Traces of lost blocks or packets, read from a file: text of 0 (arrives) and 1 (is lost), CSV with
a column for each user, or .npy of blocks, or of blocks x users."""

import itertools
import pathlib
from typing import Any

import numpy

from ..errors import BadInput, not_valid, shown
from ..text import LONGEST_TABLE, of_file

VALID = "0 for a block that arrives, 1 for one that is lost"
MOST_BYTES = 1 << 30  # largest .npy file


def read(path: pathlib.Path) -> Any:
    """Booleans, blocks x users."""
    try:
        if path.suffix == ".npy":
            return _of_npy(path)
        lines = of_file(path, LONGEST_TABLE).splitlines()
    except UnicodeDecodeError:
        raise BadInput(f"{path}: it is not text; valid: text, CSV or .npy of 0 and 1") from None
    except OSError as e:
        raise BadInput(f"{path}: cannot be read: {e.strerror or e}") from None
    except ValueError as e:
        raise BadInput(f"{path}: {e}; valid: {VALID}") from None
    rows = [
        (number, words) for number, line in enumerate(lines, 1) if (words := _without_comment(line))
    ]
    table = any("," in words for _, words in rows)
    return _of_csv(path, rows) if table else _of_text(path, rows)


def _without_comment(line: str) -> str:
    return line.partition("#")[0].strip()


def _of_npy(path: pathlib.Path) -> Any:
    if path.stat().st_size > MOST_BYTES:
        raise BadInput(f"{path}: it has more than {MOST_BYTES >> 30} GiB")
    try:
        values = numpy.load(path, allow_pickle=False)
    except (ValueError, EOFError) as e:
        why = str(e).partition("\n")[0] or "it is empty"
        raise BadInput(f"{path}: it is no array of numpy ({why})") from None
    if not isinstance(values, numpy.ndarray) or values.ndim not in (1, 2) or values.size == 0:
        shape = getattr(values, "shape", "several arrays")
        raise not_valid(f"{path}: its shape", shape, "blocks, or blocks x users")
    if values.dtype.kind not in "biuf" or not numpy.isin(values, (0, 1)).all():
        raise BadInput(f"{path}: it has other values than 0 and 1; valid: {VALID}")
    return values.reshape(len(values), -1).astype(bool)


def _of_text(path: pathlib.Path, rows: list[tuple[int, str]]) -> Any:
    blocks = []
    for number, words in rows:
        digits = "".join(words.split())
        if set(digits) - {"0", "1"}:
            raise not_valid(f"{path}: line {number}", repr(words), VALID)
        blocks.append(digits)
    text = "".join(blocks)
    if not text:
        raise BadInput(f"{path}: the file is empty; valid: {VALID}")
    return (numpy.frombuffer(text.encode(), dtype=numpy.uint8) == ord("1")).reshape(-1, 1)


def _of_csv(path: pathlib.Path, rows: list[tuple[int, str]]) -> Any:
    table = [(number, [w.strip() for w in words.split(",")]) for number, words in rows]
    if set(itertools.chain(*(words for _, words in table[:1]))) - {"0", "1"}:
        table = table[1:]  # names of the columns
    if not table:
        raise BadInput(f"{path}: there is nothing after its header line; valid: {VALID}")
    width = len(table[0][1])
    for number, words in table:
        if len(words) != width:
            raise BadInput(
                f"{path}: line {number} has {len(words)} columns; valid: {width}, as above it"
            )
        if wrong := [w for w in words if w not in ("0", "1")]:
            raise BadInput(f"{path}: line {number} has {shown(repr(wrong[0]))}; valid: {VALID}")
    return numpy.array([words for _, words in table]) == "1"
