# SPDX-License-Identifier: GPL-3.0-or-later
"""The error of predicted SNRs, and what theory says of the simplest prediction."""

import math
from typing import Any

import numpy


def linear(db: Any) -> Any:
    return 10 ** (numpy.asarray(db, dtype=float) / 10)


def nmse(true_db: Any, predicted_db: Any) -> float:
    """Normalised mean squared error, E (g - p)^2 / E g^2 of linear SNRs, from SNRs in dB of the same
    shape. Pairs of which one is not a finite number are skipped; nan: no pair is left."""
    g, p = linear(true_db), linear(predicted_db)
    known = numpy.isfinite(g) & numpy.isfinite(p)
    square = float((g[known] ** 2).sum())
    return float(((g[known] - p[known]) ** 2).sum()) / square if square > 0 else math.nan


def nmse_of_last_value(wavelengths: float) -> float:
    """NMSE of the best linear prediction of a Rayleigh channel's SNR from the last SNR alone, which
    is known without error, at a place d = `wavelengths` before. Waves come from all sides alike
    (Clarke's model), so that the SNRs at both places have the correlation rho = J0(2 pi d)^2. The
    prediction is mean + rho (SNR - mean), and its NMSE is (1 - rho^2) / 2."""
    from scipy.special import j0  # imported here: only worksheet 3 of the lab course needs SciPy

    rho = float(j0(2 * math.pi * wavelengths)) ** 2
    return (1 - rho**2) / 2
