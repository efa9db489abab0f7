# SPDX-License-Identifier: GPL-3.0-or-later
"""The life and the end of a flowgraph: it runs until the radio, macd, its parent or a signal ends it."""

import ctypes
import gc
import os
import pathlib
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from priorities import SLOT_PATH_PRIORITY, realtime
from program import EXIT_DEPENDENCY, say
from tree import reason

if TYPE_CHECKING:
    from recording import Recording


TICK_S = 0.1  # seconds between looks at the flowgraph; the radio does not wait for them
STOP_LIMIT_S = 0.6  # seconds after which the process ends even if a thread hangs in a driver


def follow_parent() -> None:
    """Has this process end with the launcher, if it was started by one."""
    if "OPENWIP_RUN" not in os.environ:
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGTERM, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def reason_for_signal() -> tuple[str, int]:
    """(words, exit code) of the run's file `why`; without it the end was requested."""
    run = os.environ.get("OPENWIP_RUN")
    why = reason.read(pathlib.Path(run)) if run else None
    if why is None:
        return "asked to stop", 0
    return why.words, EXIT_DEPENDENCY if why.cause in reason.LOST else 0


class Watch:
    """Runs a top block until it, the radio, macd or a signal ends it. Owns all it is given: at the
    end the radio has to be let go of in order, so nothing else may hold it."""

    def __init__(
        self,
        top: Any,
        block: Any,
        radio: Any,
        recording: "Recording",
        tick: Callable[[], None] = lambda: None,
        real_time: bool = True,
        before: Callable[[Callable[[], bool]], None] = lambda over: None,
        priority: int = SLOT_PATH_PRIORITY,
    ) -> None:
        # _stop() sets these to None, which releases the objects.
        self.before: Any = before  # the start, with its priority
        self.tick: Any = tick
        self.recording: Any = recording
        self.top, self.block, self.radio = top, block, radio
        self.real_time, self.priority = real_time, priority
        self.finished = threading.Event()
        self.signalled: tuple[str, int] | None = None
        # A software USRP says when its medium is gone; its streams may only fall silent.
        self.sensor = (
            "air_connected" if "air_connected" in radio.get_mboard_sensor_names() else None
        )
        if self.sensor:
            quiet()

    def run(self) -> NoReturn:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        follow_parent()
        with realtime(self.real_time, self.priority):
            self.before(lambda: self.signalled is not None)
            self.top.start()
        print("ready", flush=True)
        threading.Thread(target=self._wait, daemon=True).start()
        text, code = self._watch()
        say(text)
        self._stop()
        sys.stdout.flush()
        os._exit(code)  # ends the process even if a thread of a driver hangs

    def _on_signal(self, _number: int, _frame: Any) -> None:
        if self.signalled is None:
            self.signalled = reason_for_signal()

    def _wait(self) -> None:
        self.top.wait()
        self.finished.set()

    def _watch(self) -> tuple[str, int]:
        while True:
            over = self.finished.wait(TICK_S)
            if self.signalled:
                return self.signalled
            if self.block.end_reason():
                return self.block.end_reason(), EXIT_DEPENDENCY
            if over:
                return "the radio stopped streaming", EXIT_DEPENDENCY
            trouble = self._radio_trouble()
            if trouble:
                return f"radio: {trouble}", EXIT_DEPENDENCY
            self.tick()

    def _radio_trouble(self) -> str | None:
        try:
            if self.sensor and not self.radio.get_mboard_sensor(self.sensor).to_bool():
                return "the medium is gone"
            self.radio.get_time_now()
        except RuntimeError as e:
            return " ".join(str(e).split())
        return None

    def _stop(self) -> None:
        def stop() -> None:
            self.top.stop()
            self.finished.wait()
            self.recording.stop_if_running()
            self.recording = None
            self.top.disconnect_all()
            self.top = self.tick = self.before = None
            gc.collect()
            # The device is let go of here; its event thread ends with it, and until then it may
            # post an event to the block.
            self.radio = None
            gc.collect()
            self.block = None

        thread = threading.Thread(target=stop, daemon=True)
        thread.start()
        thread.join(STOP_LIMIT_S)


def quiet() -> None:
    """No lines of GNU Radio's own about threads that end because the medium did: Watch says it."""
    from gnuradio import gr

    # GNU Radio 3.10.1 (Ubuntu 22.04) does not have it
    if hasattr(gr.logging(), "set_default_level"):
        gr.logging().set_default_level(gr.log_levels.off)
