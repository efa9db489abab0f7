# SPDX-License-Identifier: GPL-3.0-or-later
"""The start of a terminal's radio, and its repetition if it came too late."""

import argparse
import fractions
import time
from collections.abc import Callable
from typing import Any

import usrp
from life import TICK_S
from program import say


class RadioStart:
    """Starts a source whose clock does not wait for the program. The start is set as late as
    possible: nobody knows how long a busy machine takes to make the flowgraph, and a command that
    arrives after its time starts nothing. If it was too late all the same (nothing came for LIMIT_S
    after the start), it is set again. Received samples carry their own time; code that has to know
    the start before the first of them gets it by on_start_slot(slot)."""

    # The flowgraph starts this many seconds before the radio does. That is less than the receive
    # timeout, after which GNU Radio sleeps and the radio overflows.
    AHEAD_S = 0.25
    # A repeated start is set at least this many seconds ahead.
    AGAIN_S = 0.5
    # Seconds without a sample after which the start counts as too late: more than the receive
    # timeout and the 250 ms that GNU Radio lets a source sleep that had nothing.
    LIMIT_S = 1.0

    def __init__(
        self,
        radio: Any,
        options: argparse.Namespace,
        has_samples: Callable[[], bool],
        on_start_slot: Callable[[int], None],
    ) -> None:
        # has_samples(): whether a sample has come
        self.radio, self.options, self.has_samples, self.on_start_slot = (
            radio,
            options,
            has_samples,
            on_start_slot,
        )
        self.start: fractions.Fraction | None = None

    def set_and_wait(self, over: Callable[[], bool]) -> None:
        """Sets the start and waits until the flowgraph has to start for it, or until over(), which
        tells whether the flowgraph is to end, is true."""
        if self.options.start_in is not None:
            self.start = usrp.exact(self._set())
            while (
                not over()
                and (
                    left := float(self.start - usrp.exact(self.radio.get_time_now())) - self.AHEAD_S
                )
                > 0
            ):
                time.sleep(min(left, TICK_S))

    def _set(self) -> Any:
        at = usrp.set_start(self.radio, self.options)
        self.on_start_slot(self.options.start_time[0])
        return at

    def tick(self) -> None:
        if self.start is None:
            return
        if self.has_samples():
            self.start = None
        elif usrp.exact(self.radio.get_time_now()) > self.start + self.LIMIT_S:
            from gnuradio import uhd

            command = uhd.stream_cmd_t(uhd.stream_mode_t.STREAM_MODE_START_CONTINUOUS)
            command.stream_now = False
            self.options.start_in = max(self.options.start_in, self.AGAIN_S)
            command.time_spec = self._set()
            self.radio.issue_stream_cmd(command)
            self.start = usrp.exact(command.time_spec)
            say("nothing came from the radio after its start; it is started again")
