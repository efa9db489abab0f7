# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that a command was asked to write: refused before anything is done, written whole or not at all."""
import contextlib
import json
import os
import pathlib
import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import Any, TextIO

from ..errors import BadInput, NotWritten


def check(flag: str, path: pathlib.Path | str, *others: pathlib.Path | str | None) -> pathlib.Path:
    """BadInput for a file that cannot be made or replaced. `others`: what the command reads, and what else it writes, which would be lost."""
    target = pathlib.Path(path).absolute()
    try:
        same = target.is_file() or not target.exists()       # not of a device
        why = ("it is a directory" if target.is_dir() else
               "that file is given twice" if same and target.resolve() in (pathlib.Path(o).resolve() for o in others if o) else
               f"there is no directory {target.parent}" if not target.parent.is_dir() else
               None if os.access(target if target.exists() else target.parent, os.W_OK) else "that is not allowed")
    except OSError as e:        # a name that is too long, a folder that is not ours to look into
        why = e.strerror or str(e)
    if why:
        raise BadInput(f"{flag} {path}: cannot be written: {why}; valid: a file in a folder that is writable")
    return target


def check_folder(flag: str, path: pathlib.Path | str) -> None:
    """It is made, if it is not there."""
    try:
        pathlib.Path(path).mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError("that is not allowed")
    except OSError as e:
        raise BadInput(f"{flag} {path}: cannot be written: {e.strerror or e}; valid: a folder that is writable") from None


def apart(given: Namespace, *names: str) -> None:
    """Options whose files are all other ones, and can be written but for --config."""
    for n, name in enumerate(names):
        if (path := getattr(given, name)) not in (None, "-") and name != "config":
            check(f"--{name}", path, *(getattr(given, other) for other in names[:n]))


def _stream(target: pathlib.Path) -> TextIO | None:
    """Standard output or error, by whatever name (/dev/stdout)."""
    with contextlib.suppress(OSError):
        return next((s for fd, s in ((1, sys.stdout), (2, sys.stderr)) if os.path.samestat(os.fstat(fd), target.stat())), None)
    return None


def fresh(flag: str, path: pathlib.Path | str | None) -> None:
    """A run that dies must not leave the report of the run before it."""
    if path is not None and path != "-" and (target := check(flag, path)).is_file() and not _stream(target):
        if target.is_symlink():
            os.truncate(target, 0)
        else:
            target.unlink()


def write_whole(path: pathlib.Path | str, text: str) -> None:
    """Raises OSError; not into what is no file (a device, a pipe, a link), which is written as it is."""
    target = pathlib.Path(path)
    if stream := _stream(target):
        stream.write(text)
        return
    if target.is_symlink() or (target.exists() and not target.is_file()):
        target.write_text(text, encoding="utf-8")
        return
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(partial, "x", encoding="utf-8") as f:     # whatever else stands at that name is somebody's
            f.write(text)
        partial.replace(target)
    except FileExistsError:
        raise
    except (OSError, ValueError):
        partial.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def writing(flag: str, path: pathlib.Path | str) -> Iterator[pathlib.Path]:
    """A file of the report, after the screen: whatever keeps it from being written is NotWritten."""
    try:
        yield pathlib.Path(path)
    except OSError as e:
        raise NotWritten(f"{flag} {path}: cannot be written: {e.strerror or e}") from None


def write_json(path: pathlib.Path | str | None, result: dict[str, Any], indent: int = 2) -> None:
    """The report of --json FILE; "-": to standard output, None: nowhere."""
    text = json.dumps(result, indent=indent)
    if path == "-":
        print(text)
    elif path:
        with writing("--json", path):
            write_whole(path, text + "\n")
