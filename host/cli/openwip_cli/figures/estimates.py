# SPDX-License-Identifier: GPL-3.0-or-later
"""Mean and confidence interval over realisations of the channel.

The realisations are independent, so the mean of n of them has the interval  mean +- t(n-1) s /
sqrt(n)  (Student t, 95 %). Where the values are clearly skew (a rare timeout), that interval misses
the true mean too often, and always on the same side: from ten values on the quantiles of t are then
those of resamples of the values themselves (bootstrap-t), so the interval has two different halves.
Two settings that saw the same realisations are compared by their
differences, realisation by realisation: what the channel gave to both cancels, and the interval of
the difference is much narrower than the two."""

import contextlib
import contextvars
import dataclasses
import functools
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

CONFIDENCE = 0.95
Realisations: TypeAlias = Mapping[Any, float]  # realisation -> value


# Values whose skewness is more than this many of its standard errors away from zero are resampled.
SKEW = 2.0
LEAST_RESAMPLED = 10  # values; with fewer, resamples say nothing about the tails
RESAMPLES = 2000  # bootstrap resamples of an interval, at least
# A resample may have hardly any spread, or none. Its t is then computed with this share of the
# spread of all values.
LEAST_SPREAD = 0.05

_confidence = contextvars.ContextVar("confidence", default=CONFIDENCE)


@contextlib.contextmanager
def confidence(level: float) -> Iterator[None]:
    """Within the block, all intervals have this confidence instead of CONFIDENCE."""
    before = _confidence.set(level)
    try:
        yield
    finally:
        _confidence.reset(before)


def student_t(degrees: int) -> float:
    return _student_t(degrees, _confidence.get())


@functools.cache
def _student_t(degrees: int, confidence: float) -> float:
    # Late: it loads numpy, which starts threads, and the runs are forked from this process.
    from scipy import stats

    return float(stats.t.ppf(0.5 + confidence / 2, degrees))


@functools.lru_cache(maxsize=8)
def _resamples(n: int, times: int) -> Any:
    """The indices of the n values that each resample consists of: (times, n). Every call has the
    same ones."""
    import numpy as np

    return np.random.default_rng(1).integers(0, n, (times, n))


def is_skew(values: list[float]) -> bool:
    n = len(values)
    if n < LEAST_RESAMPLED:
        return False
    mean = statistics.fmean(values)
    second = statistics.fmean((v - mean) ** 2 for v in values)
    if second <= 0 or not math.isfinite(second):
        return False
    skewness = statistics.fmean((v - mean) ** 3 for v in values) / second**1.5
    error = math.sqrt(6 * n * (n - 1) / ((n - 2) * (n + 1) * (n + 3)))
    return abs(skewness) > SKEW * error


def _bootstrap_t(values: list[float], mean: float, spread: float) -> tuple[float, float]:
    """How far the interval reaches below and above the mean."""
    import numpy as np

    n, tail = len(values), (1 - _confidence.get()) / 2
    times = max(RESAMPLES, math.ceil(50 / tail))
    drawn = np.array(values)[_resamples(n, times)]
    spreads = np.maximum(drawn.std(axis=1, ddof=1), LEAST_SPREAD * spread)
    low, high = np.quantile((drawn.mean(axis=1) - mean) / spreads, [tail, 1 - tail])
    return max(0.0, float(high)) * spread, max(0.0, -float(low)) * spread


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A mean over realisations and its 95 % confidence interval."""

    mean: float
    # How far the interval reaches, or if its halves differ, the longer of them; nan: there is one
    # value alone, which says nothing about an interval.
    half: float
    n: int
    # If the halves of the interval differ: how far it reaches below and above the mean.
    halves: tuple[float, float] | None = None

    @property
    def low(self) -> float:
        return self.mean - (self.halves[0] if self.halves else self.half)

    @property
    def high(self) -> float:
        return self.mean + (self.halves[1] if self.halves else self.half)

    def covers(self, value: float) -> bool:
        return not math.isnan(self.half) and self.low <= value <= self.high

    def excludes(self, value: float) -> bool:
        """One value excludes nothing."""
        return not math.isnan(self.half) and not self.covers(value)

    def text(self, digits: int = 2, unit: str = "", sign: str = "") -> str:
        """The mean and its interval as text, such as 3.01 ± 0.13 Mbit/s, or 3.01 - 0.10 + 0.31
        Mbit/s where the halves differ.

        digits   places after the decimal point
        unit     text after the numbers, with the space before it
        sign     "+" for a sign before a positive mean, too
        """
        interval = "" if math.isnan(self.half) else f" ± {self.half:.{digits}f}"
        if self.halves:
            below, above = self.halves
            interval = f" - {below:.{digits}f} + {above:.{digits}f}"
        return f"{self.mean:{sign}.{digits}f}{interval}{unit}"


def estimate(of: Iterable[float]) -> Estimate:
    """The mean of independent values and its 95 % confidence interval."""
    values = [float(v) for v in of]
    n = len(values)
    if n == 0:
        raise ValueError(
            "the mean of an empty list of values is not defined; valid: one value or more"
        )
    mean = statistics.fmean(values)
    if n == 1:
        return Estimate(mean, math.nan, 1)
    spread = statistics.stdev(values)
    if is_skew(values):
        halves = _bootstrap_t(values, mean, spread)
        return Estimate(mean, max(halves), n, halves)
    return Estimate(mean, student_t(n - 1) * spread / math.sqrt(n), n)


def _common(a: Realisations, b: Realisations) -> tuple[list[float], list[float]]:
    in_both = sorted(set(a) & set(b))
    if not in_both:
        raise LookupError("the two points have no realisation in common")
    return [float(a[r]) for r in in_both], [float(b[r]) for r in in_both]


def difference(a: Realisations, b: Realisations) -> Estimate:
    """The mean of a - b with paired realisations. The interval is that of the differences.

    a, b     the value of each realisation, by its seed for example
    """
    x, y = _common(a, b)
    return estimate(p - q for p, q in zip(x, y))


def ratio(a: Realisations, b: Realisations) -> Estimate:
    """The ratio mean(a) / mean(b) with paired realisations. The interval is by the delta method: that
    of the mean of the deviations which each realisation adds to the ratio. If they are clearly skew,
    it has two different halves, as that of any mean.

    a, b     the value of each realisation, by its seed for example
    """
    x, y = _common(a, b)
    over, under = statistics.fmean(x), statistics.fmean(y)
    if under == 0:
        return Estimate(math.inf if over > 0 else math.nan, math.nan, len(x))
    r = over / under
    deviation = estimate((p - r * q) / under for p, q in zip(x, y))
    return dataclasses.replace(deviation, mean=r)


def disjoint(a: Estimate, b: Estimate) -> bool:
    """Whether two intervals do not overlap."""
    return a.high < b.low or b.high < a.low
