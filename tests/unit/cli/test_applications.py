# SPDX-License-Identifier: GPL-3.0-or-later
"""The share of waiting of a run's applications, and its rule: who is an application, and how the
kernel's counts of threads that end are kept."""

import os
import pickle
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

from openwip_cli.figures import checks, facts, timing
from openwip_cli.machine import procfs, system
from openwip_cli.measure import applications


class Waiting(unittest.TestCase):
    def test_is_a_share_of_the_life_of_the_process(self):
        self.assertEqual(timing.share_of_waiting(2.0, 4.0, 10.0), 0.5)

    def test_of_one_that_lived_shortly_it_does_not_matter(self):
        self.assertEqual(timing.share_of_waiting(0.05, 0.06, 100.0), 0.05 / 10)
        self.assertEqual(timing.share_of_waiting(0.5, 0.5, 1.0), 0.5)

    def reasons(self, share):
        return checks.evaluate(facts.Facts(waiting=facts.Waiting(share)))["reasons"]

    def test_the_limit_is_a_reason_and_what_is_not_known_is_none(self):
        self.assertEqual(self.reasons(None), [])
        self.assertEqual(self.reasons(checks.WAITING_LIMIT), [])
        self.assertEqual(len(self.reasons(checks.WAITING_LIMIT + 0.01)), 1)


