# SPDX-License-Identifier: GPL-3.0-or-later
"""TCP of the kernel over damaged segments: with the relay it runs as if there were no errors and the application
gets them, without it collapses and the application gets (almost) none. A faster line than in the experiment, so that
a transfer takes a second.

Exit code 77 (skipped) without root or /dev/net/tun."""
import os
import pathlib
import subprocess
import unittest

from macd_world import need_root

from openwip_cli import cell as cells, tcpl
from openwip_cli.scenario import Scenario

BUILD = pathlib.Path(os.environ["OPENWIP_BUILD"])
TOP = pathlib.Path(__file__).resolve().parents[2]
FAST = Scenario({"line.rate_kbps": 8000.0, "line.delay_ms": 10.0, "traffic.limit_s": 120.0}, tcpl.SETTINGS)


def transfer(**point):
    point = {"mtu": 1500, "ber": 0.0, "burstiness": 0.0, "relay": True, "run": 0, "seed": 1} | point
    result = tcpl.run_one(point, FAST, "tcpltest", BUILD)
    # Whether the machine was busy is not the question here.
    result["verdict"]["reasons"] = [r for r in result["verdict"]["reasons"] if not r.startswith("pacing")]
    assert result["verdict"]["reasons"] == [], result
    return result


class TcpOverDamagedSegments(unittest.TestCase):
    def test_with_the_relay_it_hardly_slows_down_and_the_application_gets_the_errors(self):
        clean = transfer()
        self.assertEqual((clean["bytes_wrong"], clean["packets_damaged"]), (0, 0))
        damaged = transfer(ber=2.5e-5)
        self.assertGreater(damaged["packets_damaged"], 100)
        self.assertGreater(damaged["kbyte_s"], 0.85 * clean["kbyte_s"])
        self.assertGreater(damaged["relay_verdicts"]["recovered"], 0.9 * damaged["packets_damaged"])
        self.assertGreater(damaged["bits_wrong"], 100)
        self.assertLessEqual(damaged["bits_wrong"], damaged["path_bits_wrong"])

    def test_without_it_collapses_and_delivers_hardly_anything_wrong(self):
        clean = transfer(relay=False)
        damaged = transfer(ber=2.5e-5, relay=False)
        # Of segments with two wrong bits the checksum misses one in 32: same column, opposite values.
        self.assertLess(damaged["bits_wrong"], 0.05 * damaged["path_bits_wrong"])
        self.assertLess(damaged["kbyte_s"], 0.5 * clean["kbyte_s"])
        self.assertGreater(damaged["checksum_errors"], 50)
        self.assertEqual(damaged["relay_verdicts"], {})

    def test_bursts_hit_fewer_packets_and_are_taken_too(self):
        alone, burst = transfer(ber=2.5e-5), transfer(ber=2.5e-5, burstiness=0.9)
        self.assertLess(burst["packets_damaged"], 0.4 * alone["packets_damaged"])
        self.assertGreater(burst["relay_verdicts"]["recovered"], 0.8 * burst["packets_damaged"])

    def test_nothing_is_left_and_bad_options_are_one_line(self):
        self.assertEqual(cells.Cell("tcpltest").leftovers(), [])
        for options, words in ((["--ber", "2"], "--ber"), (["--mtu", "x"], "--mtu"), (["--runs", "0"], "--runs"),
                               (["--nonsense"], "--nonsense"), (["--name", "muchtoolong"], "--name")):
            done = subprocess.run([TOP / "openwip", "tcp-l", *options], capture_output=True, text=True,
                                  env=os.environ | {"OPENWIP_NO_BUILD": "1"})
            self.assertEqual(done.returncode, 2, done)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
            self.assertIn(words, done.stderr)


class Points(unittest.TestCase):
    def test_the_scenarios_of_the_literature_have_all_their_points(self):
        for name, points in (("tcp-l", 2 * 6 * 2 * 30), ("tcp-l-bursts", 2 * 5 * 2 * 30)):
            _, _, s = tcpl.parse(["--config", str(TOP / f"flowgraphs/scenarios/{name}.yaml")])
            self.assertEqual(len(list(tcpl.points_of(s))), points)


class Intervals(unittest.TestCase):
    def test_of_student_for_few_values(self):
        mean, half = tcpl.interval([10.0, 12.0, 14.0])
        self.assertAlmostEqual(mean, 12)
        self.assertAlmostEqual(half, 4.303 * 2 / 3 ** 0.5, places=3)
        self.assertEqual(tcpl.interval([5.0]), (5.0, None))
        self.assertAlmostEqual(tcpl.interval([1.0, 2.0] * 15)[1], 2.045 * 0.50855 / 30 ** 0.5, places=2)


if __name__ == "__main__":
    need_root()
    unittest.main(verbosity=2)
