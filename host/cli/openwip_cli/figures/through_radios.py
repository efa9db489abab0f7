# SPDX-License-Identifier: GPL-3.0-or-later
"""y = H x through the radios of a cabled cell: the base station's bursts as the terminal heard
them, against the taps that the fader, or the channel in the base station's flowgraph, commanded
while it mixed them (channels/fader/known_burst.h, station_soundings.h). Level, carrier phase and
delay of radios and cables are not known: one gain for all bursts, a phase and a delay for each are
fitted, and the residual is the power of what is left over that of the channel."""

import cmath
import math
from collections.abc import Sequence

from ..shapes import Burst, CommandedBurst, ThroughRadios

TERMINAL = "terminal"  # node of a cell's fader that the terminal is cabled to
VALUES = 32  # points of a frequency response, 150 kHz apart (channels/fader/known_burst.h)
LIMIT_DB = -25.0
EXPECTED_DB = 3.0  # SNR from which on a burst is expected to be received
LEAST_SHARE = 0.5  # share of the expected bursts that have to be received
APART = 256  # samples; bursts that are closer are the same burst
START = 600_000  # samples; longer than all bursts that a base station sends when it starts
# Phase steps over 150 kHz in rad that are tried: the residual delay is within 2.4 samples.
TURNS = [k / 200 for k in range(-60, 61)]


def complex_of(burst: Burst) -> list[complex]:
    parts = iter(burst.response)
    return [complex(re, im) for re, im in zip(parts, parts)]


def matched(
    commanded: Sequence[CommandedBurst], heard: Sequence[Burst]
) -> list[tuple[CommandedBurst, Burst]]:
    """The pairs of commanded and received bursts. All distances between two bursts differ, so the
    clock offset at which most bursts coincide is the right one."""

    def at(shift: int) -> list[tuple[CommandedBurst, Burst]]:
        return [
            (c, h)
            for c in commanded
            for h in heard
            if abs(h.centre - c.burst.centre - shift) < APART
        ]

    return max(
        (at(h.centre - c.burst.centre) for c in commanded for h in heard), key=len, default=[]
    )


def aligned(wanted: Sequence[complex], found: Sequence[complex]) -> list[complex]:
    """`wanted` with the delay and the phase of `found`."""
    products = [f * w.conjugate() for f, w in zip(found, wanted)]
    turn = max(
        TURNS, key=lambda t: abs(sum(p * cmath.exp(-1j * t * k) for k, p in enumerate(products)))
    )
    phase = cmath.phase(sum(p * cmath.exp(-1j * turn * k) for k, p in enumerate(products)))
    return [w * cmath.exp(1j * (phase + turn * k)) for k, w in enumerate(wanted)]


def starts_of(bursts: Sequence[CommandedBurst]) -> list[list[CommandedBurst]]:
    """A fader may outlive many starts of a base station."""
    found: list[list[CommandedBurst]] = [[]]
    for b in bursts:
        if found[-1] and b.burst.centre - found[-1][0].burst.centre > START:
            found.append([])
        found[-1].append(b)
    return found


def compare(
    bursts: Sequence[CommandedBurst], heard: Sequence[Burst], where: str = "fader"
) -> ThroughRadios:
    """The part of a report about the radios; `where` the channel is, `wrong`: reasons against the
    run. The bursts are as far apart in every start, and the clocks are not known: the start that
    fits best is taken, or the last one if none was measured."""
    starts = starts_of([b for b in bursts if b.to == TERMINAL])
    return min(
        (of_start(s, heard, where) for s in reversed(starts)),
        key=lambda found: found.get("residual_db", math.inf),
    )


def of_start(bursts: Sequence[CommandedBurst], heard: Sequence[Burst], where: str) -> ThroughRadios:
    expected = [b for b in bursts if b.snr_db >= EXPECTED_DB and not b.not_judged]
    pairs = [(c, h) for c, h in matched(bursts, heard) if not c.not_judged]
    found: ThroughRadios = {
        "bursts": len(bursts),
        "expected": len(expected),
        "heard": len(pairs),
        "not_judged": "",
        "wrong": [],
    }
    if not bursts:
        found["wrong"] = [f"{where}: the base station's bursts did not come to it"]
    elif not expected:
        found["not_judged"] = next(
            (b.not_judged for b in bursts if b.not_judged), "the channel is below its noise"
        )
    elif len([1 for c, _ in pairs if c.snr_db >= EXPECTED_DB]) < LEAST_SHARE * len(expected):
        found["wrong"] = [
            f"{where}: through the radios {len(pairs)} bursts of {len(expected)} were heard"
        ]
    if found["wrong"] or found["not_judged"]:
        return found
    found.update(residual([(complex_of(c.burst), complex_of(h), h.noise) for c, h in pairs], where))
    return found


def residual(
    pairs: Sequence[tuple[list[complex], list[complex], float]], where: str
) -> ThroughRadios:
    """Estimates from triples (commanded, received, noise of a value)."""
    wanted = [aligned(c, h) for c, h, _ in pairs]
    power = sum(abs(w) ** 2 for c in wanted for w in c)
    gain = (
        sum((h * w.conjugate()).real for c, (_, f, _) in zip(wanted, pairs) for w, h in zip(c, f))
        / power
    )
    error = sum(abs(h - gain * w) ** 2 for c, (_, f, _) in zip(wanted, pairs) for w, h in zip(c, f))
    noise = sum(n * len(f) for _, f, n in pairs)
    channel = max(gain, 1e-6) ** 2 * power
    db = 10 * math.log10(max(error / channel, 1e-12))
    limit = 10 * math.log10(10 ** (LIMIT_DB / 10) + 4 * noise / channel)
    wrong = (
        []
        if db <= limit
        else [
            f"{where}: through the radios the channel is {db:.1f} dB off the commanded one (limit"
            f" {limit:.1f} dB)"
        ]
    )
    return {
        "residual_db": db,
        "limit_db": limit,
        "gain_db": 20 * math.log10(max(gain, 1e-6)),
        "wrong": wrong,
    }
