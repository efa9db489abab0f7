# SPDX-License-Identifier: GPL-3.0-or-later
"""The predicted SNRs of a run record beside those that the same slots had."""

from typing import NamedTuple

import numpy

from ..errors import BadInput
from .run_record import RunRecord, Table


class Predictions(NamedTuple):
    """A row for each slot that both stations published; SNRs have a column for each bin, in dB. A
    bin without a number is nan."""

    slot: "numpy.ndarray"
    horizon_slots: "numpy.ndarray"  # how far ahead the terminal predicted then
    predicted_db: "numpy.ndarray"  # the SNRs with which the base station planned the slot
    measured_db: "numpy.ndarray"  # measured by the terminal in the slot itself
    # SNRs of the channel itself; None: not known (a cell with samples)
    true_db: "numpy.ndarray | None"


def _rows(record: RunRecord, source: str, user: int) -> tuple[Table, "numpy.ndarray"]:
    table = record.table("slot", source)
    if table is None:
        raise BadInput(
            f"run record {record.path} holds no slots of the station {source} (table slot); valid:"
            " the record of a whole run"
        )
    return table, numpy.flatnonzero(table["message.user"] == user)


def of_record(record: RunRecord, user: int = 0) -> Predictions:
    """The predictions of one terminal, `user`. Raises BadInput: the record has no slot of both
    stations."""
    (base, sent), (terminal, received) = (
        _rows(record, source, user) for source in ("base", "terminal")
    )
    slot, i, j = numpy.intersect1d(
        base["message.slot"][sent], terminal["message.slot"][received], return_indices=True
    )
    if not len(slot):
        raise BadInput(
            f"run record {record.path} holds no slot that both stations have reported for terminal"
            f" {user}; valid: the record of a whole run, and a terminal of its cell"
        )
    i, j = sent[i], received[j]
    true_db = terminal["true_snr_db"][j] if "true_snr_db" in terminal else None
    if true_db is not None and (true_db.shape[1] == 0 or not numpy.isfinite(true_db).any()):
        true_db = None
    return Predictions(
        slot,
        terminal["horizon"][j],
        base["predicted_snr_db"][i],
        terminal["snr_db"][j],
        true_db,
    )
