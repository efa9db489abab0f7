# SPDX-License-Identifier: GPL-3.0-or-later
"""Statements about distributions (intervals, shares, steps of the delay) and about the models of
Alfredsson (2012)."""

import pathlib
import tempfile
import unittest

from statement_case import Case
from world import results

from openwip_cli.campaign import figures, report, statements


class Distributions(Case):
    def link(self, histogram):
        return {
            "link": {
                "retransmission_histogram": histogram,
                "modulation_histogram": [0, 1],
                "frame_error_rate": 0,
                "goodput_bps": 0,
            }
        }

    def test_disjoint_intervals_of_a_distribution(self):
        grid = "channel: jakes\n  combining: ['on', 'off']"
        check = {
            "id": "x",
            "says": "y",
            "kind": "disjoint",
            "metric": "retransmission_share",
            "over": [1, 2],
            "a": {"combining": "on"},
            "b": {"combining": "off"},
        }
        apart = results(
            self.experiment(grid),
            lambda p, r: self.link(
                [800, 190 + r, 10] if p["combining"] == "on" else [800, 150 + r, 50]
            ),
        )
        self.assertEqual(statements.evaluate(apart, check).holds, "yes")
        same = results(self.experiment(grid), lambda p, r: self.link([800, 190 + r, 10]))
        self.assertEqual(statements.evaluate(same, check).holds, "no")

    def test_shares_and_retransmissions(self):
        e = self.experiment()
        r = results(e, lambda p, n: {})
        point = e.points[0]
        for metric, expected in (
            ("retransmission_share:1", 0.16),
            ("done_within:2", 0.99),
            ("modulation_share:2", 0.4),
            ("retransmissions", 25 / 125),
            ("frames_per_packet", 12000 / (108 * 2.2)),
        ):
            self.assertAlmostEqual(r.values(point, metric)[1], expected, msg=metric)

    def test_a_run_that_has_no_such_value_is_left_out_and_not_zero(self):
        e = self.experiment("channel: jakes\n  modulation: [1, 2]")
        none, some = ({"goodput_bps": 0, "rtt_ms": rtt, "retransmits": rtt} for rtt in (None, 20.0))
        r = results(
            e,
            lambda p, n: {"workload": none if p["modulation"] == 1 or n == 3 else some}
            | self.link([0])
            | {
                "link": {"modulation_histogram": [0] * 9 if n < 4 else [0, 0, 1]},
                "bearer": None,
                "emulator": {"prediction_nmse": float("nan")},
            },
        )
        never, thrice = e.points
        for metric, values in (
            ("tcp_rtt_ms", {1: 20, 2: 20, 4: 20}),
            ("tcp_retransmits", {1: 20, 2: 20, 4: 20}),
            ("frames_per_packet", {4: 12000 / 216}),
        ):
            self.assertEqual(r.values(thrice, metric), values)
        for metric in (
            "tcp_rtt_ms",
            "tcp_retransmits",
            "status_share",
            "prediction_nmse",
            "jain",
            "voip_within:5",
        ):
            with self.assertRaises(LookupError):
                r.values(never, metric)
        value = {
            "id": "x",
            "says": "y",
            "kind": "value",
            "metric": "tcp_rtt_ms",
            "where": {"modulation": 2},
            "most": 21,
        }
        self.assertEqual(
            [statements.evaluate(r, value | {"where": {"modulation": m}}).holds for m in (1, 2)],
            ["not measured", "yes"],
        )
        with tempfile.TemporaryDirectory() as folder:
            e.tree["statements"] = [value]
            e.tree["figures"] = [
                {
                    "name": "f",
                    "number": 1,
                    "kind": "lines",
                    "x": "modulation",
                    "metric": "tcp_rtt_ms",
                }
            ]
            report.write_csv(r, pathlib.Path(folder))
            self.assertEqual(
                pathlib.Path(folder, "S1.means.csv").read_text().splitlines()[1:],
                ["jakes,2,tcp_rtt_ms,20.0,0.0,3,20.0,20.0"],
            )

    def voip(self, delays_ms, sent=100):
        return {
            "workload": {
                "kind": "voip",
                "sent": sent,
                "loss": 1 - len(delays_ms) / sent,
                "delays_us": [int(1000 * d) for d in delays_ms],
            }
        }

    def test_steps_of_the_delay(self):
        grid = "channel: jakes\n  retransmission_delay_ms: [16]"
        check = {
            "id": "x",
            "says": "y",
            "kind": "steps",
            "where": {},
            "base_ms": 10,
            "rise_ms": 4,
            "steps": 1,
            "between": 0.2,
        }
        stepped = [12.0] * 70 + [28.0] * 25 + [44.0] * 5
        smeared = [10 + 0.4 * n for n in range(100)]
        for delays, holds in ((stepped, "yes"), (smeared, "no")):
            r = results(self.experiment(grid), lambda p, n: self.voip(delays))
            self.assertEqual(statements.evaluate(r, check).holds, holds)

    def test_share_of_voip_packets_within_a_delay_counts_lost_ones_as_late(self):
        e = self.experiment()
        r = results(e, lambda p, n: self.voip([11.0] * 70 + [20.0] * 20))
        self.assertAlmostEqual(r.values(e.points[0], "voip_within:13")[1], 0.7)
        self.assertAlmostEqual(r.values(e.points[0], "voip_loss")[1], 0.1)
        self.assertEqual(r.values(e.points[0], "voip_quantile:0.5")[1], 11.0)


class Model(Case):
    def test_the_formula_gives_the_column_of_table_6_1(self):
        for loss, mbps in ((0.01, 3.31), (0.02, 2.04), (0.03, 1.47)):
            self.assertAlmostEqual(statements.padhye_mbps(loss, 0.0267), mbps, delta=0.025)
        self.assertAlmostEqual(statements.padhye_mbps(0, 0.1), 64096 * 8 / 1e5)

    def test_measured_against_the_model_at_the_round_trip_time_of_the_runs(self):
        grid = "channel: jakes\n  wired_loss: [0.01]"
        r = results(self.experiment(grid), lambda p, n: {"goodput_mbps": 3.3 + 0.01 * n})
        j = statements.evaluate(
            r, {"id": "x", "says": "y", "kind": "model", "where": {}, "least": 0.9, "most": 1.1}
        )
        self.assertEqual(j.holds, "yes")
        self.assertIn("model 3.33 at RTT 26.7 ms", j.measured)

    def test_the_round_trip_and_the_download_of_equations_5_8_and_5_14(self):
        for prohibit, rtt_ms, seconds in (
            (50, 283.0, 3.58),
            (100, 290.7, 3.63),
            (150, 298.5, 3.68),
        ):
            s = {"umts.status_prohibit_ms": prohibit, "umts.errors": 0.1, "flow_kb": 100}
            self.assertAlmostEqual(figures.MODELS["flow_rtt_ms"](s), rtt_ms, delta=0.05)
            self.assertAlmostEqual(figures.MODELS["download_s"](s), seconds, delta=0.02)


if __name__ == "__main__":
    unittest.main()
