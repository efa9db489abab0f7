# SPDX-License-Identifier: GPL-3.0-or-later
"""Channel impulse responses of other programs, such as ray tracers, as logs of SNRs: the complex
gain and the delay of each path over time, in a file of arrays (array_file.py).

The SNR of a bin in a slot is that of the mean power |H(f)|^2 over the bin's 20 subcarriers in the
middle of the slot, H(f) = sum over the paths of gain x exp(-j 2 pi f delay), f against the
carrier, whose phase is in the gains. The mean over all bins and slots has the SNR that was asked
for. Between two snapshots gains and delays are linear in time."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy

from ..air import BINS, SLOTS_PER_SECOND
from ..errors import BadInput, not_valid
from .array_file import Array, ArrayFile
from .logs import HIGHEST_DB, LOWEST_DB, TIME_KEYS, Rows

SUBCARRIERS, SPACING_HZ = 20, 10_000.0  # subcarriers of a bin (blocks/types/grid.h)
LONGEST_S = 7 * 86400
MOST_PATHS = 1000  # paths of a channel response
BLOCK = 256  # slots
# gains turn by no more between two snapshots, for paths within 20 dB of the strongest one
MOST_TURN_RAD = math.pi / 2
STRONG_DB = 20
VALID = (
    "valid: complex gains (a, coeff or h) of paths x snapshots, and their delays in s (tau, delay"
    " or delays) or in ns (tau_ns, delay_ns)"
)
GAINS = ("a", "coeff", "h", "gains", "cir")
DELAYS_S = ("tau", "delay", "delays", "tau_s", "delay_s")
DELAYS_NS = ("tau_ns", "delay_ns", "delays_ns")


class Found(NamedTuple):
    gains: Array
    delays: Array
    unit_s: float


def found_in(arrays: ArrayFile) -> Found | None:
    """The arrays of a response by their names (without the groups that they are in)."""

    def called(names: tuple[str, ...], kind: str) -> Array | None:
        return next(
            (
                a
                for name in names
                for a in arrays.arrays.values()
                if a.name.rpartition("/")[2].lower() == name and a.kind == kind
            ),
            None,
        )

    gains = called(GAINS, "complex")
    if gains is None:
        return None
    delays, unit = called(DELAYS_S, "real"), 1.0
    if delays is None:
        delays, unit = called(DELAYS_NS, "real"), 1e-9
    if delays is None:
        raise arrays.wrong(f"has {gains} and no delays (it has {arrays.listed()})")
    return Found(gains, delays, unit)


def subcarriers_hz() -> Any:
    """bins x 20, against the carrier, which has none."""
    n = numpy.arange(BINS * SUBCARRIERS) - BINS * SUBCARRIERS // 2
    return (SPACING_HZ * numpy.where(n >= 0, n + 1, n)).reshape(BINS, SUBCARRIERS)


class ResponseLog:
    """A response with the interface of logs.Log: a row for each slot. `rate`: snapshots a second;
    None: of its times. `pick`: the number of each antenna or station, where there are several."""

    by_slots = True
    timed, predicted = False, False

    def __init__(
        self, arrays: ArrayFile, found: Found, snr_db: float, rate: float | None, pick: list[int]
    ) -> None:
        self.file, self.snr_db = arrays.file, snr_db
        self.arrays = arrays
        shape = found.gains.shape
        # MATLAB leaves out dimensions of 1 at the end
        if len(shape) < 2:
            shape = (*shape, 1)
        self.nof_paths, self.snapshots = shape[-2:]
        if not 1 <= self.nof_paths <= MOST_PATHS or not self.snapshots:
            raise arrays.wrong(
                f"has {found.gains}, whose last two dimensions have to be paths (up to {MOST_PATHS})"
                " and snapshots"
            )
        at = self._picked(found.gains, shape[:-2], pick)
        self.gains = arrays.whole(found.gains).reshape(shape)[at]
        self.delays = self._delays(found, shape, at)
        for array, values in ((found.gains, self.gains), (found.delays, self.delays)):
            if not numpy.isfinite(values).all():
                raise arrays.wrong(f"has values in {array.name} that are no numbers")
        # Sionna's paths that are not there have no gain and the delay -1.
        path_exists = self.delays >= 0
        if (self.gains[~numpy.broadcast_to(path_exists, self.gains.shape)] != 0).any():
            raise arrays.wrong(f"has negative delays in {found.delays.name} of paths with a gain")
        if not self.gains.any():
            raise arrays.wrong(f"has only zeros in {found.gains.name}")
        self.delays = numpy.where(path_exists, self.delays, 0) - self.delays[path_exists].min()
        self.times = self._times(rate)
        self._check_turns(found.gains.name)
        self.mean_power = self._mean_power()

    def close(self) -> None:
        self.arrays.close()

    def _picked(self, gains: Array, others: tuple[int, ...], pick: list[int]) -> tuple[int, ...]:
        if not pick and math.prod(others) == 1:
            return (0,) * len(others)
        if len(pick) != len(others) or not all(0 <= p < n for p, n in zip(pick, others)):
            ranges = " x ".join(f"0..{n - 1}" for n in others) or "none"
            given = ",".join(map(str, pick)) or "not given"
            raise not_valid(
                f"{self.file} has {gains}: --pick",
                given,
                f"a number for each dimension in front of paths and snapshots ({ranges})",
            )
        return tuple(pick)

    def _delays(self, found: Found, shape: tuple[int, ...], at: tuple[int, ...]) -> Any:
        """paths x 1, or paths x snapshots, in s."""
        delays_shape, paths = found.delays.shape, self.nof_paths
        values = self.arrays.whole(found.delays) * found.unit_s
        if math.prod(delays_shape) == paths:
            return values.reshape(paths, 1)
        if delays_shape == shape:
            return values[at]
        if delays_shape == shape[:-1]:
            return values[at].reshape(paths, 1)
        if delays_shape == shape[-2:]:
            return values
        # Sionna: of stations without antennas; RX, RX antennas, TX, TX antennas
        if len(shape) == 6 and delays_shape == (shape[0], shape[2], paths):
            return values[at[0], at[2]].reshape(paths, 1)
        raise self.arrays.wrong(
            f"has {found.delays}, a shape that does not fit {found.gains}: it has neither a delay for each"
            " path nor one for each path and snapshot"
        )

    def _times(self, rate: float | None) -> Any:
        if rate is not None or self.snapshots == 1:
            return numpy.arange(self.snapshots) / (rate or 1.0)
        for key in TIME_KEYS:
            for array in self.arrays.arrays.values():
                if array.name.lower() == key and array.kind == "real":
                    times = self.arrays.whole(array).ravel() * (1e-3 if key[-3:] == "_ms" else 1)
                    steps = numpy.diff(times)
                    if len(times) != self.snapshots or not (steps > 0).all():
                        raise self.arrays.wrong(
                            f"has {array}, which are not ascending times of the {self.snapshots} snapshots"
                        )
                    return times - times[0]
        raise BadInput(
            f"{self.file} has {self.snapshots} snapshots and no times; valid: --rate, the snapshots"
            f" a second, or an array {', '.join(TIME_KEYS)}"
        )

    def _check_turns(self, name: str) -> None:
        """Between snapshots that are too far apart nothing is known."""
        power = abs(self.gains) ** 2
        strong = power >= power.max() * 10 ** (-STRONG_DB / 10)
        both = strong[:, 1:] & strong[:, :-1]
        turns = abs(numpy.angle(self.gains[:, 1:] * self.gains[:, :-1].conj()))[both]
        if turns.size and numpy.quantile(turns, 0.99) > MOST_TURN_RAD:
            raise self.arrays.wrong(
                f"has snapshots in {name} that are too far apart: strong paths turn by"
                f" {numpy.quantile(turns, 0.99):.2f} rad between two of them; the most is"
                f" {MOST_TURN_RAD:.2f}"
            )

    # --- its rows ---

    @property
    def slots(self) -> int:
        return max(1, int(round(self.times[-1] * SLOTS_PER_SECOND, 6)))

    def powers(self, first: int, last: int) -> Any:
        """slots x bins."""
        t = (numpy.arange(first, last) + 0.5) / SLOTS_PER_SECOND
        t = numpy.minimum(t, self.times[-1])
        k = numpy.clip(
            numpy.searchsorted(self.times, t, "right") - 1, 0, max(0, len(self.times) - 2)
        )
        n = numpy.minimum(k + 1, len(self.times) - 1)
        step = numpy.where(n > k, self.times[n] - self.times[k], 1.0)
        part = (t - self.times[k]) / step
        gains = self.gains[:, k] * (1 - part) + self.gains[:, n] * part
        f = subcarriers_hz().reshape(-1, 1)
        if self.delays.shape[1] == 1:
            response = numpy.exp(-2j * math.pi * f * self.delays.T) @ gains
        else:
            delays = self.delays[:, k] * (1 - part) + self.delays[:, n] * part
            response = numpy.stack(
                [
                    numpy.exp(-2j * math.pi * f * delays[:, s]) @ gains[:, s]
                    for s in range(last - first)
                ],
                axis=1,
            )
        power = abs(response) ** 2
        return power.reshape(BINS, SUBCARRIERS, -1).mean(axis=1).T

    def _blocks(self) -> Iterator[Any]:
        if self.times[-1] > LONGEST_S:
            raise self.arrays.wrong(f"lasts {self.times[-1]:.6g} s; valid: up to {LONGEST_S} s")
        for first in range(0, self.slots, BLOCK):
            yield self.powers(first, min(first + BLOCK, self.slots))

    def _mean_power(self) -> float:
        total = sum(float(block.sum()) for block in self._blocks())
        return total / (self.slots * BINS)

    def blocks(self) -> Iterator[Rows]:
        """All rows, from the beginning."""
        for power in self._blocks():
            with numpy.errstate(divide="ignore"):
                snr = self.snr_db + 10 * numpy.log10(power / self.mean_power)
            yield Rows(None, numpy.clip(snr, LOWEST_DB, HIGHEST_DB).astype("f4"))
