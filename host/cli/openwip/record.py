# SPDX-License-Identifier: GPL-3.0-or-later
"""Run records (docs/how-to/run-record.md) as data frames of pandas."""

import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from openwip_cli.air import SLOTS_PER_SECOND
from openwip_cli.errors import BadInput
from openwip_cli.records import prediction
from openwip_cli.records.run_record import RunRecord, Table

if TYPE_CHECKING:
    import pandas

ROW = "row"


class Record:
    """An open run record. It is a context manager; `close()` ends the process that reads the file.

    about    description of the run: "command", "started", "seed", "versions", "report", ...
    verdict  {"valid": bool, "reasons": list of str, "final": bool}, or None: the run gave none"""

    def __init__(self, path: pathlib.Path | str) -> None:
        self._record = RunRecord(path)
        self.about: dict[str, Any] = self._record.about
        self.verdict: dict[str, Any] | None = (
            dict(self._record.verdict) if self._record.verdict else None
        )

    def tables(self) -> list[tuple[str, str]]:
        """(topic, source) of each table, such as ("slot", "base"); docs/reference/telemetry.md lists them."""
        return list(self._record.tables())

    def frame(self, topic: str, source: str, child: str | None = None) -> "pandas.DataFrame":
        """The messages of a topic that one process published, a row each, in order.

        topic, source  one of tables()
        child          the name of a list of messages within those, such as "flows": a row for each
                       entry; its column `row` is the row of the message in frame(topic, source)

        Columns have the names of the schema, units are at the end of a name (snr_db, delay_ms).
        A list of known length is one column for each entry: snr_db.0 ... snr_db.24 (bins, counted
        from 0). A list whose length varies is one column of arrays. `t_s` is the air time of the
        message in seconds since slot 0, from `message.slot`; `message.wall_ns` is the wall clock
        (CLOCK_MONOTONIC) in nanoseconds. A number that is absent is NaN, or `NAME.known` is False.

        Raises OpenWipError: there is no such table or list, the file is damaged, or pandas is not
        installed."""
        frame_of = _frames()
        table = self._table(topic, source)
        if child is not None:
            found = table.child(child)
            if found is None:
                raise BadInput(
                    f"the table {topic} of {source} in {self._record.path} has no list {child};"
                    f" valid: {', '.join(table.children) or 'none'}"
                )
            table = found
        columns = _columns(table)
        if "message.slot" in columns:
            columns = {"t_s": columns["message.slot"] / SLOTS_PER_SECOND} | columns
        return frame_of(columns)

    def predictions(self, user: int = 0) -> "pandas.DataFrame":
        """The predicted SNRs beside those that came true: a row for each bin of each slot that both
        stations published, by slot and bin.

        user  the terminal, where the emulator has several

        Columns: `slot`; `t_s`, air time in seconds since slot 0; `bin`, from 0; `horizon_slots`, how
        far ahead the terminal predicted then; `predicted_snr_db`, as the base station planned the
        slot with it; `measured_snr_db`, by the terminal in the slot itself; `true_snr_db`, of the
        channel, in records of the emulator. nmse() makes one figure of two of them.

        Raises OpenWipError: there is no slot of both stations, the file is damaged, or pandas is not
        installed."""
        import numpy

        frame_of = _frames()
        found = prediction.of_record(self._record, user)
        rows, bins = found.predicted_db.shape
        columns = {
            "slot": numpy.repeat(found.slot, bins),
            "t_s": numpy.repeat(found.slot / SLOTS_PER_SECOND, bins),
            "bin": numpy.tile(numpy.arange(bins), rows),
            "horizon_slots": numpy.repeat(found.horizon_slots, bins),
            "predicted_snr_db": found.predicted_db.ravel(),
            "measured_snr_db": found.measured_db.ravel(),
        }
        if found.true_db is not None:
            columns["true_snr_db"] = found.true_db.ravel()
        return frame_of(columns)

    def children(self, topic: str, source: str) -> list[str]:
        """The names of the lists of messages within a table, for `child` of frame().

        topic, source  one of tables()"""
        return list(self._table(topic, source).children)

    def _table(self, topic: str, source: str) -> Table:
        table = self._record.table(topic, source)
        if table is None:
            there = ", ".join(f"{t} of {s}" for t, s in self.tables())
            raise BadInput(
                f"{self._record.path} has no table {topic} of {source}; valid: {there or 'none'}"
            )
        return table

    def close(self) -> None:
        self._record.close()

    def __enter__(self) -> "Record":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def nmse(true_db: Any, predicted_db: Any) -> float:
    """Normalised mean squared error of predicted SNRs, E (g - p)^2 / E g^2, where g and p are the
    linear values of both arguments. 0 is perfect. Pairs of which one is not a finite number are
    skipped; nan: no pair is left.

    true_db         SNRs [dB], an array of any shape
    predicted_db    their predictions [dB], an array of the same shape
    """
    from openwip_cli.figures import prediction as figures

    return figures.nmse(true_db, predicted_db)


def _frames() -> "Callable[[dict[str, Any]], pandas.DataFrame]":
    try:
        import pandas
    except ImportError:
        raise BadInput(
            "data frames need pandas: install python3-pandas, or pip install pandas"
        ) from None
    return pandas.DataFrame


def _columns(table: Table) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in table.columns:
        if name.endswith(".end"):
            continue
        if f"{name}.end" in table:
            found[name] = table.ragged(name)
        elif (values := table[name]).ndim == 1:
            found[name] = values
        else:
            found |= {f"{name}.{n}": values[:, n] for n in range(values.shape[1])}
    return found


def open_record(path: pathlib.Path | str) -> Record:
    """Opens a record that `openwip demo --record`, `emulate --record` or `openwip record` wrote,
    complete or cut short. Raises OpenWipError: it is no record, or damaged."""
    return Record(path)
