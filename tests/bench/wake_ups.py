# SPDX-License-Identifier: GPL-3.0-or-later
"""Wake-ups of threads, and how many of them crossed cores, as the kernel traces them (tracefs, an
instance of its own; the rest of the machine's tracing is left alone). Needs root. Where there is no
tracing the answer says why."""

import ctypes
import json
import os
import pathlib
import re
import tempfile
import time
from collections.abc import Iterable
from typing import Any

_CLONE_NEWNS, _MS_REC, _MS_PRIVATE = 0x20000, 0x4000, 0x40000  # of linux/sched.h and linux/mount.h
WAKING = re.compile(r"\[(\d+)\].* sched_waking: .*\bpid=(\d+)")
SWITCH = re.compile(r"\[(\d+)\].* sched_switch: .*\bnext_pid=(\d+)")
BUFFER_KB = 8192  # kB of trace buffer for each core


def count(lines: Any, threads: Iterable[int]) -> dict[str, Any]:
    """{"wake_ups", "across_cores"} of the lines of a trace. A wake-up is across cores when the
    thread runs on another core than the one that woke it."""
    woken_on, total, across = {}, 0, 0
    for line in lines:
        if (m := WAKING.search(line)) and int(m[2]) in threads:
            woken_on[int(m[2])] = int(m[1])
        elif (m := SWITCH.search(line)) and int(m[2]) in woken_on:
            total += 1
            across += woken_on.pop(int(m[2])) != int(m[1])
    return {"wake_ups": total, "across_cores": across}


def _mount_tracing() -> Any:
    """Mounts the tracing file system in a mount namespace of this process only."""
    libc = ctypes.CDLL(None, use_errno=True)
    folder = tempfile.mkdtemp(prefix="openwip-trace-")
    if (
        libc.unshare(_CLONE_NEWNS)
        or libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)
        or libc.mount(b"nodev", folder.encode(), b"tracefs", 0, None)
    ):
        error = os.strerror(ctypes.get_errno())
        os.rmdir(folder)
        raise OSError(f"tracefs cannot be mounted: {error}")
    return pathlib.Path(folder)


def _traced(threads: Iterable[int], seconds: float) -> Any:
    base = _mount_tracing()
    instance = base / "instances" / f"openwip-{os.getpid()}"
    instance.mkdir()
    try:
        (instance / "buffer_size_kb").write_text(str(BUFFER_KB))
        for event, field in (("sched_waking", "pid"), ("sched_switch", "next_pid")):
            folder = instance / "events" / "sched" / event
            (folder / "filter").write_text("||".join(f"{field}=={t}" for t in threads))
            (folder / "enable").write_text("1")
        time.sleep(seconds)
        (instance / "tracing_on").write_text("0")
        with open(instance / "trace") as f:
            return count(f, set(threads))
    finally:
        (instance / "events" / "enable").write_text("0")
        instance.rmdir()


def measure(threads: Iterable[int], seconds: float) -> Any:
    """The result of count() over so many seconds, or {"error": why}. It runs in a child, whose
    mounts end with it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = _traced(threads, seconds)
        except OSError as e:
            answer = {"error": " ".join(str(e).split())}
        os.write(write, json.dumps(answer).encode())
        os._exit(0)
    os.close(write)
    with open(read, "rb") as f:
        data = f.read()
    os.waitpid(child, 0)
    return json.loads(data) if data else {"error": "the tracing process died"}
