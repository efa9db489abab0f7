# SPDX-License-Identifier: GPL-3.0-or-later
"""The cell on a clock that does not wait, with the budget beside each figure (JSON):

  runs     demos of 25 bins at 256-QAM with default lead and delay: verdict, share of late slots, losses of lock, TCP of capacity
  stops    every process of a running cell stands still for 50 ms (SIGSTOP), five times each: slots that this costs (not sent in
           time, not locked, grant not decoded), locks lost

  sudo /usr/bin/python3 tests/bench/free_running.py [--seconds 60] [--products ideal,b210,x310]

from a built tree, on an idle machine. Nothing here is judged; software radios only."""
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
sys.path[:0] = [str(TOP / "host" / "cli"), str(pathlib.Path(os.environ.get("OPENWIP_BUILD", TOP / "build"), "python"))]

from openwip_cli.cell.cell import Cell  # noqa: E402
from openwip_cli.messages import control  # noqa: E402

CELL = "freerun"
FULL = ["--clock", "realtime", "--bins", "25", "--modulation", "8", "--snr", "40", "--uplink-kbps", "5000", "--tcp-window-kb", "128"]
LOWER = ["--modulation", "6", "--snr", "30", *FULL[:4], *FULL[8:]]     # where a radio with faults leaves no room for 256-QAM
PROCESSES = ("air", "base.macd", "terminal.macd", "base.radio", "terminal.radio")
STOP_S, TIMES = 0.05, 5


def demo(options, json_file, **more):
    return subprocess.Popen([TOP / "openwip", "demo", "--name", CELL, *options, "--json", json_file], env=os.environ | {"OPENWIP_NO_BUILD": "1"},
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)


def run(product, seconds, folder):
    file = f"{folder}/{product}.json"
    options = FULL if product == "ideal" else [*LOWER, "--product", product]
    demo([*options, "--duration", str(seconds)], file).wait()
    r = json.loads(pathlib.Path(file).read_text())
    rt = r["realtime"]
    return {"product": product, "verdict": r["verdict"], "slots": rt["slots"], "missed": rt["missed"],
            "late_share": {"found": rt["late_slots"] / rt["slots"], "budget": 1e-3},
            "lock_losses": {"found": r["radio"]["lock_losses"], "budget": 0},
            "tcp_of_capacity": {"found": r["tcp"]["goodput_bps"] / r["capacity"]["tcp_payload_bps"], "budget": 0.97},
            "frame_error_rate": r["link"]["frame_error_rate"], "ping_ms": r["ping_ms"]["median"]}


def cost_of(cell):
    """(slots that came to nothing, locks lost) so far."""
    base, terminal = (control.Control(cell.endpoint(f"{s}.control")).status(2) for s in ("base", "terminal"))
    radio = base.radio
    return (radio.late_slots + radio.late_plans + radio.slots_left_out + terminal.terminal.slots_unlocked
            + terminal.terminal.grants_failed, terminal.radio.lock_losses)


def stops(folder):
    cell = Cell(CELL)
    process = demo([*FULL, "--duration", str(len(PROCESSES) * TIMES * 2 + 5)], f"{folder}/stops.json")
    try:
        while not (cell.run / "pids" / "observer").exists():
            time.sleep(0.2)
        time.sleep(4)
        found = {name: [] for name in PROCESSES}
        quiet = []
        for _ in range(TIMES):
            for name in PROCESSES:
                before = cost_of(cell)
                time.sleep(0.5)
                between = cost_of(cell)
                quiet.append(between[0] - before[0])
                pid = int((cell.run / "pids" / name).read_text().split()[0])
                os.kill(pid, signal.SIGSTOP)
                time.sleep(STOP_S)
                os.kill(pid, signal.SIGCONT)
                time.sleep(1)
                after = cost_of(cell)
                found[name].append((after[0] - between[0], after[1] - between[1]))
    finally:
        process.wait(120)
    return {"stopped_ms": STOP_S * 1000, "slots_without_a_stop": quiet,
            "processes": {name: {"slots": [s for s, _ in costs], "median": statistics.median(s for s, _ in costs), "budget": 150,
                                 "locks_lost": sum(k for _, k in costs), "locks_budget": 0} for name, costs in found.items()}}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=int, default=60)
    p.add_argument("--products", default="ideal,b210,x310")
    given = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps({"runs": [run(product, given.seconds, folder) for product in given.products.split(",")],
                          "stops": stops(folder)}, indent=1))


if __name__ == "__main__":
    main()
