# SPDX-License-Identifier: GPL-3.0-or-later
"""demo --monitor, emulate --monitor: the window onto the cell that is being started.

A process of its own, in a session of its own: the cell does not know it, closing it changes
nothing, and it stays open when the run is over, since its pictures are what the user asked for.
Whatever keeps it from opening is one line, and the run goes on."""

import os
import pathlib
import subprocess
import tempfile
from collections.abc import Callable, Mapping

from ..errors import cause_of
from ..machine.places import built

PROGRAM = "host/gui/openwip-monitor"
NO_DISPLAY_S = 0.5


def why_not(build: pathlib.Path, environment: Mapping[str, str] = os.environ) -> str | None:
    """The reason, in words, why a window cannot open; None: none that can be seen from here."""
    program = built(build, PROGRAM)
    if not os.access(program, os.X_OK):
        return (
            "the monitor is not part of this build (it needs qt6-base-dev and QCustomPlot for Qt 6:"
            " libqcustomplot-dev, not in Ubuntu 22.04)"
        )
    if not any(environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")):
        return "no display: DISPLAY is not set"
    return None


def open_for(
    name: str, build: pathlib.Path, progress: Callable[[str], None]
) -> subprocess.Popen[bytes] | None:
    """Returns the process, or None when there is none; never raises."""
    reason = why_not(build)
    process = None
    if reason is None:
        # The window does not get the launcher's own standard error: a program that reads that to
        # its end would wait for the window.
        with tempfile.TemporaryFile() as complaints:
            try:
                process = subprocess.Popen(
                    [str(built(build, PROGRAM)), "--name", name],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=complaints,
                    start_new_session=True,
                )
                process.wait(NO_DISPLAY_S)  # a program without a display ends at once
                complaints.seek(0)
                reason = cause_of(
                    PROGRAM, process.returncode, complaints.read(2000).decode(errors="replace")
                )
                process = None
            except subprocess.TimeoutExpired:
                pass
            except OSError as e:
                reason = f"{PROGRAM}: {e.strerror}"
    if process is None:
        progress(f"--monitor: {reason}; the run goes on without the window")
    else:
        progress("--monitor: the window shows the cell; it stays open after the run")
    return process
