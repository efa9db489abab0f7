# SPDX-License-Identifier: GPL-3.0-or-later
"""Every kind of statement that compares: one result that bears it out, one that does not, and one
that cannot tell."""

import unittest

import world
from statement_case import NOISE, Case
from world import results

from openwip_cli.campaign import statements


class Comparisons(Case):
    def test_above_looks_at_the_closest_of_all_others(self):
        statement = {
            "kind": "above",
            "a": {"modulation": "adaptive"},
            "b_each": {"modulation": [1, 2, 3]},
            "for_each": {"channel": ["jakes"]},
        }
        j = self.evaluate(statement, lambda p: {"adaptive": 3, 1: 1, 2: 2.8, 3: 2}[p["modulation"]])
        self.assertEqual(j.holds, "yes")
        self.assertIn("least difference +0.200", j.measured)
        self.assertIn("(modulation 2)", j.measured)
        j = self.evaluate(statement, lambda p: {"adaptive": 3, 1: 1, 2: 3.2, 3: 2}[p["modulation"]])
        self.assertEqual(j.holds, "no")

    def test_all_cases_must_hold_and_one_that_was_not_measured_is_left_out(self):
        statement = {
            "kind": "above",
            "a": {"modulation": 2},
            "b": {"modulation": 1},
            "for_each": {"channel": ["jakes", "winner"]},
        }
        j = self.evaluate(
            statement, lambda p: p["modulation"] if p["modulation"] != "adaptive" else 4
        )
        self.assertTrue(j.holds == "yes" and "jakes: " in j.measured and "winner: " in j.measured)
        j = self.evaluate(
            statement,
            lambda p: {1: 1.0, 2: 2.0 if p["channel"] == "jakes" else 0.0}.get(p["modulation"], 4),
        )
        self.assertEqual(j.holds, "no")
        self.assertIn("winner: difference -1.000 ± 0.000 (modulation 1) (no)", j.measured)
        j = self.evaluate(
            statement, lambda p: None if p["channel"] == "winner" else 1 + (p["modulation"] == 2)
        )
        self.assertTrue(j.holds == "yes" and "winner" not in j.measured)
        self.assertEqual(self.evaluate(statement, lambda p: None).holds, "not measured")

    def test_a_difference_within_its_interval_is_not_sure(self):
        e = self.experiment()
        jitter = {1: 0.5, 2: -0.4, 3: 0.3, 4: -0.2}
        r = results(
            e, lambda p, n: {"goodput_mbps": 2 + (p["modulation"] == 2) * (0.05 + jitter[n])}
        )
        j = statements.evaluate(
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
                self.evaluate(ratio, lambda p: high if p["modulation"] == 2 else 1.0).holds, holds
            )
        self.assertEqual(
            self.evaluate(ratio | {"times": 0.9, "least": 0.85, "most": 0.95}, lambda p: 1.0).holds,
            "yes",
        )
        self.assertEqual(
            self.evaluate(ratio | {"times": 0.9, "least": 0.95}, lambda p: 1.0).holds, "no"
        )
        value = {"kind": "value", "where": at | {"modulation": 2}, "least": 2.0, "most": 5.0}
        # mean 3.25 of 2.5, 3, 3.5, 4
        self.assertEqual(self.evaluate(value, lambda p: 2.0).holds, "yes")
        self.assertEqual(self.evaluate(value, lambda p: 9.0).holds, "no")
        self.assertEqual(
            self.evaluate(value | {"most": 3.3}, lambda p: 2.0).holds, "yes (not sure)"
        )
        spread = {"kind": "spread", "over": "retransmission_delay_ms", "most": 0.05}
        grid = "channel: jakes\n  retransmission_delay_ms: [2, 8, 16]"
        self.assertEqual(
            self.evaluate(spread, lambda p: 4 - 0.001 * p["retransmission_delay_ms"], grid).holds,
            "yes",
        )
        self.assertEqual(
            self.evaluate(spread, lambda p: 4 - 0.1 * p["retransmission_delay_ms"], grid).holds,
            "no",
        )
        self.assertEqual(
            self.evaluate(spread | {"most_x": 2}, lambda p: 4, grid).holds, "not measured"
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
            self.evaluate(statement, lambda p: {1: 1, 2: 2, 3: 1.8}.get(p["modulation"], 9)).holds,
            "yes",
        )
        j = self.evaluate(statement, lambda p: {1: 1, 2: 2, 3: 2.5}.get(p["modulation"], 9))
        self.assertEqual(j.holds, "no")
        self.assertIn("3 (3.75), then 2 (3.25)", j.measured)
        falls = {"kind": "falls", "over": "wired_loss"}
        grid = "channel: jakes\n  wired_loss: [0, 0.01, 0.05]"
        self.assertEqual(
            self.evaluate(falls, lambda p: 4 - 20 * p["wired_loss"], grid).holds, "yes"
        )
        self.assertEqual(
            self.evaluate(
                falls, lambda p: 4 - (20 if p["wired_loss"] < 0.05 else 1) * p["wired_loss"], grid
            ).holds,
            "no",
        )
        half = lambda p, r: (4 if (p["wired_loss"] == 0) == (r == 1) else None)
        self.assertEqual(self.evaluate(falls, half, grid).holds, "not measured")

        # The setting also has values that are words; the statement is about the numbers.
        of_levels = {
            "kind": "falls",
            "over": "modulation",
            "among": [2, 3],
            "where": {"channel": "jakes"},
        }
        for above, holds in ((1.8, "yes"), (2.2, "no")):
            levels = {1: 1, 2: 2, 3: above}
            found = self.evaluate(of_levels, lambda p: levels.get(p["modulation"], 9))
            self.assertEqual(found.holds, holds)

        rises = {"kind": "rises", "over": "wired_loss"}
        self.assertEqual(
            self.evaluate(rises, lambda p: 4 + 20 * p["wired_loss"], grid).holds, "yes"
        )
        self.assertEqual(self.evaluate(rises, lambda p: 4 - 20 * p["wired_loss"], grid).holds, "no")

    def test_what_a_further_unit_adds_flattens(self):
        statement, grid = (
            {
                "kind": "flattens",
                "over": "queue_packets",
            },
            "channel: jakes\n  queue_packets: [1, 2, 4, 8]",
        )
        j = self.evaluate(
            statement, lambda p: {1: 10, 2: 20, 4: 30, 8: 35}[p["queue_packets"]], grid
        )
        self.assertTrue(j.holds.startswith("yes") and "% a" in j.measured, j)
        self.assertTrue(
            self.evaluate(
                statement, lambda p: 10 * 1.5 ** p["queue_packets"], grid
            ).holds.startswith("no")
        )
        self.assertTrue(
            self.evaluate(
                statement, lambda p: {1: 40, 2: 30, 4: 20, 8: 5}[p["queue_packets"]], grid
            ).holds.startswith("no")
        )
        self.assertEqual(
            self.evaluate(statement, lambda p: 10, "channel: jakes\n  queue_packets: [1, 2]").holds,
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

        def throughputs(*more):  # ratio of modulation 2 to modulation 1
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
                    self.assertEqual(
                        self.evaluate(gains | {"by": by}, throughputs(*more), grid).holds, holds
                    )
        shown = self.evaluate(gains | {"by": "difference"}, throughputs(1, 1.5, 1.7), grid).measured
        self.assertIn("-0.500 ± 0.000 (channel jakes, wired_loss 0 and 0.01)", shown)
        for wrong, reported in (
            ({"by": "share"}, "by is 'share'; valid: ratio, difference"),
            (
                {"among": None},
                "the key among is missing; valid for gains: metric, a, b, over, among",
            ),
        ):
            self.refused(reported, gains | {"metric": "goodput_mbps"} | wrong, grid)

    def check(self, statement, grid=None):
        given = {"id": "x", "says": "y"} | statement
        statements.check_statements(self.experiment(grid), [given])
        return given

    def refused(self, reported, statement, grid=None):
        with self.assertRaisesRegex(
            world.plan.BadInput, f"experiment file .*S1.yaml: statement x: {reported}"
        ):
            self.check({k: v for k, v in statement.items() if v is not None}, grid)

    def test_a_statement_says_all_that_its_kind_asks_for_and_nothing_that_would_be_ignored(self):
        value = {"kind": "value", "metric": "goodput_mbps", "where": {"channel": "jakes"}}
        self.check(value | {"most": 1})
        self.refused(
            "unknown key leest; valid for value: metric, where, least, most",
            value | {"leest": 100, "most": 1},
        )
        self.refused("the keys least and most are missing, of which one is needed", value)
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
        # The same form as statement `fack` of U-A4.
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
        for wrong, reported in (
            ({"where": 5}, "where is 5; valid: a mapping of settings that the grid varies"),
            (
                {"where": {"chanel": "jakes"}},
                "where: chanel is 'jakes'; valid: settings that the grid varies: channel",
            ),
            ({"where": {"channel": "jaks"}}, "where: channel is 'jaks'; valid: jakes, winner"),
            (
                {"for_each": {"channel": "jakes"}},
                "for_each: channel is 'jakes'; valid: a list of jakes",
            ),
            (
                {"for_each": {"chanel": ["jakes"]}},
                r"for_each: chanel is \['jakes'\]; valid: settings that the grid varies",
            ),
            ({"most": "much"}, "most is 'much'; valid: -1e"),
            ({"digits": 1.5}, "digits is 1.5; valid: 0..12"),
            ({"kind": ["value"]}, r"kind is \['value'\]; valid: value"),
            ({"averaged": [[1]]}, "averaged is"),
            (best | {"among": 5}, "over: modulation is 5; valid: a list of adaptive, 1, 2, 3"),
            (best | {"expect": 9}, "expect: modulation is 9; valid: adaptive, 1"),
            (best | {"over": "bins"}, "over: bins is .*; valid: settings that the grid varies"),
            (
                best | {"over": {"a": 1}},
                "over: {'a': 1} is .*; valid: settings that the grid varies",
            ),
            (
                {"kind": "falls", "over": "modulation", "most": None},
                (
                    "over is modulation, which has the value 'adaptive' in the grid; valid: a setting"
                    " whose values in the grid are numbers"
                ),
            ),
            (
                {"kind": "falls", "over": "modulation", "among": ["adaptive", 1], "most": None},
                "over is modulation, which has the value 'adaptive' in the grid",
            ),
            (
                {"kind": "disjoint", "over": 3, "a": {}, "b": {}, "where": None, "most": None},
                "over is 3; valid: a list of numbers",
            ),
            (
                {"kind": "falls", "over": [1], "most": None},
                r"over is \[1\]; valid: the name of a setting",
            ),
        ):
            with self.subTest(wrong):
                self.refused(reported, value | wrong)

    def test_a_statement_is_sure_by_all_that_it_compares(self):
        """Beside a comparison that is sure there is one with much noise, which does not show in the
        mean of both."""
        wide = {1: 3.0, 2: -3.0, 3: 3.0, 4: -2.8}
        at = {"channel": "jakes"}

        def throughputs(means, noisy):  # results for three modulations
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
                self.assertEqual(self.evaluate(statement, throughputs(means, noisy)).holds, holds)
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
                        self.evaluate(
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
                    self.evaluate(gains, more, grid + "\n  modulation: [1, 2]").holds, holds
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
                self.evaluate(
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
        # The noise is at 3, between ends whose growths differ clearly.
        for size, holds in ((0, "yes"), (0.3, "yes (not sure)")):
            of_queue = (
                lambda p, r: {1: 100, 2: 220, 3: 400, 4: 500, 5: 510}[p["queue_packets"]]
                * (1 + size * wide[r] / 3 * (p["queue_packets"] == 3))
                - 0.5 * r
                - NOISE[r]
            )
            with self.subTest("flattens", size=size):
                self.assertEqual(self.evaluate(flattens, of_queue, grid).holds, holds)

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
        found = self.evaluate(cross, of, grid)
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
            self.evaluate(
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
        self.assertEqual(self.evaluate(cross, of, grid).holds, "not measured")

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
        found = self.evaluate(value, lambda p: of[p["channel"]], grid)
        self.assertTrue(found.holds.startswith("yes") and found.measured.startswith("5.00"), found)
        self.assertEqual(
            self.evaluate(value | {"averaged": []}, lambda p: of[p["channel"]], grid).holds,
            "not measured",
        )
        absent = self.evaluate(value, lambda p: None if p["channel"] == "winner" else 3.75, grid)
        self.assertEqual(absent.holds, "not measured")
        rises = {"kind": "rises", "over": "wired_loss", "averaged": ["channel"]}
        self.assertEqual(
            self.evaluate(
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
        j = self.evaluate(
            statement,
            lambda p: 3 + (0.05 - p["prediction_nmse"]) * (p["switch_table"] == "nmse_0"),
            grid,
        )
        self.assertEqual(j.holds, "yes")
        self.assertIn("crossing at 0.050", j.measured)
        self.assertEqual(
            self.evaluate(statement, lambda p: 3 + (p["switch_table"] == "nmse_0"), grid).holds,
            "no",
        )


if __name__ == "__main__":
    unittest.main()
