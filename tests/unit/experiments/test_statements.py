# SPDX-License-Identifier: GPL-3.0-or-later
"""Every kind of statement: one result that bears it out, one that does not, and one that cannot
say. And the figures."""

import math
import pathlib
import tempfile
import unittest
from unittest import mock

import world
from world import SMALL, World, result, results

from openwip_cli.campaign import figures, metrics, report, statements, workloads

NOISE = {1: 0.03, 2: -0.02, 3: 0.01, 4: -0.02}


class Case(unittest.TestCase):
    GRID = "channel: [jakes, winner]\n  modulation: [adaptive, 1, 2, 3]"

    def experiment(self, grid=None, settings="{allocation: static}"):
        text = SMALL.replace(
            "channel: [jakes, winner]\n  modulation: [adaptive, 1, 2, 3]", grid or self.GRID
        )
        w = World(text.replace("{allocation: static}", settings))
        self.addCleanup(w.close)
        return w.experiment()

    def judge(self, statement, values, grid=None, **kwargs):
        """`values(point)`: throughput, to which every realisation adds its own and some noise;
        None: absent. It may ask for the realisation, too."""

        def of(point, r):
            v = values(point) if values.__code__.co_argcount == 1 else values(point, r)
            return None if v is None else {"goodput_mbps": v + 0.5 * r + NOISE[r]}

        return statements.judge(
            results(self.experiment(grid, **kwargs), of),
            {"id": "x", "says": "y", "source": "z", "metric": "goodput_mbps"} | statement,
        )


