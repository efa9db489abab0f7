# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole cell with two radio clocks that are 2 x PPM apart, for a time that is the medium's: in
lockstep, as fast as the machine can. macd, flowgraphs, software b210s (`ppm`, without other
faults), medium, feedback, IP; 25 bins of 64-QAM, 40 dB, 1.8 GHz, where 20 ppm are 36 kHz (--freq
300e6: 6 kHz). Pings of 1400 bytes go all the time. A JSON line for each minute of the medium, one
at the end with what is asked:

  lock_losses, slots_unlocked, overflows, late_slots    0 from the first lock on
  slots_apart     the terminal's slot from what the base station said just before and says just
                  after: at most LOOP
  grants_failed, frames_bad    at most 1e-5 of the slots, 1e-3 of the frames
  pings_lost      0; dropped: packets that a queue was too short for
  slots_gained    the base station's slots beyond the medium's: PPM of them, within JITTER; not
                  evaluated where that is more than half of what it should be (below nine minutes of
                  10 ppm). Read while the base station's flowgraph is stopped, and the medium
                  with it
  cfo_hz          that of the two oscillators, 2 x PPM of the carrier, within 1 %

  sudo /usr/bin/python3 tests/bench/two_clocks.py [--minutes 60] [--at-most 600] [--ppm 10] [--freq
  1.8e9] [--name NAME]

from a built tree. Exit code 1: a figure is outside. `not_judged`: the run was too short for it. How
long it takes depends on the machine, what it finds does not."""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("OPENWIP_BUILD", TOP / "build"))
sys.path[:0] = [str(TOP / "host" / "cli"), str(BUILD / "python")]

from openwip_cli.cell import cell as cells
from openwip_cli.cell import configuration, processes
from openwip_cli.cell.session import Progress, owned_cell
from openwip_cli.machine.places import Places
from openwip_cli.runs import demo
from openwip_cli.runs.options import parse_demo

LOOP = 30  # slots
SLOT = 5120  # samples
JITTER = 4  # slots: what a plan may be early or late
# A machine that others use stalls now and then, and the cell's time stalls with it.
PATIENCE_S = 600


def argv_of(process, freq):
    return [{"1.8e9": f"{freq:g}"}.get(x, x) for x in process.argv] + (
        ["--timeout", "60"] if process.name.endswith(".radio") else []
    )


def at_that_carrier(given):
    """Processes of a cell at that carrier, with peers that bear a stall of the machine, on a medium
    where oscillators so far apart can receive each other."""
    made, config, air = processes.cell_processes, configuration.mac_config, configuration.air_config
    processes.cell_processes = lambda *a: [
        dataclasses.replace(p, argv=argv_of(p, given.freq)) for p in made(*a)
    ]
    configuration.mac_config = lambda *a: config(*a) | {"peer_timeout_s": PATIENCE_S}

    def hears(*a):
        tree = air(*a)
        return tree | {
            "air": tree["air"] | {"hearing_hz": max(20e3, 2.5e-6 * given.ppm * given.freq)}
        }

    configuration.air_config = hears


def gained(running, flowgraph):
    """Slots of the base station beyond the medium's."""
    os.kill(flowgraph, signal.SIGSTOP)
    try:
        now = -1
        while now != (now := running.ask(running.air).now):
            time.sleep(0.02)
        return running.ask(running.base).slot - now / SLOT
    finally:
        os.kill(flowgraph, signal.SIGCONT)


def look(running, flowgraph):
    base, air, terminal, later = (
        running.ask(x) for x in (running.base, running.air, running.terminal, running.base)
    )
    radio, link = terminal.radio, terminal.terminal
    dropped = sum(d.count.packets for way in (base.downlink, base.uplink) for d in way.dropped)
    return {
        "medium_s": air.now / 7.68e6,
        "wall_s": time.monotonic(),
        "slots_gained": gained(running, flowgraph),
        "dropped": dropped,
        "slots_apart": max(0, base.slot - terminal.slot, terminal.slot - later.slot),
        "slots": link.slots,
        "slots_unlocked": link.slots_unlocked,
        "lock_losses": radio.lock_losses,
        "overflows": radio.overflows,
        "late_slots": base.radio.late_slots,
        "grants_failed": link.grants_failed,
        "frames_good": link.frames_good,
        "frames_bad": link.frames_bad,
        "cfo_hz": radio.cfo_hz,
    }


def gained_as_expected(found, expected):
    """Whether the gain is as expected; None: that is too little to be distinguished from equal
    clocks."""
    return abs(found - expected) <= JITTER if JITTER <= abs(expected) / 2 else None


