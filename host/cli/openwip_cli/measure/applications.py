# SPDX-License-Identifier: GPL-3.0-or-later
"""How long the applications in a cell's namespaces waited for a processor core.

The kernel counts for every thread the time during which it was ready to run and had no core
(/proc/PID/task/TID/schedstat, second figure); it adds a wait when the wait ends. A starved thread
may wait for seconds, so a wait that has not ended is added here, if the thread was ready at two
scans and did not run between them. Only the traffic's own processes are counted: the pressure of
the whole machine (/proc/pressure/cpu) is also high when the radio or another program waits and the
applications do not (docs/results/cells.md has both).

The telemetry, which a verdict needs as well, is watched here too, since both have to be watched all
the time."""

import contextlib
import dataclasses
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..cell import cell as cells
from ..figures import timing
from ..figures.facts import Heard
from ..machine import procfs, system
from ..messages import control

EVERY_S = 0.5
SEEN_OFTEN = 4  # scans after which a process that is elsewhere is taken to stay there


@dataclasses.dataclass
class Application:
    station: str
    name: str
    pid: int
    started: int  # ticks since boot
    first_s: float  # when it was first counted
    last_s: float
    threads: dict[str, float]  # thread -> seconds waited when last seen
    ended_s: float = 0.0  # seconds of waits that have ended, since first_s
    # thread -> how far it had run, if it was ready
    ready: dict[str, tuple[int, int, int]] = dataclasses.field(default_factory=dict)
    # thread -> seconds of a wait that has not ended
    waiting: dict[str, float] = dataclasses.field(default_factory=dict)

    @property
    def waited_s(self) -> float:
        return self.ended_s + sum(self.waiting.values())

    def look(
        self, now: float, waited: dict[str, float], ready: dict[str, tuple[int, int, int]]
    ) -> None:
        self.ended_s += sum(max(0.0, s - self.threads.get(t, 0.0)) for t, s in waited.items())
        self.waiting = {
            t: self.waiting.get(t, 0.0) + now - self.last_s
            for t, ran in ready.items()
            if self.ready.get(t) == ran
        }
        self.threads, self.ready, self.last_s = waited, ready, now


Applications = dict[tuple[int, int], Application]  # by pid and start time


class Sums:
    """The seconds that applications of one name waited and lived, whether they run or have ended.
    However many there were, MOST names are kept; the one that waited least goes to the others of
    its station, whose sums stay exact."""

    MOST = 200
    OTHERS = "others"

    def __init__(self, other: "Sums | None" = None) -> None:
        # (station, name) -> (seconds waited, seconds lived)
        self.by_name: dict[tuple[str, str], tuple[float, float]] = (
            dict(other.by_name) if other else {}
        )

    def add(self, a: Application) -> None:
        self._put((a.station, a.name), a.waited_s, a.last_s - a.first_s)
        while len(self.by_name) > self.MOST:
            named = [key for key in self.by_name if key[1] != self.OTHERS]
            least = min(named, key=lambda key: self.by_name[key][0])
            self._put((least[0], self.OTHERS), *self.by_name.pop(least))

    def _put(self, key: tuple[str, str], waited_s: float, lived_s: float) -> None:
        waited, lived = self.by_name.get(key, (0.0, 0.0))
        self.by_name[key] = waited + waited_s, lived + lived_s

    def shares(self, interval_s: float) -> dict[str, float]:
        """Share of waiting by application ("base: iperf3")."""
        return {
            f"{station}: {name}": round(timing.share_of_waiting(waited, lived, interval_s), 5)
            for (station, name), (waited, lived) in sorted(self.by_name.items())
        }


