# SPDX-License-Identifier: GPL-3.0-or-later
"""The rights that a process of a cell has as root, and how it comes to have fewer
(docs/explanation/rights.md has the table).

The supervisor is root; what it starts gets, with limit(), a bounding set of the few capabilities that
the process needs, and no way to gain others. From there a process goes on itself: become_account(),
hold_only()."""

import contextlib
import ctypes
import errno
import os
import pathlib
import resource
import signal
from collections.abc import Iterable

from ..errors import BadInput
from . import call_filter, system

CAPABILITY = {
    "chown": 0,
    "dac_override": 1,
    "dac_read_search": 2,
    "kill": 5,
    "setgid": 6,
    "setuid": 7,
    "setpcap": 8,
    "net_bind_service": 10,
    "net_admin": 12,
    "net_raw": 13,
    "ipc_lock": 14,
    "sys_ptrace": 19,
    "sys_admin": 21,
    "sys_nice": 23,
}
# Root of a container, or of a service, may lack some of its rights. Without the first ones there is
# no cell; without the others there is one, and the missing rights are reported.
OF_A_CELL = {
    "kill": "to end processes that have become the account",
    "net_admin": "to make interfaces and addresses",
    "sys_admin": "to make network namespaces",
    "setuid": "to become the account",
    "setgid": "to become the account",
    "setpcap": "to give up rights",
    "chown": "to give the account its sockets",
    "dac_override": "to reach the account's sockets",
}
BETTER_WITH = {
    "sys_nice": "the slot path has no real-time priority",
    "ipc_lock": "the slot path's memory is not locked",
    "sys_ptrace": "who is in which namespace is not seen",
}
# To read the tree, make its sockets and files, take its priority, and give all of that up.
TO_BECOME_THE_ACCOUNT = ("chown", "dac_override", "setgid", "setuid", "setpcap", "sys_nice")
# The rights of a process that also listens at a port below 1024.
TO_BECOME_THE_ACCOUNT_AND_LISTEN = (*TO_BECOME_THE_ACCOUNT, "net_bind_service")
# it locks its memory before it becomes the account
SLOT_PATH = (*TO_BECOME_THE_ACCOUNT, "ipc_lock")
# Threads that UHD makes later take the priority of the slot path, and what they map is locked.
RADIO = ("sys_nice", "ipc_lock")
# The rights of wip_radio, which a user may start from a tree of their own.
RADIO_PROGRAM = (*RADIO, "dac_override")
REPLAY = (*RADIO, "sys_ptrace")  # its reports go to an unnamed file of the launcher's
# Only root can find out in which namespace a process is; the counters of an interface are read in
# its namespace; the control sockets of the stations are the account's alone.
VERDICT_MONITOR = ("dac_override", "sys_ptrace", "sys_admin")
VERDICT_MONITOR_AT_FIRST = (*VERDICT_MONITOR, "setpcap")
RECORDER = ("dac_override",)  # writes to the place that root names


def to_load(keep: tuple[str, ...], *folders: pathlib.Path | str) -> tuple[str, ...]:
    """`keep`, and what root needs to load itself from these folders: nothing, but where one is a
    user's alone (a home of mode 0700). UHD has threads from when it is loaded, and none of them
    gives up a right for another."""
    for folder in map(pathlib.Path, folders):
        for part in (folder.resolve(), *folder.resolve().parents):
            with contextlib.suppress(OSError):
                about = part.stat()
                if about.st_uid != 0 and not about.st_mode & 0o001:
                    return (*keep, "dac_override")
    return keep


_HIGHEST_PRIORITY = 10  # real-time priority of the slot path (blocks/os/realtime.h)
_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _VERSION_3 = 24, 38, 0x20080522
_libc = ctypes.CDLL(None, use_errno=True)


class _Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _Data(ctypes.Structure):
    _fields_ = [
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    ]


def _forbid_others(keep: Iterable[str]) -> None:
    """Neither this process nor what it executes ever gets a capability beyond `keep`."""
    kept = {CAPABILITY[name] for name in keep}
    for number in range(64):
        if number not in kept:
            _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot forbid new privileges (PR_SET_NO_NEW_PRIVS)")


