# SPDX-License-Identifier: GPL-3.0-or-later
"""The surroundings of a cell, which its supervisor looks at four times a second, so that an end is
blamed on its cause:

  processes    one that does not run (SIGSTOP, a debugger, swap, a frozen container) is silent, and
               the first to end is whichever neighbour has the least patience
  interfaces   packets written to an interface that is down are lost, and their receiver waits for
               them in vain
  namespaces   deleted from outside: nothing can be started in it any more
  run folder   deleted from outside: no socket of the cell can be reached any more

No exception leaves a look: the supervisor has to live."""

import fcntl
import socket
import struct
import time
from typing import Any

from . import procfs, system

EVERY_S = 0.25
DOWN_S = 3.0  # an interface that is down for longer is not coming back by itself
# asleep in the kernel for longer, at every look, is not the wait for a disk that is there
STILL_S = 1.0
# seconds for which a stall that is over may still be the cause of another process's end
LATELY_S = 5.0
INTERFACE = "wip0"  # cell/configuration.py, mac_config
_SIOCGIFFLAGS, _IFF_UP = 0x8913, 1  # of linux/sockios.h and linux/if.h

# The states in which the kernel reports a process that does not run (proc(5)); every process is in
# `D` for a moment now and then.
STATES = {
    "T": "stopped by a signal (SIGSTOP, Ctrl-Z)",
    "t": "stopped by a debugger",
    "D": "asleep in the kernel (swap, a disk, a frozen container)",
}


def seconds(s: float) -> str:
    return f"{s:.1f} s"


class Process:
    """Watches whether a process runs. look(now) returns a sentence about a time in which it did
    not, once that has ended, or None."""

    def __init__(self, name: str, pid: int) -> None:
        self.name, self.pid = name, pid
        self.stands: tuple[str, float] | None = None  # (state, since when)
        self.used: int | None = None
        # (state, since, until) of its last stall
        self.last: tuple[str, float, float] | None = None

    def look(self, now: float) -> str | None:
        state, used = procfs.state(self.pid)
        stands = state if state in STATES and not (state == "D" and used != self.used) else None
        ended = None
        if self.stands and stands != self.stands[0]:
            ended = self._close(*self.stands, now)
        if stands and self.stands is None:
            self.stands = (stands, now)
        self.used = used
        return ended

    def _close(self, state: str, since: float, until: float) -> str | None:
        self.stands = None
        if state == "D" and until - since < STILL_S:
            return None
        self.last = (state, since, until)
        # Everybody sleeps in the kernel at times, longer when a program is read from a slow disk.
        return (
            None
            if state == "D"
            else f"{self.name} was {STATES[state]} for {seconds(until - since)}"
        )

    def words(self, now: float) -> tuple[float, str] | None:
        """(seconds, words) of a stall that lasts or ended lately; None: there was none."""
        state, since = self.stands or ("", now)
        if state and (state != "D" or now - since >= STILL_S):
            return now - since, f"{self.name} has been {STATES[state]} for {seconds(now - since)}"
        if self.last is not None and now - self.last[2] < LATELY_S:
            state, since, until = self.last
            return until - since, f"{self.name} was {STATES[state]} for {seconds(until - since)}"
        return None


class Interface:
    """Watches whether a TUN interface is up. A socket that was made in a namespace stays in it,
    even if the name of the namespace is deleted."""

    def __init__(self, station: str, namespace: str) -> None:
        self.station, self.namespace = station, namespace
        self.socket = system.in_namespace(
            namespace, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        )
        self.was_up = False
        self.since: float | None = None  # when it went down

    def is_up(self) -> bool | None:
        request = struct.pack("16sH14x", INTERFACE.encode(), 0)
        try:
            flags = struct.unpack("16sH14x", fcntl.ioctl(self.socket, _SIOCGIFFLAGS, request))[1]
        except OSError:
            return None  # not made yet, or gone, which its owner reports
        return bool(flags & _IFF_UP)

    def look(self, now: float) -> str | None:
        """Words about a time of being down that has just ended, or None."""
        up = self.is_up()
        if up is False and self.was_up and self.since is None:
            self.since = now
        self.was_up = self.was_up or bool(up)
        if up and self.since is not None:
            down, self.since = now - self.since, None
            return f"{self._name()} was down for {seconds(down)}"
        return None

    def _name(self) -> str:
        return f"interface {INTERFACE} of {self.station} (namespace {self.namespace})"

    def words(self, now: float) -> str | None:
        if self.since is None or now - self.since < DOWN_S:
            return None
        return f"{self._name()} has been down for {seconds(now - self.since)}: somebody set it down"


class Surroundings:
    """`processes` (name -> pid) of a look: all that were started and matter, dead or alive."""

    def __init__(self, cell: Any) -> None:
        self.cell = cell
        self.known: dict[str, Process] = {}
        self.interfaces = [
            Interface(s, cell.namespace(s)) for s in (*cell.stations, *cell.controller)
        ]
        self.namespaces = {n: system.namespace_identity(n) for n in cell.namespaces}
        self.next = time.monotonic()

    def patience(self) -> float:
        return max(0.0, self.next - time.monotonic())

    def look(self, processes: dict[str, int]) -> tuple[str | None, str | None, list[str]]:
        """(words that end the cell, or None; words that end a run, or None; words about what is
        over and belongs into the verdict)."""
        now = time.monotonic()
        self.next = now + EVERY_S
        for name, pid in processes.items():
            self.known.setdefault(name, Process(name, pid))
        watched: list[Process | Interface] = [*self.known.values(), *self.interfaces]
        over = [w for thing in watched if (w := thing.look(now))]
        return self._broken(), next((w for i in self.interfaces if (w := i.words(now))), None), over

    def _broken(self) -> str | None:
        if not self.cell.owns_directory():
            return f"the run folder {self.cell.run} was deleted from outside"
        for name, identity in self.namespaces.items():
            if system.namespace_identity(name) != identity:
                return f"the network namespace {name} was deleted from outside"
        return None

    def not_running(self, processes: dict[str, int]) -> str | None:
        """The process that was stalled longest, among those that are or were lately, in words;
        None: all run."""
        now = time.monotonic()
        self.look(processes)
        found = [w for p in self.known.values() if (w := p.words(now))]
        return max(found)[1] if found else None
