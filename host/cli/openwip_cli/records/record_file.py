# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a run record (docs/run-record.md): HDF5, written beside its name and renamed when it is complete. Rows
wait in memory until there are enough for whole chunks, so that no chunk is compressed twice; a few
megabytes are the most that waits."""
import contextlib
import io
import json
import os
import pathlib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import h5py
import numpy
from openwip_schema import telemetry_pb2

from ..errors import BadInput, RecordFailed
from ..machine import outputs
from ..messages import telemetry
from . import record_seal
from .columns import Column, Ragged, Strings, Table

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

HEAD = (("message.sequence", "u8"), ("message.slot", "i8"), ("message.wall_ns", "i8"), ("message.user", "u4"), ("message.received_ns", "i8"))
GAP_COLUMNS = (("source", "u4", "1"), ("topic", "u4", "1"), ("sequence_before", "u8", "1"), ("sequence_after", "u8", "1"),
               ("lost", "u8", "messages"), ("slot", "i8", "slots since the start"), ("wall_ns", "i8", "ns"))
REFUSED_COLUMNS = (("source", "u4", "1"), ("topic", "u4", "1"), ("received_ns", "i8", "ns"), ("future", "u8", "1"))
INCOMPRESSIBLE = {"payload", "data"}     # what applications sent
FLAT_CHUNK = 1 << 16


def check_target(path: pathlib.Path | str) -> pathlib.Path:
    """The path as an absolute one, if a record can be written there. Only a record is replaced."""
    target = outputs.check("record", path)
    if target.exists() and not (target.is_file() and record_seal.is_record(target)):
        raise BadInput(f"record {path}: exists and is no run record; valid: a new name, or that of a record")
    return target


class Storage(io.RawIOBase):
    """The file, as h5py writes to it. A failed write is remembered here and not told: after one the HDF5 library
    crashes, at the latest when it closes the file. Whoever writes asks for `error` afterwards."""

    def __init__(self, path: pathlib.Path | str) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        self.position = 0
        self.error: OSError | None = None

    def readable(self) -> bool:
        return True

    writable = seekable = readable

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        begin = {os.SEEK_SET: 0, os.SEEK_CUR: self.position, os.SEEK_END: os.fstat(self.fd).st_size}[whence]
        self.position = begin + offset
        return self.position

    def tell(self) -> int:
        return self.position

    def readinto(self, buffer: "WriteableBuffer") -> int:
        n = os.preadv(self.fd, [buffer], self.position)
        self.position += n
        return n

    def _try(self, function: Callable[[], object]) -> None:
        if self.error is None:
            try:
                function()
            except OSError as e:
                self.error = e

    def write(self, data: "ReadableBuffer") -> int:
        view = memoryview(data).cast("B")

        def all_of_it() -> None:
            done = 0
            while done < len(view):
                done += os.pwrite(self.fd, view[done:], self.position + done)
        self._try(all_of_it)
        self.position += len(view)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        wanted = self.position if size is None else size
        self._try(lambda: os.ftruncate(self.fd, wanted))
        return wanted

    def close(self) -> None:
        if not self.closed:
            self._try(lambda: os.fsync(self.fd))
            os.close(self.fd)
        super().close()


class RecordFile:
    def __init__(self, path: pathlib.Path | str) -> None:
        self.target = check_target(path)
        self.partial = self.target.with_name(f".{self.target.name}.{os.getpid()}.part")
        try:
            self.storage = Storage(self.partial)
        except OSError as e:
            raise RecordFailed(f"record {self.target}: {e.strerror}") from None
        self.file = h5py.File(self.storage, "w", libver="v110", userblock_size=record_seal.SIZE)
        self.file.attrs["format"], self.file.attrs["format_version"] = record_seal.FORMAT, record_seal.FORMAT_VERSION
        self.strings = Strings()
        self.tables: dict[tuple[str, str], Table] = {}      # of topic and source
        self.gaps, self.refused = self._notes("gaps", GAP_COLUMNS), self._notes("refused", REFUSED_COLUMNS)
        self.datasets: dict[str, h5py.Dataset] = {}    # by path

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
        for column, value in zip(table.columns, (self.strings.number(source), self.strings.number(topic), *values)):
            column.values.append(value)
        table.rows += 1
        table.pending += 1
        if table.pending >= table.block:
            self._write(table)

    def refuse(self, source: str, topic: str, received_ns: int, future: int) -> None:
        """A message that was no use. `future`: number of one of a later version, 0: it is none."""
        self._note(self.refused, source, topic, received_ns, future)

    def add(self, message: telemetry.Message) -> None:
        """One telemetry.Message."""
        key, t = (message.topic, message.source), message.telemetry
        table = self.tables.get(key)
        if table is None:
            what = telemetry_pb2.Telemetry.DESCRIPTOR.fields_by_name[telemetry.CONTENT[message.topic]]
            table = self.tables[key] = Table(f"topics/{message.topic}/{message.source}", what.message_type, self.strings, HEAD)
        if message.lost_before:
            self._note(self.gaps, message.source, message.topic, t.sequence - message.lost_before - 1, t.sequence,
                       message.lost_before, t.slot, t.wall_ns)
        table.add(getattr(t, telemetry.CONTENT[message.topic]), (t.sequence, t.slot, t.wall_ns, t.user, message.received_ns))
        for part in table.all():
            if part.pending >= part.block:
                self._write(part)

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
                path, (0, *shape), column.dtype, maxshape=(None, *shape), chunks=(FLAT_CHUNK if ragged else block, *shape),
                shuffle=not plain, compression=None if plain else "gzip", compression_opts=None if plain else 1)
            dataset.attrs["unit"] = column.unit
            for name, value in column.attributes.items():
                dataset.attrs[name] = value
            self.datasets[path] = dataset
        n = len(dataset)
        dataset.resize(n + len(values), axis=0)
        dataset[n:] = values

    def finish(self, about: Mapping[str, Any], reader: telemetry.Reader) -> None:
        """`about`: {name: text or what JSON can hold} of the run. `reader`: telemetry.Reader, for its counts."""
        for table in (self.gaps, self.refused, *(t for top in self.tables.values() for t in top.all())):
            self._write(table)
        texts = numpy.array(self.strings.take_new(), dtype=object)
        self.file.create_dataset("strings", data=texts, dtype=h5py.string_dtype(), compression="gzip")
        self.file.attrs["strings_dropped"] = self.strings.dropped
        for (source, topic), count in reader.counts.items():
            group = self.file.require_group(f"topics/{topic}/{source}")
            for name in ("received", "lost", "restarts"):
                group.attrs[name] = numpy.uint64(min(getattr(count, name), 2**64 - 1))
        for top in self.tables.values():
            for table in top.all():
                self.file.require_group(table.path).attrs["misshapen"] = table.misshapen
        about = dict(about) | {"malformed": reader.malformed, "future": reader.future, "topics": list(reader.topics)}
        for name, value in about.items():
            text = value if isinstance(value, str) else json.dumps(value)
            self.file.create_dataset(f"about/{name}", data=text.replace("\0", "\\0"), dtype=h5py.string_dtype())
        self.file.close()
        self.storage.close()
        self._check_written()
        try:
            record_seal.seal(self.partial)
            os.replace(self.partial, self.target)
        except OSError as e:
            raise RecordFailed(f"record {self.target}: {e.strerror}") from None

    def abandon(self) -> None:
        """Nothing is left of it."""
        with contextlib.suppress(Exception):     # after a failed write the library may find what it wrote missing
            self.file.close()
        self.storage.close()
        with contextlib.suppress(OSError):
            self.partial.unlink()
