# SPDX-License-Identifier: GPL-3.0-or-later
"""The first 512 bytes of a run record (an HDF5 user block): what it is, in which version, and the checksum of the
rest. The HDF5 library takes a damaged file for a good one until it crashes (a byte changed here or there ended Python with
a segmentation fault), so it is only given files that are as they were written."""
import contextlib
import hashlib
import os
import pathlib
from typing import BinaryIO

from ..errors import BadInput

FORMAT, FORMAT_VERSION = "openwip-run-record", 1
BEFORE = b"OWIPSES"      # what the monitor recorded before it recorded this
SIZE = 512
WRITTEN_BY = "valid: a file of ./openwip record or --record"


def _digest(f: BinaryIO) -> str:
    digest = hashlib.sha256()
    f.seek(SIZE)
    while part := f.read(1 << 20):
        digest.update(part)
    return digest.hexdigest()


def _block(digest: str) -> bytes:
    return f"{FORMAT} {FORMAT_VERSION}\nsha256 {digest}\n".encode().ljust(SIZE, b"\0")


def seal(path: pathlib.Path | str) -> None:
    """After everything else has been written."""
    with open(path, "r+b") as f:
        block = _block(_digest(f))
        f.seek(0)
        f.write(block)
        f.flush()
        os.fsync(f.fileno())


def is_record(path: pathlib.Path | str) -> bool:
    """By its first word only."""
    try:
        with open(path, "rb") as f:
            return f.read(len(FORMAT) + 1) == f"{FORMAT} ".encode()
    except OSError:
        return False


def opened(path: pathlib.Path | str) -> BinaryIO:
    """The file; BadInput unless it is a whole record of a version that is known."""
    with contextlib.ExitStack() as unless_good:
        try:
            f = unless_good.enter_context(open(path, "rb"))
            block = f.read(SIZE)
            if block.startswith(BEFORE):
                raise BadInput(f"{path} is a session file of an earlier monitor, which this version cannot read; {WRITTEN_BY}")
            if not block.startswith(f"{FORMAT} ".encode()):
                if block[:256] == bytes(256):
                    raise BadInput(f"{path} is no whole run record: its recorder was killed, or is at work; {WRITTEN_BY}")
                raise BadInput(f"{path} is no run record; {WRITTEN_BY}")
            version = block.split(b"\n", 1)[0].decode(errors="replace").split(" ", 1)[1]
            if version.isdigit() and version != str(FORMAT_VERSION):
                raise BadInput(f"{path} has format version {version}; valid: {FORMAT_VERSION} (a newer OpenWIP reads newer ones)")
            if block != _block(_digest(f)):
                raise BadInput(f"{path} is truncated or was changed: its checksum is wrong; valid: a record as it was written")
            unless_good.pop_all()
        except OSError as e:
            raise BadInput(f"{path}: {e.strerror}") from None
    return f
