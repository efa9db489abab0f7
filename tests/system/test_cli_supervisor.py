# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing of a cell is left, whichever process dies: the supervisor with stand-in processes, no
radio."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "host" / "cli"))

from openwip_cli.cell import cell as cells
from openwip_cli.cell.process import Process
from openwip_cli.cell.supervisor import SupervisorClient
from openwip_cli.commands import commands
from openwip_cli.errors import BadInput, CellDied
from openwip_cli.machine import procfs, rights, system

CELL = f"k{os.getpid() % 100000}"

# A launcher that starts two stand-ins and then waits; it prints "up" when they run.
LAUNCHER = f"""
import sys
sys.path.insert(0, {str(TOP / "host" / "cli")!r})
from openwip_cli.cell import cell as cells
from openwip_cli.cell.supervisor import SupervisorClient
from openwip_cli.cell.process import Process
cell = cells.Cell({CELL!r})
assert cell.acquire()
supervisor = SupervisorClient(cell)
for name, namespace in (("one", None), ("two", cell.namespace("base"))):
    supervisor.start(Process(name, ["sleep", "1000"], {{}}, namespace))
if "aside" in sys.argv:
    supervisor.start(Process("aside", ["sleep", "1000"], {{}}, essential=False))
print("up", flush=True)
if "detach" in sys.argv:
    supervisor.detach()
    sys.exit(0)
try:
    supervisor.pause(1000)
except Exception as e:
    print(e, flush=True)
    sys.exit(3)
"""
PATHS = f"""
import sys
sys.path.insert(0, {str(TOP / "host" / "cli")!r})
from openwip_cli.cell import cell as cells
from openwip_cli.cell.supervisor import SupervisorClient, not_ended
from openwip_cli.cell.process import Process
from openwip_cli.commands import commands
from openwip_cli.machine import rights
"""
# A launcher whose cell has a process of another user, as the cell's processes are.
STUBBORN = f"""{PATHS}
cell = cells.Cell({CELL!r})
assert cell.acquire()
supervisor = SupervisorClient(cell)
supervisor.start(Process("stubborn", ["setpriv", "--reuid=nobody", "--clear-groups", "sleep", "1000"], {{}}))
supervisor.pause(0.5)
supervisor.end("the run is over")
print(not_ended(cell, supervisor.not_ended))
"""


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
class Supervisor(unittest.TestCase):
    def setUp(self):
        self.cell = cells.Cell(CELL)
        self.launcher = None

    def tearDown(self):
        if self.launcher is not None:
            self.launcher.kill()
            self.launcher.wait()
            self.launcher.stdout.close()
        commands.down_cell(self.cell)

    # --- verbs ---

    def launch(self, *arguments):
        self.launcher = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, *arguments], stdout=subprocess.PIPE, text=True
        )
        self.assertEqual(self.launcher.stdout.readline(), "up\n")

    def pid(self, name):
        return int((self.cell.run / "pids" / name).read_text().split()[0])

    def whole_cell(self):
        """Everything that exists of it, as paths and pids."""
        left = [n for n in self.cell.namespaces if system.namespace_exists(n)]
        left += [str(self.cell.run)] if self.cell.run.exists() else []
        return left + [p for p in self.pids if procfs.start_time(p) is not None]

    def remember(self):
        state = self.cell.state
        self.pids = [self.pid("one"), self.pid("two"), state["keeper"][0]]

    def expect_nothing_left(self, within=3.0):
        self.wait_until(lambda: not self.whole_cell(), within)
        self.assertEqual(self.whole_cell(), [])

    def wait_until(self, condition, within=3.0):
        deadline = time.monotonic() + within
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.02)

    # --- tests ---

    def test_a_killed_process_ends_the_cell_and_the_launcher_says_which(self):
        for name in ("one", "two"):
            with self.subTest(name):
                self.launch()
                self.remember()
                os.kill(self.pid(name), signal.SIGKILL)
                self.expect_nothing_left()
                self.assertEqual(self.launcher.stdout.read(), f"{name} was killed by SIGKILL\n")
                self.assertEqual(self.launcher.wait(5), 3)
                self.launcher.stdout.close()

    def test_without_a_dispensable_process_the_cell_goes_on_and_says_so(self):
        self.launch("aside")
        self.remember()
        os.kill(self.pid("aside"), signal.SIGKILL)
        self.wait_until(lambda: not (self.cell.run / "pids" / "aside").exists())
        self.assertFalse((self.cell.run / "pids" / "aside").exists())
        self.assertIn("aside was killed by SIGKILL", (self.cell.run / "keeper.log").read_text())
        self.assertTrue(all(procfs.start_time(p) is not None for p in self.pids))
        os.kill(self.pid("one"), signal.SIGKILL)
        self.expect_nothing_left()

    def test_a_killed_launcher_leaves_nothing(self):
        self.launch()
        self.remember()
        self.launcher.kill()
        self.expect_nothing_left()

    def test_a_killed_supervisor_leaves_nothing(self):
        self.launch()
        self.remember()
        os.kill(self.cell.state["keeper"][0], signal.SIGKILL)
        self.expect_nothing_left()
        self.assertEqual(self.launcher.wait(5), 3)

    def test_launcher_and_supervisor_killed_together_is_cleaned_up_by_down(self):
        self.launch()
        self.remember()
        self.launcher.send_signal(signal.SIGSTOP)  # so that the launcher cannot clean up in between
        os.kill(self.cell.state["keeper"][0], signal.SIGKILL)
        self.launcher.kill()
        self.launcher.wait()
        # All processes have to have ended: a child that was killed before its exec still holds the
        # lock of the directory.
        self.wait_until(lambda: all(procfs.start_time(p) is None for p in self.pids))
        self.assertTrue(self.cell.run.exists())
        self.assertIn("removed what was left", commands.down_cell(self.cell))
        self.expect_nothing_left(0.1)

    def test_a_name_that_is_taken_by_something_else_is_refused_and_left(self):
        cells.RUN_ROOT.mkdir(exist_ok=True)
        elsewhere = tempfile.mkdtemp()
        self.addCleanup(os.rmdir, elsewhere)
        for take in (self.cell.run.touch, lambda: self.cell.run.symlink_to(elsewhere)):
            take()
            try:
                for use in (
                    self.cell.acquire,
                    self.cell.is_up,
                    lambda: commands.down_cell(self.cell),
                ):
                    with self.assertRaisesRegex(
                        BadInput, f"{self.cell.run} exists and is no directory"
                    ):
                        use()
                self.assertEqual((self.cell.lock, os.listdir(elsewhere)), (None, []))
            finally:
                self.cell.run.unlink()

    def test_a_detached_cell_outlives_its_launcher_until_down(self):
        self.launch("detach")
        self.assertEqual(self.launcher.wait(5), 0)
        self.remember()
        self.assertTrue(self.cell.is_up())
        self.assertEqual(commands.down_cell(self.cell), f"cell '{CELL}' is down")
        self.expect_nothing_left(0.1)

    def test_a_process_that_ignores_sigterm_is_gone_within_three_seconds(self):
        self.assertTrue(self.cell.acquire())
        supervisor = SupervisorClient(self.cell)
        stubborn = ["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"]
        supervisor.start(Process("one", stubborn, {}))
        supervisor.start(Process("two", ["sleep", "1000"], {}))
        supervisor.pause(0.2)
        self.remember()
        os.kill(self.pid("two"), signal.SIGKILL)
        began = time.monotonic()
        with self.assertRaisesRegex(CellDied, "two was killed by SIGKILL"):
            supervisor.pause(10)
        self.assertLess(time.monotonic() - began, 3)
        supervisor.channel.close()
        self.cell.release()
        self.expect_nothing_left(0.1)

    def test_the_last_words_of_a_process_reach_the_launcher(self):
        self.assertTrue(self.cell.acquire())
        supervisor = SupervisorClient(self.cell)
        supervisor.start(
            Process(
                "two",
                ["sh", "-c", "trap 'cat $OPENWIP_RUN/why; exit 0' TERM; sleep 100 & wait"],
                {"OPENWIP_RUN": str(self.cell.run)},
            )
        )
        supervisor.start(Process("one", ["sh", "-c", "sleep 0.3; echo no more disk; exit 5"], {}))
        with self.assertRaises(CellDied) as caught:
            supervisor.pause(10)
        supervisor.channel.close()
        self.cell.release()
        self.assertEqual(str(caught.exception), "one ended with exit code 5")
        self.assertEqual((caught.exception.died, caught.exception.ended_with), ("one", 5))
        self.assertEqual(
            [tuple(w) for w in caught.exception.last_words],
            [
                ("one", "no more disk"),
                ("two", '{"cause": "DIED", "words": "one ended with exit code 5"}'),
            ],
        )

    def test_a_process_that_ends_because_another_was_killed_is_not_called_the_cause(self):
        self.assertTrue(self.cell.acquire())
        supervisor = SupervisorClient(self.cell)
        supervisor.start(Process("dependent", ["sh", "-c", "sleep 0.3; exit 3"], {}))
        supervisor.start(Process("cause", ["sh", "-c", "sleep 0.33; kill -9 $$"], {}))
        with self.assertRaisesRegex(CellDied, "^cause was killed by SIGKILL$"):
            supervisor.pause(10)
        supervisor.channel.close()
        self.cell.release()

    def test_a_foreign_namespace_is_refused_and_left_alone(self):
        from openwip_cli.cell import session

        subprocess.run(["ip", "netns", "add", self.cell.namespace("terminal")], check=True)
        try:
            with self.assertRaisesRegex(BadInput, "was not made by OpenWIP"):
                session.take_over(self.cell, lambda text: None)
            self.cell.remove()
            self.cell.release()
            self.assertTrue(system.namespace_exists(self.cell.namespace("terminal")))
        finally:
            subprocess.run(["ip", "netns", "del", self.cell.namespace("terminal")], check=True)

    def test_a_reused_pid_is_not_killed(self):
        victim = subprocess.Popen(["sleep", "1000"])
        try:
            system.kill_all([(victim.pid, procfs.start_time(victim.pid) - 1)], grace=0.1)
            self.assertIsNone(victim.poll())
        finally:
            victim.kill()
            victim.wait()

    def without(self, *capabilities, script):
        """The output of a root without these rights."""
        return subprocess.run(
            [
                "setpriv",
                "--bounding-set",
                ",".join(f"-{c}" for c in capabilities),
                sys.executable,
                "-c",
                script,
            ],
            capture_output=True,
            text=True,
            timeout=60,
        )

    def test_what_a_root_without_cap_kill_cannot_end_is_said_and_found_by_a_full_root(self):
        done = self.without("kill", script=STUBBORN)
        self.assertRegex(
            done.stdout,
            r"this root account lacks the capabilities to end these processes, which go on running: stubborn"
            r" \(\d+\); as root with all capabilities, run ./openwip down --name",
            done,
        )
        ((pid, started),) = self.cell.recorded_processes()
        self.assertEqual(procfs.start_time(pid), started)
        again = self.without(
            "kill", script=f"{PATHS}print(commands.down_cell(cells.Cell({CELL!r})))"
        )
        self.assertIn(f"go on running: {pid}; ", again.stderr)
        self.assertIn(f"process {pid}", commands.down_cell(self.cell))
        self.assertIsNone(procfs.start_time(pid))
        self.assertFalse(self.cell.run.exists())

    def test_a_right_that_root_does_not_have_is_named_before_anything_is_made(self):
        self.assertIsNone(rights.require_for_a_cell())
        for name in rights.OF_A_CELL:
            with self.subTest(name):
                done = self.without(name, script=f"{PATHS}rights.require_for_a_cell()")
                self.assertIn(
                    f"BadInput: the root account lacks the capabilities CAP_{name.upper()} (",
                    done.stderr,
                )
        for name in rights.BETTER_WITH:
            with self.subTest(name):
                done = self.without(
                    name, script=f"{PATHS}rights.require_for_a_cell(); print(rights.lacking())"
                )
                self.assertIn(f"no CAP_{name.upper()}: ", done.stdout, done.stderr)


if __name__ == "__main__":
    unittest.main()
