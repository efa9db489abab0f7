# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that a command writes for its user: refused before anything is done, written whole or not
at all.

An output is written beside its name and gets the name once it is whole. What stood there stays
until then, and it stays when the command is refused, dies or finds the disk full. The folder is
held open from the walk to the rename, so nobody can put another one in its place. A link is
followed if this user, root or the caller of sudo made it. Another user's link, FIFO or device at
the name is replaced and never opened; another user's link on the way to the name is refused."""

import contextlib
import errno
import json
import os
import pathlib
import pwd
import stat
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, TextIO

from ..errors import BadInput, NotWritten

MOST_LINKS = 40  # links that are followed, as Linux does
_HELD = os.O_PATH | os.O_CLOEXEC
_NEW = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def _trusted() -> set[int]:
    """The users whose links are followed."""
    # in a user namespace root has another number: the owner of "/"
    found = {0, os.geteuid(), os.stat("/").st_uid}
    if os.geteuid() == 0 and (caller := os.environ.get("SUDO_UID", "")).isdecimal():
        found.add(int(caller))
    return found


def _user(uid: int) -> str:
    with contextlib.suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return str(uid)


class Place:
    """A name in a folder that is held open; or one of this process's descriptors (/dev/fd/3)."""

    def __init__(self, folder: int, name: str) -> None:
        self.folder, self.name = folder, name
        self.descriptor: int | None = None

    @property
    def about(self) -> os.stat_result | None:
        """The status of what stands at the name; None: nothing does."""
        if self.descriptor is not None:
            return os.fstat(self.descriptor)
        try:
            return os.stat(self.name or ".", dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    @property
    def path(self) -> pathlib.Path:
        """The name without any link in it."""
        return pathlib.Path(os.readlink(f"/proc/self/fd/{self.folder}"), self.name)

    @property
    def stream(self) -> TextIO | None:
        """Standard output or error, by whatever name (/dev/stdout)."""
        if (about := self.about) is not None:
            for fd, stream in ((1, sys.stdout), (2, sys.stderr)):
                with contextlib.suppress(OSError):
                    if os.path.samestat(os.fstat(fd), about):
                        return stream
        return None

    @property
    def is_written_as_it_is(self) -> bool:
        """A device, a pipe or a descriptor has no contents to be replaced. Another user's is
        replaced all the same."""
        about = self.about
        return self.descriptor is not None or (
            about is not None
            and not stat.S_ISREG(about.st_mode)
            and not stat.S_ISLNK(about.st_mode)
            and not stat.S_ISDIR(about.st_mode)
            and about.st_uid in _trusted()
        )


def _target(folder: int, name: str, last: bool, path: object) -> str | None:
    """The target of the link `name`; None: it is no link, or it is another user's at the end of the
    path."""
    try:
        link = os.open(name, _HELD | os.O_NOFOLLOW, dir_fd=folder)
    except FileNotFoundError:
        return None
    try:
        about = os.fstat(link)
        if not stat.S_ISLNK(about.st_mode):
            return None
        if about.st_uid in _trusted():
            return os.readlink("", dir_fd=link)
        if last:
            return None
        raise OSError(
            f"{name} on the way to {path} is a symbolic link of user {_user(about.st_uid)}, which"
            " is not followed"
        )
    finally:
        os.close(link)


@contextlib.contextmanager
def place_of(
    path: pathlib.Path | str, make: bool = False, mode: int = 0o777, keep: bool = True
) -> Iterator[Place]:
    """The place of an output. With `make` the path is a folder's, which is made where it is missing,
    with `mode`, and has no name left. Folders that were made here and are empty are removed again
    if the block fails, or without `keep`. Raises OSError."""
    words = os.path.join(os.getcwd(), os.fspath(path)).split("/") + ["."] * make
    folder, links = os.open("/", _HELD | os.O_DIRECTORY), 0
    made: list[tuple[int, str]] = []  # folders: the one around it, name
    good = False
    try:
        while True:
            word = words.pop(0)
            last = not words
            if word in ("", "."):
                if last:
                    yield Place(folder, "")
                    good = keep
                    return
                continue
            if (
                last
                and os.readlink(f"/proc/self/fd/{folder}") == f"/proc/{os.getpid()}/fd"
                and word.isdecimal()
            ):
                found = Place(folder, word)
                found.descriptor = int(word)
                yield found
                return
            target = _target(folder, word, last, path)
            if target is None and last:
                yield Place(folder, word)
                return
            if target is None:
                if make:
                    with contextlib.suppress(FileExistsError):
                        innermost = not any(w not in ("", ".") for w in words)
                        os.mkdir(word, mode if innermost else 0o777, dir_fd=folder)
                        made.append((os.dup(folder), word))
                inner = os.open(word, _HELD | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            else:
                links += 1
                if links > MOST_LINKS:
                    raise OSError(f"too many links on the way to {path}")
                words[:0] = target.split("/")
                if not target.startswith("/"):
                    continue
                inner = os.open("/", _HELD | os.O_DIRECTORY)
            os.close(folder)
            folder = inner
    finally:
        os.close(folder)
        for around, name in reversed(made):
            if not good:
                with contextlib.suppress(OSError):
                    os.rmdir(name, dir_fd=around)
            os.close(around)


def _is_one_of(place: Place, others: Iterable[pathlib.Path | str]) -> bool:
    """A file of `others` is meant, by this name or another one."""
    about = place.about
    for other in others:
        with contextlib.suppress(OSError):
            if about is not None and os.path.samestat(about, os.stat(other)):
                return True
            if place.path == pathlib.Path(other).resolve():
                return True
    return False


def _why_not(place: Place, name: str) -> str:
    """Why `name`, as the folder's entry, may not be written: by rights, or since nothing on its file
    system may (EROFS)."""
    with contextlib.suppress(OSError):
        fd = os.open(name, os.O_PATH | os.O_CLOEXEC, dir_fd=place.folder)
        try:
            if os.fstatvfs(fd).f_flag & os.ST_RDONLY:
                return "read-only file system"
        finally:
            os.close(fd)
    return "that is not allowed" + (" in its folder" if name == "." else "")


def _refusal(place: Place, others: Iterable[pathlib.Path | str]) -> str | None:
    about = place.about
    if about is not None and stat.S_ISDIR(about.st_mode):
        return "it is a directory"
    if place.is_written_as_it_is:
        return (
            None
            if place.descriptor is not None or os.access(place.name, os.W_OK, dir_fd=place.folder)
            else _why_not(place, place.name)
        )
    if _is_one_of(place, others):
        return "that file is given twice"
    if (
        about is not None
        and stat.S_ISREG(about.st_mode)
        and not os.access(place.name, os.W_OK, dir_fd=place.folder)
    ):
        return _why_not(place, place.name)
    return None if os.access(".", os.W_OK | os.X_OK, dir_fd=place.folder) else _why_not(place, ".")


def check(flag: str, path: pathlib.Path | str, *others: pathlib.Path | str | None) -> pathlib.Path:
    """BadInput for a file that cannot be made or replaced. `others`: the files that the command
    reads, and those that it writes as well, which would be lost. Nothing is touched. Returns the
    path without links."""
    try:
        with place_of(path) as place:
            if (why := _refusal(place, [o for o in others if o])) is None:
                return pathlib.Path(path).absolute() if place.is_written_as_it_is else place.path
    except (FileNotFoundError, NotADirectoryError):
        why = f"there is no directory {pathlib.Path(path).absolute().parent}"
    # The name is too long, or the folder may not be entered.
    except (OSError, ValueError) as e:
        why = getattr(e, "strerror", None) or str(e)
    raise BadInput(
        f"{flag} {path}: cannot be written: {why}; valid: a file in a folder that is writable"
    )


def checked(flag: str, path: pathlib.Path | str, *others: pathlib.Path | str | None) -> str:
    """The same, for a program that writes: the path as it was given, or without the links that are
    in it."""
    target = check(flag, path, *others)
    return str(path if target == pathlib.Path(path).absolute() else target)


def check_given(
    flag: str, path: pathlib.Path | str | None, *others: pathlib.Path | str | None
) -> None:
    """The same for an option that may be missing, or be standard output ("-")."""
    if path is not None and path != "-":
        check(flag, path, *others)


def check_folder(flag: str, path: pathlib.Path | str) -> None:
    """Checks that files can be written into a folder, or that it can be made. Nothing is left of a
    folder that is not there."""
    try:
        with place_of(path, make=True, keep=False) as place:
            if not os.access(".", os.W_OK | os.X_OK, dir_fd=place.folder):
                raise PermissionError(_why_not(place, ".").removesuffix(" in its folder"))
    except (OSError, ValueError) as e:
        raise BadInput(
            f"{flag} {path}: cannot be written: {getattr(e, 'strerror', None) or e}; valid: a"
            " folder that is writable"
        ) from None


def apart(given: Namespace, *names: str, inputs: Iterable[pathlib.Path | str | None] = ()) -> None:
    """Options whose files are all other ones, none of `inputs` (the files that are read), and can
    be written but for --config."""
    for n, name in enumerate(names):
        if (path := getattr(given, name)) not in (None, "-") and name != "config":
            check(f"--{name}", path, *inputs, *(getattr(given, other) for other in names[:n]))


def _file(fd: int, binary: bool) -> IO[Any]:
    return open(fd, "wb" if binary else "w", encoding=None if binary else "utf-8")


@contextlib.contextmanager
def _new_file(folder: int, name: str, mode: int, binary: bool) -> Iterator[IO[Any]]:
    """A file beside its name, which it gets when the block ends without an error; else nothing is
    left of it."""
    partial = f".{name}.{os.getpid()}.part"
    # whatever else stands at that name is somebody's
    fd = os.open(partial, _NEW | os.O_WRONLY, mode, dir_fd=folder)
    try:
        with _file(fd, binary) as f:
            yield f
        os.rename(partial, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial, dir_fd=folder)
        raise


@contextlib.contextmanager
def replacing(path: pathlib.Path | str, binary: bool = False) -> Iterator[IO[Any]]:
    """The file to write to; it replaces `path` in the way that the head of this module describes. A
    device, a pipe or a standard stream is written directly. Raises OSError."""
    with place_of(path) as place:
        if stream := place.stream:
            stream.flush()
            with _file(os.dup(1 if stream is sys.stdout else 2), binary) as f:
                yield f
        elif place.is_written_as_it_is:
            fd = (
                os.dup(place.descriptor)
                if place.descriptor is not None
                else os.open(
                    place.name,
                    os.O_WRONLY | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC,
                    dir_fd=place.folder,
                )
            )
            with _file(fd, binary) as f:
                yield f
        else:
            with _new_file(place.folder, place.name, 0o666, binary) as f:
                yield f


class NewFiles:
    """Files that another process writes to, by descriptors that are handed to it. They get their
    names, in the place of what stood there, when that process has begun; without, nothing is left
    of them."""

    def __init__(self, paths: Iterable[pathlib.Path | str]) -> None:
        """Raises OSError."""
        # The files that do not have their names yet: folder, partial name, name.
        self.folders: list[tuple[int, str, str]] = []
        self.fds: list[int] = []
        try:
            for path in paths:
                with place_of(path) as place:
                    partial = f".{place.name}.{os.getpid()}.part"
                    self.fds.append(os.open(partial, _NEW | os.O_RDWR, 0o666, dir_fd=place.folder))
                    self.folders.append((os.dup(place.folder), partial, place.name))
        except BaseException:
            self.close()
            raise

    def give_names(self) -> None:
        while self.folders:
            folder, partial, name = self.folders[0]
            os.rename(partial, name, src_dir_fd=folder, dst_dir_fd=folder)
            self.folders.pop(0)
            os.close(folder)

    def close(self) -> None:
        for folder, partial, _ in self.folders:
            with contextlib.suppress(OSError):
                os.unlink(partial, dir_fd=folder)
            os.close(folder)
        for fd in self.fds:
            os.close(fd)
        self.folders, self.fds = [], []

    def __enter__(self) -> "NewFiles":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def write_whole(path: pathlib.Path | str, text: str) -> None:
    """A file with this text. Raises OSError."""
    with replacing(path) as f:
        f.write(text)


def write_into(
    folder: pathlib.Path | str,
    files: Iterable[tuple[str, bytes]],
    inputs: Sequence[pathlib.Path | str] = (),
) -> None:
    """Files by their names into a folder, which is made if it is not there and some file can be
    written. Raises OSError; each file is whole or not there, and none of `inputs` is replaced."""
    with place_of(folder, make=True) as place:
        for name, data in files:
            if _is_one_of(Place(place.folder, name), inputs):
                raise OSError(errno.EEXIST, "that file is an input of the run", name)
            try:
                with _new_file(place.folder, name, 0o644, True) as f:
                    f.write(data)
            except OSError as e:
                raise OSError(e.errno, e.strerror, name) from None


@contextlib.contextmanager
def writing(flag: str, path: pathlib.Path | str) -> Iterator[pathlib.Path]:
    """A file of the report, after the screen: whatever keeps it from being written is
    NotWritten."""
    try:
        yield pathlib.Path(path)
    except OSError as e:
        raise NotWritten(f"{flag} {path}: cannot be written: {e.strerror or e}") from None


def say(json: str | None, text: str) -> None:
    """Text for people; none, where standard output is for the JSON of --json."""
    if json != "-":
        print(text, flush=True)


def write_json(path: pathlib.Path | str | None, result: dict[str, Any], indent: int = 2) -> None:
    """The result of --json[=FILE]; "-": to standard output, None: nowhere."""
    write_json_text(path, json.dumps(result, indent=indent) + "\n")


@contextlib.contextmanager
def json_lines(path: pathlib.Path | str | None) -> Iterator[IO[str] | None]:
    """Yields a file for the objects of --json[=FILE], one in each line; None: there is none."""
    if path is None or path == "-":
        yield sys.stdout if path else None
        return
    with writing("--json", path), replacing(path) as f:
        yield f


def write_json_text(path: pathlib.Path | str | None, text: str) -> None:
    """The same of what is JSON already: an object, or one in each line."""
    if path == "-":
        print(text, end="")
    elif path:
        with writing("--json", path):
            write_whole(path, text)
