# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that a command was asked to write: refused before anything is done, written whole or not at all."""
import contextlib
import json
import os
import pathlib
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from ..errors import BadInput, NotWritten


def check(flag: str, path: pathlib.Path | str, *others: pathlib.Path | str | None) -> pathlib.Path:
    """BadInput for a file that cannot be made or replaced. `others`: what the command reads, and what else it writes, which would be lost."""
    target = pathlib.Path(path).absolute()
    same = target.is_file() or not target.exists()       # not of a device
    why = ("it is a directory" if target.is_dir() else
           "that file is given twice" if same and target.resolve() in (pathlib.Path(o).resolve() for o in others if o) else
           f"there is no directory {target.parent}" if not target.parent.is_dir() else
           None if os.access(target if target.exists() else target.parent, os.W_OK) else "that is not allowed")
    if why:
        raise BadInput(f"{flag} {path}: cannot be written: {why}; valid: a file in a folder that is writable")
    return target


def apart(given: Namespace, *names: str) -> None:
    """Options whose files are all other ones, and can be written but for --config."""
    for n, name in enumerate(names):
        if (path := getattr(given, name)) not in (None, "-") and name != "config":
            check(f"--{name}", path, *(getattr(given, other) for other in names[:n]))


def fresh(flag: str, path: pathlib.Path | str | None) -> None:
    """A run that dies must not leave the report of the run before it."""
    if path is not None and path != "-" and (target := check(flag, path)).is_file():
        target.unlink()


def write_whole(path: pathlib.Path | str, text: str) -> None:
    """Raises OSError; not into what is no file (a device, a pipe), which is written as it is."""
    target = pathlib.Path(path)
    if target.exists() and not target.is_file():
        target.write_text(text, encoding="utf-8")
        return
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(target)
    except OSError:
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
