# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher's requests to Linux: process identity, namespaces, death signals."""

import contextlib
import ctypes
import functools
import json
import os
import pathlib
import pwd
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from ..errors import BadInput, cause_of
from . import procfs

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG, _PR_SET_NAME, _CLONE_NEWNET = 1, 15, 0x40000000
Made = TypeVar("Made")


def die_with_parent(parent: int, signum: int = signal.SIGTERM) -> None:
    """Has the kernel send `signum` to this process when its parent ends, however that ends; called
    in a forked child."""
    _libc.prctl(_PR_SET_PDEATHSIG, signum, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def follower() -> Callable[[], None]:
    """preexec_fn of a program that ends with this process, whatever ends that."""
    return functools.partial(die_with_parent, os.getpid())


def set_process_name(name: str) -> None:
    _libc.prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0)


# os and signal have these two since Python 3.9; the types of an older mypy do not know them.


def open_pidfd(pid: int) -> int:
    """A descriptor that is readable once the process has ended. Raises OSError: there is none."""
    return getattr(os, "pidfd_open")(pid)


def signal_pidfd(pidfd: int, signum: int) -> None:
    getattr(signal, "pidfd_send_signal")(pidfd, signum)


def wait_until(
    condition: Callable[[], object],
    timeout: float,
    every: float = 0.05,
    pause: Callable[[float], object] = time.sleep,
) -> bool:
    """condition() true within `timeout` seconds?"""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        pause(every)
    return True


def kill_all(processes: Iterable[tuple[int, int]], grace: float = 1.0) -> list[tuple[int, int]]:
    """End (pid, start time) pairs: SIGTERM, and SIGKILL for what is left after `grace` seconds.
    Returns those that could not be ended. A pid that was given to another process meanwhile is left
    alone."""
    alive = {}
    for pid, started in processes:
        try:
            fd = open_pidfd(pid)
        except OSError:
            continue
        if procfs.start_time(pid) == started:
            alive[fd] = (pid, started)
        else:
            os.close(fd)
    left = end_all(alive, grace, ended=os.close)
    for fd in left:
        os.close(fd)
    return [alive[fd] for fd in left if procfs.start_time(alive[fd][0]) == alive[fd][1]]


def end_all(
    pidfds: Iterable[int], grace: float, ended: Callable[[int], object], killed_s: float = 1.0
) -> list[int]:
    """SIGTERM, and SIGKILL for what is left after `grace` seconds; `ended(pidfd)` of each that is
    gone. Returns those that are still there `killed_s` seconds later."""
    left = list(pidfds)
    for signum, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, killed_s)):
        for fd in left:
            with contextlib.suppress(OSError):
                signal_pidfd(fd, signum)
        deadline = time.monotonic() + patience
        while left and (rest := deadline - time.monotonic()) > 0:
            done, _, _ = select.select(left, [], [], rest)
            for fd in done:
                left.remove(fd)
                ended(fd)
    return left


def holders(path: pathlib.Path | str, name: str) -> list[tuple[int, int]]:
    """(pid, start time) of every process of this name that has `path`, as the kernel calls it,
    open."""
    found = []
    for pid in procfs.pids():
        with contextlib.suppress(OSError):
            if procfs.name_of(pid) == name and any(
                os.readlink(f"/proc/{pid}/fd/{fd}") == path for fd in os.listdir(f"/proc/{pid}/fd")
            ):
                found.append(pid)
    return [(pid, started) for pid in found if (started := procfs.start_time(pid)) is not None]


def namespace_file(name: str) -> pathlib.Path:
    return pathlib.Path("/run/netns", name)


def namespace_exists(name: str) -> bool:
    return namespace_file(name).exists()


def identity_of(path: pathlib.Path | str) -> tuple[int, int] | None:
    """(device, inode), or None."""
    try:
        its = os.stat(path)
    except OSError:
        return None
    return its.st_dev, its.st_ino


def namespace_identity(name: str) -> tuple[int, int] | None:
    """The identity of the namespace with this name."""
    return identity_of(namespace_file(name))


