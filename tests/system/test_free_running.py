# SPDX-License-Identifier: GPL-3.0-or-later
"""A cell whose radios run on a clock of their own: what arrives is right, and it goes on after a
stall of any process. Nothing here evaluates how many slots a busy machine makes too late while
nothing is stopped; what is said of them has to add up."""

import json
import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest

from demo_support import PROCESSES, Demo, built, cells, left_of, openwip

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import slots_lost
from openwip_cli.air import SLOTS_PER_SECOND
from openwip_cli.machine import slot_path
from openwip_cli.messages import control

CELL = f"f{os.getpid() % 100000}"
STOP_S = 0.05
LOST_BY_A_STOP = 150  # slots: fewer than twice its length
FAULTS_OVER_S, FEW_FAULTS = 3, 45  # late slots, one in a hundred of the slots of these seconds
KEEPS_LOCK_S = 0.06  # 100 slots without pilots cost no lock
FREE = (
    "--clock",
    "realtime",
    "--pings",
    "5",
    "--pacing-limit-ms",
    "1000",
    "--bins",
    "10",
    "--modulation",
    "4",
    "--snr",
    "30",
)


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "macd is not built")
class FreeRunning(unittest.TestCase):
    def report(self, folder):
        return json.loads(pathlib.Path(folder, "r.json").read_text())

    def check_sums(self, report):
        self.assertTrue(report["verdict"]["checks"]["sums"], report["verdict"])
        for way in report["packets"].values():
            self.assertEqual(
                way["in"], way["delivered"] + way["queued"] + sum(way["dropped"].values())
            )
        missed = report["realtime"]["missed"]
        self.assertEqual(report["realtime"]["late_slots"], sum(missed.values()))
        few = sum(missed.values()) <= 1e-3 * report["realtime"]["slots"]
        self.assertEqual(report["verdict"]["checks"]["late_slots"], few, missed)

    def lost(self):
        return slots_lost.so_far(
            *(
                control.Control(cells.Cell(CELL).endpoint(f"{s}.control")).status(2)
                for s in ("base", "terminal")
            )
        )

    def stop(self, run, name):
        """(seconds that it was stopped, slots that came to nothing from then until a second
        later). What waits meanwhile is in memory that the processes have used before."""
        pid = run.pid(name)
        before = self.lost()
        faults = slot_path.PageFaults({name: run.pid(name) for name in PROCESSES})
        os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        time.sleep(STOP_S)
        os.kill(pid, signal.SIGCONT)
        stopped = time.monotonic() - began
        time.sleep(1)
        for of, found in faults.report().items():
            self.assertLess(found["minor"], FEW_FAULTS, f"{of}, after {name} was stopped")
        return round(stopped, 4), slots_lost.between(before, self.lost())

    def page_faults(self, run):
        """The pages of each process of the slot path in some seconds, well after its start: (of
        memory, from the disk)."""
        faults = slot_path.PageFaults({name: run.pid(name) for name in PROCESSES})
        time.sleep(FAULTS_OVER_S)
        return {name: (f["minor"], f["major"]) for name, f in faults.report().items()}

    def test_a_demo_on_a_free_running_clock(self):
        with tempfile.TemporaryDirectory() as folder:
            done = openwip(
                "demo", "--name", CELL, *FREE, "--duration", "2", f"--json={folder}/r.json"
            )
            self.assertIn(done.returncode, (0, 1), done.stderr)
            report = self.report(folder)
        self.check_sums(report)
        self.assertEqual(report["realtime"]["clock"], "realtime")
        self.assertEqual(report["prediction"]["horizon_slots"], 12)
        self.assertIn("transmit_lead_slots: 6", report["effective"]["base"])
        self.assertGreater(report["packets"]["downlink"]["delivered"], 100)
        self.assertEqual(set(report["placement"]["page_faults"]), set(PROCESSES))
        self.assertEqual(set(report["placement"]["memory_locked"]), set(PROCESSES))
        self.assertEqual(
            report["verdict"]["checks"]["page_faults"],
            not any(f["major"] for f in report["placement"]["page_faults"].values()),
        )
        self.assertEqual(report["radio"]["clipped"], 0)
        self.assertEqual(left_of(cells.Cell(CELL)), [])

    def test_it_goes_on_after_any_process_stood_still_for_50_ms(self):
        with tempfile.TemporaryDirectory() as folder:
            run = Demo(CELL, *FREE, "--duration", str(8 + FAULTS_OVER_S), f"--json={folder}/r.json")
            self.addCleanup(run.close)
            run.wait_for("TCP download")
            time.sleep(1)
            few = self.page_faults(run)
            lost = {name: self.stop(run, name) for name in PROCESSES}
            self.assertIn(run.ended(60), (0, 1), run.output)
            report = self.report(folder)
        self.check_sums(report)
        # The link was used after the last one too: 8 s at 4 bit/symbol and 10 bins, less what was
        # lost.
        self.assertGreater(report["link"]["frames_acknowledged"], 0.5 * 1500 * 10 * 8 * 0.8)
        self.assertGreater(sum(report["realtime"]["missed"].values()), 0)
        print(f"page faults in {FAULTS_OVER_S} s: {few}", file=sys.stderr)
        self.assertEqual(set(few), set(PROCESSES))
        for name, (minor, major) in few.items():
            self.assertEqual(major, 0, few)
            self.assertLess(minor, FEW_FAULTS, f"{name}: {few}")
        # The machine's own stalls come on top.
        stood = report["realtime"]["standstills"] or {"together_ms": 0, "longest_ms": 0}
        print(
            f"(seconds stopped, slots lost): {lost}; standstills {stood['together_ms']} ms",
            file=sys.stderr,
        )
        # Reports that do not arrive in time count, too.
        self.assertGreater(lost["terminal.macd"][1], 0)
        for name, (stopped, slots) in lost.items():
            self.assertLess(
                slots,
                LOST_BY_A_STOP * stopped / STOP_S + SLOTS_PER_SECOND / 1000 * stood["together_ms"],
                f"{name}: {lost} {report['realtime']}",
            )
        # A stall of the machine's own may have come right after a stop.
        longest_stop = max(stopped for stopped, _ in lost.values())
        if longest_stop * 1e3 + stood["longest_ms"] < KEEPS_LOCK_S * 1e3:
            self.assertEqual(report["radio"]["lock_losses"], 0, report["radio"])


if __name__ == "__main__":
    unittest.main()
