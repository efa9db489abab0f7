# SPDX-License-Identifier: GPL-3.0-or-later
"""Means and intervals against tables and against what an interval promises."""

import math
import random
import unittest

import world  # noqa: F401  (sets the path)

from openwip_cli.figures import estimates


class Intervals(unittest.TestCase):
    def test_against_the_table_of_student_t(self):
        # t(0.975) of 1, 4 and 29 degrees of freedom: 12.706, 2.776, 2.045.
        for values, t in (([0, 2], 12.706), ([1, 2, 3, 4, 5], 2.776), (list(range(30)), 2.045)):
            n, mean = len(values), sum(values) / len(values)
            s = math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1))
            e = estimates.estimate(values)
            self.assertAlmostEqual(e.mean, mean)
            self.assertAlmostEqual(e.half, t * s / math.sqrt(n), delta=5e-4 * e.half)

    def test_one_value_has_no_interval_and_none_is_an_error(self):
        e = estimates.estimate([3.0])
        self.assertTrue(math.isnan(e.half) and not e.covers(3.0))
        self.assertFalse(e.excludes(5.0))
        self.assertEqual((e.text(), e.text(1, " s", "+")), ("3.00", "+3.0 s"))
        with self.assertRaises(ValueError):
            estimates.estimate([])

    def test_ninety_five_of_a_hundred_intervals_cover_the_mean(self):
        rng = random.Random(1)
        covered = sum(
            estimates.estimate([rng.gauss(10, 3) for _ in range(4)]).covers(10) for _ in range(2000)
        )
        self.assertAlmostEqual(covered / 2000, 0.95, delta=0.02)  # four standard deviations

    def test_what_both_settings_saw_cancels_in_the_difference(self):
        channel = {r: 10.0 * r for r in range(1, 6)}
        a = {r: v + 1 + 0.01 * r for r, v in channel.items()}
        d = estimates.difference(a, channel)
        self.assertAlmostEqual(d.mean, 1.03)
        self.assertLess(d.half, 0.05)
        self.assertGreater(estimates.estimate(channel.values()).half, 10)

    def test_only_common_realisations_are_compared(self):
        self.assertEqual(estimates.difference({1: 5, 2: 7, 3: 9}, {2: 6, 3: 8, 4: 0}).n, 2)
        with self.assertRaises(LookupError):
            estimates.difference({1: 1}, {2: 2})

    def test_the_interval_of_a_ratio_covers_it(self):
        rng, covered = random.Random(2), 0
        for _ in range(1000):
            fading = {r: rng.uniform(2, 6) for r in range(30)}
            a = {r: 1.2 * f + rng.gauss(0, 0.3) for r, f in fading.items()}
            covered += estimates.ratio(a, fading).covers(1.2)
        self.assertAlmostEqual(covered / 1000, 0.95, delta=0.03)

    def test_the_interval_of_a_ratio_of_skew_values_has_the_halves_of_a_mean(self):
        values = dict.fromkeys(range(28), 1.0) | {28: 9.0, 29: 12.0}
        mean = estimates.estimate(values.values())
        self.assertLess(*mean.halves)
        for divisor in (1.0, 4.0):
            e = estimates.ratio(values, dict.fromkeys(values, divisor))
            self.assertEqual(e.n, 30)
            for found, expected in ((e.low, mean.low), (e.mean, mean.mean), (e.high, mean.high)):
                self.assertAlmostEqual(found, expected / divisor)

    def test_disjoint(self):
        e = estimates.Estimate
        self.assertTrue(estimates.disjoint(e(1, 0.1, 5), e(2, 0.8, 5)))
        self.assertFalse(estimates.disjoint(e(1, 0.3, 5), e(2, 0.8, 5)))


if __name__ == "__main__":
    unittest.main()
