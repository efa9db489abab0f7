# SPDX-License-Identifier: GPL-3.0-or-later
"""kill -9 of each process of a running demo in turn, Ctrl-C, and down: nothing is left behind."""

import json
import os
import pathlib
import signal
import tempfile
import time
import unittest

import yaml

from demo_support import GENTLE, PROCESSES, Demo, built, cells, left_of, openwip, wait_until
from openwip_cli.cell.configuration import TRANSMITTER
from openwip_cli.figures import fading
from openwip_cli.messages import control

# The messages of a process that noticed the loss of its neighbour before anybody told it.
OWN_WORDS = (
    r"macd at \S+ went away|node '\w+' \(process \d+\) died|medium is"
    r" gone|(flowgraph|peer)\b.*\bgone"
)

CELL = f"q{os.getpid() % 100000}"


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "macd is not built")
class Killed(unittest.TestCase):
    def running_demo(self, *arguments):
        demo = Demo(CELL, *GENTLE, "--duration", "60", "--pings", "5", *arguments)
        self.addCleanup(demo.close)
        demo.wait_for("TCP download")
        time.sleep(0.5)
        self.pids = demo.pids()
        return demo

    def expect_nothing_left(self, demo, within):
        wait_until(lambda: not left_of(demo.cell, self.pids), within)
        self.assertEqual(left_of(demo.cell, self.pids), [])

    def check_kill_of(self, name):
        with tempfile.TemporaryDirectory() as folder:
            demo = self.running_demo("--logs", folder)
            began = time.monotonic()
            demo.kill(name)
            code = demo.ended()
            self.assertLess(time.monotonic() - began, 3)
            self.assertEqual(code, 3)
            self.assertIn(f"openwip: {name} was killed by SIGKILL", demo.output)
            self.assertNotIn("Traceback", demo.output)
            self.expect_nothing_left(demo, 0.1)
            for other in PROCESSES:
                if other != name:
                    lines = pathlib.Path(folder, f"{other}.log").read_text().splitlines()
                    self.assertRegex(
                        lines[-1] if lines else "",
                        f"{name} was killed by SIGKILL|{OWN_WORDS}",
                        f"last line of {other}",
                    )

    def test_air(self):
        self.check_kill_of("air")

    def test_base_macd(self):
        self.check_kill_of("base.macd")

    def test_terminal_macd(self):
        self.check_kill_of("terminal.macd")

    def test_base_radio(self):
        self.check_kill_of("base.radio")

    def test_terminal_radio(self):
        self.check_kill_of("terminal.radio")

    def test_keeper(self):
        demo = self.running_demo()
        began = time.monotonic()
        demo.kill("keeper")
        self.assertEqual(demo.ended(), 3)
        self.assertLess(time.monotonic() - began, 3)
        self.assertIn("openwip: the supervisor was killed", demo.output)
        self.expect_nothing_left(demo, 0.1)

    def test_launcher(self):
        demo = self.running_demo()
        demo.kill("launcher")
        self.expect_nothing_left(demo, 3)

    def test_launcher_and_supervisor_together_then_down(self):
        demo = self.running_demo()
        os.kill(demo.pid("launcher"), signal.SIGSTOP)
        demo.kill("keeper")
        demo.kill("launcher")
        demo.ended()
        done = openwip("down", "--name", CELL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.expect_nothing_left(demo, 0.1)

    def test_ctrl_c(self):
        demo = self.running_demo("--fade", "transmitter", "--snr", "25")
        self.channel_is_in_the_transmitter(demo)
        began = time.monotonic()
        os.kill(demo.pid("launcher"), signal.SIGINT)
        self.assertEqual(demo.ended(), 130)
        self.assertLess(time.monotonic() - began, 3)
        self.expect_nothing_left(demo, 0.1)
        self.assertNotIn("Traceback", demo.output)

    def channel_is_in_the_transmitter(self, demo):
        """The block's, which changes at once; the medium is nothing but a cable."""

        def snr_db():
            return (
                control.Control(demo.cell.endpoint("terminal.control")).status(5).radio.mean_snr_db
            )

        self.assertGreater(snr_db(), 21)
        block = control.Control(demo.cell.endpoint(TRANSMITTER))
        found = fading.transmitter_of(
            control.Control(demo.cell.endpoint("air.control")).status(5),
            control.Control(demo.cell.endpoint("terminal.control")).status(5).radio,
        )
        # sounded through the radios
        self.assertEqual((found["bursts"], found["wrong"], found["not_judged"]), (8, [], ""), found)
        self.assertLess(found["residual_db"], -25)
        block.configure({"channel": {"snr_db": 15}}, 5)
        self.assertTrue(wait_until(lambda: snr_db() < 20, 10), snr_db())
        block = block.status(5)
        self.assertIn("snr_db: 15", block.effective_yaml)
        paths = yaml.safe_load((demo.cell.run / "air.yaml").read_text())["paths"]
        self.assertEqual([set(p) - {"from", "to", "gain_db"} for p in paths], [set()])

    def test_the_next_demo_removes_what_a_kill_left(self):
        demo = self.running_demo()
        os.kill(demo.pid("launcher"), signal.SIGSTOP)
        demo.kill("keeper")
        demo.kill("launcher")
        demo.ended()
        self.assertTrue(demo.cell.run.exists())
        again = Demo(CELL, *GENTLE, "--duration", "60", "--pings", "5")
        self.addCleanup(again.close)
        again.wait_for("removing what an earlier run left")
        again.wait_for("has locked")
        os.kill(again.pid("launcher"), signal.SIGTERM)
        self.assertEqual(again.ended(), 128 + signal.SIGTERM)
        self.expect_nothing_left(again, 0.1)


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "macd is not built")
class NoSignal(unittest.TestCase):
    def test_below_all_noise_the_run_is_invalid_for_want_of_lock(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "r.json")
            done = openwip("demo", "--name", CELL, "--snr", "-10", "--speed", "2", f"--json={path}")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertTrue(
                done.stdout.startswith("verdict: INVALID\n  lock: the terminal did not lock")
            )
            self.assertFalse(json.loads(path.read_text())["verdict"]["valid"])
        self.assertEqual(left_of(cells.Cell(CELL)), [])


