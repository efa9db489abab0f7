# SPDX-License-Identifier: GPL-3.0-or-later
"""SNR traces written as CSV: a header, then one row for every slot: 25 SNRs in dB, lowest bin first,
and 25 predictions for that slot if there are any. (logs.py reads such files, and others.)"""

from collections.abc import Iterable
from typing import Any

import numpy

from ..air import BINS
from ..errors import BadInput
from ..figures import prediction
from ..figures.prediction import linear
from ..machine import outputs

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
