#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The footprint of one slot in each part of the slot path.

    cmake -S . -B build-footprint -G Ninja -DOPENWIP_MARCH=x86-64-v3
    cmake --build build-footprint --target footprint
    tests/bench/footprint.py counts [--build build-footprint] [--slots 50] [--json=FILE]
    sudo chrt --fifo 10 tests/bench/footprint.py times [--build build-footprint] [--core 0]
                                                       [--json=FILE]

counts: instructions, and lines of 64 bytes of code and of data that a slot touches, counted by
valgrind, which do not depend on what else the machine does. Slots differ (the terminal's MAC
delivers what one good retransmission frees, or nothing), so median, mean, least and most of a
number of slots are given, and a count is only compared with a kept one over the same number. The
processor level is given because valgrind 3.19 knows no AVX-512, and because counts of two machines
can then be compared. The budget of a median is the kept one in docs/results/data/footprint.json,
plus 2 %.

times: microseconds, which do depend on it: hot, after a pause of 400 us as between the slots of a
cell, and after such a pause in which a Python program had the core. The budget of a hot time is the
aim for this processor level (half of what a slot took in the spring of 2026).

Exit code 1: something is above its budget."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from typing import Any

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "tests" / "support"))

import kept_result

KEPT = TOP / "docs" / "results" / "data" / "footprint.json"
KEPT_RATIO = 1.02  # largest ratio of a present count to the kept one
AIMS_US = {"receiver_awgn": 25, "receiver_typical_urban": 40, "transmitter": 8, "noise": 8}
COMMANDS = {
    "counts": "tests/bench/footprint.py counts --slots {slots} "
    "--json=docs/results/data/footprint.json",
    "times": "sudo chrt --fifo 10 tests/bench/footprint.py times "
    "--json=docs/results/data/footprint-times.json",
}
LARGE = "67108864,32,64"  # octets, ways, octets of a line: it holds whatever a slot touches
TIMED_SLOTS = 3000  # slots that a program is timed over


def counts(program: pathlib.Path, part: str, slots: int) -> dict[str, Any]:
    """{instructions, code_lines, data_lines}, each {median, mean, least, most}."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
                "--instr-atstart=no",
                "--cache-sim=yes",
                *(f"--{cache}={LARGE}" for cache in ("I1", "D1", "LL")),
                f"--callgrind-out-file={folder}/out",
                program,
                "count",
                part,
                str(slots),
            ],
            stderr=subprocess.DEVNULL,
            check=True,
        )
        found = [slot_of(p.read_text()) for p in pathlib.Path(folder).glob("out.*")]
    if len(found) != slots:
        raise SystemExit(f"footprint.py: valgrind reported {len(found)} slots of {slots}")
    return {
        name: {
            "median": statistics.median_low([f[name] for f in found]),
            "mean": round(statistics.mean(f[name] for f in found)),
            "least": min(f[name] for f in found),
            "most": max(f[name] for f in found),
        }
        for name in found[0]
    }


def slot_of(text: str) -> dict[str, int]:
    """The sums of one file of callgrind. Its caches were empty and large: each miss is a line."""
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    sums = dict(zip(fields["events"].split(), map(int, fields["totals"].split())))
    return {
        "instructions": sums["Ir"],
        "code_lines": sums["I1mr"],
        "data_lines": sums["D1mr"] + sums["D1mw"],
    }


def times(program: pathlib.Path, part: str, core: int) -> dict[str, float]:
    """Medians in microseconds."""

    def median(mode: str) -> float:
        done = subprocess.run(
            ["taskset", "-c", str(core), program, "time", part, str(TIMED_SLOTS), mode],
            stdout=subprocess.PIPE,
            check=True,
        )
        return json.loads(done.stdout)["median_us"]

    found = {"hot": median("hot"), "after_pause": median("pause")}
    python_on_core = ["taskset", "-c", str(core), "chrt", "--other", "0", sys.executable, "-c"]
    other = subprocess.Popen(
        [*python_on_core, "n = {}\nwhile True: n[len(n) % 5000] = str(len(n))"]
    )
    try:
        found["after_another_program"] = median("pause")
    finally:
        other.kill()
        other.wait()
    return found


def with_budgets(part: str, found: dict[str, Any], slots: int, kept: dict[str, Any]) -> None:
    """Adds to each count its budget; None if the kept counts are of another number of slots."""
    before = kept["parts"].get(part, {}) if kept.get("slots") == slots else {}
    for name, count in found.items():
        count["budget"] = int(before[name]["median"] * KEPT_RATIO) if name in before else None


def counts_outside(parts: dict[str, Any]) -> list[str]:
    """The names of the counts whose median is above its budget."""
    return [
        f"{part}: {name}"
        for part, found in parts.items()
        for name, count in found.items()
        if count["budget"] is not None and count["median"] > count["budget"]
    ]


def times_outside(parts: dict[str, Any]) -> list[str]:
    """The names of the parts that take more than their aim when they are hot."""
    return [
        f"{part}: hot"
        for part, found in parts.items()
        if found["budget_us"] is not None and found["hot"] > found["budget_us"]
    ]


def main() -> int:
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=list(COMMANDS))
    parser.add_argument("--build", type=pathlib.Path, default=TOP / "build-footprint")
    parser.add_argument("--slots", type=int, default=50)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--json", type=pathlib.Path)
    asked = parser.parse_args()
    program = asked.build / "tests" / "bench" / "footprint"
    if not program.exists():
        parser.error(f"--build: {program} does not exist; the two commands above make it")
    names = subprocess.run([program, "list"], stdout=subprocess.PIPE, text=True, check=True)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    parts: dict[str, Any] = {}
    for part in names.stdout.split():
        print(part, file=sys.stderr)
        if asked.what == "counts":
            parts[part] = counts(program, part, asked.slots)
            with_budgets(part, parts[part], asked.slots, kept)
        else:
            parts[part] = times(program, part, asked.core) | {"budget_us": AIMS_US.get(part)}
    result: dict[str, Any] = {"bench": "footprint", "what": asked.what}
    if asked.what == "counts":
        result |= {"slots": asked.slots, "parts": parts, "outside": counts_outside(parts)}
    else:
        result |= {"slots": TIMED_SLOTS, "parts": parts, "outside": times_outside(parts)}
    print(json.dumps(result, indent=1))
    if asked.json:
        kept_result.write(asked.json, COMMANDS[asked.what].format(slots=asked.slots), result)
    return int(bool(result["outside"]))


if __name__ == "__main__":
    sys.exit(main())
