#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The WCDMA cells alone against what Smaragdakis (2006) says of capacity and of block errors: the
tables of docs/results/wcdma.md.

    wcdma_cells.py [--keep] [--quick] [TABLE ...]   all tables, or those named; --keep: into
                                                    docs/results/data/wcdma.json; --quick: a tenth

It runs build/tests/bench/wcdma_cells. Chains and intervals are those of ./openwip channel fit.

Rules that were fixed before the first table was made:
  capacity     largest number of users at which fewer than 2 % of the blocks are lost. That is twice
               the share to which the margin of the cells (cells.margin_db) is fitted
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
        self.divisor = 10 if quick else 1  # the numbers of blocks are divided by it

    def run(self, blocks: int, file: str = "", **keys: Any) -> tuple[dict[str, Any], Any]:
        """The program's summary; and what it wrote, blocks x users: `file` is lost or sir."""
        blocks = max(200, blocks // self.divisor)
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
        """The share of lost blocks, a mean over several random placements of the users."""
        return statistics.fmean(
            (s := self.run(blocks, seed=seed, **keys)[0])["lost"] / s["blocks"]
            for seed in range(1, drops + 1)
        )


def percent(share: float) -> str:
    return f"{100 * share:.2f} %" if share < 0.1 else f"{100 * share:.1f} %"


def capacity(bench: Bench) -> tuple[list[str], list[list[Any]]]:
    """The capacity, in users of a cell and carrier, of three layouts."""
    rows = []
    # spreading factor, and the capacity that Smaragdakis (2006) gives for it
    for spreading, thesis_capacity in ((32, 16), (16, 8)):
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
            cell = {"values": [most], "bold": abs(most - thesis_capacity) > 1}
            rows.append(
                [
                    name,
                    spreading,
                    thesis_capacity,
                    cell,
                    percent(lost[most]),
                    percent(lost.get(most + 1, 1)),
                ]
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


def margin_for(sir: Any, curve_db: float, share: float = 0.01) -> float:
    """The margin in dB, below a target SIR of 2.75 dB, at which this share of the blocks is lost.
    `curve_db`: standard deviation of the SIR at which a block is lost."""
    low, high = -5.0, 20.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        if probabilities(sir, curve_db, middle).mean() > share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def probabilities(sir: Any, curve_db: float, margin: float) -> Any:
    """The probability that each block is lost, by its SIR."""
    from scipy import special

    below = (sir - (2.75 - margin)) / max(curve_db, 1e-6)
    return special.ndtr(-below)


def ratios(bench: Bench, curve_db: float, **keys: Any) -> list[str]:
    """The margin for 1 % at 6 Hz, then P(E) and P(E|E)/P(E) at 6, 20 and 80 Hz, in expectation over
    the draws of the curve."""
    sirs = {d: bench.run(4000, "sir", **(LOAD | keys), doppler_hz=d)[1] for d in (6, 20, 80)}
    margin = margin_for(sirs[6], curve_db)
    cells = [f"{margin:.2f}"]
    for sir in sirs.values():
        p = probabilities(sir, curve_db, margin)
        both = float((p[1:] * p[:-1]).mean() / p.mean())
        cells.append(f"{percent(float(p.mean()))}, {both / float(p.mean()):.2f}")
    return cells


COLUMNS_OF_RATIOS = ["margin, dB", "6 Hz", "20 Hz", "80 Hz"]


def loop(bench: Bench) -> tuple[list[str], list[list[Any]]]:
    rows = [[slots, *ratios(bench, 0.5, loop_slots=slots)] for slots in (1, 2, 3, 4, 10)]
    return ["loop delay, slots", *COLUMNS_OF_RATIOS], rows


def readings(bench: Bench) -> tuple[list[str], list[list[Any]]]:
    """Margin and clustering for each of the ways in which the thesis can be understood."""
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


# Interference, power and fading, each changed alone. The first half are what the thesis leaves
# open; the second half change values that it gives, which shows how much depends on them.
DOWNLINK = {"direction": "downlink", "orthogonality": 0.4}
CAUSES: list[tuple[str, dict[str, Any]]] = [
    ("as measured", {}),
    ("wrap-around", {"wrap": "on"}),
    ("orthogonality 0.4", {"orthogonality": 0.4}),
    ("orthogonality 0", {"orthogonality": 0}),
    ("downlink, orthogonality 1", {"direction": "downlink"}),
    ("downlink, orthogonality 0.4", DOWNLINK),
    ("no shadowing", {"shadowing_db": 0}),
    ("shadowing 8 dB", {"shadowing_db": 8}),
    ("highest power -36 dBW", {"power_dbw": -36}),
    ("highest power 4 dBW", {"power_dbw": 4, "power_range_db": 100}),
    ("no noise", {"noise_dbw": -200, "power_range_db": 150}),
    ("path exponent 4.5", {"path_exponent": 4.5}),
]


def capacity_causes(bench: Bench) -> tuple[list[str], list[list[Any]]]:
    """Capacity of seven cells with one parameter changed: three placements of 300 blocks."""
    rows = []
    more = [
        ("still fading (0 Hz)", {"doppler_hz": 0}),
        ("20 Hz", {"doppler_hz": 20}),
        ("margin of 3 dB", {"margin_db": 3}),
        ("effective SIR, beta 0.5", {"eesm_beta": 0.5}),
        ("only one cell", {"count": 1}),
    ]
    for name, keys in CAUSES + more:
        row: list[Any] = [name]
        for spreading, start in ((32, 11), (16, 5)):
            cells = int(keys.get("count", 7))

            def lost(
                n: int, spreading: int = spreading, cells: int = cells, keys: Any = keys
            ) -> float:
                return bench.share_lost(
                    300, 3, **({"count": cells, "users": n * cells, "spreading": spreading} | keys)
                )

            most = start
            while most > 1 and lost(most) >= LOSS_LIMIT:
                most -= 1
            while lost(most + 1) < LOSS_LIMIT:
                most += 1
            row.append(most)
        rows.append(row)
    return ["changed alone", "120 kbit/s (text: 16)", "240 kbit/s (text: 8)"], rows


def users_above_and_below(p: Any) -> str:
    """How many users have P(E|E) more than a tenth above, and below, their own P(E)."""
    both, alone = (p[1:] * p[:-1]).mean(axis=0), p.mean(axis=0) ** 2
    return f"{int((both > 1.1 * alone).sum())}, {int((both < 0.9 * alone).sum())}"


def clustering(bench: Bench, blocks: int, **keys: Any) -> list[str]:
    """The margin for 1 % at 6 Hz; then P(E), P(E|E)/P(E) and users_above_and_below() at 6, 20 and
    80 Hz."""
    sirs = {d: bench.run(blocks, "sir", **(LOAD | keys), doppler_hz=d)[1] for d in (6, 20, 80)}
    margin = margin_for(sirs[6], 0.5)
    cells = [f"{margin:.2f}"]
    for sir in sirs.values():
        p = probabilities(sir, 0.5, margin)
        ratio = float((p[1:] * p[:-1]).mean() / p.mean() ** 2)
        cells.append(f"{percent(float(p.mean()))}, {ratio:.2f} ({users_above_and_below(p)})")
    return cells


def clustering_causes(bench: Bench) -> tuple[list[str], list[list[Any]]]:
    """P(E|E)/P(E) with one parameter changed, 2000 blocks of seed 1."""
    more: list[tuple[str, dict[str, Any]]] = [
        ("power range 20 dB", {"power_range_db": 20}),
        ("step 0.25 dB", {"step_db": 0.25}),
        ("step 1 dB", {"step_db": 1}),
        ("one carrier, 53 users", {"carriers": 1, "users": 53}),
        ("users move at 11 km/h", {"speed_kmh": 11}),
        ("three rays", {"rays": 3}),
    ]
    rows = [[name, *clustering(bench, 2000, **keys)] for name, keys in CAUSES + more]
    return ["changed alone", *COLUMNS_OF_RATIOS], rows


def slots_of_block(bench: Bench) -> tuple[list[str], list[list[Any]]]:
    """Margin and clustering for ways to compute the SIR of a block from those of its 15 slots; 2000
    blocks of seed 1."""
    cases: list[tuple[str, dict[str, Any]]] = [("mean SIR (the default)", {})]
    cases += [(f"beta {beta}", {"eesm_beta": beta}) for beta in (5, 2, 1, 0.5, 0.3, 0.2, 0.1, 0.02)]
    cases += [
        ("beta 0.5, 210 users", {"eesm_beta": 0.5, "users": 210}),
        ("beta 0.5, loop delay of 3 slots", {"eesm_beta": 0.5, "loop_slots": 3}),
        ("beta 0.5, downlink, orthogonality 0.4", {"eesm_beta": 0.5} | DOWNLINK),
    ]
    rows = [[name, *clustering(bench, 2000, **keys)] for name, keys in cases]
    return ["SIR of a block", *COLUMNS_OF_RATIOS], rows


PACKET_BLOCKS = 7  # blocks of a packet of 1000 bytes at 120 kbit/s
WINDOW = 8  # packets


def lost_blocks_of_chain(found: dict[str, Any], shape: tuple[int, ...], random: Any) -> Any:
    """Lost blocks of independent users, all with the same chain of three states."""
    p12, p22 = (found["chain3"][k]["value"] or 0.0 for k in ("p_12", "p_22"))
    p = found["error_rate"]["value"]
    c1 = p * (1 - p22) / ((1 - p) * (1 - p22 + p12))
    lost = numpy.zeros(shape, bool)
    state = numpy.zeros(shape[1], int)  # 0: C, 1: E1, 2: E2
    enter = numpy.array([c1, p12, p22])
    for block in lost:
        block[:] = random.random(shape[1]) < enter[state]
        state = numpy.where(block, numpy.minimum(state + 1, 2), 0)
    return lost


def packet_figures(lost: Any) -> list[str]:
    """Losses of packets that are sent back to back, from the lost blocks (blocks x users)."""
    n = len(lost) // PACKET_BLOCKS
    packets = lost[: n * PACKET_BLOCKS].reshape(n, PACKET_BLOCKS, -1).any(axis=1)
    windows = packets[: n // WINDOW * WINDOW].reshape(n // WINDOW, WINDOW, -1).sum(axis=1)
    again = packets[1:][packets[:-1]].mean()
    users = packets.mean(axis=0)
    at_once = lost.sum(axis=1)
    binomial = float((lost.mean(axis=0) * (1 - lost.mean(axis=0))).sum())
    return [
        percent(float(packets.mean())),
        percent(float(again)),
        percent(float((windows > 1).mean())),
        f"{100 * users.min():.1f} to {100 * users.max():.1f} %",
        f"{at_once.var() / binomial:.2f}",
    ]


def chain_loses(bench: Bench) -> tuple[list[str], list[list[Any]]]:
    """Packets of the live cells beside those of a chain of three states that is fitted to the same
    blocks: 4000 blocks of seed 1."""
    rows = []
    random = numpy.random.default_rng(1)
    for users, beta in ((160, 0), (210, 0), (160, 0.5)):
        for doppler in (6, 20, 80):
            _, lost = bench.run(
                4000, "lost", **(LOAD | {"users": users}), doppler_hz=doppler, eesm_beta=beta
            )
            made = lost_blocks_of_chain(chain_fit.fit(lost), lost.shape, random)
            case = f"{users} users, {doppler} Hz" + (f", beta {beta}" if beta else "")
            rows += [[case, "cells", *packet_figures(lost)], [case, "chain", *packet_figures(made)]]
    columns = ["load", "blocks of", "packets lost", "after a lost packet"]
    columns += ["windows of 8 with 2 or more lost", "lowest and highest user"]
    return [*columns, "variance of losses at once / independent"], rows


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
        cell = {"values": [percent(median)], "bold": keys == LOAD and median >= 0.05}
        rows.append([name, cell, percent(max(parts)), "5 %" if keys == LOAD else None])
    return ["cells", "processor time, median of 5", "highest", "budget"], rows


def users_of_link(bench: Bench) -> tuple[list[str], list[list[Any]]]:
    """Processor time of the UMTS link with live cells: build/tests/bench/wcdma_users, three runs."""
    seconds = 20
    runs = []
    for _ in range(3):
        done = subprocess.run(
            [PROGRAM.with_name("wcdma_users"), str(seconds)],
            capture_output=True,
            text=True,
            check=True,
        )
        runs.append([json.loads(line) for line in done.stdout.splitlines()])
    rows = []
    for of_number in zip(*runs, strict=True):
        took = statistics.median(r["processor_s"] for r in of_number)
        most = max(r["processor_s"] for r in of_number)
        rows.append(
            [
                of_number[0]["terminals"],
                of_number[0]["delivered"],
                f"{took:.2f} s",
                f"{seconds / took:.0f}",
                f"{seconds / most:.0f}",
            ]
        )
    columns = ["terminals", f"packets in {seconds} s", "processor time, median of 3"]
    return [*columns, "times real time", "slowest"], rows


TABLES = {
    "wcdma-capacity": capacity,
    "wcdma-knee": knee,
    "wcdma-errors": errors,
    "wcdma-placements": placements,
    "wcdma-loop": loop,
    "wcdma-readings": readings,
    "wcdma-capacity-causes": capacity_causes,
    "wcdma-clustering-causes": clustering_causes,
    "wcdma-slots": slots_of_block,
    "wcdma-chain-loses": chain_loses,
    "wcdma-speed": speed,
    "wcdma-users": users_of_link,
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
