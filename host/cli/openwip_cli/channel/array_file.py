# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrays of files that other programs wrote (MATLAB, HDF5, NumPy), read by a process without rights
(arrays.py), and logs of SNRs that such a file holds."""

import math
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy

from ..air import BINS
from ..errors import BadInput
from ..machine import confined
from ..machine.confined import printable
from .logs import HIGHEST_DB, LOWEST_DB, SNR_KEYS, TIME_KEYS, WIDTHS, Rows, out_of_range

VALID = (
    f"valid: an array of {BINS} SNRs in dB a row, {2 * BINS} with predictions, or one for all bins"
)
MARKS = (b"MATLAB ", b"\x89HDF\r\n\x1a\n", b"\x93NUMPY")
NUMPY_ARCHIVE = b"PK\x03\x04"  # a ZIP file; the name of an array follows
BLOCK_NUMBERS = 1 << 18  # numbers that are read at a time
LARGEST_LISTING = 1 << 22  # bytes of JSON with names and shapes of the arrays


class Array(NamedTuple):
    name: str
    shape: tuple[int, ...]
    kind: str  # real, complex, other

    def __str__(self) -> str:
        shape = " x ".join(map(str, self.shape)) or "1"
        return f"{printable(self.name, 60)} ({shape}, {self.kind})"


def is_array_file(head: bytes) -> bool:
    """True if a file that begins with these bytes is one of MATLAB, HDF5 or NumPy."""
    return head.startswith(MARKS) or (head.startswith(NUMPY_ARCHIVE) and b".npy" in head[:400])


class ArrayFile:
    """A file of arrays, used as a context manager. Raises BadInput, which says in one line what is
    wrong with the file."""

    def __init__(self, file: str, valid: str) -> None:
        self.file, self.valid = file, valid
        try:
            fd = confined.opened(file)
        except OSError as e:
            raise BadInput(f"{file}: cannot be read: {e.strerror}") from None
        try:
            self._reader = confined.Reader(file, fd, "read-arrays", valid)
        finally:
            os.close(fd)
        try:
            listing = self._reader.ask_tree(LARGEST_LISTING, what="listing")
            self.arrays = {
                str(name): Array(str(name), tuple(int(n) for n in shape), str(kind))
                for name, shape, kind in listing
            }
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "ArrayFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._reader.close()

    def listed(self) -> str:
        some = [str(a) for a in list(self.arrays.values())[:8]]
        more = len(self.arrays) - len(some)
        return ", ".join([*some, *([f"and {more} more"] if more else [])]) or "none"

    def wrong(self, why: str) -> BadInput:
        return BadInput(f"{self.file} {why}; {self.valid}")

    def named(self, name: str) -> Array:
        if name not in self.arrays:
            raise BadInput(
                f"{self.file} has no array {printable(name, 60)!r}; valid: {self.listed()}"
            )
        return self.arrays[name]

    def rows(self, array: Array, first: int, last: int) -> Any:
        """The part from `first` to before `last` of the first dimension, float64 or complex128."""
        dtype = "<c16" if array.kind == "complex" else "<f8"
        shape = (last - first, *array.shape[1:])
        raw = self._reader.ask_numbers(
            dtype, shape, what="rows", name=array.name, first=first, last=last
        )
        return numpy.frombuffer(raw, dtype=dtype).reshape(shape)

    def whole(self, array: Array) -> Any:
        return self.rows(array, 0, array.shape[0])


class ArrayLog:
    """SNRs in a file of arrays, with the interface of logs.Log. `variable`: the name of the array;
    None: the array with a name of SNR_KEYS, or the only one of a fitting shape."""

    by_slots = False

    def __init__(self, arrays: ArrayFile, variable: str | None) -> None:
        self.file, self.arrays = arrays.file, arrays
        try:
            self.array = self._chosen(self.arrays, variable)
            shape = [n for n in self.array.shape if n != 1]
            if len(shape) < 2:  # A single row or column is one SNR for all bins at each time.
                only = shape[0] if shape else 1
                one_row = self.array.shape[-1] in WIDTHS[1:] and self.array.shape[:-1] == (1,)
                self.nof_rows, self.width = (1, only) if one_row else (only, 1)
            else:
                self.nof_rows, self.width = self.array.shape
            self.times = self._times(self.arrays)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.arrays.close()

    @property
    def timed(self) -> bool:
        return self.times is not None

    @property
    def predicted(self) -> bool:
        return self.width == 2 * BINS

    def _chosen(self, arrays: ArrayFile, variable: str | None) -> Array:
        if variable is not None:
            array = arrays.named(variable)
        else:
            real = [a for a in arrays.arrays.values() if a.kind == "real" and math.prod(a.shape)]
            called = [a for a in real if a.name.lower() in SNR_KEYS]
            other = [a for a in real if a.name.lower() not in TIME_KEYS and math.prod(a.shape) > 1]
            found = called or other
            if len(found) != 1:
                raise arrays.wrong(
                    f"has {len(found)} arrays that may be SNRs (it has {arrays.listed()});"
                    f" choose one with --variable or call it {SNR_KEYS[0]}"
                )
            array = found[0]
        if array.kind != "real":
            raise arrays.wrong(f"has {array}, which is not an array of real numbers")
        many = [n for n in array.shape if n != 1]
        if len(many) > 1 and (len(array.shape) != 2 or array.shape[1] not in WIDTHS):
            turned = ", so transpose it" if array.shape[0] in WIDTHS else ""
            raise arrays.wrong(f"has {array}{turned}")
        if not math.prod(array.shape):
            raise arrays.wrong(f"has {array}, which is empty")
        return array

    def _times(self, arrays: ArrayFile) -> Any:
        for key in TIME_KEYS:
            for array in arrays.arrays.values():
                if array.name.lower() != key or array.kind != "real":
                    continue
                if math.prod(array.shape) != self.nof_rows:
                    raise arrays.wrong(
                        f"has {array} of times, and {self.nof_rows} rows of {self.array.name}"
                    )
                times = arrays.whole(array).ravel() * (1e-3 if key.endswith("_ms") else 1)
                if not numpy.isfinite(times).all():
                    raise arrays.wrong(f"has times in {array.name} that are no numbers")
                return times
        return None

    def blocks(self) -> Iterator[Rows]:
        """All rows, from the beginning."""
        rows_at_once = max(1, BLOCK_NUMBERS // self.width)
        # A vector along another dimension than the first is one row.
        flat = self.arrays.whole(self.array).ravel() if self.array.shape[0] == 1 else None
        for first in range(0, self.nof_rows, rows_at_once):
            last = min(first + rows_at_once, self.nof_rows)
            block = (
                self.arrays.rows(self.array, first, last)
                if flat is None
                else flat[first * self.width : last * self.width]
            )
            table = block.reshape(last - first, self.width).astype("f4")
            bad = out_of_range(table)
            if bad is not None:
                raise BadInput(
                    f"{self.arrays.file}: row {first + bad + 1} of {self.array.name} has a value"
                    f" that is not valid; valid: SNRs of {LOWEST_DB}..{HIGHEST_DB} dB"
                )
            if self.width == 1:
                table = numpy.repeat(table, BINS, axis=1)
            yield Rows(None if self.times is None else self.times[first:last], table)
