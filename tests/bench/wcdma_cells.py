#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The WCDMA cells alone against what Smaragdakis (2006) says of capacity and of block errors: the
tables of docs/results/wcdma.md.

    wcdma_cells.py [--keep] [--quick] [TABLE ...]   all tables, or those named; --keep: into
                                                    docs/results/data/wcdma.json; --quick: a tenth

It runs build/tests/bench/wcdma_cells. Chains and intervals are those of ./openwip channel fit.

Rules, older than the first table:
  capacity     largest number of users at which fewer than 2 % of the blocks are lost, twice what the
               margin is fitted to
  a statement of P(E|E) and P(E) holds as `kind` of the fit says (5 %)"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
from typing import Any

import numpy

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests/support"), str(TOP / "host/cli"), str(TOP / "build/python")]
import kept_result
from openwip_cli.channel import chain_fit

PROGRAM = TOP / "build/tests/bench/wcdma_cells"
KEPT = TOP / "docs/results/data/wcdma.json"
LOSS_LIMIT = 0.02  # share of blocks lost at which a cell is full
# The text's load: performance declines above 160 users, with three carriers.
LOAD = {"users": 160, "carriers": 3}


class Bench:
    def __init__(self, quick: bool) -> None:
        self.part = 10 if quick else 1

    def run(self, blocks: int, file: str = "", **keys: Any) -> tuple[dict[str, Any], Any]:
        """The program's summary; and what it wrote, blocks x users: `file` is lost or sir."""
        blocks = max(200, blocks // self.part)
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "out")
            words = [f"{k}={v}" for k, v in (keys | {"blocks": blocks}).items()]
            words += [f"{file}={out}"] if file else []
            done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=True)
            summary = json.loads(done.stdout)
            if not file:
                return summary, None
            kind = numpy.uint8 if file == "lost" else numpy.float32
            data = numpy.fromfile(out, kind).reshape(-1, summary["users"])
            return summary, data.astype(bool) if file == "lost" else data.astype(float)

    def share_lost(self, blocks: int, drops: int, **keys: Any) -> float:
        """Over several drops of users."""
        return statistics.fmean(
            (s := self.run(blocks, seed=seed, **keys)[0])["lost"] / s["blocks"]
            for seed in range(1, drops + 1)
        )


def percent(share: float) -> str:
    return f"{100 * share:.2f} %" if share < 0.1 else f"{100 * share:.1f} %"


def capacity(bench: Bench) -> tuple[list[str], list[list[Any]]]:
    """Users a cell and carrier."""
    rows = []
    for spreading, text in ((32, 16), (16, 8)):
        for name, cells, wrap in (
            ("one cell", 1, "off"),
            ("seven cells", 7, "off"),
            ("seven cells, wrap-around", 7, "on"),
        ):
            lost = {}
            for users in range(2, 25):
                lost[users] = bench.share_lost(
                    500, 10, count=cells, wrap=wrap, users=users * cells, spreading=spreading
                )
                if lost[users] > 5 * LOSS_LIMIT:
                    break
            most = max(n for n, share in lost.items() if share < LOSS_LIMIT)
            held = {"values": [most], "bold": abs(most - text) > 1}
            rows.append(
                [name, spreading, text, held, percent(lost[most]), percent(lost.get(most + 1, 1))]
            )
    columns = ["layout", "spreading", "text", "capacity", "lost there", "lost with one user more"]
    return columns, rows


def knee(bench: Bench) -> tuple[list[str], list[list[Any]]]:
    """Lost blocks by the number of users in seven cells with three carriers."""
    rows = []
    for users in (40, 80, 100, 120, 140, 160, 180, 200, 220, 240, 260):
        row = [users]
        for spreading in (32, 16):
            for doppler in (6, 20, 80):
                share = bench.share_lost(
                    600, 5, users=users, carriers=3, spreading=spreading, doppler_hz=doppler
                )
                row.append(percent(share))
        rows.append(row)
    return ["users", *(f"{k} kbit/s, {d} Hz" for k in (120, 240) for d in (6, 20, 80))], rows


def interval(p: dict[str, Any]) -> str:
    if p["value"] is None:
        return "-"
    return f"{p['value']:.4f} ({p['low']:.4f} to {p['high']:.4f})"


def errors(bench: Bench) -> tuple[list[str], list[list[Any]]]:
    """Conditional probabilities by Doppler: of all users, and how many users differ."""
    rows = []
    for users in (160, 210):
        for doppler in (2, 6, 20, 40, 80):
            _, lost = bench.run(
                20_000, "lost", **(LOAD | {"users": users}), doppler_hz=doppler, seed=1
            )
            all_users = chain_fit.fit(lost)
            kinds = {"independent": 0, "clustered": 0, "isolated": 0}
            for column in lost.T:
                try:
                    kinds[chain_fit.fit(column.reshape(-1, 1))["kind"]] += 1
                except chain_fit.BadInput:  # hardly any block of this user is lost
                    kinds["independent"] += 1
            rows.append(
                [
                    users,
                    f"{doppler} Hz",
                    interval(all_users["error_rate"]),
                    interval(all_users["chain2"]["p_ee"]),
                    interval(all_users["chain3"]["p_12"]),
                    interval(all_users["chain3"]["p_22"]),
                    all_users["kind"],
                    ", ".join(str(n) for n in kinds.values()),
                ]
            )
    columns = ["users", "Doppler", "P(E)", "P(E|E)", "p12", "p22", "all users together"]
    return [*columns, "users by themselves: independent, clustered, isolated"], rows


