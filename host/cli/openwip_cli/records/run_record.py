# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a run record (docs/how-to/run-record.md), with or without the rest of OpenWIP: needs h5py
and numpy only. libhdf5 runs in a process without rights (records/contents.py, machine/confined.py);
what comes from there is checked here.

    with RunRecord("demo.h5") as r:
        r.about["command"], r.verdict
        slots = r.table("slot", "base")
        slots["snr_db"]                      # rows x 25
        r.table("receiver", "terminal").ragged("points")     # of a ragged column: a list with an
        array for each row"""

import contextlib
import os
import pathlib
import warnings
from collections.abc import Iterator
from typing import Any, TypedDict

import numpy

from ..air import SLOTS_PER_SECOND
from ..errors import BadInput
from ..machine.confined import Reader, printable
from ..text import of_json
from . import record_seal

# Columns of every message, and their types.
HEAD = (
    ("message.sequence", "u8"),
    ("message.slot", "i8"),
    ("message.wall_ns", "i8"),
    ("message.user", "u4"),
    ("message.received_ns", "i8"),
)
PIECE = 16 << 20  # bytes of a column that are requested at a time
LARGEST_COLUMN = 2 << 30  # bytes of a column in memory
LARGEST_LISTING = 64 << 20  # bytes of JSON with names and shapes of the columns
# The exceptions in which reading a value of a wrong type or shape ends.
MISFITS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
# The type of what a record says of itself; whatever else it says is read as it is.
ABOUT: dict[str, tuple[type, ...]] = {
    "command": (str,),
    "started": (str,),
    "recorded": (str,),
    "cell": (str,),
    "scenario": (dict,),
    "seed": (int, type(None)),
    "versions": (dict,),
    "effective": (dict,),
    "effective_at_first": (dict,),
    "report": (dict,),
    "topics": (list,),
    "unread": (bool,),
    "silent": (dict,),
    "malformed": (dict,),
    "future": (dict,),
    "cut": (dict, type(None)),
}
PLAIN_TEXT = ("command", "started", "recorded", "cell")


class Table:
    """Columns by name, read when asked for. Texts come as texts."""

    def __init__(self, record: "RunRecord", path: str) -> None:
        self._record, self._path = record, path
        about = record._tables[path]
        self._columns: dict[str, dict[str, Any]] = about["columns"]
        self._read: dict[str, numpy.ndarray] = {}
        self.columns = list(self._columns)
        self.children: list[str] = about["children"]
        self.attributes: dict[str, int] = about["attributes"]

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __len__(self) -> int:
        first = next((c for c in ("message.sequence", "row", "source") if c in self._columns), None)
        return int(self._columns[first]["shape"][0]) if first else 0

    def __getitem__(self, name: str) -> "numpy.ndarray":
        if name not in self._columns:
            raise KeyError(f"{self._path} has no column {name}; it has {', '.join(self.columns)}")
        if name not in self._read:
            self._read[name] = self.part(name, 0, None)
        return self._read[name]

    def part(self, name: str, first: int, last: int | None) -> "numpy.ndarray":
        """The values of rows `first` up to `last`, read now."""
        about = self._columns[name]
        first, last, _ = slice(first, last).indices(about["shape"][0])
        values = self._record._numbers(
            f"/{self._path}/{name}",
            about["dtype"],
            (max(last - first, 0), *about["shape"][1:]),
            first,
        )
        return (
            self._record.strings[numpy.clip(values, 0, len(self._record.strings) - 1)]
            if about["texts"]
            else values
        )

    def ragged(self, name: str) -> "list[numpy.ndarray]":
        """An array for each row."""
        if not len(self):
            return []
        ends = self[f"{name}.end"].astype("i8")
        if (numpy.diff(ends, prepend=0) < 0).any() or ends[-1] > len(self[name]):
            raise ValueError(
                f"{self._path}/{name}.end does not give the ends of the entries of a list"
            )
        return numpy.split(self[name], ends[:-1])

    def child(self, name: str) -> "Table | None":
        """Table of a list of messages; its column `row` says to which row of this one each
        belongs."""
        return Table(self._record, f"{self._path}/{name}") if name in self.children else None


class RecordedVerdict(TypedDict):
    valid: bool
    reasons: list[str]
    final: bool  # it is the verdict at the end of the run


class RunRecord:
    def __init__(self, path: pathlib.Path | str) -> None:
        self.path = str(path)
        self._tables: dict[str, Any] = {}
        self.strings: numpy.ndarray = numpy.array([""], dtype=object)
        with record_seal.opened(path) as f:
            self.size = os.fstat(f.fileno()).st_size
            # errno of the write that ended the record before its seal, or 0
            self.error = record_seal.error_of(os.pread(f.fileno(), record_seal.SIZE, 0))
            self._reader = Reader(self.path, f.fileno(), "read-record", record_seal.WRITTEN_BY)
        try:
            with self.computing():
                listing = self._reader.ask_tree(LARGEST_LISTING, what="listing")
                self._tables, self._topics, self.state = (
                    listing["tables"],
                    [(str(t), str(s)) for t, s in listing["topics"]],
                    listing["state"],
                )
                self._check_tables()
                texts = self._reader.ask_tree(8 * self.size + LARGEST_LISTING, what="texts")
                self.strings = numpy.array([str(t) for t in texts] or [""], dtype=object)
                self.about = self._about(
                    self._reader.ask_tree(8 * self.size + LARGEST_LISTING, what="about")
                )
        except BaseException:
            self.close()
            raise

    @contextlib.contextmanager
    def computing(self) -> Iterator[None]:
        """A context for computing with values of the record: an error of one line if they cannot be
        those of a record."""
        try:
            with numpy.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        except MISFITS as e:
            raise BadInput(
                f"{self.path} is damaged: its contents are not those of a run record"
                f" ({printable(str(e)) or type(e).__name__}); {record_seal.WRITTEN_BY}"
            ) from None

    def _check_tables(self) -> None:
        for table in self._tables.values():
            for name, column in table["columns"].items():
                shape = column["shape"]
                numpy.dtype(column["dtype"])
                if (
                    column["dtype"][1] not in "biuf"
                    or not 1 <= len(shape) <= 2
                    or not all(type(n) is int and n >= 0 for n in shape)
                ):
                    raise ValueError(
                        f"column {name} has another type or shape than numbers in one or two"
                        " dimensions"
                    )
                if column["texts"] and (column["dtype"][1] not in "iu" or len(shape) != 1):
                    raise ValueError(
                        f"column {name} of texts does not hold whole numbers, which choose them"
                        " from the list of strings"
                    )
            for name, _ in HEAD:
                if name in table["columns"] and (
                    table["columns"][name]["dtype"][1] not in "iu"
                    or len(table["columns"][name]["shape"]) != 1
                ):
                    raise ValueError(f"column {name} does not hold whole numbers")

    def _about(self, texts: Any) -> dict[str, Any]:
        about: dict[str, Any] = {}
        for name, text in texts.items():
            about[name] = printable(text, 1 << 16) if name in PLAIN_TEXT else of_json(text)
            if name in ABOUT and not isinstance(about[name], ABOUT[name]):
                raise ValueError(f"about/{name} is {printable(text, 60)}")
        verdict = about.get("report", {}).get("verdict")
        if verdict and not (
            isinstance(verdict, dict)
            and isinstance(verdict.get("valid"), bool)
            and isinstance(verdict.get("reasons"), list)
            and all(isinstance(r, str) for r in verdict["reasons"])
            and isinstance(verdict.get("checks", {}), dict)
        ):
            raise ValueError(
                f"the verdict of about/report is {printable(repr(verdict), 60)}; valid: a mapping"
                " of valid (true or false), reasons (texts) and checks (a mapping)"
            )
        return about

    def _numbers(
        self, path: str, dtype: str, shape: tuple[int, ...], first: int
    ) -> "numpy.ndarray":
        each = numpy.dtype(dtype).itemsize * int(numpy.prod(shape[1:], dtype="u8"))
        if each * shape[0] > LARGEST_COLUMN:
            raise BadInput(
                f"{self.path} has a column {path} of {each * shape[0]} bytes; valid: up to"
                f" {LARGEST_COLUMN}"
            )
        values = numpy.empty(shape, "|u1" if dtype == "|b1" else dtype)
        step = max(1, PIECE // max(each, 1))
        for at in range(0, shape[0], step):
            n = min(step, shape[0] - at)
            body = self._reader.ask_numbers(
                dtype, (n, *shape[1:]), part=path, first=first + at, last=first + at + n
            )
            values[at : at + n] = numpy.frombuffer(body, values.dtype).reshape(n, *shape[1:])
        return values != 0 if dtype == "|b1" else values

    # --- contents ---

    def tables(self) -> list[tuple[str, str]]:
        """[(topic, source)] of what was recorded."""
        return self._topics

    def each(self, *topics: str) -> Iterator[tuple[str, str, Table]]:
        """(topic, source, Table) of everything that was recorded of these topics; without
        arguments, of all."""
        for topic, source in self.tables():
            if not topics or topic in topics:
                yield topic, source, Table(self, f"topics/{topic}/{source}")

    def table(self, topic: str, source: str) -> Table | None:
        """The table of a topic and source; None if nothing of it was recorded."""
        path = f"topics/{topic}/{source}"
        return Table(self, path) if path in self._tables else None

    @property
    def gaps(self) -> "Table":
        return Table(self, "gaps")

    @property
    def refused(self) -> "Table | None":
        return Table(self, "refused") if "refused" in self._tables else None

    @property
    def end_words(self) -> list[str]:
        """How the record ended, where it ended before the run did."""
        words = []
        if not self.state.get("complete", 1):
            slot = self.state.get("last_slot", -1)
            at = (
                f"slot {slot}, t={slot / SLOTS_PER_SECOND:.3f} s"
                if slot >= 0
                else "an unknown slot"
            )
            words.append(
                f"ended without a seal at {at}: {record_seal.why_unsealed(self.error)}, and what"
                " came later is not in it"
            )
        if cut := self.about.get("cut"):
            words.append(
                f"cut at slot {int(cut['slot'])}, t={int(cut['slot']) / SLOTS_PER_SECOND:.3f} s, by"
                f" {printable(str(cut['reason']))}: what came later is not in it"
            )
        return words

    @property
    def verdict(self) -> RecordedVerdict | None:
        """The verdict of the run's report; without one (the run was stopped, or only part of it was
        recorded) the last that the cell published; None when there is neither."""
        v = (self.about.get("report") or {}).get("verdict")
        if v:
            return {"valid": v["valid"], "reasons": list(v["reasons"]), "final": True}
        for _, _, t in self.each("verdict"):
            if len(t):
                return {
                    "valid": bool(t["valid"][-1]),
                    "reasons": [r for r in t["reason"][-1].split("\n") if r],
                    "final": False,
                }
        return None

    def close(self) -> None:
        self._reader.close()

    def __enter__(self) -> "RunRecord":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def verdict_words(v: RecordedVerdict | None) -> list[str]:
    """The lines that come before any figure."""
    if v is None:
        return ["verdict: NONE (neither a report nor a verdict of the cell was recorded)"]
    return [
        (
            "verdict:"
            f" {'VALID' if v['valid'] else 'INVALID'}{'' if v['final'] else ' so far (the run did not end in a report)'}"
        ),
        *(f"  {printable(reason)}" for reason in v["reasons"]),
    ]


def silence_words(a: dict[str, Any]) -> list[str]:
    """Publishers that the record has little or nothing of, in words."""
    return [
        (
            f"{printable(name)} was never heard"
            if seconds is None
            else f"{printable(name)} was silent for the last {seconds:.1f} s"
        )
        for name, seconds in (a.get("silent") or {}).items()
    ]


def info_text(r: RunRecord) -> str:
    a = r.about
    lines = verdict_words(r.verdict) + [f"record    {words}" for words in r.end_words]
    lines += [
        f"command   {a.get('command') or 'unknown'}",
        (
            f"started   {a.get('started') or 'unknown'}, seed {a.get('seed')}, recorded until"
            f" {a.get('recorded')}"
        ),
        "versions  "
        + ", ".join(printable(f"{k} {v}") for k, v in (a.get("versions") or {}).items()),
        f"file      {r.path}: {r.size / 1e6:.1f} MB, format version {record_seal.FORMAT_VERSION}",
    ]
    for topic, source, t in r.each():
        counts = t.attributes
        more = "".join(f", {counts[k]} {k}" for k in ("restarts", "misshapen") if counts.get(k))
        below = "".join(
            f", {len(child)} {c}" for c in t.children if (child := t.child(c)) is not None
        )
        lines.append(
            f"  {topic:<9} {source:<10} {len(t):>8} messages{below}; {counts.get('lost', 0)}"
            f" lost{more}"
        )
    lines += [f"  {words}" for words in silence_words(a)]
    if a.get("unread"):
        lines.append(
            "  messages that waited at the end were left out: the recorder was too far behind"
        )
    for what in ("malformed", "future"):
        n = sum((a.get(what) or {}).values())
        if n:
            lines.append(
                f"  {n} messages"
                f" {'did not parse' if what == 'malformed' else 'of a later version were left out'}"
            )
    return "\n".join(lines)


def info(arguments: list[str]) -> int:
    # imported here: it needs YAML, which a reader without OpenWIP may not have
    from ..settings.command_line import FILE, Parser

    p = Parser("record info", "Prints what a run record (HDF5 file of --record) holds.")
    p.add_argument("file", names=FILE, metavar="FILE.h5", help="run record (HDF5 file of --record)")
    given = p.parse_args(arguments)
    with RunRecord(given.file) as r, r.computing():
        text = info_text(r)
    print(text)
    return 0
