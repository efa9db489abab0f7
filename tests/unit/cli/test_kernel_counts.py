# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's counts of an interface against a station's own, read so that both are of one moment."""

import unittest

from hand_made import statuses, tun_of

from openwip_cli.cell import running
from openwip_cli.figures import checks, conservation, facts
from openwip_cli.figures.facts import Heard
from openwip_cli.measure import verdict_monitor


class KernelCounts(unittest.TestCase):
    """The sums of a verdict so far against the kernel's counts, which are read now and then."""

    def setUp(self):
        self.kernel, self.reads = None, 0
        self.counts = verdict_monitor.KernelCounts(self.read)
        self.so_far = verdict_monitor.SoFar("emulate")

    def read(self):
        self.reads += 1
        return self.kernel

    def look(self, now, kernel, asked=True):
        """A turn of the verdict monitor; the reasons where somebody asks for the verdict."""
        self.kernel = kernel
        self.so_far.take(now)
        return (
            list(self.so_far.verdict(Heard(), 0.0, self.counts.of(now, self.so_far.still)).reason)
            if asked
            else None
        )

    def rest(self, now, kernel, looks=6):
        return [self.look(now, kernel) for _ in range(looks)]

    def test_two_looks_at_an_idle_link_with_traffic_between_them_are_both_valid(self):
        first, later = statuses(1), statuses(9)
        self.assertEqual(self.rest(first, tun_of(first)), [[]] * 6)
        for second in (3, 5, 7, 8, 9, 9, 9, 9):  # nobody has subscribed to the topic
            self.look(statuses(second), tun_of(statuses(second)), asked=False)
        self.assertEqual(self.rest(later, tun_of(later)), [[]] * 6)

    def test_a_packet_that_comes_while_the_kernel_is_read_is_no_reason(self):
        first, later = statuses(1), statuses(9)
        self.rest(first, tun_of(first))
        self.so_far.still = 9
        # the kernel has the packet, the station not yet
        self.assertEqual(self.look(first, tun_of(later)), [])
        self.assertEqual(self.look(later, tun_of(later)), [])
        for _ in range(3):
            self.assertEqual(self.look(later, tun_of(later)), [])
        kernel_first = verdict_monitor.KernelCounts(lambda: self.kernel)
        self.kernel = tun_of(later)
        self.assertIsNone(kernel_first.of(first, verdict_monitor.STANDING_STILL))
        self.kernel = tun_of(first)
        self.assertIsNone(kernel_first.of(first, verdict_monitor.STANDING_STILL))

    def test_what_the_kernel_counted_and_the_station_did_not_is_still_a_reason(self):
        now = statuses(5)
        reasons = self.rest(now, tun_of(statuses(6)))
        self.assertEqual(reasons[0], [])
        self.assertIn("sums: downlink, kernel to base.macd", reasons[-1][0])

    def test_a_link_that_stays_idle_costs_two_readings(self):
        now = statuses(5)
        self.rest(now, tun_of(now), looks=50)
        self.assertEqual(self.reads, 2)


class AtTheEnd(unittest.TestCase):
    """Counts of stations and kernel that belong to one moment (cell/running.py)."""

    def read(self, moments, tries=5):
        """`moments`: (the station's count, the kernel's count) as they are when the one and then
        the other is read."""
        left, now = list(moments), [None]

        def status():
            now[0] = left.pop(0) if left else now[0]
            return now[0][0]

        return running.read_at_rest(status, lambda s: s, lambda: now[0][1], lambda: None, tries)

    def test_counts_that_agree_twice_are_of_one_moment(self):
        self.assertEqual(self.read([(7, 7)]), (7, 7))
        self.assertEqual(self.read([(7, 8)]), (7, 8), "a difference that stays is one")

    def test_a_packet_between_the_two_readings_makes_them_be_read_again(self):
        self.assertEqual(self.read([(7, 8), (8, 8), (8, 8)]), (8, 8))
        self.assertEqual(self.read([(7, 7), (7, 8), (8, 8), (8, 8)]), (8, 8))

    def test_what_never_rests_is_not_compared_and_said(self):
        now, kernel = self.read([(n, n + 1) for n in range(99)])
        self.assertIsNone(kernel)
        both = statuses(5, in_flight=3)
        paths = conservation.paths_of(both.base, both.terminal)
        sums = conservation.sums_of_paths(paths, None, came_to_rest=False)
        (reason,) = checks.evaluate(facts.of_cell(statuses(1).air, both, sums))["reasons"]
        self.assertIn("packets still passed after the traffic had ended", reason)


if __name__ == "__main__":
    unittest.main()
