# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds of failure, each with the exit code of the command that it ends
(docs/reference/demo.md). __main__ prints it, in one line."""

import errno
import os
import re
import signal
from collections.abc import Sequence
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # end a command in order

VALID, INVALID, BAD_INPUT, DIED, NOT_WRITTEN, INTERRUPTED = 0, 1, 2, 3, 4, 130
# exit code of one run: the machine ran out of a resource (EX_TEMPFAIL of sysexits.h)
EXHAUSTED = 75

# Errors that say that this machine has no more of a resource. Any other unexpected one is a fault
# of the program.
USED_UP = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.EAGAIN,
)


LONGEST_LINE = 2000  # characters of a message; quoted values have been shortened by shown()
LONGEST_SHOWN = 100  # characters of a value in a message


def without_middle(text: str, longest: int) -> str:
    """A longer text loses its middle: a message names the place at its beginning and what would be
    valid at its end."""
    head = (longest - 3) // 2
    return (
        text
        if len(text) <= longest
        else f"{text[:head]}...{text[len(text) - (longest - 3 - head) :]}"
    )


def shown(value: Any) -> str:
    """Something that somebody wrote, as part of a message: a text or a path as it is, anything else
    as Python writes it."""
    text = str(value) if isinstance(value, (str, os.PathLike)) else repr(value)
    return without_middle(text, LONGEST_SHOWN)


class Stop(Exception):
    """Ends a command: str() is the line on standard error."""

    code = INVALID


class BadInput(Stop):
    """An option, a file or the machine is not as required: one line that says what would be."""

    code = BAD_INPUT

    def __init__(self, why: str) -> None:
        super().__init__(without_middle(why, LONGEST_LINE))


def not_valid(key: object, value: Any, valid: Any, more: str = "") -> BadInput:
    """The error of a value: which one, what it is and what would be valid, as the programs in C++
    write it (blocks/types/not_valid.h). A text is shown as it is, anything else as Python writes
    it. `more`: why the value is not valid here, directly after it (", which ...", " with ...")."""
    return BadInput(f"{key} is {shown(value)}{more}; valid: {valid}")


def signal_name(number: int) -> str:
    """The name of a signal, such as SIGSEGV; a real-time signal has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def how_ended(code: int) -> str:
    """Words for the end of a process. `code`: as subprocess and os.waitstatus_to_exitcode() give
    it, so a signal is negative."""
    return f"was killed by {signal_name(-code)}" if code < 0 else f"ended with exit code {code}"


# The marks of compilers, iperf3 and others for lines that are no errors.
LABELLED = re.compile(r"(\S+: )?(warning|note|info|debug): ", re.IGNORECASE)


def complaint(output: str) -> str:
    """The last line of a program's standard error that is not marked as a warning; "": there is
    none."""
    lines = [
        line.rstrip() for line in output.splitlines() if line.strip() and not LABELLED.match(line)
    ]
    return lines[-1] if lines else ""


def cause_of(name: str, code: int, output: str) -> str:
    """Why a program that we ran did not do its work. A signal comes first: what was killed did not
    write the cause. Then comes its complaint, without its name, and where it has none its exit
    code."""
    words = "" if code < 0 else complaint(output).removeprefix(f"{name}: ")
    return words or f"{name} {how_ended(code)}"


def describe_os_error(e: OSError) -> str:
    """The system's error text and the file that it is about, on one line."""
    words = [e.strerror or str(e) or type(e).__name__, e.filename, e.filename2]
    return " ".join(
        ": ".join(w if isinstance(w, str) else repr(w) for w in words if w is not None).split()
    )


def of_program(name: str, code: int, output: str, more: str = "") -> Stop:
    """The error for a program that we ran and that refused, or could not do its work: cause_of()
    it, and `more`."""
    why = cause_of(name, code, output) + more
    return BadInput(why) if code == BAD_INPUT else Stop(why)


class CellDied(Stop):
    """A process of the cell ended without a request, or does not answer."""

    code = DIED

    def __init__(
        self,
        why: str,
        last_words: Sequence[tuple[str, str]] = (),
        died: str | None = None,
        ended_with: int | None = None,
    ) -> None:
        """`died`: the process that is to blame, of which `ended_with` is the exit code."""
        super().__init__(why)
        self.last_words = list(last_words)  # (process, last line of its log)
        self.died, self.ended_with = died, ended_with


class NoAnswer(Stop):
    """A process or a device does not answer, or answers nonsense."""

    code = DIED


class Refused(NoAnswer):
    """The process has answered that it refuses the request; str() is why."""

    code = INVALID


class RecordFailed(Stop):
    """A run record, or the reports of a replay, could not be written: the disk is full, or gone."""

    code = DIED


class NotWritten(Stop):
    """The run is over and its report on the screen; a file that was asked for could not be
    written."""

    code = NOT_WRITTEN


class Terminated(Stop):
    """The command was ended by a signal."""

    def __init__(self, signum: int) -> None:
        name = "Ctrl-C" if signum == signal.SIGINT else signal.Signals(signum).name
        super().__init__(f"stopped by {name}; everything is removed")
        self.signum, self.code = signum, 128 + signum


def raise_terminated(signum: int, _frame: object) -> None:
    """A handler of signals. Only the first of them raises: what follows would interrupt the
    cleaning up, and follow it does: as a process of many threads dies, PR_SET_PDEATHSIG is sent for
    each of them that the children are handed on to."""
    for other in SIGNALS:
        if signal.getsignal(other) is raise_terminated:
            signal.signal(other, lambda *_: None)
    raise Terminated(signum)


def catch(signums: Sequence[signal.Signals] = SIGNALS) -> dict[signal.Signals, Any]:
    """Terminated where they come, but for a SIGHUP that is to be ignored (nohup). What was in their
    place."""
    return {
        s: signal.signal(s, raise_terminated)
        for s in signums
        if s != signal.SIGHUP or signal.getsignal(s) != signal.SIG_IGN
    }


def describe_fault(e: BaseException) -> str:
    """An unexpected exception, in one line."""
    at = e.__traceback__
    while at and at.tb_next:
        at = at.tb_next
    where = (
        f" ({os.path.basename(at.tb_frame.f_code.co_filename)}, line {at.tb_lineno})" if at else ""
    )
    return " ".join(
        f"fault of the program: {type(e).__name__}: {e}{where}; OPENWIP_TRACEBACK=1 in the"
        " environment shows how it came to it".split()
    )


class NoLock(Exception):
    """The terminal did not lock: a radio event, not a fault of the machine. `within_s`: how long it
    was waited for, seconds of air time."""

    def __init__(self, within_s: float) -> None:
        super().__init__(f"the terminal did not lock within {within_s:g} s of air time")
        self.within_s = within_s
