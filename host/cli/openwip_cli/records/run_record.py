# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a run record (docs/run-record.md), with or without the rest of OpenWIP: needs h5py and numpy only.

    with RunRecord("demo.h5") as r:
        r.about["command"], r.verdict
        slots = r.table("slot", "base")
        slots["snr_db"]                      # rows x 25
        r.table("receiver", "terminal").ragged("points")     # of a ragged column: a list with an array for each row"""
import contextlib
import os
import pathlib
from collections.abc import Callable, Iterator
from typing import Any, TypedDict

import h5py
import numpy

from ..errors import BadInput
from ..text import of_json
from . import record_seal


class Table:
    """Columns by name, read when asked for. Texts come as texts."""

    def __init__(self, group: h5py.Group, strings: "numpy.ndarray") -> None:
        self._group, self._strings = group, strings
        self._read: dict[str, numpy.ndarray] = {}
        self.columns = [n for n, x in group.items() if isinstance(x, h5py.Dataset)]
        self.children = [n for n, x in group.items() if isinstance(x, h5py.Group)]

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __len__(self) -> int:
        first = next((c for c in ("message.sequence", "row", "source") if c in self.columns), None)
        return len(self._group[first]) if first else 0

    def __getitem__(self, name: str) -> "numpy.ndarray":
        if name not in self.columns:
            raise KeyError(f"{self._group.name} has no column {name}; it has {', '.join(self.columns)}")
        if name not in self._read:
            self._read[name] = self.part(name, 0, None)
        return self._read[name]

    def part(self, name: str, first: int, last: int | None) -> "numpy.ndarray":
        """Of rows `first` up to `last`, read now."""
        dataset = self._group[name]
        values = dataset[first:last]
        return self._strings[numpy.minimum(values, len(self._strings) - 1)] if "texts" in dataset.attrs else values

    def ragged(self, name: str) -> "list[numpy.ndarray]":
        """An array for each row."""
        return numpy.split(self[name], self[f"{name}.end"][:-1].astype("i8")) if len(self) else []

    def child(self, name: str) -> "Table | None":
        """Table of a list of messages; its column `row` says to which row of this one each belongs."""
        return Table(self._group[name], self._strings) if name in self.children else None

    @property
    def attributes(self) -> dict[str, int]:
        return {k: int(v) for k, v in self._group.attrs.items()}


Said = TypedDict("Said", {"valid": bool, "reasons": list[str], "final": bool})      # of a verdict


class RunRecord:
    def __init__(self, path: pathlib.Path | str, confine: Callable[[], None] = lambda: None) -> None:
        """`confine` is called before the HDF5 library sees the file."""
        self.path = str(path)
        self._open = contextlib.ExitStack()
        self._open.enter_context(bytes_of := record_seal.opened(path))
        confine()
        try:
            self._file = self._open.enter_context(h5py.File(bytes_of, "r"))
            self._strings = numpy.array([t.decode(errors="replace") for t in self._file["strings"][()]], dtype=object)
            self.about = {name: self._text(name) for name in self._file["about"]}
        except (OSError, KeyError, ValueError, RuntimeError, AttributeError) as e:
            self.close()
            raise BadInput(f"{self.path} does not hold what a run record holds ({e}); {record_seal.WRITTEN_BY}") from None

    def _text(self, name: str) -> Any:
        text = self._file["about"][name][()].decode(errors="replace")
        return text if name in ("command", "started", "recorded", "cell") else of_json(text)

    # --- contents ---

    def tables(self) -> list[tuple[str, str]]:
        """[(topic, source)] of what was recorded."""
        topics = self._file.get("topics", {})
        return [(topic, source) for topic in topics for source in topics[topic]]

    def each(self, *topics: str) -> Iterator[tuple[str, str, Table]]:
        """(topic, source, its Table) of what was recorded; of `topics`, or all."""
        for topic, source in self.tables():
            if not topics or topic in topics:
                yield topic, source, Table(self._file[f"topics/{topic}/{source}"], self._strings)

    def table(self, topic: str, source: str) -> Table | None:
        """None when nothing of it was recorded."""
        group = self._file.get(f"topics/{topic}/{source}")
        return Table(group, self._strings) if group is not None else None

    @property
    def gaps(self) -> "Table":
        return Table(self._file["gaps"], self._strings)

    @property
    def refused(self) -> "Table | None":
        return Table(self._file["refused"], self._strings) if "refused" in self._file else None

    @property
    def verdict(self) -> Said | None:
        """Of the run's report; without one (the run was stopped, or only part of it was
        recorded) the last that the cell said of itself; None when there is neither."""
        v = (self.about.get("report") or {}).get("verdict")
        if v:
            return {"valid": bool(v["valid"]), "reasons": list(v["reasons"]), "final": True}
        for _, _, t in self.each("verdict"):
            if len(t):
                return {"valid": bool(t["valid"][-1]), "reasons": [r for r in t["reason"][-1].split("\n") if r], "final": False}
        return None

    def close(self) -> None:
        self._open.close()

    def __enter__(self) -> "RunRecord":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def verdict_words(v: Said | None) -> list[str]:
    """The lines that come before any figure."""
    if v is None:
        return ["verdict: NONE (neither a report nor a verdict of the cell was recorded)"]
    return [f"verdict: {'VALID' if v['valid'] else 'INVALID'}{'' if v['final'] else ' so far (the run did not end in a report)'}",
            *(f"  {reason}" for reason in v["reasons"])]


def silence_words(a: dict[str, Any]) -> list[str]:
    """Publishers that the record has little or nothing of, in words."""
    return [f"{name} was never heard" if seconds is None else f"{name} was silent for the last {seconds:.1f} s"
            for name, seconds in (a.get("silent") or {}).items()]


def info_text(r: RunRecord) -> str:
    a = r.about
    lines = verdict_words(r.verdict)
    lines += [f"command   {a.get('command') or 'unknown'}",
              f"started   {a.get('started') or 'unknown'}, seed {a.get('seed')}, recorded until {a.get('recorded')}",
              "versions  " + ", ".join(f"{k} {v}" for k, v in (a.get("versions") or {}).items()),
              f"file      {r.path}: {os.path.getsize(r.path) / 1e6:.1f} MB, format version {record_seal.FORMAT_VERSION}"]
    for topic, source, t in r.each():
        counts = t.attributes
        more = "".join(f", {counts[k]} {k}" for k in ("restarts", "misshapen") if counts.get(k))
        below = "".join(f", {len(child)} {c}" for c in t.children if (child := t.child(c)) is not None)
        lines.append(f"  {topic:<9} {source:<10} {len(t):>8} messages{below}; {counts.get('lost', 0)} lost{more}")
    lines += [f"  {words}" for words in silence_words(a)]
    if a.get("unread"):
        lines.append("  messages that waited at the end were left out: the recorder was too far behind")
    for what in ("malformed", "future"):
        n = sum((a.get(what) or {}).values())
        if n:
            lines.append(f"  {n} messages {'did not parse' if what == 'malformed' else 'of a later version were left out'}")
    return "\n".join(lines)


def info(arguments: list[str]) -> int:
    from ..settings.command_line import Parser      # a reader in another Python has no YAML, which that needs
    p = Parser("record info", "What is in a run record.")
    p.add_argument("file", metavar="FILE.h5")
    given = p.parse_args(arguments)
    with RunRecord(given.file) as r:
        print(info_text(r))
    return 0
