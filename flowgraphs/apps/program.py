# SPDX-License-Identifier: GPL-3.0-or-later
"""The common parts of base_station.py and terminal.py as programs: their exit codes, their words on
stderr and stdout, and the rights that they keep.

Exit codes: 0 stopped by request, 1 an unexpected error of the system, 2 bad command line or radio
that cannot be opened with it, 3 something the flowgraph depends on (macd, the radio) died or
stopped. Each end is one line on stderr."""

import argparse
import json
import os
import pathlib
import sys
from collections.abc import Callable
from typing import NoReturn

from tree import rights

# Settings that have to be made before GNU Radio and UHD are loaded: no control port, no banners, no
# letters (O, U, L) on the console, since events are counted and reported instead.
os.environ.setdefault("GR_CONF_CONTROLPORT_ON", "False")
os.environ.setdefault("GR_CONF_LOG_LOG_LEVEL", "warn")
os.environ.setdefault("UHD_LOG_CONSOLE_LEVEL", "warning")
os.environ.setdefault("UHD_LOG_FASTPATH_DISABLE", "1")


EXIT_BAD_INPUT, EXIT_DEPENDENCY = 2, 3
PROGRAM = pathlib.Path(sys.argv[0]).stem


def say(text: str) -> None:
    print(f"{PROGRAM}: {text}", file=sys.stderr, flush=True)


def tell(**facts: float) -> None:
    """Prints the values that the radio has set, as a line of JSON on standard output."""
    print(json.dumps(facts), flush=True)


def bad_input(text: str) -> NoReturn:
    say(text)
    sys.exit(EXIT_BAD_INPUT)


def run_program(main: Callable[[], None]) -> NoReturn:
    """Runs the program: an unexpected error of the operating system ends it in one line, and
    threads of a driver that hang do not keep it."""
    from openwip_cli.machine import faults

    faults.threads_in_one_line(PROGRAM)
    code = faults.in_one_line(PROGRAM, main)
    if code is not None:
        os._exit(code)
    sys.exit(0)


def give_up_rights(options: argparse.Namespace) -> None:
    """Gives up the rights of root. Called before there are threads, which would keep them, and
    after everything has been read from the tree, which may be readable by its user only."""
    if options.least_rights:
        from gnuradio import gr, uhd, wip  # noqa: F401

        rights.hold_only(rights.RADIO)
