#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ninja's log of a build and prints, as JSON, where its time went: seconds of each room, of
each kind of work, and the steps that took longest, beside the budget of a build on two cores.

    python3 tests/bench/build_times.py [BUILD] [--top 30] [--budget 1500]

The seconds are those that a step was running, summed over steps: on a machine that does nothing
else they are processor seconds. A build of which nothing came from the compiler cache
(CCACHE_DISABLE=1, an empty folder) tells most; later runs of ninja replace the steps that they
repeat."""

import argparse
import collections
import json
import pathlib
import re
import sys

VERSION = re.compile(r"# ninja log v[5-7]$")


def steps_of(log):
    """{output: seconds} of the last time that each output was made; ValueError tells the line that
    is not ninja's."""
    lines = log.splitlines()
    if not lines or not VERSION.match(lines[0]):
        raise ValueError(f"line 1 is {(lines or [''])[0][:40]!r}; valid: '# ninja log v5' to v7")
    seconds, made_together = {}, {}
    for number, line in enumerate(lines[1:], 2):
        try:
            begin, end, _, output, command = line.split("\t")
            step = (int(begin), int(end), command)
        except ValueError:
            raise ValueError(
                f"line {number} is {line[:40]!r}; valid: five columns: begin, end, time, output,"
                " command"
            ) from None
        made_together[output] = step
    # A step with several outputs has a line for each of them.
    for output, step in made_together.items():
        seconds.setdefault(step, (output, (step[1] - step[0]) / 1000))
    return dict(seconds.values())


def kind_of(output):
    """The kind of work: parsed headers, objects, linking and the rest."""
    if output.endswith((".gch", ".pch")):
        return "precompiled headers"
    if output.endswith(".o"):
        return "objects"
    if re.search(r"(^|/)(lib[^/]*\.(a|so[.\d]*)|[^/.]+)$", output):
        return "links and archives"
    return "other"


def room_of(output):
    """The folder of the tree that an output belongs to."""
    parts = [p for p in pathlib.PurePosixPath(output).parts[:-1] if not p.endswith(".dir")]
    if "CMakeFiles" in parts:
        parts = parts[: parts.index("CMakeFiles")]
    return "/".join(parts[: 3 if parts[:1] == ["tests"] else 2]) or "."


def totals(seconds, key):
    """Seconds of each group, the largest first."""
    sums = collections.Counter()
    for output, s in seconds.items():
        sums[key(output)] += s
    return {name: round(s, 1) for name, s in sums.most_common()}


def main():
    parser = argparse.ArgumentParser(description="where the time of a build went, as JSON")
    parser.add_argument(
        "build", nargs="?", default="build", type=pathlib.Path, help="build folder (default: build)"
    )
    parser.add_argument(
        "--top", type=int, default=30, help="number of steps that are listed by name (default 30)"
    )
    parser.add_argument(
        "--budget",
        type=float,
        default=1500,
        help="seconds of two cores that a whole build may take (default 1500)",
    )
    a = parser.parse_args()
    path = a.build / ".ninja_log"
    try:
        seconds = steps_of(path.read_text(errors="replace"))
    except (OSError, ValueError) as e:
        print(
            f"build_times: {path}: {e.strerror if isinstance(e, OSError) else e}", file=sys.stderr
        )
        return 2
    longest = sorted(seconds.items(), key=lambda item: -item[1])[: max(a.top, 0)]
    total = sum(seconds.values())
    json.dump(
        {
            "steps": len(seconds),
            "seconds": round(total, 1),
            "seconds_of_two_cores": round(total / 2, 1),
            "budget_s": a.budget,
            "within_budget": total / 2 <= a.budget,
            "kinds": totals(seconds, kind_of),
            "rooms": totals(seconds, room_of),
            "longest": dict(longest),
        },
        sys.stdout,
        indent=2,
    )
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
