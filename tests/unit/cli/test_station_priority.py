# SPDX-License-Identifier: GPL-3.0-or-later
"""Priorities of the threads of a station's flowgraph."""

import os
import pathlib
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "flowgraphs/apps"))
import priorities


class Priority(unittest.TestCase):
    def policies_with(self, wanted):
        """(policy, priority) of three threads: one from before, one that began in between, and this
        one."""
        over = threading.Event()
        threads = [threading.Thread(target=over.wait) for _ in range(2)]
        try:
            threads[0].start()
            with priorities.started_with_priority(wanted, priorities.TRANSMITTER_PRIORITY):
                threads[1].start()
            of = [t.native_id for t in threads] + [0]
            return [(os.sched_getscheduler(n), os.sched_getparam(n).sched_priority) for n in of]
        finally:
            over.set()
            for thread in threads:
                thread.join()

    def test_only_the_threads_that_a_driver_began_get_it(self):
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priorities.TRANSMITTER_PRIORITY))
        except OSError:
            self.skipTest("the system grants no real-time priority")
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        other = (os.SCHED_OTHER, 0)
        fifo = (os.SCHED_FIFO, priorities.TRANSMITTER_PRIORITY)
        self.assertEqual(self.policies_with(True), [other, fifo, other])
        self.assertEqual(self.policies_with(False), [other, other, other])


if __name__ == "__main__":
    unittest.main()
