# SPDX-License-Identifier: GPL-3.0-or-later
"""SNR logs as spreadsheets, drive tests and other programs write them, read block by block: CSV in
its dialects, and JSON lines. A log is read as often as it is asked for, and never held as a whole.

A row has 25 SNRs in dB, lowest bin first, or 50 with the predictions behind them, or one that is
that of all bins; before them it may have a time or an index. Nothing is taken for a number that is
not written as one, and a row that cannot be read is named by its line."""

import codecs
import contextlib
import csv
import datetime
import io
import json
import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy

from ..air import BINS
from ..errors import BadInput, not_valid
from ..machine import confined
from ..machine.confined import printable

LOWEST_DB, HIGHEST_DB = -60, 80
WIDTHS = (1, BINS, 2 * BINS)  # SNRs of a row: one for all bins, one for each, with predictions
BLOCK = 4096  # rows
LONGEST_LINE = 1 << 16  # characters
HEAD_LINES = 64  # lines that are examined; the first row has to be among them
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
COMMA_NUMBER = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?", re.ASCII)
PLAIN = re.compile(r"[-+0-9.eE,;\t \n]*", re.ASCII)  # a block of numbers and separators only
DELIMITERS = {",": "','", ";": "';'", "\t": "tabs", " ": "spaces"}
TIME_NAMES = re.compile(r"(t|time|timestamp|seconds|date|datetime|zeit)\b.*|time_.*", re.I)
MILLISECONDS = re.compile(r".*(_|\(|\[|\b)ms\b.*|.*millis.*", re.I)
SNR_KEYS = ("snr_db", "snr", "sinr_db", "sinr")
TIME_KEYS = ("t", "time", "time_s", "timestamp", "time_ms")
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
NOT_TEXT = (
    (b"PAR1", "a Parquet file", "the same as CSV (pandas: read_parquet and to_csv)"),
    (b"PK\x03\x04", "a ZIP archive (or a spreadsheet)", "the same as CSV"),
)
VALID = f"valid: rows of {BINS} SNRs in dB, {2 * BINS} with predictions, or one for all bins"


class Dialect(NamedTuple):
    json: bool
    delimiter: str
    comma: bool  # decimal comma
    skip: int  # lines before the first row
    width: int  # SNRs of a row
    first: str  # column before them: "", "index", "s", "ms"
    encoding: str


class Rows(NamedTuple):
    """Some rows of a log. `times`: in seconds, or None."""

    times: Any
    snr: Any  # float32, rows x 25 or 50


def out_of_range(table: Any) -> int | None:
    """The first row with a value that is no SNR."""
    good = ((table >= LOWEST_DB) & (table <= HIGHEST_DB)).all(axis=1)  # NaN is neither
    return None if good.all() else int(numpy.flatnonzero(~good)[0])


class Source(Protocol):
    """A log of any form. `timed`: each of its rows has its time; `predicted`: rows of SNRs and
    predictions; `by_slots`: a row for each slot, whatever the rate of the file."""

    file: str
    by_slots: bool

    @property
    def timed(self) -> bool: ...

    @property
    def predicted(self) -> bool: ...

    def blocks(self) -> Iterator[Rows]:
        """All rows, from the beginning."""

    def close(self) -> None:
        """Closes the log's file."""


