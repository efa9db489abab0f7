# SPDX-License-Identifier: GPL-3.0-or-later
"""The supervisor's report about a process, by its name in /proc at each look. Real cells:
tests/system/test_blame.py."""

import unittest
from unittest import mock

from openwip_cli.machine import surroundings


class Process(unittest.TestCase):
    def setUp(self):
        self.process, self.now = surroundings.Process("air", 1), 100.0

    def look(self, state, used=0, after=surroundings.EVERY_S):
        self.now += after
        with mock.patch.object(surroundings.procfs, "state", return_value=(state, used)):
            return self.process.look(self.now)

    def words(self):
        found = self.process.words(self.now)
        return found and found[1]

    def test_one_that_runs_or_waits_is_not_mentioned(self):
        for used, state in enumerate("SRSDSSR"):
            self.assertIsNone(self.look(state, used))
        self.assertIsNone(self.words())

    def test_one_that_is_stopped_is_named_with_the_time_since(self):
        self.look("S")
        self.look("T")
        self.look("T", after=2.5)
        self.assertEqual(
            self.words(), "air has been stopped by a signal (SIGSTOP, Ctrl-Z) for 2.5 s"
        )

    def test_and_after_it_goes_on_for_as_long_as_others_may_end_of_it(self):
        self.look("T")
        self.assertEqual(
            self.look("S", after=1.5), "air was stopped by a signal (SIGSTOP, Ctrl-Z) for 1.5 s"
        )
        self.assertEqual(self.words(), "air was stopped by a signal (SIGSTOP, Ctrl-Z) for 1.5 s")
        self.now += surroundings.LATELY_S
        self.assertIsNone(self.words())

    def test_a_debugger_is_told_from_a_signal(self):
        self.look("T")
        self.assertIn("stopped by a signal", self.look("t", after=1))
        self.look("t", after=1)
        self.assertEqual(self.words(), "air has been stopped by a debugger for 1.0 s")

    def test_one_that_sleeps_in_the_kernel_is_named_when_it_lasts(self):
        self.look("D")
        self.look("D", after=0.5)
        self.assertIsNone(self.words())
        self.look("D", after=1.5)
        self.assertEqual(
            self.words(),
            "air has been asleep in the kernel (swap, a disk, a frozen container) for 1.5 s",
        )

    def test_one_that_is_often_seen_at_the_disk_and_works_in_between_is_not(self):
        for used in range(20):
            self.look("D", used)
        self.assertIsNone(self.words())

    def test_what_slept_in_the_kernel_for_a_while_is_no_reason_of_a_verdict(self):
        self.look("D")
        self.assertIsNone(self.look("S", after=3))

    def test_one_that_died_while_it_was_stopped_is_known_as_stopped(self):
        self.look("T")
        self.look(None, None, after=2)
        self.assertEqual(self.words(), "air was stopped by a signal (SIGSTOP, Ctrl-Z) for 2.0 s")


if __name__ == "__main__":
    unittest.main()
