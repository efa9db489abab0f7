# SPDX-License-Identifier: GPL-3.0-or-later
"""The start of a terminal's radio, and its repetition where it came too late."""

import argparse
import fractions
import time
from collections.abc import Callable
from typing import Any

import usrp
from life import TICK_S
from program import say


class Begins:
    """Starts a source on a clock that does not wait: the start is set as late as can be, since
    making the flowgraph takes as long as a busy machine has it take, and a command that comes after
    its time starts nothing. If it was too late even so (nothing came for LIMIT_S after the start),
    it is set again. Received samples have their own time; code that has to know the start before
    gets it by moved(slot)."""

    # of it the flowgraph starts: before the receive timeout, whose sleep overflows the radio
    AHEAD_S = 0.25
    AGAIN_S = 0.5
    # the receive timeout, and the 250 ms that GNU Radio lets a source sleep that had nothing, are
    # in it
    LIMIT_S = 1.0

    def __init__(
        self,
        radio: Any,
        options: argparse.Namespace,
        came: Callable[[], bool],
        moved: Callable[[int], None],
    ) -> None:
        # came(): a sample has
        self.radio, self.options, self.came, self.moved = radio, options, came, moved
        self.start: fractions.Fraction | None = None

    def before(self, over: Callable[[], bool]) -> None:
        """Waits and starts; over(): whether the flowgraph is to end."""
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
        self.moved(self.options.start_time[0])
        return at

    def tick(self) -> None:
        if self.start is None:
            return
        if self.came():
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
