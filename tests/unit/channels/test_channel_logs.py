# SPDX-License-Identifier: GPL-3.0-or-later
"""SNR logs as spreadsheets, pandas, MATLAB and drive tests write them: the same rows from every
dialect, or one line that names what is wrong; rows at other times, and logs that are long."""

import json
import pathlib
import resource
import sys
import tempfile
import unittest

import numpy

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "host" / "cli"))

from openwip_cli.channel import logs, resampled
from openwip_cli.errors import BadInput

ROWS = 30
HEAD = [f"snr_db_{b}" for b in range(25)]


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name, "log")
        rng = numpy.random.default_rng(10)
        self.text = [
            [f"{v:.2f}" for v in row] for row in numpy.clip(rng.normal(16, 8, (ROWS, 25)), -20, 40)
        ]
        self.table = numpy.array(self.text, dtype="f4")

    def write(self, lines, end="\n", encoding="utf-8"):
        self.path.write_bytes((end.join(lines) + end).encode(encoding))
        return str(self.path)

    def read(self, lines, rate=None, rule="linear", **more):
        log = logs.Log(self.write(lines, **more))
        return numpy.vstack(list(resampled.rows(log, rate, rule)))

    def refused(self, pattern, lines, rate=None, **more):
        with self.assertRaisesRegex(BadInput, pattern) as caught:
            self.read(lines, rate, **more)
        self.assertNotIn("\n", str(caught.exception))


class Dialects(Folder):
    def test_every_dialect_gives_the_same_rows(self):
        plain = [",".join(r) for r in self.text]
        german = [[v.replace(".", ",") for v in r] for r in self.text]
        windows = {"end": "\r\n", "encoding": "utf-8-sig"}
        for name, lines, more in (
            ("plain", plain, {}),
            ("Excel, German", [";".join(HEAD)] + [";".join(r) for r in german], windows),
            ("a line sep=", ["sep=;", ";".join(HEAD)] + [";".join(r) for r in self.text], {}),
            ("commas quoted", [",".join(f'"{v}"' for v in r) for r in german], {}),
            ("byte order mark", [",".join(HEAD), *plain], windows),
            ("carriage returns", plain, {"end": "\r"}),
            ("tabs", ["\t".join(r) for r in self.text], {}),
            ("tabs and decimal commas", ["\t".join(r) for r in german], {}),
            ("spaces", ["  " + "  ".join(r) for r in self.text], {}),
            ("a space behind", [", ".join(r) for r in self.text], {}),
            ("UTF-16", plain, {"end": "\r\n", "encoding": "utf-16"}),
            ("a comma at the end", [r + "," for r in plain], {}),
            ("quoted", [",".join(f'"{v}"' for v in r) for r in self.text], {}),
            ("other names", [",".join(f"bin {b} [dB]" for b in range(25)), *plain], {}),
            ("two lines of names", [",".join(HEAD), ",".join(["dB"] * 25), *plain], {}),
            ("comments", ["# made by a tool", "# rate 1500", *plain, "", "# end"], {}),
            ("pandas", ["," + ",".join(HEAD)] + [f"{k},{r}" for k, r in enumerate(plain)], {}),
            ("an index", [f"{k},{r}" for k, r in enumerate(plain, 1)], {}),
            (
                "times of the slots",
                ["time_s," + ",".join(HEAD)] + [f"{k / 1500:.6f},{r}" for k, r in enumerate(plain)],
                {},
            ),
            ("NumPy", [",".join(f"{float(v):.18e}" for v in r) for r in self.text], {}),
            ("JSON lists", ["[" + r + "]" for r in plain], {}),
            (
                "JSON objects",
                [json.dumps({"snr_db": [float(v) for v in r]}) for r in self.text],
                {},
            ),
        ):
            with self.subTest(name):
                rows = self.read(lines, **more)
                self.assertEqual(rows.shape, self.table.shape)
                self.assertLess(abs(rows - self.table).max(), 1e-5)

    def test_fifty_columns_are_predictions(self):
        rows = self.read([",".join(r + r) for r in self.text])
        self.assertEqual(rows.tobytes(), numpy.hstack([self.table, self.table]).tobytes())
        self.refused(
            "line 1 has 50 whole numbers separated by ',', which may be 25 with decimal commas",
            [",".join(["16,5"] * 25)] * 3,
        )

    def test_one_value_is_that_of_all_bins(self):
        for lines in (
            ["sinr_db", "16.5", "17"],
            ["snr;", "16,5;", "17,0;"],
            ['"16,5"', '"17,0"'],
            ['{"sinr": 16.5}', '{"sinr": 17}'],
        ):
            self.assertEqual(self.read(lines).tolist(), [[16.5] * 25, [17.0] * 25])
        self.refused(
            "has two whole numbers separated by ',', which may be one with", ["16,5", "17,0"]
        )

    def test_what_is_no_number_of_this_log_is_named_with_its_line(self):
        plain = [",".join(r) for r in self.text]

        def with_(value, at=14):
            return [
                *plain[:at],
                ",".join([*self.text[at][:7], value, *self.text[at][8:]]),
                *plain[at + 1 :],
            ]

        for value, pattern in (
            ("nan", "line 15 has 'nan'; valid: numbers in dB"),
            ("-inf", "line 15 has '-inf'"),
            ("", "line 15 has ''"),
            ("1_6.0", "line 15 has '1_6.0'"),
            ("0x1p3", "line 15 has '0x1p3'"),
            ("١٦", "line 15 has '١٦'"),
            ("-61", "line 15 has an SNR that is not valid; valid: -60..80 dB"),
            ("1e3", "line 15 has an SNR that is not valid; valid: -60..80 dB"),
        ):
            with self.subTest(value):
                self.refused(pattern, with_(value))
        for lines, pattern in (
            (
                [";".join(r[:7]) for r in self.text],
                "line 1 has 7 columns separated by ';'; valid: ",
            ),
            (["\t".join(r[:7]) for r in self.text], "7 columns separated by tabs"),
            ([*plain[:5], "1,2", *plain], "line 6 has 2 columns separated by ','; valid: 25"),
            (["a,b", "c,d"], "has no rows of numbers in its first 2 lines"),
            (
                ["place," + ",".join(HEAD)] + [f"3.{k % 7},{r}" for k, r in enumerate(plain)],
                "has a column before the SNRs that is called 'place'; valid: a time",
            ),
            (['{"x": 1}'], "line 1 has no SNR; valid: a key snr_db, snr, sinr_db, sinr"),
            (["[1, 2"], "line 1 is no JSON"),
            (['["1"]'], "line 1 has values that are no numbers"),
            (["[" * 100_000], "line 1 is no JSON"),
            (["[true]"], "line 1 has values that are no numbers"),
        ):
            with self.subTest(pattern):
                self.refused(pattern, lines)

    def test_other_files_are_named(self):
        for content, kind in (
            (b"PAR1" + bytes(100), "a Parquet file"),
            (b"PK\x03\x04", "a ZIP archive"),
        ):
            self.path.write_bytes(content)
            with self.assertRaisesRegex(BadInput, f"is {kind}.*; valid: the same as CSV"):
                logs.Log(str(self.path))
        for path, words in (("/dev/zero", "is no regular file"), ("/nowhere", "No such file")):
            with self.assertRaisesRegex(BadInput, f"{path}: cannot be read: {words}"):
                logs.Log(path)


