# SPDX-License-Identifier: GPL-3.0-or-later
"""SNR traces as CSV: a header, then one row for every slot: 25 SNRs in dB, lowest bin first, and 25
predictions for that slot if there are any."""

import math
from collections.abc import Iterable
from typing import Any

import numpy

from ..air import BINS, SLOTS_PER_SECOND
from ..errors import BadInput
from ..figures import prediction
from ..figures.prediction import linear
from ..machine import outputs

LOWEST_DB, HIGHEST_DB = -60, 80
HEADER = [f"snr_db_{b}" for b in range(BINS)]
PREDICTED = [f"predicted_snr_db_{b}" for b in range(BINS)]


def mean_db(rows: Any) -> float:
    return float(10 * numpy.log10(linear(rows[:, :BINS]).mean()))


def nmse(rows: Any) -> float:
    return prediction.nmse(rows[:, :BINS], rows[:, BINS:])


def write(blocks: Iterable[Any], predictions: bool, file: str) -> None:
    """Writes blocks of rows; with `predictions` they have those behind the SNRs."""
    try:
        with outputs.replacing(file) as out:
            out.write(",".join(HEADER + (PREDICTED if predictions else [])) + "\n")
            for block in blocks:
                out.writelines(",".join(f"{v:.9g}" for v in row) + "\n" for row in block.tolist())
    except OSError as e:
        raise BadInput(f"{file}: cannot be written: {e.strerror}") from None


def read(file: str, rate: Any) -> Any:
    """Rows of dB, float32, at 1500 a second."""
    if not (math.isfinite(rate) and 0 < rate <= 1e6):
        raise BadInput(f"--rate {rate:g}: valid is more than 0, to 1e6 rows a second")
    rows, width = [], None
    try:
        with open(file, encoding="utf-8-sig", errors="replace") as lines:
            # /dev/zero has no end of line
            for number, line in enumerate(iter(lambda: lines.readline(1 << 16), ""), 1):
                fields = line.strip().split(",")
                if fields == [""] or number == 1 and fields[0].strip().lower().startswith("snr"):
                    continue
                if len(fields) not in (BINS, 2 * BINS) or width not in (None, len(fields)):
                    raise BadInput(
                        f"{file}: line {number} has {len(fields)} columns: valid is "
                        + (str(width) if width else "25, or 50 with predictions")
                    )
                width = len(fields)
                try:
                    row = numpy.array(fields, dtype="f4")
                except ValueError:
                    raise BadInput(f"{file}: line {number}: valid are numbers in dB") from None
                if not ((row >= LOWEST_DB) & (row <= HIGHEST_DB)).all():  # NaN is neither
                    raise BadInput(f"{file}: line {number}: valid are SNRs of -60 to 80 dB")
                rows.append(row)
    except OSError as e:
        raise BadInput(f"{file}: cannot be read: {e.strerror}") from None
    if not rows:
        raise BadInput(f"{file} has no rows: valid is one or more of 25 SNRs in dB")
    table = numpy.vstack(rows)
    if rate == SLOTS_PER_SECOND:
        return table
    if len(rows) < 2:
        raise BadInput(f"{file}: two rows or more are valid with --rate")
    have = numpy.arange(len(rows)) / rate
    want = numpy.arange(int(math.floor(have[-1] * SLOTS_PER_SECOND)) + 1) / SLOTS_PER_SECOND
    return numpy.stack(
        [10 * numpy.log10(numpy.interp(want, have, linear(column))) for column in table.T], axis=1
    ).astype("f4")
