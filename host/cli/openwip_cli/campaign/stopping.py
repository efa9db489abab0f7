# SPDX-License-Identifier: GPL-3.0-or-later
"""When a point has been measured well enough.

until: {half_width: 0.02}     a point stops before its last realisation when its 95 % interval is
narrow enough

No interval knows what has not happened yet: where one realisation in twenty has a timeout, a third
of all points have none in their first twenty realisations, and look as if they were measured well.
So a point stops only after so many realisations that something which happens in a share `rare` of
them has happened with a probability of 95 % (59 for 5 %), and never before 20. The rule looks at
numbers of realisations that grow by 15 % from one look to the next, because every look is another
chance to stop at an interval that is narrow by chance (docs/results/campaigns.md)."""

import dataclasses
import math
import pathlib
from typing import Any

from ..errors import not_valid
from ..figures.estimates import CONFIDENCE, estimate
from ..settings.command_line import read
from ..settings.kinds import Integer, Real
from .file_parts import check_parts

LEAST = 20  # realisations of a point before it may stop, whatever `until` is
RARE = 0.05  # share of the realisations in which something happens that a point must not miss
GROWTH = 1.15  # factor between the numbers of realisations at two successive looks


@dataclasses.dataclass(frozen=True)
class Until:
    """A point stops at the first look at which its interval reaches at most `half_width` of its
    mean to either side. What was run beyond it is not used, so the outcome does not depend on how
    many runs went on at a time."""

    half_width: float
    at_least: int = 0  # realisations, if more than `rare` asks for
    metric: str | None = None  # None: that of the first figure
    rare: float = RARE

    @property
    def least(self) -> int:
        """Realisations before the first look."""
        seen = math.ceil(math.log(1 - CONFIDENCE) / math.log1p(-self.rare))
        return max(LEAST, self.at_least, seen)

    def narrow(self, values: list[float]) -> bool:
        e = estimate(values)
        # An event that occurred in none of the realisations may still occur.
        return bool(e.mean) and max(e.mean - e.low, e.high - e.mean) <= self.half_width * abs(
            e.mean
        )

    def enough(self, values: dict[int, float]) -> int | None:
        """The realisation at which a point stops; None: it goes on. `values`: by realisation,
        without those of invalid runs."""
        watch = Watch(self)
        return next((r for r in sorted(values) if watch.add(values[r])), None)


class Watch:
    """The rule at one point, value after value in the order of the realisations."""

    def __init__(self, rule: Until) -> None:
        self.rule, self.look = rule, rule.least
        self.values: list[float] = []

    def add(self, value: float) -> bool:
        """True: the point stops with this value."""
        self.values.append(value)
        if len(self.values) < self.look:
            return False
        self.look = max(self.look + 1, math.ceil(GROWTH * self.look))
        return self.rule.narrow(self.values)


def read_until(path: pathlib.Path, given: Any, most: int) -> Until | None:
    """`most`: realisations that a point has; with fewer than the rule needs no point stops."""
    if given is None:
        return None
    kinds: dict[str, Any] = {
        "half_width": Real(0.001, 1),
        "at_least": Integer(LEAST, max(LEAST, most)),
        "rare": Real(0.001, 0.5),
        "metric": None,
    }
    if not isinstance(given, dict) or "half_width" not in given:
        raise not_valid(
            f"experiment file {path}: until",
            repr(given),
            "a mapping with the key half_width and perhaps at_least, rare, metric",
        )
    check_parts(path, given, kinds)
    checked: dict[str, Any] = {
        name: (
            read(f"experiment file {path}: until: {name}", kinds[name], value)
            if kinds[name]
            else str(value)
        )
        for name, value in given.items()
    }
    return Until(**checked)
