# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that are recorded: what the record says is what the report says; readers that stall
harm nobody."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import same_meaning
from demo_support import GENTLE, TOP, built, environment, openwip
from openwip_cli.cell import cell as cells
from openwip_cli.messages import telemetry
from openwip_cli.records.run_record import RunRecord

CELL = f"r{os.getpid() % 100000}"
STALLED = """
import sys, time
from openwip_cli.cell import cell as cells
from openwip_cli.messages import telemetry
reader = telemetry.Reader(telemetry.endpoints_of(cells.Cell(sys.argv[1])))
print("subscribed", flush=True)
time.sleep(1000)       # it never reads
"""


@unittest.skipIf(
    os.geteuid() != 0 or not os.path.exists("/dev/net/tun"), "a cell needs root and a TUN"
)
@unittest.skipUnless(built(), "needs the built programs")
class Recorded(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path, self.json = self.folder / "run.h5", self.folder / "run.json"
        self.addCleanup(lambda: openwip("down", "--name", CELL))

    def run_cell(self, command, *arguments):
        done = openwip(
            command,
            "--name",
            CELL,
            "--record",
            str(self.path),
            f"--json={self.json}",
            *arguments,
        )
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.report = json.loads(self.json.read_text())
        self.record = RunRecord(self.path)
        self.addCleanup(self.record.close)
        return done

    def expect_same_run(self, *files):
        about = self.record.about
        recorded = dict(about["report"])
        self.assertEqual(recorded, {k: v for k, v in self.report.items() if k != "record"})
        self.assertEqual(self.report["record"]["lost"], 0)
        self.assertEqual(
            self.report["record"]["messages"],
            sum(self.record.table(*t).attributes["received"] for t in self.record.tables()),
        )
        self.assertEqual(self.record.verdict["valid"], self.report["verdict"]["valid"])
        self.assertEqual(about["scenario"], self.report["config"])
        self.assertIn(str(self.path), about["command"])
        for name in files:
            self.assertIn("bins:", about["effective"][name])
        # The last status of the base station has all frames that the report counts, and numbers
        # without a gap.
        status = self.record.table("status", "base")
        numbers = status["message.sequence"].tolist()
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        self.assertGreaterEqual(
            int(status["base.frames_sent"][-1]), self.report["link"]["frames_sent"]
        )
        self.assertGreater(len(self.record.table("slot", "terminal")), 50)

    def expect_same_in_the_monitor(self):
        if same_meaning.PROGRAM.exists():  # the program may not be part of this build
            reported = same_meaning.expect(self, self.path)
            self.assertEqual(reported["counts"][0], self.report["record"]["messages"])
            self.assertGreater(len(reported["prediction_error"]), 50)

    def test_a_demo_and_its_page(self):
        self.run_cell("demo", "--duration", "3", *GENTLE)
        self.expect_same_run("base", "terminal")
        done = openwip("report", str(self.path))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        page = (self.folder / "run.html").read_text()
        word = "VALID" if self.report["verdict"]["valid"] else "INVALID"
        self.assertIn(f"<b>{word}</b>", page)
        self.assertLess(page.index(f"<b>{word}</b>"), page.index("TCP goodput"))
        self.assertGreaterEqual(page.count("data:image/png;base64,"), 5)
        self.expect_same_in_the_monitor()

    def test_an_emulated_run_beside_a_reader_that_never_reads(self):
        record_everything = subprocess.Popen(
            [
                TOP / "openwip",
                "emulate",
                "--name",
                CELL,
                "--duration",
                "3",
                "--bins",
                "25",
                "--pacing-limit-ms",
                "1000",
                "--record",
                self.path,
                f"--json={self.json}",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        self.addCleanup(record_everything.stderr.close)
        self.addCleanup(record_everything.stdout.close)
        run = cells.Cell(CELL).run
        while not (run / "base.telemetry").exists():
            self.assertIsNone(record_everything.poll())
            time.sleep(0.05)
        stalled = subprocess.Popen([sys.executable, "-c", STALLED, CELL], stdout=subprocess.PIPE)
        self.addCleanup(stalled.stdout.close)
        self.addCleanup(stalled.wait)
        self.addCleanup(stalled.kill)
        self.assertEqual(stalled.stdout.readline(), b"subscribed\n")
        stalled.send_signal(signal.SIGSTOP)
        record_everything.wait(100)
        self.report = json.loads(self.json.read_text())
        self.record = RunRecord(self.path)
        self.addCleanup(self.record.close)
        self.expect_same_run("base")
        self.expect_same_in_the_monitor()
        for check in ("sums", "telemetry", "traffic"):
            self.assertTrue(self.report["verdict"]["checks"][check], self.report["verdict"])

    def test_ctrl_c_leaves_a_whole_record_without_a_report(self):
        process = subprocess.Popen(
            [TOP / "openwip", "emulate", "--name", CELL, "--duration", "60", "--record", self.path],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(),
            start_new_session=True,
        )
        with telemetry.Reader(telemetry.endpoints_of(cells.Cell(CELL)), ("slot",)) as reader:
            while reader.received("base") < 30:
                self.assertIsNone(process.poll())
                reader.poll(0.1)
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends Ctrl-C to the whole group
        self.assertEqual(process.wait(30), 130)
        with RunRecord(self.path) as record:
            self.assertGreater(len(record.table("slot", "base")), 10)
            self.assertEqual(record.about["report"], {})
            self.assertIn("emulate", record.about["command"])
        self.assertEqual(list(self.folder.iterdir()), [self.path])
        self.assertFalse(cells.Cell(CELL).run.exists())

    def test_a_record_that_cannot_be_written_stops_nothing_half_way(self):
        done = openwip("emulate", "--name", CELL, "--duration", "3", "--record", "/absent/run.h5")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("the folder of --record is '/absent/'", done.stderr.splitlines()[-1])
        self.assertFalse(cells.Cell(CELL).run.exists())


if __name__ == "__main__":
    unittest.main()
