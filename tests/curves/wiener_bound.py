# SPDX-License-Identifier: GPL-3.0-or-later
"""The least NMSE with which the SNR of a bin can be predicted from given observations, when the
statistics of the channel are known (Clarke's Doppler spectrum, the profile's delays and powers,
Rayleigh taps).

The gains h of the 120 elements of the bin, `horizon` slots ahead, and the observations are jointly
Gaussian. With R = E h h^H and C = the covariance of h given the observations (Wiener), the best
estimate of the power G = h^H h / N is its conditional mean, and

    E (G - G^)^2 = (2 tr(C R) - tr(C C)) / N^2        E G^2 = ((tr R)^2 + tr(R R)) / N^2

(for N = 1: NMSE = s - s^2/2, s = C/R). No predictor of whatever kind does better from the same
observations."""

import numpy as np

SLOT_S = 1 / 1500
SYMBOL_S = 768 / 7.68e6
PREFIX = [85, 85, 86, 85, 85, 86]
SYMBOL_MIDDLE_S = [(sum(PREFIX[: l + 1]) + 768 * l + 384) / 7.68e6 for l in range(6)]
PILOTS = [(1, 2), (1, 12), (4, 7), (4, 17)]
CONTROL = [(0, 4), (0, 14), (1, 7), (1, 17), (4, 2), (4, 12), (5, 9), (5, 19)]


def bessel_j0(x):
    """J0(x) by Bessel's integral; the trapezoid rule is exact to rounding while x < number of
    angles."""
    angles = 2 * np.pi * np.arange(256) / 256
    return np.cos(np.asarray(x)[..., None] * np.sin(angles)).mean(axis=-1)


def correlation(profile, doppler_hz, t1, f1, t2, f2):
    """E h(t1, f1) h*(t2, f2), all pairs."""
    delay_s, power = profile
    at1, place1 = np.unique(t1, return_inverse=True)  # few different times
    at2, place2 = np.unique(t2, return_inverse=True)
    time = bessel_j0(2 * np.pi * doppler_hz * (at1[:, None] - at2[None, :]))[np.ix_(place1, place2)]
    a = np.exp(-2j * np.pi * np.outer(f1, delay_s)) * power
    b = np.exp(-2j * np.pi * np.outer(f2, delay_s))
    return time * (a @ b.conj().T)


def band_bound(profile, doppler_hz, snr_db, horizons, elements, slots=64, target=12):
    """NMSE for each horizon from the known elements of ALL bins, delays known: per slot the least
    squares estimate of the paths' gains is a sufficient statistic, so that the unknowns are paths x
    slots instead of elements x slots. A slot's elements count as taken at their mean time (what
    moves within a slot is left out)."""
    delay_s, power = np.asarray(profile[0]), np.asarray(profile[1]) / np.sum(profile[1])
    places = np.array([20 * b + c - 250 for b in range(25) for _, c in elements])
    a = np.exp(-2j * np.pi * np.outer(places * 1e4, delay_s))
    noise = 10 ** (-snr_db / 10) * np.linalg.inv(a.conj().T @ a)
    middle = np.mean([SYMBOL_MIDDLE_S[l] for l, _ in elements])
    at = middle - SLOT_S * np.arange(slots)
    seen = np.kron(
        bessel_j0(2 * np.pi * doppler_hz * (at[:, None] - at)), np.diag(power)
    ) + np.kron(np.eye(slots), noise)
    own = [(l, c) for l in range(6) for c in range(1, 20, 3)]
    phase = np.exp(-2j * np.pi * np.outer([(20 * target + c - 250) * 1e4 for _, c in own], delay_s))
    times = np.array([SYMBOL_MIDDLE_S[l] for l, _ in own])
    r = bessel_j0(2 * np.pi * doppler_hz * (times[:, None] - times)) * (
        (phase * power) @ phase.conj().T
    )
    out = []
    for h in horizons:
        time = bessel_j0(2 * np.pi * doppler_hz * (times[:, None] + h * SLOT_S - at))
        x = (time[:, :, None] * (phase * power)[:, None, :]).reshape(len(own), -1)
        c = r - x @ np.linalg.solve(seen, x.conj().T)
        out.append(nmse_of(r, c))
    return out


def nmse_of(r, c):
    """The error of the power h^H h predicted by its conditional mean; covariance r of h, c of h
    given the known elements."""

    def trace(m):
        return float(np.trace(m).real)

    return (2 * trace(c @ r) - trace(c @ c)) / (trace(r) ** 2 + trace(r @ r))


def bound(profile, doppler_hz, snr_db, horizons, elements, bins, slots=32):
    """NMSE for each horizon. elements: known ones of a bin; bins: neighbours used (odd), the
    predicted one in the middle."""
    power = np.asarray(profile[1]) / np.sum(profile[1])
    profile = (np.asarray(profile[0]), power)
    side = bins // 2
    t, f = [], []
    for j in range(slots):
        for b in range(-side, side + 1):
            for l, c in elements:
                t.append(-j * SLOT_S + SYMBOL_MIDDLE_S[l])
                f.append((20 * b + c) * 1e4)
    t, f = np.array(t), np.array(f)
    seen = correlation(profile, doppler_hz, t, f, t, f) + 10 ** (-snr_db / 10) * np.eye(len(t))
    # Each third subcarrier of the bin's 120 elements stands for its neighbours: the sums hardly
    # change (by 1e-4).
    own = [(l, c) for l in range(6) for c in range(1, 20, 3)]
    f0 = np.array([c * 1e4 for _, c in own])

    def times(horizon):
        return np.array([horizon * SLOT_S + SYMBOL_MIDDLE_S[l] for l, _ in own])

    across = [correlation(profile, doppler_hz, t, f, times(h), f0) for h in horizons]
    solved = np.split(np.linalg.solve(seen, np.hstack(across)), len(across), axis=1)
    r = correlation(profile, doppler_hz, times(0), f0, times(0), f0)

    return [nmse_of(r, r - x.conj().T @ y) for x, y in zip(across, solved)]
