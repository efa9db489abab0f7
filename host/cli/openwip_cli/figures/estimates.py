# SPDX-License-Identifier: GPL-3.0-or-later
"""Mean and confidence interval over realisations of the channel.

The realisations are independent, so the mean of n of them has the interval  mean +- t(n-1) s /
sqrt(n)  (Student t, 95 %). Two settings that saw the same realisations are compared by their
differences, realisation by realisation: what the channel gave to both cancels, and the interval of
the difference is much narrower than the two."""

import dataclasses
import functools
import math
import statistics
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

CONFIDENCE = 0.95
Realisations: TypeAlias = Mapping[Any, float]  # realisation -> value


@functools.cache
def student_t(degrees: int) -> float:
    # Late: it loads numpy, which starts threads, and the runs are forked from this process.
    from scipy import stats

    return float(stats.t.ppf(0.5 + CONFIDENCE / 2, degrees))


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A mean over realisations and its 95 % confidence interval."""

    mean: float
    half: float  # half of the interval's width; nan when one value says nothing about it
    n: int

    @property
    def low(self) -> float:
        return self.mean - self.half

    @property
    def high(self) -> float:
        return self.mean + self.half

    def covers(self, value: float) -> bool:
        return not math.isnan(self.half) and self.low <= value <= self.high

    def excludes(self, value: float) -> bool:
        """One value excludes nothing."""
        return not math.isnan(self.half) and not self.covers(value)

    def text(self, digits: int = 2, unit: str = "", sign: str = "") -> str:
        """The mean and its interval as text, such as 3.01 ± 0.13 Mbit/s.

        digits   places after the decimal point
        unit     text after the numbers, with the space before it
        sign     "+" for a sign before a positive mean, too
        """
        interval = "" if math.isnan(self.half) else f" ± {self.half:.{digits}f}"
        return f"{self.mean:{sign}.{digits}f}{interval}{unit}"


def estimate(of: Iterable[float]) -> Estimate:
    """The mean of independent values and its 95 % confidence interval."""
    values = [float(v) for v in of]
    n = len(values)
    if n == 0:
        raise ValueError("no values")
    mean = statistics.fmean(values)
    if n == 1:
        return Estimate(mean, math.nan, 1)
    return Estimate(mean, student_t(n - 1) * statistics.stdev(values) / math.sqrt(n), n)


def _common(a: Realisations, b: Realisations) -> tuple[list[float], list[float]]:
    there = sorted(set(a) & set(b))
    if not there:
        raise LookupError("no realisation in common")
    return [float(a[r]) for r in there], [float(b[r]) for r in there]


def difference(a: Realisations, b: Realisations) -> Estimate:
    """The mean of a - b with paired realisations. The interval is that of the differences.

    a, b     the value of each realisation, by its seed for example
    """
    x, y = _common(a, b)
    return estimate(p - q for p, q in zip(x, y))


def ratio(a: Realisations, b: Realisations) -> Estimate:
    """The ratio mean(a) / mean(b) with paired realisations. The interval is by the delta method.

    a, b     the value of each realisation, by its seed for example
    """
    x, y = _common(a, b)
    over, under = statistics.fmean(x), statistics.fmean(y)
    if under == 0:
        return Estimate(math.inf if over > 0 else math.nan, math.nan, len(x))
    r = over / under
    return Estimate(r, estimate((p - r * q) / under for p, q in zip(x, y)).half, len(x))


def disjoint(a: Estimate, b: Estimate) -> bool:
    """Whether two intervals do not overlap."""
    return a.high < b.low or b.high < a.low