class Machine(unittest.TestCase):
    """A missing part of the machine is named in one line, exit 2."""

    def refused(self, done, words):
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(words, done.stderr)

    @unittest.skipIf(os.geteuid() != 0, "hides a device, which needs root")
    @unittest.skipUnless(built(), "macd is not built")
    def test_no_tun_device(self):
        import subprocess

        from demo_support import TOP, environment

        done = subprocess.run(
            [
                "unshare",
                "--mount",
                "sh",
                "-c",
                f"mount -t tmpfs none /dev/net && exec {TOP}/openwip demo --name {CELL}",
            ],
            capture_output=True,
            text=True,
            env=environment(),
        )
        self.refused(done, "/dev/net/tun does not exist")
        self.assertEqual(left_of(cells.Cell(CELL)), [])

    @unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
    @unittest.skipUnless(built(), "macd is not built")
    def test_a_root_whose_files_are_for_nobody_else(self):
        before = os.umask(0o077)
        self.addCleanup(os.umask, before)
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder, "r.json")
            done = openwip("demo", "--name", CELL, "--duration", "1", f"--json={report}")
            # a verdict, whichever the machine's load leaves
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.assertGreater(json.loads(report.read_text())["tcp"]["goodput_bps"], 0)
            self.assertEqual(report.stat().st_mode & 0o777, 0o600)

    def test_not_root(self):
        kwargs = {}
        if os.geteuid() == 0:
            kwargs = {"user": 65534, "group": 65534, "extra_groups": []}
        try:
            done = openwip("demo", cwd="/", **kwargs)
        except PermissionError:
            self.skipTest("the tree is not readable for other users")
        self.refused(done, "need root")


if __name__ == "__main__":
    unittest.main()
