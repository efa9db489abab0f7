# SPDX-License-Identifier: GPL-3.0-or-later
"""The real monitor on a screen of its own: what it says, keys for it, and the pictures that it
takes."""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import time

import numpy
from matplotlib import colormaps

from openwip_cli.settings import monitor
from pictures import load

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("OPENWIP_BUILD", TOP / "build"))
PROGRAM = BUILD / "host/gui/openwip-monitor"
TITLE = "OpenWIP monitor"
SIZE = (1800, 1300)  # pixels

WHITE, UNKNOWN = 0xFFFFFF, 0xDCDCDC  # RGB
TICKS = 6  # pixels that they reach into a plot
# The same fields for each terminal.
SERIES = (0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7, 0xE69F00, 0x56B4E9, 0x000000, 0xA0A000)
OUTCOMES = (0x56B4E9, 0xD55E00, 0xF0E442)

# The parts as host/gui/model/meaning.h has them: name -> series.
DELAY_PARTS = {
    name: int(colour)
    for name, colour in re.findall(
        r'\{"(\w+)", "[^"]*", (\d)\}', (TOP / "host/gui/model/meaning.h").read_text()
    )
}


class Window:
    """Use with `with`."""

    def __init__(self, screen, folder, *options, program=PROGRAM):
        self.screen, self.folder = screen, pathlib.Path(folder)
        self.output = self.folder / "words.json"
        self.output.unlink(missing_ok=True)  # a file that an earlier window left
        self.process = subprocess.Popen(
            [program, "--size", f"{SIZE[0]}x{SIZE[1]}", "--words", self.output, *options],
            cwd=self.folder,
            env=screen.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.choices = monitor.choices()

    def __enter__(self):
        titles = self.screen.wait_for(
            lambda titles: TITLE in titles or self.process.poll() is not None, 60
        )
        if TITLE not in titles:
            self.process.kill()
            raise AssertionError(f"no window: {self.process.communicate()[1]}")
        self.window = titles[TITLE]
        self.screen.xdotool("windowfocus", "--sync", self.window)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stderr.close()

    # --- what it says ---

    def words(self):
        try:
            return json.loads(self.output.read_text())
        except (OSError, ValueError):
            return {
                "health": {},
                "views": {},
                "controls": {},
                "control_status": "",
                "status_bar": "",
                "focus": "",
                "terminals": "",
            }

    def health(self, field):
        return self.words()["health"].get(field, "")

    def lines(self, view):
        return self.words()["views"].get(view, {}).get("lines", 0)

    def wait_for(self, condition, what, within=60):
        """condition(words) true; returns the words. A busy machine is slow, not wrong."""
        deadline = time.monotonic() + within
        while True:
            words = self.words()
            if words["health"] and condition(words):
                return words
            if self.process.poll() is not None:
                raise AssertionError(
                    f"the window has ended with {self.process.returncode}:"
                    f" {self.process.stderr.read()}"
                )
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"not within {within} s: {what}; the window says {self.in_short(words)}"
                )
            time.sleep(0.1)

    @staticmethod
    def in_short(words):
        lines = {name: view["lines"] for name, view in words["views"].items()}
        return json.dumps(
            {k: v for k, v in words.items() if k not in ("views", "controls")} | {"lines": lines}
        )

    # --- the keyboard ---

    def key(self, *keys):
        self.screen.xdotool("key", "--clearmodifiers", "--delay", "20", *keys)

    def type(self, text):
        self.screen.xdotool("type", "--clearmodifiers", "--delay", "20", text)

    def set(self, control, value):
        """Sets a control as a person does without a mouse: Ctrl+K, find it, Tab to it, change it,
        Return. Returns when the window shows the value as read back from the process."""
        # On a busy machine the list of the last control can still be open, and takes the key.
        for _ in range(20):
            self.key("ctrl+k")
            with contextlib.suppress(AssertionError):
                self.wait_for(lambda w: w["focus"] == "control_search", "Ctrl+K", within=3)
                break
        self.wait_for(lambda w: w["focus"] == "control_search", "Ctrl+K goes to the controls", 1)
        self.key("ctrl+a")
        self.type(control)
        self.key("Tab")
        self.wait_for(lambda w: w["focus"] == f"edit {control}", f"Tab goes to {control}")
        if control in self.choices:
            self.key("Down")  # opens the list
            self.key("Home", *["Down"] * self.choices[control].index(str(value)), "Return")
        else:
            self.key("ctrl+a")
            self.type(str(value))
            self.key("Return")
        self.wait_for(
            lambda w: same(w["controls"].get(control), value), f"{control} = {value} is read back"
        )

    # --- pictures ---

    def pictures(self):
        """Ctrl+Shift+E: PNG and CSV of the window and of all its views; the folder."""
        before = set(self.folder.glob("monitor-*"))
        self.key("ctrl+shift+e")

        def written(words):
            output = re.match(r"\d+ files in (monitor-\S+)$", words["status_bar"])
            return output and self.folder / output[1] not in before

        words = self.wait_for(written, "the views are exported")
        return self.folder / words["status_bar"].split()[-1]


