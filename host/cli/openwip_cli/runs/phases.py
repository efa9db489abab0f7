# SPDX-License-Identifier: GPL-3.0-or-later
"""The one run, of whatever kind: its processes start, there is traffic, what is under way arrives,
its facts are evaluated (figures/checks.py), and the report has a verdict and the rows of this kind.
What happens around it in a cell (logs, record, capture, supervisor) is in run.py."""

import contextlib
from typing import Any

from ..figures import checks
from ..figures.facts import Facts
from ..measure.traffic import TrafficFailed


class Run:
    """A kind of run says what is its own of each phase."""

    def __init__(self) -> None:
        self.failed: list[str] = []  # traffic that did, in words

    def watched(self) -> contextlib.AbstractContextManager[Any]:
        """A context for observers that run from before the start until the evaluation."""
        return contextlib.nullcontext()

    def start(self) -> None:
        """The processes are up when it returns."""

    def traffic(self) -> None:
        """TrafficFailed makes the run invalid, and the phases after it follow all the same."""
        raise NotImplementedError

    def drain(self) -> None:
        """Packets under way arrive, and the last counts are taken."""

    def facts(self) -> Facts:
        raise NotImplementedError

    def rows(self) -> dict[str, Any]:
        """The rest of the report."""
        raise NotImplementedError


def carry_out(run: Run) -> dict[str, Any]:
    """The report."""
    with run.watched():
        run.start()
        try:
            run.traffic()
        except TrafficFailed as e:
            run.failed.append(str(e))
        run.drain()
        evaluated = checks.evaluate(run.facts())
    return {"verdict": evaluated} | run.rows()
