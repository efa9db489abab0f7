# SPDX-License-Identifier: GPL-3.0-or-later
"""The medium between processes: exact samples through stock gr-uhd, and what happens when a process
dies, a message is garbage or the configuration is wrong."""

import os
import pathlib
import random
import subprocess
import sys
import time
import unittest

from uhd_support import AIR, Medium, media

HERE = pathlib.Path(__file__).resolve().parent
PAIR = "{base: {}, terminal: {}}"
PATH = "[{from: base, to: terminal}]"
LOCKSTEP = "clock: lockstep, speed: 0, wait_for: {transmitters: 1, receivers: 1}"


def station(what, args, count):
    return subprocess.Popen(
        [sys.executable, HERE / "uhd_station.py", what, args, str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_for(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("timed out")
        time.sleep(0.02)


class Lockstep(unittest.TestCase):
    def test_a_gr_uhd_stream_between_two_processes_keeps_every_bit(self):
        with Medium(LOCKSTEP, PAIR, PATH) as air:
            count = 4_000_000
            receiver = station("receive", air.args("terminal"), count)
            # A device that is closed drops what it has queued, at most its FIFO (2**18 samples).
            sender = station("send", air.args("base"), count + 2**19)
            text = receiver.communicate(timeout=60)[0]
            self.assertEqual(receiver.returncode, 0, text)
            self.assertEqual(sender.wait(20), 0)
            sender.stdout.close()
            status = air.ask().air
            self.assertEqual((status.late, status.underflows, status.overflows), (0, 0, 0))
            self.assertEqual(status.clock, "lockstep")
            self.assertEqual(air.stop(), 0)
            self.assertFalse(air.meeting_place().exists())

    def test_a_killed_station_is_named_and_ends_the_medium(self):
        for victim in ("base", "terminal"):
            with Medium(LOCKSTEP.replace("speed: 0", "speed: 1"), PAIR, PATH) as air:
                both = {
                    "base": station("send", air.args("base"), 10**9),
                    "terminal": station("receive", air.args("terminal"), 10**9),
                }
                try:
                    wait_for(lambda: air.ask().air.now > 768000)
                    self.assertTrue(air.meeting_place().exists())
                    both[victim].kill()
                    began = time.monotonic()
                    self.assertEqual(air.process.wait(3), 1)
                    self.assertLess(time.monotonic() - began, 2)
                    self.assertIn(
                        f"air: info: node '{victim}' (process {both[victim].pid}) died", air.text()
                    )
                    self.assertFalse(air.meeting_place().exists())
                finally:
                    for process in both.values():
                        process.kill()
                        process.communicate()

    def test_a_killed_medium_is_noticed_by_the_stations(self):
        with Medium(LOCKSTEP.replace("speed: 0", "speed: 1"), PAIR, PATH) as air:
            receiver = station("receive", air.args("terminal"), 10**9)
            sender = station("send", air.args("base"), 10**9)
            try:
                wait_for(lambda: air.ask().air.now > 768000)
                air.process.kill()
                began = time.monotonic()
                for process in (receiver, sender):
                    line = process.stdout.readline()
                    while line and "is gone" not in line:
                        line = process.stdout.readline()
                    self.assertIn("the medium of node", line)
                self.assertLess(time.monotonic() - began, 3)
            finally:
                for process in (receiver, sender):
                    process.kill()
                    process.communicate()
            air.process.wait(5)
            # The next start removes what the kill left, and says so.
            self.assertTrue(air.meeting_place().exists())
            with Medium(LOCKSTEP, PAIR, PATH, name=air.name) as again:
                wait_for(lambda: "ready" in again.text())
                self.assertIn("removed what a killed medium", again.text())
                self.assertEqual(again.stop(), 0)
            self.assertFalse(air.meeting_place().exists())

    def test_two_media_of_one_name_are_refused(self):
        with Medium(LOCKSTEP, PAIR, PATH) as air:
            wait_for(lambda: "ready" in air.text())
            second = subprocess.run([AIR, "--config", air.file], capture_output=True, text=True)
            self.assertEqual(second.returncode, 1)
            self.assertIn("is running already (process", second.stderr)
            self.assertTrue(air.ask().ok)  # the first medium still works

    def test_a_control_socket_that_somebody_listens_on_is_left_to_him(self):
        with Medium(LOCKSTEP, PAIR, PATH) as air:
            wait_for(lambda: "ready" in air.text())
            other = pathlib.Path(air.folder.name) / "other.yaml"
            other.write_text(air.file.read_text().replace(air.name, air.name + "b", 1))
            second = subprocess.run([AIR, "--config", other], capture_output=True, text=True)
            self.assertEqual(second.returncode, 2, second.stderr)
            self.assertRegex(
                second.stderr,
                "^air: air.control is ipc://.*: another process listens there; valid: an endpoint that is free\n$",
            )
            self.assertFalse(media.socket_of(air.name + "b").exists())
            self.assertTrue(air.ask().ok)

    def test_garbage_on_the_control_socket_is_refused_and_logged(self):
        with Medium(LOCKSTEP, PAIR, PATH) as air:
            from openwip_schema import control_pb2

            source = random.Random(7)
            refused = 0
            for size in [0, 1, 2, 3, 7, 64, 1000, 100000] * 12:
                reply = control_pb2.Reply()
                reply.ParseFromString(air.exchange(source.randbytes(size)))
                refused += not reply.ok
            # A short random string can be a valid Request (unknown fields), never a stop by chance.
            self.assertGreater(refused, 80)
            self.assertIn("no Request", air.text())
            self.assertTrue(air.ask().ok)
            self.assertIsNone(air.process.poll())
            self.assertFalse(air.ask("configure_yaml", "speed: 2").ok)

    def test_stop_and_reset_over_the_control_socket(self):
        with Medium("clock: lockstep, speed: 1", PAIR, PATH) as air:
            wait_for(lambda: air.ask().air.slots > 30)
            slots = air.ask("reset_counters").air.slots
            self.assertLess(slots, 30)
            wait_for(lambda: air.ask().air.slots > 300)
            self.assertGreater(air.ask().air.real_time_factor, 0.5)
            self.assertTrue(air.ask("stop", "enough").ok)
            self.assertEqual(air.process.wait(5), 0)
            self.assertIn("ends: enough", air.text())

    def test_a_signal_ends_the_medium_with_exit_code_0(self):
        with Medium(LOCKSTEP, PAIR, PATH) as air:
            wait_for(lambda: "ready" in air.text())
            self.assertEqual(air.stop(), 0)

    def test_a_bad_configuration_is_one_line_and_exit_code_2(self):
        good = f"air: {{name: x{os.getpid()}}}\nnodes: {{a: {{}}}}\n"
        for text, parts in (
            ("air: {name: x, sped: 2}\nnodes: {a: {}}", ["air.sped", "unknown key", "speed"]),
            ("air: {name: x, speed: fast}\nnodes: {a: {}}", ["air.speed", "is fast", "number"]),
            ("air: {name: x, speed: -1}\nnodes: {a: {}}", ["air.speed", "is -1"]),
            ("air: {name: x, clock: sundial}\nnodes: {a: {}}", ["air.clock", "lockstep"]),
            ("air: {name: ../x}\nnodes: {a: {}}", ["air.name"]),
            ("nodes: {a: {}}", ["air"]),
            ("air: {name: x}\nnodes: {}", ["nodes"]),
            (good + "paths: [{from: a, to: c}]", ["paths[0].to", "is c", "a"]),
            (good + "paths: [{from: a, to: a, doppler_hz: 1e9}]", ["doppler_hz", "2000"]),
            ("air: {name: x\nnodes", ["not YAML"]),
            ("\x00\x01\x02", []),
        ):
            with Medium("", "{}") as air:
                air.stop()
                air.file.write_text(text)
                done = subprocess.run(
                    [AIR, "--config", air.file], capture_output=True, text=True, timeout=10
                )
                self.assertEqual(done.returncode, 2, (text, done.stderr))
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                for part in [str(air.file)] + parts:
                    self.assertIn(part, done.stderr)
        missing = subprocess.run(
            [AIR, "--config", "/nonexistent.yaml"], capture_output=True, text=True
        )
        self.assertEqual(missing.returncode, 2)
        self.assertIn("/nonexistent.yaml", missing.stderr)


if __name__ == "__main__":
    unittest.main()
