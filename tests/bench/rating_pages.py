#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Table 8.4 of Teyeb (2006) with a headless browser as the subject (docs/results/ratings.md): how
long the pages of ./openwip ratings take over the link of each case, in real time. The door has at
most two connections to the host at a time. JSON:

  runs     page, case, seed, initial and total delay in seconds, verdict of the link
  cases    of each page and case: the text's delays, ours (means of the valid runs), their ratio
  order    of each page: the cases by total delay, the text's order, whether they are the same
  ratios   of total delays: the text's, ours, ours over the text's, and the budget for that

The exit code is 1 if an order differs, a ratio is outside its budget, or a case has no valid run
(with --part: only what is there is evaluated).

  sudo /usr/bin/python3 tests/bench/rating_pages.py [--page page-a|page-b] [--case NAME ...]
  [--seeds A..B] [--part] [--out FILE]

from a built tree with Chromium: 12 minutes for one seed of both pages. --out FILE adds the runs to
those that the file has, so the whole can be measured in portions."""

import argparse
import itertools
import json
import os
import pathlib
import statistics
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("OPENWIP_BUILD", TOP / "build"))
sys.path[:0] = [str(TOP / "host" / "cli"), str(BUILD / "python"), str(TOP / "tests" / "support")]
os.environ |= {"OPENWIP_BUILD": str(BUILD), "OPENWIP_NO_BUILD": "1"}

import kept_result
from openwip_cli.errors import CellDied, Stop
from openwip_cli.machine import places
from openwip_cli.ratings import browser, cases, content, door, session

PATIENCE = 3.0  # times what the text says, and a minute
BUDGET = 0.25  # relative difference from the text's times
PROGRAM = "sudo /usr/bin/python3 tests/bench/rating_pages.py --out FILE --part"
# page -> (name, case over case)
RATIOS = {
    cases.PAGE_A: (
        ("rate 32 over 384, FER 1 %", "32_150_1", "384_150_1"),
        ("FER 20 over 1 %, rate 384", "384_150_20", "384_150_1"),
        ("FER 20 over 1 %, rate 32", "32_150_20", "32_150_1"),
        ("RTT 600 over 150 ms", "384_600_1", "384_150_1"),
    ),
}
RATIOS[cases.PAGE_B] = RATIOS[cases.PAGE_A]


def text_of(page, case):
    """(initial delay, total delay, mean grade)."""
    return cases.TEXT[case][page == cases.PAGE_B]


def measure(page, case, seed, where):
    """One run: the browser opens the page as soon as the link is there."""

    def during(connect, pause, _handover):
        behind = door.Door()
        with (
            door.Server(("127.0.0.1", 0), door.handler_of(behind)) as server,
            browser.Browser() as subject,
            behind.opened(door.Upstream(connect)) as traffic,
        ):
            left = 60 + PATIENCE * text_of(page, case)[1]
            subject.open(f"http://localhost:{server.server_port}/{content.FIRST[page]}")
            while "total_s" not in traffic.report() and left > 0:
                pause(0.05)
                left -= 0.05
            return session.Seen(traffic.report(), 0.0)

    seen = session.in_cell(cases.case_of(page, case), seed, where, during)
    return {
        "page": page,
        "case": case,
        "seed": seed,
        "initial_s": seen.traffic.get("initial_s"),
        "total_s": seen.traffic.get("total_s"),
        "whole": seen.traffic["whole"],
        "valid": seen.is_valid and "total_s" in seen.traffic,
        "reasons": seen.report["verdict"]["reasons"],
    }


def summary(runs):
    """The summary of the runs, and whether all of it is as the text has it."""
    found, means = [], {}
    for page, case in itertools.product(RATIOS, cases.TEXT):
        valid_runs = [r for r in runs if (r["page"], r["case"]) == (page, case) and r["valid"]]
        if not valid_runs:
            continue
        initial, total = (
            statistics.fmean(r[name] for r in valid_runs) for name in ("initial_s", "total_s")
        )
        means[page, case] = total
        text = text_of(page, case)
        found.append(
            {
                "page": page,
                "case": case,
                "runs": len(valid_runs),
                "initial_s": {"text": text[0], "measured": round(initial, 2)},
                "total_s": {
                    "text": text[1],
                    "measured": round(total, 2),
                    "least": round(min(r["total_s"] for r in valid_runs), 2),
                    "most": round(max(r["total_s"] for r in valid_runs), 2),
                    "ratio": round(total / text[1], 3),
                },
            }
        )
    orders, ratios, complete = [], [], len(found) == 2 * len(cases.TEXT)
    for page in RATIOS:
        rated = [case for case in cases.TEXT if (page, case) in means]
        text = sorted(rated, key=lambda case: text_of(page, case)[1])
        ours = sorted(rated, key=lambda case: means[page, case])
        orders.append({"page": page, "text": text, "measured": ours, "same": text == ours})
        for name, over, under in RATIOS[page]:
            if over in rated and under in rated:
                asked = text_of(page, over)[1] / text_of(page, under)[1]
                came = means[page, over] / means[page, under]
                ratios.append(
                    {
                        "page": page,
                        "ratio": name,
                        "text": round(asked, 2),
                        "measured": round(came, 2),
                        "measured_over_text": round(came / asked, 3),
                        "budget": [1 - BUDGET, 1 + BUDGET],
                        "within": abs(came / asked - 1) <= BUDGET,
                    }
                )
    good = all(o["same"] for o in orders) and all(r["within"] for r in ratios)
    return {"cases": found, "order": orders, "ratios": ratios, "complete": complete}, good


def command_of(runs):
    """The calls that measure the same again."""
    calls = []
    for page in RATIOS:
        seeds = sorted({r["seed"] for r in runs if r["page"] == page})
        if seeds:
            calls.append(f"{PROGRAM} --page {page} --seeds {seeds[0]}..{seeds[-1]}")
    return "; ".join(calls)


def seeds_of(text):
    first, _, last = text.partition("..")
    return range(int(first), int(last or first) + 1)


def main(argv):
    p = argparse.ArgumentParser()
    p.add_argument("--page", choices=RATIOS, action="append")
    p.add_argument("--case", choices=cases.TEXT, action="append")
    p.add_argument("--seeds", type=seeds_of, default=seeds_of("1"))
    p.add_argument("--part", action="store_true")
    p.add_argument("--out", type=pathlib.Path)
    given = p.parse_args(argv)
    browser.required()
    where = places.default()
    runs = json.loads(given.out.read_text())["runs"] if given.out and given.out.exists() else []
    for seed, page, case in itertools.product(
        given.seeds, given.page or RATIOS, given.case or cases.TEXT
    ):
        runs = [r for r in runs if (r["page"], r["case"], r["seed"]) != (page, case, seed)]
        runs.append(measure(page, case, seed, where))
        print(json.dumps(runs[-1]), file=sys.stderr, flush=True)
        result, good = summary(runs)
        if given.out:
            kept_result.write(given.out, command_of(runs), result | {"runs": runs})
    print(json.dumps(result | {"runs": runs}, indent=1))
    return 0 if good and (given.part or result["complete"]) else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (Stop, CellDied) as e:
        print(f"rating_pages: {e}", file=sys.stderr)
        sys.exit(e.code)