def namespace_of(pid: int) -> tuple[int, int] | None:
    """Identity of the network namespace that a process is in; None: there is no such process."""
    return identity_of(f"/proc/{pid}/ns/net")


def in_namespace(name: str, make: Callable[[], Made]) -> Made:
    """The result of make(), called in this network namespace by this thread."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    descriptor = os.open(namespace_file(name), os.O_RDONLY | os.O_CLOEXEC)
    try:
        _enter(descriptor)
        try:
            return make()
        finally:
            _enter(home)
    finally:
        os.close(descriptor)
        os.close(home)


def _enter(namespace: int) -> None:
    if _libc.setns(namespace, _CLONE_NEWNET) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def processes_in_namespace(identity: tuple[int, int] | None) -> list[tuple[int, int]]:
    """(pid, start time) of every process in the network namespace of this identity."""
    pids = (
        [] if identity is None else [pid for pid in procfs.pids() if namespace_of(pid) == identity]
    )
    return [(pid, started) for pid in pids if (started := procfs.start_time(pid)) is not None]


def ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise BadInput(f"ip {' '.join(arguments)}: {cause_of('ip', done.returncode, done.stderr)}")
    return done.stdout


def make_namespace(name: str, mark: str) -> None:
    """`mark`: whose it is, written into the namespace itself, where only root can."""
    ip("netns", "add", name)
    in_namespace(name, switch_ipv6_off)  # while no interface is up yet
    ip("-n", name, "link", "set", "lo", "up", "alias", mark)


def switch_ipv6_off() -> None:
    """Switches IPv6 off in this thread's network namespace, for the interfaces that exist and those
    made later. Its neighbour, router and multicast messages would otherwise be in every count of a
    link that does not use it. Where /proc/sys cannot be written, the process of each interface
    switches it off, and warns if it cannot (host/tun/tun_device.cpp)."""
    for interfaces in ("default", "all"):
        with contextlib.suppress(OSError):
            pathlib.Path(f"/proc/sys/net/ipv6/conf/{interfaces}/disable_ipv6").write_text("1")


def mark_of(name: str) -> str | None:
    """The owner of this namespace, as make_namespace wrote it; None: somebody else's, or there is
    none."""
    done = subprocess.run(
        ["ip", "-n", name, "-j", "link", "show", "lo"], capture_output=True, text=True
    )
    with contextlib.suppress(ValueError, IndexError):
        return json.loads(done.stdout)[0].get("ifalias")
    return None


def delete_namespace(name: str) -> None:
    subprocess.run(["ip", "netns", "del", name], capture_output=True)


ACCOUNT = "openwip"  # made by ./openwip setup


def account() -> tuple[str, int, int]:
    """(name, uid, gid) that the processes of a cell become: their own, or `nobody` where it has not
    been made."""
    for name in (ACCOUNT, "nobody"):
        with contextlib.suppress(KeyError):
            found = pwd.getpwnam(name)
            return name, found.pw_uid, found.pw_gid
    raise BadInput(
        f"this computer has neither an account {ACCOUNT} nor an account nobody for the processes:"
        " run ./openwip setup as root"
    )


def give_to_account(folder: pathlib.Path, files: Iterable[pathlib.Path]) -> None:
    """Makes the account of the cells the owner of a folder of this process and of files in it;
    unless this is root, nothing happens. The folder is changed last: until then nobody else can put
    a link in the place of a file. Raises OSError."""
    if os.geteuid() != 0:
        return
    _, user, group = account()
    for path in (*files, folder):
        os.chown(path, user, group, follow_symlinks=False)


def require_root() -> None:
    if os.geteuid() != 0:
        raise BadInput("network namespaces and TUN interfaces need root: run the command with sudo")


def require_tun() -> None:
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC))
    except FileNotFoundError:
        raise BadInput(
            "/dev/net/tun does not exist: the kernel has no TUN (modprobe tun), or the "
            "container was started without --device /dev/net/tun"
        ) from None
    except OSError as e:
        raise BadInput(
            f"/dev/net/tun cannot be opened ({e.strerror}): in a container, start it with "
            "--device /dev/net/tun --cap-add NET_ADMIN"
        ) from None
