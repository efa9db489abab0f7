# SPDX-License-Identifier: GPL-3.0-or-later
"""Priorities of the threads of a station's flowgraph."""

import contextlib
import os
import resource
import signal
from collections.abc import Iterator
from typing import Any

from tree import rights

# The priority of all processes of the slot path (blocks/os/realtime.h).
SLOT_PATH_PRIORITY = 10


# The transmitter has a higher priority than the others on its core: some radios hold samples for
# 1 ms only, while samples that are received wait for their turn.
TRANSMITTER_PRIORITY = SLOT_PATH_PRIORITY + 1
LONGEST_RUN_US = 300_000


@contextlib.contextmanager
def started_with_priority(wanted: bool, priority: int) -> Iterator[None]:
    """Gives the threads that start inside it (those of a radio's driver) real-time priority at its
    end, if the system grants it. One of them reports the transmit events, and as long as an
    underflow waits for a core nothing that follows it is on the air. The calling thread gets no
    such priority, since opening a radio may take seconds of computing."""
    before = set(os.listdir("/proc/self/task"))
    yield
    for thread in set(os.listdir("/proc/self/task")) - before if wanted else ():
        with contextlib.suppress(OSError):
            os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(priority))


@contextlib.contextmanager
def realtime(wanted: bool, priority: int) -> Iterator[None]:
    """Threads that start inside it have real-time priority, if the system grants it. The calling
    thread has it only inside. If a thread runs for 0.3 s without a pause, all threads lose the
    priority. The process also locks its memory."""

    def give_back(*_: Any) -> None:
        for thread in os.listdir("/proc/self/task"):
            with contextlib.suppress(OSError):
                os.sched_setscheduler(int(thread), os.SCHED_OTHER, os.sched_param(0))

    if wanted:
        with contextlib.suppress(OSError):
            rights.lock_memory()
    try:
        if wanted:
            signal.signal(signal.SIGXCPU, give_back)
            _, most = resource.getrlimit(resource.RLIMIT_RTTIME)
            unlimited = most == resource.RLIM_INFINITY
            resource.setrlimit(
                resource.RLIMIT_RTTIME,
                (LONGEST_RUN_US if unlimited else min(most, LONGEST_RUN_US), most),
            )
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError:
        pass
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
