# SPDX-License-Identifier: GPL-3.0-or-later
"""The attenuator's firmware in QEMU, with the budget beside each figure (JSON):

  playback   a step every ms for 60 s on one channel, or on all eight for --all-seconds: steps
             played, worst distance of a step from its tick (by the firmware's timer), steps that
             were not there, ticks missed, words on SPI that are not those of the table
  silence    the host says nothing while it plays, so many times: the longest from its last word to
             maximum attenuation
  interrupt  longest time of the tick with eight words, and of its delay, in counted instructions:
             QEMU counts, it has no cycles
  memory     flash and RAM of both boards

  /usr/bin/python3 tests/bench/attenuator.py [--seconds 60] [--all-seconds 4] [--watchdog-ms 100]

from a built tree. Exit code 1: a figure is outside its budget, and is named at the end. The
watchdog of the playback is the firmware's own unless it is said: on a busy machine the host itself
may be silent for longer. All eight channels come from the ring: QEMU hands the serial line over
byte by byte, 1 to 4 kB/s. Its time is counted instructions: nothing here says how long anything
takes on a processor."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("OPENWIP_BUILD", TOP / "build"))
sys.path[:0] = [str(TOP / "host" / "cli"), str(TOP / "tests" / "support"), str(BUILD / "python")]

from openwip_schema import attenuator_pb2 as pb

import qemu_trace
from openwip_cli.machine import qemu
from openwip_cli.messages import attenuator as link

ARM = BUILD / "firmware/arm"
# The memory of an STM32F446RE, less that of settings and vectors.
FLASH, RAM = 464 * 1024, 112 * 1024
TICK_INSTRUCTIONS = 1_000_000 // qemu_trace.NS_PER_INSTRUCTION


def playback(channels, seconds, watchdog_ms):
    nof_steps = int(seconds * 1000)
    table = bytes((7 * k + 16 * c) % 128 for k in range(nof_steps) for c in range(channels))
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder, "trace")
        with (
            qemu.Qemu(ARM / "netduinoplus2.elf", folder, trace) as machine,
            link.Attenuator(machine.port, answer_s=10) as device,
        ):
            device.find()
            machine.settle(lambda: device.status().tick)
            device.command(f"SYST:WATC:TIM {watchdog_ms} MS")
            device.ask("DIAG:TICK:WORS?")
            begun = time.monotonic()
            status = device.play(range(1, channels + 1), table)
            took = time.monotonic() - begun
            latency_ns, duration_ns = map(int, device.ask("DIAG:TICK:WORS?").split(","))
            errors = device.errors()
        played = qemu_trace.steps(trace)
    origin = played[0].time_us if played else 0
    off = [s.time_us - origin - 1000 * s.number for s in played]
    wrong = sum(
        dict(s.latches).get(c) != table[s.number * channels + c]
        for s in played
        for c in range(channels)
    )
    return {
        "channels": channels,
        "watchdog_ms": watchdog_ms,
        "state": pb.State.Name(status.state),
        "wall_s": took,
        "errors": errors,
        "steps": {"found": len({s.number for s in played}), "budget": nof_steps},
        "outside_their_tick": {"found": sum(abs(o) >= 1000 for o in off), "budget": 0},
        "worst_us_off": {"found": max(map(abs, off), default=None), "budget": 1000},
        "underflows": {"found": status.underflows, "budget": 0},
        "missed_ticks": {"found": status.missed_ticks, "budget": 0},
        "wrong_words": {"found": wrong, "budget": 0},
        "interrupt_instructions": {
            "found": duration_ns // qemu_trace.NS_PER_INSTRUCTION,
            "budget": TICK_INSTRUCTIONS,
        },
        "delay_instructions": {
            "found": latency_ns // qemu_trace.NS_PER_INSTRUCTION,
            "budget": TICK_INSTRUCTIONS,
        },
    }


def silence(times):
    """Steps of 1 ms that were played after the host's last message, and the tick that ended them,
    in ms of QEMU's time."""
    found = []
    with (
        tempfile.TemporaryDirectory() as folder,
        qemu.Qemu(ARM / "netduinoplus2.elf", folder) as machine,
        link.Attenuator(machine.port, answer_s=10) as device,
    ):
        device.find()
        machine.settle(lambda: device.status().tick)
        for _ in range(10 * times):
            try:
                device.command("INP:ATT:ALL 0")
                device.request(open=pb.Open(channels=1, period_ticks=1, trigger=pb.BUS))
                device.request(steps=pb.Steps(first=0, levels=bytes(110), last=True))
                reply = device.request(trigger=pb.Empty())
            except link.NoAnswer:  # nor refused: this machine is too busy
                continue
            if reply.error or reply.status.state not in (pb.ARMED, pb.PLAYING):
                continue  # the host's silence had begun too early
            time.sleep(0.2)
            status = device.status()
            if status.state == pb.SILENT and set(status.levels) == {127}:
                found.append(status.played - reply.status.played + 1)
            if len(found) == times:
                break
    return {
        "times": {"found": len(found), "budget": times},
        "worst_ms": {"found": max(found, default=None), "budget": 100},
    }


def memory(board):
    output = subprocess.run(
        ["arm-none-eabi-size", ARM / f"{board}.elf"], capture_output=True, text=True, check=True
    ).stdout
    text, data, bss = map(int, output.splitlines()[1].split()[:3])
    return {
        "board": board,
        "flash": {"found": text + data, "budget": FLASH},
        "ram_with_stack": {"found": data + bss, "budget": RAM},
    }


AT_LEAST = ("steps", "times")  # the others have at most their budget


def outside(part, name=""):
    """The names of the figures that are outside of their budget, and of the playbacks that did not
    end by themselves."""
    if isinstance(part, list):
        return [n for k, one in enumerate(part) for n in outside(one, f"{name}[{k}]")]
    if not isinstance(part, dict):
        return []
    if "budget" in part:
        found, budget = part["found"], part["budget"]
        good = found is not None and (
            found >= budget if name.rpartition(".")[2] in AT_LEAST else found <= budget
        )
        return [] if good else [name]
    bad = [f"{name}.state" for state in [part.get("state", "ENDED")] if state != "ENDED"] + [
        f"{name}.errors"
    ] * bool(part.get("errors"))
    return bad + [n for key, one in part.items() for n in outside(one, f"{name}.{key}".lstrip("."))]


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--all-seconds", type=float, default=4)
    p.add_argument("--silences", type=int, default=20)
    p.add_argument(
        "--watchdog-ms",
        type=int,
        default=100,
        metavar="MS",
        help="of the playback, 10 to 60000 (default: the firmware's, 100)",
    )
    given = p.parse_args()
    if not 10 <= given.watchdog_ms <= 60000:
        p.error(f"--watchdog-ms is {given.watchdog_ms}; valid: 10 to 60000")
    result = {
        "where": "QEMU, machine netduinoplus2, 64 ns for each instruction",
        "playback": [
            playback(1, given.seconds, given.watchdog_ms),
            playback(8, given.all_seconds, given.watchdog_ms),
        ],
        "silence": silence(given.silences),
        "memory": [memory("netduinoplus2"), memory("nucleo_f446re")],
    }
    result["outside"] = outside(result)
    print(json.dumps(result, indent=2))
    return 1 if result["outside"] else 0


if __name__ == "__main__":
    sys.exit(main())
