# SPDX-License-Identifier: GPL-3.0-or-later
"""The attenuator's firmware in QEMU, with the budget beside each figure (JSON):

  playback   a step every ms for 60 s on one channel, or on all eight for --all-seconds: steps played, worst distance of a step from its
             tick (by the firmware's timer), steps that were not there, ticks missed, words on SPI that are not those of the table
  silence    the host says nothing while it plays, so many times: the longest from its last word to maximum attenuation
  interrupt  longest time of the tick with eight words, and of its delay, in counted instructions: QEMU counts, it has no cycles
  memory     flash and RAM of both boards

  /usr/bin/python3 tests/bench/attenuator.py [--seconds 60] [--all-seconds 4]

from a built tree. All eight channels come from the ring: QEMU hands the serial line over byte by byte, 1 to 4 kB/s. Its time is
counted instructions: nothing here says how long anything takes on a processor."""
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
sys.path[:0] = [str(TOP / "host" / "cli"), str(BUILD / "python")]

from openwip_cli.machine import qemu  # noqa: E402
from openwip_cli.messages import attenuator as link  # noqa: E402
from openwip_schema import attenuator_pb2 as pb  # noqa: E402

ARM = BUILD / "firmware/arm"
# Of an STM32F446RE, less what settings and vectors have.
FLASH, RAM = 464 * 1024, 112 * 1024
TICK_INSTRUCTIONS = 1_000_000 // qemu.NS_PER_INSTRUCTION


def playback(channels, seconds):
    nof_steps = int(seconds * 1000)
    table = bytes((7 * k + 16 * c) % 128 for k in range(nof_steps) for c in range(channels))
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder, "trace")
        with qemu.Qemu(ARM / "netduinoplus2.elf", folder, trace) as machine, link.Attenuator(machine.port) as device:
            device.find()
            machine.settle(lambda: device.status().tick)
            device.command("SYST:WATC:TIM 5")     # this machine may be busy, and a silent host is another figure
            device.ask("DIAG:TICK:WORS?")
            begun = time.monotonic()
            status = device.play(range(1, channels + 1), table)
            took = time.monotonic() - begun
            latency_ns, duration_ns = map(int, device.ask("DIAG:TICK:WORS?").split(","))
            errors = device.errors()
        played = qemu.steps(trace)
    origin = played[0].time_us if played else 0
    off = [s.time_us - origin - 1000 * s.number for s in played]
    wrong = sum(dict(s.latches).get(c) != table[s.number * channels + c] for s in played for c in range(channels))
    return {"channels": channels, "state": pb.State.Name(status.state), "wall_s": took, "errors": errors,
            "steps": {"found": len({s.number for s in played}), "budget": nof_steps},
            "outside_their_tick": {"found": sum(abs(o) >= 1000 for o in off), "budget": 0},
            "worst_us_off": {"found": max(map(abs, off), default=None), "budget": 1000},
            "underflows": {"found": status.underflows, "budget": 0}, "missed_ticks": {"found": status.missed_ticks, "budget": 0},
            "wrong_words": {"found": wrong, "budget": 0},
            "interrupt_instructions": {"found": duration_ns // qemu.NS_PER_INSTRUCTION, "budget": TICK_INSTRUCTIONS},
            "delay_instructions": {"found": latency_ns // qemu.NS_PER_INSTRUCTION, "budget": TICK_INSTRUCTIONS}}


def silence(times):
    """In ms of QEMU's time: steps of 1 ms that were played after the host's last word, and the tick that ended them."""
    found = []
    with tempfile.TemporaryDirectory() as folder, qemu.Qemu(ARM / "netduinoplus2.elf", folder) as machine, \
            link.Attenuator(machine.port) as device:
        device.find()
        machine.settle(lambda: device.status().tick)
        for _ in range(10 * times):
            device.command("INP:ATT:ALL 0")
            device.request(open=pb.Open(channels=1, period_ticks=1, trigger=pb.BUS))
            device.request(steps=pb.Steps(first=0, levels=bytes(110), last=True))
            reply = device.request(trigger=pb.Empty())
            if reply.error or reply.status.state not in (pb.ARMED, pb.PLAYING):
                continue        # this host was silent too early
            time.sleep(0.2)
            status = device.status()
            if status.state == pb.SILENT and set(status.levels) == {127}:
                found.append(status.played - reply.status.played + 1)
            if len(found) == times:
                break
    return {"times": {"found": len(found), "budget": times}, "worst_ms": {"found": max(found, default=None), "budget": 100}}


def memory(board):
    said = subprocess.run(["arm-none-eabi-size", ARM / f"{board}.elf"], capture_output=True, text=True, check=True).stdout
    text, data, bss = map(int, said.splitlines()[1].split()[:3])
    return {"board": board, "flash": {"found": text + data, "budget": FLASH}, "ram_with_stack": {"found": data + bss, "budget": RAM}}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--all-seconds", type=float, default=4)
    p.add_argument("--silences", type=int, default=20)
    given = p.parse_args()
    result = {"where": "QEMU, machine netduinoplus2, 64 ns for each instruction",
              "playback": [playback(1, given.seconds), playback(8, given.all_seconds)], "silence": silence(given.silences),
              "memory": [memory("netduinoplus2"), memory("nucleo_f446re")]}
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
