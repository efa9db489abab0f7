# SPDX-License-Identifier: GPL-3.0-or-later
"""The data of the page, as arrays from a run record: no plot, no text. Every function gives None
when the record has nothing to make it of. Time is air time in seconds since slot 0, the same axis
everywhere."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy
from numpy.typing import NDArray
from openwip_schema.slot_link_pb2 import BAD, GOOD, UNKNOWN, UNUSED

from ...air import BINS, SLOTS_PER_SECOND
from ...figures.meaning import DELAY_PARTS, link_capacity, link_settings
from ...records.run_record import RunRecord, Table

COLUMNS = 900  # largest number of columns of a heat map
STEPS = 240  # largest number of steps of a curve of means
MISSING = 255  # byte of a bin without a value (records/columns.py)
POINTS = 6000  # largest number of points of a constellation
MOST_USERS = 250  # factor in a key of slot and terminal: the most terminals that a link has
Numbers: TypeAlias = NDArray[numpy.float64]
Indices: TypeAlias = NDArray[numpy.int64]


class HeatMap(NamedTuple):
    edges: Numbers  # seconds, one more than columns
    values: Numbers  # bins x columns, NaN where nothing was recorded
    slots: int  # slots that the map was made of


class Series(NamedTuple):
    t: Numbers  # s
    y: Numbers


class Times:
    """Air time of messages. Publishers that count slots have theirs in the messages; for the others
    the wall clock is translated by those."""

    def __init__(self, record: RunRecord) -> None:
        tables = [t for topic in ("status", "slot") for _, _, t in record.each(topic)]
        walls, slots = [t["message.wall_ns"] for t in tables], [t["message.slot"] for t in tables]
        wall, slot = (numpy.concatenate(x) if x else numpy.empty(0) for x in (walls, slots))
        known = (wall > 0) & (slot > 0)
        order = numpy.argsort(wall[known], kind="stable")
        self.wall, self.slot = wall[known][order].astype("f8"), slot[known][order].astype("f8")

    def of(self, table: Table) -> Numbers:
        slots = table["message.slot"].astype("f8")
        if len(self.wall):
            slots = numpy.interp(table["message.wall_ns"].astype("f8"), self.wall, self.slot)
        return slots / SLOTS_PER_SECOND


def _edges(t: Numbers, most: int) -> Numbers:
    """Time steps so that each has about a sample or more; regular samples are in the middle of
    theirs."""
    n = int(min(most, max(1, len(numpy.unique(t)))))
    begin, end = float(t.min()), float(t.max())
    step = (end - begin) / (n - 1) if n > 1 else 1e-3
    return begin + step * (numpy.arange(n + 1) - 0.5)


def reduced(t: Numbers, rows: Numbers, how: str = "mean", most: int = COLUMNS) -> HeatMap | None:
    """`rows` (samples x bins, NaN: not known) over time as a heat map. `how`: mean, max, or last
    (of ascending t)."""
    if len(t) == 0 or numpy.isnan(rows).all():
        return None
    edges = _edges(t, most)
    at = numpy.clip(numpy.searchsorted(edges, t, side="right") - 1, 0, len(edges) - 2)
    known = ~numpy.isnan(rows)
    shape = (len(edges) - 1, rows.shape[1])
    if how == "max":
        values = numpy.full(shape, -numpy.inf)
        numpy.maximum.at(values, at, numpy.where(known, rows, -numpy.inf))
        values[numpy.isinf(values)] = numpy.nan
    elif how == "last":
        values = numpy.full(shape, numpy.nan)
        values[at] = rows
    else:
        total, count = numpy.zeros(shape), numpy.zeros(shape)
        numpy.add.at(total, at, numpy.where(known, rows, 0))
        numpy.add.at(count, at, known)
        values = numpy.divide(total, count, out=numpy.full(shape, numpy.nan), where=count > 0)
    return HeatMap(edges, values.T, len(t))


def _bytes(table: Table, name: str) -> Numbers:
    values = table[name].astype("f4")
    values[values == MISSING] = numpy.nan
    return values


class Slots:
    """Topic `slot` of the base station and of its terminals. Several terminals share a publisher,
    and `message.user` says whom a sample is about. A map of all of them shows in each bin the
    terminal that the bin was granted to."""

    def __init__(self, record: RunRecord) -> None:
        self.base, self.terminal = record.table("slot", "base"), record.table("slot", "terminal")
        tables = [t for t in (self.base, self.terminal) if t is not None and len(t)]
        self.users = min(
            MOST_USERS, 1 + max((int(t["message.user"].max()) for t in tables), default=0)
        )

    def _map(
        self,
        table: Table | None,
        values: Callable[[Table], Numbers],
        how: str = "mean",
        user: int | None = None,
    ) -> HeatMap | None:
        if table is None or not len(table):
            return None
        mine = slice(None) if user is None else table["message.user"] == user
        return reduced(table["message.slot"][mine] / SLOTS_PER_SECOND, values(table)[mine], how)

    def _granted(self, rows: Numbers, base_rows: Any = slice(None)) -> Numbers:
        """`rows` (samples x bins) with nan in the bins that the terminal of that sample was not
        granted. `base_rows`: the base station's sample for each row. With a single terminal all
        bins are left."""
        if self.users > 1 and self.base is not None:
            rows = numpy.where(
                self.base["user"][base_rows] == self.base["message.user"][base_rows][:, None],
                rows,
                numpy.nan,
            )
        return rows

    @staticmethod
    def _keys(table: Table) -> Indices:
        return table["message.slot"].astype("i8") * MOST_USERS + table["message.user"]

    def _same_slot(self) -> tuple[Indices, Indices, Indices]:
        """(keys ascending, rows of the base station, rows of the terminal): samples of both about
        the same slot and terminal. A key // MOST_USERS is the slot."""
        if self.base is None or self.terminal is None:
            none = numpy.empty(0, "i8")
            return none, none, none
        keys, base, terminal = numpy.intersect1d(
            self._keys(self.base), self._keys(self.terminal), return_indices=True
        )
        return keys, base, terminal

    def _locked(self, name: str) -> Callable[[Table], Numbers]:
        """A receiver without lock has measured nothing."""

        def values(table: Table) -> Numbers:
            rows = table[name].astype("f4").copy()
            if table["locked"].any():
                rows[~table["locked"]] = numpy.nan
            return rows

        return values

    def measured(self, user: int = 0) -> HeatMap | None:
        return self._map(self.terminal, self._locked("snr_db"), user=user)

    def true(self) -> HeatMap | None:
        if self.users > 1:
            keys, i, j = self._same_slot()
            rows = (
                self._granted(self.terminal["true_snr_db"][j], i)
                if self.terminal is not None and len(keys)
                else numpy.empty((0, 0))
            )
            return reduced(keys // MOST_USERS / SLOTS_PER_SECOND, rows)
        for table in (self.terminal, self.base):
            found = self._map(table, lambda t: t["true_snr_db"])
            if found:
                return found
        return None

    def predicted(self) -> HeatMap | None:
        return self._map(self.base, lambda t: self._granted(t["predicted_snr_db"]))

    def modulation(self) -> HeatMap | None:
        def used(table: Table) -> Numbers:
            values = _bytes(table, "bits_per_symbol")
            values[values == 0] = numpy.nan
            return values

        return self._map(self.base, used)

    def outcomes(self) -> tuple[Indices, Numbers]:
        """(slot, outcome by bin): as the base station says, which decides what is sent again, or if
        it does not, the terminal."""
        keys, rows = [numpy.empty(0, "i8")], [numpy.empty((0, BINS), "f4")]
        for table in (self.base, self.terminal):
            if table is not None and len(table):
                values = _bytes(table, "outcome")
                has_value = ~numpy.isnan(values).all(axis=1)
                keys.append(self._keys(table)[has_value])
                rows.append((self._granted(values) if table is self.base else values)[has_value])
        found, first = numpy.unique(numpy.concatenate(keys), return_index=True)
        return found // MOST_USERS, numpy.concatenate(rows)[first]

    def outcome(self) -> HeatMap | None:
        """The worst of what happened in a cell of the map: bad before unknown before good before
        unused."""
        slots, values = self.outcomes()
        rank = numpy.select(
            [values == BAD, values == UNKNOWN, values == GOOD, values == UNUSED],
            [3.0, 2.0, 1.0, 0.0],
            numpy.nan,
        )
        return reduced(slots / SLOTS_PER_SECOND, rank, "max")

    def allocation(self) -> HeatMap | None:
        """The terminal to which each bin was granted, numbered from 0; where a cell of the map
        covers several slots, in the last of them. None: there is a single terminal."""
        return (
            None
            if self.users < 2 or self.base is None
            else self._map(self.base, lambda t: _bytes(t, "user"), "last", user=0)
        )

    def error_pairs(self) -> tuple[Indices, Numbers] | None:
        """(slot, predicted - measured) of the slots for which both ends have values: what the base
        station planned the slot with, against what the terminal measured in it."""
        keys, i, j = self._same_slot()
        if self.base is None or self.terminal is None or len(keys) == 0:
            return None
        error = (
            self._granted(self.base["predicted_snr_db"][i], i)
            - self._locked("snr_db")(self.terminal)[j]
        )
        return None if numpy.isnan(error).all() else (keys // MOST_USERS, error)

    def error(self) -> HeatMap | None:
        pairs = self.error_pairs()
        return None if pairs is None else reduced(pairs[0] / SLOTS_PER_SECOND, pairs[1])

    def every(self) -> int | None:
        """How many slots there are for each one in the record; None when the record has too few
        slots to tell."""
        for table in (self.terminal, self.base):
            slots = numpy.unique(table["message.slot"]) if table is not None else ()
            if len(slots) > 2:
                return int(numpy.median(numpy.diff(slots)))
        return None


def _goodput(slots: Numbers, bits: Numbers) -> tuple[NDArray[numpy.bool_], Numbers]:
    """(which intervals between statuses count, bit/s in those)."""
    seconds = numpy.diff(slots) / SLOTS_PER_SECOND
    good = (seconds > 0) & (numpy.diff(bits) >= 0)
    return good, numpy.diff(bits)[good] / seconds[good]


def link(record: RunRecord) -> tuple[Series, Series | None] | None:
    """Goodput of the link and what the air interface could have carried, between statuses of the
    base station: two Series in bit/s, or None. Every status says what the base station runs with,
    so the capacity follows what is changed in between; a record without that has the scenario's
    settings throughout."""
    table = record.table("status", "base")
    if table is None or len(table) < 3:
        return None
    slots = table["slot"].astype("f8")
    good, goodput = _goodput(slots, table["base.payload_bits_acknowledged"].astype("f8"))
    t = slots[1:][good] / SLOTS_PER_SECOND
    scenario = (record.about.get("scenario") or {}).get("link", {})
    texts = table["effective_yaml"].astype(str)
    read = {text: link_settings(str(text)) or scenario for text in numpy.unique(texts)}
    histogram = numpy.diff(table["base.modulation_histogram"].astype("f8"), axis=0)
    capacity = numpy.array(
        [
            link_capacity(read[text], h) or numpy.nan
            for text, h in zip(texts[1:][good], histogram[good])
        ],
        dtype="f8",
    )
    return Series(t, goodput), None if numpy.isnan(capacity).all() else Series(t, capacity)


class Terminals:
    """The share of each of several terminals, from the statuses; `n` is 0 in a record of one
    terminal."""

    def __init__(self, record: RunRecord) -> None:
        self.ends: dict[str, tuple[Numbers, Table, Indices]] = {}
        self.n = 0
        for source in ("base", "terminal"):
            table = record.table("status", source)
            child = table.child("users") if table is not None and len(table) > 1 else None
            if table is None or child is None or not len(child):
                continue
            # Every status lists all terminals in the same order; one that does not is left out.
            rows = child["row"].astype("i8")
            counts = numpy.bincount(rows, minlength=len(table))
            n = min(MOST_USERS, int(counts.max()))
            whole = numpy.flatnonzero(counts == n)
            first = numpy.searchsorted(rows, whole)
            self.ends[source] = (table["slot"].astype("f8")[whole], child, first)
            self.n = max(self.n, n)

    def column(self, source: str, user: int, name: str) -> tuple[Numbers, Numbers] | None:
        """(slots, values) or None."""
        if source not in self.ends or user >= self.n:
            return None
        slots, child, first = self.ends[source]
        return slots, child[name][first + user].astype("f8")

    def goodput(self, user: int) -> Series | None:
        found = self.column("base", user, "base.payload_bits_acknowledged")
        if found is None:
            return None
        good, goodput = _goodput(*found)
        return Series(found[0][1:][good] / SLOTS_PER_SECOND, goodput)

    def queue(self, user: int) -> Series | None:
        found = self.column("base", user, "downlink.queued.packets")
        return None if found is None else Series(found[0] / SLOTS_PER_SECOND, found[1])

    def grown(self, user: int, name: str) -> float:
        """How much a counter of the base station grew over the record; NaN: not known."""
        found = self.column("base", user, name)
        return math.nan if found is None or not len(found[1]) else float(found[1][-1] - found[1][0])

    def mean_goodput(self, user: int) -> float:
        found = self.column("base", user, "base.payload_bits_acknowledged")
        if found is None or len(found[0]) < 2 or found[0][-1] <= found[0][0]:
            return math.nan
        return float((found[1][-1] - found[1][0]) * SLOTS_PER_SECOND / (found[0][-1] - found[0][0]))

    def mean_snr_db(self, user: int) -> float:
        found = self.column("terminal", user, "radio.mean_snr_db")
        return math.nan if found is None or not len(found[1]) else float(found[1][-1])


def queue(record: RunRecord) -> dict[str, Series] | None:
    """{"downlink": Series, "uplink": Series} of packets waiting where they enter the air."""
    found = {}
    for source, way in (("base", "downlink"), ("terminal", "uplink")):
        table = record.table("status", source)
        if table is not None and len(table):
            found[way] = Series(table["slot"] / SLOTS_PER_SECOND, table[f"{way}.queued.packets"])
    return found or None


def packets(record: RunRecord) -> Table | None:
    table = record.table("packet", "base")
    child = table.child("packet") if table is not None else None
    return child if child is not None and len(child) else None


def _downlink(child: Table) -> NDArray[numpy.bool_]:
    """Which rows are of the downlink. A record of a UMTS bearer has rows of the uplink, too; older
    records have no such column."""
    return child["uplink"] == 0 if "uplink" in child else numpy.full(len(child), True)


def delays(child: Table, user: int | None = None) -> tuple[Numbers, dict[str, Numbers], Numbers]:
    """(arrival in s, {part: ms}, total in ms) of the delivered packets of the downlink, in the
    order of arrival. `user`: the terminal, numbered from 0."""
    delivered = (child["dropped"] == "") & _downlink(child)
    if user is not None:
        delivered = delivered & (child["user"] == user)
    t = child["arrived_ns"][delivered] / 1e9
    order = numpy.argsort(t, kind="stable")
    parts = {p: child[f"{p}_ns"][delivered][order] / 1e6 for p in DELAY_PARTS}
    total = (child["left_ns"] - child["arrived_ns"])[delivered][order] / 1e6
    return t[order], parts, total


def stacked(t: Numbers, parts: Mapping[str, Numbers]) -> tuple[Numbers, dict[str, Numbers]]:
    """Means over time steps: (middle of the steps, {part: ms}); steps without a packet are NaN."""
    edges = _edges(t, STEPS)
    at = numpy.clip(numpy.searchsorted(edges, t, side="right") - 1, 0, len(edges) - 2)
    count = numpy.bincount(at, minlength=len(edges) - 1).astype("f8")
    count[count == 0] = numpy.nan
    means = {
        p: numpy.bincount(at, weights=x, minlength=len(edges) - 1) / count for p, x in parts.items()
    }
    return (edges[:-1] + edges[1:]) / 2, means


def drops(child: Table) -> dict[str, int]:
    """{reason: packets} of those that were dropped."""
    reasons, counts = numpy.unique(
        child["dropped"][(child["dropped"] != "") & _downlink(child)].astype(str),
        return_counts=True,
    )
    return dict(zip(reasons.tolist(), counts.tolist()))


def flows(record: RunRecord, times: Times) -> list[tuple[str, dict[str, Any], Numbers]] | None:
    """[(name, table rows by column, t)] of the TCP connections that carried most, at the sender."""
    found = []
    for _, _, table in record.each("tcp"):
        child = table.child("flow")
        if child is None:
            continue
        t = times.of(table)[child["row"].astype("i8")]
        names = child["station"] + " " + child["local"] + " to " + child["remote"]
        for name in numpy.unique(names.astype(str)):
            rows = names == name
            columns = {
                c: child[c][rows]
                for c in (
                    "cwnd_segments",
                    "ssthresh_segments",
                    "rtt_ms",
                    "rto_ms",
                    "min_rtt_ms",
                    "retransmitted_segments",
                    "bytes_acknowledged",
                    "congestion_control",
                )
            }
            if columns["bytes_acknowledged"].max(initial=0) > 100_000:
                found.append((str(name), columns, t[rows]))
    return sorted(found, key=lambda f: -int(f[1]["bytes_acknowledged"].max()))[:4] or None


def constellations(record: RunRecord) -> dict[int, NDArray[numpy.complex64]] | None:
    """{bits per symbol: complex points} of the last slots that used it, in units of the root mean
    symbol energy."""
    table = record.table("receiver", "terminal")
    if table is None or not len(table):
        return None
    found: dict[int, list[NDArray[numpy.complex64]]] = {}
    counts: dict[int, int] = {}
    bits_of, symbols_of = table["bits_per_symbol"], table["symbols_of_bin"]
    points_of = table.ragged("points")
    for row in range(len(table) - 1, -1, -1):
        symbols = numpy.where(symbols_of[row] == MISSING, 0, symbols_of[row]).astype("i8")
        pairs = points_of[row].astype("f4")
        if 2 * symbols.sum() != len(pairs):
            continue  # the lists of this message have different lengths
        z = (pairs[0::2] + 1j * pairs[1::2]) / 64
        for bits, part in zip(bits_of[row], numpy.split(z, numpy.cumsum(symbols)[:-1])):
            if 1 <= bits <= 8 and len(part) and counts.get(int(bits), 0) < POINTS:
                found.setdefault(int(bits), []).append(part)
                counts[int(bits)] = counts.get(int(bits), 0) + len(part)
    return {b: numpy.concatenate(p)[:POINTS] for b, p in sorted(found.items())} or None


def channel(record: RunRecord) -> HeatMap | None:
    """|channel estimate| in dB as a heat map over 500 subcarriers, or None."""
    table = record.table("receiver", "terminal")
    if table is None or not len(table):
        return None
    z = table["channel"]
    power = z[:, 0::2] ** 2 + z[:, 1::2] ** 2
    with numpy.errstate(divide="ignore"):
        level = 10 * numpy.log10(power)
    level[~numpy.isfinite(level)] = numpy.nan
    return reduced(table["message.slot"] / SLOTS_PER_SECOND, level)


def air(record: RunRecord, times: Times) -> tuple[Numbers, Table] | None:
    """(t, table) of the medium or the emulator."""
    for _, _, table in record.each("air"):
        if len(table):
            return times.of(table), table
    return None


def cpu(record: RunRecord, times: Times) -> tuple[Numbers, dict[str, Numbers], Numbers, int] | None:
    """(t, {process: cores over time}, pressure in per cent, cores of the machine)."""
    for _, _, table in record.each("cpu"):
        child = table.child("process")
        if child is None:
            continue
        rows, by_name = child["row"].astype("i8"), {}
        for name in numpy.unique(child["name"].astype(str)):
            mine = child["name"] == name
            series = numpy.zeros(len(table))
            numpy.add.at(series, rows[mine], child["cores"][mine])
            by_name[str(name)] = series
        return (
            times.of(table),
            by_name,
            table["pressure_percent"].astype("f8"),
            int(table["cores"].max(initial=0)),
        )
    return None


def events(record: RunRecord, times: Times) -> list[tuple[float, str, int, str, str, int]] | None:
    """[(t, source, severity, kind, reason, count)] in the order of time."""
    found = []
    for _, source, table in record.each("event"):
        t = times.of(table)
        for i in range(len(table)):
            found.append(
                (
                    float(t[i]),
                    str(table["source"][i] or source),
                    int(table["severity"][i]),
                    str(table["kind"][i]),
                    str(table["reason"][i]),
                    int(table["count"][i]),
                )
            )
    return sorted(found) or None
