# SPDX-License-Identifier: GPL-3.0-or-later
"""The statistics of a study: for each task the box of each case, a one-way analysis of variance, the
comparison intervals of Tukey, and the mean grades against the delays.

Two cases differ at the family-wise level of 5 % if the difference of their means is larger than
q(0.95; k, n - k) sqrt(s^2 (1/n_i + 1/n_j) / 2), where q is a quantile of the studentized range and
s^2 the variance within the cases (Tukey and Kramer). With as many grades in each case this is so
exactly if their comparison intervals, of half that length about the means, are disjoint."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from ..errors import BadInput
from .cases import TASKS, VIDEO

LEVEL = 0.05  # family-wise error rate of the comparisons
Row = dict[str, Any]


def name_of(row: Row) -> str:
    return str(row.get("case") or row["code"])


def usable(rows: Sequence[Row]) -> list[Row]:
    """A grade that was given over a link with an invalid verdict does not count."""
    return [row for row in rows if row["valid"]]


def delay_of(row: Row) -> float | None:
    """The time that the subject waited for: the whole page, or the video's start and all its
    stalls; None: the subject stopped before, so it is not known."""
    if row["task"] != VIDEO:
        return row.get("total_s")
    if row.get("startup_s") is None or row.get("end_s") is None:
        return None
    return float(row["startup_s"]) + float(row.get("rebuffer_s") or 0)


def box(grades: Sequence[float]) -> dict[str, Any]:
    """Quartiles, the notch (median +- 1.57 IQR / sqrt(n)), whiskers to the last grade within 1.5
    IQR, and the grades beyond."""
    low, median, high = (float(q) for q in np.percentile(grades, (25, 50, 75)))
    reach = 1.5 * (high - low)
    inside = [g for g in grades if low - reach <= g <= high + reach]
    notch = 1.57 * (high - low) / math.sqrt(len(grades))
    return {
        "quartiles": [low, median, high],
        "notch": [median - notch, median + notch],
        "whiskers": [min(inside), max(inside)],
        "outliers": sorted(g for g in grades if not low - reach <= g <= high + reach),
    }


def variance_within(groups: Sequence[Sequence[float]]) -> tuple[float, int]:
    """(mean square, degrees of freedom)."""
    freedom = sum(map(len, groups)) - len(groups)
    squares = sum(float(np.var(g)) * len(g) for g in groups)
    return (squares / freedom if freedom else math.nan), freedom


def number(value: float) -> float | None:
    """The number for JSON: None if it is not finite."""
    return float(value) if math.isfinite(value) else None


def anova(groups: Sequence[Sequence[float]]) -> dict[str, Any]:
    square, freedom = variance_within(groups)
    if len(groups) < 2 or freedom < 1 or square == 0:
        return {"f": None, "p": None, "between": len(groups) - 1, "within": freedom}
    found = stats.f_oneway(*groups)
    return {
        "f": number(found.statistic),
        "p": number(found.pvalue),
        "between": len(groups) - 1,
        "within": freedom,
    }


def comparisons(groups: dict[str, list[float]]) -> tuple[dict[str, list[float]], list[list[str]]]:
    """(comparison interval of each case, the pairs that differ: the better one first)."""
    square, freedom = variance_within(list(groups.values()))
    if len(groups) < 2 or freedom < 1:
        return {}, []
    quantile = float(stats.studentized_range.ppf(1 - LEVEL, len(groups), freedom))
    means = {name: float(np.mean(g)) for name, g in groups.items()}
    half = {name: quantile * math.sqrt(square / len(g)) / 2 for name, g in groups.items()}
    pairs = []
    for one, other in itertools.combinations(sorted(groups, key=lambda n: -means[n]), 2):
        share = 1 / len(groups[one]) + 1 / len(groups[other])
        if means[one] - means[other] > quantile * math.sqrt(square * share / 2):
            pairs.append([one, other])
    return {n: [means[n] - half[n], means[n] + half[n]] for n in groups}, pairs


def against_delay(points: Sequence[tuple[float, float]]) -> dict[str, Any] | None:
    """A line through mean grade and logarithm of the delay, and the rank correlation; None: there
    are less than three points."""
    if len(points) < 3 or len({delay for delay, _ in points}) < 2:
        return None
    delays, grades = zip(*points)
    line = stats.linregress(np.log10(delays), grades)
    # Grades that are all the same have no ranks.
    rank = stats.spearmanr(delays, grades)[0] if len(set(grades)) > 1 else math.nan
    return {
        "grades_per_decade": number(line.slope),
        "grade_at_1_s": number(line.intercept),
        "r_squared": number(line.rvalue**2),
        "rank_correlation": number(rank),
    }


def of_task(rows: Sequence[Row]) -> dict[str, Any]:
    groups: dict[str, list[Row]] = {}
    for row in sorted(rows, key=name_of):
        groups.setdefault(name_of(row), []).append(row)
    grades = {name: [float(r["rating"]) for r in its] for name, its in groups.items()}
    intervals, pairs = comparisons(grades)
    cases: list[dict[str, Any]] = []
    points: list[tuple[float, float]] = []
    for name, its in groups.items():
        delays = [d for r in its if (d := delay_of(r)) is not None]
        first = [r["initial_s"] for r in its if r.get("initial_s") is not None]
        mean = float(np.mean(grades[name]))
        cases.append(
            {
                "case": name,
                "grades": len(its),
                "mean": mean,
                "deviation": float(np.std(grades[name], ddof=1)) if len(its) > 1 else None,
                "box": box(grades[name]),
                "interval": intervals.get(name),
                "initial_s": float(np.mean(first)) if first else None,
                "delay_s": float(np.mean(delays)) if delays else None,
                "delays": len(delays),
            }
        )
        if delays and np.mean(delays) > 0:
            points.append((float(np.mean(delays)), mean))
    cases.sort(key=lambda c: -c["mean"])
    return {
        "cases": cases,
        "anova": anova(list(grades.values())),
        "different": pairs,
        "against_delay": against_delay(points),
    }


def of_rows(rows: Sequence[Row]) -> dict[str, Any]:
    good = usable(rows)
    if not good:
        raise BadInput(
            "the study or table holds no grade of a run whose verdict is VALID; valid: at least one"
        )
    return {
        "subjects": len({row["subject"] for row in good}),
        "grades": len(good),
        "left_out": len(rows) - len(good),
        "simulated": sum(bool(row.get("simulated")) for row in good),
        "tasks": {
            task: of_task(its) for task in TASKS if (its := [r for r in good if r["task"] == task])
        },
    }


def screen(result: dict[str, Any]) -> str:
    lines = [f"{result['grades']} grades of {result['subjects']} subjects"]
    if result["left_out"]:
        lines.append(f"left out: {result['left_out']} over links with an invalid verdict")
    if result["simulated"]:
        lines.append(f"of a program, not of people: {result['simulated']}")
    for task, found in result["tasks"].items():
        test = found["anova"]
        lines += ["", task, "  case          grades   mean   interval        delay"]
        for case in found["cases"]:
            interval = (
                f"{case['interval'][0]:5.2f} .. {case['interval'][1]:4.2f}"
                if case["interval"]
                else " " * 13
            )
            delay = f"{case['delay_s']:8.1f} s" if case["delay_s"] is not None else "       -"
            lines.append(
                f"  {case['case']:<12}{case['grades']:8d}{case['mean']:7.2f}  {interval}{delay}"
            )
        if test["p"] is not None:
            lines.append(
                f"  analysis of variance: F({test['between']}, {test['within']}) ="
                f" {test['f']:.2f}, p = {test['p']:.2g}"
            )
        lines.append(
            "  different at 5 %: "
            + (", ".join(" > ".join(pair) for pair in found["different"]) or "none")
        )
        if line := found["against_delay"]:
            rank = line["rank_correlation"]
            lines.append(
                f"  against delay: {line['grades_per_decade']:+.2f} grades a decade, rank"
                f" correlation {'-' if rank is None else format(rank, '.2f')}"
            )
    return "\n".join(lines)
