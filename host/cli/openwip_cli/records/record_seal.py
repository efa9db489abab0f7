# SPDX-License-Identifier: GPL-3.0-or-later
"""The first 512 bytes of a run record (an HDF5 user block): what it is, in which version, and the
checksum of the rest, or, while it is written and after its recorder was killed, that there is none
yet. If a write failed, the error stands here, too: there is room for it when a disk is full. The checksum finds what was truncated or damaged on its way. It is no signature: a program that
changes a file can write the right one, and nothing may trust a file for having it. Records are read
without rights (machine/confined.py), whatever stands here."""

import contextlib
import errno
import fcntl
import hashlib
import os
import pathlib
from typing import BinaryIO, NamedTuple

from ..errors import BadInput
from ..machine import confined

FORMAT, FORMAT_VERSION = "openwip-run-record", 1
BEFORE = b"OWIPSES"  # first bytes of the files that earlier releases of the monitor recorded
SIZE = 512  # bytes
PART = ".part"  # ending of the name while the recorder is at work
WRITTEN_BY = "valid: a file of ./openwip record or --record"


class Journal(NamedTuple):
    """Pages that are to be copied to their places before the file is read
    (records/record_storage.py)."""

    offset: int
    pages: int
    sha256: str


def _digest(f: BinaryIO) -> str:
    digest = hashlib.sha256()
    f.seek(SIZE)
    while part := f.read(1 << 20):
        digest.update(part)
    return digest.hexdigest()


def _first_line() -> str:
    return f"{FORMAT} {FORMAT_VERSION}\n"


def _block(digest: str, error: int = 0) -> bytes:
    return f"{_first_line()}sha256 {digest}\n{_error_line(error)}".encode().ljust(SIZE, b"\0")


def unsealed_block(journal: Journal | None = None, error: int = 0) -> bytes:
    """`error`: errno of the write that ended the record, or 0."""
    more = "" if journal is None else f"journal {journal.offset} {journal.pages} {journal.sha256}\n"
    return f"{_first_line()}unsealed\n{more}{_error_line(error)}".encode().ljust(SIZE, b"\0")


def _error_line(error: int) -> str:
    # by name: the numbers of another processor are other ones
    return f"error {errno.errorcode[error]}\n" if error in errno.errorcode else ""


def _lines(block: bytes) -> list[str]:
    """The lines of text in the block, without those of its format and state."""
    return block.rstrip(b"\0").decode(errors="replace").splitlines()[2:]


def error_of(block: bytes) -> int:
    """errno of the write that ended the record; 0: none is known."""
    if not block.startswith(_first_line().encode()):
        return 0
    names = [line.removeprefix("error ") for line in _lines(block) if line.startswith("error E")]
    return next((code for code, name in errno.errorcode.items() if name in names[-1:]), 0)


def note_error(fd: int, error: int) -> None:
    """Writes the error of a failed write into the first block of an unsealed record, whose journal
    stays. Raises OSError."""
    block = os.pread(fd, SIZE, 0)
    if is_unsealed(block):
        os.pwrite(fd, unsealed_block(journal_of(block), error), 0)
        os.fsync(fd)


def why_unsealed(error: int) -> str:
    """A clause about why a record ended before its seal. `error`: error_of()."""
    if error in (errno.ENOSPC, errno.EDQUOT):
        return "the disk was full"
    return f"it could not be written ({os.strerror(error)})" if error else "its recorder was killed"


def is_unsealed(block: bytes) -> bool:
    return block.startswith(f"{_first_line()}unsealed\n".encode())


def journal_of(block: bytes) -> Journal | None:
    """The journal that an unsealed record's first block names."""
    words = _lines(block)[:1]
    fields = words[0].split(" ") if is_unsealed(block) and words else []
    if (
        len(fields) != 4
        or fields[0] != "journal"
        or not all(w.isascii() and w.isdecimal() and len(w) < 16 for w in fields[1:3])
    ):
        return None
    return Journal(int(fields[1]), int(fields[2]), fields[3])


def seal(path: pathlib.Path | str) -> None:
    """Adds the seal; call it after everything else has been written."""
    with open(path, "r+b") as f:
        error = error_of(f.read(SIZE))
        block = _block(_digest(f), error)
        f.seek(0)
        f.write(block)
        f.flush()
        os.fsync(f.fileno())


def is_record(path: pathlib.Path | str) -> bool:
    """Whether the first word of the file is that of a record."""
    try:
        with os.fdopen(confined.opened(path), "rb") as f:
            return f.read(len(FORMAT) + 1) == f"{FORMAT} ".encode()
    except OSError:
        return False


def is_at_work(fd: int) -> bool:
    """Does a recorder hold the file?"""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(fd, fcntl.LOCK_UN)
    return False


def left_by(part: pathlib.Path | str) -> str:
    """A sentence that says why a record is unfinished."""
    with contextlib.suppress(OSError):
        with open(confined.opened(part), "rb") as f:
            if is_at_work(f.fileno()):
                return "another recorder is at work"
            if error := error_of(f.read(SIZE)):
                return f"what a recorder left, as {why_unsealed(error)}"
    return "what a recorder left that was killed"


def opened(path: pathlib.Path | str) -> BinaryIO:
    """The file; BadInput unless it is a whole record of a version that is known, or one whose
    recorder was killed."""
    with contextlib.ExitStack() as unless_good:
        try:
            f = unless_good.enter_context(os.fdopen(confined.opened(path), "rb"))
            block = f.read(SIZE)
            if block.startswith(BEFORE):
                raise BadInput(
                    f"{path} is a session file of an earlier monitor, which this version cannot"
                    f" read; {WRITTEN_BY}"
                )
            if not block.startswith(f"{FORMAT} ".encode()):
                if block[:256] == bytes(256):
                    raise BadInput(
                        f"{path} is not a complete run record: its recorder was killed, or is"
                        " still running;"
                        f" {WRITTEN_BY}"
                    )
                raise BadInput(f"{path} is no run record; {WRITTEN_BY}")
            version = block.split(b"\n", 1)[0].decode(errors="replace").split(" ", 1)[1]
            if version.isdigit() and version != str(FORMAT_VERSION):
                raise BadInput(
                    f"{path} has format version {version}; valid: {FORMAT_VERSION} (a newer OpenWIP"
                    " reads newer ones)"
                )
            if is_unsealed(block):
                if is_at_work(f.fileno()):
                    raise BadInput(
                        f"{path} is being recorded now; valid: a record whose recorder has ended"
                    )
            elif block != _block(_digest(f), error_of(block)):
                raise BadInput(
                    f"{path} is truncated or was changed, as its checksum is wrong; valid: a run"
                    " record as it was written"
                )
            unless_good.pop_all()
        except OSError as e:
            hint = ""
            if isinstance(e, FileNotFoundError) and os.path.exists(f"{path}{PART}"):
                hint = f"; {path}{PART} is there: {left_by(f'{path}{PART}')}"
            raise BadInput(f"{path}: {e.strerror}{hint}") from None
    return f
