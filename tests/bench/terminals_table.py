# SPDX-License-Identifier: GPL-3.0-or-later
"""terminals_table.py GRANTS [CELLS] --json FILE [--figure FILE]: the tables of docs/results/terminals.md, from the lines
that grant_errors and terminals print. docs/generators/result_tables.py puts them into the page."""

import argparse
import json
import pathlib
import sys
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kept_result

Row = dict[str, Any]
SHOWN_DB = (0, 2, 4, 6, 8, 10)


def lines(path: str) -> list[Row]:
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]


def percent(share: float) -> str:
    return f"{100 * share:.2f}"


def grants(rows: list[Row]) -> list[list[Any]]:
    """A row for each channel and form, a column for each SNR."""
    table = []
    for channel in ("AWGN", "typical urban"):
        common = {
            r["snr_db"]: r["lost_plain"]
            for r in rows
            if r["channel"] == channel and r.get("content") == "25 new, boundaries"
        }
        table.append([channel, "common, 25 bins", "240", *(percent(common[db]) for db in SHOWN_DB)])
        for bins in (4, 8, 10, 12):
            for best in (False, True):
                own = {
                    r["snr_db"]: r
                    for r in rows
                    if r["channel"] == channel and r.get("own_bins") == bins and r["best"] == best
                }
                if own:
                    form = f"own, {'best' if best else 'spread'} {bins} bins"
                    content = str(own[0]["content_bits"])
                    table.append(
                        [channel, form, content, *(percent(own[db]["lost"]) for db in SHOWN_DB)]
                    )
    return table


def points_apart(ours: Row, theirs: Row) -> float:
    """The largest difference of a terminal's share, in points of 100."""
    shares = [[v / sum(r["mbit_s"]) for v in r["mbit_s"]] for r in (ours, theirs)]
    return max(100 * abs(a - b) for a, b in zip(*shares))


def schedulers(rows: list[Row]) -> list[list[Any]]:
    def same(a: Row, b: Row) -> bool:
        return all(a[k] == b[k] for k in ("terminals", "snr", "scheduling"))

    table = []
    for ours in rows:
        if ours["level"] != "samples":
            continue
        bins = next(r for r in rows if r["level"] == "bins" and same(r, ours))
        table.append(
            [
                str(ours["terminals"]),
                ours["snr"],
                ours["scheduling"],
                str(ours["most_served"]),
                f"{sum(ours['mbit_s']):.2f}",
                f"{sum(bins['mbit_s']):.2f}",
                f"{ours['jain']:.3f}",
                f"{bins['jain']:.3f}",
                f"{points_apart(ours, bins):.1f}",
                percent(ours["failed"]),
                percent(bins["failed"]),
                f"{ours['nmse']:.3f}",
            ]
        )
    return table


def limits(rows: list[Row]) -> list[list[Any]]:
    """At bin level: grants of their own, and the common grant with each limit."""

    def goodput(level: str, like: Row, limit: int) -> str:
        found = [
            r
            for r in rows
            if r["level"] == level
            and r["most_served"] == limit
            and all(r[k] == like[k] for k in ("terminals", "snr", "scheduling"))
        ]
        return f"{sum(found[0]['mbit_s']):.2f}"

    return [
        [
            str(r["terminals"]),
            r["snr"],
            r["scheduling"],
            goodput("bins", r, 2),
            goodput("bins, common grant", r, 2),
            goodput("bins, common grant", r, 4),
        ]
        for r in rows
        if r["level"] == "bins" and r["terminals"] >= 4
    ]


LINES = (  # lines of the plot: label, level, scheduler, limit
    ("samples, limit 2", "samples", "proportional_fair", 2),
    ("samples, limit 4", "samples", "proportional_fair", 4),
    ("bins, a grant each", "bins", "proportional_fair", 2),
    ("samples, limit 2, max_rate", "samples", "max_rate", 2),
    ("bins, a grant each, max_rate", "bins", "max_rate", 2),
)


def diversity(rows: list[Row]) -> dict[str, dict[int, float]]:
    """Goodput by the number of terminals, all at 16 dB; one alone has no scheduler."""
    found = {
        "order statistics": {
            r["terminals"]: r["mbit_s"][0] for r in rows if r["level"] == "order statistics"
        }
    }
    for label, level, scheduling, limit in LINES:
        found[label] = {
            r["terminals"]: sum(r["mbit_s"])
            for r in rows
            if r["level"] == level
            and r["snr"] == "16"
            and (r["terminals"] == 1 or (r["scheduling"] == scheduling))
            and (r["most_served"] == limit or r["terminals"] == 1)
        }
    return found


def plot(rows: list[Row], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 4.2), layout="constrained")
    for label, points in diversity(rows).items():
        style = "k--" if label == "order statistics" else "o-"
        axes.plot(list(points), list(points.values()), style, label=label)
    axes.set(xlabel="terminals, 16 dB each", ylabel="goodput of the cell, Mbit/s", ylim=(0, None))
    axes.set_xscale("log", base=2)
    axes.set_xticks([1, 2, 4, 8], ["1", "2", "4", "8"])
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", loc="lower right")
    figure.savefig(path, dpi=120, metadata={"Software": None})


def cell_tables(cells: list[Row]) -> dict[str, Any]:
    gains = diversity(cells)
    return {
        "terminals-diversity": {
            "about": kept_result.about("build/tests/bench/terminals 600"),
            "columns": ["terminals", *gains],
            "rows": [
                [str(n), *(f"{g[n]:.2f}" if n in g else None for g in gains.values())]
                for n in (1, 2, 4, 8)
            ],
        },
        "terminals-limits": {
            "about": kept_result.about("build/tests/bench/terminals 600"),
            "columns": [
                "terminals",
                "SNR, dB",
                "scheduler",
                "a grant each, Mbit/s",
                "common grant, limit 2",
                "limit 4",
            ],
            "rows": limits(cells),
        },
        "terminals-schedulers": {
            "about": kept_result.about("build/tests/bench/terminals 600"),
            "columns": [
                "terminals",
                "SNR, dB",
                "scheduler",
                "limit",
                "samples, Mbit/s",
                "bins, Mbit/s",
                "Jain, samples",
                "Jain, bins",
                "shares differ by at most, points",
                "frames failed, samples, %",
                "the same, bins, %",
                "NMSE",
            ],
            "rows": schedulers(cells),
        },
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("grants")
    parser.add_argument("cells", nargs="?")
    parser.add_argument("--json", required=True)
    parser.add_argument("--figure", help="file of the plot of goodput by number of terminals")
    options = parser.parse_args()
    tables = {
        "terminals-grants": {
            "about": kept_result.about("build/tests/bench/grant_errors 3000 0 10"),
            "columns": [
                "channel",
                "grant",
                "bits without CRC",
                *(f"lost at {db} dB, %" for db in SHOWN_DB),
            ],
            "rows": grants(lines(options.grants)),
        }
    }
    cells = lines(options.cells) if options.cells else []
    if cells:
        tables |= cell_tables(cells)
        if options.figure:
            plot(cells, options.figure)
    kept = {"tables": tables, **({"cells": cells} if cells else {})}
    pathlib.Path(options.json).write_text(json.dumps(kept, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
