# SPDX-License-Identifier: GPL-3.0-or-later
"""Following a running cell: its telemetry until the cell ends, the time is over, or the reader has
enough."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from ..errors import Terminated
from ..messages import telemetry

LOOK_S = 0.5  # interval at which it is checked whether the cell lives


def messages(
    reader: telemetry.Reader, alive: Callable[[], bool], seconds: float | None = None
) -> Iterator[list[telemetry.Message]]:
    """The messages that have come, again and again; [] when none came for 0.2 s."""
    began = looked = time.monotonic()
    while seconds is None or time.monotonic() - began < seconds:
        found = reader.poll(0.2)
        yield found
        if not found and time.monotonic() - looked > LOOK_S:
            looked = time.monotonic()
            if not alive():
                return


@contextlib.contextmanager
def following(endpoints: dict[str, str], topics: Sequence[str]) -> Iterator[telemetry.Reader]:
    """Ctrl-C, SIGTERM, SIGHUP and a reader of standard output that is gone end the block, and are
    no error."""
    with (
        telemetry.Reader(endpoints, topics) as reader,
        contextlib.suppress(KeyboardInterrupt, Terminated),
    ):
        try:
            yield reader
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
