# SPDX-License-Identifier: GPL-3.0-or-later
"""An attacker that runs as the user nobody beside a medium or a whole cell of root's. In a loop, as
fast as it can, it tries everything by which that user might own, enter, read or replace what
belongs to the cell. It prints a line for each attack that succeeds, and at its end how often it
tried.

usage: rogue_user.py NAME FOLDER [--inside PATH...] [--shared FOLDER --files NAME...]
       [--programs END...] [--namespaces NAME...]

It runs until standard input is closed. NAME is the name of the cell, FOLDER the folder of root's
that has the medium's control socket, and --inside names files in it. --shared is a folder in which
every user may make files, and --files names those that the cell makes there."""

import argparse
import contextlib
import ctypes
import fcntl
import os
import pathlib
import select
import socket
import sys

NOBODY = 65534  # user id
LIBC = ctypes.CDLL(None)  # os.setns came with Python 3.12
parser = argparse.ArgumentParser()
parser.add_argument("name")
parser.add_argument("folder")
parser.add_argument("--inside", nargs="*", default=["control", "air.yaml"], help="files of FOLDER")
parser.add_argument("--shared", help="a folder in which every user may make files")
parser.add_argument(
    "--files", nargs="*", default=[], help="names of the cell's files in the shared folder"
)
parser.add_argument(
    "--programs",
    nargs="*",
    default=["air"],
    help="ends of words in the command lines of the cell's processes",
)
parser.add_argument("--namespaces", nargs="*", default=[])
GIVEN = parser.parse_args()
NAME, FOLDER = GIVEN.name, GIVEN.folder
MEETING = "/run/openwip-air"
os.setgroups([])
os.setresgid(NOBODY, NOBODY, NOBODY)
os.setresuid(NOBODY, NOBODY, NOBODY)
os.umask(0)


def got(what):
    print(what, flush=True)


def take_the_name_of_shared_memory():
    """Makes or opens the file under which a medium once shared its memory. Making one is no
    success, since anybody may; it is one if a medium or a radio then maps it, which the test
    checks."""
    path = f"/dev/shm/openwip-air-{NAME}"
    for flags in (os.O_RDWR | os.O_CREAT | os.O_EXCL, os.O_RDWR):
        with contextlib.suppress(OSError):
            fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
            if os.fstat(fd).st_uid != NOBODY:
                got(f"opened {path}")
            os.close(fd)


def take_the_folder():
    for path in (MEETING, FOLDER):
        with contextlib.suppress(OSError):
            os.rename(path, path + ".x")
            got(f"renamed {path}")
        with contextlib.suppress(OSError):
            os.mkdir(path, 0o777)
            got(f"made {path}")
        with contextlib.suppress(OSError):
            os.symlink("/tmp", path)
            got(f"put a link at {path}")
    with contextlib.suppress(OSError):
        os.listdir(MEETING)
        got(f"listed {MEETING}")
    with contextlib.suppress(OSError):  # a process that can read the file could hold its locks
        os.close(os.open(MEETING, os.O_RDONLY | os.O_DIRECTORY))
        got(f"opened {MEETING}")


def take_the_files():
    for path in (
        f"{MEETING}/{NAME}.socket",
        f"{MEETING}/{NAME}.lock",
        *(f"{FOLDER}/{inside}" for inside in GIVEN.inside),
    ):
        for flags in (os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_CREAT | os.O_EXCL):
            with contextlib.suppress(OSError):
                fd = os.open(path, flags | os.O_NONBLOCK, 0o666)
                got(f"opened {path}")
                with contextlib.suppress(OSError):
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    got(f"locked {path}")
                os.close(fd)
        for name, action in (
            ("unlinked", os.unlink),
            ("renamed", lambda p: os.rename(p, p + ".x")),
            ("chmod of", lambda p: os.chmod(p, 0o666)),
            ("linked to", lambda p: os.link(p, f"/tmp/rogue-{os.getpid()}")),
            ("put a link at", lambda p: os.symlink("/etc/passwd", p)),
        ):
            with contextlib.suppress(OSError):
                action(path)
                got(f"{name} {path}")


