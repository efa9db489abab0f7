# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that root writes, appends to and believes, in folders where others may be about.

The run folder of a cell is root's, and the account of its processes may enter and read it, no more
(cell.py). These functions do not depend on that: whatever stands at a name, no link is followed,
nothing that is not a plain file of this user's is opened, and no open waits for somebody else (a
FIFO)."""

import contextlib
import os
import pathlib
import stat


class NotOurs(OSError):
    """There is something at the name, and it is not a plain file of this user's alone."""


def _checked(fd: int, path: pathlib.Path | str) -> int:
    """`fd`, if it is such a file; no other user writes to it, and it has no second name."""
    found = os.fstat(fd)
    if (
        not stat.S_ISREG(found.st_mode)
        or found.st_uid not in (0, os.geteuid())
        or found.st_mode & 0o022
        or found.st_nlink > 1
    ):
        os.close(fd)
        raise NotOurs(
            f"{path} is not a regular file of this user or root alone (other owner, writable for others, or"
            " a second hard link)"
        )
    return fd


def create(path: pathlib.Path | str, text: str | bytes, mode: int = 0o640) -> None:
    """A new file with this text (or these bytes); what stood at the name is gone. Returns nothing;
    raises OSError."""
    data = text if isinstance(text, bytes) else text.encode()
    for last in (False, True):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        try:
            fd = os.open(
                path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
            )
            break
        except FileExistsError:
            if last:
                raise
    with os.fdopen(fd, "wb") as f:
        f.write(data)
        os.fchmod(fd, mode)


def replace(path: pathlib.Path | str, text: str | bytes, mode: int = 0o640) -> None:
    """Writes the file as create() does, but other programs that read it meanwhile find the former
    content or the new one, complete."""
    partial = f"{path}.part"
    create(partial, text, mode)
    os.rename(partial, path)


def open_log(path: pathlib.Path | str, mode: int = 0o640) -> int:
    """A descriptor that appends: to one of ours, or to a new file. Raises OSError."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    with contextlib.suppress(OSError):
        return _checked(os.open(path, flags | os.O_NONBLOCK), path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return os.open(path, flags | os.O_CREAT | os.O_EXCL, mode)


def read(path: pathlib.Path | str, last_bytes: int | None = None) -> bytes:
    """The content of a file of ours (its last bytes). Raises OSError."""
    fd = _checked(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), path)
    with os.fdopen(fd, "rb") as f:
        if last_bytes is not None:
            f.seek(max(0, os.fstat(fd).st_size - last_bytes))
        return f.read()
