# SPDX-License-Identifier: GPL-3.0-or-later
"""Many transfers of ./openwip tcp-l: what is repeated, how often, and what is counted. The transfers are scripted."""
import pathlib
import tempfile
import unittest
from unittest import mock

from openwip_cli.runs import tcpl
from openwip_cli.runs.pool import ATTEMPTS

class Runs(unittest.TestCase):
    def run_points(self, *good, then=()):
        points = [{"mtu": 576, "ber": 0, "burstiness": 0, "relay": False, "run": n, "good": g} for n, g in enumerate(good)]
        said = []
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(tcpl, "points_of", lambda s: points):
            def transfer(point, s, name, places, cores):
                """Invalid for pacing until its point has been tried `good` times, then valid, or refused."""
                counted = pathlib.Path(folder, str(point["run"]))
                tried = len(counted.read_text()) if counted.exists() else 0
                counted.write_text("x" * (tried + 1))
                reasons = ["pacing: a packet left 28 ms late"] if tried < point["good"] else list(then)
                return point | {"kbyte_s": 40.0, "verdict": {"valid": not reasons, "reasons": reasons}}

            return *tcpl.run_all({"parallel": 2}, "x", None, said.append, transfer), said

    def test_a_late_transfer_is_tried_again_and_counted(self):
        results, repeated, said = self.run_points(0, ATTEMPTS - 1, 0)
        self.assertEqual([r["run"] for r in results], [0, 1, 2])
        self.assertTrue(all(r["verdict"]["valid"] for r in results))
        self.assertEqual(repeated, ATTEMPTS - 1)
        self.assertEqual(sum("repeated later" in line for line in said), ATTEMPTS - 1)

    def test_not_without_end(self):
        results, repeated, said = self.run_points(ATTEMPTS)
        self.assertFalse(results[0]["verdict"]["valid"])
        self.assertEqual(repeated, ATTEMPTS - 1)
        self.assertIn("28 ms late", said[-1])

    def test_sums_that_do_not_hold_are_no_reason_to_try_again(self):
        results, repeated, _ = self.run_points(0, then=["accounting: one packet too many"])
        self.assertEqual((results[0]["verdict"]["valid"], repeated), (False, 0))


if __name__ == "__main__":
    unittest.main()
