# SPDX-License-Identifier: GPL-3.0-or-later
"""Many transfers of ./openwip tcp-l: what is repeated, how often, and what is counted. The workers are scripted."""
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from openwip_cli.runs import tcpl
from openwip_cli.campaign.runner import ATTEMPTS

# Says how often its point has been tried by its reasons: invalid for pacing until `good`, then valid or refused.
WORKER = """
import json, pathlib, sys
task = json.loads(sys.stdin.readline())
p = task["point"]
counted = pathlib.Path(sys.argv[1]) / str(p["run"])
tried = len(counted.read_text()) if counted.exists() else 0
counted.write_text("x" * (tried + 1))
reasons = ["pacing: a packet left 28 ms late"] if tried < p["good"] else p["then"]
print(json.dumps(p | {"kbyte_s": 40.0, "verdict": {"valid": not reasons, "reasons": reasons}}))
"""


class Runs(unittest.TestCase):
    def run_points(self, *good, then=()):
        points = [{"mtu": 576, "ber": 0, "burstiness": 0, "relay": False, "run": n, "good": g, "then": list(then)}
                  for n, g in enumerate(good)]
        said, popen = [], subprocess.Popen
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(tcpl, "points_of", lambda s: points), \
                mock.patch.object(tcpl.subprocess, "Popen", lambda _, **kw: popen([sys.executable, "-c", WORKER, folder], **kw)):
            s = mock.MagicMock()
            s.__getitem__.side_effect = {"parallel": 2}.__getitem__
            s.values = {}
            return *tcpl.run_all(s, "x", "build", said.append), said

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
