# SPDX-License-Identifier: GPL-3.0-or-later
"""Many runs, several at a time (docs/how-to/campaigns.md): a run is a process of its own, from one
file, FOLDER/specs/KEY.json, to another, FOLDER/runs/KEY.json, written under another name and
renamed, so whole or absent. Another process supervises it (supervise.py) and writes that file where
the run has left none.

Here this process starts the supervisors itself; on other machines Snakemake does (elsewhere.py).

Ctrl-C, SIGTERM: the runs get SIGINT, which ends their cells. If this process is killed, the kernel
tells the runs, whose supervisors remove their cells."""

import collections
import contextlib
import dataclasses
import os
import pathlib
import select
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import BadInput, CellDied, Terminated, catch
from ..machine import durable, scratch, system
from ..machine.places import COMPILED, Places
from ..text import of_json
from . import failure

END_S = 20  # seconds in which runs take their cells down
LOOK_S = 0.5  # seconds between two searches for new files
LIMIT_MIN = 60  # minutes that one run may take
MADE = ".made"  # ending of what a run has written, until its supervisor hands it over
STARTS = 3  # how often a supervisor that ends without a word is started


def write_json(path: pathlib.Path, value: object, sync: bool = True) -> None:
    durable.write(path, durable.compact(value), sync)


def with_parent(pid: int) -> None:
    """Has the process of a run end with the process that started it."""
    system.die_with_parent(pid)
    catch()


def hand_over(made: pathlib.Path, out: pathlib.Path) -> bool:
    """Gives a finished result its name. False: the run has left no result."""
    try:
        made.rename(out)
    except FileNotFoundError:
        return False
    return True


@dataclasses.dataclass
class Worker:
    """A supervisor with its run."""

    key: str
    process: "subprocess.Popen[bytes]"
    pidfd: int


