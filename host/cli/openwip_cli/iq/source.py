# SPDX-License-Identifier: GPL-3.0-or-later
"""The samples of a recording where a USRP source would be, with rx_time where a stretch begins, as
it has it."""

import time
from collections.abc import Callable

import numpy
import pmt
from gnuradio import gr

from ..air import SAMPLE_RATE, SLOT_SAMPLES
from .recordings import Recording

Samples = list[numpy.ndarray]  # one array for each port
BEHIND_S = 0.010  # the same as the medium's pacing limit


class Pace:
    """Samples when a radio would have brought them: `speed` seconds of air time in each second of
    the clock."""

    def __init__(
        self,
        speed: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.clock, self.sleep = clock, sleep
        self.rate = SAMPLE_RATE * speed
        self.began: float | None = None
        self.slots = self.behind = 0
        self.seconds = 0.0  # wall-clock time from the first sample to the last one

    def wait(self, samples: int) -> None:
        """Waits until that many samples are due."""
        now = self.clock()
        if self.began is None:
            self.began = now
        left = self.began + samples / self.rate - now
        # A piece may be less than a slot, while the receiver lags: a slot is counted with its last
        # sample.
        complete = samples // SLOT_SAMPLES - self.slots
        self.slots += complete
        self.behind += complete * (-left > BEHIND_S)
        if left > 0:
            self.sleep(left)
        self.seconds = self.clock() - self.began


class Source(gr.sync_block):
    """Gives out all samples, as fast as they are taken, or at the speed of `pace`, a slot at a
    time."""

    def __init__(self, recording: Recording, pace: Pace | None = None) -> None:
        super().__init__("sigmf_source", None, [numpy.complex64])
        self.data = (
            numpy.memmap(recording.data_path, numpy.complex64, "r")
            if recording.samples
            else numpy.zeros(0, numpy.complex64)
        )
        self.at, self.pace = 0, pace
        # The exception that work() raised: GNU Radio would log it and end as if there were no more samples.
        self.failure = ""
        self.stretches = [
            (c["core:sample_start"], c["core:global_index"], c.get("openwip:later", 0))
            for c in recording.captures
        ]

    def work(self, _inputs: object, outputs: Samples) -> int:
        try:
            return self.give(outputs)
        except Exception as e:
            self.failure = f"{type(e).__name__}: {e}"
            return -1

    def give(self, outputs: Samples) -> int:
        n = min(len(outputs[0]), len(self.data) - self.at)
        if n == 0:
            return -1
        if self.pace is not None:
            n = min(n, SLOT_SAMPLES)
            self.pace.wait(self.at + n)
        while self.stretches and self.stretches[0][0] < self.at + n:
            index, sample, later = self.stretches.pop(0)
            full, rest = divmod(sample, SAMPLE_RATE)
            if rest + later < 0:
                full, rest = full - 1, rest + SAMPLE_RATE
            self.add_item_tag(
                0,
                index,
                pmt.intern("rx_time"),
                pmt.make_tuple(
                    pmt.from_uint64(full), pmt.from_double((rest + later) / SAMPLE_RATE)
                ),
            )
        outputs[0][:n] = self.data[self.at : self.at + n]
        self.at += n
        return n
