# SPDX-License-Identifier: GPL-3.0-or-later
"""The arrays of a file that another program wrote, read by a process without rights: MATLAB's files
(level 5 and 7.3), HDF5, and NumPy's (npz, npy). It answers which arrays there are, and rows of one.

An array has the shape that its program shows: MATLAB 7.3 stores its columns as rows of HDF5, and
they are turned back."""

import codecs
import contextlib
import io
import json
import math
import os
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy
from numpy.lib import format as npy

from ..machine import confined
from ..machine.confined import Wrong, printable

# Libraries of which one is needed; they are loaded before rights are given up.
h5py: Any = None
hdf5: Any = None
matlab: Any = None
with contextlib.suppress(ImportError):
    import h5py  # type: ignore[no-redef]

    from ..machine import hdf5
with contextlib.suppress(ImportError):
    import scipy.io.matlab as matlab  # type: ignore[no-redef]
# Loads what Python and NumPy load when they first need it.
LOADED = (
    str(numpy.dtype([("a", "<f8")])),
    numpy.zeros(1).astype("<c16").tobytes(),
    [codecs.lookup(c) for c in ("ascii", "latin-1", "utf-8", "cp437", "unicode_escape")],
)

MATLAB_MARK, HDF5_MARK, ZIP_MARK, NPY_MARK = b"MATLAB ", b"\x89HDF\r\n\x1a\n", b"PK", b"\x93NUMPY"
MOST_ARRAYS, DEEPEST, MOST_DIMENSIONS = 1000, 4, 8  # arrays of a file, levels of groups, dimensions
MOST_BYTES = 1 << 28  # largest array that has to be read as a whole
REAL, COMPLEX, OTHER = "real", "complex", "other"


def kind_of(dtype: Any) -> str:
    if dtype.names in (("r", "i"), ("real", "imag")):
        return COMPLEX if all(dtype[n].kind == "f" for n in dtype.names) else OTHER
    return REAL if dtype.kind in "fiu" else COMPLEX if dtype.kind == "c" else OTHER


def as_numbers(array: Any) -> Any:
    """The array as float64 or complex128."""
    if array.dtype.names:
        real, imaginary = (array[n] for n in array.dtype.names)
        return real + 1j * imaginary
    return array.astype("<c16" if array.dtype.kind == "c" else "<f8")


class Matlab5:
    def __init__(self, fd: int) -> None:
        if matlab is None:
            raise Wrong("is a MATLAB file, and Debian's python3-scipy is not installed")
        loaded = matlab.loadmat(open(fd, "rb", closefd=False))
        self.arrays = {k: v for k, v in loaded.items() if isinstance(v, numpy.ndarray)}

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...], str]]:
        for name, array in self.arrays.items():
            yield name, array.shape, kind_of(array.dtype)

    def array(self, name: str) -> Any:
        return self.arrays[name]


class Hdf5:
    def __init__(self, fd: int, turned: bool) -> None:
        if h5py is None:
            raise Wrong("is an HDF5 file, and Debian's python3-h5py is not installed")
        self.size, self.turned, self.stored = os.fstat(fd).st_size, turned, 0
        self.file = h5py.File(open(fd, "rb", closefd=False), "r")
        self.sets: dict[str, Any] = {}

    def _under(self, group: Any, prefix: str, depth: int) -> Iterator[tuple[str, Any]]:
        for name, found in hdf5.objects_of(group, MOST_ARRAYS):
            if isinstance(found, h5py.Dataset):
                yield prefix + name, found
            elif depth < DEEPEST and not name.startswith("#"):  # MATLAB's #refs#
                yield from self._under(found, f"{prefix}{name}/", depth + 1)

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...], str]]:
        for name, dataset in self._under(self.file, "", 1):
            kind = kind_of(dataset.dtype)
            if kind != OTHER and dataset.shape:
                created = hdf5.refuse_elsewhere(dataset)
                self.stored += dataset.id.get_storage_size()
                hdf5.refuse_too_large(dataset, created, self.stored, self.size)
                self.sets[name] = dataset
            shape = tuple(dataset.shape or ())
            yield name, shape[::-1] if self.turned else shape, kind

    def array(self, name: str) -> Any:
        return Turned(self.sets[name]) if self.turned else self.sets[name]


