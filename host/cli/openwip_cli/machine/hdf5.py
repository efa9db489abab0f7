# SPDX-License-Identifier: GPL-3.0-or-later
"""HDF5 files that somebody else made, in a process without rights (confined.py): nothing is read
that is not in the file itself, and nothing that claims more than its bytes can hold."""

import codecs
from collections.abc import Iterator
from typing import Any

import h5py
import numpy

from .confined import Wrong, printable

LONGEST_NAME = 200  # characters
DEFLATE_RATIO = 1032  # largest number of bytes that deflate expands one byte to (zlib manual)
FILTERS = {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32}
KINDS = {
    h5py.h5l.TYPE_SOFT: "a link to another name",
    h5py.h5l.TYPE_EXTERNAL: "a link to another file",
}
# Loads what Python and NumPy load when they first need it: nothing can be opened later.
LOADED = (
    [str(numpy.dtype([("a", kind)])) for kind in ("S1", "U1", "O", "?", "<f4")],
    [codecs.lookup(c) for c in ("ascii", "latin-1", "unicode_escape")],
)


def objects_of(group: h5py.Group, most: int) -> Iterator[tuple[str, h5py.Group | h5py.Dataset]]:
    """The objects of a group by their names, none of them elsewhere."""
    links = group.id.links
    for number, name in enumerate(group):
        if number > most:
            raise Wrong(f"has more than {most} names in {printable(group.name)}")
        where = f"{group.name.rstrip('/')}/{name}"
        if len(name) > LONGEST_NAME or not name.isprintable() or not name.isascii():
            raise Wrong(
                f"has the name {printable(where)}; valid: 1..{LONGEST_NAME} printable ASCII characters"
            )
        kind = links.get_info(name.encode()).type
        if kind != h5py.h5l.TYPE_HARD:
            raise Wrong(f"has {KINDS.get(kind, 'a link of an unknown kind')} at {where}")
        found = group[name]
        if not isinstance(found, (h5py.Group, h5py.Dataset)):
            raise Wrong(f"has neither a group nor a data set at {where}")
        yield name, found


def refuse_elsewhere(dataset: h5py.Dataset) -> Any:
    """Refuses data in other files and filters that are plug-ins. Returns how it was created."""
    where = dataset.name
    created = dataset.id.get_create_plist()
    if created.get_layout() == h5py.h5d.VIRTUAL:
        raise Wrong(f"has a virtual data set at {where}, whose data are in other files")
    if created.get_external_count() > 0:
        raise Wrong(f"has a data set at {where} whose data are in another file (external storage)")
    for n in range(created.get_nfilters()):
        code, _, _, name = created.get_filter(n)
        if code not in FILTERS:
            raise Wrong(
                f"has a data set at {where} with the filter {code}"
                f" ({printable(name.decode(errors='replace'))}), not deflate, shuffle or"
                " fletcher32"
            )
    return created


def refuse_too_large(dataset: h5py.Dataset, created: Any, stored: int, size: int) -> None:
    """`stored`: bytes that the data sets so far say they take of the file of `size` bytes."""
    chunk = int(
        numpy.prod(
            created.get_chunk() if created.get_layout() == h5py.h5d.CHUNKED else (0,), dtype="u8"
        )
    )
    each = dataset.dtype.itemsize
    if (
        stored > size
        or chunk * each > DEFLATE_RATIO * size
        or dataset.size * each > DEFLATE_RATIO * dataset.id.get_storage_size()
    ):
        raise Wrong(
            f"has a data set at {dataset.name} of {dataset.size} entries, which are not in the"
            f" {size} bytes of the file"
        )
