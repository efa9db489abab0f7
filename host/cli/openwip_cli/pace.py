# SPDX-License-Identifier: GPL-3.0-or-later
"""--speed auto: the pace that this machine can hold, found before anything is measured.

The processes of the slot path work one after the other, so what they take of a core over an idle link says how fast they
could go. Where that leaves enough of one there is room for a full link, and the demo goes on. Else a trial with a
full link for two seconds tells, in a cell that is given up afterwards."""
import math
import time

from . import accounting, slot_path, traffic

AUTO = "auto"
SURE = 0.6              # of a core, over the idle link: enough is left for a full one
LOOK_S = 0.3
HOLDS = 0.97            # of the wall clock, with a full link
ROOM = 0.85             # of the pace found, for what the machine does besides
TRIAL_S = 2.0


class OtherPace(Exception):
    """The cell was for trying only: begin again at this speed. `found`: the pace that it came to, 1: it held."""

    def __init__(self, speed, found):
        super().__init__(f"speed {speed:g}")
        self.speed, self.found = speed, found


def air_seconds(status):
    return status.now / accounting.SAMPLE_RATE


def of(first, last):
    """Air time over wall time between two statuses of the medium."""
    wall = last.wall_seconds - first.wall_seconds
    return (air_seconds(last) - air_seconds(first)) / wall if wall > 0 else 0.0


def chosen(found):
    """The speed for a machine that came to this pace in the trial."""
    return 1.0 if found >= HOLDS else max(0.01, math.floor(ROOM * found * 100) / 100)


def idle_load(keeper):
    """Cores that the slot path takes now."""
    pids = {n: p for n, p in keeper.pids.items() if n in slot_path.PROCESSES}

    def worked():
        return sum(slot_path.worked(p)[0] for p in pids.values())
    before, began = worked(), time.monotonic()
    keeper.pause(LOOK_S)
    return (worked() - before) / (time.monotonic() - began)


def try_out(running, progress):
    """Returns when there is room for a full link; raises OtherPace when it had to be tried."""
    if idle_load(running.keeper) <= SURE:
        return
    progress("trying the pace of the wall clock with a full link")
    seen = []
    look = lambda: seen.append(running.ask(running.air))    # noqa: E731
    traffic.iperf3(running.keeper, running.cell, ["-u", "-b", "40M", "-l", "1400"], TRIAL_S,
                   [(0.3 * TRIAL_S, look), (0.95 * TRIAL_S, look)])
    found = of(*seen)
    speed = chosen(found)
    progress("this machine holds the pace" if speed == 1 else
             f"this machine does not hold the pace: it came to {found:.2f} of it; running at speed {speed:g}")
    raise OtherPace(speed, found)