class Turned:
    """A data set of MATLAB as MATLAB shows it."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __getitem__(self, rows: slice) -> Any:
        return self.dataset[(..., rows)].T


class Numpy:
    def __init__(self, fd: int, zipped: bool) -> None:
        self.file = open(fd, "rb", closefd=False)
        self.archive = zipfile.ZipFile(self.file) if zipped else None
        self.loaded: tuple[str, Any] = ("", None)

    def _open(self, name: str) -> Any:
        if self.archive is not None:
            return self.archive.open(name + ".npy")
        # NumPy would read a real file by a descriptor of its own.
        if os.fstat(self.file.fileno()).st_size > MOST_BYTES:
            raise Wrong(f"has more than {MOST_BYTES} bytes")
        self.file.seek(0)
        return io.BytesIO(self.file.read())

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...], str]]:
        names = self.archive.namelist() if self.archive is not None else ["array.npy"]
        if not any(n.endswith(".npy") for n in names):
            raise Wrong("is a ZIP archive without arrays")
        for name in names:
            if not name.endswith(".npy"):
                continue
            stream = self._open(name[:-4])
            version = npy.read_magic(stream)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, _, dtype = read(stream)
            yield name[:-4], shape, kind_of(dtype)

    def array(self, name: str) -> Any:
        if self.loaded[0] != name:
            self.loaded = name, npy.read_array(self._open(name), allow_pickle=False)
        return self.loaded[1]


def opened(fd: int) -> Matlab5 | Hdf5 | Numpy:
    head = os.pread(fd, 1024, 0)
    if head.startswith(MATLAB_MARK):
        return Hdf5(fd, turned=True) if head[512:].startswith(HDF5_MARK) else Matlab5(fd)
    if head.startswith(HDF5_MARK):
        return Hdf5(fd, turned=False)
    return Numpy(fd, zipped=head.startswith(ZIP_MARK))


def parser(fd: int) -> Callable[[dict[str, Any]], confined.Answer]:
    file = opened(fd)
    found: dict[str, tuple[tuple[int, ...], str]] = {}
    for name, shape, kind in file.shapes():
        if len(found) == MOST_ARRAYS:
            raise Wrong(f"has more than {MOST_ARRAYS} arrays")
        if len(shape) > MOST_DIMENSIONS or not all(0 <= n < 1 << 40 for n in shape):
            raise Wrong(
                f"has an array {printable(name)} of the shape {printable(str(shape))}; up to"
                f" {MOST_DIMENSIONS} dimensions are valid"
            )
        found[name] = tuple(int(n) for n in shape), kind

    def answers(asked: dict[str, Any]) -> confined.Answer:
        if asked["what"] == "listing":
            listing = [[name, list(shape), kind] for name, (shape, kind) in found.items()]
            return {}, json.dumps(listing).encode()
        shape, kind = found[asked["name"]]
        if kind == OTHER or not shape:
            raise Wrong(f"has no numbers in {printable(asked['name'])}")
        if not isinstance(file, Hdf5) and math.prod(shape) * 16 > MOST_BYTES:
            raise Wrong(
                f"has {math.prod(shape)} numbers in {printable(asked['name'])}; the most is"
                f" {MOST_BYTES // 16}, except in MATLAB 7.3 and HDF5"
            )
        rows = as_numbers(file.array(asked["name"])[asked["first"] : asked["last"]])
        return {"dtype": rows.dtype.str}, numpy.ascontiguousarray(rows).tobytes()

    return answers
