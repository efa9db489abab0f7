# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict so far, once a second (topic `verdict`), for as long as the cell lives: a process of
its own under the supervisor, so that it is there for a cell that is kept, and so that the supervisor stays
small.

The checks are those of the verdict at the end (figures/checks.py). What differs is what can be known
meanwhile: packets are under way, so each end's sums are evaluated alone until both queues are empty
and nothing moves; whether the traffic programs succeed is known to the launcher only.

The measured time begins when the terminal has locked, and again whenever somebody resets the
medium's counters (the demo does before it measures). It also lists the applications for the
observer (RUN/applications), since only root sees in whose namespace a process is.

  python -m openwip_cli judge CELL COMMAND"""

import os
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

from openwip_schema import telemetry_pb2

from ..air import SAMPLE_RATE
from ..cell import cell as cells
from ..cell.running import tun_counts
from ..cell.supervisor import Noted
from ..errors import SIGNALS
from ..figures import attenuator, checks, conservation, facts, link_counts, meaning
from ..machine import own_files, reason, rights
from ..machine.places import Places
from ..messages import control
from ..messages.telemetry import Publisher
from ..shapes import Interface
from .applications import ApplicationClock, heard, watching
from .verdict_message import verdict_message

EVERY_S = 1.0
TIMEOUT_S = 0.5
STANDING_STILL = 2  # seconds without a change before the sums from end to end are evaluated


class SoFar:
    """Statuses in, verdict out. No clock, no socket."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.first: facts.Statuses | None = None
        self.last: facts.Statuses | None = None
        self.goodput: float | None = None
        self.capacity: float | None = None
        self.still = 0
        # all that the supervisor has written down; what belongs to the measured time came after
        # `noted_before` of them
        self.noted = Noted()
        self.noted_before = 0
        self.attenuator: dict[str, Any] | None = None  # attenuator.report_of()

    def take(self, now: facts.Statuses) -> bool:
        """True when the measured time begins with it."""
        begins = self.last is None or now.air.slots < self.last.air.slots
        if begins:
            if not now.begun:
                return False
            self.first, self.still, self.noted_before = now, 0, len(self.noted)
        elif self.last is not None and now.base.slot > self.last.base.slot:
            link = link_counts.link_interval(self.last.base, now.base)
            self.goodput = link["goodput_bps"]
            self.capacity = meaning.link_capacity(
                meaning.link_settings(now.base.effective_yaml), link["modulation_histogram"]
            )
        self.still = (
            self.still + 1
            if not begins and self.last and not now.queued and now.counts == self.last.counts
            else 0
        )
        self.last = now
        return begins

    def verdict(
        self,
        heard: facts.Heard,
        waiting: float | None,
        tun: dict[str, Interface] | None = None,
        unread: Sequence[str] = (),
    ) -> telemetry_pb2.Verdict:
        """The verdict so far. `waiting`: share of time for which applications waited for a core, or
        None; `tun`: counts of the interfaces, once the link is at rest; `unread`: what could not be
        read about the machine."""
        if self.first is None or self.last is None:
            # A publisher that has not sent anything yet is no fault.
            heard = heard._replace(received={})
            begins = facts.Facts(begun=False, heard=heard, noted=unread)
            return verdict_message(checks.evaluate(begins), self.command)
        now = self.last
        observed = facts.of_cell(
            self.first.air,
            now,
            conservation.sums_of_paths(
                conservation.paths_of(now.base, now.terminal), tun, drained=tun is not None
            ),
            heard=heard,
            waiting=facts.Waiting(waiting),
            noted=[*self.noted.since(self.noted_before), *unread],
            attenuator=self.attenuator,
        )
        assert observed.pacing
        if now.air.now == self.first.air.now:
            observed.pacing["factor"] = 1.0  # no time has passed yet, so no factor can be computed
        result = verdict_message(
            checks.evaluate(observed),
            self.command,
            seconds=(now.air.now - self.first.air.now) / SAMPLE_RATE,
            goodput_bps=self.goodput or 0,
            capacity_bps=self.capacity or 0,
            real_time_factor=observed.pacing["factor"],
        )
        if waiting is not None:
            result.applications_waiting = waiting
        if through := observed.transmitter or observed.fader and observed.fader["through_radios"]:
            result.through_radios.CopyFrom(
                telemetry_pb2.ThroughRadios(
                    wrong=bool(through["wrong"]),
                    bursts=through["bursts"],
                    heard=through["heard"],
                    not_judged=through["not_judged"],
                    residual_db=through.get("residual_db"),
                    limit_db=through.get("limit_db"),
                )
            )
        return result