def limit(keep: Iterable[str]) -> None:
    """Leaves no capabilities but `keep` to the program that this process executes; called between
    fork and exec. Where the kernel lets everybody take the slot path's priority, or lock memory, it
    needs no capability for that."""
    for what, most, capability in (
        (resource.RLIMIT_RTPRIO, _HIGHEST_PRIORITY, "sys_nice"),
        (resource.RLIMIT_MEMLOCK, resource.RLIM_INFINITY, "ipc_lock"),
    ):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (most, most))
            keep = [name for name in keep if name != capability]
    _forbid_others(keep)


def lock_memory() -> None:
    """Locks the memory of a process that keeps its rights, as blocks/os/memory_lock.h does. Raises
    OSError: nothing is locked."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(
            resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        )
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    if limit != resource.RLIM_INFINITY and not _permitted() >> CAPABILITY["ipc_lock"] & 1:
        # beyond that the kernel would refuse all that is mapped later
        raise OSError(errno.ENOMEM, f"{limit} bytes")
    if _libc.mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def require_for_a_cell() -> None:
    """BadInput names the rights that this root does not have, before anything is made."""
    system.require_root()
    held = _effective()
    if missing := [name for name in OF_A_CELL if not held >> CAPABILITY[name] & 1]:
        words = ", ".join(f"CAP_{name.upper()} ({OF_A_CELL[name]})" for name in missing)
        raise BadInput(
            f"the root account lacks the capabilities {words}, as in a container; valid: root with"
            " all capabilities, or a container that was started with --cap-add for each"
        )


def lacking() -> str | None:
    """The rights that a cell does without, and what that means; None: it has all of them."""
    held = _effective()
    return (
        ", ".join(
            f"no CAP_{name.upper()}: {what}"
            for name, what in BETTER_WITH.items()
            if not held >> CAPABILITY[name] & 1
        )
        or None
    )


def hold_only(keep: Iterable[str]) -> None:
    """Restricts this thread and those that it makes later: call it before the first one. Raises
    OSError."""
    _forbid_others(keep)
    mask = sum(1 << CAPABILITY[name] for name in keep) & _permitted()
    data = (_Data * 2)(
        _Data(mask & 0xFFFFFFFF, mask & 0xFFFFFFFF, 0), _Data(mask >> 32, mask >> 32, 0)
    )
    if _libc.capset(ctypes.byref(_Header(_VERSION_3, 0)), data) != 0:
        raise OSError(ctypes.get_errno(), "cannot set capabilities (capset)")


def _capabilities() -> "ctypes.Array[_Data]":
    data = (_Data * 2)()
    if _libc.capget(ctypes.byref(_Header(_VERSION_3, 0)), data) != 0:
        raise OSError(ctypes.get_errno(), "cannot read capabilities (capget)")
    return data


def _permitted() -> int:
    low, high = _capabilities()
    return int(low.permitted | high.permitted << 32)


def _effective() -> int:
    low, high = _capabilities()
    return int(low.effective | high.effective << 32)


def confine(memory: int, cpu_s: int) -> None:
    """Confines this process before a library that trusts its files reads a file of unknown origin.
    It becomes the account, without a capability, and keeps only the system calls that reading
    needs. Nothing can be opened, written or started any more, and no other process reached;
    `memory`: bytes beyond those that are mapped now."""
    parent = os.getppid()
    filtered = call_filter.reading_calls_only()
    _forbid_others(())
    become_account()
    system.die_with_parent(parent, signal.SIGKILL)
    mapped = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_AS, mapped + memory),
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_NOFILE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        # SIGXCPU comes a second before SIGKILL, so that the parent can tell by which it ended.
        resource.setrlimit(what, (max(most - 1, 0) if what == resource.RLIMIT_CPU else most, most))
    # the launcher's handlers would raise an exception
    for signum in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_DFL)
    # Ctrl-C ends the parent, and that ends this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    call_filter.install(filtered)


def become_account(follows: bool = True) -> None:
    """Makes all threads of this process the account's, for good. If its user is not root nothing
    happens. `follows`: the process ends with its parent."""
    if os.geteuid() != 0:
        return
    _, user, group = system.account()
    os.setgroups([])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)  # this gives up the capabilities, too
    if follows:
        system.die_with_parent(os.getppid())  # lost with the user
