# SPDX-License-Identifier: GPL-3.0-or-later
"""The messages of a run record again, in the order in which they came: the inverse of
records/columns.py, derived from the schema as well. ./openwip record replay FILE, the monitor's
own, writes them to a pipe (messages/pipe.py)."""

import contextlib
import heapq
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor import FieldDescriptor as F
from openwip_schema import telemetry_pb2

from ..messages import pipe, telemetry
from .columns import MISSING, has_presence
from .run_record import HEAD, RunRecord, Table

# time of reception in ns, source, topic, body as published
Recorded: TypeAlias = tuple[int, str, str, bytes]

BLOCK = 512  # rows that are read at once


class Rows:
    """Makes messages of that kind from the rows of a table."""

    def __init__(self, table: Table, descriptor: Descriptor) -> None:
        self.table, self.descriptor = table, descriptor
        names = (*table.columns, *table.children)
        self.nested = {name[:i] for name in names for i, c in enumerate(name) if c == "."}
        self.lists: dict[str, Any] = {name: table.child(name) for name in table.children}
        # The tables of lists of messages, and for each entry the row of this table it belongs to.
        self.below: dict[str, tuple[Rows, numpy.ndarray]] = {}

    def part(self, first: int, last: int) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = [{} for _ in range(last - first)]
        self._fill(made, self.descriptor, "", first, last)
        return made

    def _fill(
        self, made: list[dict[str, Any]], descriptor: Descriptor, prefix: str, first: int, last: int
    ) -> None:
        for f in descriptor.fields:
            name = prefix + f.name
            if f.type != F.TYPE_MESSAGE:
                if name in self.table:
                    for m, value in zip(made, self._values(f, name, first, last)):
                        if value is not None:
                            m[f.name] = value
            elif f.label == F.LABEL_REPEATED:
                if name in self.lists:
                    self._fill_list(made, f, name, first, last)
            elif name in self.nested:
                parts: list[dict[str, Any]] = [{} for _ in made]
                self._fill(parts, f.message_type, f"{name}.", first, last)
                known = (
                    self.table.part(f"{name}.known", first, last)
                    if f"{name}.known" in self.table
                    else (any(part.values()) for part in parts)
                )
                for m, part, there in zip(made, parts, known):
                    if there:
                        m[f.name] = part

    def _fill_list(
        self, made: list[dict[str, Any]], f: F, name: str, first: int, last: int
    ) -> None:
        if name not in self.below:
            self.below[name] = Rows(self.lists[name], f.message_type), self.lists[name]["row"]
        rows, row = self.below[name]
        begin, end = numpy.searchsorted(row, numpy.array((first, last), row.dtype)).tolist()
        for r, entry in zip(row[begin:end].tolist(), rows.part(begin, end)):
            made[r - first].setdefault(f.name, []).append(entry)

    def _values(self, f: F, name: str, first: int, last: int) -> list[Any]:
        """None: absent."""
        part = self.table.part
        if f"{name}.end" in self.table:
            ends = part(f"{name}.end", max(first - 1, 0), last).astype("i8")
            begin = ends[0] if first else 0
            entries = numpy.split(
                part(name, int(begin), int(ends[-1])), (ends[1:] if first else ends)[:-1] - begin
            )
            return [e.tobytes() if f.type == F.TYPE_BYTES else e.tolist() for e in entries]
        values = part(name, first, last)
        if f.type == F.TYPE_STRING:
            return (
                [t.split("\n") if t else None for t in values]
                if f.label == F.LABEL_REPEATED
                else values
            )
        if f"{name}.known" in self.table:
            known = part(f"{name}.known", first, last)
        elif values.ndim == 2:  # older records do not have the column
            known = ~(values == MISSING if f.type == F.TYPE_BYTES else numpy.isnan(values)).all(
                axis=1
            )
        elif has_presence(f):
            known = ~numpy.isnan(values)
        else:
            return values.tolist()
        listed = [v.tobytes() for v in values] if f.type == F.TYPE_BYTES else values.tolist()
        return [v if k else None for v, k in zip(listed, known)]


def _of_table(topic: str, source: str, table: Table) -> Iterator[Recorded]:
    content = telemetry.CONTENT[topic]
    rows = Rows(table, telemetry_pb2.Telemetry.DESCRIPTOR.fields_by_name[content].message_type)
    # In a record made before times of reception were kept, those of publication take their place.
    names = [name if name in table else "message.wall_ns" for name, _ in HEAD]
    for first in range(0, len(table), BLOCK):
        last = min(first + BLOCK, len(table))
        heads = zip(*(table.part(n, first, last).tolist() for n in names))
        for (sequence, slot, wall_ns, user, received_ns), what in zip(
            heads, rows.part(first, last)
        ):
            message = telemetry_pb2.Telemetry(
                sequence=sequence,
                slot=slot,
                wall_ns=wall_ns,
                user=user,
                version=telemetry.VERSION,
                **{content: what},
            )
            # sets the content even if all its fields are zero
            getattr(message, content).SetInParent()
            yield received_ns, source, topic, message.SerializeToString()


def _of_refused(record: RunRecord) -> Iterator[Recorded]:
    """The refused messages of a record, as messages that are refused again."""
    if record.refused is not None:
        columns = (record.refused[c].tolist() for c in ("received_ns", "source", "topic", "future"))
        for received_ns, source, topic, future in zip(*columns):
            message = telemetry_pb2.Telemetry(
                version=telemetry.VERSION + 1, sequence=future
            ).SerializeToString()
            yield received_ns, source, topic, message if future else b""


def messages(record: RunRecord, topics: Sequence[str]) -> Iterable[Recorded]:
    return heapq.merge(
        _of_refused(record), *(_of_table(*one) for one in record.each(*topics)), key=lambda m: m[0]
    )


def length_ns(record: RunRecord, topics: Sequence[str]) -> int:
    name = HEAD[-1][0]
    times = [
        t[name if name in t else "message.wall_ns"] for _, _, t in record.each(*topics) if len(t)
    ]
    return int(max(t[-1] for t in times) - min(t[0] for t in times)) if times else 0


def replay(path: str, topics: Sequence[str]) -> int:
    """Writes first how long it is, then its messages."""
    out = sys.stdout.buffer
    with RunRecord(path) as record, contextlib.suppress(BrokenPipeError), record.computing():
        out.write(pipe.packed(length_ns(record, topics), "", "", b""))
        out.flush()
        for message in messages(record, topics):
            out.write(pipe.packed(*message))
        out.flush()
    return 0
