# SPDX-License-Identifier: GPL-3.0-or-later
"""The message when something from outside ends a run: a process that is stopped, an interface set
down, a namespace or the run folder deleted. It names the part that was attacked, the exit code is
not that of bad input, and nothing is left."""

import concurrent.futures
import itertools
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from demo_support import GENTLE, Demo, built, cells, left_of, openwip, procfs, system, wait_until

CELL = f"b{os.getpid() % 100000}"
NUMBERS = itertools.count()
STOPPED = r"stopped by a signal \(SIGSTOP, Ctrl-Z\) for "


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "macd is not built")
class Blamed(unittest.TestCase):
    # --- verbs ---

    def each(self, body, *cases):
        """body(*case) for each case, all at once: most of the time of a case is waiting. A cell
        each."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            ends = [(case, pool.submit(body, *case)) for case in cases]
        for case, end in ends:
            with self.subTest(case):
                end.result()

    def running(self, command, *arguments, duration=60):
        if command == "demo":
            arguments = (*GENTLE, "--pings", "5", *arguments)
        run = Demo(
            f"{CELL}x{next(NUMBERS)}", "--duration", str(duration), *arguments, command=command
        )
        self.addCleanup(run.close)
        run.wait_for("TCP download" if command == "demo" else "starting the emulator")
        self.assertTrue(wait_until(lambda: self.traffic_flows(run.cell), 30), run.output)
        time.sleep(0.5)
        run.processes = [(p, procfs.start_time(p)) for p, _ in run.cell.recorded_processes()]
        return run

    def traffic_flows(self, cell):
        done = subprocess.run(
            ["ip", "-n", cell.namespace("terminal"), "-s", "-j", "link", "show", "wip0"],
            capture_output=True,
            text=True,
        )
        found = re.search(r'"rx":\{"bytes":(\d+)', done.stdout)
        return found is not None and int(found[1]) > 100000

    def kept(self):
        """A cell that its launcher has left up."""
        run = Demo(f"{CELL}x{next(NUMBERS)}", "--duration", "1", "--keep", command="emulate")
        self.addCleanup(run.close)
        run.process.wait(60)
        self.assertTrue(run.cell.is_up(), run.output)
        run.processes = run.cell.recorded_processes()
        return run

    def left(self, run):
        return left_of(
            run.cell, [p for p, started in run.processes if procfs.start_time(p) == started]
        )

    def expect_end(self, run, words, within, code=3):
        began = time.monotonic()
        self.assertEqual(run.ended(within + 30), code, run.output)
        self.assertLess(time.monotonic() - began, within, run.output)
        self.assertRegex(run.output, f"(?m)^openwip: {words}")
        self.assertNotIn("Traceback", run.output)
        self.assertTrue(wait_until(lambda: not self.left(run), 10), self.left(run))

    def expect_invalid(self, run, words):
        self.assertEqual(run.ended(60), 1, run.output)
        report = run.process.stdout.read()
        self.assertRegex(report, rf"^verdict: INVALID\n  surroundings: {words}")
        self.assertEqual(self.left(run), [])

    # --- a process that does not run ---

    def test_a_stopped_process_is_named_and_not_the_neighbour_that_misses_it(self):
        def stop(command, name, within):
            run = self.running(command)
            os.kill(run.pid(name), signal.SIGSTOP)
            self.expect_end(run, rf"{name} has been {STOPPED}\d\.\d s; ", within)

        self.each(
            stop,
            ("demo", "base.radio", 10),
            ("demo", "terminal.macd", 10),
            ("demo", "air", 12),
            ("emulate", "emulator", 12),
        )

    def test_a_process_that_was_stopped_for_a_moment_is_in_the_verdict(self):
        def pause(command, name):
            run = self.running(command, duration=4)
            pid = run.pid(name)
            os.kill(pid, signal.SIGSTOP)
            time.sleep(1.5)
            os.kill(pid, signal.SIGCONT)
            self.expect_invalid(run, rf"{name} was {STOPPED}1\.\d s")

        self.each(pause, ("demo", "terminal.radio"), ("emulate", "emulator"))

    # --- an interface ---

    def test_an_interface_that_stays_down_ends_the_run(self):
        def down(command):
            run = self.running(command)
            namespace = run.cell.namespace("terminal")
            subprocess.run(["ip", "-n", namespace, "link", "set", "wip0", "down"], check=True)
            self.expect_end(
                run,
                rf"interface wip0 of terminal \(namespace {namespace}\) has been down for 3\.\d s",
                8,
            )

        self.each(down, ("demo",), ("emulate",))

    # --- cases that are one cell each, in pairs like the rest ---

    def test_cases_of_one_cell(self):
        self.each(
            lambda case: getattr(self, case)(),
            ("a_killed_process_is_named_before_one_that_is_stopped",),
            ("an_interface_that_was_down_for_a_moment_is_in_the_verdict",),
            ("a_kept_cell_may_have_an_interface_down",),
            ("the_verdict_so_far_of_a_kept_cell_knows_it_too",),
            ("of_a_kept_cell_whose_folder_was_deleted_nothing_is_left",),
        )

    def a_killed_process_is_named_before_one_that_is_stopped(self):
        run = self.running("demo")
        os.kill(run.pid("base.radio"), signal.SIGSTOP)
        time.sleep(1)
        run.kill("terminal.macd")
        self.expect_end(run, "terminal.macd was killed by SIGKILL", 5)

    def an_interface_that_was_down_for_a_moment_is_in_the_verdict(self):
        run = self.running("emulate", duration=4)
        for state in ("down", "up"):
            subprocess.run(
                ["ip", "-n", run.cell.namespace("terminal"), "link", "set", "wip0", state],
                check=True,
            )
            time.sleep(1)
        self.expect_invalid(
            run, r"interface wip0 of terminal \(namespace \S+\) was down for \d\.\d s"
        )

    def a_kept_cell_may_have_an_interface_down(self):
        run = self.kept()
        subprocess.run(
            ["ip", "-n", run.cell.namespace("terminal"), "link", "set", "wip0", "down"], check=True
        )
        time.sleep(4)
        self.assertTrue(run.cell.is_up())

    def the_verdict_so_far_of_a_kept_cell_knows_it_too(self):
        run = self.kept()
        os.kill(run.pid("emulator"), signal.SIGSTOP)
        time.sleep(1.5)
        os.kill(run.pid("emulator"), signal.SIGCONT)

        def output():  # the text on the screen, which wraps its lines
            return re.sub(r"\n {10}", "", openwip("top", "--name", run.cell.name, "--once").stdout)

        self.assertTrue(
            wait_until(
                lambda: re.search(rf"surroundings: emulator was {STOPPED}\d\.\d s", output()), 10
            ),
            output(),
        )

    def of_a_kept_cell_whose_folder_was_deleted_nothing_is_left(self):
        run = self.kept()
        shutil.rmtree(run.cell.run)
        self.assertTrue(wait_until(lambda: not self.left(run), 6), self.left(run))

    # --- a namespace ---

    def test_a_namespace_that_was_deleted_is_named(self):
        def delete(command):
            run = self.running(command)
            namespace = run.cell.namespace("terminal")
            subprocess.run(["ip", "netns", "del", namespace], check=True)
            self.expect_end(run, f"the network namespace {namespace} was deleted from outside", 5)

        self.each(delete, ("demo",), ("emulate",))

    # --- the run folder ---

    def test_a_run_folder_that_was_deleted_is_named(self):
        def delete(command):
            run = self.running(command)
            shutil.rmtree(run.cell.run)
            self.expect_end(run, f"the run folder {run.cell.run} was deleted from outside", 6)

        self.each(delete, ("demo",), ("emulate",))

    def test_down_and_a_new_start_find_what_is_left_without_the_folder(self):
        def wreck(supervisor_is, again, words):
            run = self.kept()
            supervisor = run.pid("keeper")
            os.kill(supervisor, signal.SIGSTOP)  # a running supervisor would clean up
            shutil.rmtree(run.cell.run)
            os.kill(supervisor, supervisor_is)
            self.assertIn(run.cell.namespace("base"), self.left(run))
            done = openwip(
                again[0],
                *(again[1:] if "--all" in again else ("--name", run.cell.name, *again[1:])),
            )
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.assertRegex(done.stdout + done.stderr, words)
            self.assertTrue(wait_until(lambda: not self.left(run), 10), self.left(run))
            self.assertIsNone(procfs.start_time(supervisor))

        self.each(
            wreck,
            (signal.SIGKILL, ("down",), r"removed what was left of cell.*namespace \S+-base"),
            (signal.SIGSTOP, ("down",), r"removed what was left of cell.*supervisor \d+"),
            (signal.SIGKILL, ("emulate", "--duration", "1"), "removing what an earlier run left"),
        )
        # The load of each cell when it runs alone.
        wreck(signal.SIGKILL, ("down", "--all"), "removed what was left of cell")

    def test_a_namespace_of_the_same_name_that_somebody_else_made_stays(self):
        cell = cells.Cell(CELL)
        namespace = cell.namespace("terminal")
        subprocess.run(["ip", "netns", "add", namespace], check=True)
        self.addCleanup(system.delete_namespace, namespace)
        self.assertEqual(cell.leftovers(), [])
        self.assertEqual(
            openwip("down", "--name", CELL).stdout, "nothing is up, nothing was left\n"
        )
        self.assertTrue(system.namespace_exists(namespace))


if __name__ == "__main__":
    unittest.main()
