# SPDX-License-Identifier: GPL-3.0-or-later
"""A log in the form that the first bytes of the file tell, and what of it the options ask for."""

import os
from typing import NamedTuple

from ..errors import BadInput
from ..machine import confined
from . import array_file, response_log
from .logs import Log, Source


class Asked(NamedTuple):
    """Options that are for some forms alone; None, empty: not given."""

    variable: str | None = None
    snr_db: float | None = None  # mean SNR of an impulse response
    rate: float | None = None
    pick: tuple[int, ...] = ()

    def named(self) -> list[str]:
        """Options that were given and are for a file of arrays."""
        found = [f"--variable {self.variable}"] if self.variable is not None else []
        return [*found, *self.of_a_response()]

    def of_a_response(self) -> list[str]:
        found = [f"--snr {self.snr_db:g}"] if self.snr_db is not None else []
        return [*found, *([f"--pick {','.join(map(str, self.pick))}"] if self.pick else [])]


DEFAULT_SNR_DB = 16.0


def opened_log(file: str, asked: Asked) -> Source:
    try:
        with os.fdopen(confined.opened(file), "rb") as f:
            head = f.read(512)
    except OSError as e:
        raise BadInput(f"{file}: cannot be read: {e.strerror}") from None
    if not array_file.is_array_file(head):
        if asked.named():
            raise BadInput(
                f"{asked.named()[0]} is given with {file}; valid: with a MATLAB, HDF5 or NumPy file"
            )
        return Log(file)
    arrays = array_file.ArrayFile(file, array_file.VALID)
    try:
        found = None if asked.variable is not None else response_log.found_in(arrays)
        if found is not None:
            arrays.valid = response_log.VALID
            snr_db = DEFAULT_SNR_DB if asked.snr_db is None else asked.snr_db
            return response_log.ResponseLog(arrays, found, snr_db, asked.rate, list(asked.pick))
        if asked.of_a_response():
            raise BadInput(
                f"{asked.of_a_response()[0]} is given with {file}, which has no channel response;"
                f" {response_log.VALID}"
            )
        return array_file.ArrayLog(arrays, asked.variable)
    except BaseException:
        arrays.close()
        raise
