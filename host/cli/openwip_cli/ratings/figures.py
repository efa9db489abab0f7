# SPDX-License-Identifier: GPL-3.0-or-later
"""A figure for each task: box plots with notches, comparison intervals, mean grades against
delays."""

import io
from collections.abc import Sequence
from typing import Any

from ..machine.canvas import Axes, plt
from .analysis import Row, name_of, usable
from .cases import GRADES, HIGHEST, VIDEO


def of_result(result: dict[str, Any], rows: Sequence[Row]) -> list[tuple[str, bytes]]:
    """(name of the file, PNG) of each task."""
    return [
        (
            f"ratings-{task}.png",
            of_task(task, found, [r for r in usable(rows) if r["task"] == task]),
        )
        for task, found in result["tasks"].items()
    ]


def of_task(task: str, found: dict[str, Any], rows: Sequence[Row]) -> bytes:
    figure, (boxes, intervals, delays) = plt.subplots(1, 3, figsize=(15, 4.8), layout="constrained")
    figure.suptitle(task)
    names = [case["case"] for case in found["cases"]]
    draw_boxes(boxes, names, rows)
    draw_intervals(intervals, found["cases"])
    draw_delays(delays, task, found["cases"])
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=110)
    plt.close(figure)
    return out.getvalue()


def grade_axis(axes: Axes) -> None:
    axes.set_ylim(0.6, HIGHEST + 0.4)
    axes.set_yticks(
        range(1, HIGHEST + 1), [f"{g} {HIGHEST - n}" for n, g in enumerate(GRADES)][::-1]
    )
    axes.grid(axis="y", alpha=0.3)


def draw_boxes(axes: Axes, names: list[str], rows: Sequence[Row]) -> None:
    axes.boxplot(
        [[r["rating"] for r in rows if name_of(r) == name] for name in names],
        notch=True,
        whis=1.5,
        positions=range(len(names)),
    )
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right")
    axes.set_title("grades: quartiles, notch, 1.5 IQR", fontsize=10)
    grade_axis(axes)


def draw_intervals(axes: Axes, cases: list[dict[str, Any]]) -> None:
    for at, case in enumerate(cases):
        if case["interval"]:
            axes.plot(case["interval"], [-at, -at], color="#0072B2", lw=2, marker="|")
        axes.plot(case["mean"], -at, "o", color="#D55E00")
    axes.set_yticks([-n for n in range(len(cases))], [case["case"] for case in cases])
    axes.set_xlim(0.8, HIGHEST + 0.2)
    axes.set_xlabel("mean grade; disjoint intervals: different at 5 %")
    axes.grid(axis="x", alpha=0.3)


def draw_delays(axes: Axes, task: str, cases: list[dict[str, Any]]) -> None:
    for case in cases:
        if case["delay_s"]:
            axes.plot(case["delay_s"], case["mean"], "o", color="#0072B2")
            axes.annotate(
                case["case"],
                (case["delay_s"], case["mean"]),
                textcoords="offset points",
                xytext=(4, 4),
                fontsize=8,
            )
    if any(case["delay_s"] for case in cases):
        axes.set_xscale("log")
    axes.set_xlabel("start and standstills, s" if task == VIDEO else "total delay, s", fontsize=10)
    grade_axis(axes)
