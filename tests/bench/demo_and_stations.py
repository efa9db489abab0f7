# SPDX-License-Identifier: GPL-3.0-or-later
"""The same cell as `demo --clock realtime` and as two stations with a LAN of 0.2 to 2 ms between
them (tests/system/two_computers.py), in turn: 25 bins, 256-QAM, 40 dB, uplink 5000 kbit/s, a TCP
download with a window of 128 KiB (JSON).

  sudo /usr/bin/python3 tests/bench/demo_and_stations.py [--seconds 20] [--runs 3] [--direct]

from a built tree, on an idle machine; --direct: no relay, the LAN takes microseconds. Asked: the
medians of the goodput of both are within 2 % of the demo's, every run is VALID (of both stations),
no lock lost. Exit code 1: a figure is outside (`outside`, at the end)."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(TOP / "tests" / "system"),
    str(TOP / "host" / "cli"),
    str(pathlib.Path(os.environ.get("OPENWIP_BUILD", TOP / "build"), "python")),
]

import two_computers
from demo_support import openwip
from openwip_cli.machine import system

WITHIN = 0.02  # share of the demo's goodput by which the stations may differ
WINDOW_KB = 128


def of_demo(seconds):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "demo.json")
        done = openwip(
            "demo",
            "--name",
            f"d{os.getpid() % 10000}",
            "--clock",
            "realtime",
            "--bins",
            "25",
            "--modulation",
            "8",
            "--snr",
            "40",
            "--uplink-kbps",
            "5000",
            "--tcp-window-kb",
            str(WINDOW_KB),
            "--duration",
            str(seconds),
            f"--json={file}",
            timeout=seconds + 180,
        )
        if not file.exists():
            return {
                "by": "demo",
                "valid": False,
                "reasons": [f"exit code {done.returncode}"],
                "tcp_bps": None,
                "lock_losses": 0,
            }
        r = json.loads(file.read_text())
    return {
        "by": "demo",
        "valid": r["verdict"]["valid"],
        "reasons": r["verdict"]["reasons"],
        "tcp_bps": (r.get("tcp") or {}).get("goodput_bps"),
        "lock_losses": r.get("radio", {}).get("lock_losses", 0),
        "standstills": r.get("realtime", {}).get("standstills"),
    }


def download(base, terminal, seconds):
    """bit/s; None: it failed."""
    server = subprocess.Popen(
        ["ip", "netns", "exec", terminal.cell.namespace("terminal"), "iperf3", "-s", "-1"],
        stdout=subprocess.DEVNULL,
    )
    try:
        time.sleep(0.3)
        done = base.run(
            "iperf3",
            "-c",
            "10.42.0.2",
            "-t",
            str(seconds),
            "-w",
            f"{WINDOW_KB}K",
            "-J",
            timeout=seconds + 20,
        )
        return json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"]
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        return None
    finally:
        two_computers.ended(server, 5)


def of_stations(seconds, jitter):
    world = two_computers.World(
        f"g{os.getpid() % 10000}",
        base=("--bins", "25", "--modulation", "8"),
        terminal=("--uplink-kbps", "5000"),
        jitter=jitter,
    )
    try:
        base, terminal = world.station("base"), world.station("terminal")
        base.wait_until_up(), terminal.wait_until_up()
        system.wait_until(lambda: base.hears("10.42.0.2"), 10)
        bps = download(base, terminal, seconds)
        reports = {s.role: s.ends()[1] for s in (base, terminal)}
    finally:
        world.close()
    if None in reports.values():
        return {
            "by": "stations",
            "valid": False,
            "reasons": ["a station has left no report"],
            "tcp_bps": bps,
            "lock_losses": 0,
        }
    return {
        "by": "stations",
        "valid": all(r["verdict"]["valid"] for r in reports.values()),
        "tcp_bps": bps,
        "reasons": [
            f"{role}: {why}" for role, r in reports.items() for why in r["verdict"]["reasons"]
        ],
        # The terminal loses it when the base station ends, too, which its verdict does not
        # evaluate.
        "lock_losses": int(not reports["terminal"]["verdict"]["checks"]["lock"]),
        "standstills": reports["base"]["standstills"],
    }


def summed(runs):
    found = {}
    for by in ("demo", "stations"):
        runs_of_way = [r for r in runs if r["by"] == by]
        bps = [r["tcp_bps"] for r in runs_of_way if r["tcp_bps"]]
        found[by] = {
            "valid": f"{sum(r['valid'] for r in runs_of_way)} of {len(runs_of_way)}",
            "median_bps": statistics.median(bps) if bps else None,
            "lock_losses": sum(r["lock_losses"] for r in runs_of_way),
        }
    a, b = (found[by]["median_bps"] for by in ("demo", "stations"))
    return found | {"goodput_against_demo": b / a - 1 if a and b else None}


def outside(runs):
    """The names of the figures that are outside of their limits."""
    found = [
        f"{by}: verdict"
        for by in ("demo", "stations")
        if not all(r["valid"] for r in runs if r["by"] == by)
    ]
    found += [
        f"{by}: lock"
        for by in ("demo", "stations")
        if any(r["lock_losses"] for r in runs if r["by"] == by)
    ]
    difference = summed(runs)["goodput_against_demo"]
    return found + ["goodput"] * (
        difference is None or abs(difference) > WITHIN or any(not r["tcp_bps"] for r in runs)
    )


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--seconds", type=int, default=20)
    p.add_argument("--runs", type=int, default=3, help="of each, by turns")
    p.add_argument("--direct", action="store_true", help="a LAN without delay")
    given = p.parse_args()
    if min(given.seconds, given.runs) < 1:
        p.error("--seconds, --runs; valid: 1 or more")
    runs = []
    for _ in range(given.runs):
        for made in (of_demo(given.seconds), of_stations(given.seconds, not given.direct)):
            runs.append(made)
            print(json.dumps(made), file=sys.stderr, flush=True)
    print(json.dumps({"runs": runs, **summed(runs), "outside": outside(runs)}, indent=1))
    return 1 if outside(runs) else 0


if __name__ == "__main__":
    sys.exit(main())
