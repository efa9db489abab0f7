# SPDX-License-Identifier: GPL-3.0-or-later
"""The cell on a clock that does not wait, with the budget beside each figure (JSON):

  runs     --runs demos a product of 25 bins with default lead and delay, by turns, all with the
           same modulation and SNR (asked: 256-QAM, the default): VALID, share of late slots below
           1e-3, no loss of lock, TCP at least 0.97 of capacity; of these `valid` of how many, and
           how long the machine stalled in each
  stops    every process of a running cell, its radios --product, is stopped for 50 ms (SIGSTOP),
           --times times each: slots that come to nothing, each once (tests/support/slots_lost.py),
           fewer than 150 each time; locks lost, none

  sudo /usr/bin/python3 tests/bench/free_running.py [--seconds 60] [--products ideal,b210,x310]
  [--runs 1] [--modulation 8] [--snr 40]
                                                    [--product ideal] [--times 5] [--no-stops]

from a built tree, on an idle machine; software USRPs only. Exit code 1: a figure is outside
(`outside`, at the end)."""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(TOP / "host" / "cli"),
    str(TOP / "tests" / "support"),
    str(pathlib.Path(os.environ.get("OPENWIP_BUILD", TOP / "build"), "python")),
]

import slots_lost
from openwip_cli.cell.cell import Cell
from openwip_cli.messages import control

CELL = "freerun"
CELL_OPTIONS = [
    "--clock",
    "realtime",
    "--bins",
    "25",
    "--uplink-kbps",
    "5000",
    "--tcp-window-kb",
    "128",
]
PROCESSES = ("air", "base.macd", "terminal.macd", "base.radio", "terminal.radio")
STOP_S = 0.05


def demo(options, json_file, **more):
    return subprocess.Popen(
        [TOP / "openwip", "demo", "--name", CELL, *options, f"--json={json_file}"],
        env=os.environ | {"OPENWIP_NO_BUILD": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **more,
    )


def run(product, options, seconds, folder):
    file = pathlib.Path(folder, f"{product}.json")
    demo([*options, "--product", product, "--duration", str(seconds)], file).wait()
    if not file.exists():
        return {"product": product, "verdict": {"valid": False, "reasons": ["there is no report"]}}
    return figures_of(product, json.loads(file.read_text()))


def figures_of(product, r):
    """The figures of a demo's report for this product."""
    if "tcp" not in r:
        return {"product": product, "verdict": r["verdict"]}
    rt = r["realtime"]
    return {
        "product": product,
        "verdict": r["verdict"],
        "standstills": rt["standstills"],
        "slots": rt["slots"],
        "missed": rt["missed"],
        "late_share": {"found": rt["late_slots"] / rt["slots"], "below": 1e-3},
        "lock_losses": {"found": r["radio"]["lock_losses"], "below": 1},
        "tcp_of_capacity": {
            "found": r["tcp"]["goodput_bps"] / r["capacity"]["tcp_payload_bps"],
            "least": 0.97,
        },
        "frame_error_rate": r["link"]["frame_error_rate"],
        "snr_db": r["radio"]["mean_snr_db"],
        "ping_ms": r["ping_ms"]["median"],
    }


def meets(figure):
    return (
        figure["found"] >= figure["least"]
        if "least" in figure
        else figure["found"] < figure["below"]
    )


def outside(runs, processes):
    """The names of the figures that are outside of their limits. `processes`: the results of the
    stops; {}: nothing was stopped."""
    found = []
    for r in runs:
        found += [f"{r['product']}: verdict"] * (not r["verdict"]["valid"])
        found += [
            f"{r['product']}: {name}"
            for name, figure in r.items()
            if isinstance(figure, dict) and "found" in figure and not meets(figure)
        ]
    for name, costs in processes.items():
        found += [
            f"stop of {name}: {what}"
            for what in ("most_slots", "locks_lost")
            if not meets(costs[what])
        ]
    return found


def valid(runs):
    """product: "k of n"."""
    of = {}
    for r in runs:
        of.setdefault(r["product"], []).append(bool(r["verdict"]["valid"]))
    return {product: f"{sum(all_)} of {len(all_)}" for product, all_ in of.items()}


def state_of(cell):
    """(slots that came to nothing so far, locks lost)"""
    base, terminal = (
        control.Control(cell.endpoint(f"{s}.control")).status(2) for s in ("base", "terminal")
    )
    return slots_lost.so_far(base, terminal), terminal.radio.lock_losses


def stops(options, times, folder):
    cell, report = Cell(CELL), pathlib.Path(folder, "stops.json")
    process = demo([*options, "--duration", str(len(PROCESSES) * times * 2 + 5)], report)
    try:
        while not (cell.run / "pids" / "observer").exists():
            if process.poll() is not None:
                sys.exit("free_running: the cell for the stops did not come up")
            time.sleep(0.2)
        time.sleep(4)
        found = {name: [] for name in PROCESSES}
        quiet = []
        for _ in range(times):
            for name in PROCESSES:
                before, _ = state_of(cell)
                time.sleep(0.5)
                between, locks = state_of(cell)
                quiet.append(slots_lost.between(before, between))
                pid = int((cell.run / "pids" / name).read_text().split()[0])
                os.kill(pid, signal.SIGSTOP)
                time.sleep(STOP_S)
                os.kill(pid, signal.SIGCONT)
                time.sleep(1)
                after, locks_after = state_of(cell)
                found[name].append((slots_lost.between(between, after), locks_after - locks))
    finally:
        process.wait(120)
    return {
        "stopped_ms": STOP_S * 1000,
        "slots_without_a_stop": quiet,
        "standstills": (
            json.loads(report.read_text())["realtime"]["standstills"] if report.exists() else None
        ),
        "processes": {name: cost(costs) for name, costs in found.items()},
    }


def cost(costs):
    slots = [s for s, _ in costs]
    return {
        "slots": slots,
        "median": statistics.median(slots),
        "within": f"{sum(s < 150 for s in slots)} of {len(slots)}",
        "most_slots": {"found": max(slots), "below": 150},
        "locks_lost": {"found": sum(k for _, k in costs), "below": 1},
    }


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--seconds", type=int, default=60)
    p.add_argument("--products", default="ideal,b210,x310")
    p.add_argument("--modulation", type=int, default=8, help="bits per symbol (8: 256-QAM)")
    p.add_argument("--snr", type=float, default=40, help="dB")
    p.add_argument("--runs", type=int, default=1, help="of each product")
    p.add_argument("--product", default="ideal", help="of the cell whose processes are stopped")
    p.add_argument("--times", type=int, default=5, help="that each is stopped")
    p.add_argument("--no-stops", action="store_true")
    given = p.parse_args()
    if min(given.runs, given.times, given.seconds) < 1:
        p.error("--seconds, --runs, --times; valid: 1 or more")
    options = [*CELL_OPTIONS, "--modulation", str(given.modulation), "--snr", f"{given.snr:g}"]
    with tempfile.TemporaryDirectory() as folder:
        made = {
            "runs": [
                run(product, options, given.seconds, folder)
                for _ in range(given.runs)
                for product in given.products.split(",")
            ]
        }
        made["valid"] = valid(made["runs"])
        if not given.no_stops:
            made["stops"] = stops([*options, "--product", given.product], given.times, folder)
    made["outside"] = outside(made["runs"], made["stops"]["processes"] if "stops" in made else {})
    print(json.dumps(made, indent=1))
    return 1 if made["outside"] else 0


if __name__ == "__main__":
    sys.exit(main())