class KernelCounts:
    """The kernel's counts of the interfaces for a verdict so far, which are compared with those of
    the stations only where both are of one moment (cell/running.py, read_at_rest()). Reading them
    takes two processes, so those that belong to the stations' counts are kept for as long as these
    are the same."""

    def __init__(self, read: Callable[[], dict[str, Interface]]) -> None:
        self.read = read
        # (serialised statuses, counts) of the last reading
        self.before: tuple[bytes, dict[str, Interface]] | None = None
        self.agreed = False  # the last reading was the same as the one before it

    def of(self, now: facts.Statuses, still: int) -> dict[str, Interface] | None:
        """The counts of the interfaces that belong to the statuses `now`; None while the link or
        the kernel's counts change. `still`: field of SoFar."""
        if still < STANDING_STILL:
            self.before, self.agreed = None, False
            return None
        if not (self.agreed and self.before and self.before[0] == now.counts):
            reading = now.counts, self.read()
            self.before, self.agreed = reading, reading == self.before
        return self.before[1] if self.agreed and self.before else None


class VerdictMonitor:
    """SoFar with the cell around it."""

    def __init__(self, cell: cells.Cell, command: str) -> None:
        self.cell, self.so_far = cell, SoFar(command)
        self.sockets = {
            n: control.Control(cell.endpoint(f"{n}.control")) for n in ("air", "base", "terminal")
        }
        self.attenuator = (
            control.Control(cell.endpoint("attenuator.control"))
            if (cell.run / "attenuator.control").exists()
            else None
        )
        self.publisher = Publisher(cell.endpoint("keeper.telemetry"), ["verdict"])
        self.listed: str | None = None
        self.kernel = KernelCounts(lambda: tun_counts(cell))
        self.silent: list[str] = []

    def statuses(self) -> facts.Statuses | None:
        """The statuses of all processes; None while one does not answer, whose name is then in
        `silent`."""
        found, self.silent = {}, []
        for name, socket in self.sockets.items():
            try:
                found[name] = socket.status(TIMEOUT_S)
            except control.NoAnswer:
                self.silent.append(name)
                return None
        return facts.Statuses(**found)

    def read_noted(self) -> list[str]:
        """Takes what the supervisor has written down. Returns what is there and cannot be read, so that
        what was known of it stays."""
        try:
            self.so_far.noted = Noted(own_files.read(self.cell.noted).decode(errors="replace"))
        except FileNotFoundError:
            self.so_far.noted = Noted()  # nothing yet
        except OSError as e:
            return [f"{self.cell.noted} cannot be read: {e.strerror or e}"]
        return []

    def look_at_attenuator(self) -> None:
        try:
            status = self.attenuator.status(TIMEOUT_S) if self.attenuator else None
        except control.NoAnswer:
            self.so_far.attenuator = attenuator.report_of(None)
            return
        # Armed: it plays from the begin of the measured time on.
        self.so_far.attenuator = (
            attenuator.report_of(status) if status and status.state != "armed" else None
        )

    def turn(self, watch: control.TelemetryWatch, clock: ApplicationClock) -> None:
        unread = self.read_noted()
        self.look_at_attenuator()
        now = self.statuses()
        if now is not None and self.so_far.take(now):
            clock.begin()
        if (
            applications := "".join(f"{a.pid} {a.started} {a.name}\n" for a in clock.running())
        ) != self.listed:
            own_files.replace(self.cell.run / "applications", applications)
            self.listed = applications
        if self.publisher.wanted("verdict"):
            slot = self.so_far.last.base.slot if self.so_far.last else 0
            self.publisher.publish(
                "verdict",
                slot,
                verdict=self.so_far.verdict(
                    heard(watch, silent=self.silent),
                    clock.report()["worst"],
                    self.kernel.of(now, self.so_far.still) if now else None,
                    unread,
                ),
            )


def main(arguments: list[str], _places: Places) -> int:
    name, command, terminals = arguments
    cell = cells.Cell(name, int(terminals))
    os.umask(0o007)  # readable for the account's group
    rights.hold_only(rights.VERDICT_MONITOR)

    def end(*_: object) -> None:
        raise SystemExit(0)

    for signum in SIGNALS:
        signal.signal(signum, end)
    verdict_monitor = VerdictMonitor(cell, command)
    try:
        with watching(cell) as (watch, clock):
            print("judge: up", flush=True)
            due = time.monotonic()
            while True:
                verdict_monitor.turn(watch, clock)
                due = max(due + EVERY_S, time.monotonic())
                time.sleep(max(0.0, due - time.monotonic()))
    finally:
        print(f"judge: ends: {reason.words_of(cell.run)}", flush=True)
