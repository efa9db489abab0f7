# SPDX-License-Identifier: GPL-3.0-or-later
"""A trace from the receiver of a running cell: telemetry topic `slot` of the terminal, every slot.
The terminal is asked to publish every slot and afterwards as often as before. What is recorded is
what the receiver measured: SNR of every bin (a receiver reports -20..60 dB) and its prediction for
the slot that is `horizon` slots later; each message contains the horizon.

Nothing is lost unseen: slots are numbered. A slot that did not come, or came while the receiver had
no lock, is a gap."""

import contextlib
import re
import time
from collections.abc import Iterator
from typing import Any

import numpy
from openwip_schema import control_pb2 as pb

from ..air import BINS
from ..cell.cell import Cell
from ..errors import INTERRUPTED, VALID, BadInput, Terminated
from ..messages import control, telemetry

SILENCE_S = 3
MOST_BEFORE = 2000  # messages to read before the receiver has locked and publishes every slot


class Recording:
    def __init__(
        self,
        horizon: int,
        first: Any,
        slots: int,
        snr: Any,
        predicted: Any,
        interrupted: int = VALID,
    ) -> None:
        self.horizon, self.first, self.slots = horizon, first, slots
        self.snr, self.predicted = snr, predicted  # slot -> 25 values; only measured slots
        self.interrupted = interrupted  # exit code of the signal that ended it early

    def rows(self, gaps: Any) -> tuple[Any, int]:
        """Rows of the slots whose prediction could be known, and how many of them were not
        measured."""
        missing = [s for s in range(self.first, self.first + self.slots) if s not in self.snr]
        if missing and gaps == "refuse":
            raise BadInput(
                f"{len(missing)} of {self.slots} slots were not measured, the first of them slot"
                f" {missing[0]}; valid: a recording without gaps, or --gaps hold, which repeats"
                " the last measured slot"
            )
        if self.first not in self.snr:
            raise BadInput(
                "--gaps hold: the first slot was not measured, so there is no"
                " earlier value to repeat; valid: record again"
            )
        rows = numpy.empty((self.slots, 2 * BINS), dtype="f4")
        for i in range(self.slots):
            s = self.first + i
            rows[i, :BINS] = self.snr[s] if s in self.snr else rows[i - 1, :BINS]
            made = s - self.horizon
            # No prediction: what was measured last before it would have been made.
            rows[i, BINS:] = (
                self.predicted[made]
                if made in self.predicted
                else rows[max(i - self.horizon, 0), :BINS]
            )
        return rows, len(missing)

    def definition(self, name: str, gaps: int) -> str:
        return (
            f"name: recorded-{name}\nsource: recorded from the receiver of a running cell, slots"
            f" {self.first} to {self.first + self.slots - 1}, {gaps} not measured (each repeats the"
            " one before)\n"
        )


def record(cell: Cell, slots: int) -> "Recording":
    terminal = control.Control(cell.endpoint("terminal.control"))
    try:
        before = terminal.status().effective_yaml
    except control.NoAnswer as e:
        raise BadInput(
            f"cell '{cell.name}' has no receiver that answers ({e}); valid: a cell of ./openwip"
            " demo --keep or emulate --keep"
        ) from None
    every = re.search(r"slot_every:\s*([0-9]+)", before)
    with telemetry.Reader(
        {"terminal": cell.endpoint("terminal.telemetry")}, ("slot",), high_water=0
    ) as reader:
        try:
            terminal.ask(pb.Request(configure_yaml="telemetry: {slot_every: 1}"))
            return collect(reader, slots)
        finally:
            if every:
                with contextlib.suppress(control.NoAnswer):  # the cell may have ended meanwhile
                    terminal.ask(
                        pb.Request(configure_yaml=f"telemetry: {{slot_every: {every.group(1)}}}")
                    )


def slots_of(reader: telemetry.Reader) -> Iterator[tuple[int, Any]]:
    """(slot, sample) of the first terminal, which an emulated cell has on one publisher with the
    others, as they come."""
    last_message_s = time.monotonic()
    while True:
        messages = reader.poll(0.1)
        if messages:
            last_message_s = time.monotonic()
        elif time.monotonic() - last_message_s > SILENCE_S:
            raise BadInput(
                f"the cell has reported no slot for {SILENCE_S} s; valid: a cell that is running"
            )
        for m in messages:
            if not m.telemetry.user:
                yield m.telemetry.slot, m.telemetry.slot_sample


def collect(reader: telemetry.Reader, slots: int) -> Recording:
    """Starts where two slots in a row have come: the first message may still be one of every nth.
    What had come when a signal ends it is a recording, too."""
    snr, predicted = dict[int, Any](), dict[int, Any]()
    first: Any = None
    previous: Any = None
    horizon, interrupted = 0, VALID
    try:
        for before, (s, sample) in enumerate(slots_of(reader)):
            if first is None:
                if before > MOST_BEFORE:
                    raise BadInput(
                        "the cell reported no two consecutive slots in which the terminal's"
                        f" receiver was synchronised, in {MOST_BEFORE} messages; valid: a terminal"
                        " that is synchronised"
                    )
                if previous == s - 1 and sample.locked:
                    # the first slot whose prediction is recorded
                    horizon, first = sample.horizon, s + sample.horizon
                previous = s
            if first is not None:
                if s >= first + slots:
                    break
                if sample.locked and len(sample.snr_db) == BINS:
                    if sample.horizon != horizon:
                        raise BadInput(
                            f"the prediction horizon became {sample.horizon} slots in slot {s};"
                            f" valid: {horizon}"
                            " slots in the whole recording"
                        )
                    # A trace file holds -60..80 dB.
                    snr[s] = numpy.clip(sample.snr_db, -60, 80)
                    predicted[s] = numpy.clip(sample.predicted_snr_db, -60, 80)
    except (KeyboardInterrupt, Terminated) as e:
        if max(snr, default=-1) < (first or 0):  # no complete row was recorded
            raise
        slots, interrupted = max(snr) + 1 - first, getattr(e, "code", INTERRUPTED)
    return Recording(horizon, first, slots, snr, predicted, interrupted)
