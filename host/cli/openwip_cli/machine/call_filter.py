# SPDX-License-Identifier: GPL-3.0-or-later
"""System calls that the kernel takes from a process that reads a file of somebody else's (seccomp):
host/trace/call_filter.h in Python, from the same table, for the same reason."""

import ctypes
import errno
import os
import pathlib
import platform
import struct

CALLS = pathlib.Path(__file__).with_name("reading_calls.tsv")
# Column of the table, AUDIT_ARCH, and the number of seccomp().
PROCESSORS = {"x86_64": (1, 0xC000003E, 317), "aarch64": (2, 0xC00000B7, 277)}
_SET_MODE_FILTER, _OF_ALL_THREADS, _PR_SET_NAME = 1, 1, 15
# Steps of a filter: code, steps to leave out where it is so and where not, number.
_LOAD, _IS_EQUAL, _ANSWER = 0x20, 0x15, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_STEP = "=HBBI"
_ALLOW, _REFUSE, _KILL_PROCESS = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = [("steps", ctypes.c_ushort), ("step", ctypes.c_char_p)]


def calls(processor: str) -> dict[str, tuple[int, str]]:
    """The permitted system calls by name: number and what the first argument has to be."""
    column = PROCESSORS[processor][0]
    rows = (
        line.split("\t")
        for line in CALLS.read_text().splitlines()
        if line and not line.startswith("#")
    )
    return {
        row[0]: (int(row[column]), row[3] if len(row) > 3 else "")
        for row in rows
        if row[column] != "-"
    }


def reading_calls_only() -> bytes:
    """The filter of this process, to be installed when the table cannot be opened any more; empty:
    of a processor that has none here."""
    processor = platform.machine()
    if processor not in PROCESSORS:
        return b""
    wanted = {"zero": 0, "itself": os.getpid(), "name": _PR_SET_NAME}
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_IS_EQUAL, 1, 0, PROCESSORS[processor][1]),
        (_ANSWER, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    for number, first in calls(processor).values():
        if first:
            steps += [
                (_IS_EQUAL, 0, 4, number),
                (_LOAD, 0, 0, _FIRST_ARGUMENT_AT),
                (_IS_EQUAL, 1, 0, wanted[first]),
                (_ANSWER, 0, 0, _REFUSE),
            ]
        else:
            steps.append((_IS_EQUAL, 0, 1, number))
        steps.append((_ANSWER, 0, 0, _ALLOW))
    steps.append((_ANSWER, 0, 0, _REFUSE))
    return b"".join(struct.pack(_STEP, *step) for step in steps)


def install(made: bytes) -> None:
    """Installs the filter: from now on every thread of this process has its system calls and no
    others, which fail with EPERM. Where the kernel has no filters nothing happens. Raises
    OSError."""
    if not made:
        return
    program = _Program(len(made) // struct.calcsize(_STEP), made)
    refused = _libc.syscall(
        ctypes.c_long(PROCESSORS[platform.machine()][2]),
        ctypes.c_long(_SET_MODE_FILTER),
        ctypes.c_long(_OF_ALL_THREADS),
        ctypes.byref(program),
    )
    code = ctypes.get_errno()
    if refused != 0 and not (refused < 0 and code in (errno.ENOSYS, errno.EINVAL)):
        raise OSError(
            code if refused < 0 else 0,
            "the kernel refuses the filter of system calls (seccomp) of the process that reads a"
            " file",
        )
