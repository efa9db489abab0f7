# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a run record (docs/how-to/run-record.md): HDF5, written as FILE.part and renamed when it
is complete. Rows wait in memory until there are enough for whole chunks, or until checkpoint(); a
few megabytes are the most that waits. What the last checkpoint() has written is found however the
recorder ends (records/record_storage.py)."""

import contextlib
import json
import os
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

import h5py
import numpy
from openwip_schema import telemetry_pb2

from ..errors import BadInput, RecordFailed
from ..machine import outputs
from ..messages import telemetry
from . import record_seal
from .columns import Column, Ragged, Strings, Table
from .record_storage import Storage, apply_journal
from .run_record import HEAD

GAP_COLUMNS = (
    ("source", "u4", "1"),
    ("topic", "u4", "1"),
    ("sequence_before", "u8", "1"),
    ("sequence_after", "u8", "1"),
    ("lost", "u8", "messages"),
    ("slot", "i8", "slots since the start"),
    ("wall_ns", "i8", "ns"),
)
REFUSED_COLUMNS = (
    ("source", "u4", "1"),
    ("topic", "u4", "1"),
    ("received_ns", "i8", "ns"),
    ("future", "u8", "1"),
)
# columns of application data, which compression would not make smaller
INCOMPRESSIBLE = {"payload", "data"}
FLAT_CHUNK = 1 << 16  # values in a chunk of a ragged column
TEXTS_CHUNK = 256  # texts in a chunk of the dictionary


def check_target(path: pathlib.Path | str, recovered: pathlib.Path | None = None) -> pathlib.Path:
    """The absolute path of a record that can be written there. Only a file that is a record is
    replaced. `recovered`: the unfinished record that is being recovered to this path. Raises
    BadInput."""
    target = outputs.check("record", path)
    if target.exists() and not (target.is_file() and record_seal.is_record(target)):
        raise BadInput(
            f"record {path}: the file exists and is not a run record, so it is not overwritten;"
            " valid: a new name, or that of a run record"
        )
    part = part_of(target)
    if os.path.lexists(part) and (recovered is None or part != recovered.absolute()):
        raise BadInput(
            f"record {path}: {part.name} is there: {record_seal.left_by(part)}; valid: another name, or this"
            f" one after ./openwip record recover {part}, or after that file is removed"
        )
    return target


def part_of(target: pathlib.Path) -> pathlib.Path:
    """The path at which a record is written until it is complete."""
    return target.with_name(target.name + record_seal.PART)


class RecordFile:
    def __init__(self, path: pathlib.Path | str) -> None:
        self.target = check_target(path)
        self.partial = part_of(self.target)
        try:
            self.storage = Storage(self.partial)
        except OSError as e:
            raise RecordFailed(f"record {self.target}: {e.strerror}") from None
        self.file = h5py.File(self.storage, "w", libver="v110", userblock_size=record_seal.SIZE)
        self.file.attrs["format"], self.file.attrs["format_version"] = (
            record_seal.FORMAT,
            record_seal.FORMAT_VERSION,
        )
        self.last = {"last_slot": -1, "last_wall_ns": 0}  # slot and time of the last message
        for name, value in ({"complete": 0, "strings_dropped": 0} | self.last).items():
            self.file.attrs.create(name, value, dtype="i8")
        self.strings = Strings()
        self.texts = self.file.create_dataset(
            "strings",
            (0,),
            h5py.string_dtype(),
            maxshape=(None,),
            chunks=(TEXTS_CHUNK,),
            compression="gzip",
        )
        self.about: dict[str, str] = {}  # description of the run, as it was written last
        # messages that are on the disk, and found even if the recorder is killed
        self.kept_messages = 0
        self.messages = 0
        self.tables: dict[tuple[str, str], Table] = {}  # by topic and source
        self.gaps, self.refused = (
            self._notes("gaps", GAP_COLUMNS),
            self._notes("refused", REFUSED_COLUMNS),
        )
        self.datasets: dict[str, h5py.Dataset] = {}  # by path

    def _check_written(self) -> None:
        if self.storage.error is not None:
            raise RecordFailed(f"record {self.target}: {self.storage.error.strerror}")

    def _notes(self, name: str, columns: Iterable[tuple[str, str, str]]) -> Table:
        table = Table(name, None, self.strings)
        table.columns = [Column(*c) for c in columns]
        for c in table.columns[:2]:
            c.attributes["texts"] = "/strings"
        return table

    def _note(self, table: Table, source: str, topic: str, *values: int) -> None:
        for column, value in zip(
            table.columns, (self.strings.number(source), self.strings.number(topic), *values)
        ):
            column.values.append(value)
        table.rows += 1
        table.pending += 1
        if self._is_due(table):
            self._write(table)

    @staticmethod
    def _is_due(table: Table) -> bool:
        """The rows that wait complete a chunk."""
        return table.pending >= table.block - (table.rows - table.pending) % table.block

    def refuse(self, source: str, topic: str, received_ns: int, future: int) -> None:
        """Notes a message that could not be used. `future`: the number of its version if that is
        later than this program's, else 0."""
        self._note(self.refused, source, topic, received_ns, future)

    def add(self, message: telemetry.Message) -> None:
        """One telemetry.Message."""
        key, t = (message.topic, message.source), message.telemetry
        table = self.tables.get(key)
        if table is None:
            what = telemetry_pb2.Telemetry.DESCRIPTOR.fields_by_name[
                telemetry.CONTENT[message.topic]
            ]
            table = self.tables[key] = Table(
                f"topics/{message.topic}/{message.source}", what.message_type, self.strings, HEAD
            )
        if message.lost_before:
            self._note(
                self.gaps,
                message.source,
                message.topic,
                t.sequence - message.lost_before - 1,
                t.sequence,
                message.lost_before,
                t.slot,
                t.wall_ns,
            )
        table.add(
            getattr(t, telemetry.CONTENT[message.topic]),
            (t.sequence, t.slot, t.wall_ns, t.user, message.received_ns),
        )
        self.messages += 1
        self.last["last_slot"], self.last["last_wall_ns"] = (
            max(self.last["last_slot"], t.slot),
            max(self.last["last_wall_ns"], t.wall_ns),
        )
        for part in table.all():
            if self._is_due(part):
                self._write(part)

    @property
    def size(self) -> int:
        """Bytes of the file so far."""
        return self.storage.size

    # --- HDF5 ---

    def _write(self, table: Table) -> None:
        table.pending = 0
        table.settle()
        for column in table.columns:
            self._append(f"{table.path}/{column.name}", column, column.take(), table.block)
        self._check_written()

    def _append(self, path: str, column: Column, values: "numpy.ndarray", block: int) -> None:
        dataset = self.datasets.get(path)
        if dataset is None:
            ragged = isinstance(column, Ragged)
            shape = (column.width,) if column.width else ()
            plain = column.name in INCOMPRESSIBLE
            dataset = self.file.create_dataset(
                path,
                (0, *shape),
                column.dtype,
                maxshape=(None, *shape),
                chunks=(FLAT_CHUNK if ragged else block, *shape),
                shuffle=not plain,
                compression=None if plain else "gzip",
                compression_opts=None if plain else 1,
            )
            dataset.attrs["unit"] = column.unit
            for name, value in column.attributes.items():
                dataset.attrs[name] = value
            self.datasets[path] = dataset
        n = len(dataset)
        dataset.resize(n + len(values), axis=0)
        dataset[n:] = values

    def _put_about(self, about: Mapping[str, Any]) -> None:
        """Writes what has changed."""
        for name, value in about.items():
            text = (value if isinstance(value, str) else json.dumps(value)).replace("\0", "\\0")
            if self.about.get(name) == text:
                continue
            if name in self.about:
                del self.file[f"about/{name}"]
            self.file.create_dataset(f"about/{name}", data=text, dtype=h5py.string_dtype())
            self.about[name] = text

    def _put_all(self, about: Mapping[str, Any], reader: telemetry.Reader) -> None:
        for table in (
            self.gaps,
            self.refused,
            *(t for top in self.tables.values() for t in top.all()),
        ):
            if table.pending or f"{table.path}/{table.columns[0].name}" not in self.datasets:
                self._write(table)
        new = self.strings.take_new()
        if new:
            n = len(self.texts)
            self.texts.resize(n + len(new), axis=0)
            self.texts[n:] = numpy.array(new, dtype=object)
        for name, value in ({"strings_dropped": self.strings.dropped} | self.last).items():
            self.file.attrs.modify(name, numpy.int64(min(value, 2**63 - 1)))
        for (source, topic), count in reader.counts.items():
            group = self.file.require_group(f"topics/{topic}/{source}")
            for name in ("received", "lost", "restarts"):
                group.attrs[name] = numpy.uint64(min(getattr(count, name), 2**64 - 1))
        for top in self.tables.values():
            for table in top.all():
                self.file.require_group(table.path).attrs["misshapen"] = table.misshapen
        self._put_about(
            dict(about)
            | {
                "malformed": reader.malformed,
                "future": reader.future,
                "topics": list(reader.topics),
            }
        )

    def checkpoint(self, about: Mapping[str, Any], reader: telemetry.Reader) -> None:
        """Writes what was added so far to the disk, where it stays however the recorder ends."""
        self._put_all(about, reader)
        self.file.flush()
        self.storage.commit()
        self._check_written()
        self.kept_messages = self.messages

    def finish(self, about: Mapping[str, Any], reader: telemetry.Reader) -> None:
        """`about`: {name: text or what JSON can hold} of the run. `reader`: telemetry.Reader, for
        its counts."""
        self._put_all(about, reader)
        self.file.attrs.modify("complete", numpy.int64(1))
        self.file.close()
        self.storage.commit()
        self.storage.close()
        self._check_written()
        try:
            record_seal.seal(self.partial)
            os.replace(self.partial, self.target)
        except OSError as e:
            raise RecordFailed(f"record {self.target}: {e.strerror}") from None

    def abandon(self) -> str:
        """Closes the file after a failure, and deletes it if it holds no messages. Returns a clause
        about what is left, or ""."""
        # After a failed write the library may not find what it wrote itself.
        with contextlib.suppress(Exception):
            self.file.close()
        self.storage.close()
        if self.kept_messages:
            return (
                f"; {self.kept_messages} messages are in {self.partial} (./openwip record recover)"
            )
        with contextlib.suppress(OSError):
            self.partial.unlink()
        return ""


def recover(part: pathlib.Path, target: pathlib.Path) -> None:
    """Seals what a recorder has left that was killed or could not write, and gives it its name. The
    caller has read it (RunRecord)."""
    try:
        apply_journal(part)
        record_seal.seal(part)
        os.replace(part, target)
    except OSError as e:
        raise RecordFailed(f"record {target}: {e.strerror}") from None
