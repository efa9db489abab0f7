# SPDX-License-Identifier: GPL-3.0-or-later
"""The bytes of a run record on disk, so that a recorder may be killed at any moment, or lose its
power.

What commit() has written stays as it is until the next commit(): the HDF5 library changes bytes of
it in between (indexes, counts of rows), and those pages wait in memory. Bytes behind it go to the
file at once; nothing refers to them yet. commit() makes the library's present state the one that is
found:

  1  the pages that wait are appended to the file as a journal, and synchronised with the disk
  2  the first block of the file names the journal, and is synchronised: from here on the new state
     is what a reader finds
  3  the pages are copied to their places, synchronised, and the first block names no journal any
     more

A reader (View) of a file whose first block names a whole journal sees its pages in their places. A
journal that is not whole was never named in the first block, or is no longer needed."""

import contextlib
import fcntl
import hashlib
import io
import os
import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import record_seal
from .record_seal import SIZE, Journal

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

PAGE = 4096  # bytes
ENTRY = 8 + PAGE  # bytes of a journal entry: the number of the page and its content


def _rounded_up(size: int) -> int:
    return -(-size // PAGE) * PAGE


def _write_all(fd: int, data: "ReadableBuffer", at: int) -> None:
    view = memoryview(data).cast("B")
    done = 0
    while done < len(view):
        done += os.pwrite(fd, view[done:], at + done)


def journal_pages(fd: int) -> dict[int, bytes]:
    """The pages that the first block's journal has, by number; none without a whole one. Raises
    OSError."""
    journal, size = record_seal.journal_of(os.pread(fd, SIZE, 0)), os.fstat(fd).st_size
    if journal is None or journal.pages * ENTRY > size - journal.offset:
        return {}
    body = os.pread(fd, journal.pages * ENTRY, journal.offset)
    if hashlib.sha256(body).hexdigest() != journal.sha256:
        return {}
    entries = (body[at : at + ENTRY] for at in range(0, len(body), ENTRY))
    return {
        number: e[8:]
        for e in entries
        if (number := int.from_bytes(e[:8], "little")) < size // PAGE + 1
    }


class _Bytes(io.RawIOBase):
    """A file with some of its pages in memory."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.position = 0
        self.size = os.fstat(fd).st_size
        self.pages: dict[int, bytearray | bytes] = {}

    def readable(self) -> bool:
        return True

    seekable = readable

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self.position = {os.SEEK_SET: 0, os.SEEK_CUR: self.position, os.SEEK_END: self.size}[
            whence
        ] + offset
        return self.position

    def tell(self) -> int:
        return self.position

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer).cast("B")
        wanted = max(0, min(len(view), self.size - self.position))
        n = os.preadv(self.fd, [view[:wanted]], self.position)
        if n < wanted and self.pages:
            view[n:wanted] = bytes(wanted - n)
            n = wanted
        for number in (
            range(self.position // PAGE, -(-(self.position + n) // PAGE)) if self.pages else ()
        ):
            if (page := self.pages.get(number)) is not None:
                begin, end = (
                    max(self.position, number * PAGE),
                    min(self.position + n, (number + 1) * PAGE),
                )
                view[begin - self.position : end - self.position] = page[
                    begin - number * PAGE : end - number * PAGE
                ]
        self.position += n
        return n


class View(_Bytes):
    """The file as a reader finds it, which is as the last commit() left it."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self.pages.update(journal_pages(fd))
        if self.pages:
            self.size = max(self.size, (max(self.pages) + 1) * PAGE)


class Storage(_Bytes):
    """The file, as h5py writes to it. A failed write is remembered here and not reported to h5py:
    after one the HDF5 library crashes, at the latest when it closes the file. The caller reads
    `error` afterwards. It is locked while it is open."""

    def __init__(self, path: pathlib.Path | str) -> None:
        super().__init__(
            os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        )
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.error: OSError | None = None
        self.kept = 0  # pages below this byte are as the last commit() left them

    def writable(self) -> bool:
        return True

    def _try(self, function: Callable[[], object]) -> None:
        if self.error is None:
            try:
                function()
            except OSError as e:
                self.error = e

    def _page(self, number: int) -> bytearray:
        page = self.pages.get(number)
        if page is None:
            page = self.pages[number] = bytearray(
                os.pread(self.fd, PAGE, number * PAGE).ljust(PAGE, b"\0")
            )
        assert isinstance(page, bytearray)
        return page

    def write(self, data: "ReadableBuffer") -> int:
        view = memoryview(data).cast("B")
        self._try(lambda: self._put(view, self.position))
        self.position += len(view)
        self.size = max(self.size, self.position)
        return len(view)

    def _put(self, view: memoryview, at: int) -> None:
        done = 0
        while at + done < self.kept and done < len(view):
            number, begin = divmod(at + done, PAGE)
            n = min(PAGE - begin, len(view) - done)
            self._page(number)[begin : begin + n] = view[done : done + n]
            done += n
        _write_all(self.fd, view[done:], at + done)

    def truncate(self, size: int | None = None) -> int:
        self.size = self.position if size is None else size
        if self.size >= self.kept:
            self._try(lambda: os.ftruncate(self.fd, self.size))
        return self.size

    def commit(self) -> None:
        """The state that the HDF5 library has flushed is what a reader finds from now on."""
        self._try(self._commit)

    def _commit(self) -> None:
        if self.pages:
            body = b"".join(
                number.to_bytes(8, "little") + page for number, page in sorted(self.pages.items())
            )
            offset = _rounded_up(max(self.size, os.fstat(self.fd).st_size))
            _write_all(self.fd, body, offset)
            os.fdatasync(self.fd)
            _write_all(
                self.fd,
                record_seal.unsealed_block(
                    Journal(offset, len(self.pages), hashlib.sha256(body).hexdigest())
                ),
                0,
            )
            os.fdatasync(self.fd)
            # the first block has been written by this class already
            for number, page in self.pages.items():
                _write_all(
                    self.fd,
                    memoryview(page)[SIZE if number == 0 else 0 :],
                    number * PAGE + (SIZE if number == 0 else 0),
                )
        os.fdatasync(self.fd)
        _write_all(self.fd, record_seal.unsealed_block(), 0)
        os.ftruncate(self.fd, self.size)
        self.pages.clear()
        self.kept = _rounded_up(self.size)

    def close(self) -> None:
        if not self.closed:
            self._try(lambda: os.fsync(self.fd))
            if self.error is not None and self.error.errno:
                with contextlib.suppress(OSError):  # the disk may be gone
                    record_seal.note_error(self.fd, self.error.errno)
            os.close(self.fd)
        super().close()


def apply_journal(path: pathlib.Path | str) -> None:
    """Copies the pages that a killed recorder had not yet copied to their places. Raises
    OSError."""
    fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        for number, page in journal_pages(fd).items():
            _write_all(
                fd,
                memoryview(page)[SIZE if number == 0 else 0 :],
                number * PAGE + (SIZE if number == 0 else 0),
            )
        os.fsync(fd)
    finally:
        os.close(fd)
