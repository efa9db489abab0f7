# SPDX-License-Identifier: GPL-3.0-or-later
"""A cell that stays up: any program runs over it, and a file arrives whole though frames fail."""

import hashlib
import json
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

import numpy
from openwip_schema import control_pb2 as pb

from demo_support import GENTLE, TOP, built, cells, environment, left_of, openwip, wait_until
from openwip_cli.messages import control
from telemetry_support import Watched, check_all

CELL = f"f{os.getpid() % 100000}"
BYTES = 3_000_000


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "macd is not built")
class Kept(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cell = cells.Cell(CELL)
        cls.addClassCleanup(openwip, "down", "--name", CELL)
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        # An unpaced clock would hide nothing here, but fading needs air time: speed 1.
        cls.done = openwip(
            "demo",
            "--name",
            CELL,
            "--keep",
            "--duration",
            "1",
            "--pings",
            "5",
            "--channel",
            "flat",
            "--speed-kmh",
            "30",
            "--snr",
            "16",
            "--bins",
            "25",
            "--uplink-kbps",
            "2000",
            *GENTLE,
        )
        if not cls.cell.is_up():
            raise AssertionError(f"not up: {cls.done.stdout}{cls.done.stderr}")

    def inside(self, station, *command, **kwargs):
        return openwip("exec", "--name", CELL, station, "--", *command, **kwargs)

    def status(self):
        done = openwip("status", "--name", CELL)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_1_a_file_from_a_web_server_arrives_whole_though_frames_fail(self):
        content = random.Random(1).randbytes(BYTES)
        pathlib.Path(self.folder.name, "file").write_bytes(content)
        server = subprocess.Popen(
            [
                TOP / "openwip",
                "exec",
                "--name",
                CELL,
                "base",
                "--",
                "/usr/bin/python3",
                "-m",
                "http.server",
                "8000",
                "--bind",
                "10.42.0.1",
                "--directory",
                self.folder.name,
            ],
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.assertTrue(
            wait_until(
                lambda: self.inside(
                    "base", "curl", "-sI", "-m", "2", "http://10.42.0.1:8000/"
                ).returncode
                == 0,
                10,
            )
        )
        copy = pathlib.Path(self.folder.name, "copy")
        done = self.inside(
            "terminal", "curl", "-sS", "-m", "100", "-o", str(copy), "http://10.42.0.1:8000/file"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            hashlib.sha256(copy.read_bytes()).hexdigest(), hashlib.sha256(content).hexdigest()
        )
        failed = int(self.status().split(" failed")[0].split()[-1])
        self.assertGreater(failed, 0, "no frame failed: the channel did not do its part")

    def test_2_status_is_one_screen_about_both_ends(self):
        text = self.status()
        for words in ("lockstep", "base ", "terminal ", "locked", "downlink", "uplink"):
            self.assertIn(words, text)
        self.assertNotIn("NOT LOCKED", text)
        self.assertLess(len(text.splitlines()), 30)

    def test_3_exit_codes_and_output_pass_through(self):
        done = self.inside("terminal", "sh", "-c", "echo out; echo err >&2; exit 7")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "out\n", "err\n"))
        self.assertIn(
            "10.42.0.2", self.inside("terminal", "ip", "-4", "addr", "show", "wip0").stdout
        )

    def test_4_every_slot_of_its_receiver_can_be_recorded(self):
        file = str(pathlib.Path(self.folder.name, "measured.h5"))
        done = openwip("channel", "record", "--name", CELL, "-o", file, "--duration", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("3000 slots", done.stdout)
        self.assertIn("prediction: predictor, 3 slots ahead", done.stdout)
        about = json.loads(openwip("channel", "info", file, "--json").stdout)
        self.assertIn("0 not measured", about["definition"])
        self.assertLess(about["measured"]["lowest_db"], about["measured"]["mean_snr_db"])
        # The terminal publishes as often as before.
        self.assertIn(
            "slot_every: 15",
            control.Control(self.cell.endpoint("terminal.control")).status().effective_yaml,
        )

    def test_4b_everything_that_both_ends_publish_agrees(self):
        for station in ("base", "terminal"):
            control.Control(self.cell.endpoint(f"{station}.control")).ask(
                pb.Request(configure_yaml="telemetry: {slot_every: 1, receiver_every: 15}")
            )
        with Watched(self.cell) as watched:
            self.assertTrue(
                watched.until(lambda: watched.of("base", "slot") and watched.of("terminal", "slot"))
            )
            self.assertEqual(
                watched.run(
                    TOP / "openwip",
                    "exec",
                    "--name",
                    CELL,
                    "base",
                    "--",
                    "ping",
                    "-n",
                    "-q",
                    "-c",
                    "200",
                    "-i",
                    "0.01",
                    "-s",
                    "900",
                    "10.42.0.2",
                ),
                0,
            )
            self.assertTrue(watched.until(lambda: len(watched.of("terminal", "receiver")) > 10))
        check_all(self, watched)
        sample = watched.of("terminal", "receiver")[-1].receiver
        self.assertEqual(
            (len(sample.channel), len(sample.noise_dbfs), sample.state.mode), (1000, 25, "locked")
        )
        self.assertEqual(len(sample.points), 2 * sum(sample.symbols_of_bin))
        # The noise is where the channel and the measured SNR of that slot put it, to the
        # estimator's error.
        reported = watched.of("terminal", "receiver")[-1]
        snr = watched.samples("terminal")[reported.slot].snr_db
        h = numpy.array(sample.channel).reshape(25, 20, 2)
        power_db = 10 * numpy.log10((h**2).sum(axis=2).mean(axis=1))
        self.assertLess(
            numpy.median(numpy.abs(power_db - numpy.array(sample.noise_dbfs) - numpy.array(snr))), 2
        )

    def test_5_a_second_cell_of_the_name_is_refused(self):
        done = openwip("demo", "--name", CELL)
        self.assertEqual(done.returncode, 2)
        self.assertIn("run ./openwip down", done.stderr)
        self.assertTrue(self.cell.is_up())

    def test_6_down_leaves_nothing(self):
        pids = [pid for pid, _ in self.cell.recorded_processes()]
        self.assertEqual(len(pids), 7)
        done = openwip("down", "--name", CELL)
        self.assertEqual((done.returncode, done.stdout), (0, f"cell '{CELL}' is down\n"))
        self.assertEqual(left_of(self.cell, pids), [])
        again = openwip("down", "--name", CELL)
        self.assertEqual(again.returncode, 0)
        # cells of other tests
        self.assertRegex(
            again.stdout,
            rf"^nothing is up, nothing was left( of '{CELL}'; up: (?!.*\b{CELL}\b).+"
            r" \(--name\))?\n$",
        )


if __name__ == "__main__":
    unittest.main()