class Pool:
    """Carries out runs. `slots`: number of runs at a time on this machine. `command`: makes OUT from
    SPEC, given both. `limit_min`: minutes after which a run is ended."""

    def __init__(
        self,
        places: Places,
        folder: pathlib.Path,
        slots: int,
        command: Sequence[str] | None = None,
        limit_min: int = LIMIT_MIN,
    ) -> None:
        self.places, self.folder = places, folder.absolute()
        self.slots, self.limit_min = slots, limit_min
        self.pycache = places.build / "campaigns" / "pycache"
        # Elsewhere the tree may be elsewhere.
        openwip = [places.python, "-m", "openwip_cli"]
        self.supervise = [
            *openwip,
            "supervise",
            str(self.folder),
            "--run",
            shlex.join(command or [*openwip, "experiment-run"]),
            "--limit-s",
            str(60 * limit_min),
        ]
        self.modules = str(places.top / "host" / "cli")
        for name in ("specs", "runs", "logs"):
            (self.folder / name).mkdir(exist_ok=True)

    @contextlib.contextmanager
    def owned(self) -> Iterator[None]:
        """The folder is this process's, however it ends."""
        try:
            with scratch.locked(self.folder):
                yield
        except BlockingIOError:
            raise BadInput(
                f"{self.folder}: another ./openwip experiment or campaign is using this folder;"
                " valid: another --out, or after the other one has ended"
            ) from None

    def prepare(self, specs: dict[str, Any]) -> None:
        """Writes the specification of each run. One that exists is kept, unless it is not JSON."""
        for key, spec in specs.items():
            path = self.folder / "specs" / f"{key}.json"
            try:
                of_json(path.read_text())
            except (FileNotFoundError, ValueError):
                write_json(path, spec, sync=False)
            # Former logs are removed, so that those which are there after the round are of the
            # round.
            self.log(key).unlink(missing_ok=True)

    def log(self, key: str) -> pathlib.Path:
        return self.folder / "logs" / f"{key}.log"

    @property
    def environment(self) -> dict[str, str]:
        """A run is a process of its own, so what Python compiles is kept."""
        kept = {
            k: v
            for k, v in os.environ.items()
            if k not in ("SNAKEMAKE_PROFILE", "PYTHONDONTWRITEBYTECODE")
        }
        return kept | {
            "PYTHONPYCACHEPREFIX": str(self.pycache),
            COMPILED: str(self.pycache),
            "PYTHONPATH": ":".join(filter(None, (os.environ.get("PYTHONPATH"), self.modules))),
        }

    def run(self, specs: dict[str, Any], take: Callable[[str], object]) -> None:
        """Carries out the runs {key: specification}. Calls take(key) when the file of a run is
        there, again until it does not return False. A run that was not begun, or whose file cannot
        be read now, is not taken. Raises Terminated after everything has ended."""
        self.prepare(specs)
        left = dict.fromkeys(specs)
        words = self.start_all(specs, left, take)
        if left:
            self.lose(specs, left)
            self.look(left, take)
        if len(left) == len(specs) and not self.there(left):
            raise CellDied(f"no run could be started: {failure.last_line(words)} (see {words})")

    def start_all(
        self, specs: dict[str, Any], left: dict[str, None], take: Callable[[str], object]
    ) -> pathlib.Path:
        """Takes the runs of `left` out of it that have a result. Returns the file with the last
        words of whatever started them: here of the supervisors."""
        words = self.folder / "logs" / "supervisors.log"
        waiting, starts = collections.deque(left), collections.Counter[str]()
        workers: list[Worker] = []
        old = catch()
        try:
            with open(words, "ab") as log:
                while waiting or workers:
                    while waiting and len(workers) < self.slots:
                        key = waiting.popleft()
                        starts[key] += 1
                        workers.append(self._start(key, log))
                    ended = select.select([w.pidfd for w in workers], [], [], LOOK_S)[0]
                    for worker in [w for w in workers if w.pidfd in ended]:
                        workers.remove(worker)
                        os.close(worker.pidfd)
                        worker.process.wait()
                        lost = not self.there({worker.key: None}) and worker.key in left
                        if lost and starts[worker.key] < STARTS:
                            waiting.append(worker.key)
                    self.look(left, take)
        except Terminated:
            for signum in old:
                signal.signal(signum, signal.SIG_IGN)
            raise
        finally:
            end([w.process for w in workers])
            for worker in workers:
                os.close(worker.pidfd)
            for s, handler in old.items():
                signal.signal(s, handler)
        return words

    def _start(self, key: str, log: Any) -> Worker:
        process = subprocess.Popen(
            [*self.supervise, "--key", key, "--with-parent", str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=self.folder,
            start_new_session=True,  # a Ctrl-C is handled by this process alone
            env=self.environment,
            preexec_fn=system.follower(),
        )
        return Worker(key, process, system.open_pidfd(process.pid))

    def there(self, left: dict[str, None]) -> list[str]:
        """The keys of `left` whose run has a file; [] if the folder cannot be read now."""
        with contextlib.suppress(OSError):
            names = set(os.listdir(self.folder / "runs"))
            return [key for key in left if f"{key}.json" in names]
        return []

    def look(self, left: dict[str, None], take: Callable[[str], object]) -> None:
        for key in self.there(left):
            if take(key) is not False:
                del left[key]

    def lose(self, specs: dict[str, Any], left: dict[str, None]) -> None:
        """Writes the result of the runs that were begun and have no file now that all is over, not
        even their supervisor's: their workers were lost."""
        results = self.there(left)
        for key in left:
            if key not in results and self.log(key).exists():
                lost = failure.Failure(failure.Cause.LOST, said=failure.last_line(self.log(key)))
                # the file may be missing because the file system returns errors
                with contextlib.suppress(OSError):
                    out = self.folder / "runs" / f"{key}.json"
                    if not hand_over(out.with_suffix(MADE), out):
                        failure.write(out, failure.run_of(key, specs[key], [lost]))


def end(processes: "Sequence[subprocess.Popen[bytes]]") -> None:
    """Ends the processes, each with its runs. Does nothing if they have ended."""
    for signum in (signal.SIGINT, signal.SIGKILL):
        left = [p for p in processes if p.poll() is None]
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signum)
        for process in left:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_S)
