# SPDX-License-Identifier: GPL-3.0-or-later
"""Results that a later command counts on: whole or as they were before, also where the power fails
meanwhile. Each is written beside its name, brought to the disk, and then given the name. (Reports
that a command was asked for: outputs.py.)"""

import contextlib
import errno
import json
import os
import pathlib
from collections.abc import Callable


def compact(value: object) -> str:
    """JSON in one line, as files have it that only programs read."""
    return json.dumps(value, separators=(",", ":")) + "\n"


def write(path: pathlib.Path, text: str, sync: bool = True) -> None:
    """Writes a file in one piece. `sync`: the former file is replaced only once the new one is on
    the disk. Raises OSError."""
    _write(path, text, sync, os.replace)


def write_new(path: pathlib.Path, text: str) -> bool:
    """Writes the file only if none is there. False: there is one, which stays. Raises OSError."""
    try:
        _write(path, text, True, _move)
    except FileExistsError as e:
        if e.filename2 is None:  # the temporary name is taken, perhaps by another user's file
            raise
        return False
    return True


def _write(
    path: pathlib.Path, text: str, sync: bool, move: Callable[[pathlib.Path, pathlib.Path], None]
) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with open(part, "x", encoding="utf-8") as f:
        try:
            f.write(text)
            f.flush()
            if sync:
                os.fsync(f.fileno())
            move(part, path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    if sync:
        # Some file systems cannot synchronise a folder, and return an error.
        with contextlib.suppress(OSError):
            folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def _move(part: pathlib.Path, path: pathlib.Path) -> None:
    """Renames `part` to `path` without ever replacing a file. Raises FileExistsError, which names
    both, if `path` exists."""
    try:
        os.link(part, path)
    except OSError as e:
        # a file system without hard links
        if e.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        if os.path.lexists(path):
            raise FileExistsError(
                errno.EEXIST, os.strerror(errno.EEXIST), str(part), None, str(path)
            ) from None
        part.rename(path)
    else:
        part.unlink(missing_ok=True)
