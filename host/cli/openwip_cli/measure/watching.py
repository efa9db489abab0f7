# SPDX-License-Identifier: GPL-3.0-or-later
"""What a verdict needs that has to be watched all the time: telemetry and applications."""
import contextlib
from collections.abc import Iterator
from typing import Any

from ..cell import cell as cells
from ..messages import control
from .applications import ApplicationClock


def telemetry_reasons(watch: Any) -> list[str]:
    wrong = [f"telemetry: {n} messages of {name} lost" for name, n in watch.lost.items() if n]
    wrong += [f"telemetry: {n} messages of {name} do not parse" for name, n in watch.malformed.items() if n]
    wrong += [f"telemetry: nothing came from {name}" for name, n in watch.received.items() if not n]
    return wrong


@contextlib.contextmanager
def watching(cell: cells.Cell) -> Iterator[Any]:
    """What a verdict needs that has to be watched all the time: (TelemetryWatch, ApplicationClock)."""
    watch = control.TelemetryWatch({s: cell.endpoint(f"{s}.telemetry") for s in cells.STATIONS if s in cell.stations})
    applications = ApplicationClock({s: cell.namespace(s) for s in cell.stations}, lambda: [pid for pid, _ in cell.recorded_processes()])
    try:
        yield watch, applications
    finally:
        watch.end()
        applications.end()
