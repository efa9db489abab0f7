# SPDX-License-Identifier: GPL-3.0-or-later
"""A run whose application gets no processor is invalid and says so; one that just sleeps is not. On
a cell of the emulator, with a program that always wants its core beside four others that do.
(Priorities would not do: with sched_autogroup they only count within a session.)

Skipped without root."""

import os
import subprocess
import sys
import time
import unittest

from demo_support import TOP, built

os.environ.setdefault("OPENWIP_TOP", str(TOP))
os.environ.setdefault("OPENWIP_BUILD", str(TOP / "build"))

from openwip_cli.measure import traffic
from openwip_cli.runs import emulate

LOOP = [sys.executable, "-c", "while True: pass"]
ON_ONE_CORE = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
SECONDS = 2.5


def run(*argv):
    """The report of a cell in which this program runs at the base station."""

    def workload(cell):
        program = traffic.Program(cell.namespace("base"), argv)
        cell.supervisor.pause(SECONDS)
        program.kill()

    return emulate.run({"link.modulation": 4}, workload, name=f"a{os.getpid() % 100000}")


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "macd is not built")
class Starved(unittest.TestCase):
    def test_a_starved_application_makes_the_run_invalid(self):
        hogs = [subprocess.Popen([*ON_ONE_CORE, *LOOP], start_new_session=True) for _ in range(4)]
        try:
            time.sleep(0.2)
            report = run(*ON_ONE_CORE, *LOOP)
        finally:
            for hog in hogs:
                hog.kill()
                hog.wait()
        self.assertGreater(report["applications"]["worst"], 0.5)
        self.assertFalse(report["verdict"]["checks"]["applications"])
        self.assertFalse(report["verdict"]["valid"])
        self.assertIn("waited for a processor core", "; ".join(report["verdict"]["reasons"]))

    def test_one_that_sleeps_does_not(self):
        report = run("sleep", "100")
        self.assertIn("base: sleep", report["applications"]["waiting"])
        self.assertTrue(report["verdict"]["checks"]["applications"], report["applications"])


if __name__ == "__main__":
    unittest.main()
