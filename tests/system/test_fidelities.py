# SPDX-License-Identifier: GPL-3.0-or-later
"""tests/bench/five_fidelities.py on a small set: a point of A1 and one of B1 by the formula, under
ns-3 and on Linux in virtual time, that of B1 with what a radio has, too, and, as root, in real
time. The sample level takes 14 s a point: by hand. Limits are wide: two seconds of a realisation,
of which the formula sees others than TCP, which begins a second later; in real time four, which
begin when iperf3 is up."""

import importlib.util
import os
import pathlib
import statistics
import sys
import unittest

from openwip_cli.errors import BadInput
from openwip_cli.machine import system
from openwip_cli.machine.places import Places
from openwip_cli.runs import ns3, virtual

TOP = pathlib.Path(__file__).resolve().parents[2]
PLACES = Places(TOP, pathlib.Path(os.environ["OPENWIP_BUILD"]), sys.executable)
MISSING = [
    words
    for part, words in (
        (virtual.KERNEL, "no Linux kernel for virtual time: ./openwip setup --virtual-time"),
        (ns3.PROGRAM, "no ns-3: ./openwip setup --ns3"),
    )
    if not (PLACES.build / part).exists()
]


spec = importlib.util.spec_from_file_location(
    "five_fidelities", TOP / "tests" / "bench" / "five_fidelities.py"
)
five = importlib.util.module_from_spec(spec)
spec.loader.exec_module(five)


class Points(unittest.TestCase):
    def test_only_points_that_are_told_perfect_predictions_are_not_at_the_sample_level(self):
        points = [five.Point(name, values, 2) for name, values in five.POINTS]
        out = [p.label for p in points if p.skipped("sample")]
        self.assertEqual(out, ["A1 adaptive 5 jakes", "A1 adaptive 30 jakes"])
        self.assertFalse([p.label for p in points if p.skipped("virtual")])


def rate(point, of):
    return statistics.fmean(five.FIDELITIES[of](point, seed, PLACES) for seed in (1, 2))


@unittest.skipIf(MISSING, "; ".join(MISSING))
class Fidelities(unittest.TestCase):
    def test_a_point_of_a1_and_one_of_b1_are_the_same_by_formula_in_ns3_and_on_linux(self):
        rates = []
        for name, values in (
            ("A1", {"modulation": "adaptive", "max_retransmissions": 30}),
            ("B1", {"retransmission_delay_ms": 2}),
        ):
            values |= {"channel": "jakes"}
            self.assertIn((name, values), five.POINTS)
            point = five.Point(name, values, 2)
            with self.subTest(point.label):
                formula, simulated, linux = (
                    rate(point, of) for of in ("formula", "ns3", "virtual")
                )
                self.assertAlmostEqual(simulated / linux, 1, delta=0.05)
                self.assertAlmostEqual(formula / linux, 1, delta=0.3)
                if not point.skipped("as-radio"):
                    self.assertAlmostEqual(rate(point, "as-radio") / linux, 1, delta=0.1)
                rates.append(linux)
        self.assertGreater(rates[1], 1.05 * rates[0])  # best bins against all: other points

    @unittest.skipIf(os.geteuid() != 0, "a cell in real time needs root")
    def test_a_point_of_b1_is_in_real_time_what_it_is_in_virtual_time_and_by_formula(self):
        try:
            system.require_tun()
        except BadInput as e:
            self.skipTest(str(e))
        point = five.Point("B1", {"retransmission_delay_ms": 2, "channel": "jakes"}, 4)
        try:
            real = five.FIDELITIES["real"](point, 1, PLACES)
        except RuntimeError as e:
            if "pacing" not in str(e):
                raise
            self.skipTest(f"this machine is too busy: {e}")
        linux, formula = (five.FIDELITIES[of](point, 1, PLACES) for of in ("virtual", "formula"))
        self.assertAlmostEqual(real / linux, 1, delta=0.1)
        self.assertAlmostEqual(formula / real, 1, delta=0.3)


if __name__ == "__main__":
    unittest.main()