def abstract_sockets():
    """The names, with their leading zero, of all that listen in this namespace and bear the name of
    the cell or of the product."""
    for line in pathlib.Path("/proc/net/unix").read_text().splitlines()[1:]:
        name = line.split()[-1]
        if name.startswith("@") and (NAME in name or "openwip" in name):
            yield "\0" + name[1:]


def enter_the_sockets():
    for path in (
        f"{MEETING}/{NAME}.socket",
        *(f"{FOLDER}/{inside}" for inside in GIVEN.inside),
        *abstract_sockets(),
    ):
        for kind in (socket.SOCK_SEQPACKET, socket.SOCK_STREAM):
            with socket.socket(socket.AF_UNIX, kind) as s, contextlib.suppress(OSError):
                s.settimeout(0.05)
                s.connect(path)
                got(f"connected to {path}")
                _, descriptors, _, _ = socket.recv_fds(s, 8192, 4)
                if descriptors:
                    got(f"{path} handed over {len(descriptors)} descriptors")
        if path.startswith("\0"):
            continue
        with (
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s,
            contextlib.suppress(OSError),
        ):
            s.bind(path)
            got(f"bound {path}")


def look_into_the_processes():
    for process in pathlib.Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if not any(word.endswith(end) for word in words for end in GIVEN.programs):
                continue
            if os.stat(process).st_uid == NOBODY:
                continue
            for part in ("fd", "map_files"):
                with contextlib.suppress(OSError):
                    for each in (process / part).iterdir():
                        got(f"saw {each.name} of {part}")
                        with contextlib.suppress(OSError):
                            os.close(os.open(each, os.O_RDWR))
                            got(f"opened {each}")
            with contextlib.suppress(OSError):
                with open(process / "mem", "rb"):
                    got(f"opened {process}/mem")
            with contextlib.suppress(OSError):
                os.kill(int(process.name), 0)
                got(f"may send signals to {process.name}")


def take_what_is_written():
    """Files in a folder where everybody may make some. This user's own are no success; the cell's
    opened, replaced or removed are. While the cell writes, links and FIFOs stand at the names that
    its files will get: they may be replaced, and nothing may be written through them. (Before a
    run they make the command refuse its target.)"""
    if GIVEN.shared is None:
        return
    running = False
    with contextlib.suppress(OSError):
        for name in os.listdir(GIVEN.shared):
            path = os.path.join(GIVEN.shared, name)
            with contextlib.suppress(OSError):
                if os.lstat(path).st_uid == NOBODY:
                    os.unlink(path)
                    continue
            running = True
            for flags in (os.O_RDONLY, os.O_WRONLY):
                with contextlib.suppress(OSError):
                    os.close(os.open(path, flags | os.O_NONBLOCK))
                    got(f"opened {path}")
            for verb, action in (
                ("unlinked", os.unlink),
                ("renamed", lambda p: os.rename(p, p + ".x")),
                ("linked to", lambda p: os.link(p, f"{GIVEN.shared}/of-nobody-{os.getpid()}")),
            ):
                with contextlib.suppress(OSError):
                    action(path)
                    got(f"{verb} {path}")
    for turn, name in enumerate(GIVEN.files if running else []):
        path = os.path.join(GIVEN.shared, name)
        with contextlib.suppress(OSError):
            if (rounds + turn) % 2:
                os.symlink("/etc/openwip-of-nobody", path)
            else:
                os.mkfifo(path, 0o666)


def enter_the_namespaces():
    for name in GIVEN.namespaces:
        path = f"/run/netns/{name}"
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDONLY)
            if LIBC.setns(fd, 0) == 0:
                got(f"entered {path}")
            os.close(fd)
        with contextlib.suppress(OSError):
            os.unlink(path)
            got(f"unlinked {path}")


ATTACKS = (
    take_what_is_written,
    enter_the_namespaces,
    take_the_name_of_shared_memory,
    take_the_folder,
    take_the_files,
    enter_the_sockets,
    look_into_the_processes,
)
rounds = 0
print("begins", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    for attack in ATTACKS[:-1] if rounds % 50 else ATTACKS:
        attack()
    rounds += 1
for left in (f"/dev/shm/openwip-air-{NAME}",):
    with contextlib.suppress(OSError):
        os.unlink(left)
print(f"tried {rounds} times", flush=True)
