#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""From Tahoe to BBR over the bearer of 384 kbit/s, packets of 576 byte, 10 % of the blocks lost:
what a download of 4 Mbyte loses to the errors, the senders of ns-3 and of Linux in one figure
(docs/results/umts.md).

    ./openwip experiment U-B7 --time ns3 --tcp tick_ms=100 --out b7
    ./openwip experiment U-B6 --time virtual --out b6
    tahoe_to_bbr.py b7 b6 FIGURE.png

Each sender is measured with the TCP of the study's time in ns-3 and in Linux, and with everything
that a present kernel does by default, the window being 25 segments. Prints the table, from
seed-by-seed comparisons with 95 % intervals. A place without a valid run with errors (BBR of ns-3
is not over after an hour) says so."""

import csv
import pathlib
import sys
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "host" / "cli"))
from openwip_cli.campaign.figures import COLOURS
from openwip_cli.errors import BadInput
from openwip_cli.figures.estimates import Estimate, ratio

SENDERS = (
    "tahoe",
    "coarse-reno",
    "newreno",
    "reno",
    "westwood",
    "westwood-per-ack",
    "vegas",
    "veno",
    "cubic",
    "bbr",
    "eifel",
)
ORDERS = {"as_completed": "out of order", "in_order": "in order"}
SERIES = {
    "ns-3, TCP of then": ("U-B7", {}),
    "Linux, TCP of then": ("U-B6", {"rack": "0"}),
    "Linux of today": ("U-B6", {"rack": "1", "window_bytes": "13400"}),
}


def rows(folder: str, name: str) -> list[dict[str, str]]:
    path = pathlib.Path(folder, f"{name}.csv")
    try:
        with open(path, newline="", encoding="utf-8") as f:
            return [row for row in csv.DictReader(f) if row["metric"] == "download_s"]
    except (OSError, KeyError) as e:
        raise BadInput(
            f"{path}: {getattr(e, 'strerror', None) or 'no such column: ' + str(e)}; valid: a"
            f" folder of ./openwip experiment {name}"
        ) from None


def increase(
    found: list[dict[str, str]], sender: str, order: str, more: dict[str, str]
) -> Estimate | str | None:
    """Percent; None: there is no such point."""

    def times(errors: float) -> dict[int, float]:
        wanted = more | {"congestion_control": sender, "umts.order": order}
        return {
            int(r["realisation"]): float(r["value"])
            for r in found
            if float(r["umts.errors"]) == errors and all(r[k] == v for k, v in wanted.items())
        }

    clean, lost = times(0), times(0.1)
    if not clean:
        return None
    if not lost:
        return "no valid run"
    e = ratio(lost, clean)
    return Estimate(100 * (e.mean - 1), 100 * e.half, e.n)


def text(e: Estimate | str | None) -> str:
    return (
        "-"
        if e is None
        else (
            e
            if isinstance(e, str)
            else f"+{e.mean:.1f}" + (f" ± {e.half:.1f}" if e.half == e.half else "")
        )
    )


def draw(found: dict[tuple[str, str, str], Any], path: pathlib.Path) -> None:
    fig, axes = plt.subplots(2, 1, figsize=(10, 6.4), sharex=True)
    for a, (order, words) in zip(axes, ORDERS.items()):
        a.grid(True, axis="y", color="0.9", linewidth=0.6)
        a.set_axisbelow(True)
        for i, series in enumerate(SERIES):
            for x, sender in enumerate(SENDERS):
                e, at = found[order, series, sender], x + (i - 1) * 0.27
                if isinstance(e, Estimate):
                    a.bar(
                        at,
                        e.mean,
                        0.25,
                        color=COLOURS[i],
                        edgecolor="black",
                        linewidth=0.5,
                        yerr=e.half if e.half == e.half else 0,
                        capsize=2,
                    )
                elif e:
                    a.annotate(
                        e,
                        (at, 0),
                        (0, 2),
                        textcoords="offset points",
                        rotation=90,
                        ha="center",
                        va="bottom",
                        fontsize=7,
                    )
        a.set_ylabel("increase of the download (%)")
        a.set_title(words, fontsize=10)
    axes[0].bar(0, 0, color="white", edgecolor="white")
    axes[0].legend(
        [
            plt.Rectangle((0, 0), 1, 1, facecolor=COLOURS[i], edgecolor="black")
            for i in range(len(SERIES))
        ],
        list(SERIES),
        fontsize=8,
    )
    axes[1].set_xticks(range(len(SENDERS)), [s.replace("-", "-\n", 1) for s in SENDERS], fontsize=9)
    fig.suptitle(
        "4 Mbyte over 384/576, 10 % of the blocks lost   [as tables 3, 5, 6, 8]", fontsize=10
    )
    fig.tight_layout()
    fig.savefig(path, dpi=90)


def main() -> int:
    arguments = sys.argv[1:]
    if len(arguments) != 3:
        print(
            f"usage: {pathlib.Path(__file__).name} FOLDER-OF-U-B7 FOLDER-OF-U-B6 FIGURE.png",
            file=sys.stderr,
        )
        return 2
    try:
        of = {name: rows(folder, name) for folder, name in zip(arguments, ("U-B7", "U-B6"))}
    except BadInput as e:
        print(e, file=sys.stderr)
        return 2
    found = {
        (order, series, sender): increase(of[name], sender, order, more)
        for order in ORDERS
        for series, (name, more) in SERIES.items()
        for sender in SENDERS
    }
    print(
        "| % | "
        + " | ".join(f"{series}, {words}" for words in ORDERS.values() for series in SERIES)
        + " |"
    )
    print("|---" * (1 + len(ORDERS) * len(SERIES)) + "|")
    for sender in SENDERS:
        print(
            f"| {sender} | "
            + " | ".join(
                text(found[order, series, sender]) for order in ORDERS for series in SERIES
            )
            + " |"
        )
    draw(found, pathlib.Path(arguments[2]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