class Times(Folder):
    def at(self, seconds, rows):
        return rows[round(seconds * 1500)][0]

    def test_rows_between_two_seconds_follow_the_rule_that_is_named(self):
        lines = ["10", "20", "0"]
        for rule, half, last in (("linear", 17.404, 17.0), ("db", 15, 10), ("hold", 10, 20)):
            rows = self.read(lines, 1, rule)
            with self.subTest(rule):
                self.assertEqual(len(rows), 2 * 1500 + 1)
                self.assertAlmostEqual(self.at(0.5, rows), half, places=2)
                self.assertAlmostEqual(self.at(1.5, rows), last, delta=0.05)
                self.assertEqual([self.at(s, rows) for s in (0, 1, 2)], [10, 20, 0])

    def test_a_column_of_times_is_the_rate_however_it_is_written(self):
        for lines in (
            [
                "timestamp;sinr",
                "2026-01-01 12:00:00;10,0",
                "2026-01-01 12:00:01;20,0",
                "2026-01-01 12:00:03;0,0",
            ],
            ["t,snr", "100.5,10", "101.5,20", "103.5,0"],
            ["time_ms,snr", "500,10", "1500,20", "3500,0"],
            ['{"t": 7, "snr": 10}', '{"t": 8, "snr": 20}', '{"t": 10, "snr": 0}'],
        ):
            rows = self.read(lines, None, "db")
            with self.subTest(lines[0]):
                self.assertEqual(len(rows), 4501)
                self.assertEqual([self.at(s, rows) for s in (0, 1, 2, 3)], [10, 20, 10, 0])
        self.refused("row 3 is not later than the one before it", ["t,snr", "0,1", "1,2", "1,3"])
        self.refused("line 3 has the time 'noon'", ["t,snr", "0,1", "noon,2"])
        # the rate of the option instead
        self.assertEqual(len(self.read(["t,snr", "0,1", "9,2"], 1500)), 2)

    def test_blocks_join_without_a_seam(self):
        long = [str(k % 50) for k in range(3 * logs.BLOCK)]
        rows = self.read(long, 750, "db")
        wanted = numpy.interp(
            numpy.arange(len(rows)) / 2, numpy.arange(len(long)), [float(v) for v in long]
        )
        self.assertLess(abs(rows[:, 0] - wanted).max(), 1e-4)
        self.assertEqual(len(rows), 2 * len(long) - 1)

    def test_rates_that_cannot_be_are_refused_before_anything_is_made(self):
        for rate in (1e-9, 1e-5):
            self.refused("last .* s; valid: up to 604800 s", ["1", "2", *["3"] * 300], rate)
        for rate in (0, -1, float("nan"), float("inf"), 1e7):
            self.refused("valid: more than 0, to 1e\\+06 rows a second", ["1", "2"], rate)
        self.refused("has fewer than two rows", ["1"], 1)

    def test_memory_does_not_grow_with_the_length_of_the_log(self):
        """An hour of rows a second: 540 MB of slots."""
        log = logs.Log(self.write(["16", "12"] * 1800))
        found = resampled.Summary()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for block in resampled.rows(log, 1, "db"):
            found.add(block)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        self.assertEqual(found.slots, 3599 * 1500 + 1)
        self.assertLess(grown, 150_000)  # kB
        self.assertAlmostEqual(found.mean_db, 14.15, delta=0.1)


if __name__ == "__main__":
    unittest.main()
