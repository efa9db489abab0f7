# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts of a run, at its end or so far, that a verdict is made of. Each kind of run gives those
that it has, and the checks that apply follow from them (checks.py)."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..shapes import (
    AirStatus,
    Clipped,
    Fader,
    MacStatus,
    Realtime,
    Share,
    Stalls,
    ThroughRadios,
)
from . import conservation, fading, live_changes, timing


class Lock(NamedTuple):
    """A receiver's lock. `asked_for`: its channel was changed by a command; `within_s`: it had none
    in so much air time."""

    losses: int = 0
    locked: bool = True
    asked_for: bool = False
    within_s: float | None = None


class Core(NamedTuple):
    """The core of the slot path. None: not known, or there is no limit."""

    stalls: Stalls | None = None  # report of machine.slot_path.StallMonitor
    share: Share | None = None  # machine.slot_path.realtime_share()


class Overflows(NamedTuple):
    """Samples of a receiver's radio were lost so many times."""

    times: int
    stalls: Stalls | None = None


class Heard(NamedTuple):
    """Messages of telemetry, by publisher. `gone`: dispensable processes that ended, in the supervisor's
    words; `silent`: those that did not answer on their control socket."""

    received: Mapping[str, int] = {}
    lost: Mapping[str, int] = {}
    malformed: Mapping[str, int] = {}
    failure: str = ""  # why it was not watched to the end
    gone: Sequence[str] = ()
    silent: Sequence[str] = ()


class Waiting(NamedTuple):
    """The application that waited most for a core: the share of its life. None: not known."""

    share: float | None


@dataclasses.dataclass
class Facts:
    """None: there is no such thing in this run, or it is not known there."""

    replayed: str | None = None  # file of recorded samples
    begun: bool | None = None  # for a verdict so far: whether anything has been measured yet
    noted: Sequence[str] | None = None  # processes that stalled, interfaces that were down
    core: Core | None = None
    fader: Fader | None = None  # fading.fader_of() a medium whose channel a fader has
    transmitter: ThroughRadios | None = None  # fading.transmitter_of()
    pacing: Realtime | None = None  # pace of a medium whose clock is the wall clock
    latest_ms: float | None = None  # lateness of a line that has no slots
    slots: Realtime | None = None  # slots that missed their time
    clipped: Clipped | Fader | Realtime | None = None
    lock: Lock | None = None
    overflows: Overflows | None = None
    sums: conservation.Sums | None = None
    heard: Heard | None = None
    returns: int | None = None  # how often the other station came again; -1: it never came
    waiting: Waiting | None = None
    failed: Sequence[str] | None = None  # traffic programs that failed, in words
    # For a clock that does not wait: the report of slot_path.PageFaults.
    page_faults: Mapping[str, Mapping[str, int]] | None = None
    attenuator: dict[str, Any] | None = None  # attenuator.report_of()
    wired: "Facts | None" = None  # the facts of a wired network before the link
    split: dict[str, Any] | None = None  # the report of a proxy that splits connections


class Statuses:
    """Medium, base station and terminal at (about) one moment."""

    def __init__(self, air: AirStatus, base: MacStatus, terminal: MacStatus) -> None:
        self.air, self.base, self.terminal = air, base, terminal

    @property
    def begun(self) -> bool:
        """Is there anything to measure?"""
        return self.base.slot > 0 and self.terminal.radio.locked

    @property
    def counts(self) -> bytes:
        s = [
            d.SerializeToString(deterministic=True)
            for m in (self.base, self.terminal)
            for d in (m.downlink, m.uplink)
        ]
        return b"".join(s)

    @property
    def queued(self) -> bool:
        return any(
            d.queued.packets for m in (self.base, self.terminal) for d in (m.downlink, m.uplink)
        )


def of_cell(air_before: AirStatus, now: Statuses, sums: conservation.Sums, **more: Any) -> Facts:
    """A cell with both its stations, since a status of the medium until these Statuses."""
    realtime = timing.realtime_of(air_before, now.air, timing.missed(now.air, now.base.radio))
    radio = now.terminal.radio
    return Facts(
        sums=sums,
        pacing=realtime,
        slots=realtime,
        clipped=realtime,
        # The emulator has no receiver, so its status has no mode.
        lock=lock_of(now) if radio.mode else None,
        fader=fading.fader_of(now.air, radio),
        transmitter=fading.transmitter_of(now.air, radio),
        **more,
    )


def lock_of(now: Statuses) -> Lock:
    changes = live_changes.changes_of(base=now.base, terminal=now.terminal, air=now.air)
    return Lock(now.terminal.radio.lock_losses, asked_for=live_changes.are_about_a_channel(changes))
