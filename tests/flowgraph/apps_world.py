# SPDX-License-Identifier: GPL-3.0-or-later
"""base_station.py and terminal.py as processes over the software radio, each with a macd played by the
test."""

import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from fake_macd import Planner, Recorder

from openwip_cli.machine import media

TOP = pathlib.Path(__file__).resolve().parents[2]
APPS = TOP / "flowgraphs" / "apps"
sys.path[:0] = [str(APPS), str(TOP / "host" / "cli")]
BUILD = pathlib.Path(os.environ["OPENWIP_BUILD"])
END_S = 3  # seconds in which an app has to notice and report it; the apps take less than one
MODULATION = [8, 7, 6, 5, 4, 3, 2, 1] + [4] * 17


class LoopPlanner(Planner):
    """Plans slot k when the terminal has reported slot k - 3, as the real control loop does."""

    def __init__(self, endpoint, recorder, **settings):
        super().__init__(endpoint, MODULATION, **settings)
        self.recorder = recorder

    def before_plan(self, air):
        with self.recorder.news:
            while not (air < 153 or self.over.is_set() or self.recorder.reached(air - 3)):
                self.recorder.news.wait(0.1)


class LoopRecorder(Recorder):
    def __init__(self, endpoint):
        super().__init__(endpoint)
        self.news = threading.Condition()

    def on(self, message):
        with self.news:
            super().on(message)
            self.news.notify_all()

    def reached(self, air):
        return bool(self.reports) and self.reports[-1].air >= air


class Cell(unittest.TestCase):
    def setUp(self):
        self.run_folder = tempfile.TemporaryDirectory(prefix="openwip-qa-")
        self.run_path = pathlib.Path(self.run_folder.name)
        self.name = f"qa{os.getpid()}"
        self.processes = {}
        self.environment = {k: v for k, v in os.environ.items() if k != "OPENWIP_RUN"}

    def tearDown(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
            process.communicate()
            process.stdout.close(), process.stderr.close()
        # A killed medium leaves its socket to the next start of the same name; here there is none.
        media.remove(self.name)
        self.run_folder.cleanup()

    def start(self, key, *command, environment=None):
        self.processes[key] = subprocess.Popen(
            list(map(str, command)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment or self.environment,
        )
        return self.processes[key]

    def start_air(self, gain_db=0, terminal="noise_dbfs: -60"):
        config = self.run_path / "air.yaml"
        config.write_text(
            f"air: {{name: {self.name}, clock: lockstep, speed: 1.0, wait_for: {{transmitters: 1,"
            f" receivers: 1}}, seed: 1, control: 'ipc://{self.run_path}/air.control',"
            f" pacing_limit_ms: 10}}\nnodes: {{base: {{}}, terminal: {{{terminal}}}}}\npaths:"
            f" [{{from: base, to: terminal, gain_db: {gain_db}, delay_samples: 77, channel:"
            " awgn}]\n"
        )
        air = self.start("air", BUILD / "host/medium/air", "--config", config)
        socket = self.run_path / "air.control"
        self.wait(lambda: socket.exists() or air.poll() is not None, 5)
        self.assertIsNone(air.poll(), "the medium started")

    def app(self, key, *more, environment=None):
        program, node = ("base_station", "base") if key == "base" else ("terminal", "terminal")
        return self.start(
            key,
            sys.executable,
            APPS / f"{program}.py",
            "--args",
            f"type=vusrp,air={self.name},node={node}",
            *more,
            environment=environment,
        )

    def wait(self, condition, seconds):
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            time.sleep(0.01)
        return condition()

    def assert_ends(self, key, code, line):
        """Ends in time with the code and exactly this one line on stderr."""
        process = self.processes[key]
        begin = time.monotonic()
        try:
            out, err = process.communicate(timeout=END_S)
        except subprocess.TimeoutExpired:
            self.fail(f"{key} did not end within {END_S} s")
        self.assertEqual((process.returncode, err.strip().splitlines()), (code, [line]), out)
        return time.monotonic() - begin
