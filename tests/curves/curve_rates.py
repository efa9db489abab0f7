# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a measured rate crosses a level, and how well a rate is known."""

import math


def crossing(points, key, level=0.1):
    """SNR at which the rate `key` falls to `level`: straight line in the logarithm between the
    points around it."""
    points = sorted(points, key=lambda p: p["snr_db"])
    for a, b in zip(points, points[1:]):
        if a[key] >= level > b[key]:
            la, lb = math.log10(a[key]), math.log10(max(b[key], 1e-6))
            return a["snr_db"] + (b["snr_db"] - a["snr_db"]) * (la - math.log10(level)) / (la - lb)
    return None


def wilson_low(good, n, z=1.96):
    """Lower end of the 95 % interval of a probability."""
    p = good / n
    return (p + z * z / (2 * n) - z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))) / (
        1 + z * z / n
    )
