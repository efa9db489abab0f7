# SPDX-License-Identifier: GPL-3.0-or-later
"""What the launcher asks of Linux: process identity, namespaces, death signals."""
import contextlib
import ctypes
import os
import pathlib
import pwd
import select
import signal
import subprocess
import time

from .errors import BadInput

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15
TICKS = os.sysconf("SC_CLK_TCK")


def die_with_parent(parent, signum=signal.SIGTERM):
    """In a forked child: get `signum` when the parent ends, however it ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signum, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def set_process_name(name):
    _libc.prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0)


def _stat_fields(pid):
    """Fields of /proc/PID/stat from the third on, or None; the name may hold anything."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text[text.rindex(")") + 2:].split()


def start_time(pid):
    """Together with the pid this identifies a process for ever; None if there is none (or a zombie)."""
    fields = _stat_fields(pid)
    return None if fields is None or fields[0] in "ZX" else int(fields[19])


def has_realtime_thread(pid):
    """The kernel grants one of its threads real-time priority (SCHED_FIFO); None: there is no such process."""
    try:
        policies = [os.sched_getscheduler(int(t)) for t in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return None
    return any(p & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO for p in policies)


def cpu_seconds(pid):
    """User and system time of all threads of a process so far."""
    fields = _stat_fields(pid)
    return None if fields is None else (int(fields[11]) + int(fields[12])) / TICKS


def kill_all(processes, grace=1.0):
    """End (pid, start time) pairs: SIGTERM, and SIGKILL for what is left after `grace` seconds.
    A pid that was given to another process meanwhile is left alone."""
    alive = []
    for pid, started in processes:
        try:
            fd = os.pidfd_open(pid)
        except OSError:
            continue
        if start_time(pid) == started:
            alive.append(fd)
        else:
            os.close(fd)
    for signum, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 1.0)):
        for fd in alive:
            try:
                signal.pidfd_send_signal(fd, signum)
            except OSError:
                pass
        deadline = time.monotonic() + patience
        while alive and (left := deadline - time.monotonic()) > 0:
            done, _, _ = select.select(alive, [], [], left)
            for fd in done:
                alive.remove(fd)
                os.close(fd)
    for fd in alive:
        os.close(fd)


def namespace_file(name):
    return pathlib.Path("/run/netns", name)


def namespace_exists(name):
    return namespace_file(name).exists()


def processes_in_namespace(name):
    """(pid, start time) of every process whose network namespace is this one."""
    try:
        wanted = os.stat(namespace_file(name))
    except OSError:
        return []
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                its = os.stat(f"/proc/{entry}/ns/net")
            except OSError:
                continue
            if (its.st_dev, its.st_ino) == (wanted.st_dev, wanted.st_ino):
                started = start_time(int(entry))
                if started is not None:
                    found.append((int(entry), started))
    return found


def ip(*arguments):
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise BadInput(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def make_namespace(name):
    ip("netns", "add", name)
    ip("-n", name, "link", "set", "lo", "up")
    # Nobody asked for IPv6 on the link, and its neighbour and router messages would be in every count.
    subprocess.run(["ip", "netns", "exec", name, "sh", "-c",
                    "for f in all default; do echo 1 > /proc/sys/net/ipv6/conf/$f/disable_ipv6; done"],
                   capture_output=True)


def delete_namespace(name):
    subprocess.run(["ip", "netns", "del", name], capture_output=True)


ACCOUNT = "openwip"      # made by ./openwip setup


def account():
    """(name, uid, gid) that the processes of a cell become: their own, or `nobody` where it has not been made."""
    for name in (ACCOUNT, "nobody"):
        with contextlib.suppress(KeyError):
            found = pwd.getpwnam(name)
            return name, found.pw_uid, found.pw_gid
    raise BadInput(f"there is neither an account {ACCOUNT} nor nobody: run ./openwip setup as root")


def require_root():
    if os.geteuid() != 0:
        raise BadInput("network namespaces and TUN interfaces need root: run it with sudo")


def require_tun():
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC))
    except FileNotFoundError:
        raise BadInput("/dev/net/tun does not exist: the kernel has no TUN (modprobe tun), or the "
                       "container was started without --device /dev/net/tun") from None
    except OSError as e:
        raise BadInput(f"/dev/net/tun cannot be opened ({e.strerror}): in a container, start it with "
                       "--device /dev/net/tun --cap-add NET_ADMIN") from None
