# SPDX-License-Identifier: GPL-3.0-or-later
"""The files at which a medium and its radios meet, by the medium's name
(channels/air/meeting_place.h): a socket at which the medium hands its memory over, and a lock that
its process holds for as long as it lives. The memory itself has no name and ends with the processes
that have mapped it."""

import contextlib
import fcntl
import os
import pathlib
from collections.abc import Iterator


def folder(user: int | None = None) -> pathlib.Path:
    """The folder of a user's media; without a user, of this process's user."""
    user = os.geteuid() if user is None else user
    if user == 0:
        return pathlib.Path("/run/openwip-air")
    login = pathlib.Path(f"/run/user/{user}")
    with contextlib.suppress(OSError):
        if login.is_dir() and not login.is_symlink() and login.stat().st_uid == user:
            return login / "openwip-air"
    return pathlib.Path(f"/tmp/openwip-air-{user}")


def socket_of(name: str, user: int | None = None) -> pathlib.Path:
    return folder(user) / f"{name}.socket"


def lock_of(name: str, user: int | None = None) -> pathlib.Path:
    return folder(user) / f"{name}.lock"


@contextlib.contextmanager
def _only_holder(name: str) -> Iterator[bool]:
    """True inside if no process holds the name; nobody can take it meanwhile."""
    try:
        lock = os.open(lock_of(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        yield True
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(lock)


def left(name: str) -> list[pathlib.Path]:
    """Files of this user's medium of that name whose process has gone."""
    with _only_holder(name) as free:
        return [path for path in (socket_of(name), lock_of(name)) if free and path.exists()]


def remove(name: str) -> None:
    """Removes the files that left() finds."""
    with _only_holder(name) as free:
        for path in (socket_of(name), lock_of(name)) if free else ():
            with contextlib.suppress(OSError):
                path.unlink()
