# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder of a campaign's results, FOLDER/runs/KEY.json, and what can be said of each of them.

Nothing in it is deleted. What was read and found to be no result of its run is set aside: renamed
to FOLDER/set-aside/KEY.N.json. What cannot be read (a disk or a file system that stumbles, rights)
is left as it is, and its run is not made again while it is so."""

import dataclasses
import enum
import errno
import os
import pathlib
import stat
import time
from collections.abc import Callable
from typing import Any

from ..errors import BadInput
from ..runs import failure
from ..runs.pool import write_json
from ..text import OTHER_TREE, of_json
from .plan import digest


class State(enum.Enum):
    ABSENT = "absent"  # there is no such file
    UNREADABLE = "unreadable"  # there may be one; reading it failed, so nothing is known of it
    INVALID = "invalid"  # it was read, and is not a result of this run
    VALID = "valid"  # it is one, whatever it says of the run


@dataclasses.dataclass(frozen=True)
class Stored:
    """The state of a run's file, with its content if that is valid, or else the reason."""

    state: State
    run: dict[str, Any] | None = None  # of one that is valid
    why: str = ""

    @property
    def counts(self) -> bool:
        """A run whose verdict is valid: its values are used."""
        return self.run is not None and bool(self.run["valid"])

    @property
    def failure(self) -> failure.Failure | None:
        """None, too, of a run that ended with a result."""
        return (
            failure.of_tree(self.run["failure"])
            if self.run is not None and "failure" in self.run
            else None
        )


ABSENT = Stored(State.ABSENT)
# A file system that stumbles may answer the next time; the others stay as they are.
PASSING = (
    errno.EIO,
    errno.ESTALE,
    errno.EAGAIN,
    errno.EINTR,
    errno.ETIMEDOUT,
    errno.ENOMEM,
    errno.EMFILE,
    errno.ENFILE,
    errno.EREMOTEIO,
)
WAITS_S = (0.05, 0.2, 0.5)  # before another look
PATIENCE_S = 10.0  # of a command for all such waits


def of_text(text: str, key: str) -> Stored:
    try:
        run = of_json(text)
        _ = (
            run["valid"],
            (run["result"] or {}).get("workload"),
            [(a["valid"], a["reasons"][:1]) for a in run["attempts"]],
        )
        if "failure" in run:
            failure.of_tree(run["failure"])
        if digest(run["spec"]) != key:
            return Stored(State.INVALID, why="it is the result of another run")
        return Stored(State.VALID, run)
    except OTHER_TREE:
        return Stored(State.INVALID, why="it is not what a run writes")


def read_file(path: pathlib.Path) -> str:
    """The text of a regular file. Raises OSError for anything else (opening a FIFO would wait
    without end), UnicodeDecodeError."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, encoding="utf-8") as f:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        return f.read()


class Store:
    """The folder of the results."""

    def __init__(self, out: pathlib.Path) -> None:
        self.out = out
        self.runs, self.logs, self.aside = out / "runs", out / "logs", out / "set-aside"
        self.patience = PATIENCE_S

    def prepare(self) -> None:
        try:
            for folder in (self.out, self.runs, self.logs):
                folder.mkdir(parents=True, exist_ok=True)
            probe = self.runs / f".probe.{os.getpid()}"
            probe.write_text("")
            probe.unlink()
        except OSError as e:
            raise BadInput(f"--out {self.out}: cannot be written ({e.strerror})") from None

    def path(self, key: str) -> pathlib.Path:
        return self.runs / f"{key}.json"

    def read(self, key: str) -> Stored:
        for wait in (*WAITS_S, None):
            try:
                return of_text(read_file(self.path(key)), key)
            except FileNotFoundError:
                return ABSENT
            except UnicodeDecodeError:
                return Stored(State.INVALID, why="it is not text")
            except OSError as e:
                if wait is None or e.errno not in PASSING or self.patience < wait:
                    return Stored(State.UNREADABLE, why=e.strerror or str(e))
                self.patience -= wait
                time.sleep(wait)
        raise AssertionError

    def set_aside(self, key: str) -> pathlib.Path:
        """Where it is now. OSError: it stays where it is."""
        self.aside.mkdir(exist_ok=True)
        for n in range(1, 1 << 20):
            target = self.aside / f"{key}.{n}.json"
            if not os.path.lexists(target):
                self.path(key).rename(target)
                return target
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(self.aside))

    def fail(self, key: str, spec: dict[str, Any], why: failure.Failure) -> bool:
        """False: there is a result by now, which stays."""
        return failure.write(self.path(key), failure.run_of(key, spec, [why]))

    @property
    def plan(self) -> dict[str, Any] | None:
        path = self.out / "plan.json"
        try:
            plan: dict[str, Any] = of_json(read_file(path))
            _ = [
                (
                    e["mode"],
                    e["fingerprint"],
                    e.get("programs", {}).items(),
                    e.get("inputs", {}).items(),
                )
                for e in plan["experiments"].values()
            ]
            return plan
        except FileNotFoundError:
            return None
        except (OSError, *OTHER_TREE) as e:
            raise BadInput(
                f"--out: {path}:"
                f" {getattr(e, 'strerror', None) or 'it is not what ./openwip experiment wrote'};"
                " use another --out"
            ) from None

    def write_plan(self, plan: dict[str, Any]) -> None:
        write_json(self.out / "plan.json", plan)


Read = Callable[[str], Stored]  # Store.read
