# SPDX-License-Identifier: GPL-3.0-or-later
"""When a point has been measured well enough.

until: {half_width: 0.02}     a point stops before its last realisation when its 95 % interval is
narrow enough"""

import dataclasses
import pathlib
from typing import Any

from ..errors import BadInput
from ..figures.estimates import estimate
from ..settings.command_line import read
from ..settings.kinds import Integer, Real
from .file_parts import check_parts

AT_LEAST = 5  # realisations of a point before it may stop


@dataclasses.dataclass(frozen=True)
class Until:
    """A point stops at the first realisation (of at_least) at which half its interval is at most
    `half_width` of its mean. What was run beyond it is not used, so the outcome does not depend on
    how many runs went on at a time."""

    half_width: float
    at_least: int = AT_LEAST
    metric: str | None = None  # None: that of the first figure

    def enough(self, values: dict[int, float]) -> int | None:
        """The realisation at which it stops; None: it goes on. An invalid run is not among
        `values`."""
        there = sorted(values)
        for n in range(self.at_least, len(there) + 1):
            e = estimate([values[r] for r in there[:n]])
            # none five times may still be some
            if e.half <= self.half_width * abs(e.mean) and e.mean:
                return there[n - 1]
        return None


def read_until(path: pathlib.Path, given: Any, most: int) -> Until | None:
    """`most`: realisations that a point has; with fewer than at_least of them no point stops."""
    if given is None:
        return None
    kinds: dict[str, Any] = {
        "half_width": Real(0.001, 1),
        "at_least": Integer(2, most),
        "metric": None,
    }
    if not isinstance(given, dict) or "half_width" not in given:
        raise BadInput(
            f"experiment file {path}: until is {given!r}; valid: a mapping with half_width"
            " and perhaps at_least, metric"
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
