# SPDX-License-Identifier: GPL-3.0-or-later
"""A screen for tests of windows: Xvfb, what windows are there, what is in their pixels, and keys
for them."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import numpy

PROGRAMS = ("Xvfb", "xdotool")


def missing(*others):
    """The names of the programs that are not installed."""
    return [p for p in (*PROGRAMS, *others) if shutil.which(p) is None]


class Screen:
    """A virtual screen, used in a `with` statement. `environment`: for programs that are to open
    windows on it; it leaves the user's settings alone. `also`: variables to add to it."""

    def __init__(self, size="1680x1050", also=None):
        self.size, self.also = size, also or {}

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="openwip-screen-")
        read, write = os.pipe()
        self.server = subprocess.Popen(
            [
                "Xvfb",
                "-displayfd",
                str(write),
                "-screen",
                "0",
                f"{self.size}x24",
                "-nolisten",
                "tcp",
                "-noreset",
                "-fbdir",
                self.folder.name,
            ],
            pass_fds=(write,),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(write)
        with os.fdopen(read) as answer:
            number = answer.readline().strip()
        if not number:
            raise RuntimeError("Xvfb did not start")
        home = pathlib.Path(self.folder.name)
        self.environment = (
            {k: v for k, v in os.environ.items() if k not in ("QT_QPA_PLATFORM", "WAYLAND_DISPLAY")}
            | {
                "DISPLAY": f":{number}",
                "HOME": str(home),
                "XDG_RUNTIME_DIR": str(home),
                "XDG_CONFIG_HOME": str(home / "config"),
                "NO_AT_BRIDGE": "1",
                "GSETTINGS_BACKEND": "memory",
            }
            | self.also
        )
        return self

    def __exit__(self, *_):
        self.server.terminate()
        self.server.wait()
        self.folder.cleanup()

    def xdotool(self, *arguments):
        done = subprocess.run(
            ["xdotool", *map(str, arguments)], capture_output=True, text=True, env=self.environment
        )
        return done.stdout.split()

    def pixels(self, window):
        """0xRRGGBB of every pixel of the screen where the window is, rows x columns: what lies
        above it hides it."""
        reported = self.xdotool("getwindowgeometry", "--shell", window)
        at = {k: int(v) for k, v in (line.split("=") for line in reported)}
        picture = pathlib.Path(self.folder.name) / "Xvfb_screen0"
        # An X window dump: 25 numbers, then a table of colours, 12 bytes each, then rows of 32 bits
        # a pixel.
        head = numpy.fromfile(picture, ">u4", 25)
        rows, width = int(head[5]), int(head[12]) // 4
        whole = numpy.fromfile(
            picture,
            "<u4" if head[7] == 0 else ">u4",
            rows * width,
            offset=int(head[0] + 12 * head[19]),
        )
        whole = whole.reshape(rows, width)[:, : int(head[4])] & 0xFFFFFF
        return whole[
            max(0, at["Y"]) : at["Y"] + at["HEIGHT"], max(0, at["X"]) : at["X"] + at["WIDTH"]
        ]

    def titles(self):
        """{title: window} of all windows that are shown and have one."""
        found = {}
        for window in self.xdotool("search", "--onlyvisible", "--name", "."):
            name = subprocess.run(
                ["xdotool", "getwindowname", window],
                capture_output=True,
                text=True,
                env=self.environment,
            ).stdout.strip()
            if name:
                found[name] = window
        return found

    def wait_for(self, condition, timeout):
        """condition(titles) true within so many seconds? Returns the titles."""
        deadline = time.monotonic() + timeout
        while True:
            titles = self.titles()
            if condition(titles) or time.monotonic() > deadline:
                return titles
            time.sleep(0.3)


def end(process, patience=15):
    """SIGTERM; exit code."""
    if process.poll() is None:
        process.terminate()
    try:
        return process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
