# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of an SNR trace (docs/how-to/channel-traces.md). wip_channel reads them, as every run
does that plays one: in a process without rights, which refuses what is no trace."""

import contextlib
import subprocess
from collections.abc import Generator
from typing import Any

from ..air import BINS, SLOTS_PER_SECOND
from ..errors import of_program
from . import system
from .places import Places

PROGRAM = "host/channel/wip_channel"


def blocks(places: Places, file: str, predictions: bool = False) -> "Generator[Any, None, None]":
    """Arrays of up to a second of rows: SNRs in dB; with `predictions` those of the slots behind
    them, which the trace has to have. Raises BadInput for what is no trace."""
    import numpy

    width = 2 * BINS if predictions else BINS
    each = 4 * width * SLOTS_PER_SECOND
    process: Any = subprocess.Popen(
        [places.program(PROGRAM), "rows", *(() if predictions else ("--snr",)), file],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=system.follower(),
    )
    try:
        while part := process.stdout.read(each):
            if len(part) % (4 * width):  # the program has ended early, and reports why
                break
            yield numpy.frombuffer(part, "<f4").reshape(-1, width)
        process.stdout.close()
        output = process.stderr.read().decode(errors="replace")
        if code := process.wait():
            raise of_program("wip_channel", code, output)
    finally:
        with contextlib.suppress(OSError):
            process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def first_rows(places: Places, file: str, most: int | None = None) -> Any:
    """SNRs in dB of the first `most` slots, or of all, as one array."""
    import numpy

    found, n = [], 0
    with contextlib.closing(blocks(places, file)) as read:
        for block in read:
            found.append(block)
            n += len(block)
            if most is not None and n >= most:
                break
    return numpy.concatenate(found)[:most]
