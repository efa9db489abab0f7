# SPDX-License-Identifier: GPL-3.0-or-later
"""A demo in the background for strict_radios.py: its two ends, its processes, which can be
stopped, and each slot of its terminal."""

import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from typing import Any, NamedTuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from free_running import TOP, Cell, control
from openwip_cli.air import SLOTS_PER_SECOND
from openwip_cli.machine import slot_path
from openwip_cli.messages import telemetry

NAME = "strict"
LEAST_GAP = 5  # slots: two in a row may have equal values by chance
COMMON = (
    *("--clock", "realtime", "--bins", "10", "--modulation", "4"),
    *("--uplink-kbps", "5000", "--tcp-window-kb", "128"),
)


class Demo:
    """A demo that ends by itself, with its report, unless this program fails."""

    def __init__(self, folder, *options, common=COMMON):
        self.cell, self.report = Cell(NAME), pathlib.Path(folder, "report.json")
        self.report.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [
                *(TOP / "openwip", "demo", "--name", NAME, *common, *options),
                f"--json={self.report}",
            ],
            env=os.environ | {"OPENWIP_NO_BUILD": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.output: list[str] = []
        self._reads = threading.Thread(target=self._read, daemon=True)
        self._reads.start()
        while not (self.cell.run / "pids" / "observer").exists():
            if self.process.poll() is not None:
                sys.exit(f"strict_radios: the cell did not come up: {''.join(self.output)}")
            time.sleep(0.1)
        self.ends = {
            name: control.Control(self.cell.endpoint(f"{name}.control"))
            for name in ("air", "base", "terminal")
        }

    def _read(self):
        self.output += self.process.stderr

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.wait(900)

    def wait(self, seconds):
        """The exit code; None if the demo still runs after `seconds`, which then is killed."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None
        self._reads.join()
        return code

    def pid(self, name):
        return int((self.cell.run / "pids" / name).read_text().split()[0])

    def status(self, name):
        return self.ends[name].status(3)

    def alive(self):
        return self.process.poll() is None

    def result(self) -> dict[str, Any]:
        return json.loads(self.report.read_text()) if self.report.exists() else {}


class Stall(NamedTuple):
    """The time for which a process was stopped, by the monotonic clock."""

    began: float
    ended: float

    @property
    def seconds(self):
        return self.ended - self.began


def stop_for(pid, seconds):
    """Stops a process for so many seconds, or longer if this program has no core at the end of
    them. Returns the times of the stall."""
    began = time.monotonic()
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(max(0.0, began + seconds - time.monotonic()))
    finally:
        os.kill(pid, signal.SIGCONT)
    return Stall(began, time.monotonic())


class Slots:
    """The values that the terminal publishes for each slot, read by a thread while it is open: SNR,
    and the SNR predicted for a later slot."""

    def __init__(self, running):
        running.ends["terminal"].configure({"telemetry": {"slot_every": 1}})
        self.reader = telemetry.Reader(
            {"terminal": running.cell.endpoint("terminal.telemetry")}, ("slot",)
        )
        self.of: dict[int, Any] = {}  # locked slots with values
        self.received: list[tuple[int, int]] = []  # (wall ns, slot) of each message, in order
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        while not self._ends.is_set():
            for message in self.reader.poll(0.1):
                sample, slot = message.telemetry.slot_sample, message.telemetry.slot
                self.received.append((message.telemetry.wall_ns, slot))
                if sample.locked and sample.snr_db:
                    self.of[slot] = sample

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()

    def lost(self):
        """Messages that did not come to this program: their slots are not known."""
        return self.reader.lost()

    def clock(self):
        """time of the monotonic clock -> the slot that is received then: by the messages that came
        soonest after their slot."""
        earliest = min(wall * 1e-9 - slot / SLOTS_PER_SECOND for wall, slot in self.received)
        return lambda seconds: (seconds - earliest) * SLOTS_PER_SECOND

    def unlocked(self, first, last):
        """[first, behind the last] of each run of slots of this range that have no values: the
        receiver had no lock."""
        return runs_of(slot for slot in range(first, last + 1) if slot not in self.of)

    def without_samples(self):
        """The runs of LEAST_GAP slots or more whose values are those of the slot before: where the
        radio gives no samples, the receiver holds its lock and its values."""
        held = (
            slot
            for slot in sorted(self.of)
            if slot - 1 in self.of and self.of[slot].snr_db == self.of[slot - 1].snr_db
        )
        return [(a, b) for a, b in runs_of(held) if b - a >= LEAST_GAP]

    def errors(self, slots):
        """Sums of (error squared, power squared) of the predictions that were made for these
        slots."""
        error = power = 0.0
        for slot in slots:
            was = self.of.get(slot)
            made = self.of.get(slot - was.horizon) if was else None
            if made is None:
                continue
            for predicted, is_ in zip(made.predicted_snr_db, was.snr_db):
                p, w = 10 ** (predicted / 10), 10 ** (is_ / 10)
                error += (p - w) ** 2
                power += w**2
        return error, power


def runs_of(numbers):
    """[first, behind the last] of each run of numbers, which ascend, without a gap."""
    runs = []
    for number in numbers:
        if runs and runs[-1][1] == number:
            runs[-1][1] = number + 1
        else:
            runs.append([number, number + 1])
    return runs


def nmse(pairs):
    error, power = (sum(of) for of in zip(*pairs))
    return error / power if power else None


class Machine:
    """The share of the time that the hypervisor took, and the load, while it is open."""

    def __enter__(self):
        self._stolen, self._began = slot_path.steal_s(), time.monotonic()
        return self

    def __exit__(self, *_):
        pass

    def found(self):
        share = (slot_path.steal_s() - self._stolen) / (time.monotonic() - self._began)
        return {"stolen": round(share, 4), "load": round(os.getloadavg()[0], 1)}


def counted(values):
    """Number of each value."""
    return dict(sorted(collections.Counter(values).items()))