def run(given):
    options = parse_demo(
        [
            "--name",
            given.name,
            "--bins",
            "25",
            "--modulation",
            "6",
            "--snr",
            "40",
            "--speed",
            "100",
            "--uplink-kbps",
            "5000",
            "--base-radio",
            f"product=b210,faults=0,ppm={given.ppm:g}",
            "--terminal-radio",
            f"product=b210,faults=0,ppm={-given.ppm:g}",
        ]
    )
    places, progress = Places(TOP, BUILD, sys.executable), Progress()
    at_that_carrier(given)
    with owned_cell(options.name, progress) as (cell, supervisor):
        running = demo.DemoCell(cell, supervisor, options.scenario, places)
        demo.start_cell(running, places, progress)
        if not supervisor.wait_until(
            lambda: running.ask(running.terminal).radio.locked, PATIENCE_S
        ):
            raise SystemExit("the terminal does not lock")
        pings = subprocess.Popen(
            [
                "ip",
                "netns",
                "exec",
                cell.namespace("base"),
                "ping",
                "-q",
                "-i",
                "0.01",
                "-s",
                "1372",
                "-W",
                "60",
                cells.ADDRESS["terminal"],
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            flowgraph = int((cell.run / "pids" / "base.radio").read_text().split()[0])
            first = last = look(running, flowgraph)
            worst = 0
            while (
                last["medium_s"] - first["medium_s"] < 60 * given.minutes
                and last["wall_s"] - first["wall_s"] < 60 * given.at_most
            ):
                aim = last["medium_s"] + 60
                supervisor.wait_until(
                    lambda: running.ask(running.air).now / 7.68e6 >= aim, PATIENCE_S, every=0.5
                )
                last = look(running, flowgraph)
                worst = max(worst, last["slots_apart"])
                print(
                    json.dumps(
                        {
                            "minutes": round((last["medium_s"] - first["medium_s"]) / 60, 2),
                            **{k: round(v, 3) for k, v in last.items()},
                        }
                    ),
                    flush=True,
                )
        finally:
            pings.send_signal(signal.SIGINT)
            output = pings.communicate()[0]
    sent, received = map(
        int, re.search(r"(\d+) packets transmitted, (\d+) received", output).groups()
    )
    d = {k: last[k] - first[k] for k in last}
    frames = d["frames_good"] + d["frames_bad"]
    expected = given.ppm * 1e-6 * d["medium_s"] * 7.68e6 / SLOT
    holds = {
        "lock_losses": d["lock_losses"] == 0,
        "slots_unlocked": d["slots_unlocked"] == 0,
        "overflows": d["overflows"] == 0,
        "late_slots": d["late_slots"] == 0,
        "slots_apart": worst <= LOOP,
        "grants_failed": d["grants_failed"] <= 1e-5 * d["slots"],
        "frames_bad": d["frames_bad"] <= 1e-3 * frames,
        "pings_lost": received >= sent - 1,  # the last one may be under way at the end
        "cfo_hz": (
            abs(abs(last["cfo_hz"]) - 2e-6 * given.ppm * given.freq)
            <= 2e-8 * given.ppm * given.freq
        ),
        "slots_gained": gained_as_expected(d["slots_gained"], expected),
    }
    print(
        json.dumps(
            {
                "minutes": d["medium_s"] / 60,
                "wall_minutes": d["wall_s"] / 60,
                **{k: round(d[k], 3) for k in holds if k in d},
                "cfo_hz": last["cfo_hz"],
                "slots_apart": worst,
                "slots": d["slots"],
                "frames": frames,
                "pings": sent,
                "pings_lost": sent - received,
                "dropped": d["dropped"],
                "slots_gained_expected": round(expected, 2),
                "slots_gained_within": JITTER,
                "outside": [k for k, ok in holds.items() if ok is False],
                "not_judged": [k for k, ok in holds.items() if ok is None],
            }
        )
    )
    return 1 if False in holds.values() else 0


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--minutes", type=float, default=60)
    p.add_argument(
        "--at-most",
        type=float,
        default=600,
        help="minutes of the wall clock; then it ends with what it has",
    )
    p.add_argument("--ppm", type=float, default=10)
    p.add_argument("--freq", type=float, default=1.8e9, help="carrier, Hz")
    p.add_argument("--name", default="twoclocks")
    sys.exit(run(p.parse_args()))


if __name__ == "__main__":
    main()
