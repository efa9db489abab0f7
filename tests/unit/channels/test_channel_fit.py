# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip channel fit: chains from traces of lost blocks, and what is refused."""

import contextlib
import io
import json
import math
import os
import pathlib
import sys
import tempfile
import unittest

import numpy

from openwip_cli.channel import chain_fit, command, losses
from openwip_cli.errors import BadInput
from openwip_cli.machine.places import Places

PLACES = Places(
    pathlib.Path(__file__).resolve().parents[3],
    pathlib.Path(os.environ["OPENWIP_BUILD"]),
    sys.executable,
)


def chain(p_c1, p_12, p_22, blocks, seed):
    """Blocks of the three-state chain."""
    draws = numpy.random.default_rng(seed).random(blocks)
    lost, state = numpy.zeros(blocks, bool), 0
    for k, draw in enumerate(draws):
        state = (1 if state == 0 else 2) if draw < (p_c1, p_12, p_22)[state] else 0
        lost[k] = state > 0
    return lost.reshape(-1, 1)


def sigma(p, n):
    return math.sqrt(p * (1 - p) / n)


class Fit(unittest.TestCase):
    def test_a_known_chain_comes_back_within_three_sigma(self):
        for n, (p_c1, p_12, p_22) in enumerate(
            [(0.01, 0.01, 0.01), (0.01, 0.5, 0.9), (0.05, 0.1, 0.6), (0.2, 0.02, 0.3)]
        ):
            result = chain_fit.fit(chain(p_c1, p_12, p_22, 100_000, n))
            for name, true in (("p_c1", p_c1), ("p_12", p_12), ("p_22", p_22)):
                p = result["chain3"][name]
                limit = 3 * sigma(true, max(p["of"], 1))
                if p["of"] > 30:  # second lost blocks are rare in the first chain
                    self.assertLess(abs(p["value"] - true), limit, (n, name))
            rate = chain_fit.rate_of_chain3(p_c1, p_12, p_22)
            got = result["error_rate"]
            three_sigma = 3 * (got["high"] - got["low"]) / 2 / chain_fit.NORMAL_95
            self.assertLess(abs(got["value"] - rate), three_sigma, n)
            self.assertAlmostEqual(
                result["settings"]["chain3"]["umts.errors"], got["value"], delta=0.02 * rate
            )

    def test_intervals_cover_the_truth_19_times_in_20(self):
        covered = {"p_c1": 0, "p_12": 0, "p_22": 0, "rate": 0}
        true = {"p_c1": 0.05, "p_12": 0.3, "p_22": 0.7}
        rate = chain_fit.rate_of_chain3(*true.values())
        for seed in range(100):
            result = chain_fit.fit(chain(*true.values(), 5000, 100 + seed))
            for name, value in true.items():
                p = result["chain3"][name]
                covered[name] += p["low"] <= value <= p["high"]
            covered["rate"] += result["error_rate"]["low"] <= rate <= result["error_rate"]["high"]
        for name, times in covered.items():
            # out of 100; 95 are expected, and 88 are 3.3 sigma below
            self.assertGreaterEqual(times, 88, name)

    def test_it_says_how_losses_cluster_and_whether_the_third_state_counts(self):
        rng = numpy.random.default_rng(1)
        independent = (rng.random(100_000) < 0.05).reshape(-1, 1)
        self.assertEqual(chain_fit.fit(independent)["kind"], "independent")
        isolated = chain_fit.fit(chain(0.2, 0.02, 0.02, 50_000, 1))
        self.assertEqual(isolated["kind"], "isolated")
        self.assertFalse(isolated["third_state"]["needed"])
        clustered = chain_fit.fit(chain(0.02, 0.3, 0.9, 50_000, 1))
        self.assertEqual(clustered["kind"], "clustered")
        self.assertTrue(clustered["third_state"]["needed"])

    def test_counts_are_those_of_a_small_trace(self):
        # Two users. The first one begins within a burst, of which nobody knows the beginning.
        lost = numpy.array([[1, 0], [1, 1], [0, 1], [1, 1], [0, 0], [0, 1]], bool)
        self.assertEqual(
            chain_fit.counts(lost), {"c": 4, "c1": 3, "1": 2, "12": 1, "2": 2, "22": 1}
        )

    def test_users_are_fitted_together(self):
        a = chain(0.05, 0.3, 0.6, 20_000, 1)
        both = chain_fit.fit(numpy.hstack([a, chain(0.05, 0.3, 0.6, 20_000, 2)]))
        alone = chain_fit.fit(a)
        self.assertEqual(both["users"], 2)
        self.assertGreater(both["chain3"]["p_12"]["of"], 1.8 * alone["chain3"]["p_12"]["of"])


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, content):
        path = pathlib.Path(self.folder.name, name)
        if isinstance(content, numpy.ndarray):
            numpy.save(path, content)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def test_every_form_of_a_trace_is_read_alike(self):
        trace = [[0, 1], [1, 0], [0, 0], [0, 1]]
        text = self.file("a.txt", "# losses\n01 0\n0 # the last one\n")
        self.assertEqual(losses.read(text).tolist(), [[False], [True], [False], [False]])
        for path in (
            self.file("a.csv", "one,two\n" + "".join(f"{a}, {b}\n" for a, b in trace)),
            self.file("b.csv", "".join(f"{a},{b}\n" for a, b in trace)),
            self.file("a.npy", numpy.array(trace)),
            self.file("b.npy", numpy.array(trace, dtype=float)),
        ):
            self.assertEqual(losses.read(path).tolist(), numpy.array(trace, bool).tolist(), path)
        self.assertEqual(losses.read(self.file("c.npy", numpy.array([1, 0]))).shape, (2, 1))

    def test_what_is_no_trace_is_refused_with_its_place(self):
        for name, content, why in (
            ("a.txt", "0 1\n0 2\n", "line 2 is '0 2'; valid: 0 for a block"),
            ("b.txt", "# nothing\n", "the file is empty"),
            ("c.txt", b"\xff\xfe\x00", "it is not text"),
            ("a.csv", "one,two\n0,1\n1\n", "line 3 has 1 columns; valid: 2"),
            ("b.csv", "0,1\n1,x\n", "line 2 has 'x'; valid: 0 for a block"),
            ("c.csv", "one,two\n", "there is nothing after its header line"),
            ("a.npy", b"PK", "it is no array of numpy"),
            ("b.npy", b"", "it is no array of numpy"),
            ("c.npy", numpy.array([0, 2]), "it has other values than 0 and 1"),
            ("d.npy", numpy.zeros((2, 2, 2)), "its shape is (2, 2, 2)"),
            ("e.npy", numpy.array(["0", "1"]), "it has other values than 0 and 1"),
            ("f.npy", numpy.array([{}], dtype=object), "it is no array of numpy"),
            ("g.npy", numpy.array([0, math.nan]), "it has other values than 0 and 1"),
        ):
            path = self.file(name, content)
            with self.subTest(name), self.assertRaises(BadInput) as refused:
                losses.read(path)
            self.assertIn(f"{path}: {why}", str(refused.exception))
        with self.assertRaisesRegex(BadInput, "cannot be read: No such file"):
            losses.read(pathlib.Path(self.folder.name, "missing.txt"))
        with self.assertRaisesRegex(BadInput, "Is a directory"):
            losses.read(pathlib.Path(self.folder.name))

    def run_fit(self, *arguments):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = command.main(["fit", *map(str, arguments)], PLACES)
        return code, out.getvalue()

    def test_the_command_prints_settings_and_writes_json(self):
        path = self.file("a.npy", chain(0.02, 0.3, 0.8, 20_000, 3))
        code, text = self.run_fit(path)
        self.assertEqual(code, 0)
        self.assertIn("losses are clustered", text)
        self.assertIn("of 20000 blocks lost, 1 user\n", text)
        self.assertIn("(p below 1e-300)", text)  # less than a floating-point number can be
        self.assertIn("--error-model chain3 --block-errors 0.0", text)
        code, text = self.run_fit(path, "--json")
        result = json.loads(text)
        self.assertEqual(result["settings"]["chain3"]["umts.error_model"], "chain3")
        self.assertEqual(result["file"], str(path))

    def test_a_trace_without_losses_or_without_arrivals_is_refused(self):
        for content, why in (
            ("0000", "none of the 4 blocks of the trace are lost"),
            ("111", "all of the 3 blocks of the trace are lost"),
            ("110", "the trace has no loss that follows an arrived block"),
            ("001", "the trace has no loss that follows an arrived block"),
        ):
            path = self.file("a.txt", content)
            with self.subTest(content), self.assertRaises(BadInput) as refused:
                self.run_fit(path)
            self.assertTrue(str(refused.exception).startswith(f"{path}: {why}"))


if __name__ == "__main__":
    unittest.main()
