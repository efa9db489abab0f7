# SPDX-License-Identifier: GPL-3.0-or-later
"""Many runs, several at a time. Each attempt is a process of its own (a launcher forks, and wants to be the only thread)
with a cell of its own; an attempt that did not come off is repeated, ATTEMPTS in all.

Ctrl-C, SIGTERM: the processes of the runs get SIGTERM, which ends their cells. If this process is killed, the kernel sends
them the SIGTERM, and the keeper of each cell removes it."""
import contextlib
import json
import os
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from typing import Any

from ..errors import DIED, BadInput, CellDied, Stop, Terminated, raise_terminated
from ..machine import placement, system

ATTEMPTS = 3
END_S = 12          # for a run to take its cell down
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Job:
    """One attempt: task, name of its cell, where it runs."""

    def __init__(self, task: Any, name: str, place: Any, log: Any) -> None:
        self.task, self.name, self.place, self.log = task, name, place, log
        self.began = time.monotonic()
        self.outcome = tempfile.TemporaryFile("w+")
        self.pid: Any = None
        self.pidfd: Any = None

    def start(self, work: Any) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            system.die_with_parent(parent)
            self._run(work)
        self.pidfd = system.open_pidfd(self.pid)

    def _run(self, work: Any) -> None:
        """In the forked process. Never returns."""
        code = DIED
        try:
            os.setpgid(0, 0)      # Ctrl-C is the parent's to pass on
            for signum in SIGNALS:
                signal.signal(signum, raise_terminated)
            with open(self.log or os.devnull, "a", encoding="utf-8") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
                outcome = work(self.task, self.name, self.place)
            code = 0
        except Terminated:
            outcome = None
        except Stop as e:
            outcome, code = {"stopped": str(e), "code": e.code}, e.code
        except BaseException:
            traceback.print_exc()
            outcome = None
        finally:
            with contextlib.suppress(Exception):
                json.dump(outcome, self.outcome)
                self.outcome.flush()
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def collect(self) -> tuple[Any, Any]:
        """After its end: (what work() returned or None, why there is none)."""
        _, status = os.waitpid(self.pid, 0)
        os.close(self.pidfd)
        with self.outcome as f:
            f.seek(0)
            try:
                outcome = json.load(f)
            except ValueError:
                outcome = None
        if isinstance(outcome, dict) and "stopped" in outcome:
            raise (BadInput if outcome["code"] == BadInput.code else CellDied)(outcome["stopped"])
        return outcome, f"the run's process ended with {os.waitstatus_to_exitcode(status)}"


class Pool:
    """`work(task, name of the cell, Placement)` runs in the processes and returns what JSON can hold. `take(job, outcome, why,
    last)` here: False, and the task is run again later, unless it is the `last` attempt. `log(task)`: a file for what a run
    says. `cleanup(name)`: after an attempt that failed."""

    def __init__(self, jobs: int, prefix: str, work: Any, take: Any, log: Callable[..., Any] = lambda task: None,
                 cleanup: Callable[..., Any] = lambda name: None) -> None:
        self.places = {f"{prefix}{i}": placement.of_several(i) for i in range(jobs)}
        self.work, self.take, self.log, self.cleanup = work, take, log, cleanup
        self.active: dict[int, Job] = {}       # pidfd -> Job

    def run(self, tasks: Any) -> None:
        """Every task; raises Terminated after all has ended. Tasks are hashable or compared by identity."""
        waiting = [(task, 1) for task in tasks]
        attempts: dict[int, int] = {}          # pidfd -> how many with this one
        old = {s: signal.signal(s, raise_terminated) for s in SIGNALS}
        try:
            while waiting or self.active:
                free = [n for n in self.places if n not in {j.name for j in self.active.values()}]
                while waiting and free:
                    task, attempt = waiting.pop(0)
                    job = Job(task, free.pop(0), None, self.log(task))
                    job.place = self.places[job.name]
                    job.start(self.work)
                    self.active[job.pidfd], attempts[job.pidfd] = job, attempt
                ready, _, _ = select.select(list(self.active), [], [], 5)
                for pidfd in ready:
                    job, attempt = self.active.pop(pidfd), attempts.pop(pidfd)
                    outcome, why = job.collect()
                    if not self.take(job, outcome, why, attempt == ATTEMPTS):
                        self.cleanup(job.name)
                        if attempt < ATTEMPTS:
                            waiting.append((job.task, attempt + 1))
        except BaseException:
            self._end_all()
            raise
        finally:
            for signum, handler in old.items():
                signal.signal(signum, handler)

    def _end_all(self) -> None:
        def ended(pidfd: int) -> None:
            with contextlib.suppress(Stop):
                self.active[pidfd].collect()
            self.cleanup(self.active[pidfd].name)

        system.end_all(list(self.active), END_S, ended, killed_s=2)
        self.active.clear()
