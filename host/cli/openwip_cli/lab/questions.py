# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a worksheet: runs, questions, and how the right answers follow from the files of the
student's runs."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..records.run_record import RunRecord

# The report of a run. One that was taken from a run record has under "recorded" the figures that the
# sheet takes from the record itself (Sheet.recorded).
Report = Mapping[str, Any]
Reports = Mapping[str, Report]  # report by the name of the run


@dataclasses.dataclass(frozen=True)
class Run:
    name: str  # a, b, ...
    says: str  # description of the run
    settings: Mapping[str, Any]  # keys of a scenario, over the sheet's common ones


@dataclasses.dataclass(frozen=True)
class Number:
    name: str
    asks: str
    right: Callable[[Reports], float]
    tolerance: float  # share of the right answer
    least: float = 0.0  # lower bound of the tolerance, in the unit of the answer
    hint: str = ""  # text for a wrong answer


def ratio(
    name: str,
    asks: str,
    value_of: Callable[[Report], float],
    over: tuple[str, str],
    tolerance: float,
    least: float = 0.0,
    figure: str = "the goodput",
    where: str = "in the lines `TCP goodput`",
) -> Number:
    """A question for the ratio of the same figure of two runs, `over` = (run, reference). The hint
    says which figure that is, and where a student finds it."""
    run, reference = over
    return Number(
        name,
        asks,
        lambda runs: value_of(runs[run]) / value_of(runs[reference]),
        tolerance,
        least,
        f"it is {figure} of run {run} over that of run {reference}, {where}",
    )


@dataclasses.dataclass(frozen=True)
class Choice:
    name: str
    asks: str
    choices: Mapping[str, str]  # letter: text
    right: str
    hint: str = ""


Question = Number | Choice


@dataclasses.dataclass(frozen=True)
class Sheet:
    number: int
    title: str
    page: str
    common: Mapping[str, Any]
    runs: Sequence[Run]
    questions: Sequence[Question]
    command: str = "demo"  # command by which the runs are made
    # Figures of a run's record. With it a run leaves a record, without it a report.
    recorded: Callable[[RunRecord], Mapping[str, float]] | None = None
    over_a_cable: bool = False  # whether the runs can be made in a cabled cell as well


def goodput(report: Report) -> float:
    return float(report["tcp"]["goodput_bps"])


def failed_percent(report: Report) -> float:
    return 100 * float(report["link"]["frame_error_rate"])
