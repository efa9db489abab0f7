#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The core made by several compilers: what its receiver says about the same samples. Each makes the
preset core in a folder of its own and records five worlds (tests/unit/phy/heard_slots.h); then

- each build hears its recording cut in random ways, in which every bit has to be the same;
- each build hears the recording of each other one: outcomes have to be equal, and SNR, measured and
  predicted, within 0.001 dB of what the build said that had recorded it.

    python3 tests/bench/compilers.py OUT --compilers g++-12,g++-14,clang++-19
    python3 tests/bench/compilers.py OUT --compilers g++-12 --ways 20 --slots 60 --tests all

It prints JSON. --tests REGEX also builds and runs the tests of the core with these names (all: every
one; the compiler has to be no older than the one of the installed GoogleTest). Exit code 1: a bit, an outcome, an SNR or a test is not as it has to be; 2: it cannot begin."""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
from typing import Any, NoReturn

sys.path.append(str(pathlib.Path(__file__).parent))
import junit_counts

TOP = pathlib.Path(__file__).resolve().parents[2]
HEARD = "tests/unit/phy/heard_slots"  # program of a build
BINS = 25
BOUND_DB = 0.001
COMPILER = re.compile(r"(?:.*/)?(?:g\+\+|clang\+\+)(?:-\d+)?$")


def stop(why: str, code: int = 2) -> NoReturn:
    print(f"compilers.py: {why}", file=sys.stderr)
    raise SystemExit(code)


def run(*argv: str | pathlib.Path, log: pathlib.Path) -> None:
    with log.open("a") as out:
        code = subprocess.run(
            argv, cwd=TOP, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
        ).returncode
    if code:
        stop(f"{argv[0]} ended with exit code {code}; all that it said is in {log}", 1)


def build(compiler: str, folder: pathlib.Path, jobs: int, march: str, tests: str) -> dict[str, Any]:
    """The core by this compiler: seconds, warnings, and the counts of the tests."""
    of_c = compiler.replace("clang++", "clang").replace("g++", "gcc")
    log, began = folder / "build.log", time.monotonic()
    log.write_text("")
    run(
        "cmake",
        "--preset",
        "core",
        "-B",
        folder / "build",
        f"-DCMAKE_C_COMPILER={of_c}",
        f"-DCMAKE_CXX_COMPILER={compiler}",
        f"-DOPENWIP_MARCH={march}",
        log=log,
    )
    what = [] if tests else ["--target", "heard_slots"]  # links with no library of C++
    run("cmake", "--build", folder / "build", *what, "--", "-j", str(jobs), log=log)
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    found: dict[str, Any] = {
        "version": version.stdout.splitlines()[0],
        "build_seconds": round(time.monotonic() - began),
        "warnings": sum(": warning: " in line for line in log.read_text().splitlines()),
    }
    if tests:
        junit = folder / "tests.xml"
        junit.unlink(missing_ok=True)
        chosen = [] if tests == "all" else ["-R", tests]
        subprocess.run(
            [
                "ctest",
                "--test-dir",
                folder / "build",
                "-j",
                str(jobs),
                "--output-junit",
                junit.resolve(),
                *chosen,
            ],
            stdout=log.open("a"),
            stderr=subprocess.STDOUT,
        )
        found["tests"] = junit_counts.counts(junit)
    return found


def outcomes_of(program: pathlib.Path, recording: pathlib.Path) -> list[list[str]]:
    printed = subprocess.run(
        [program, "replay", recording], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    return [line.split() for line in printed.splitlines()]


def compared(there: list[list[str]], here: list[list[str]]) -> dict[str, Any]:
    """Compares the output of one build for a recording with that of the build that had made it."""
    outcomes = sum(a[: 2 + BINS] != b[: 2 + BINS] for a, b in zip(there, here))
    worst = [
        max(
            (
                abs(float(x) - float(y))
                for a, b in zip(there, here)
                for x, y in zip(a[at : at + BINS], b[at : at + BINS])
            ),
            default=0.0,
        )
        for at in (2 + BINS, 2 + 2 * BINS)
    ]
    return {
        "slots": len(here),
        "slots_with_other_outcomes": outcomes + abs(len(there) - len(here)),
        "slots_with_equal_bits": sum(a == b for a, b in zip(there, here)),
        "measured_snr_apart_db": worst[0],
        "predicted_snr_apart_db": worst[1],
    }


def is_kept(pair: dict[str, Any]) -> bool:
    return (
        pair["slots_with_other_outcomes"] == 0
        and max(pair["measured_snr_apart_db"], pair["predicted_snr_apart_db"]) <= BOUND_DB
    )


def main() -> int:
    p = argparse.ArgumentParser(description="the core's receiver made by several compilers")
    p.add_argument("out", type=pathlib.Path, help="folder of builds and recordings")
    p.add_argument("--compilers", default="g++", help="of C++, separated by commas")
    p.add_argument("--ways", type=int, default=1000, help="to cut the samples (default 1000)")
    p.add_argument("--slots", type=int, default=100, help="of each of the five worlds")
    p.add_argument("--march", default="native", help="OPENWIP_MARCH of the builds")
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="of a build")
    p.add_argument("--tests", default="", metavar="REGEX", help="tests of the core to run, or all")
    given = p.parse_args()
    compilers = given.compilers.split(",")
    for c in compilers:
        if not COMPILER.match(c) or not shutil.which(c):
            stop(f"--compilers has {c!r}; valid: an installed g++, g++-N, clang++ or clang++-N")
    for name, least in (("ways", 1), ("slots", 30), ("jobs", 1)):
        if getattr(given, name) < least:
            stop(f"--{name} is {getattr(given, name)}; valid: {least} or more")
    found: dict[str, Any] = {"march": given.march, "compilers": {}, "recordings": []}
    programs, recordings = {}, {}
    for c in compilers:
        folder = given.out.resolve() / pathlib.Path(c).name
        folder.mkdir(parents=True, exist_ok=True)
        found["compilers"][c] = build(c, folder, given.jobs, given.march, given.tests)
        programs[c], recordings[c] = folder / "build" / HEARD, folder / "samples"
        run(programs[c], "record", recordings[c], str(given.slots), log=folder / "build.log")
        cut = subprocess.run(
            [programs[c], "cut", recordings[c], str(given.ways)], stdout=subprocess.PIPE, text=True
        )
        found["compilers"][c]["cut"] = json.loads(cut.stdout)
        print(f"{c}: {json.dumps(found['compilers'][c])}", file=sys.stderr, flush=True)
    good = True
    for c, recording in recordings.items():
        outcomes = outcomes_of(programs[c], recording)
        for other in compilers:
            if other != c:
                pair = compared(outcomes, outcomes_of(programs[other], recording))
                found["recordings"].append({"recorded_by": c, "replayed_by": other} | pair)
                good = good and is_kept(pair)
    for of in found["compilers"].values():
        good = good and of["cut"]["equal"] == given.ways
        good = good and not (of.get("tests") or {}).get("failed")
    print(json.dumps(found, indent=1))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
