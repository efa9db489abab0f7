# SPDX-License-Identifier: GPL-3.0-or-later
"""--speed auto: the pace that this machine can hold, found before anything is measured.

The processes of the slot path work one after the other, so what is left of their core over an idle
link says how fast they could go: what a hypervisor takes, or others of the same or a higher
priority, is gone as well. Where enough is left there is room for a full link, and the demo goes on.
Else a trial with a full link for three seconds tells, in a cell that is given up afterwards."""

import math
import os
import time
from collections.abc import Callable
from typing import Any

from ..air import SAMPLE_RATE
from ..cell.running import Running
from ..cell.supervisor import SupervisorClient
from ..machine import placement, procfs, slot_path
from ..shapes import AirStatus
from . import traffic

AUTO = "auto"
SURE = 0.6  # share of a core that the idle link may take: the rest is enough for a full link
LOOK_S = 0.3
HOLDS = 0.97  # air time over wall-clock time that counts as keeping pace, with a full link
SELDOM = 0.005  # share of the slots that may be behind: half of what a verdict allows
ROOM = 0.75  # share of the pace found that is used; the rest is for other work of the machine
MOST_TRIALS = 4  # each trial runs at the speed that the one before led to, until one holds
TRIAL_S = 3
STEADY_S = 1.0  # seconds of the trial before anything is read


class OtherPace(Exception):
    """The cell was for trying only: begin again at this speed. `found`: the pace that it came to,
    1: it held."""

    def __init__(self, speed: float, found: float | None) -> None:
        super().__init__(f"speed {speed:g}")
        self.speed, self.found = speed, found


def air_seconds(status: AirStatus) -> float:
    return status.now / SAMPLE_RATE


def of(first: AirStatus, last: AirStatus) -> float:
    """Air time over wall time between two statuses of the medium."""
    wall = last.wall_seconds - first.wall_seconds
    return (air_seconds(last) - air_seconds(first)) / wall if wall > 0 else 0.0


def behind(first: AirStatus, last: AirStatus) -> float:
    """Share of the slots between two statuses of the medium that were released too late."""
    return (last.slots_behind - first.slots_behind) / max(1, last.slots - first.slots)


def chosen(found: float, share_behind: float = 0.0) -> float:
    """The speed for a machine that came to this pace in the trial."""
    if found >= HOLDS and share_behind <= SELDOM:
        return 1.0
    return max(0.01, math.floor(ROOM * min(1.0, found) * 100) / 100)


def idle_load(supervisor: SupervisorClient) -> float:
    """The cores that the slot path uses now, including processes on its cores that do not give way
    to it."""
    pids = {n: p for n, p in supervisor.pids.items() if n in slot_path.PROCESSES}
    cores = supervisor.placement.slot_path

    def spent() -> float:
        if cores is None:
            return sum(procfs.worked(p)[0] for p in pids.values())
        spare = placement.ticks_to_spare()
        return sum(time.monotonic() - spare[c] / os.sysconf("SC_CLK_TCK") for c in cores)

    before, began = spent(), time.monotonic()
    supervisor.pause(LOOK_S)
    return (spent() - before) / (time.monotonic() - began)


def try_out(
    running: Running, scenario: Any, progress: Callable[[str], None], again: bool = False
) -> None:
    """Returns if the idle link leaves room for a full one. Otherwise tries a full link, and raises
    OtherPace with the speed that follows. `again`: the trial is made in any case."""
    if not again and idle_load(running.supervisor) <= SURE:
        return
    progress(f"trying speed {scenario.speed:g} with a full link")
    seen = []
    look = lambda: seen.append(running.ask(running.air))
    traffic.iperf3(
        running.supervisor,
        running.cell,
        traffic.tcp_arguments(scenario),
        TRIAL_S,
        [(STEADY_S, look), (0.98 * TRIAL_S, look)],
    )
    found, late = of(*seen), behind(*seen)
    share = chosen(found / scenario.speed, late)
    held = share == 1
    speed = scenario.speed if held else max(0.01, math.floor(100 * share * scenario.speed) / 100)
    progress(
        f"this machine holds speed {speed:g}"
        if held
        else (
            f"this machine does not hold it: it came to {found:.2f} of the wall clock's pace,"
            f" {late:.1%} of the slots too late; next speed: {speed:g}"
        )
    )
    raise OtherPace(speed, found)
