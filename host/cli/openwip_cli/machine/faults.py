# SPDX-License-Identifier: GPL-3.0-or-later
"""Unexpected errors of the operating system, in processes that run for long: one line with the
cause, no traceback."""

import sys
import threading
from collections.abc import Callable

from ..errors import describe_os_error

FAULT = 1  # exit code: none of those that say what to do


def in_one_line(program: str, run: Callable[[], object]) -> int | None:
    """Exit code, or None: run() returned. What else it raises is a fault of the program, and goes
    on."""
    try:
        run()
    except BrokenPipeError:  # nobody reads the output any more, and nobody would read a line
        return FAULT
    except OSError as e:
        print(f"{program}: cannot go on: {describe_os_error(e)}", file=sys.stderr, flush=True)
        return FAULT
    return None


def threads_in_one_line(program: str) -> None:
    """The same of threads, from now on: one that ends so says which it was."""
    before = threading.excepthook

    def hook(ended: threading.ExceptHookArgs) -> None:
        if not isinstance(ended.exc_value, OSError):
            return before(ended)
        name = ended.thread.name if ended.thread is not None else "a thread"
        print(
            f"{program}: {name} cannot go on: {describe_os_error(ended.exc_value)}",
            file=sys.stderr,
            flush=True,
        )

    threading.excepthook = hook
