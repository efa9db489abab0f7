# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of experiment Q-1, made from values written here."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from bench_support import bench

queues = bench("queue_table")


def lines(metrics):
    """Three realisations; by the predicted rate delays are a tenth shorter, goodputs the same."""
    yield "channel,congestion_control,queue,queue_marking,realisation,run,metric,value"
    for marking, factor in (("sojourn", 1.0), ("predicted", 0.9)):
        for realisation in (1, 2, 3):
            for metric in metrics:
                scale = factor if metric.startswith("packet_delay") else 1
                yield f"jakes,cubic,codel,{marking},{realisation},k,{metric},{10 * realisation * scale}"
    for realisation in (1, 2, 3):
        for metric in metrics:
            yield f"jakes,cubic,drop_tail,sojourn,{realisation},k,{metric},{realisation}"


class QueueTable(unittest.TestCase):
    def run_it(self, metrics):
        statement = {"id": "a", "says": "b", "source": "c", "measured": "d", "holds": "yes"}
        experiment = {
            "realisations": 3,
            "counts": {"runs": 9, "valid": 9},
            "statements": [statement | {"note": ""}],
        }
        with (
            tempfile.TemporaryDirectory() as at,
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()) as errors,
        ):
            folder = pathlib.Path(at)
            (folder / "Q-1.csv").write_text("\n".join(lines(metrics)) + "\n")
            (folder / "comparison.json").write_text(
                json.dumps({"experiments": {"Q-1": experiment}})
            )
            out = folder / "queues.json"
            with mock.patch.object(sys, "argv", ["queue_table", at, "--json", str(out)]):
                code = queues.main()
            return code, json.loads(out.read_text()) if out.exists() else None, errors.getvalue()

    def test_ratios_are_of_pairs_of_the_same_realisation(self):
        code, made, _ = self.run_it(queues.METRICS.values())
        self.assertEqual(code, 0)
        self.assertEqual([r["queue"] for r in made["rows"]], ["codel", "codel", "drop_tail"])
        self.assertEqual(made["rows"][0]["p95_ms"]["mean"], 20)
        (gain,) = made["gains"]  # drop tail does not signal
        self.assertEqual((gain["queue"], gain["goodput_mbps"]), ("codel", {"mean": 1, "half": 0}))
        self.assertAlmostEqual(gain["p95_ms"]["mean"], 0.9)
        self.assertAlmostEqual(gain["p95_ms"]["half"], 0)
        self.assertEqual(made["statements"][0]["holds"], "yes")
        self.assertIn("--realisations 3 ", made["about"]["command"])

    def test_a_point_without_a_value_is_named_and_nothing_is_written(self):
        code, made, errors = self.run_it(["goodput_mbps", "marked"])
        self.assertEqual((code, made), (1, None))
        self.assertIn("Q-1.csv has no packet_delay_ms:50 sojourn codel cubic jakes", errors)


if __name__ == "__main__":
    unittest.main()
