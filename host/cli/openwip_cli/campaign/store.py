# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of a campaign, FOLDER/results.sqlite, and the state of each of them.

A run leaves its result as FOLDER/runs/KEY.json, here or on another machine. The campaign's command,
which alone writes the database, adds each such file as a row, reads the row back, and only then
removes the file. Folders made before there was a database have nothing but such files, and are
converted in the same way.

Rows are added and never changed or deleted (archive.py). If a run has several rows, one whose
verdict is valid counts, else the newest. An arrived file that is no result of its run is set aside:
renamed to FOLDER/set-aside/KEY.N.json. A file that cannot be read (a fault of the disk or the file
system, missing rights) is left as it is, and its run is not repeated as long as that lasts."""

import dataclasses
import enum
import errno
import os
import pathlib
import sqlite3
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..errors import BadInput
from ..runs import failure
from ..runs.pool import write_json
from ..text import OTHER_TREE, of_json
from .archive import Archive, Row, why_of
from .plan import digest


class State(enum.Enum):
    ABSENT = "absent"  # there is no result of this run
    UNREADABLE = "unreadable"  # reading failed, so it is not known whether there is a result
    INVALID = "invalid"  # the file was read and is not a result of this run
    VALID = "valid"  # the file is a result of this run, whatever its verdict


@dataclasses.dataclass(frozen=True)
class Stored:
    """The state of a run's result, with its content if that is valid, or else the reason."""

    state: State
    run: dict[str, Any] | None = None  # content, if the state is VALID
    why: str = ""
    arrived: bool = False  # it is a file that has not been added to the database yet
    # the file that cannot be read, where it is not the run's own but the database
    shared: pathlib.Path | None = None

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
WAITS_S = (0.05, 0.2, 0.5)  # seconds before each repetition of a failed read
PATIENCE_S = 10.0  # seconds that one command spends on all such waits
AT_ONCE = 500  # files that are added in one transaction


def of_text(text: str, key: str, arrived: bool = False) -> Stored:
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
            return Stored(State.INVALID, why="it is the result of another run", arrived=arrived)
        return Stored(State.VALID, run, arrived=arrived)
    except OTHER_TREE:
        return Stored(State.INVALID, why="it is not what a run writes", arrived=arrived)


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
        self.archive = Archive(out / "results.sqlite")
        self.patience = PATIENCE_S

    def prepare(self) -> None:
        try:
            for folder in (self.out, self.runs, self.logs):
                folder.mkdir(parents=True, exist_ok=True)
            probe = self.runs / f".probe.{os.getpid()}"
            probe.write_text("")
            probe.unlink()
        except OSError as e:
            raise BadInput(
                f"--out {self.out}: cannot be written: {e.strerror}; valid: a folder that is"
                " writable"
            ) from None

    def path(self, key: str) -> pathlib.Path:
        """The file in which a run's result arrives."""
        return self.runs / f"{key}.json"

    def read(self, key: str) -> Stored:
        kept = self._row(key)
        if kept.counts:
            return kept
        came = self._file(key)
        return kept if came.state == State.ABSENT else came

    def every(self) -> dict[str, dict[str, Any]]:
        """{key: run} of all that are in the database, the one that counts of each."""
        found = {key: self._row(key).run for key in self.archive.keys()}
        return {key: run for key, run in found.items() if run is not None}

    def _row(self, key: str) -> Stored:
        for wait in (*WAITS_S, None):
            try:
                row = self.archive.read(key)
                if row is None:
                    return ABSENT
                return (
                    of_text(row, key)
                    if isinstance(row, str)
                    else Stored(State.INVALID, why="its bytes in the store changed")
                )
            except sqlite3.Error as e:
                if wait is None or self.patience < wait:
                    return Stored(State.UNREADABLE, why=why_of(e), shared=self.archive.path)
                self._wait(wait)
        raise AssertionError

    def _file(self, key: str) -> Stored:
        for wait in (*WAITS_S, None):
            try:
                return of_text(read_file(self.path(key)), key, arrived=True)
            except FileNotFoundError:
                return ABSENT
            except UnicodeDecodeError:
                return Stored(State.INVALID, why="it is not text", arrived=True)
            except OSError as e:
                if wait is None or e.errno not in PASSING or self.patience < wait:
                    return Stored(State.UNREADABLE, why=e.strerror or str(e), arrived=True)
                self._wait(wait)
        raise AssertionError

    def _wait(self, seconds: float) -> None:
        self.patience -= seconds
        time.sleep(seconds)

    def place(self, key: str, stored: Stored) -> pathlib.Path | str:
        """The file that holds it, for people."""
        return self.path(key) if stored.arrived else f"{self.archive.path}, run {key},"

    def arrivals(self) -> list[str]:
        """Keys of the files that are not in the database yet."""
        return sorted(
            name.removesuffix(".json")
            for name in os.listdir(self.runs)
            if name.endswith(".json") and not name.startswith(".")
        )

    def take_in(self, keys: Iterable[str]) -> int:
        """Adds their files to the database, each that is a result of its run, and removes the files
        of the rows that read back the same. Returns how many. A file that cannot be read or added
        stays where it is, and counts there."""
        taken = 0
        for some in _in_parts(keys, AT_ONCE):
            texts: dict[str, str] = {}
            for key in some:
                try:
                    text = read_file(self.path(key))
                except (OSError, UnicodeDecodeError):
                    continue
                if of_text(text, key).state == State.VALID:
                    texts[key] = text
            try:
                kept = self.archive.add([_row_of(key, text) for key, text in texts.items()])
            except sqlite3.Error:
                continue
            for key in kept:
                try:
                    self.path(key).unlink()
                    taken += 1
                except OSError:  # the file cannot be removed, so the same result is there twice
                    continue
        return taken

    def set_aside(self, key: str) -> pathlib.Path:
        """Moves the file of this run aside, and returns its new path. OSError: it stays where it
        is."""
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


def _row_of(key: str, text: str) -> Row:
    stored = of_text(text, key)
    return Row(key, stored.counts, stored.failure.cause.value if stored.failure else None, text)


def _in_parts(keys: Iterable[str], size: int) -> Iterator[list[str]]:
    every = list(keys)
    for begin in range(0, len(every), size):
        yield every[begin : begin + size]


Read = Callable[[str], Stored]  # Store.read