class Applications(unittest.TestCase):
    """This process's own namespace stands for a station's."""

    def clock(self, own):
        with mock.patch.object(
            system, "namespace_file", lambda name: f"/proc/{os.getpid()}/ns/net"
        ):
            clock = applications.ApplicationClock({"base": "x"}, own)
            self.addCleanup(clock.end)
            return clock

    def test_a_process_in_the_namespace_is_one_unless_it_is_the_cells_own(self):
        child = subprocess.Popen(
            [sys.executable, "-c", "print(flush=True); import sys; sys.stdin.read()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.addCleanup(child.wait)
        self.addCleanup(child.stdin.close)
        self.addCleanup(child.stdout.close)
        child.stdout.readline()
        self.assertIn(child.pid, [a.pid for a in self.clock(lambda: [os.getpid()]).running()])
        self.assertNotIn(child.pid, [a.pid for a in self.clock(lambda: [child.pid]).running()])

    def test_what_the_kernel_counted_before_the_beginning_does_not_count(self):
        with (
            mock.patch.object(system, "namespace_file", lambda name: f"/proc/{os.getpid()}/ns/net"),
            mock.patch.object(applications, "EVERY_S", 1000),
            mock.patch.object(procfs, "waited_s") as schedstat,
        ):
            schedstat.return_value = {"1": 50.0}
            clock = applications.ApplicationClock({"base": "x"}, lambda: ())
            self.addCleanup(clock.end)
            clock.begin()
            schedstat.return_value = {"1": 50.25, "2": 0.5}  # a second thread has begun
            report = clock.report()
        self.assertTrue(any(abs(s - 0.75) < 0.01 for s in report["waiting"].values()), report)
        self.assertEqual(report["worst"], max(report["waiting"].values()))

    def test_a_wait_that_has_not_ended_counts_until_the_kernel_counts_it(self):
        a = applications.Application(
            "base", "iperf3", 1, 0, first_s=0.0, last_s=0.0, threads={"1": 5.0}
        )
        a.look(0.5, {"1": 5.1}, {"1": b"7"})
        self.assertAlmostEqual(a.waited_s, 0.1)
        a.look(1.0, {"1": 5.1}, {"1": b"7"})  # ready, and not a step further
        a.look(1.5, {"1": 5.1}, {"1": b"7"})
        self.assertAlmostEqual(a.waited_s, 0.1 + 1.0)
        # the thread ran, so the kernel has counted its wait of 1.3 s
        a.look(2.0, {"1": 6.4}, {"1": b"8"})
        self.assertAlmostEqual(a.waited_s, 0.1 + 1.3)
        a.look(2.5, {"1": 6.4}, {})  # the thread sleeps
        a.look(3.0, {"1": 6.4}, {})
        self.assertAlmostEqual(a.waited_s, 0.1 + 1.3)

    def ended(self, clock, n, name, waited=0.1):
        """`n` that lived for a second each have ended."""
        for i in range(n):
            clock._now = {
                (i, 0): applications.Application(
                    "base", name(i), i, 0, first_s=0.0, last_s=1.0, threads={}, ended_s=waited
                )
            }
            clock._scan()

    def test_however_many_have_ended_their_sums_are_kept_and_not_they(self):
        with (
            mock.patch.object(applications, "EVERY_S", 1000),
            mock.patch.object(procfs, "pids", list),
        ):
            clock = self.clock(lambda: ())
            clock.begin()
            self.ended(clock, 1000, lambda i: "curl")
            few = len(pickle.dumps(clock._ended))
            self.ended(clock, 4000, lambda i: "curl")
            self.assertEqual(len(pickle.dumps(clock._ended)), few)
            waited, lived = clock._ended.by_name["base", "curl"]
            self.assertAlmostEqual(waited, 500)
            self.assertEqual(lived, 5000)
            self.assertEqual(clock.report()["waiting"], {"base: curl": 0.1})

    def test_of_many_names_those_that_waited_most_keep_theirs(self):
        with (
            mock.patch.object(applications, "EVERY_S", 1000),
            mock.patch.object(procfs, "pids", list),
        ):
            clock = self.clock(lambda: ())
            clock.begin()
            self.ended(clock, 1, lambda i: "starved", waited=0.9)
            self.ended(clock, 1000, lambda i: f"name{i}")
            sums = clock._ended
            self.assertEqual(len(sums.by_name), applications.Sums.MOST)
            self.assertEqual(sums.by_name["base", "starved"], (0.9, 1.0))
            self.assertAlmostEqual(sum(w for w, _ in sums.by_name.values()), 100.9)
            self.assertEqual(sum(lived for _, lived in sums.by_name.values()), 1001)
            self.assertEqual(clock.report()["worst"], 0.9)
            self.assertLessEqual(len(clock.report()["waiting"]), applications.Sums.MOST)

    def test_a_kernel_that_does_not_tell_is_not_known(self):
        self.assertIsNone(procfs.pressure_us("/nonexistent"))
        self.assertEqual(procfs.ready_threads(2**22 + 1), {})
        self.assertIsNone(procfs.waited_s(2**22 + 1))
        with tempfile.TemporaryDirectory() as proc:
            for text, expected in (
                ("0 0 0\n", None),
                ("5 2000000000 3\n", {"7": 2.0}),
                ("", None),
                ("x y z\n", None),
            ):
                os.makedirs(f"{proc}/7/task/7", exist_ok=True)
                with open(f"{proc}/7/task/7/schedstat", "w") as f:
                    f.write(text)
                self.assertEqual(procfs.waited_s(7, proc), expected, text)
        clock = self.clock(lambda: ())
        clock._known = False
        with mock.patch.object(procfs, "pressure_us", lambda: None):
            report = clock.report()
        self.assertEqual(
            (report["waiting"], report["worst"], report["pressure"]), (None, None, None)
        )

    def test_a_thread_that_ends_while_the_others_are_read_hides_none_of_them(self):
        with tempfile.TemporaryDirectory() as proc:
            for thread in ("7", "8", "9"):
                os.makedirs(f"{proc}/7/task/{thread}")
                if thread == "8":  # the thread has ended, so its files are gone
                    continue
                for name, text in (
                    ("schedstat", "5 2000000000 3\n"),
                    ("stat", f"{thread} (x y) R 1\n"),
                ):
                    with open(f"{proc}/7/task/{thread}/{name}", "w") as f:
                        f.write(text)
            self.assertEqual(procfs.waited_s(7, proc), {"7": 2.0, "9": 2.0})
            self.assertEqual(set(procfs.ready_threads(7, proc)), {"7", "9"})

    def test_a_process_whose_name_is_no_utf_8_is_one_like_any_other(self):
        """The name of a process may hold any bytes (prctl), which /proc/PID/stat and comm show
        unchanged."""
        name = b"\xff) \xfe"
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                (
                    f"import ctypes; ctypes.CDLL(None).prctl(15, {name!r}, 0, 0, 0);"
                    " print(flush=True); input()"
                ),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            process.stdout.readline()
            self.assertIsInstance(procfs.start_time(process.pid), int)
            self.assertIn(procfs.state(process.pid)[0], "SRD")
            self.assertFalse(procfs.locks_memory(process.pid))
            self.assertEqual(system.holders("/none", "nobody"), [])
        finally:
            process.communicate(b"\n", timeout=10)

    def test_waiting_of_a_thread_is_read_from_the_kernel(self):
        end = time.monotonic() + 0.01
        while time.monotonic() < end:
            pass
        waited = procfs.waited_s(os.getpid())
        self.assertIn(str(os.getpid()), waited)
        self.assertTrue(all(s >= 0 for s in waited.values()))


if __name__ == "__main__":
    unittest.main()
