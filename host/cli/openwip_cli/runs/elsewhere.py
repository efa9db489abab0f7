# SPDX-License-Identifier: GPL-3.0-or-later
"""Many runs on other machines by Snakemake (host/campaign/Snakefile, docs/how-to/campaigns.md). It
knows an empty file FOLDER/ended/KEY instead of a run's result: it removes what a job that failed
has made, and what is there before a job begins.

Ctrl-C, SIGTERM: Snakemake gets SIGINT and takes jobs out of a queue. If this process is killed, the
kernel sends a signal to Snakemake."""

import contextlib
import os
import pathlib
import select
import shlex
import signal
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import BadInput, CellDied, catch, how_ended
from ..machine import system
from ..machine.places import Places
from .pool import END_S, LIMIT_MIN, LOOK_S, Pool, end, write_json

SNAKEMAKE = "campaigns/bin/snakemake"  # file of the build


def check(places: Places) -> None:
    if not (places.build / SNAKEMAKE).exists():
        raise BadInput(
            f"Snakemake, which starts runs on other machines, is not installed in {places.build}:"
            " run ./openwip setup --campaigns (needs the Internet)"
        )


class Elsewhere(Pool):
    """`profile`: folder of Snakemake's options."""

    def __init__(
        self,
        places: Places,
        folder: pathlib.Path,
        slots: int,
        profile: pathlib.Path,
        command: Sequence[str] | None = None,
        limit_min: int = LIMIT_MIN,
    ) -> None:
        super().__init__(places, folder, slots, command, limit_min)
        self.profile = profile

    @property
    def command_line(self) -> list[str]:
        here = self.places.top / "host" / "campaign"
        return [
            str((self.places.build / SNAKEMAKE).with_name("python3")),
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
            "--profile",
            str(self.profile),
            "--local-cores",
            str(self.slots),
            "--config",
            "local=False",
            f"minutes={self.limit_min}",
            f"command={shlex.join(self.supervise)}",
        ]

    def start_all(
        self, specs: dict[str, Any], left: dict[str, None], take: Callable[[str], object]
    ) -> pathlib.Path:
        for key in specs:
            (self.folder / "ended" / key).unlink(missing_ok=True)
        write_json(self.folder / "round.json", list(specs), sync=False)
        (self.folder / "stopped").unlink(missing_ok=True)
        words, parent = self.folder / "logs" / "snakemake.log", os.getpid()
        old = catch()
        try:
            with open(words, "a") as log:
                snakemake = subprocess.Popen(
                    self.command_line,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    env=self.environment | {"XDG_CACHE_HOME": str(self.folder / ".snakemake")},
                    # elsewhere only Snakemake can end a job
                    preexec_fn=lambda: system.die_with_parent(parent, signal.SIGINT),
                )
            pidfd = system.open_pidfd(snakemake.pid)
            try:
                ended = False
                while left and not ended:
                    ended = bool(select.select([pidfd], [], [], LOOK_S)[0])
                    self.look(left, take)
                # Snakemake may not know of it yet; only the files count.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    snakemake.wait(END_S)
            finally:
                for signum in old:
                    signal.signal(signum, signal.SIG_IGN)
                (self.folder / "stopped").touch()
                end([snakemake])
                os.close(pidfd)
        finally:
            for s, handler in old.items():
                signal.signal(s, handler)
        if snakemake.returncode < 0 and left:  # killed: its exit code says nothing about the runs
            raise CellDied(
                f"Snakemake {how_ended(snakemake.returncode)}; finished runs are kept, and the"
                " same command goes on with the others"
            )
        return words
