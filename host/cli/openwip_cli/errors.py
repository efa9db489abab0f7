# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong, each with the exit code of the command that it ends (docs/demo.md). __main__ says it, in one line."""
import signal
from collections.abc import Sequence
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)     # end a command in order

VALID, INVALID, BAD_INPUT, DIED, NOT_WRITTEN, INTERRUPTED = 0, 1, 2, 3, 4, 130


class Stop(Exception):
    """Ends a command: str() is the line on standard error."""
    code = INVALID


class BadInput(Stop):
    """An option, a file or the machine is not as required: one line that says what would be."""
    code = BAD_INPUT


def signal_name(number: int) -> str:
    """SIGSEGV; those for real time have no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def how_ended(code: int) -> str:
    """A process, of which subprocess and os.waitstatus_to_exitcode() say the code."""
    return f"was killed by {signal_name(-code)}" if code < 0 else f"ended with exit code {code}"


def of_program(name: str, code: int, said: str, more: str = "") -> Stop:
    """What a program that we ran refused, or could not do: its last line, without its name, and `more`."""
    why = (said.strip().splitlines() or [f"{name} {how_ended(code)}"])[-1].removeprefix(f"{name}: ").rstrip() + more
    return BadInput(why) if code == BAD_INPUT else Stop(why)


class CellDied(Stop):
    """A process of the cell ended although nobody asked it to, or does not answer."""
    code = DIED

    def __init__(self, why: str, last_words: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(why)
        self.last_words = list(last_words)  # (process, last line of its log)


class NoAnswer(Stop):
    """A process or a device does not answer, or answers nonsense."""
    code = DIED


class Refused(NoAnswer):
    """It has answered, and does not do it: str() is why."""
    code = INVALID


class RecordFailed(Stop):
    """A run record, or the reports of a replay, could not be written: the disk is full, or gone."""
    code = DIED


class NotWritten(Stop):
    """The run is over and its report on the screen; a file that was asked for could not be written."""
    code = NOT_WRITTEN


class Terminated(Stop):
    """By a signal."""

    def __init__(self, signum: int) -> None:
        name = "Ctrl-C" if signum == signal.SIGINT else signal.Signals(signum).name
        super().__init__(f"stopped by {name}; everything is removed")
        self.signum, self.code = signum, 128 + signum


def raise_terminated(signum: int, _frame: object) -> None:
    """A handler of signals. Only the first of them raises: what follows would interrupt the cleaning up, and follow it does: as a
    process of many threads dies, PR_SET_PDEATHSIG is sent for each of them that the children are handed on to."""
    for other in SIGNALS:
        if signal.getsignal(other) is raise_terminated:
            signal.signal(other, lambda *_: None)
    raise Terminated(signum)


def catch(signums: Sequence[signal.Signals] = SIGNALS) -> dict[signal.Signals, Any]:
    """Terminated where they come, but for a SIGHUP that is to be ignored (nohup). What was in their place."""
    return {s: signal.signal(s, raise_terminated) for s in signums if s != signal.SIGHUP or signal.getsignal(s) != signal.SIG_IGN}


class NoLock(Exception):
    """The terminal did not lock: a radio event, not a fault of the machine."""
