# SPDX-License-Identifier: GPL-3.0-or-later
"""openwip top: the health and the key figures of a running cell in a terminal of 80x24, also over
ssh and without colours.

Exit codes: 0 ended with q (--once: the run is valid so far), 1 --once and the verdict so far is
INVALID, 2 no such cell or no terminal to draw on, 3 the cell ended meanwhile, or --once and nothing
came."""

import argparse
import contextlib
import curses
import locale
import os
import shutil
import sys
import time

from ..cell.cell import Cell
from ..cell.running import running_cell
from ..errors import DIED, INVALID, VALID, BadInput
from ..figures import top_figures
from ..machine import procfs, reason
from ..machine.places import Places
from ..messages import telemetry
from ..settings.command_line import Parser
from ..settings.kinds import Real
from . import top_screen

KEYS = "q: quit   space: pause"
ONCE_PATIENCE_S = 6.0
SILENT_S = 3.0


def parse(arguments: list[str]) -> argparse.Namespace:
    p = Parser(
        "top",
        "Shows the health and the key figures of a running cell on the terminal, once a second.",
        "demo",
    )
    p.add_argument("--once", action="store_true", help="print the screen once as text and end")
    p.value(
        "--interval",
        Real(0.2, 60),
        default=1.0,
        metavar="S",
        help="seconds between two screens, 0.2..60 (default 1)",
    )
    return p.parse_args(arguments)


class Source:
    """The cell's telemetry, and whether the cell still is."""

    def __init__(self, cell: Cell, interval: float) -> None:
        self.cell = cell
        # the state file calls the supervisor keeper
        self.supervisor = tuple(cell.state.get("keeper") or (0, 0))
        self.reader = telemetry.Reader(telemetry.endpoints_of(cell), top_figures.TOPICS)
        self.figures = top_figures.Figures(interval)
        self.why = ""

    def poll(self, seconds: float) -> None:
        for message in self.reader.poll(seconds):
            self.figures.take(message)

    def alive(self) -> bool:
        if why := reason.read(self.cell.run):
            self.why = why.words
        return procfs.start_time(self.supervisor[0]) == self.supervisor[1]

    def frame(self, ascii_only: bool, note: str = "") -> top_screen.Frame:
        silent = {n: s for n, s in self.reader.silent(SILENT_S).items() if s is not None}
        return top_screen.Frame(
            cell=self.cell.name,
            now_ns=time.monotonic_ns(),
            reader=self.reader.summary(),
            lost=self.reader.lost(),
            silent=silent,
            ascii=ascii_only,
            note=note,
        )


def can_show_blocks() -> bool:
    return "utf" in (locale.nl_langinfo(locale.CODESET) or "").lower()


# --- once ---


def once(source: Source, interval: float) -> int:
    """Waits until there is something to show: two statuses and a verdict."""
    f, deadline = source.figures, time.monotonic() + max(ONCE_PATIENCE_S, 2 * interval)
    complete = time.monotonic() + max(interval, 1.2)  # rates are of a second
    while time.monotonic() < deadline and source.alive():
        source.poll(0.1)
        now = time.monotonic_ns()
        if (
            time.monotonic() > complete
            and (f.link() or f.replays(now) and f.mac("terminal", now))
            and f.verdict(now)
            and f.flows(now) is not None
            and f.fresh("observer", "cpu", now)
        ):
            break
    frame = source.frame(not can_show_blocks())
    width = shutil.get_terminal_size().columns  # 80 where standard output is no terminal
    for line in top_screen.render(f, frame, width):
        print(line.text.rstrip())
    if not f.latest:
        print("openwip: nothing comes from the cell", file=sys.stderr)
        return DIED
    verdict = f.verdict(frame.now_ns)
    return VALID if verdict is not None and verdict.valid else INVALID


# --- a screen ---


class Screen:
    def __init__(self, window: curses.window) -> None:
        self.window = window
        if curses.tigetstr("civis"):
            curses.curs_set(0)
        self.style = {
            top_screen.PLAIN: 0,
            top_screen.DIM: curses.A_DIM,
            top_screen.TITLE: curses.A_REVERSE,
            top_screen.GOOD: curses.A_BOLD,
            top_screen.BAD: curses.A_BOLD | curses.A_STANDOUT,
        }
        if curses.has_colors():
            curses.start_color()
            curses.use_default_colors()
            curses.init_pair(1, curses.COLOR_GREEN, -1)
            curses.init_pair(2, curses.COLOR_RED, -1)
            self.style[top_screen.GOOD] = curses.color_pair(1) | curses.A_BOLD
            self.style[top_screen.BAD] = curses.color_pair(2) | curses.A_BOLD

    def draw(self, lines: list[top_screen.Line]) -> None:
        height, width = self.window.getmaxyx()
        self.window.erase()
        for row, line in enumerate(lines[:height]):
            # The last column of the last row would scroll: curses calls that an error.
            room = width - 1 if row == height - 1 else width
            with contextlib.suppress(curses.error):  # the window may have become smaller meanwhile
                self.window.addnstr(row, 0, line.text, room, self.style[line.style])
        self.window.refresh()

    def keys(self, seconds: float) -> list[int]:
        """Pressed within that time; returns at the first."""
        self.window.timeout(int(seconds * 1000))
        pressed = [self.window.getch()]
        self.window.timeout(0)
        while pressed[-1] != -1:
            pressed.append(self.window.getch())
        return pressed[:-1]


def watch(window: curses.window, source: Source, interval: float) -> int:
    screen, ascii_only = Screen(window), not can_show_blocks()
    due, paused = 0.0, False
    while True:
        if not source.alive():
            return DIED
        # Messages are taken ten times a second, not one by one: waking up costs more than reading.
        keys = screen.keys(0.1)
        source.poll(0)
        if ord("q") in keys or ord("Q") in keys:
            return VALID
        if ord(" ") in keys:
            paused = not paused
        if time.monotonic() >= due or keys:
            height, width = window.getmaxyx()
            frame = source.frame(ascii_only, "paused" if paused else "")
            if not paused or keys:
                body = top_screen.render(source.figures, frame, width, height - 1)
                screen.draw(body + [top_screen.Line(KEYS[:width], top_screen.DIM)])
            due = time.monotonic() + interval


def main(arguments: list[str], _places: Places) -> int:
    given = parse(arguments)
    with contextlib.suppress(locale.Error):  # the locale may be one that this machine does not have
        locale.setlocale(locale.LC_ALL, "")
    cell = running_cell(given.name)
    source = Source(cell, given.interval)
    try:
        if given.once:
            return once(source, given.interval)
        if not sys.stdout.isatty() or not sys.stdin.isatty():
            raise BadInput(
                "standard output or input is not a terminal, which top draws on; valid: a"
                " terminal, or --once"
            )
        try:
            curses.setupterm()
        except curses.error:
            raise BadInput(
                f"TERM={os.environ.get('TERM', '')}: this kind of terminal is not known on this"
                " machine;"
                " valid: another TERM, or --once"
            ) from None
        code = curses.wrapper(watch, source, given.interval)
    finally:
        source.reader.close()
    if code == DIED:
        print(
            f"openwip: cell '{cell.name}' has ended"
            + (f": {top_screen.clean(source.why)}" if source.why else ""),
            file=sys.stderr,
        )
    return code
