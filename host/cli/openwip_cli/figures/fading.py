# SPDX-License-Identifier: GPL-3.0-or-later
"""A fader between the radios, or the channel in the base station's flowgraph, from their statuses."""

from ..air import SAMPLE_RATE
from ..shapes import AirStatus, Clipped, Fader, RadioState, ThroughRadios
from . import through_radios


def fader_of(
    air: AirStatus, terminal: RadioState | None, before: AirStatus | None = None
) -> Fader | None:
    """The section of a report on the fader; None: there is none. `terminal`: status of the
    terminal's radio, None if it is not known; `before`: an earlier status of the fader, if it was
    running before this run."""
    if not air.delay_samples:
        return None
    lost = air.lost_samples - (before.lost_samples if before else 0)
    clipped, radios, then = faded(before, air), air.fader_radios, before and before.fader_radios

    def since(name: str) -> int:
        return int(getattr(radios, name) - (getattr(then, name) if then else 0))

    return {
        "delay_samples": air.delay_samples,
        "delay_us": air.delay_samples / SAMPLE_RATE * 1e6,
        "least_lead_us": air.least_lead_us,
        "lost_samples": lost,
        "clipped": clipped["clipped"],
        "slots": clipped["slots"],
        "late": since("late"),
        "underflows": since("underflows"),
        "overflows": since("overflows"),
        "stalls": since("stalls"),
        "silences": since("silences"),
        "soundings": [
            {
                "from": getattr(s, "from"),
                "to": s.to,
                "residual_db": s.residual_db,
                "limit_db": s.limit_db,
                "not_judged": s.not_judged,
            }
            for s in air.soundings
        ],
        "through_radios": (
            None if terminal is None else through_radios.compare(air.bursts, terminal.bursts)
        ),
    }


def transmitter_of(air: AirStatus, terminal: RadioState) -> ThroughRadios | None:
    """The sounding of a channel in the base station's flowgraph, which has no delay; None: there is
    none."""
    return (
        through_radios.compare(air.bursts, terminal.bursts, "transmitter")
        if air.fader_paths and not air.delay_samples
        else None
    )


def faded(before: AirStatus | None, after: AirStatus) -> Clipped:
    """Samples that a channel before a transmitter clipped, and slots in all; from two of its statuses, the first
    may be None."""
    return {
        "clipped": after.clipped - (before.clipped if before else 0),
        "slots": after.slots - (before.slots if before else 0),
    }
