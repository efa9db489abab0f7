# SPDX-License-Identifier: GPL-3.0-or-later
"""The analysis of ./openwip ratings: it recovers a synthetic study of 40 subjects and 8 cases, its
pairs are those of scipy and its boxes those of matplotlib."""

import itertools
import json
import math
import pathlib
import random
import unittest

from rating_subject import Folder, Person

from openwip_cli.errors import BadInput
from openwip_cli.ratings import cases, export, pictures

NAMES = {case.name for task in cases.TASKS for case in cases.cases_of(task)}


def synthetic(means, subjects, seed):
    """Rows of a study whose grades are drawn: a normal number about the case's mean, rounded to a
    grade; the delay of a case falls with its mean."""
    source, rows = random.Random(seed), []
    for subject, (case, mean) in itertools.product(range(1, subjects + 1), means.items()):
        grade = min(5, max(1, round(source.gauss(mean, 0.6))))
        rows.append(
            {"subject": subject, "task": "page-b", "code": case, "rating": grade, "valid": True}
            | {"initial_s": 1.0, "total_s": 10 ** (2.5 - mean / 2), "simulated": False}
        )
    return rows


class Analysis(Folder):
    MEANS = dict(zip(cases.TEXT, (4.5, 4.0, 3.9, 3.4, 2.9, 2.0, 1.9, 1.4)))

    @classmethod
    def setUpClass(cls):
        try:
            from openwip_cli.ratings import analysis
        except ImportError as e:
            raise unittest.SkipTest(f"{e}: run ./openwip setup test") from e
        cls.analysis = analysis
        cls.rows = synthetic(cls.MEANS, 40, 1)
        cls.result = analysis.of_rows(cls.rows)
        cls.found = cls.result["tasks"]["page-b"]

    def test_a_study_of_40_subjects_and_8_cases_is_recovered(self):
        self.assertEqual((self.result["subjects"], self.result["grades"]), (40, 320))
        for case in self.found["cases"]:
            # The deviation of a mean of 40 rounded grades is below 0.11.
            self.assertAlmostEqual(case["mean"], self.MEANS[case["case"]], delta=0.35)
        different = set(map(tuple, self.found["different"]))
        for (one, high), (other, low) in itertools.combinations(self.MEANS.items(), 2):
            if high - low >= 0.9:
                self.assertIn((one, other), different)
            if high - low <= 0.11:
                self.assertNotIn((one, other), different)
        self.assertLess(self.found["anova"]["p"], 1e-20)
        self.assertEqual((self.found["anova"]["between"], self.found["anova"]["within"]), (7, 312))

    def test_equal_cases_differ_in_one_study_of_twenty(self):
        alike = dict.fromkeys(cases.TEXT, 3.0)
        wrong = sum(
            bool(self.analysis.of_rows(synthetic(alike, 40, seed))["tasks"]["page-b"]["different"])
            for seed in range(100, 160)
        )
        # In 60 studies 3 wrong ones are expected; 10 or more have a probability of 7e-4.
        self.assertLess(wrong, 10)

    def test_pairs_are_those_of_scipy(self):
        from scipy import stats

        for count in (40, 23):  # grades: a balanced study, and an unbalanced one
            rows = [r for r in self.rows if r["subject"] <= count or r["code"] != "32_150_1"]
            groups = {c: [r["rating"] for r in rows if r["code"] == c] for c in sorted(self.MEANS)}
            names, pairs = list(groups), set()
            found = stats.tukey_hsd(*groups.values())
            for i, j in itertools.permutations(range(8), 2):
                if found.pvalue[i, j] < 0.05 and found.statistic[i, j] > 0:
                    pairs.add((names[i], names[j]))
            ours = self.analysis.of_rows(rows)["tasks"]["page-b"]["different"]
            self.assertEqual(set(map(tuple, ours)), pairs)

    def test_disjoint_intervals_are_different_cases(self):
        different = {frozenset(pair) for pair in self.found["different"]}
        for one, other in itertools.combinations(self.found["cases"], 2):
            (low, high), (low2, high2) = one["interval"], other["interval"]
            self.assertEqual(
                high < low2 or high2 < low, frozenset((one["case"], other["case"])) in different
            )

    def test_boxes_are_those_of_matplotlib(self):
        from matplotlib import cbook

        for grades in ([1, 2, 2, 3, 3, 3, 4, 5, 5], [3, 3, 3, 3, 5], [4]):
            (theirs,) = cbook.boxplot_stats(grades, whis=1.5)
            ours = self.analysis.box(grades)
            self.assertEqual(ours["quartiles"], [theirs["q1"], theirs["med"], theirs["q3"]])
            self.assertEqual(ours["whiskers"], [theirs["whislo"], theirs["whishi"]])
            self.assertEqual(ours["outliers"], sorted(theirs["fliers"]))
            for mine, its in zip(ours["notch"], (theirs["cilo"], theirs["cihi"])):
                self.assertAlmostEqual(mine, its)

    def test_grades_against_delay(self):
        line = self.found["against_delay"]
        self.assertAlmostEqual(line["grades_per_decade"], -2.0, delta=0.2)
        self.assertLess(line["rank_correlation"], -0.95)

    def test_a_run_over_an_invalid_link_does_not_count(self):
        rows = [dict(r, valid=r["subject"] > 1) for r in self.rows]
        found = self.analysis.of_rows(rows)
        self.assertEqual((found["grades"], found["left_out"]), (312, 8))
        with self.assertRaisesRegex(BadInput, "no grade of a run whose verdict is VALID"):
            self.analysis.of_rows([dict(r, valid=False) for r in rows])

    def test_grades_that_are_all_the_same(self):
        rows = [dict(r, rating=3) for r in self.rows]
        result = self.analysis.of_rows(rows)
        found = result["tasks"]["page-b"]
        self.assertIn("rank correlation -", self.analysis.screen(result))
        self.assertEqual((found["anova"]["f"], found["different"]), (None, []))
        json.dumps(found, allow_nan=False)
        self.assertTrue(all(math.isfinite(c["mean"]) for c in found["cases"]))

    def test_from_the_sessions_to_the_figures(self):
        made = self.made(subjects=1, tasks=[cases.PAGE_A])
        self.held(made, 1, Person(cases.GRADES))
        table = str(made.folder / "runs.csv")
        self.openwip("export", self.folder, "--unblind", "--out", table)
        self.assertEqual(export.read_csv(table)[0]["comment"], "'=1+1")
        for source in ((self.folder, "--unblind"), (table,)):
            out = str(made.folder / "figures")
            found = json.loads(self.openwip("analyse", *source, "--out", out, "--json"))
            self.assertEqual(
                {c["case"] for c in found["tasks"]["page-a"]["cases"]}, set(cases.TEXT)
            )
            drawn = pathlib.Path(out, "ratings-page-a.png").read_bytes()
            self.assertEqual(drawn[:8], pictures.SIGNATURE)
        blind = self.openwip("analyse", self.folder)
        self.assertEqual([n for n in NAMES if n in blind], [])
        self.assertIn("8 grades of 1 subjects", blind)


if __name__ == "__main__":
    unittest.main()
