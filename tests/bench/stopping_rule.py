#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often the 95 % interval of a campaign's point covers the true mean when `until` stops the
point (docs/results/campaigns.md), and with a number of realisations that was fixed before:
campaigns drawn from a normal distribution, evaluated by the rule itself.

    stopping_rule.py [--campaigns 4000] [--half-width 0.02] [--at-least 5] [--json FILE]

Expected, written before the first run: 95 % within the error of the draw where the number is fixed;
with the rule never below 85 %."""

import argparse
import math
import pathlib
import random
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kept_result  # host/cli, too
from openwip_cli.campaign.stopping import AT_LEAST, Until
from openwip_cli.figures.estimates import estimate

MEAN, MOST = 4.0, 30  # Mbit/s; realisations of the full size
# standard deviation of a realisation, over the mean
SPREADS = (0.01, 0.02, 0.025, 0.03, 0.04, 0.05, 0.07, 0.1)
LEAST = 0.85


def main() -> int:
    p = argparse.ArgumentParser(description="coverage of the interval under the stopping rule")
    p.add_argument("--campaigns", type=int, default=4000)
    p.add_argument("--half-width", type=float, default=0.02)
    p.add_argument("--at-least", type=int, default=AT_LEAST)
    p.add_argument("--json", metavar="FILE", help="write the rows to FILE as well")
    given = p.parse_args()
    rows = []
    rule, draw, missed = Until(given.half_width, given.at_least), random.Random(1), False
    error = math.sqrt(0.95 * 0.05 / given.campaigns)
    print(
        f"{given.campaigns} campaigns a row (error of 95 %: {100 * error:.1f}), half width"
        f" {given.half_width:g}, {given.at_least} to {MOST} realisations"
    )
    print("spread  stopped  realisations  covers  with all")
    for spread in SPREADS:
        stopped = used = covered = fixed = 0
        for _ in range(given.campaigns):
            values = {n: draw.gauss(MEAN, spread * MEAN) for n in range(1, MOST + 1)}
            end = rule.enough(values)
            n = end or MOST
            stopped, used = stopped + (end is not None), used + n
            covered += estimate([values[r] for r in range(1, n + 1)]).covers(MEAN)
            fixed += estimate(values.values()).covers(MEAN)
        share = covered / given.campaigns
        missed |= share < LEAST or abs(fixed / given.campaigns - 0.95) > 4 * error
        rows.append(
            {
                "spread": spread,
                "stopped": stopped / given.campaigns,
                "realisations": used / given.campaigns,
                "covers": share,
                "covers_with_all": fixed / given.campaigns,
            }
        )
        print(
            f"{spread:6.3f}  {stopped / given.campaigns:7.1%}  {used / given.campaigns:12.1f} "
            f" {share:6.1%}  {fixed / given.campaigns:8.1%}",
            flush=True,
        )
    if given.json:
        command = "/usr/bin/python3 tests/bench/stopping_rule.py --json FILE"
        kept_result.write(given.json, command, {"rows": rows})
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
