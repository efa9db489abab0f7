# SPDX-License-Identifier: GPL-3.0-or-later
"""A demo until it is VALID: a run that is not (the machine was too busy) is made again, twice at
most, and why is said."""

import json
import os
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
ATTEMPTS = 3  # at a demo, until one is VALID


def options(parser):
    """Options that both benches have."""
    parser.add_argument("--out")
    parser.add_argument("--before", default="", help="command that runs each demo (flock FILE)")
    parser.add_argument("more", nargs="*")


def run(what, folder, arguments, before="", demo=(TOP / "openwip", "demo")):
    """(report, path of the attempt's files without the ending); None: no attempt was valid.
    `arguments(path)`: the arguments of the demo."""
    for attempt in range(ATTEMPTS):
        base = pathlib.Path(folder, f"{what.replace(', ', '-').replace(' ', '-')}-{attempt}")
        subprocess.run(
            [*before.split(), *demo, *arguments(base), f"--json={base}.json"],
            env=os.environ | {"OPENWIP_NO_BUILD": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        try:
            report = json.loads(pathlib.Path(f"{base}.json").read_text())
        except (OSError, ValueError):
            continue
        if report["verdict"]["valid"]:
            return report, base
        print(f"{what}: {report['verdict']['reasons']}", file=sys.stderr)
    return None


def not_valid(runs, ways, seeds):
    """The runs that are missing, by name."""
    return [f"{way}, seed {s}" for way in ways for s in range(1, seeds + 1) if s not in runs[way]]


def written(found, out):
    text = json.dumps(found, indent=1)
    if out:
        pathlib.Path(out).write_text(text + "\n")
    print(text)
