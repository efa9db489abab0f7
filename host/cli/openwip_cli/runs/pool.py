# SPDX-License-Identifier: GPL-3.0-or-later
"""Many runs, several at a time, by Snakemake (host/campaign/Snakefile, docs/how-to/campaigns.md): a
run is a process of its own, from one file, FOLDER/specs/KEY.json, to another, FOLDER/runs/KEY.json,
written under another name and renamed, so whole or absent. Another process supervises it
(supervise.py) and writes that file where the run has left none. Snakemake knows an empty file
FOLDER/ended/KEY instead: it removes what a job that failed has made, and what is there before a job
begins.

Ctrl-C, SIGTERM: Snakemake and its runs get SIGINT, which ends their cells and takes jobs out of a
queue. If this process is killed, the kernel kills Snakemake, and tells the runs, whose supervisors
remove their cells."""

import contextlib
import os
import pathlib
import select
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import BadInput, CellDied, catch, how_ended
from ..machine import durable, scratch, system
from ..machine.places import COMPILED, Places
from ..text import of_json
from . import failure

SNAKEMAKE = "campaigns/bin/snakemake"  # of the build
END_S = 20  # for runs to take their cells down
LOOK_S = 0.5  # between two looks for new files
LIMIT_MIN = 60  # of one run


def write_json(path: pathlib.Path, value: object, sync: bool = True) -> None:
    durable.write(path, durable.compact(value), sync)


def check(places: Places) -> None:
    if not (places.build / SNAKEMAKE).exists():
        raise BadInput(
            f"there is no Snakemake in {places.build}: run ./openwip setup --campaigns (network"
            " needed)"
        )


