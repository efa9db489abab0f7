# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that hold samples, or anything else, inside something: which container a file is, by its
first bytes, and the recordings of a SigMF archive (a tar file). Nothing is unpacked: an archive's
samples are read where they stand, whatever its members are called."""

import contextlib
import io
import os
import pathlib
import tarfile
from typing import NamedTuple

from ..errors import BadInput
from ..machine import confined
from ..machine.confined import printable

HEAD = 4096  # bytes that are examined
LARGEST_META = 64 << 20  # bytes of SigMF metadata in an archive
LARGEST_HEADER = 1 << 20  # bytes of an extended header in a TAR file
MOST_MEMBERS = 10_000  # files in an archive
MOST_NAMES = 5  # names of recordings in a message
META, DATA = ".sigmf-meta", ".sigmf-data"
TAR = "a tar archive"
HDF5 = b"\x89HDF\r\n\x1a\n"
# First bytes, and what begins so.
MAGIC = (
    (b"PK\x03\x04", "a ZIP archive"),
    (b"PK\x05\x06", "a ZIP archive"),
    (b"\x1f\x8b\x08", "a gzip file"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ\0", "an xz file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"RIFF", "a RIFF file (WAV)"),
    (b"RIFX", "a RIFF file (WAV)"),
    (b"RF64", "an RF64 file (WAV)"),
    (b"BW64", "a BW64 file (WAV)"),
    (b"FORM", "an IFF file (AIFF)"),
    (b"fLaC", "a FLAC file"),
    (b"OggS", "an Ogg file"),
    (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF-", "a PDF file"),
    (b"\x7fELF", "a program (ELF)"),
    (b"MATLAB ", "a MATLAB file"),
    (b"\x93NUMPY", "a NumPy file"),
    (b"BLUE", "a BLUE file"),
    (b"\x0a\x0d\x0d\x0a", "a capture (pcapng)"),
    (b"\xd4\xc3\xb2\xa1", "a capture (pcap)"),
    (b"\xa1\xb2\xc3\xd4", "a capture (pcap)"),
    (b"\x4d\x3c\xb2\xa1", "a capture (pcap)"),
    (b"\xa1\xb2\x3c\x4d", "a capture (pcap)"),
    (b"SQLite format 3\0", "an SQLite file"),
    (b"openwip-run-record ", "a run record"),
    (b"OWSLOTS1", "slot reports"),
)
BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def _is_text(head: bytes) -> bool:
    """Whether the bytes are printable characters only; so many bytes of samples have others among
    them."""
    return len(head) >= 64 and all(b in b"\t\n\r\f" or 32 <= b < 127 for b in head)


def _is_tar(head: bytes) -> bool:
    if head[257:262] == b"ustar":
        return True
    with contextlib.suppress(tarfile.TarError):  # an archive without the magic word `ustar`
        return (
            any(head[:512])
            and len(head) >= 512
            and tarfile.TarInfo.frombuf(head[:512], "utf-8", "replace") is not None
        )
    return False


def kind_of(path: pathlib.Path | str) -> str | None:
    """Which container the file is, in words; None: it may be bare samples. Raises OSError."""
    with os.fdopen(confined.opened(path), "rb") as f:
        head = f.read(HEAD)
    if _is_tar(head):
        return TAR
    if any(head[at : at + len(HDF5)] == HDF5 for at in (0, 512, 1024, 2048)):
        return "an HDF5 file"
    if found := next((kind for magic, kind in MAGIC if head.startswith(magic)), None):
        return found
    mark = next((m for m in BYTE_ORDER_MARKS if head.startswith(m)), b"")
    plain = head[len(mark) :]
    if plain.lstrip()[:1] in (b"{", b"[") and _is_text(plain[:64]):
        return "a JSON file"
    return "a text file" if _is_text(plain[:512]) else None


class Bounded(io.FileIO):
    """A file of which nobody reads more at once than a header has: a tar header may claim any
    size."""

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0 or size > LARGEST_HEADER:
            raise tarfile.ReadError(f"it has a header of {size} bytes, which is too long")
        return super().read(size) or b""


class Stored(NamedTuple):
    """A recording inside an archive."""

    name: str
    meta: bytes
    offset: int  # byte in the archive at which the samples begin
    size: int


def stored(path: pathlib.Path | str, name: str | None) -> Stored:
    """The recording `name` of an archive, or the only one. Raises OSError."""
    metas: dict[str, tarfile.TarInfo] = {}
    datas: dict[str, tarfile.TarInfo] = {}
    fd = confined.opened(path)
    try:
        size = os.fstat(fd).st_size
        with (
            Bounded(fd, closefd=False) as f,
            tarfile.open(fileobj=f, mode="r:", errors="replace") as archive,
        ):
            for number, member in enumerate(archive):
                if number >= MOST_MEMBERS:
                    raise BadInput(
                        f"archive {path}: has more than {MOST_MEMBERS} members; valid: those of a"
                        " SigMF archive"
                    )
                for ending, found in ((META, metas), (DATA, datas)):
                    if member.name.endswith(ending):
                        found[member.name.removesuffix(ending)] = member
        if name is not None and name not in metas:  # the name may be given without its folder
            name = next((n for n in metas if n.rpartition("/")[2] == name), name)
        names = sorted(metas)
        if not names or name is None and len(names) > 1 or name is not None and name not in metas:
            listed = ", ".join(printable(n, 60) for n in names[:MOST_NAMES]) + (
                f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            )
            raise BadInput(
                f"archive {path}: holds {'the recordings ' + listed if names else 'no recording'};"
                " valid: "
                + (
                    "one of them with --recording NAME"
                    if names
                    else f"NAME{META} and NAME{DATA} in it"
                )
            )
        chosen = name or names[0]
        meta, data = metas[chosen], datas.get(chosen)
        if data is None:
            raise BadInput(
                f"archive {path}: has no samples {printable(chosen, 60)}{DATA}; valid: NAME{META}"
                f" and NAME{DATA} in it"
            )
        for member in (meta, data):
            if not member.isreg() or member.issparse() or member.offset_data + member.size > size:
                raise BadInput(
                    f"archive {path}: {printable(member.name, 60)} is not stored in it as a plain,"
                    " complete file; valid: an archive of plain files"
                )
        if meta.size > LARGEST_META:
            raise BadInput(
                f"archive {path}: {printable(meta.name, 60)} has {meta.size} bytes; valid: up to"
                f" {LARGEST_META}"
            )
        return Stored(
            chosen, os.pread(fd, meta.size, meta.offset_data), data.offset_data, data.size
        )
    except (tarfile.TarError, ValueError, OverflowError, RecursionError) as e:
        raise BadInput(
            f"archive {path}: is damaged: {printable(str(e), 100)}; valid: a SigMF archive"
        ) from None
    finally:
        os.close(fd)
