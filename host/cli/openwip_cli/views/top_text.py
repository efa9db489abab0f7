# SPDX-License-Identifier: GPL-3.0-or-later
"""Text for a terminal of unknown size that nothing can break: numbers of a bounded width, bars,
sparklines, and strings from elsewhere without control characters."""

import math
from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII_BLOCKS = "._-=+*%#"
SUFFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def clean(text: str) -> str:
    """Printable ASCII of it: escape sequences and characters of two columns must not reach the
    terminal."""
    return "".join(c if " " <= c <= "~" else "?" for c in str(text))


def number(value: float | None, digits: int = 1) -> str:
    """A number in at most 7 characters, whatever its value."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if math.isinf(value) or abs(value) >= 1e21:
        return "-inf" if value < 0 else "inf"
    size = abs(value)
    if size < 100000:
        return f"{value:.{digits if size < 1000 else 0}f}"
    for factor, suffix in SUFFIXES:
        if size >= factor:
            return f"{value / factor:.{1 if size / factor < 100 else 0}f}{suffix}"
    return "-"


def count(value: int | None) -> str:
    """A count in at most 6 characters."""
    return number(value, 0)


def share(value: float | None) -> str:
    """A share from 0 to 1 as percent, in at most 7 characters."""
    if value is None or math.isnan(value) or math.isinf(value):
        return "-"
    percent = 100 * value
    if 0 < percent < 0.01:
        return "<.01%"
    return f"{number(percent, 2 if percent < 10 else 1)}%"


def bar(value: float | None, width: int) -> str:
    """`value` 0..1 of the width; something for whatever is more than nothing."""
    return (
        "#" * max(1, min(width, round(min(1.0, value) * width)))
        if value is not None and value > 0
        else ""
    )


def sparkline(values: Sequence[float], blocks: str = BLOCKS) -> str:
    """One character for each value, between the least and the greatest (at least 6 dB apart, so
    that noise does not look like fading)."""
    good = [v for v in values if not (math.isnan(v) or math.isinf(v))]
    if not good:
        return ""
    low, high = min(good), max(good)
    high = max(high, low + 6)
    return "".join(
        (
            " "
            if math.isnan(v) or math.isinf(v)
            else blocks[min(len(blocks) - 1, int((v - low) / (high - low) * len(blocks)))]
        )
        for v in values
    )