class Pool:
    """`slots`: how many at a time here. `profile`: folder of Snakemake's options for somewhere
    else. `command`: makes OUT from SPEC, given both. `limit_min`: after which a run is ended."""

    def __init__(
        self,
        places: Places,
        folder: pathlib.Path,
        slots: int,
        profile: pathlib.Path | None = None,
        command: Sequence[str] | None = None,
        limit_min: int = LIMIT_MIN,
    ) -> None:
        self.folder, self.profile, self.pycache = (
            folder.absolute(),
            profile,
            places.build / "campaigns" / "pycache",
        )
        # Elsewhere the tree may be elsewhere.
        openwip = [places.python, "-m", "openwip_cli"]
        supervise = [
            *openwip,
            "supervise",
            str(self.folder),
            "--run",
            shlex.join(command or [*openwip, "experiment-run"]),
            "--limit-s",
            str(60 * limit_min),
        ]
        where = (
            ["--profile", str(profile), "--local-cores", str(slots)]
            if profile
            else ["--cores", str(slots)]
        )
        here = places.top / "host" / "campaign"
        self.modules = str(places.top / "host" / "cli")
        self.argv = [
            str((places.build / SNAKEMAKE).with_name("python3")),
            str(here / "snakemake_here.py"),
            "--snakefile",
            str(here / "Snakefile"),
            "--directory",
            str(self.folder),
            "--scheduler",
            "greedy",
            "--quiet",
            "host",
            "progress",
            "reason",
            "--nolock",
            "--ignore-incomplete",
            "--drop-metadata",
            "--keep-going",
            "--rerun-triggers",
            "mtime",
            *where,
            "--config",
            f"local={profile is None}",
            f"minutes={limit_min}",
            f"command={shlex.join(supervise)}",
        ]
        for name in ("specs", "runs", "logs"):
            (self.folder / name).mkdir(exist_ok=True)

    @contextlib.contextmanager
    def owned(self) -> Iterator[None]:
        """The folder is this process's, however it ends."""
        try:
            with scratch.locked(self.folder):
                yield
        except BlockingIOError:
            raise BadInput(f"{self.folder}: another campaign is at work there") from None

    def prepare(self, specs: dict[str, Any]) -> None:
        """A specification that is there stays, unless it is none: it is made of the experiment's
        file."""
        for key, spec in specs.items():
            path = self.folder / "specs" / f"{key}.json"
            try:
                of_json(path.read_text())
            except (FileNotFoundError, ValueError):
                write_json(path, spec, sync=False)
            # So that those which are there after the round are of the round.
            for old in (self.folder / "ended" / key, self.log(key)):
                old.unlink(missing_ok=True)
        write_json(self.folder / "round.json", list(specs), sync=False)
        (self.folder / "stopped").unlink(missing_ok=True)

    def log(self, key: str) -> pathlib.Path:
        return self.folder / "logs" / f"{key}.log"

    def run(self, specs: dict[str, Any], take: Callable[[str], object]) -> None:
        """All of {key: specification}; take(key) when its file is there, again until it does not
        return False. A run that was not begun, or whose file cannot be read now, is not taken.
        Raises Terminated after everything has ended."""
        self.prepare(specs)
        left, parent = dict.fromkeys(specs), os.getpid()
        # A run is a process of its own, so what Python compiles is kept.
        environment = {
            k: v
            for k, v in os.environ.items()
            if k not in ("SNAKEMAKE_PROFILE", "PYTHONDONTWRITEBYTECODE")
        }
        environment |= {
            "PYTHONPYCACHEPREFIX": str(self.pycache),
            COMPILED: str(self.pycache),
            "XDG_CACHE_HOME": str(self.folder / ".snakemake"),
            "PYTHONPATH": ":".join(filter(None, (os.environ.get("PYTHONPATH"), self.modules))),
        }
        old = catch()
        try:
            with open(self.folder / "logs" / "snakemake.log", "a") as log:
                snakemake = subprocess.Popen(
                    self.argv,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    env=environment,
                    # Elsewhere only Snakemake can end a job.
                    preexec_fn=lambda: system.die_with_parent(
                        parent, signal.SIGINT if self.profile else signal.SIGKILL
                    ),
                )
            pidfd = system.open_pidfd(snakemake.pid)
            try:
                ended = False
                while left and not ended:
                    ended = bool(select.select([pidfd], [], [], LOOK_S)[0])
                    self.look(left, take)
                # it may not yet know; the files are what counts
                with contextlib.suppress(subprocess.TimeoutExpired):
                    snakemake.wait(END_S)
            finally:
                for signum in old:
                    signal.signal(signum, signal.SIG_IGN)
                (self.folder / "stopped").touch()
                end(snakemake)
                os.close(pidfd)
        finally:
            for s, handler in old.items():
                signal.signal(s, handler)
        if snakemake.returncode < 0 and left:  # it says nothing of the runs
            raise CellDied(
                f"Snakemake {how_ended(snakemake.returncode)}; what was finished stays, the same"
                " command goes on"
            )
        if left:
            self.lose(specs, left)
            self.look(left, take)
        if len(left) == len(specs) and not self.there(left):
            last_line = failure.last_line(self.folder / "logs" / "snakemake.log")
            raise CellDied(
                f"no run was begun: {last_line} ({self.folder / 'logs' / 'snakemake.log'})"
            )

    def there(self, left: dict[str, None]) -> list[str]:
        """Those of them that have a file. None where the folder cannot be read now."""
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
        there = self.there(left)
        for key in left:
            if key not in there and self.log(key).exists():
                lost = failure.Failure(failure.Cause.LOST, said=failure.last_line(self.log(key)))
                failure.write(
                    self.folder / "runs" / f"{key}.json", failure.run_of(key, specs[key], [lost])
                )


def end(snakemake: subprocess.Popen[bytes]) -> None:
    """With all its runs. Nothing: they have ended."""
    for signum in (signal.SIGINT, signal.SIGKILL):
        if snakemake.poll() is None:
            os.killpg(snakemake.pid, signum)
            with contextlib.suppress(subprocess.TimeoutExpired):
                snakemake.wait(END_S)


def with_parent(pid: int) -> None:
    """In a run: it ends with the process that started it."""
    system.die_with_parent(pid)
    catch()