class Log:
    """A file. `timed`: each of its rows has its time."""

    by_slots = False

    def __init__(self, file: str) -> None:
        self.file = file
        try:
            with os.fdopen(confined.opened(file), "rb") as f:
                head = f.read(1 << 20)
        except OSError as e:
            raise BadInput(f"{file}: cannot be read: {e.strerror}") from None
        for magic, kind, instead in NOT_TEXT:
            if head.startswith(magic):
                raise not_valid(file, kind, f"{instead}, JSON lines, MATLAB or NumPy")
        self.encoding = next((name for mark, name in MARKS if head.startswith(mark)), "utf-8")
        self.dialect = self._dialect(head)

    @property
    def timed(self) -> bool:
        return self.dialect.first in ("s", "ms")

    @property
    def predicted(self) -> bool:
        return self.dialect.width == 2 * BINS

    def close(self) -> None:
        pass

    def _wrong(self, line: int, why: str) -> BadInput:
        return BadInput(f"{self.file}: line {line} {why}")

    # --- which dialect ---

    def _dialect(self, head: bytes) -> Dialect:
        text = io.StringIO(head.decode(self.encoding, "replace"), newline=None)
        lines = [line.rstrip("\n") for _, line in zip(range(HEAD_LINES), text)]
        skip, declared = 0, ""
        for number, line in enumerate(lines):
            plain = line.strip()
            if plain[:4].lower() == "sep=" and len(plain) == 5:
                declared = plain[4]
            elif plain[:1] in ("{", "["):
                return self._json_dialect(number, line)
            elif plain and plain[0] != "#":
                found = self._columns(line, declared)
                if found is not None:
                    return self._csv_dialect(number, lines[skip:number], *found, lines[number:])
        raise BadInput(
            f"{self.file} has no rows of numbers in its first {min(HEAD_LINES, len(lines))} lines;"
            f" {VALID}"
        )

    def _columns(self, line: str, declared: str) -> tuple[str, bool, list[str]] | None:
        """(delimiter, True if decimals have a comma, the fields of the first row). None: the line
        has no numbers, such as a line of column names."""
        quoted = '"' in line
        for delimiter in [declared] if declared else [";", "\t", ",", " "]:
            if delimiter not in line:
                continue
            fields = split(line, delimiter)
            for comma in (False, True):
                if comma and delimiter == "," and not quoted:
                    continue
                values = [f for f in fields[1:] if f] or fields[:1]
                kind = COMMA_NUMBER if comma else NUMBER
                if comma:
                    ok = all(NUMBER.fullmatch(f) or kind.fullmatch(f) for f in values)
                    ok = ok and any(kind.fullmatch(f) for f in values)
                else:
                    ok = all(kind.fullmatch(f) for f in values)
                if ok:
                    return delimiter, comma, fields
        field = line.strip().strip('"')
        if NUMBER.fullmatch(field):
            return ",", False, [field]
        if COMMA_NUMBER.fullmatch(field):
            return ";", True, [field]
        return None

    def _csv_dialect(
        self,
        number: int,
        before: list[str],
        delimiter: str,
        comma: bool,
        fields: list[str],
        rest: list[str],
    ) -> Dialect:
        names: list[str] = []
        for line in before:
            if line.strip() and line.strip()[0] != "#" and not names:
                names = split(line, delimiter)
        many = len(fields) - (len(fields) > 1 and fields[-1] == "")
        first = ""
        if many not in WIDTHS:
            if many - 1 not in WIDTHS:
                raise self._wrong(
                    number + 1,
                    f"has {many} columns separated by {DELIMITERS.get(delimiter, delimiter)}"
                    f"{' with decimal commas' if comma else ''}; {VALID}, and perhaps a column of"
                    " time or index before them",
                )
            name = names[0] if len(names) >= many - 1 else None
            first = self._first_column(number, name, delimiter, rest)
            many -= 1
        points = any("." in line for line in rest)
        named = any("predict" in name.lower() for name in names)
        if many == 2 * BINS and delimiter == "," and not (comma or points or named):
            raise self._wrong(
                number + 1,
                f"has {many} whole numbers separated by ',', which may be {BINS} with decimal"
                " commas; valid: another separator or quotes, or names of columns with 'predicted'",
            )
        return Dialect(False, delimiter, comma, number, many, first, self.encoding)

    def _first_column(self, number: int, name: str | None, delimiter: str, rest: list[str]) -> str:
        if name is not None and MILLISECONDS.fullmatch(name):
            return "ms"
        if name is not None and TIME_NAMES.fullmatch(name.strip()):
            return "s"
        if name is None and delimiter == "," and not any("." in line for line in rest):
            pair = split(rest[0], delimiter)
            if len(pair) == 2:
                raise self._wrong(
                    number + 1,
                    "has two whole numbers separated by ',', which may be one with a decimal comma;"
                    " valid: names of the columns, or another separator",
                )
        column = [split(line, delimiter)[0] for line in rest if line.strip()]
        if name is not None and name.strip().lower() in ("", "index", "row", "n", "slot", "#"):
            return "index"
        whole = [int(c) for c in column if c.isascii() and c.isdigit()]
        if len(whole) == len(column) and whole == list(range(whole[0], whole[0] + len(whole))):
            return "index"
        if name is None and instant(column[0]) is not None:
            return "s"
        called = f" that is called {printable(name, 40)!r}" if name else ""
        raise self._wrong(
            number + 1,
            f"has a column before the SNRs{called};"
            " valid: a time (time_s, time_ms, timestamp) or an index (0, 1, 2, ...)",
        )

    def _json_dialect(self, number: int, line: str) -> Dialect:
        time, values, unit = self._of_json(number + 1, line)
        if len(values) not in WIDTHS:
            raise self._wrong(number + 1, f"has {len(values)} SNRs; {VALID}")
        return Dialect(
            True, "", False, number, len(values), "" if time is None else unit, self.encoding
        )

    def _of_json(self, number: int, line: str) -> tuple[float | None, list[float], str]:
        try:
            tree = json.loads(line)
        except (ValueError, RecursionError):
            raise self._wrong(
                number, "is no JSON; valid: one object or list in each line"
            ) from None
        time, unit = None, "s"
        if isinstance(tree, dict):
            key = next((k for k in SNR_KEYS if k in tree), None)
            at = next((k for k in TIME_KEYS if k in tree), None)
            if at is not None:
                time, unit = instant(str(tree[at])), "ms" if at.endswith("_ms") else "s"
                if time is None:
                    raise self._wrong(
                        number,
                        f"has {at} {printable(repr(tree[at]), 40)}; valid:"
                        " seconds, or 2026-01-01T00:00:00Z",
                    )
            if key is None:
                raise self._wrong(number, f"has no SNR; valid: a key {', '.join(SNR_KEYS)}")
            tree = tree[key]
        values = tree if isinstance(tree, list) else [tree]
        if not all(type(v) in (int, float) for v in values):
            raise self._wrong(number, "has values that are no numbers; valid: numbers in dB")
        return time, [float(v) for v in values], unit

    # --- its rows ---

    def blocks(self) -> Iterator[Rows]:
        """Yields all rows, from the beginning."""
        d = self.dialect
        with (
            os.fdopen(confined.opened(self.file), "rb") as raw,
            io.TextIOWrapper(raw, d.encoding, "replace", newline=None) as lines,
        ):
            number, some = 0, list[tuple[int, str]]()
            # The last line of some files has no end of line.
            for line in iter(lambda: lines.readline(LONGEST_LINE), ""):
                number += 1
                if number <= d.skip or not line.strip() or line.lstrip()[0] == "#":
                    continue
                some.append((number, line))
                if len(some) == BLOCK:
                    yield self._rows(some)
                    some = []
            if some:
                yield self._rows(some)

    def _rows(self, lines: list[tuple[int, str]]) -> Rows:
        times, table = self._fast(lines)
        if table is None:
            pairs = [self._row(number, line) for number, line in lines]
            times = numpy.array([t for t, _ in pairs]) if self.timed else None
            table = numpy.array([values for _, values in pairs], dtype="f4")
        bad = out_of_range(table)
        if bad is not None:
            raise BadInput(
                f"{self.file}: line {lines[bad][0]} has an SNR that is not valid; valid:"
                f" {LOWEST_DB}..{HIGHEST_DB} dB"
            )
        if table.shape[1] == 1:
            table = numpy.repeat(table, BINS, axis=1)
        return Rows(times, table)

    def _fast(self, lines: list[tuple[int, str]]) -> tuple[Any, Any]:
        """Times and SNRs of a block of plain numbers. (None, None): it has something else."""
        d = self.dialect
        text = "".join(line for _, line in lines)
        if d.json or d.comma or d.delimiter == " " or not PLAIN.fullmatch(text):
            return None, None
        with contextlib.suppress(ValueError):
            both = numpy.array([line.split(d.delimiter) for _, line in lines], dtype="f8")
            if both.shape[1] == d.width + bool(d.first):
                times = both[:, 0] * (1e-3 if d.first == "ms" else 1) if self.timed else None
                return times, both[:, bool(d.first) :].astype("f4")
        return None, None

    def _row(self, number: int, line: str) -> tuple[float | None, list[float]]:
        d = self.dialect
        if d.json:
            time, values, unit = self._of_json(number, line)
            if len(values) != d.width or (time is None) == self.timed:
                raise self._wrong(
                    number, f"differs from the first row, which has {d.width} SNRs; {VALID}"
                )
            return (None if time is None else time * (1e-3 if unit == "ms" else 1)), values
        fields = split(line, d.delimiter)
        wanted = d.width + bool(d.first)
        if len(fields) == wanted + 1 and fields[-1] == "":
            fields.pop()
        if len(fields) != wanted:
            raise self._wrong(
                number,
                f"has {len(fields)} columns separated by"
                f" {DELIMITERS.get(d.delimiter, d.delimiter)};"
                f" valid: {wanted}, as the first row has",
            )
        time = None
        if self.timed:
            time = instant(fields[0].replace(",", ".") if d.comma else fields[0])
            if time is None:
                raise self._wrong(
                    number,
                    f"has the time {printable(fields[0], 40)!r}; valid: seconds, or"
                    " 2026-01-01T00:00:00Z",
                )
            time *= 1e-3 if d.first == "ms" else 1
        values = []
        for field in fields[bool(d.first) :]:
            text = field.replace(",", ".") if d.comma and COMMA_NUMBER.fullmatch(field) else field
            if not NUMBER.fullmatch(text):
                raise self._wrong(number, f"has {printable(field, 40)!r}; valid: numbers in dB")
            values.append(float(text))
        return time, values


def split(line: str, delimiter: str) -> list[str]:
    """Fields without the spaces and quotes around them."""
    if delimiter == " ":
        return line.replace('"', "").split()
    row: list[str] = next(
        csv.reader([line.strip("\r\n")], delimiter=delimiter, skipinitialspace=True), []
    )
    return [field.strip() for field in row]


def instant(text: str) -> float | None:
    """Seconds, of a number or of a date with a time."""
    text = text.strip()
    if NUMBER.fullmatch(text):
        return float(text)
    try:
        at = datetime.datetime.fromisoformat(text.rstrip("Zz"))
    except ValueError:
        return None
    return (at if at.tzinfo else at.replace(tzinfo=datetime.timezone.utc)).timestamp()
