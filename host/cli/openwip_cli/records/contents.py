# SPDX-License-Identifier: GPL-3.0-or-later
"""The contents of a run record, read with libhdf5 by a process without rights
(machine/confined.py). It answers what RunRecord asks: which tables and columns there are, a range
of a column, the texts, and what the run says of itself.

A record holds its data itself, as our writer writes it. Links of other kinds, external files,
virtual data sets and filters that the writer does not use are refused by name before data are read,
and so is whatever claims more than the bytes of the file can hold."""

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import h5py
import numpy

from ..machine import confined, hdf5
from ..machine.confined import Wrong, printable
from .record_storage import View

MOST_TABLES, MOST_COLUMNS = 2000, 100_000
DEEPEST_TABLE = 6  # names between the root and a column's table
WIDEST = 1 << 14  # numbers of a row
MOST_TEXTS = 1 << 20  # texts in the dictionary of a record
TYPES = {"<f4", "<f8", "|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8"}
COUNTS = ("received", "lost", "restarts", "misshapen")  # attributes of a table
STATE = ("complete", "last_slot", "last_wall_ns", "strings_dropped")  # attributes of the root


class Contents:
    def __init__(self, fd: int) -> None:
        self.size = os.fstat(fd).st_size
        self.file = h5py.File(View(fd), "r")
        self.datasets: dict[str, h5py.Dataset] = {}
        self.stored = 0  # bytes of the file that the data sets read so far claim
        self.nof_columns = 0

    # --- objects ---

    def _names(self, group: h5py.Group) -> Iterator[tuple[str, h5py.Group | h5py.Dataset]]:
        """The objects of a group by their names, none of them elsewhere."""
        yield from hdf5.objects_of(group, MOST_COLUMNS)

    def _get(self, group: h5py.Group, name: str) -> Any:
        return next((found for n, found in self._names(group) if n == name), None)

    def _checked(self, dataset: h5py.Dataset) -> h5py.Dataset:
        """A data set whose data are in this file, and no more than can be in it."""
        where = dataset.name
        created = hdf5.refuse_elsewhere(dataset)
        if not 1 <= len(dataset.shape or ()) <= 2 or not all(
            0 < n <= WIDEST for n in dataset.shape[1:]
        ):
            raise Wrong(
                f"has a data set at {where} of the shape {printable(str(dataset.shape))}, not rows,"
                f" or rows of up to {WIDEST}"
            )
        self.stored += dataset.id.get_storage_size()
        hdf5.refuse_too_large(dataset, created, self.stored, self.size)
        return dataset

    def _column(self, dataset: h5py.Dataset) -> dict[str, Any]:
        self.nof_columns += 1
        if self.nof_columns > MOST_COLUMNS:
            raise Wrong(f"has more than {MOST_COLUMNS} columns")
        self._checked(dataset)
        if dataset.dtype.str not in TYPES:
            raise Wrong(
                f"has a column at {dataset.name} of the type {printable(str(dataset.dtype))}, not"
                " numbers"
            )
        self.datasets[dataset.name] = dataset
        return {
            "dtype": dataset.dtype.str,
            "shape": list(dataset.shape),
            "texts": h5py.h5a.exists(dataset.id, b"texts"),
        }

    @staticmethod
    def _integers(item: h5py.Group, names: tuple[str, ...]) -> dict[str, int]:
        found = {}
        for name in names:
            if h5py.h5a.exists(item.id, name.encode()):
                attribute = h5py.h5a.open(item.id, name.encode())
                if attribute.shape != () or attribute.dtype.kind not in "iu":
                    raise Wrong(f"has an attribute {name} of {item.name} that is no whole number")
                found[name] = int(item.attrs[name])
        return found

    # --- what is asked ---

    def listing(self) -> dict[str, Any]:
        """All tables by their path, and the state of the file."""
        tables: dict[str, Any] = {}

        def table(group: h5py.Group, depth: int) -> None:
            if len(tables) >= MOST_TABLES or depth > DEEPEST_TABLE:
                raise Wrong(
                    f"has more than {MOST_TABLES} tables, or tables more than {DEEPEST_TABLE} deep"
                )
            about: dict[str, Any] = {
                "columns": {},
                "children": [],
                "attributes": self._integers(group, COUNTS),
            }
            tables[group.name.strip("/")] = about
            for name, found in self._names(group):
                if isinstance(found, h5py.Dataset):
                    about["columns"][name] = self._column(found)
                else:
                    about["children"].append(name)
                    table(found, depth + 1)
            check_rows(group.name, about["columns"])

        top = dict(self._names(self.file))
        for name, kind in (("strings", h5py.Dataset), ("about", h5py.Group), ("gaps", h5py.Group)):
            if not isinstance(top.get(name), kind):
                raise Wrong(
                    f"is damaged: its contents are not those of a run record (it has no {name})"
                )
        for name in ("gaps", "refused"):
            if isinstance(top.get(name), h5py.Group):
                table(top[name], 1)
        topics = []
        for topic, sources in (
            self._names(top["topics"]) if isinstance(top.get("topics"), h5py.Group) else ()
        ):
            for source, found in self._names(sources) if isinstance(sources, h5py.Group) else ():
                if isinstance(found, h5py.Group):
                    table(found, 3)
                    topics.append([topic, source])
        return {"tables": tables, "topics": topics, "state": self._integers(self.file, STATE)}

    def texts(self) -> list[str]:
        dataset = self._text_set(self._get(self.file, "strings"), (None,))
        found: list[str] = []
        length = 0
        for first in range(0, len(dataset), 4096):
            found += (t.decode(errors="replace") for t in dataset[first : first + 4096])
            length += sum(map(len, found[first:]))
            if length > self.size:
                raise Wrong(f"has more text in its list of strings than its {self.size} bytes")
        return found

    def about(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, dataset in self._names(self._get(self.file, "about")):
            found[name] = self._text_set(dataset, ())[()].decode(errors="replace")
            if sum(map(len, found.values())) > self.size:
                raise Wrong(f"has more text in its group 'about' than its {self.size} bytes")
        return found

    def _text_set(self, dataset: Any, shape: tuple[Any, ...]) -> h5py.Dataset:
        """A data set of texts of any length; `shape` with None for any number of them."""
        where = dataset.name
        if not isinstance(dataset, h5py.Dataset):
            raise Wrong(f"has no data set at {where}")
        created = dataset.id.get_create_plist()
        if created.get_layout() == h5py.h5d.VIRTUAL or created.get_external_count() > 0 or shape:
            self._checked(dataset)
        kind = h5py.check_string_dtype(dataset.dtype)
        if kind is None or kind.length is not None:
            raise Wrong(
                f"has the type {printable(str(dataset.dtype))} at {where}, where texts of variable"
                " length belong"
            )
        if len(dataset.shape) != len(shape) or dataset.size > MOST_TEXTS:
            raise Wrong(
                f"has texts at {where} of the shape {printable(str(dataset.shape))}; up to"
                f" {MOST_TEXTS} are valid"
            )
        return dataset

    def part(self, path: str, first: int, last: int) -> numpy.ndarray:
        return numpy.ascontiguousarray(self.datasets[path][first:last])

    def answer(self, request: dict[str, Any]) -> confined.Answer:
        if "part" in request:
            values = self.part(request["part"], request["first"], request["last"])
            return {"dtype": values.dtype.str}, values.tobytes()
        what = {"listing": self.listing, "texts": self.texts, "about": self.about}[request["what"]]
        return {}, json.dumps(what()).encode()


def check_rows(where: str, columns: dict[str, Any]) -> None:
    """Checks that all columns of a table have a value for each row; the entries of ragged ones are
    counted by NAME.end."""
    rows = {name: c["shape"][0] for name, c in columns.items() if f"{name}.end" not in columns}
    if len(set(rows.values())) > 1:
        few, many = min(rows, key=lambda n: rows[n]), max(rows, key=lambda n: rows[n])
        raise Wrong(
            f"has a table {where} whose columns differ in length: {few} has {rows[few]} rows,"
            f" {many} has {rows[many]}"
        )


def parser(fd: int) -> Callable[[dict[str, Any]], confined.Answer]:
    return Contents(fd).answer
