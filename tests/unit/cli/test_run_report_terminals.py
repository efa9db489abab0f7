# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a record of several terminals: each has its curves and its row."""

import unittest
from unittest import mock

import numpy
from report_world import SLOTS, VALID, ReportWorld, Whole

from openwip_cli.views.run_report import data, plots


class Terminals(ReportWorld):
    """Terminal u has the bins b with b % n == u and 10 + u dB, and gets u + 1 times what the first
    gets."""

    def give_terminals(self, n):
        user_of_bin = bytes(b % n for b in range(25))
        for s in range(0, SLOTS, 30):
            for u in range(n):
                mine = [b % n == u for b in range(25)]
                self.give(
                    "slot",
                    slot=s,
                    user=u,
                    slot_sample={
                        "predicted_snr_db": [12.0 + u] * 25,
                        "bits_per_symbol": bytes(m * (u % 8 + 1) for m in mine),
                        "user": user_of_bin,
                    },
                )
                self.give(
                    "slot",
                    "terminal",
                    slot=s,
                    user=u,
                    slot_sample={
                        "snr_db": [10.0 + u] * 25,
                        "true_snr_db": [20.0 + u] * 25,
                        "locked": True,
                        "outcome": bytes(2 * m if u == 0 else m for m in mine),
                    },
                )
        for s in range(0, SLOTS, 150):
            users = [
                {
                    "slot": s,
                    "base": {
                        "payload_bits_acknowledged": s * 100 * (u + 1),
                        "frames_sent": s,
                        "frames_failed": s // 10,
                    },
                    "downlink": {"queued": {"packets": u}},
                    "radio": {"mean_snr_db": 10 + u},
                }
                for u in range(n)
            ]
            whole = {
                "slot": s,
                "base": {"payload_bits_acknowledged": s * 100 * n * (n + 1) // 2},
                "effective_yaml": "link: {bins: 25, modulation: 2}",
                "users": users if n > 1 else [],
            }
            self.give("status", slot=s, wall_ns=self.wall(s), mac=whole)
            self.give(
                "status",
                "terminal",
                slot=s,
                wall_ns=self.wall(s),
                mac={"slot": s, "users": users if n > 1 else []},
            )
        self.give(
            "packet",
            packets={
                "packet": [
                    {
                        "number": i,
                        "user": i % n,
                        "arrived_ns": i * 10**6,
                        "left_ns": i * 10**6 + (1 + i % n) * 10**6,
                    }
                    for i in range(100 * n)
                ]
            },
        )
        self.finish(report=VALID)

    def test_of_each_bin_the_terminal_that_has_it_is_shown(self):
        for n in (2, 5):
            with self.subTest(terminals=n):
                self.setUp()
                self.give_terminals(n)
                slots = data.Slots(self.read())
                self.assertEqual(slots.users, n)
                self.assertEqual(slots.every(), 30)
                self.assertEqual(
                    slots.allocation().values[:, 3].tolist(), [b % n for b in range(25)]
                )
                self.assertEqual(
                    slots.predicted().values[:, 3].tolist(), [12 + b % n for b in range(25)]
                )
                self.assertEqual(
                    slots.true().values[:, 3].tolist(), [20 + b % n for b in range(25)]
                )
                self.assertEqual(
                    slots.modulation().values[:, 3].tolist(), [b % n + 1 for b in range(25)]
                )
                self.assertEqual(
                    slots.outcome().values[:, 3].tolist(),
                    [3 if b % n == 0 else 1 for b in range(25)],
                )
                self.assertTrue((slots.error().values == 2).all())
                self.assertEqual(
                    [slots.measured(u).values[0, 0] for u in range(n)], [10 + u for u in range(n)]
                )

    def test_goodput_delay_and_queue_are_told_by_terminal(self):
        self.give_terminals(5)
        record = self.read()
        terminals = data.Terminals(record)
        self.assertEqual(terminals.n, 5)
        for u in range(5):
            self.assertTrue(numpy.allclose(terminals.goodput(u).y, 1500 * 100 * (u + 1)))
            self.assertAlmostEqual(terminals.mean_goodput(u), 1500 * 100 * (u + 1))
            self.assertTrue((terminals.queue(u).y == u).all())
            self.assertEqual(terminals.mean_snr_db(u), 10 + u)
            self.assertTrue(numpy.allclose(data.delays(data.packets(record), u)[2], 1 + u))

    def test_delays_and_drops_are_of_the_downlink(self):
        self.give(
            "packet",
            packets={
                "packet": [
                    {
                        "uplink": i % 2 == 1,
                        "left_ns": (1 + i % 2) * 10**6,
                        "dropped": "rlc_given_up" if i > 5 else "",
                    }
                    for i in range(10)
                ]
            },
        )
        self.finish(report=VALID)
        child = data.packets(self.read())
        self.assertEqual(data.delays(child)[2].tolist(), [1, 1, 1])
        self.assertEqual(data.drops(child), {"rlc_given_up": 2})

    def test_the_page_has_a_curve_and_a_row_for_each_of_them(self):
        for n, maps in ((1, 1), (2, 2), (5, 5), (25, 8)):
            with self.subTest(terminals=n):
                self.setUp()
                self.give_terminals(n)
                drawn = plots.png if n == 2 else lambda figure: "AAAA"  # pixels take the time
                with mock.patch.object(plots, "png", drawn):
                    text = Whole(self.page()).text
                # It is in the list of contents as well.
                self.assertEqual(text.count("Measured SNR"), 2 * maps)
                for title in (
                    "Allocation",
                    "Goodput of each terminal",
                    "Packet delay of each terminal",
                    "Queue of each terminal",
                ):
                    self.assertEqual(title in text, n > 1, title)
                # predicted, of the channel
                self.assertEqual(text.count("Of the terminal that has the bin."), 2 if n > 1 else 0)
                self.assertEqual("17 more terminals are in the record" in text, n == 25)
                if n == 5:
                    self.assertIn(
                        "".join(("5", "0.750", "2850", "10.00", "14.0", "100", "5.00", "5.00")),
                        text.split("\n"),
                    )
                if n == 1:
                    self.assertNotIn("of terminal 1", text)


if __name__ == "__main__":
    unittest.main()
