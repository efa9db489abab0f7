# SPDX-License-Identifier: GPL-3.0-or-later
"""The telemetry of a running cell, message by message."""

import importlib.util
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from openwip_cli.errors import BadInput
from openwip_cli.machine import places

if TYPE_CHECKING:
    from openwip_cli.messages.telemetry import Message


def telemetry(
    cell: str = "demo",
    topics: Sequence[str] | None = None,
    duration: float | None = None,
    *,
    seconds: float | None = None,
) -> "Iterator[Message]":
    """The messages of a running cell as they come, until the cell ends or the time is over.

    cell      its name (`openwip demo --name NAME`)
    topics    such as ["slot", "tcp"] (docs/reference/telemetry.md); None: all but "frames" and "ip", which are
              17 MB a second
    duration  seconds of wall clock; None: until the cell ends
    seconds   the earlier name of duration, for one more release

    A message has `source` (the process that published it: "base", "terminal", "observer", ...),
    `topic`, `telemetry` (the protobuf message of mac/schema/telemetry.proto: `slot`, `wall_ns` and
    a field for each topic), `lost_before` (messages of this topic that are missing before it) and
    `received_ns` (CLOCK_MONOTONIC, ns). A reader that is too slow loses messages; they are counted.

    Needs root. Raises OpenWipError: no such cell is up, a topic is unknown, or nothing is built."""
    if seconds is not None:
        warnings.warn("seconds is called duration now", DeprecationWarning, stacklevel=2)
        duration = seconds
    _find_schema()
    from openwip_cli.cell.running import cell_lives, running_cell
    from openwip_cli.messages import telemetry as messages
    from openwip_cli.records.record import EVERY_DAY
    from openwip_cli.views import follow

    wanted = EVERY_DAY if topics is None else messages.topics_of(",".join(topics))
    running = running_cell(cell)

    def following() -> "Iterator[Message]":
        with messages.Reader(messages.endpoints_of(running), wanted) as reader:
            for batch in follow.messages(reader, lambda: cell_lives(running), duration):
                yield from batch

    return following()


def _find_schema() -> None:
    """The messages in Python are made by the build, whose folder comes last on the path."""
    build = str(places.default().build / "python")
    if importlib.util.find_spec("openwip_schema") is None:
        sys.path.append(build)
        importlib.invalidate_caches()
    if importlib.util.find_spec("openwip_schema") is None:
        sys.path.remove(build)
        raise BadInput(
            f"the message definitions of the telemetry are not built in {build}; valid: a tree in"
            " which ./openwip build record has been run"
        )
