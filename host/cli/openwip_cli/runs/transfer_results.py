# SPDX-License-Identifier: GPL-3.0-or-later
"""Transfers over a line with bit errors, many of them: means, the table, the figure of the
literature and a line of each."""

import csv
import itertools
import pathlib
import statistics
from collections.abc import Sequence
from typing import Any

from ..figures.estimates import estimate
from ..machine import outputs


def interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    """(mean, half of the 95 % interval), None for what is not known."""
    if len(values) < 2:
        return (values[0] if values else None), None
    found = estimate(values)
    return found.mean, found.half


def summary(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each (mtu, ber, burstiness): throughput of both, damage that reached the
    application."""
    rows = []
    key = lambda r: (r["mtu"], r["ber"], r["burstiness"])
    for (mtu, ber, burst), same in itertools.groupby(sorted(results, key=key), key):
        row = {"mtu": mtu, "ber": ber, "burstiness": burst}
        group = list(same)
        for name, relay in (("tcp", False), ("tcpl", True)):
            valid = [r for r in group if r["relay"] == relay and r["verdict"]["valid"]]
            mine = [r for r in valid if not r.get("unfinished")]
            row[f"{name}_unfinished"] = len(valid) - len(mine)
            row[f"{name}_kbyte_s"], row[f"{name}_interval"] = interval([r["kbyte_s"] for r in mine])
            row[f"{name}_runs"] = len(mine)
        taken = [
            r for r in group if r["relay"] and r["verdict"]["valid"] and not r.get("unfinished")
        ]
        if taken:
            row["packets_damaged"] = statistics.mean(
                r["packets_damaged"] / r["packets"] for r in taken
            )
            row["recovered"] = sum(r["relay_verdicts"].get("recovered", 0) for r in taken) / max(
                1, sum(r["packets_damaged"] for r in taken)
            )
            row["bits_wrong"] = statistics.mean(r["bits_wrong"] for r in taken)
        rows.append(row)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    def number(row: dict[str, Any], name: str) -> str:
        mean, half = row[f"{name}_kbyte_s"], row[f"{name}_interval"]
        text = "-" if mean is None else f"{mean:.1f}" + ("" if half is None else f" ± {half:.1f}")
        return text + (
            f" ({row[f'{name}_unfinished']} unfinished)" if row[f"{name}_unfinished"] else ""
        )

    head = (
        f"{'MTU':>5} {'BER':>8} {'burst':>6}  {'TCP kbyte/s':>14}  {'TCP-L kbyte/s':>14} "
        f" {'damaged':>8} {'taken':>7} {'wrong bits':>11}"
    )
    lines = [head]
    for r in rows:
        line = (
            f"{r['mtu']:>5} {r['ber']:>8.2g} {r['burstiness']:>6.2g}  {number(r, 'tcp'):>14} "
            f" {number(r, 'tcpl'):>14}"
        )
        if "bits_wrong" in r:
            line += (
                f"  {100 * r['packets_damaged']:>7.1f}% {100 * r['recovered']:>6.1f}%"
                f" {r['bits_wrong']:>11.0f}"
            )
        lines.append(line)
    return "\n".join(lines)


def draw(rows: list[dict[str, Any]]) -> Any:
    """The figure of the literature: throughput over bit error rate or burstiness, a panel for each
    MTU."""
    from ..machine.canvas import plt

    by_burst = len({r["burstiness"] for r in rows}) > 1
    x = "burstiness" if by_burst else "ber"
    sizes = sorted({r["mtu"] for r in rows})
    figure, axes = plt.subplots(
        1, len(sizes), figsize=(5.2 * len(sizes), 4), squeeze=False, sharey=True
    )
    for a, mtu in zip(axes[0], sizes):
        mine = [r for r in rows if r["mtu"] == mtu]
        for name, label, style in (("tcpl", "TCP-L", "o-"), ("tcp", "TCP", "s--")):
            shown = [r for r in mine if r[f"{name}_kbyte_s"] is not None]
            a.errorbar(
                [r[x] for r in shown],
                [r[f"{name}_kbyte_s"] for r in shown],
                [r[f"{name}_interval"] or 0 for r in shown],
                fmt=style,
                capsize=3,
                ms=4,
                label=label,
            )
        a.set(xlabel="burstiness" if by_burst else "bit error rate", title=f"MTU {mtu}")
        a.grid(color="0.9")
        a.legend()
    # Last: a limit that is set ends the scaling, and the axes share it.
    axes[0][0].set_ylim(bottom=0)
    axes[0][0].set_ylabel("throughput (kbyte/s), 95 % interval")
    figure.tight_layout()
    return figure


def write_csv(path: pathlib.Path | str, results: list[dict[str, Any]]) -> None:
    columns = [
        "time",
        "mtu",
        "ber",
        "burstiness",
        "relay",
        "run",
        "seed",
        "seconds",
        "kbyte_s",
        "bytes_wrong",
        "bits_wrong",
        "packets",
        "packets_damaged",
        "queue_drops",
        "path_bits_wrong",
        "headers_restored",
        "checksum_errors",
        "retransmits",
        "late_max_ms",
        "unfinished",
        "valid",
    ]
    with outputs.replacing(path) as f:
        out = csv.DictWriter(f, columns, extrasaction="ignore")
        out.writeheader()
        for r in results:
            out.writerow({"unfinished": False} | r | {"valid": r["verdict"]["valid"]})