class ApplicationClock:
    """Watches in a thread of its own from its making until end(). `namespaces`: station -> name;
    `own`: function that returns the pids that are no applications."""

    def __init__(self, namespaces: dict[str, str], own: Callable[[], Iterable[int]]) -> None:
        self.namespaces, self.own = namespaces, own
        self._lock = threading.Lock()
        self._elsewhere: dict[int, int] = {}  # pid -> how often seen in another namespace
        self._now: Applications = {}
        self._ended = Sums()
        self._known = procfs.waited_s(os.getpid()) is not None
        self._began = time.monotonic()
        self._pressure = procfs.pressure_us()
        self._scan(old=True)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="applications", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ending.wait(EVERY_S):
            try:
                self._scan()
            # For example, no descriptor is left: how long they waited meanwhile is not known.
            except OSError:
                self._known = False

    def _scan(self, old: bool = False) -> None:
        """Finds the processes in the cell's namespaces. `old`: those that are found now may have
        waited before; only what they wait from now on counts."""
        with self._lock:
            now, own = time.monotonic(), set(self.own())
            stations = {
                system.namespace_identity(name): station
                for station, name in self.namespaces.items()
            }
            here: Applications = {}
            pids = procfs.pids()
            self._elsewhere = {p: n for p in pids if (n := self._elsewhere.get(p))}
            for pid in pids:
                if pid in own or self._elsewhere.get(pid, 0) >= SEEN_OFTEN:
                    continue
                if (there := system.namespace_of(pid)) is None:
                    continue
                if there in stations:
                    self._take(pid, stations[there], now, old, here)
                else:
                    self._elsewhere[pid] = self._elsewhere.get(pid, 0) + 1
            for key, a in self._now.items():
                if key not in here:
                    self._ended.add(a)
            self._now = here

    def _take(self, pid: int, station: str, now: float, old: bool, here: Applications) -> None:
        started, waited = procfs.start_time(pid), procfs.waited_s(pid)
        if started is None or waited is None:
            return
        a = self._now.get((pid, started))
        if a is None:
            if (called := procfs.name_of(pid)) is None:
                return
            name = called.replace(" ", "_") or "?"
            a = Application(station, name, pid, started, now, now, waited if old else {})
            if not old:  # it has begun since the last look
                a.first_s = max(
                    self._began, now - max(0.0, procfs.uptime_s() - started / procfs.TICKS)
                )
        a.look(now, waited, procfs.ready_threads(pid))
        here[pid, started] = a

    def begin(self) -> None:
        """Count from now on."""
        with self._lock:
            self._now, self._ended = {}, Sums()
            self._began, self._pressure = time.monotonic(), procfs.pressure_us()
        self._scan(old=True)

    def running(self) -> list[Application]:
        """Applications that run now."""
        with self._lock:
            return list(self._now.values())

    def report(self) -> dict[str, Any]:
        """The share of waiting since the beginning, by application ("base: iperf3"), the worst of
        them and the machine's pressure; None if the kernel does not report it."""
        self._scan()
        with self._lock:
            interval = time.monotonic() - self._began
            sums = Sums(self._ended)
            for a in self._now.values():
                sums.add(a)
            before, pressure = self._pressure, procfs.pressure_us()
            shares = sums.shares(interval)
            return {
                "waiting": shares if self._known else None,
                "worst": max(shares.values(), default=0.0) if self._known else None,
                "pressure": (
                    None
                    if before is None or pressure is None or interval <= 0
                    else round((pressure - before) * 1e-6 / interval, 5)
                ),
            }

    def end(self) -> None:
        self._ending.set()
        self._thread.join(2)


# --- for a verdict ---


def heard(
    watch: control.TelemetryWatch, gone: Sequence[str] = (), silent: Sequence[str] = ()
) -> Heard:
    return Heard(watch.received, watch.lost, watch.malformed, watch.failure, gone, silent)


@contextlib.contextmanager
def watching(cell: cells.Cell) -> Iterator[tuple[control.TelemetryWatch, ApplicationClock]]:
    """The parts of a verdict that have to be watched all the time: (TelemetryWatch,
    ApplicationClock)."""
    watch = control.TelemetryWatch(
        {s: cell.endpoint(f"{s}.telemetry") for s in cells.STATIONS if s in cell.stations}
    )
    applications = ApplicationClock(
        {s: cell.namespace(s) for s in cell.stations},
        lambda: [pid for pid, _ in cell.recorded_processes()],
    )
    try:
        yield watch, applications
    finally:
        watch.end()
        applications.end()