class Comparisons(Case):
    def test_above_looks_at_the_closest_of_all_others(self):
        statement = {
            "kind": "above",
            "a": {"modulation": "adaptive"},
            "b_each": {"modulation": [1, 2, 3]},
            "for_each": {"channel": ["jakes"]},
        }
        j = self.judge(statement, lambda p: {"adaptive": 3, 1: 1, 2: 2.8, 3: 2}[p["modulation"]])
        self.assertEqual(j.holds, "yes")
        self.assertIn("least difference +0.200", j.measured)
        self.assertIn("(modulation 2)", j.measured)
        j = self.judge(statement, lambda p: {"adaptive": 3, 1: 1, 2: 3.2, 3: 2}[p["modulation"]])
        self.assertEqual(j.holds, "no")

    def test_all_cases_must_hold_and_one_that_was_not_measured_is_left_out(self):
        statement = {
            "kind": "above",
            "a": {"modulation": 2},
            "b": {"modulation": 1},
            "for_each": {"channel": ["jakes", "winner"]},
        }
        j = self.judge(statement, lambda p: p["modulation"] if p["modulation"] != "adaptive" else 4)
        self.assertTrue(j.holds == "yes" and "jakes: " in j.measured and "winner: " in j.measured)
        j = self.judge(
            statement,
            lambda p: {1: 1.0, 2: 2.0 if p["channel"] == "jakes" else 0.0}.get(p["modulation"], 4),
        )
        self.assertEqual(j.holds, "no")
        self.assertIn("winner: difference -1.000 ± 0.000 (modulation 1) (no)", j.measured)
        j = self.judge(
            statement, lambda p: None if p["channel"] == "winner" else 1 + (p["modulation"] == 2)
        )
        self.assertTrue(j.holds == "yes" and "winner" not in j.measured)
        self.assertEqual(self.judge(statement, lambda p: None).holds, "not measured")

    def test_a_difference_within_its_interval_is_not_sure(self):
        e = self.experiment()
        jitter = {1: 0.5, 2: -0.4, 3: 0.3, 4: -0.2}
        r = results(
            e, lambda p, n: {"goodput_mbps": 2 + (p["modulation"] == 2) * (0.05 + jitter[n])}
        )
        j = statements.judge(
            r,
            {
                "id": "x",
                "says": "y",
                "kind": "above",
                "metric": "goodput_mbps",
                "a": {"channel": "jakes", "modulation": 2},
                "b": {"channel": "jakes", "modulation": 1},
            },
        )
        self.assertEqual(j.holds, "yes (not sure)")

    def test_ratio_value_and_spread_keep_to_their_limits(self):
        at = {"channel": "jakes"}
        ratio = {
            "kind": "ratio",
            "a": at | {"modulation": 2},
            "b": at | {"modulation": 1},
            "least": 0.9,
            "most": 1.1,
        }
        for high, holds in ((1.0, "yes"), (3.0, "no")):
            self.assertEqual(
                self.judge(ratio, lambda p: high if p["modulation"] == 2 else 1.0).holds, holds
            )
        self.assertEqual(
            self.judge(ratio | {"times": 0.9, "least": 0.85, "most": 0.95}, lambda p: 1.0).holds,
            "yes",
        )
        self.assertEqual(
            self.judge(ratio | {"times": 0.9, "least": 0.95}, lambda p: 1.0).holds, "no"
        )
        value = {"kind": "value", "where": at | {"modulation": 2}, "least": 2.0, "most": 5.0}
        # mean 3.25 of 2.5, 3, 3.5, 4
        self.assertEqual(self.judge(value, lambda p: 2.0).holds, "yes")
        self.assertEqual(self.judge(value, lambda p: 9.0).holds, "no")
        self.assertEqual(self.judge(value | {"most": 3.3}, lambda p: 2.0).holds, "yes (not sure)")
        spread = {"kind": "spread", "over": "retransmission_delay_ms", "most": 0.05}
        grid = "channel: jakes\n  retransmission_delay_ms: [2, 8, 16]"
        self.assertEqual(
            self.judge(spread, lambda p: 4 - 0.001 * p["retransmission_delay_ms"], grid).holds,
            "yes",
        )
        self.assertEqual(
            self.judge(spread, lambda p: 4 - 0.1 * p["retransmission_delay_ms"], grid).holds, "no"
        )
        self.assertEqual(
            self.judge(spread | {"most_x": 2}, lambda p: 4, grid).holds, "not measured"
        )

    def test_best_and_falls(self):
        statement = {
            "kind": "best",
            "over": "modulation",
            "among": [1, 2, 3],
            "where": {"channel": "jakes"},
            "expect": 2,
        }
        self.assertEqual(
            self.judge(statement, lambda p: {1: 1, 2: 2, 3: 1.8}.get(p["modulation"], 9)).holds,
            "yes",
        )
        j = self.judge(statement, lambda p: {1: 1, 2: 2, 3: 2.5}.get(p["modulation"], 9))
        self.assertEqual(j.holds, "no")
        self.assertIn("3 (3.75), then 2 (3.25)", j.measured)
        falls = {"kind": "falls", "over": "wired_loss"}
        grid = "channel: jakes\n  wired_loss: [0, 0.01, 0.05]"
        self.assertEqual(self.judge(falls, lambda p: 4 - 20 * p["wired_loss"], grid).holds, "yes")
        self.assertEqual(
            self.judge(
                falls, lambda p: 4 - (20 if p["wired_loss"] < 0.05 else 1) * p["wired_loss"], grid
            ).holds,
            "no",
        )
        half = lambda p, r: (4 if (p["wired_loss"] == 0) == (r == 1) else None)
        self.assertEqual(self.judge(falls, half, grid).holds, "not measured")

        rises = {"kind": "rises", "over": "wired_loss"}
        self.assertEqual(self.judge(rises, lambda p: 4 + 20 * p["wired_loss"], grid).holds, "yes")
        self.assertEqual(self.judge(rises, lambda p: 4 - 20 * p["wired_loss"], grid).holds, "no")

    def test_what_a_further_unit_adds_flattens(self):
        statement, grid = (
            {
                "kind": "flattens",
                "over": "queue_packets",
            },
            "channel: jakes\n  queue_packets: [1, 2, 4, 8]",
        )
        j = self.judge(statement, lambda p: {1: 10, 2: 20, 4: 30, 8: 35}[p["queue_packets"]], grid)
        self.assertTrue(j.holds.startswith("yes") and "% a" in j.measured, j)
        self.assertTrue(
            self.judge(statement, lambda p: 10 * 1.5 ** p["queue_packets"], grid).holds.startswith(
                "no"
            )
        )
        self.assertTrue(
            self.judge(
                statement, lambda p: {1: 40, 2: 30, 4: 20, 8: 5}[p["queue_packets"]], grid
            ).holds.startswith("no")
        )
        self.assertEqual(
            self.judge(statement, lambda p: 10, "channel: jakes\n  queue_packets: [1, 2]").holds,
            "not measured",
        )

    def test_gains_are_compared_as_ratios_or_differences_at_values_that_are_there(self):
        grid = "modulation: [1, 2]\n  wired_loss: [0, 0.01, 0.05]\n  channel: [jakes, winner]"
        gains = {
            "kind": "gains",
            "over": "wired_loss",
            "among": [0, 0.01, 0.05],
            "a": {"modulation": 2},
            "b": {"modulation": 1},
            "at_each": {"channel": ["jakes"]},
        }
        lower = {0: 2.0, 0.01: 4.0, 0.05: 8.0}

        def of(*more):  # of modulation 2 over 1
            more = dict(zip(lower, more))
            return lambda p: (
                None
                if more[p["wired_loss"]] is None
                else lower[p["wired_loss"]]
                + (more[p["wired_loss"]] if p["modulation"] == 2 and p["channel"] == "jakes" else 0)
            )

        for more, by_ratio, by_difference in (
            ((2, 1.5, 1), "yes", "yes"),
            ((1.2, 1.5, 2), "yes", "no"),
            ((0, 1.5, 2), "no", "no"),
            ((2, None, 1), "yes", "yes"),
            ((None, None, 1), *["not measured"] * 2),
        ):
            for by, holds in (("ratio", by_ratio), ("difference", by_difference)):
                with self.subTest(more=more, by=by):
                    self.assertEqual(self.judge(gains | {"by": by}, of(*more), grid).holds, holds)
        shown = self.judge(gains | {"by": "difference"}, of(1, 1.5, 1.7), grid).measured
        self.assertIn("-0.500 ± 0.000 (channel jakes, wired_loss 0 and 0.01)", shown)
        for wrong, said in (
            ({"by": "share"}, "by is 'share'; valid: ratio, difference"),
            ({"among": None}, "among is missing; valid for gains: metric, a, b, over, among"),
        ):
            self.refused(said, gains | {"metric": "goodput_mbps"} | wrong, grid)

    def check(self, statement, grid=None):
        given = {"id": "x", "says": "y"} | statement
        statements.check_statements(self.experiment(grid), [given])
        return given

    def refused(self, said, statement, grid=None):
        with self.assertRaisesRegex(
            world.plan.BadInput, f"experiment file .*S1.yaml: statement x: {said}"
        ):
            self.check({k: v for k, v in statement.items() if v is not None}, grid)

    def test_a_statement_says_all_that_its_kind_asks_for_and_nothing_that_would_be_ignored(self):
        value = {"kind": "value", "metric": "goodput_mbps", "where": {"channel": "jakes"}}
        self.check(value | {"most": 1})
        self.refused(
            "unknown key leest; valid for value: metric, where, least, most",
            value | {"leest": 100, "most": 1},
        )
        self.refused("least and most are missing, one of them is needed", value)
        self.refused(
            "unknown key where; valid for ratio: metric, a, b, times, least, most",
            value | {"kind": "ratio", "a": {}, "b": {}, "least": 1},
        )
        self.assertEqual(set(statements.OF_KIND), set(statements.KINDS))

    def test_a_statement_chooses_what_the_grid_has_and_its_limits_are_numbers(self):
        value = {
            "kind": "value",
            "metric": "goodput_mbps",
            "where": {"channel": "jakes"},
            "most": 1,
        }
        # as U-A4's fack
        self.assertEqual(
            self.check(
                value | {"most": "1e3", "where": {"channel": "jakes", "sysctl.tcp_fack": 1}}
            )["most"],
            1000,
        )
        best = value | {
            "kind": "best",
            "over": "modulation",
            "among": [1, 2],
            "expect": 2,
            "most": None,
        }
        for wrong, said in (
            ({"where": 5}, "where is 5; valid: a mapping of settings of the grid"),
            (
                {"where": {"chanel": "jakes"}},
                "where: chanel is 'jakes'; valid: settings of the grid, channel",
            ),
            ({"where": {"channel": "jaks"}}, "where: channel is 'jaks'; valid: jakes, winner"),
            (
                {"for_each": {"channel": "jakes"}},
                "for_each: channel is 'jakes'; valid: a list of jakes",
            ),
            (
                {"for_each": {"chanel": ["jakes"]}},
                r"for_each: chanel is \['jakes'\]; valid: settings of the grid",
            ),
            ({"most": "much"}, "most is 'much'; valid: -1e"),
            ({"digits": 1.5}, "digits is 1.5; valid: 0..12"),
            ({"kind": ["value"]}, r"kind is \['value'\]; valid: value"),
            ({"averaged": [[1]]}, "averaged is"),
            (best | {"among": 5}, "over: modulation is 5; valid: a list of adaptive, 1, 2, 3"),
            (best | {"expect": 9}, "expect: modulation is 9; valid: adaptive, 1"),
            (best | {"over": "bins"}, "over: bins is .*; valid: settings of the grid"),
            (best | {"over": {"a": 1}}, "over: {'a': 1} is .*; valid: settings of the grid"),
            (
                {"kind": "falls", "over": "modulation", "most": None},
                (
                    "over is modulation, which is 'adaptive' in the grid; valid: a setting that is"
                    " numbers"
                ),
            ),
            (
                {"kind": "disjoint", "over": 3, "a": {}, "b": {}, "where": None, "most": None},
                "over is 3; valid: a list of numbers",
            ),
            (
                {"kind": "falls", "over": [1], "most": None},
                r"over is \[1\]; valid: a setting of the grid",
            ),
        ):
            with self.subTest(wrong):
                self.refused(said, value | wrong)

    def test_a_statement_is_sure_by_all_that_it_compares(self):
        """Beside a comparison that is sure there is one with much noise, which the mean of what is
        shown does not tell."""
        wide = {1: 3.0, 2: -3.0, 3: 3.0, 4: -2.8}
        at = {"channel": "jakes"}

        def of(means, noisy):  # of modulations
            return lambda p, r: (
                means[p["modulation"]] + wide[r] * (p["modulation"] == noisy)
                if p["modulation"] in means
                else None
            )

        above = {
            "kind": "above",
            "a": at | {"modulation": 3},
            "b_each": {"modulation": [1, 2]},
            "b": at,
        }
        best = {"kind": "best", "over": "modulation", "among": [1, 2, 3], "where": at, "expect": 3}
        ways = {"falls": 10, "rises": -10}
        for statement, means, noisy, holds in (
            (above, {1: 3, 2: 3.5, 3: 4}, 1, "yes (not sure)"),
            (above, {1: 3, 2: 3.5, 3: 4}, None, "yes"),
            (above, {1: 4.1, 2: 5, 3: 4}, 2, "no"),
            (above, {1: 3, 2: 5, 3: 4}, 2, "no (not sure)"),
            (best, {1: 3, 2: 3.5, 3: 4}, 1, "yes (not sure)"),
            (best, {1: 3, 2: 3.5, 3: 4}, None, "yes"),
            (best, {1: 4.1, 2: 4.2, 3: 4}, 2, "no"),
            (best, {1: 3.9, 2: 4.2, 3: 4}, 2, "no (not sure)"),
        ):
            with self.subTest(statement["kind"], means=means, noisy=noisy):
                self.assertEqual(self.judge(statement, of(means, noisy)).holds, holds)
        grid = "channel: jakes\n  queue_packets: [1, 2, 3]"
        for kind, way in ways.items():
            for (a, b, c), noisy, holds in (
                ((30, 29.5, 20), None, "yes"),
                ((30, 29.5, 20), 2, "yes (not sure)"),
                ((20, 29.5, 20.5), 2, "no"),
                ((20, 20.5, 10), None, "no"),
                ((20, 20.5, 10), 2, "no (not sure)"),
            ):
                means = dict(zip((1, 2, 3), (a, b, c) if way > 0 else (-a, -b, -c)))
                with self.subTest(kind, means=means, noisy=noisy):
                    self.assertEqual(
                        self.judge(
                            {"kind": kind, "over": "queue_packets"},
                            lambda p, r: 100
                            + means[p["queue_packets"]]
                            + wide[r] * (p["queue_packets"] == noisy),
                            grid,
                        ).holds,
                        holds,
                    )
        gains = {
            "kind": "gains",
            "over": "queue_packets",
            "among": [3, 2, 1],
            "a": {"modulation": 2},
            "b": {"modulation": 1},
            "by": "difference",
        }
        more = lambda p, r: (
            p["queue_packets"] + (p["queue_packets"] == 3) * (3 + 2 * wide[r] if noisy else 0)
        ) * (p["modulation"] == 2)
        for noisy, holds in ((True, "yes (not sure)"), (False, "yes")):
            with self.subTest("gains", noisy=noisy):
                self.assertEqual(
                    self.judge(gains, more, grid + "\n  modulation: [1, 2]").holds, holds
                )
        crossing, ends = (
            {
                "kind": "crossing",
                "over": "queue_packets",
                "until": 3,
                "a": {"modulation": 1},
                "b": {"modulation": 2},
            },
            {1: 1, 2: 0, 3: 1},
        )
        with self.subTest("crossing, which it does not at the end, however it begins"):
            self.assertEqual(
                self.judge(
                    crossing,
                    lambda p, r: (p["modulation"] == 1)
                    * (ends[p["queue_packets"]] + wide[r] * (p["queue_packets"] == 1)),
                    grid + "\n  modulation: [1, 2]",
                ).holds,
                "no",
            )
        grid, flattens = (
            "channel: jakes\n  queue_packets: [1, 2, 3, 4, 5]",
            {
                "kind": "flattens",
                "over": "queue_packets",
            },
        )
        # of the noise at 3, between ends whose growths are far apart
        for size, holds in ((0, "yes"), (0.3, "yes (not sure)")):
            of_queue = (
                lambda p, r: {1: 100, 2: 220, 3: 400, 4: 500, 5: 510}[p["queue_packets"]]
                * (1 + size * wide[r] / 3 * (p["queue_packets"] == 3))
                - 0.5 * r
                - NOISE[r]
            )
            with self.subTest("flattens", size=size):
                self.assertEqual(self.judge(flattens, of_queue, grid).holds, holds)

    def test_what_one_realisation_says_is_not_sure(self):
        grid = "channel: jakes\n  modulation: [1, 2]\n  prediction_nmse: [0, 0.1]"
        cross = {
            "kind": "crossing",
            "over": "prediction_nmse",
            "until": 0.1,
            "a": {"modulation": 1},
            "b": {"modulation": 2},
        }
        of = lambda p, r: (
            (3 + (0.05 - p["prediction_nmse"]) * (p["modulation"] == 1)) if r == 1 else None
        )
        found = self.judge(cross, of, grid)
        self.assertEqual(
            (found.holds, found.measured),
            ("yes (not sure)", "+0.050 at 0, -0.050 at 0.1, crossing at 0.050"),
        )

    def test_without_what_is_expected_there_is_no_answer(self):
        best = {
            "kind": "best",
            "over": "modulation",
            "among": [1, 2, 3],
            "where": {"channel": "jakes"},
            "expect": 2,
        }
        self.assertEqual(
            self.judge(
                best, lambda p: None if p["modulation"] == 2 else 1 + (p["modulation"] == 3)
            ).holds,
            "not measured",
        )
        cross = {
            "kind": "crossing",
            "over": "prediction_nmse",
            "until": 0.2,
            "a": {"modulation": 1},
            "b": {"modulation": 2},
        }
        grid = "channel: jakes\n  modulation: [1, 2]\n  prediction_nmse: [0, 0.1, 0.2]"
        of = lambda p: (
            None
            if p["prediction_nmse"] == 0.2
            else 3 + (0.15 - p["prediction_nmse"]) * (p["modulation"] == 1)
        )
        self.assertEqual(self.judge(cross, of, grid).holds, "not measured")

    def test_averaged_is_the_mean_over_settings_where_all_of_them_are_there(self):
        grid = "channel: [jakes, winner]\n  wired_loss: [0, 0.01, 0.05]"
        value = {
            "kind": "value",
            "averaged": ["channel"],
            "where": {"wired_loss": 0.01},
            "least": 4.9,
            "most": 5.1,
        }
        of = {"jakes": 2.75, "winner": 4.75}  # 1.25 more by the realisations
        found = self.judge(value, lambda p: of[p["channel"]], grid)
        self.assertTrue(found.holds.startswith("yes") and found.measured.startswith("5.00"), found)
        self.assertEqual(
            self.judge(value | {"averaged": []}, lambda p: of[p["channel"]], grid).holds,
            "not measured",
        )
        absent = self.judge(value, lambda p: None if p["channel"] == "winner" else 3.75, grid)
        self.assertEqual(absent.holds, "not measured")
        rises = {"kind": "rises", "over": "wired_loss", "averaged": ["channel"]}
        self.assertEqual(
            self.judge(
                rises, lambda p: p["wired_loss"] * (30 if p["channel"] == "jakes" else -10), grid
            ).holds,
            "yes",
        )

    def test_crossing_is_where_the_difference_changes_its_sign(self):
        statement = {
            "kind": "crossing",
            "over": "prediction_nmse",
            "until": 0.1,
            "a": {"switch_table": "nmse_0"},
            "b": {"switch_table": "nmse_0_1"},
        }
        grid = (
            "channel: jakes\n  switch_table: [nmse_0, nmse_0_1]\n  prediction_nmse: [0, 0.04, 0.1,"
            " 0.2]"
        )
        j = self.judge(
            statement,
            lambda p: 3 + (0.05 - p["prediction_nmse"]) * (p["switch_table"] == "nmse_0"),
            grid,
        )
        self.assertEqual(j.holds, "yes")
        self.assertIn("crossing at 0.050", j.measured)
        self.assertEqual(
            self.judge(statement, lambda p: 3 + (p["switch_table"] == "nmse_0"), grid).holds, "no"
        )


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
        self.assertEqual(statements.judge(apart, check).holds, "yes")
        same = results(self.experiment(grid), lambda p, r: self.link([800, 190 + r, 10]))
        self.assertEqual(statements.judge(same, check).holds, "no")

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
            [statements.judge(r, value | {"where": {"modulation": m}}).holds for m in (1, 2)],
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
                ["jakes,2,tcp_rtt_ms,20.0,0.0,3"],
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
            self.assertEqual(statements.judge(r, check).holds, holds)

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
        j = statements.judge(
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


class Output(Case):
    def test_every_kind_of_figure_is_drawn_and_a_figure_without_runs_says_so(self):
        grid = (
            "channel: [jakes, winner]\n  retransmission_delay_ms: [2, 16]\n  queue_packets: [1, 5,"
            " 20]\n  flow_kb: 100"
        )
        kinds = [
            {
                "kind": "lines",
                "panels": "channel",
                "x": "queue_packets",
                "series": "retransmission_delay_ms",
                "metric": "goodput_mbps",
            },
            {
                "kind": "bars",
                "x": "queue_packets",
                "series": ["channel", "retransmission_delay_ms"],
                "metric": "goodput_mbps",
            },
            {
                "kind": "bars",
                "series": "channel",
                "metric": "modulation_share",
                "categories": [1, 2, 3],
                "where": {"queue_packets": 5, "retransmission_delay_ms": 2},
            },
            {
                "kind": "surface",
                "panels": "channel",
                "x": "queue_packets",
                "y": "retransmission_delay_ms",
                "metric": "goodput_mbps",
            },
            {
                "kind": "cdf",
                "panels": "channel",
                "series": "retransmission_delay_ms",
                "range_ms": [0, 40],
                "where": {"queue_packets": 5},
            },
            {
                "kind": "scatter",
                "series": "retransmission_delay_ms",
                "packets_per_s": 50,
                "where": {"channel": "jakes", "queue_packets": 5},
            },
            {
                "kind": "over_time",
                "series": "queue_packets",
                "where": {"channel": "jakes", "retransmission_delay_ms": 2},
            },
            {
                "kind": "lines",
                "x": "queue_packets",
                "metric": "goodput_mbps",
                "where": {"channel": "measured"},
            },
        ]
        e = self.experiment(grid)
        # one's own has no number
        e.tree["figures"] = [
            {"name": f"f{i}"} | ({"number": 1.1} if i else {}) | k for i, k in enumerate(kinds)
        ]

        def both(point, n):
            made = result(goodput_mbps=point["queue_packets"] + n / 10)
            made["workload"] |= {
                "sent": 50,
                "loss": 0.0,
                "delays_us": list(range(11000, 21000, 200)),
                "flows": {"100": {"arrived_s": [0.1, 0.4, 0.9]}},
            }
            return made

        r = results(e, both, metric_of=lambda **made: made)
        with tempfile.TemporaryDirectory() as folder:
            done = figures.draw(r, pathlib.Path(folder))
            self.assertEqual([why for _, _, why in done], [None] * 7 + ["no valid run"])
            for name, _, _why in done[:7]:
                self.assertGreater(
                    (pathlib.Path(folder) / f"{name}.png").stat().st_size, 5000, name
                )

    def draw(self, r, *specs):
        """Figures as they are on paper, and what draw() says of them."""
        drawn, kept = [], figures.plt.close
        r.experiment.tree["figures"] = [{"name": f"f{i}"} | s for i, s in enumerate(specs)]
        self.addCleanup(kept, "all")
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(figures.plt, "close", drawn.append),
        ):
            for i, _ in enumerate(specs):
                pathlib.Path(folder, f"f{i}.png").write_text("of before")
            done = figures.draw(r, pathlib.Path(folder))
            self.assertEqual(
                [pathlib.Path(folder, f"{name}.png").exists() for name, _, _ in done],
                [why is None for _, _, why in done],
            )
        return drawn, done

    def test_a_point_without_the_metric_is_left_out_of_a_figure_which_says_so(self):
        """Nothing of before stays where a figure is not drawn, and tables and screen say which is
        not there, and why."""
        e = self.experiment("channel: jakes\n  queue_packets: [1, 5, 20]\n  modulation: [1, 2]")
        r = results(
            e,
            lambda p, n: (
                {
                    "workload": {
                        "rtt_ms": None if p["queue_packets"] == 5 and p["modulation"] == 1 else 20,
                        "goodput_bps": 1e6,
                    }
                }
                if n < 4 or p["modulation"] == 1
                else None
            ),
        )
        shown = {"x": "queue_packets", "series": "modulation", "metric": "tcp_rtt_ms"}
        drawn, done = self.draw(
            r,
            {"kind": "lines"} | shown,
            {"kind": "bars"} | shown,
            {"kind": "surface", "x": "queue_packets", "y": "modulation", "metric": "tcp_rtt_ms"},
            {
                "kind": "lines",
                "x": "queue_packets",
                "series": "modulation",
                "metric": "prediction_nmse",
            },
            {"kind": "lines", "where": {"modulation": 3}} | shown,
        )
        self.assertEqual(
            [why for _, _, why in done], [None] * 3 + ["no run has prediction_nmse", "no valid run"]
        )
        for figure in drawn:
            self.assertIn("[3 to 4 realisations, 1 without a value]", figure._suptitle.get_text())
        self.assertEqual(
            [list(line[0].get_xdata()) for line in drawn[0].axes[0].containers],
            [[1, 20], [1, 5, 20]],
        )
        self.assertEqual([t.get_text() for t in drawn[1].axes[0].texts], ["no value"])
        judged = [report.Judged(e, [], report.counts(r), done, [])]
        self.assertIn(
            "no figure f3 of S1: no run has prediction_nmse\nno figure f4 of S1: no valid run\n",
            report.markdown(judged, {"mode": "full"}),
        )
        self.assertIn("  no figure      f3: no run has prediction_nmse\n", report.screen(judged))

    def test_one_realisation_has_no_interval_and_words_stand_behind_the_numbers_of_an_axis(self):
        r = results(
            self.experiment("channel: jakes\n  modulation: [adaptive, 2, 1]"),
            lambda p, n: {} if n == 1 else None,
        )
        (lines, bars), _ = self.draw(
            r,
            {"kind": "lines", "x": "modulation", "metric": "goodput_mbps"},
            {"kind": "bars", "x": "modulation", "series": "channel", "metric": "goodput_mbps"},
        )
        self.assertEqual(
            [t.get_text() for t in lines.axes[0].get_xticklabels()],
            [figures.QAM[m] for m in (1, 2, "adaptive")],
        )
        for axes in lines.axes[0], bars.axes[0]:
            self.assertIn("[1 realisation]", axes.figure._suptitle.get_text())
            self.assertFalse(any(getattr(c, "has_yerr", False) for c in axes.containers))
        r = results(
            self.experiment("channel: jakes\n  modulation: [1, 2]"),
            lambda p, n: {} if n == 1 or p["modulation"] == 2 else None,
        )
        for figure in self.draw(
            r,
            *(
                {"kind": kind, "x": "modulation", "series": "channel", "metric": "goodput_mbps"}
                for kind in ("lines", "bars")
            ),
        )[0]:
            (intervals,) = (
                c[2][0] for c in figure.axes[0].containers if getattr(c, "has_yerr", False)
            )
            self.assertEqual(
                [
                    bool(len(segment)) and math.isfinite(segment[0][1])
                    for segment in intervals.get_segments()
                ],
                [False, True],
            )

    def test_a_packet_stands_at_its_time_of_sending_where_the_run_tells_it(self):
        axis, numbers = "time of sending (s)", [0, 3, 2]
        for arrived, label, at in (
            ([[0, 9], [1, 8], [2, 7], [3, 6]], axis, [0, 1, 2, 3]),
            ([[0, 9], [3, 8], [2, 7], [3, 5]], axis, numbers),
            (None, r"nth packet that arrived (n/50)", [0, 1, 2]),
        ):
            work = workloads.stream(4, arrived or [[n, 9] for n in numbers])
            if arrived is None:  # as before there were numbers
                del work["numbers"]
            r = results(self.experiment(), lambda p, n: {"workload": work})
            axes = figures.scatter(
                r,
                {
                    "series": "channel",
                    "packets_per_s": 50,
                    "where": {"channel": "jakes", "modulation": 1},
                },
            ).axes[0]
            self.addCleanup(figures.plt.close, "all")
            self.assertEqual(
                (
                    axes.get_xlabel(),
                    [round(50 * x) for x in axes.lines[0].get_xdata()],
                    len(work["delays_us"]),
                ),
                (label, at, len(at)),
            )

    def test_a_bar_stands_at_its_category_and_a_missing_one_leaves_a_place_that_says_so(self):
        e = self.experiment("channel: [jakes, winner]\n  modulation: [adaptive, 1, 2, 3]")
        spec = {
            "kind": "bars",
            "x": "modulation",
            "series": "channel",
            "metric": "goodput_mbps",
            "missing": "not over",
        }
        absent = [("jakes", "adaptive"), ("jakes", 3), ("winner", 2)]
        r = results(
            e,
            lambda p, n: (
                None if (p["channel"], p["modulation"]) in absent else {"goodput_mbps": 1.0}
            ),
        )
        titles, series = figures.groups_of(r, spec, {})
        self.assertEqual(titles, [figures.QAM[m] for m in ("adaptive", 1, 2, 3)])
        self.assertEqual(
            {s: [i for i, v in places.items() if v is None] for s, places in series.items()},
            {("jakes",): [0, 3], ("winner",): [2]},
        )
        axes = figures.bars(r, spec).axes[0]
        self.addCleanup(figures.plt.close, "all")
        self.assertEqual([t.get_text() for t in axes.get_xticklabels()], titles)
        self.assertEqual(
            [
                round(b.get_x() + b.get_width() / 2, 1)
                for bars in axes.containers
                if hasattr(bars, "patches")
                for b in bars
            ],
            [0.8, 1.8, 0.2, 1.2, 3.2],
        )
        self.assertEqual(
            sorted((t.get_text(), round(t.xy[0], 1)) for t in axes.texts),
            [("not over", -0.2), ("not over", 2.2), ("not over", 2.8)],
        )
        with self.assertRaisesRegex(LookupError, "two points"):
            figures.groups_of(r, spec | {"x": "channel"}, {})

    def test_a_point_that_the_grid_leaves_out_is_no_gap_and_a_series_keeps_its_colour_in_every_panel(
        self,
    ):
        e = self.experiment(
            "- {channel: jakes, modulation: [1, 2], combining: ['on', 'off']}\n  - {channel:"
            " winner, modulation: 2, combining: 'off'}"
        )
        axes = figures.bars(
            results(e, lambda p, n: {}),
            {
                "panels": "channel",
                "x": "modulation",
                "series": "combining",
                "metric": "goodput_mbps",
            },
        ).axes
        self.addCleanup(figures.plt.close, "all")
        self.assertEqual([len(a.texts) for a in axes], [0, 0])
        colours = [
            [bars[0].get_facecolor() for bars in a.containers if hasattr(bars, "patches")]
            for a in axes
        ]
        self.assertEqual(colours[1], colours[0][1:])
        self.assertIsNotNone(axes[0].get_legend())

    def test_the_legend_has_the_series_of_all_panels_where_none_has_them_all(self):
        e = self.experiment(
            "- {channel: jakes, modulation: [1, 2], combining: 'on'}\n  - {channel: winner,"
            " modulation: [1, 2], combining: 'off'}"
        )
        shown = {"panels": "channel", "x": "modulation", "metric": "goodput_mbps"}
        for figure in (
            figures.lines(results(e, lambda p, n: {}), shown | {"series": "combining"}),
            figures.bars(results(e, lambda p, n: {}), shown | {"series": "combining"}),
        ):
            self.addCleanup(figures.plt.close, figure)
            legends = [
                [t.get_text() for t in a.get_legend().get_texts()]
                for a in figure.axes
                if a.get_legend()
            ]
            self.assertEqual(legends, [["combining (c)", "no combining (a)"]])

    def test_invalid_and_absent_runs_are_counted_and_left_out(self):
        e = self.experiment()

        def of(point, n):
            if point["modulation"] == 1 and n == 4:
                return None
            return {"valid": not (point["modulation"] == 2 and n == 3), "goodput_mbps": float(n)}

        r = results(e, of)
        self.assertEqual((r.runs, r.absent, r.invalid), (32, 2, 2))
        self.assertEqual(
            sorted(r.values(r.one({"channel": "jakes", "modulation": 2}), "goodput_mbps")),
            [1, 2, 4],
        )
        self.assertEqual(report.counts(r)["valid"], 28)

    def test_metrics_of_a_file_name_the_arguments(self):
        e = self.experiment()
        e.tree["figures"] = [{"metric": "modulation_share", "categories": [1, 2]}]
        self.assertEqual(
            report.metrics_of(e), ["modulation_share:1", "modulation_share:2", "goodput_mbps"]
        )
        with self.assertRaises(world.plan.BadInput):
            metrics.split("nothing:1")


if __name__ == "__main__":
    unittest.main()
