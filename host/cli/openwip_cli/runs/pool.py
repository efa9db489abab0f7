# SPDX-License-Identifier: GPL-3.0-or-later
"""Many runs, several at a time, by Snakemake (host/campaign/Snakefile, docs/campaigns.md): a run is a process of its own, from one
file, FOLDER/specs/KEY.json, to another, FOLDER/runs/KEY.json, written under another name and renamed, so whole or absent.

Ctrl-C, SIGTERM: Snakemake and its runs get SIGINT, which ends their cells and takes jobs out of a queue. If this process is
killed, the kernel kills Snakemake, and tells the runs, whose keepers remove their cells."""
import contextlib
import json
import os
import pathlib
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import BadInput, CellDied, catch
from ..machine import outputs, scratch, system
from ..machine.places import COMPILED, Places

SNAKEMAKE = "campaigns/bin/snakemake"       # of the build
END_S = 20          # for runs to take their cells down
LOOK_S = 0.5        # between two looks for new files


def write_json(path: pathlib.Path, value: object) -> None:
    outputs.write_whole(path, json.dumps(value, separators=(",", ":")) + "\n")


def check(places: Places) -> None:
    if not (places.build / SNAKEMAKE).exists():
        raise BadInput(f"there is no Snakemake in {places.build}: run ./openwip setup --campaigns (network needed)")


class Pool:
    """`slots`: how many at a time here. `profile`: folder of Snakemake's options for somewhere else. `command`: makes OUT from
    SPEC, given both."""

    def __init__(self, places: Places, folder: pathlib.Path, slots: int, profile: pathlib.Path | None = None,
                 command: Sequence[str] | None = None) -> None:
        self.folder, self.profile, self.pycache = folder.absolute(), profile, places.build / "campaigns" / "pycache"
        command = command or [places.python, "-m", "openwip_cli", "experiment-run"]     # elsewhere the tree may be elsewhere
        where = ["--profile", str(profile), "--local-cores", str(slots)] if profile else ["--cores", str(slots)]
        here = places.top / "host" / "campaign"
        self.argv = [str((places.build / SNAKEMAKE).with_name("python3")), str(here / "snakemake_here.py"), "--snakefile", str(here / "Snakefile"),
                     "--directory", str(self.folder), "--scheduler", "greedy", "--quiet", "host", "progress", "reason", "--nolock", "--ignore-incomplete",
                     "--drop-metadata", "--rerun-triggers", "mtime", *where,
                     "--config", f"local={profile is None}", f"command={shlex.join(command)}"]
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

    def run(self, specs: dict[str, Any], take: Callable[[str], None]) -> None:
        """All of {key: specification}; take(key) when its file is there. Raises Terminated after everything has ended."""
        for key, spec in specs.items():
            if not (path := self.folder / "specs" / f"{key}.json").exists():
                write_json(path, spec)
        write_json(self.folder / "round.json", list(specs))
        (stopped := self.folder / "stopped").unlink(missing_ok=True)
        left, parent, began = set(specs), os.getpid(), time.time()
        # A run is a process of its own, so what Python compiles is kept.
        environment = {k: v for k, v in os.environ.items() if k not in ("SNAKEMAKE_PROFILE", "PYTHONDONTWRITEBYTECODE")}
        environment["PYTHONPYCACHEPREFIX"] = environment[COMPILED] = str(self.pycache)
        old = catch()
        try:
            with open(self.folder / "logs" / "snakemake.log", "a") as log:
                snakemake = subprocess.Popen(
                    self.argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                    env=environment | {"XDG_CACHE_HOME": str(self.folder / ".snakemake")},
                    # Elsewhere only Snakemake can end a job.
                    preexec_fn=lambda: system.die_with_parent(parent, signal.SIGINT if self.profile else signal.SIGKILL))
            pidfd = system.open_pidfd(snakemake.pid)
            try:
                ended = False
                while left and not ended:
                    ended = bool(select.select([pidfd], [], [], LOOK_S)[0])
                    for key in [k for k in specs if k in left and (self.folder / "runs" / f"{k}.json").exists()]:
                        left.remove(key)
                        take(key)
                with contextlib.suppress(subprocess.TimeoutExpired):    # it may not yet know; the files are what counts
                    snakemake.wait(END_S)
            finally:
                for signum in old:
                    signal.signal(signum, signal.SIG_IGN)
                stopped.touch()
                end(snakemake)
                os.close(pidfd)
        finally:
            for s, handler in old.items():
                signal.signal(s, handler)
        if left:
            logs = [self.folder / "logs" / f"{key}.log" for key in sorted(left)]
            self.blame([path for path in logs if path.exists() and path.stat().st_mtime >= began])

    def blame(self, logs: list[pathlib.Path]) -> None:
        """Of runs that left no file: what one of them refused, or said last; else Snakemake."""
        said = {log: lines[-1] for log in [*logs, self.folder / "logs" / "snakemake.log"]
                if (lines := log.read_text(errors="replace").strip().splitlines())}
        for log, words in said.items():
            if words.startswith("openwip: "):
                raise BadInput(f"run {log.stem}: {words.removeprefix('openwip: ')}")
        log, words = next(iter(said.items()), (self.folder / "logs", "they left no result"))
        raise CellDied(f"run {log.stem}: {words} ({log})")


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
