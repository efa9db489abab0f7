# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of the tables about queue disciplines, for result_tables.py. Each function takes the data of
docs/results/data/queues.json (tests/bench/queue_table.py) and returns rows, the head first."""

from typing import Any

import result_rows

SPEEDS = {"jakes": "75 km/h", "jakes-5": "5 km/h"}


def _of(value: dict[str, float], digits: int, scale: float = 1) -> str:
    return f"{value['mean'] * scale:.{digits}f} ± {value['half'] * scale:.{digits}f}"


def _points(data: dict[str, Any], channel: str) -> list[list[str]]:
    rows = [
        [
            "sender",
            "queue",
            "marks by",
            "goodput, Mbit/s",
            "median, ms",
            "95 %, ms",
            "99 %, ms",
            "marked, %",
            "dropped, %",
        ]
    ]
    for r in data["rows"]:
        if r["channel"] == channel:
            rows.append(
                [
                    r["congestion_control"],
                    f"`{r['queue']}`",
                    "-" if r["queue"] == "drop_tail" else r["queue_marking"],
                    _of(r["goodput_mbps"], 2),
                    *(_of(r[name], 1) for name in ("median_ms", "p95_ms", "p99_ms")),
                    *(f"{100 * r[name]['mean']:.2f}" for name in ("marked", "dropped")),
                ]
            )
    return rows


def fast(data: dict[str, Any]) -> list[list[str]]:
    return _points(data, "jakes")


def slow(data: dict[str, Any]) -> list[list[str]]:
    return _points(data, "jakes-5")


def gains(data: dict[str, Any]) -> list[list[str]]:
    rows = [["speed", "sender", "queue", "goodput", "median", "95 %", "99 %"]]
    for g in data["gains"]:
        rows.append(
            [
                SPEEDS[g["channel"]],
                g["congestion_control"],
                f"`{g['queue']}`",
                *(_of(g[name], 3) for name in ("goodput_mbps", "median_ms", "p95_ms", "p99_ms")),
            ]
        )
    return rows


def statements(data: dict[str, Any]) -> list[list[str]]:
    return result_rows.statements_of(data, "Q-1", "expected")