def placements(bench: Bench) -> tuple[list[str], list[list[Any]]]:
    """P(E) and P(E|E) near the capacity for each of several random placements of the users."""
    rows = []
    for seed in (1, 2, 3, 4, 5):
        cells = []
        for doppler in (6, 20, 80):
            keys = LOAD | {"users": 210}
            _, lost = bench.run(4000, "lost", **keys, doppler_hz=doppler, seed=seed)
            found = chain_fit.fit(lost)
            after = found["chain2"]["p_ee"]["value"]
            cells.append(
                f"{percent(found['error_rate']['value'])}, {percent(after)}: {found['kind']}"
            )
        rows.append([seed, *cells])
    return ["seed", *(f"P(E), P(E|E) at {d} Hz" for d in (6, 20, 80))], rows


def margin_for(sir: Any, curve: float, share: float = 0.01) -> float:
    """The margin below 2.75 dB at which this share of the blocks is lost."""
    low, high = -5.0, 20.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        if probabilities(sir, curve, middle).mean() > share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def probabilities(sir: Any, curve: float, margin: float) -> Any:
    from scipy import special

    below = (sir - (2.75 - margin)) / max(curve, 1e-6)
    return special.ndtr(-below)


def ratios(bench: Bench, curve: float, **keys: Any) -> list[str]:
    """The margin for 1 % at 6 Hz, then P(E) and P(E|E)/P(E) at 6, 20 and 80 Hz, in expectation over
    the draws of the curve."""
    of = {d: bench.run(4000, "sir", **(LOAD | keys), doppler_hz=d)[1] for d in (6, 20, 80)}
    margin = margin_for(of[6], curve)
    cells = [f"{margin:.2f}"]
    for sir in of.values():
        p = probabilities(sir, curve, margin)
        both = float((p[1:] * p[:-1]).mean() / p.mean())
        cells.append(f"{percent(float(p.mean()))}, {both / float(p.mean()):.2f}")
    return cells


COLUMNS_OF_RATIOS = ["margin, dB", "6 Hz", "20 Hz", "80 Hz"]


def loop(bench: Bench) -> tuple[list[str], list[list[Any]]]:
    rows = [[slots, *ratios(bench, 0.5, loop_slots=slots)] for slots in (1, 2, 3, 4, 10)]
    return ["loop delay, slots", *COLUMNS_OF_RATIOS], rows


def readings(bench: Bench) -> tuple[list[str], list[list[Any]]]:
    cases: list[tuple[str, float, dict[str, Any]]] = [
        (f"curve of {curve} dB" + " (the default)" * (curve == 0.5), curve, {})
        for curve in (0, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0)
    ]
    cases += [
        ("one target of 2.75 dB", 0.5, {"target_low_db": 2.75, "target_high_db": 2.75}),
        ("downlink, orthogonality 0.4", 0.5, {"direction": "downlink", "orthogonality": 0.4}),
        ("two rays", 0.5, {"rays": 2}),
        ("one ray", 0.5, {"rays": 1}),
        ("210 users", 0.5, {"users": 210}),
    ]
    rows = [[name, *ratios(bench, curve, **keys)] for name, curve, keys in cases]
    return ["reading", *COLUMNS_OF_RATIOS], rows


def speed(bench: Bench) -> tuple[list[str], list[list[Any]]]:
    rows = []
    for name, keys in (
        ("160 users, seven cells, three carriers", LOAD),
        ("160 users, seven cells, downlink", LOAD | {"direction": "downlink"}),
        ("160 users that move at 50 km/h", LOAD | {"speed_kmh": 50}),
        ("330 users", {"users": 330, "carriers": 3}),
    ):
        parts = [bench.run(1000, seed=n, **keys)[0]["part_of_a_core"] for n in (1, 2, 3, 4, 5)]
        median = statistics.median(parts)
        held = {"values": [percent(median)], "bold": keys == LOAD and median >= 0.05}
        rows.append([name, held, percent(max(parts)), "5 %" if keys == LOAD else None])
    return ["cells", "processor time, median of 5", "highest", "budget"], rows


TABLES = {
    "wcdma-capacity": capacity,
    "wcdma-knee": knee,
    "wcdma-errors": errors,
    "wcdma-placements": placements,
    "wcdma-loop": loop,
    "wcdma-readings": readings,
    "wcdma-speed": speed,
}


def main() -> int:
    p = argparse.ArgumentParser(description="tables of docs/results/wcdma.md")
    p.add_argument("tables", nargs="*", choices=[*TABLES, []], help="default: all")
    p.add_argument("--keep", action="store_true", help=f"into {KEPT.relative_to(TOP)}")
    p.add_argument("--quick", action="store_true", help="a tenth of the blocks")
    given = p.parse_args()
    bench = Bench(given.quick)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {"tables": {}}
    for name in given.tables or TABLES:
        columns, rows = TABLES[name](bench)
        command = f"/usr/bin/python3 tests/bench/wcdma_cells.py {name} --keep"
        about = kept_result.about(command)
        kept["tables"][name] = {"about": about, "columns": columns, "rows": rows}
        print(f"{name}: {json.dumps(columns)}")
        for row in rows:
            print(f"  {json.dumps(row)}", flush=True)
        if given.keep:
            KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
