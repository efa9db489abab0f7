# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders and files that are there for a while; what killed processes have left of theirs goes with
the next one."""

import contextlib
import fcntl
import os
import pathlib
import shutil
import tempfile
import time
from collections.abc import Iterator

PREFIX = "openwip-run-"
NEW_S = 60  # seconds during which a new folder may not be locked yet


@contextlib.contextmanager
def locked(path: pathlib.Path | str) -> Iterator[None]:
    """This process's, however it ends. Raises BlockingIOError: somebody else's."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(fd)


@contextlib.contextmanager
def folder() -> Iterator[pathlib.Path]:
    with tempfile.TemporaryDirectory(prefix=PREFIX) as made, locked(made):
        for left in pathlib.Path(made).parent.glob(f"{PREFIX}*"):
            with contextlib.suppress(OSError):  # BlockingIOError among them
                if not left.is_symlink() and time.time() - left.stat().st_mtime > NEW_S:
                    with locked(left):
                        shutil.rmtree(left)
        yield pathlib.Path(made)


@contextlib.contextmanager
def file(text: str) -> Iterator[str]:
    with folder() as made:
        path = made / "config.yaml"
        path.write_text(text)
        yield str(path)
