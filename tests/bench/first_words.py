#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long ./openwip takes for an answer that needs no package and no build: help, version, a
mistyped option. Prints JSON: seconds of wall time, least and median, beside the budget.

    python3 tests/bench/first_words.py [TIMES]
"""

import json
import pathlib
import statistics
import subprocess
import sys
import time

OPENWIP = pathlib.Path(__file__).resolve().parents[2] / "openwip"
BUDGET_S = 0.3
ANSWERS = (["--version"], ["help"], ["demo", "--help"], ["help", "emulate"], ["emulate", "--hlep"])


def seconds(words: list[str]) -> float:
    began = time.monotonic()
    subprocess.run(
        [OPENWIP, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return time.monotonic() - began


def main() -> int:
    given = sys.argv[1] if len(sys.argv) > 1 else "9"
    if len(sys.argv) > 2 or not given.isdecimal() or not 1 <= int(given) <= 1000:
        print(f"TIMES is '{' '.join(sys.argv[1:])}'; valid: 1..1000 (default 9)", file=sys.stderr)
        return 2
    rows = []
    for words in ANSWERS:
        took = [seconds(words) for _ in range(int(given))]
        rows.append(
            {
                "command": " ".join(words),
                "least_s": round(min(took), 3),
                "median_s": round(statistics.median(took), 3),
            }
        )
    print(
        json.dumps(
            {
                "benchmark": "first_words",
                "budget_s": BUDGET_S,
                "times": int(given),
                "results": rows,
            },
            indent=1,
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
