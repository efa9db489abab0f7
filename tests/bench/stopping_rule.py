#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often the 95 % interval of a campaign's point covers the true mean when `until` stops the
point (docs/results/campaigns.md), and with a number of realisations that was fixed before:
campaigns drawn from a normal distribution, and from one with a rare timeout (three times as long
with a probability of 5 %), evaluated by the rule itself.

    stopping_rule.py [--campaigns 400] [--half-width 0.02] [--rare 0.05] [--json FILE]

Expected, written before the first run: with the rule never below 90 %, also with the timeout."""

import argparse
import json
import pathlib
import random
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kept_result  # host/cli, too
from openwip_cli.campaign.stopping import RARE, Until
from openwip_cli.figures.estimates import estimate

MEAN, MOST = 4.0, 200  # Mbit/s; realisations of the full size
# standard deviation of a realisation, over the mean
SPREADS = (0.01, 0.02, 0.05, 0.1, 0.2)
HALF_WIDTHS = (0.02, 0.05, 0.1, 0.2)  # half widths of the rows with a timeout
TIMEOUT, LONGER = 0.05, 3.0  # probability, and how much longer
LEAST = 0.9  # share of the intervals that have to cover the mean


def normal(draw: random.Random, spread: float) -> float:
    return draw.gauss(MEAN, spread * MEAN)


def with_timeout(draw: random.Random, spread: float) -> float:
    return normal(draw, spread) * (LONGER if draw.random() < TIMEOUT else 1)


def row(rule: Until, kind: str, spread: float, campaigns: int, draw: random.Random) -> dict:
    one = with_timeout if kind == "timeout" else normal
    mean = MEAN * (1 + TIMEOUT * (LONGER - 1)) if kind == "timeout" else MEAN
    stopped = used = covered = fixed = 0
    for _ in range(campaigns):
        values = [one(draw, spread) for _ in range(MOST)]
        end = rule.enough(dict(enumerate(values, 1)))
        n = end or MOST
        stopped, used = stopped + (end is not None), used + n
        covered += estimate(values[:n]).covers(mean)
        fixed += estimate(values).covers(mean)
    return {
        "kind": kind,
        "spread": spread,
        "half_width": rule.half_width,
        "stopped": stopped / campaigns,
        "realisations": used / campaigns,
        "covers": covered / campaigns,
        "covers_with_all": fixed / campaigns,
    }


def main() -> int:
    p = argparse.ArgumentParser(description="coverage of the interval under the stopping rule")
    p.add_argument("--campaigns", type=int, default=400)
    p.add_argument("--half-width", type=float, default=0.02, help="of the normal rows")
    p.add_argument("--rare", type=float, default=RARE)
    p.add_argument("--json", metavar="FILE", help="write the rows to FILE as well")
    given = p.parse_args()
    draw, rows = random.Random(1), []
    for kind, spread, half in [
        *(("normal", spread, given.half_width) for spread in SPREADS),
        *(("timeout", 0.02, half) for half in HALF_WIDTHS),
    ]:
        rows.append(row(Until(half, rare=given.rare), kind, spread, given.campaigns, draw))
        print(json.dumps(rows[-1]), flush=True)
    made = {
        "campaigns": given.campaigns,
        "least": Until(given.half_width, rare=given.rare).least,
        "most": MOST,
        "budget": {"covers": LEAST},
        "rows": rows,
    }
    if given.json:
        command = "/usr/bin/python3 tests/bench/stopping_rule.py --json FILE"
        kept_result.write(given.json, command, made)
    return int(any(r["covers"] < LEAST for r in rows))


if __name__ == "__main__":
    sys.exit(main())