def same(text, value):
    try:
        return abs(float(text) - float(value)) < 1e-6
    except (TypeError, ValueError):
        return text == str(value)


def box(path):
    """(pixels, left, top, right, bottom): the picture and the axes of its only (or first) plot."""
    found = load(path)
    _, left, right = longest_run(found == 0)
    _, top, bottom = longest_run((found == 0).T)
    if right - left < 50 or bottom - top < 30:
        raise AssertionError(f"{path}: no axes")
    return found, left, top, right, bottom


def inside_axes(path):
    """The pixels between the axes, without the ticks. A legend beside the plot, its numbers and its
    title are outside."""
    found, left, top, right, bottom = box(path)
    return found[top + 1 + TICKS : bottom - TICKS, left + 1 + TICKS : right - TICKS]


def ink(path):
    """How many pixels are dark: text."""
    found = load(path)
    return int(((found >> 8 & 0xFF) < 0x80).sum())


def longest_run(black):
    """(row, first column, last column) of the longest run of true in a row."""
    best = (0, 0, -1)
    for row in range(len(black)):
        edges = numpy.flatnonzero(numpy.diff(numpy.concatenate(([0], black[row].view("i1"), [0]))))
        starts, ends = edges[::2], edges[1::2]
        if len(starts) and (ends - starts).max() > best[2] - best[1] + 1:
            i = int((ends - starts).argmax())
            best = (int(row), int(starts[i]), int(ends[i]) - 1)
    return best


def columns_with(found, colour):
    """Share of the columns that have the colour."""
    return float((found == colour).any(axis=0).mean())


def redness(found):
    """Red less blue of every pixel, -255..255: above 0 in the warm half of a signed map."""
    return (found >> 16).astype("i4") - (found & 0xFF).astype("i4")


def share_of(found, colours):
    """The share of these pixels that have one of these colours."""
    return float(numpy.isin(found, numpy.array(colours, "u4")).mean())


def share_of_map(found, name="viridis", tolerance=10):
    """The share of these pixels within so much of a colour of the map, without white and grey; and
    how many different ones there are."""
    coloured = found[(found != WHITE) & (found != UNKNOWN)]
    values, counts = numpy.unique(coloured, return_counts=True)
    table = numpy.round(colormaps[name](numpy.linspace(0, 1, 256))[:, :3] * 255).astype("i4")
    rgb = numpy.stack([values >> 16, values >> 8 & 255, values & 255], axis=1).astype("i4")
    near = (
        numpy.array([numpy.abs(table - c).max(axis=1).min() <= tolerance for c in rgb], bool)
        if len(rgb)
        else numpy.zeros(0, bool)
    )
    return float(counts[near].sum() / found.size), int(near.sum())
