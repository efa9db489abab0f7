# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of telemetry as columns, derived from the schema itself: a field that the schema gains
is recorded without a line here. Without I/O.

A Table has a row for each message. A field is, by its type:

  number, truth, enumeration   a column; one that the schema calls optional is NaN, or not
  NAME.known, when it is absent
  text                         a column of numbers into the dictionary of texts (Strings)
  message                      its fields, as columns NAME.FIELD, and NAME.known
  list of numbers, bytes       of known length (WIDTHS: an entry for each bin): a column of so many;
  otherwise ragged: all
                               entries one after the other, and a column NAME.end of where each row
                               ends
  list of messages             a table of its own, with a column `row`: the row that it belongs to

An absent list of known length is NaN, or 255 in a list of bytes, and not NAME.known. One of another
length is cut or filled so, and counted (Table.misshapen). records/messages.py makes messages of it
again. Tables are at most three deep."""

import operator
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor import FieldDescriptor as F
from google.protobuf.message import Message

from ..air import BINS, SPECTRUM_POINTS, SUBCARRIERS

DEEPEST = 2  # levels of messages in messages that become columns
MOST_TEXTS = 100_000
MISSING = 255  # byte of a bin without a value

TYPES = {
    F.TYPE_DOUBLE: "f8",
    F.TYPE_FLOAT: "f4",
    F.TYPE_INT64: "i8",
    F.TYPE_SINT64: "i8",
    F.TYPE_UINT64: "u8",
    F.TYPE_INT32: "i4",
    F.TYPE_SINT32: "i4",
    F.TYPE_UINT32: "u4",
    F.TYPE_BOOL: "?",
    F.TYPE_ENUM: "i4",
    F.TYPE_BYTES: "u1",
}
WIDTHS = {
    "SlotSample": dict.fromkeys(
        (
            "snr_db",
            "predicted_snr_db",
            "bits_per_symbol",
            "outcome",
            "true_snr_db",
            "retransmissions",
            "user",
        ),
        BINS,
    ),
    "ReceiverSample": {
        "symbols_of_bin": BINS,
        "bits_per_symbol": BINS,
        "noise_dbfs": BINS,
        "channel": 2 * SUBCARRIERS,
        "spectrum_dbfs": SPECTRUM_POINTS,
    },
    "BaseLink": {"modulation_histogram": 9, "retransmission_histogram": 31},
}
SIGNED_BYTES = {"points"}
LARGE = {"FrameBatch"}  # rows of tens of kilobytes in ragged columns

UNITS = {
    "slot": "slots since the start",
    "air": "slots since the start",
    "now": "samples of 1/7.68e6 s",
    "bytes": "B",
    "bits_per_symbol": "bit",
    "points": "1/64 of the root of the mean symbol energy",
    "cores": "cores",
    "resident_bytes": "B",
    "channel": "real and imaginary part in turn",
    "horizon": "slots",
    "slots": "slots",
    "offset": "nibbles",
    "payload_bits": "bit",
    "packets": "packets",
    "queued_packets": "packets",
    "wall_seconds": "s",
}
SUFFIXES = (
    ("_dbfs", "dBFS"),
    ("_db", "dB"),
    ("_ns", "ns"),
    ("_us", "us"),
    ("_ms", "ms"),
    ("_hz", "Hz"),
    ("_percent", "%"),
    ("_bps", "bit/s"),
    ("_bytes", "B"),
    ("_bits_acknowledged", "bit"),
    ("_segments", "segments"),
    ("_samples", "samples"),
    ("seconds", "s"),
    ("_sent", "frames"),
    ("slots_unlocked", "slots"),
    ("late_slots", "slots"),
)


def unit_of(name: str) -> str:
    """The unit of a field by its name; "1" for counts and other plain numbers."""
    return UNITS.get(name, next((unit for suffix, unit in SUFFIXES if name.endswith(suffix)), "1"))


def has_presence(field: F) -> bool:
    """`optional` in the schema: protobuf makes a choice of one of it."""
    choice: Any = field.containing_oneof  # the types of protobuf's Python package do not have it
    return choice is not None and bool(choice.name == f"_{field.name}")


class Strings:
    """Dictionary of texts. Number 0 is the empty text; it also stands for texts beyond MOST_TEXTS."""

    def __init__(self) -> None:
        self.numbers, self.new, self.dropped = {"": 0}, [""], 0

    def number(self, text: str) -> int:
        n = self.numbers.get(text)
        if n is None:
            if len(self.numbers) >= MOST_TEXTS:
                self.dropped += 1
                return 0
            n = self.numbers[text] = len(self.numbers)
            self.new.append(text.replace("\0", "\\0"))  # HDF5 ends a text there
        return n

    def take_new(self) -> list[str]:
        new, self.new = self.new, []
        return new


class Column:
    """Values of one field for the rows that have not been taken yet."""

    def __init__(
        self,
        name: str,
        dtype: str,
        unit: str,
        width: int | None = None,
        attributes: Mapping[str, object] | None = None,
    ) -> None:
        self.name, self.dtype, self.unit, self.width = name, dtype, unit, width
        self.attributes = dict(attributes or {})
        self.values: Any = []

    def take(self) -> numpy.ndarray:
        values, self.values = self.values, []
        return numpy.array(values, self.dtype)


class WideBytes(Column):
    def take(self) -> numpy.ndarray:
        values, self.values = self.values, []
        return numpy.frombuffer(b"".join(values), self.dtype).reshape(len(values), self.width)


class Ragged(Column):
    """A column of lists: the entries of all rows, one after the other. `end` has for each row the
    number of entries up to its end."""

    def __init__(self, name: str, dtype: str, unit: str) -> None:
        super().__init__(name, dtype, unit)
        self.total = 0
        self.end = Column(f"{name}.end", "u8", "1")

    def put(self, entries: Sequence[Any]) -> None:
        self.values.extend(entries)
        self.total += len(entries)
        self.end.values.append(self.total)


class RaggedBytes(Ragged):
    def __init__(self, name: str, dtype: str, unit: str) -> None:
        super().__init__(name, dtype, unit)
        self.values = bytearray()

    def take(self) -> numpy.ndarray:
        values, self.values = self.values, bytearray()
        return numpy.frombuffer(values, self.dtype)


Step: TypeAlias = Callable[[Message], object]  # takes a field out of a message into its column
ColumnKind = TypeVar("ColumnKind", bound=Column)
RaggedKind = TypeVar("RaggedKind", bound=Ragged)


class Table:
    """`extra`: (name, dtype) of columns that are given to add() with every row."""

    def __init__(
        self,
        path: pathlib.Path | str,
        descriptor: Descriptor | None,
        strings: Strings,
        extra: Sequence[tuple[str, str]] = (),
        depth: int = 0,
    ) -> None:
        self.path, self.strings, self.depth = path, strings, depth
        self.rows = 0  # all that were added
        self.pending = 0  # rows among them that have not been taken yet
        self.misshapen = 0
        # The tables of lists of messages by the field's name, made with the first row.
        self.children: dict[str, Table] = {}
        self.columns: list[Column] = []
        self.extra = [
            self._column(Column(name, dtype, unit_of(name.removeprefix("message."))))
            for name, dtype in extra
        ]
        # The plain numbers: (getter of a message's values, columns, whether there is only one).
        self._rows: list[tuple[list[Any], Sequence[Column], bool]] = []
        # names of nested messages, and what is done with each
        self._steps: list[tuple[tuple[str, ...], list[Step]]] = []
        if descriptor is not None:
            self._plan(descriptor, (), 0)
        # Rows that are written at once: of a few megabytes at most.
        width = sum((c.width or 1) * numpy.dtype(c.dtype).itemsize for c in self.columns)
        self.block = (
            512 if width < 2048 and (descriptor is None or descriptor.name not in LARGE) else 64
        )

    def _column(self, column: ColumnKind) -> ColumnKind:
        assert all(c.name != column.name for c in self.columns), column.name
        self.columns.append(column)
        return column

    def _plan(self, descriptor: Descriptor, nested: tuple[str, ...], depth: int) -> None:
        steps: list[Step] = []
        self._steps.append((nested, steps))
        plain: list[tuple[str, Column]] = []
        later: list[F] = []
        for field in descriptor.fields:
            name = ".".join((*nested, field.name))
            if field.type == F.TYPE_MESSAGE:
                if field.label == F.LABEL_REPEATED:
                    steps.append(self._child_step(name, field))
                elif depth <= DEEPEST:
                    later.append(field)
                    steps.append(self._presence_step(name, field.name))
            elif step := self._step(
                name, field, WIDTHS.get(descriptor.name, {}).get(field.name), plain
            ):
                steps.append(step)
        if plain:
            steps.append(self._plain_step(plain))
        for field in later:
            self._plan(field.message_type, (*nested, field.name), depth + 1)

    def _plain_step(self, plain: list[tuple[str, Column]]) -> Step:
        """A step that takes all plain numbers of a message at once: they are most of the columns,
        and would take most of the time one by one."""
        keys, columns = zip(*plain)
        get = operator.attrgetter(*keys)
        rows: list[Any] = []
        self._rows.append((rows, columns, len(keys) == 1))
        return lambda m: rows.append(get(m))

    def settle(self) -> None:
        """Moves the gathered rows into their columns; call it before columns are taken."""
        for rows, columns, single in self._rows:
            for column, values in zip(columns, [rows] if single else zip(*rows)):
                column.values = list(values)
            rows.clear()

    def _step(
        self, name: str, field: F, width: int | None, plain: list[tuple[str, Column]]
    ) -> Step | None:
        """A function that takes the field out of a message into its column; None when it is one of
        `plain`."""
        key, unit = field.name, unit_of(field.name)
        repeated = field.label == F.LABEL_REPEATED
        if field.type == F.TYPE_STRING:
            return self._text_step(name, key, repeated)
        attributes = {}
        if field.type == F.TYPE_ENUM:
            attributes["names"] = [f"{v.number}={v.name}" for v in field.enum_type.values]
        dtype = "i1" if key in SIGNED_BYTES else TYPES[field.type]
        octets = field.type == F.TYPE_BYTES
        if not repeated and not octets:
            if has_presence(field):
                return self._optional_step(name, key, dtype, unit)
            plain.append((key, self._column(Column(name, dtype, unit, attributes=attributes))))
            return None
        if width is None:
            put = self._ragged((RaggedBytes if octets else Ragged)(name, dtype, unit)).put
            return lambda m: put(getattr(m, key))
        if octets:
            return self._wide_step(
                WideBytes(name, dtype, unit, width, {"missing": MISSING}),
                key,
                bytes([MISSING]) * width,
            )
        return self._wide_step(
            Column(name, dtype, unit, width), key, [numpy.nan if dtype[0] == "f" else 0] * width
        )

    def _optional_step(self, name: str, key: str, dtype: str, unit: str) -> Step:
        """The step for a number that may be absent. An absent number is NaN; in a column that
        cannot hold NaN it is 0, and the column NAME.known is False."""
        values = self._column(Column(name, dtype, unit))
        if dtype[0] == "f":
            return lambda m: values.values.append(getattr(m, key) if m.HasField(key) else numpy.nan)
        known = self._column(Column(f"{name}.known", "?", "1"))

        def step(m: Message) -> None:
            values.values.append(getattr(m, key))
            known.values.append(m.HasField(key))

        return step

    def _presence_step(self, name: str, key: str) -> Step:
        known = self._column(Column(f"{name}.known", "?", "1"))
        return lambda m: known.values.append(m.HasField(key))

    def _text_step(self, name: str, key: str, repeated: bool) -> Step:
        number = self.strings.number
        column = self._column(Column(name, "u4", "1", attributes={"texts": "/strings"}))
        if repeated:
            return lambda m: column.values.append(number("\n".join(getattr(m, key))))
        return lambda m: column.values.append(number(getattr(m, key)))

    def _wide_step(self, column: Column, key: str, absent: Sequence[float]) -> Step:
        """A column of lists of known length. `absent`: the row that stands for an absent list."""
        self._column(column)
        known, width = self._column(Column(f"{column.name}.known", "?", "1")), len(absent)

        def step(m: Message) -> None:
            value = getattr(m, key)[:]
            known.values.append(bool(value))
            if len(value) != width:
                self.misshapen += bool(value)
                value = (value + absent)[:width]
            column.values.append(value)

        return step

    def _ragged(self, ragged: RaggedKind) -> RaggedKind:
        self._column(ragged)
        self._column(ragged.end)
        return ragged

    def _child_step(self, name: str, field: F) -> Step:
        key, descriptor = field.name, field.message_type

        def step(m: Message) -> None:
            entries = getattr(m, key)
            if not entries:
                return
            if self.depth >= DEEPEST:
                self.misshapen += 1
                return
            child = self.children.get(name)
            if child is None:
                child = self.children[name] = Table(
                    f"{self.path}/{name}",
                    descriptor,
                    self.strings,
                    (("row", "u8"),),
                    self.depth + 1,
                )
            for entry in entries:
                child.add(entry, (self.rows,))

        return step

    def add(self, message: Message, extra: Sequence[int] = ()) -> None:
        for column, value in zip(self.extra, extra):
            column.values.append(value)
        for nested, steps in self._steps:
            part = message
            for name in nested:
                part = getattr(part, name)
            for step in steps:
                step(part)
        self.rows += 1
        self.pending += 1

    def all(self) -> Iterator["Table"]:
        """This table and those below it."""
        yield self
        for child in self.children.values():
            yield from child.all()
