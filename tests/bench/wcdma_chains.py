#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two-state chains of block errors of WCDMA cells, for the experiments W-* and the table of
docs/results/wcdma-tcp.md: how often a block of 10 ms is lost, P(E), and how often one after a lost one
is, P(E|E), for each rate, Doppler frequency and number of users.

    wcdma_chains.py PROGRAM [--json FILE]     PROGRAM: the cell model alone, which writes a byte for each block and user

Intervals are of 95 %, of binomial counts. The methods of flowgraphs/scenarios/wcdma/defaults.yaml are
these chains: umts.errors is P(E), and a burst of umts.error_burst = 1 / (1 - P(E|E)) blocks."""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kept_result

# numbers of users with three carriers
USERS = {"120": (14, 70, 160, 210), "240": (12, 42, 100, 130)}
SPREADING = {"120": 32, "240": 16}
DOPPLER_HZ = (6, 20, 80)
SEEDS = (1, 2)
BLOCKS = 1500  # blocks of each user


def share(part: int, of: int) -> dict[str, float]:
    mean = part / of if of else 0.0
    half = 1.96 * math.sqrt(mean * (1 - mean) / of) if of else 0.0
    return {"mean": round(mean, 5), "half": round(half, 5)}


def blocks(program: str, rate: str, hz: int, users: int, seed: int) -> np.ndarray:
    """A row for each block, a column for each user."""
    with tempfile.NamedTemporaryFile() as file:
        words = [
            f"users={users}", "carriers=3", f"spreading={SPREADING[rate]}", f"doppler_hz={hz}",
            f"blocks={BLOCKS}", f"seed={seed}", f"lost={file.name}",
        ]  # fmt: skip
        subprocess.run([program, *words], check=True, stdout=subprocess.DEVNULL)
        return np.fromfile(file.name, dtype=np.uint8).reshape(-1, users)


def chain(all_lost: list[np.ndarray]) -> dict[str, Any]:
    total = sum(lost.size for lost in all_lost)
    lost_blocks = int(sum(lost.sum() for lost in all_lost))
    before = int(sum(lost[:-1].sum() for lost in all_lost))
    again = int(sum((lost[:-1] & lost[1:]).sum() for lost in all_lost))
    error, after = share(lost_blocks, total), share(again, before)
    return {
        "blocks": total,
        "error": error,
        "after_error": after,
        "burst": round(1 / (1 - after["mean"]), 5),
    }


def main() -> int:
    p = argparse.ArgumentParser(description="chains of block errors of WCDMA cells")
    p.add_argument("program")
    p.add_argument("--json", metavar="FILE", help="write the chains to FILE")
    given = p.parse_args()
    found = []
    for rate, levels in USERS.items():
        for hz in DOPPLER_HZ:
            for users in levels:
                at = {"rate": rate, "hz": hz, "users": users}
                at |= chain([blocks(given.program, rate, hz, users, s) for s in SEEDS])
                print(json.dumps(at), flush=True)
                found.append(at)
    if given.json:
        command = "tests/bench/wcdma_chains.py build/tests/bench/wcdma_cells --json FILE"
        kept_result.write(given.json, command, {"chains": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
