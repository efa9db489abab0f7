# SPDX-License-Identifier: GPL-3.0-or-later
"""The least NMSE with which the channel of a slot can be estimated from given elements of it and of
the slots before, when its statistics are known (Clarke's Doppler spectrum, the profile's delays and
powers): two-dimensional Wiener filter.

h(t, f) = sum_p sqrt(P_p) exp(-j 2 pi f tau_p) sum_i L(t, i) w(p, i), w white, L L' = J0(2 pi f_D (t
- t')) over the times of all symbols (eigenvalues below 1e-9 left out). With the rows v of the
observed elements the covariance of w given the observations is (I + V'V / noise)^-1, and the error
of an element is v cov v'."""

import numpy as np
from wiener_bound import SLOT_S, SYMBOL_MIDDLE_S, bessel_j0

ALL = [(l, c) for l in range(6) for c in range(20)]


def bound(profile, doppler_hz, snr_db, elements, slots):
    """NMSE over all elements of the newest slot. elements: observed ones of each bin in each
    slot."""
    delay_s, power = np.asarray(profile[0]), np.asarray(profile[1]) / np.sum(profile[1])
    t = np.array([-j * SLOT_S + SYMBOL_MIDDLE_S[l] for j in range(slots) for l in range(6)])
    values, vectors = np.linalg.eigh(
        bessel_j0(2 * np.pi * doppler_hz * np.abs(t[:, None] - t[None, :]))
    )
    keep = values > 1e-9 * values[-1]
    time = vectors[:, keep] * np.sqrt(values[keep])
    k = np.arange(500)
    frequency = np.where(k < 250, k - 250, k - 249) * 1e4
    path = np.exp(-2j * np.pi * np.outer(frequency, delay_s)) * np.sqrt(power)
    gram = np.zeros((len(power) * time.shape[1],) * 2, complex)
    per_symbol = [
        np.array([20 * b + c for b in range(25) for at, c in elements if at == l], int)
        for l in range(6)
    ]
    seen = [path[n].conj().T @ path[n] for n in per_symbol]
    for j in range(slots):
        for l in range(6):
            row = time[6 * j + l]
            gram += np.kron(seen[l], np.outer(row, row))
    noise = 10 ** (-snr_db / 10)
    covariance = np.linalg.inv(np.eye(len(gram)) + gram / noise)
    whole = path.conj().T @ path / 500
    error = 0
    for l in range(6):
        row = time[l]
        # mean over n of v cov v' = trace(cov (whole x row row'))
        error += np.trace(covariance @ np.kron(whole.T, np.outer(row, row)).conj()).real / 6
    return float(error)
