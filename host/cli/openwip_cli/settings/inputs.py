# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that a run reads because its settings name them: a trace of SNR, a channel definition and
what that is based on, code of the user's own. What they hold decides the outcome as the settings do, so it is part of the
identity of a run."""

import functools
import hashlib
import os
import pathlib
import stat
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import BadInput
from ..text import of_file, of_yaml
from .kinds import CODE, ChoiceOrFile, TextOrFile, file_of, with_file
from .table import Setting

# ending of a channel definition, which may be based on another one
# (channels/profiles/channel_definition.cpp)
DEFINITION = ".yaml"


def that_name_files(settings: Iterable[Setting]) -> list[Setting]:
    """Settings of the table with a value that can be a file's name."""
    return [s for s in settings if isinstance(s.kind, (ChoiceOrFile, *CODE, TextOrFile))]


def that_name_code(settings: Iterable[Setting]) -> list[Setting]:
    """The settings whose value can be code of the user's own."""
    return [s for s in settings if isinstance(s.kind, CODE)]


def for_process(values: dict[str, Any], settings: Iterable[Setting]) -> dict[str, Any]:
    """The values as a process is given them, which works in another folder than the command: code
    of the user's own with the whole path of its file."""
    return under(values, that_name_code(settings), pathlib.Path.cwd())


def names_of(values: dict[str, Any], settings: Iterable[Setting]) -> dict[str, str]:
    """{key: name of a file} of the settings that name one."""
    return {
        s.key: name
        for s in settings
        if s.key in values and (name := file_of(s.kind, values[s.key])) is not None
    }


def under(values: dict[str, Any], settings: Iterable[Setting], top: pathlib.Path) -> dict[str, Any]:
    """The values with the whole paths of the files that they name, which are relative to `top`."""
    kinds = {s.key: s.kind for s in settings}
    return values | {
        key: with_file(kinds[key], values[key], str(top / name))
        for key, name in names_of(values, settings).items()
    }


def hashes(
    values: dict[str, Any], settings: Iterable[Setting], top: pathlib.Path, whose: str = ""
) -> dict[str, str]:
    """{name: SHA-256} of every file. A name is the one in the settings, from the top of the tree or
    absolute; a file on which another is based has its own. BadInput: it cannot be read; `whose`
    begins that line."""
    return {
        name: content
        for key, first in names_of(values, settings).items()
        for name, content in chain(first, top, f"{whose}{key} is {first!r}")
    }


def chain(name: str, top: pathlib.Path, where: str) -> Iterator[tuple[str, str]]:
    seen: list[str] = []
    while name and name not in seen:
        seen.append(name)
        path = top / name
        try:
            about = path.stat()
            content, base = look_into(
                path, name.endswith(DEFINITION), about.st_ino, about.st_size, about.st_mtime_ns
            )
        except (OSError, ValueError) as e:
            why = getattr(e, "strerror", None) or e
            raise BadInput(
                f"{where}: {path}: {why}; valid: a file that can be read, by an absolute path or"
                " one relative to the folder of OpenWIP"
            ) from None
        yield name, content
        name = base if not base or base.startswith("/") else name[: name.rfind("/") + 1] + base


@functools.lru_cache(maxsize=1024)
def look_into(path: pathlib.Path, is_definition: bool, *_: int) -> tuple[str, str]:
    """The SHA-256 of a file, and the file that a definition is based on; empty: none. `_`: the
    state of the file, so that another content has another entry in the cache."""
    found = hashlib.sha256()
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as f:
        if not stat.S_ISREG(os.fstat(f.fileno()).st_mode):
            raise ValueError("it is not a regular file")
        while block := f.read(1 << 20):
            found.update(block)
    return found.hexdigest(), based_on(path) if is_definition else ""


def based_on(path: pathlib.Path) -> str:
    """Empty: on none, or on a channel that the programs have built in. What is no definition the
    process refuses."""
    tree = of_yaml(of_file(path))
    base = tree.get("based_on") if isinstance(tree, dict) else None
    return base if isinstance(base, str) and ("/" in base or base.endswith(DEFINITION)) else ""
