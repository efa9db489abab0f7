# SPDX-License-Identifier: GPL-3.0-or-later
"""Verbs of the demo tests: run ./openwip, find processes of a cell, see what is left of one."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "host" / "cli"))

from openwip_cli.cell import cell as cells
from openwip_cli.machine import procfs, qemu, system

# The attenuator's firmware in QEMU.
FIRMWARE = (
    pathlib.Path(os.environ.get("OPENWIP_BUILD", TOP / "build")) / "firmware/arm/netduinoplus2.elf"
)
# The radio at half the pace: the tests are about what arrives, and a busy machine may be slow.
GENTLE = ["--speed", "0.5", "--pacing-limit-ms", "1000"]
PROCESSES = ("air", "base.macd", "terminal.macd", "base.radio", "terminal.radio")
OBSERVERS = ("observer", "judge")  # the cell lives without them


def environment():
    return os.environ | {
        "OPENWIP_NO_BUILD": "1",
        "OPENWIP_BUILD": os.environ.get("OPENWIP_BUILD", str(TOP / "build")),
    }


def built():
    return pathlib.Path(environment()["OPENWIP_BUILD"], "host/macd/macd").exists()


def openwip(*arguments, timeout=120, **kwargs):
    return subprocess.run(
        [TOP / "openwip", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment(),
        **kwargs,
    )


class Demo:
    """A demo (or `command`) in the background; its progress lines can be waited for."""

    def __init__(self, name, *arguments, command="demo"):
        self.cell = cells.Cell(name)
        self.process = subprocess.Popen(
            [TOP / "openwip", command, "--name", name, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        self.lines = []
        self.news = threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stderr:
            with self.news:
                self.lines.append(line.rstrip())
                self.news.notify_all()

    @property
    def output(self):
        return "\n".join(self.lines)

    def wait_for(self, pattern, timeout=60):
        with self.news:
            if not self.news.wait_for(lambda: re.search(pattern, self.output), timeout):
                raise AssertionError(f"no '{pattern}' within {timeout} s in:\n{self.output}")

    def pid(self, name):
        if name == "launcher":
            return self.cell.state["launcher"][0]
        if name == "keeper":
            return self.cell.state["keeper"][0]
        deadline = time.monotonic() + 20  # the cell may just be starting
        while not (path := self.cell.run / "pids" / name).exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        return int(path.read_text().split()[0])

    def pids(self):
        return [self.pid(n) for n in (*PROCESSES, *OBSERVERS, "keeper", "launcher")]

    def kill(self, name):
        os.kill(self.pid(name), signal.SIGKILL)

    def ended(self, timeout=10):
        code = self.process.wait(timeout)
        self.reader.join(5)
        return code

    def close(self):
        self.process.kill()
        self.process.wait()
        openwip("down", "--name", self.cell.name)
        self.reader.join(10)  # processes that the launcher started hold its stderr as well
        self.process.stdout.close()
        if not self.reader.is_alive():
            self.process.stderr.close()


def attenuator_in_qemu(test, folder):
    """Runs until the test is over; its settings in the folder. Its machine has `trigger()`: an edge
    at the line of the trigger input, at the interrupt controller (EXTI 8), as QEMU 7.2 ends when
    one comes to pins of port B."""
    from openwip_cli.messages import attenuator

    pins = socket.socket(socket.AF_UNIX)
    test.addCleanup(pins.close)
    pins.bind(f"{folder}/pins")
    pins.listen()
    machine = qemu.Qemu(
        FIRMWARE, folder, more=("-qtest", f"unix:{folder}/pins", "-qtest-log", "none")
    )
    test.addCleanup(machine.end)
    wire = pins.accept()[0]
    test.addCleanup(wire.close)

    def trigger():
        for level in (1, 0):
            wire.sendall(f"set_irq_in exti unnamed-gpio-in 8 {level}\n".encode())
            test.assertEqual(wire.recv(100), b"OK\n")

    machine.trigger = trigger
    with attenuator.Attenuator(machine.port, answer_s=3) as device:
        device.find()
        machine.settle(lambda: device.status().tick)
    return machine


def left_of(cell, pids=()):
    """Everything that still exists of a cell: empty when it is gone."""
    left = [n for n in cell.namespaces if system.namespace_exists(n)]
    left += [str(p) for p in cell.medium_files()]
    left += [str(cell.run)] if cell.run.exists() else []
    left += [f"process {p}" for p in pids if procfs.start_time(p) is not None]
    return left


def wait_until(condition, within):
    deadline = time.monotonic() + within
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()
