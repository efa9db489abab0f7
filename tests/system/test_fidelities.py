# SPDX-License-Identifier: GPL-3.0-or-later
"""tests/bench/five_fidelities.py on a small set: a point of A1 and one of B1 by the formula, under ns-3 and on Linux in virtual time. The
sample level takes 14 s a point: by hand. Limits are wide: two seconds of one realisation, of which the formula sees others than TCP, which begins a second later."""
import importlib.util
import os
import pathlib
import sys
import unittest

from openwip_cli.machine.places import Places
from openwip_cli.runs import ns3, virtual

TOP = pathlib.Path(__file__).resolve().parents[2]
PLACES = Places(TOP, pathlib.Path(os.environ["OPENWIP_BUILD"]), sys.executable)
MISSING = [words for part, words in ((virtual.KERNEL, "no Linux kernel for virtual time: ./openwip setup --virtual-time"),
                                     (ns3.PROGRAM, "no ns-3: ./openwip setup --ns3")) if not (PLACES.build / part).exists()]


spec = importlib.util.spec_from_file_location("five_fidelities", TOP / "tests" / "bench" / "five_fidelities.py")
five = importlib.util.module_from_spec(spec)
spec.loader.exec_module(five)


class Points(unittest.TestCase):
    def test_only_points_that_are_told_perfect_predictions_are_not_at_the_sample_level(self):
        points = [five.Point(name, values, 2) for name, values in five.POINTS]
        out = [p.label for p in points if p.left_out("sample")]
        self.assertEqual(out, ["A1 adaptive 5 jakes", "A1 adaptive 30 jakes"])
        self.assertFalse([p.label for p in points if p.left_out("virtual")])


@unittest.skipIf(MISSING, "; ".join(MISSING))
class Fidelities(unittest.TestCase):
    def test_a_point_of_a1_and_one_of_b1_are_the_same_by_formula_in_ns3_and_on_linux(self):
        rates = []
        for name, values in (("A1", {"modulation": "adaptive", "max_retransmissions": 30}), ("B1", {"retransmission_delay_ms": 2})):
            values |= {"channel": "jakes"}
            self.assertIn((name, values), five.POINTS)
            point = five.Point(name, values, 2)
            with self.subTest(point.label):
                formula, simulated, linux = (five.FIDELITIES[of](point, 1, PLACES) for of in ("formula", "ns3", "virtual"))
                self.assertAlmostEqual(simulated / linux, 1, delta=0.05)
                self.assertAlmostEqual(formula / linux, 1, delta=0.3)
                rates.append(linux)
        self.assertGreater(rates[1], 1.05 * rates[0])      # best bins against all: other points


if __name__ == "__main__":
    unittest.main()
