#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Delay and goodput of experiment Q-1, and what marking by the predicted rate changes.

    queue_table.py FOLDER [--json FILE]

FOLDER is what ./openwip experiment Q-1 --time virtual --out FOLDER has written.

Ratios are of pairs of runs with the same realisation. Exit code 1: a point has no value."""

import argparse
import csv
import json
import pathlib
import sys
from typing import Any

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kept_result
from openwip_cli.figures import estimates

Values = dict[int, float]  # realisation -> value
METRICS = {
    "goodput_mbps": "goodput_mbps",
    "median_ms": "packet_delay_ms:50",
    "p95_ms": "packet_delay_ms:95",
    "p99_ms": "packet_delay_ms:99",
    "marked": "marked",
    "dropped": "queue_dropped",
}
SETTINGS = ("channel", "congestion_control", "queue", "queue_marking")


def read(path: pathlib.Path) -> dict[tuple[str, ...], dict[str, Values]]:
    """The values of each point, in the order of the file, by metric."""
    found: dict[tuple[str, ...], dict[str, Values]] = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            of = found.setdefault(tuple(row[s] for s in SETTINGS), {})
            of.setdefault(row["metric"], {})[int(row["realisation"])] = float(row["value"])
    return found


def kept(e: estimates.Estimate) -> dict[str, float]:
    return {"mean": float(f"{e.mean:.5g}"), "half": float(f"{e.half:.3g}")}


def rows_of(found: dict[tuple[str, ...], dict[str, Values]]) -> list[dict[str, Any]]:
    return [
        dict(zip(SETTINGS, point))
        | {
            name: kept(estimates.estimate(values[metric].values()))
            for name, metric in METRICS.items()
        }
        for point, values in found.items()
    ]


def gains_of(found: dict[tuple[str, ...], dict[str, Values]]) -> list[dict[str, Any]]:
    """Figures of queues that mark by the predicted rate over those that mark by sojourn time."""
    return [
        dict(zip(SETTINGS[:-1], point))
        | {
            name: kept(estimates.ratio(found[(*point[:-1], "predicted")][metric], values[metric]))
            for name, metric in list(METRICS.items())[:4]
        }
        for point, values in found.items()
        if point[-1] == "sojourn" and (*point[:-1], "predicted") in found
    ]


def main() -> int:
    p = argparse.ArgumentParser(description="delay and goodput of experiment Q-1")
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--json", metavar="FILE", help="write points, gains and statements to FILE")
    given = p.parse_args()
    found = read(given.folder / "Q-1.csv")
    if missing := [
        (*point, metric)
        for point, values in found.items()
        for metric in METRICS.values()
        if metric not in values
    ]:
        print(f"{given.folder}/Q-1.csv has no {' '.join(missing[0][::-1])}", file=sys.stderr)
        return 1
    about = json.loads((given.folder / "comparison.json").read_text())["experiments"]["Q-1"]
    result = {
        "realisations": about["realisations"],
        "runs": about["counts"]["runs"],
        "valid": about["counts"]["valid"],
        "rows": rows_of(found),
        "gains": gains_of(found),
        "statements": [
            {"experiment": "Q-1"} | {k: s[k] for k in ("id", "says", "source", "measured", "holds")}
            for s in about["statements"]
        ],
    }
    for g in result["gains"]:
        print(
            " ".join(g[s] for s in SETTINGS[:-1]),
            *(
                f"{name} {g[name]['mean']:.3f} ± {g[name]['half']:.3f}"
                for name in METRICS
                if name in g
            ),
        )
    if given.json:
        kept_result.write(
            given.json,
            f"./openwip experiment Q-1 --time virtual --realisations {about['realisations']} --out"
            " queues && /usr/bin/python3 tests/bench/queue_table.py queues --json FILE",
            result,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
