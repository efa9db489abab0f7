# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that ended without a result: why, as data, and the file that says so in the place of the
result (docs/how-to/campaigns.md).

A failed run is a result with a reason. Its file has `valid: false`, no `result`, and `failure` with
the fields of Failure. Causes of the machine say nothing about the run itself: such a run is tried
again by the next campaign in the folder without --retry-failed."""

import dataclasses
import enum
import pathlib
import signal
import time
from collections.abc import Sequence
from typing import Any

from ..errors import BAD_INPUT, EXHAUSTED, BadInput, CellDied, Stop, how_ended
from ..machine import durable

# Signals that a program gets for a fault of its own. Every other one came from somebody else.
OWN_FAULTS = (
    signal.SIGSEGV,
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGSYS,
    signal.SIGTRAP,
)
LAST_LINE = 2000  # characters of the last line that are kept


class Cause(str, enum.Enum):
    # exit code 2: an option, a file or the machine is not as required
    REFUSED = "refused"
    FAILED = "failed"  # another exit code than 0
    NO_RESULT = "no_result"  # exit code 0, and no file or one of another run
    CRASHED = "crashed"  # ended by a signal for a fault of its own
    TIMED_OUT = "timed_out"
    KILLED = "killed"  # ended by a signal from outside
    OUT_OF_MEMORY = "out_of_memory"  # ended by the kernel, which needed the memory
    # the machine ran out of a resource: disk, processes, files
    EXHAUSTED = "exhausted"
    LOST = "lost"  # the worker ended without a result

    @property
    def is_of_the_machine(self) -> bool:
        return self in (Cause.KILLED, Cause.OUT_OF_MEMORY, Cause.EXHAUSTED, Cause.LOST)


@dataclasses.dataclass(frozen=True)
class Failure:
    cause: Cause
    exit_code: int | None = None
    signal: str | None = None
    said: str = ""  # last line of standard error
    seconds: float = 0.0

    def text(self) -> str:
        """One line, for people. Programs look at `cause`."""
        end = (
            f"killed by {self.signal}"
            if self.signal
            else f"exit code {self.exit_code}"
            if self.exit_code is not None
            else "no exit code"
        )
        words = {
            Cause.REFUSED: "it was refused",
            Cause.FAILED: f"it failed ({end})",
            Cause.NO_RESULT: "it left no result of this run",
            Cause.CRASHED: f"it crashed ({end})",
            Cause.TIMED_OUT: f"it timed out after {self.seconds:.0f} s",
            Cause.KILLED: f"it was {end}",
            Cause.OUT_OF_MEMORY: "the kernel ended it for want of memory",
            Cause.EXHAUSTED: "the machine had no more of what it needed",
            Cause.LOST: "its worker ended without a word",
        }[self.cause]
        return words + (f": {self.said.removeprefix('openwip: ')}" if self.said else "")

    def tree(self) -> dict[str, Any]:
        return dataclasses.asdict(self) | {"cause": self.cause.value}


def of_tree(tree: dict[str, Any]) -> Failure:
    """A failure from its JSON. Raises ValueError, LookupError or TypeError if the tree is no
    failure."""
    fields: dict[str, Any] = tree | {"cause": Cause(tree["cause"])}
    return Failure(**fields)


def of_exit(
    code: int, said: str, seconds: float, timed_out: bool = False, memory: bool = False
) -> Failure:
    """The failure of a process that ended with `code`, as subprocess gives it: negative for a
    signal; a shell, or a program that cleans up before, ends with 128 + signal. `memory`: meanwhile
    the kernel killed processes because memory ran out."""
    number = -code if code < 0 else code - 128
    by = signal.Signals(number) if number in set(signal.Signals) else None
    if timed_out:
        cause = Cause.TIMED_OUT
    elif by:
        cause = (
            Cause.CRASHED
            if by in OWN_FAULTS
            else Cause.OUT_OF_MEMORY
            if by == signal.SIGKILL and memory
            else Cause.KILLED
        )
    else:
        cause = {0: Cause.NO_RESULT, BAD_INPUT: Cause.REFUSED, EXHAUSTED: Cause.EXHAUSTED}.get(
            code, Cause.FAILED
        )
    return Failure(cause, None if by else code, by.name if by else None, said, round(seconds, 2))


def last_line(log: pathlib.Path) -> str:
    """The last line of a log, whose bytes may be anything. Empty: there is none."""
    try:
        with open(log, "rb") as f:
            f.seek(max(0, f.seek(0, 2) - 2 * LAST_LINE))
            lines = f.read().decode(errors="backslashreplace").strip().splitlines()
        return lines[-1][:LAST_LINE] if lines else ""
    except OSError:
        return ""


def run_of(key: str, spec: Any, tries: Sequence[Failure]) -> dict[str, Any]:
    """Content of the file of a run that failed, after the last one of `tries`."""
    return {
        "key": key,
        "spec": spec,
        "valid": False,
        "result": None,
        "failure": tries[-1].tree(),
        "attempts": [{"valid": False, "reasons": [f.text()], "seconds": f.seconds} for f in tries],
        "ended": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def write(path: pathlib.Path, run: dict[str, Any]) -> bool:
    """False: there is a result by now, which stays."""
    return durable.write_new(path, durable.compact(run))


def stop_of(run: dict[str, Any], what: str) -> Stop:
    """The exception for a command that cannot go on without this run's result."""
    if "failure" not in run:
        return CellDied(f"{what} failed: {run['attempts'][-1]['reasons'][0]}")
    failure = of_tree(run["failure"])
    if failure.cause == Cause.REFUSED:
        return BadInput(failure.said.removeprefix("openwip: ") or f"{what} {how_ended(BAD_INPUT)}")
    return CellDied(f"{what} failed: {failure.text()}")
