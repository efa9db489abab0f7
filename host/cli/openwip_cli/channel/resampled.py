# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of a log (logs.py) at the slots of a trace, block by block: what lies between two rows is
interpolated by a named rule. Memory does not grow with the length of the log."""

import math
from collections.abc import Iterator
from typing import Any

import numpy

from ..air import BINS, SLOTS_PER_SECOND
from ..errors import BadInput, not_valid
from ..figures.prediction import linear
from .logs import Rows, Source

# linear: linear SNR, linear in time; db: dB, linear in time; hold: the row before
RULES = ("linear", "db", "hold")
LONGEST_S = 7 * 86400  # longest trace
BLOCK = 16384  # slots that are made at once
HIGHEST_RATE = 1e6  # rows per second


def check_rate(rate: float | None) -> None:
    if rate is not None and not (math.isfinite(rate) and 0 < rate <= HIGHEST_RATE):
        raise not_valid("--rate", f"{rate:g}", f"more than 0, to {HIGHEST_RATE:g} rows a second")


def rows(log: Source, rate: float | None, rule: str) -> Iterator[Any]:
    """Blocks of float32 rows of dB, a row for every slot. `rate`: rows a second; None: what the
    log's times say, or a row for every slot."""
    check_rate(rate)
    timed = log.timed and rate is None
    if not timed and rate in (None, SLOTS_PER_SECOND):
        slots = 0
        for block in log.blocks():
            slots += len(block.snr)
            if slots > LONGEST_S * SLOTS_PER_SECOND:
                raise _too_long(log, slots / SLOTS_PER_SECOND)
            yield block.snr
        return
    yield from _between(log, _at_times(log, rate), rule)


def _too_long(log: Source, seconds: float) -> BadInput:
    return BadInput(
        f"{log.file}: its rows last {seconds:.6g} s; valid: up to {LONGEST_S} s (a week), with the"
        " right --rate or times"
    )


def _at_times(log: Source, rate: float | None) -> Iterator[Rows]:
    """The rows with times that begin at 0."""
    begin, done, last = None, 0, -math.inf
    for times, snr in log.blocks():
        if rate is not None:
            times = (done + numpy.arange(len(snr))) / rate
        begin = times[0] if begin is None else begin
        times = _at_slots(times - begin)
        steps = numpy.diff(times, prepend=last)
        if not (steps > 0).all():
            row = done + int(numpy.flatnonzero(~(steps > 0))[0])
            raise BadInput(
                f"{log.file}: row {row + 1} is not later than the one before it; valid: times that"
                " ascend"
            )
        if times[-1] > LONGEST_S:
            raise _too_long(log, float(times[-1]))
        done, last = done + len(snr), times[-1]
        yield Rows(times, snr)


def _at_slots(times: Any) -> Any:
    """Times that are those of slots, but for a hundredth of one: they are written with some
    digits."""
    slots = times * SLOTS_PER_SECOND
    near = numpy.round(slots)
    return numpy.where(abs(slots - near) < 0.01, near, slots) / SLOTS_PER_SECOND


def _between(log: Source, blocks: Iterator[Rows], rule: str) -> Iterator[Any]:
    slot, many = 0, 0
    held_times, held = numpy.zeros(0), numpy.zeros((0, 0), "f4")
    for times, snr in blocks:
        many += len(snr)
        have = numpy.concatenate([held_times, times])
        known = numpy.concatenate([held, snr]) if len(held) else snr
        stop = math.floor(have[-1] * SLOTS_PER_SECOND + 1e-9) + 1
        for begin in range(slot, stop, BLOCK):
            want = numpy.arange(begin, min(begin + BLOCK, stop)) / SLOTS_PER_SECOND
            yield _interpolated(want, have, known, rule)
        slot = max(slot, stop)
        held_times, held = have[-1:], known[-1:]
    if many < 2:
        raise BadInput(
            f"{log.file} has fewer than two rows, and --rate or a column of times asks for"
            " interpolation between rows; valid: two rows or more"
        )


def _interpolated(want: Any, have: Any, known: Any, rule: str) -> Any:
    after = numpy.clip(numpy.searchsorted(have, want, side="right"), 1, max(1, len(have) - 1))
    before = after - 1
    if rule == "hold" or len(have) == 1:
        exact = numpy.clip(numpy.searchsorted(have, want, side="right") - 1, 0, len(have) - 1)
        return known[exact].astype("f4")
    share = ((want - have[before]) / (have[after] - have[before]))[:, None]
    share = numpy.clip(share, 0, 1)
    if rule == "db":
        return (known[before] * (1 - share) + known[after] * share).astype("f4")
    mixed = linear(known[before]) * (1 - share) + linear(known[after]) * share
    return (10 * numpy.log10(mixed)).astype("f4")


class Summary:
    """A summary of the rows of a trace, from blocks of them: mean of the linear SNR, and NMSE of the
    predictions."""

    def __init__(self) -> None:
        self.slots, self.power, self.error, self.energy = 0, 0.0, 0.0, 0.0

    def add(self, block: Any) -> None:
        snr = linear(block[:, :BINS]).astype("f8")
        self.slots += len(block)
        self.power += float(snr.sum())
        if block.shape[1] == 2 * BINS:
            self.error += float(((linear(block[:, BINS:]) - snr) ** 2).sum())
            self.energy += float((snr**2).sum())

    @property
    def mean_db(self) -> float:
        return 10 * math.log10(self.power / (self.slots * BINS))

    @property
    def nmse(self) -> float:
        return self.error / self.energy if self.energy > 0 else math.nan
