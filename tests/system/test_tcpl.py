# SPDX-License-Identifier: GPL-3.0-or-later
"""TCP of the kernel over damaged segments: with the relay it runs as if there were no errors and
the application gets them, without it collapses and the application gets (almost) none. A faster
line than in the experiment, so that a transfer takes a second.

Exit code 77 (skipped) without root or /dev/net/tun."""

import csv
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from macd_world import need_root
from openwip_cli.cell import cell as cells
from openwip_cli.machine.places import Places
from openwip_cli.runs import tcpl, transfer_results, transfers
from openwip_cli.settings.scenario import Scenario

BUILD = pathlib.Path(os.environ["OPENWIP_BUILD"])
TOP = pathlib.Path(__file__).resolve().parents[2]
FAST = Scenario(
    {"line.rate_kbps": 8000.0, "line.delay_ms": 10.0, "traffic.limit_s": 120.0}, tcpl.SETTINGS
)


def failed_but_pacing(checks):
    return [name for name, passed in checks.items() if not passed and name != "pacing"]


@functools.cache  # two tests use the result with errors and the relay
def transfer(**point):
    point = {"mtu": 1500, "ber": 0.0, "burstiness": 0.0, "relay": True, "run": 0, "seed": 1} | point
    result = transfers.run_one(point, FAST, "tcpltest", Places(TOP, BUILD, sys.executable))
    # Whether the machine was busy is not the question here.
    assert failed_but_pacing(result["verdict"]["checks"]) == [], result
    return result


class TcpOverDamagedSegments(unittest.TestCase):
    def test_with_the_relay_it_hardly_slows_down_and_the_application_gets_the_errors(self):
        clean = transfer()
        self.assertEqual((clean["bytes_wrong"], clean["packets_damaged"]), (0, 0))
        damaged = transfer(ber=2.5e-5)
        self.assertGreater(damaged["packets_damaged"], 100)
        self.assertGreater(damaged["kbyte_s"], 0.85 * clean["kbyte_s"])
        self.assertGreater(damaged["relay_verdicts"]["recovered"], 0.9 * damaged["packets_damaged"])
        self.assertGreater(damaged["bits_wrong"], 100)
        self.assertLessEqual(damaged["bits_wrong"], damaged["path_bits_wrong"])

    def test_without_it_collapses_and_delivers_hardly_anything_wrong(self):
        clean = transfer(relay=False)
        damaged = transfer(ber=2.5e-5, relay=False)
        # The checksum misses one in 32 of the segments with two wrong bits: same column, opposite
        # values.
        self.assertLess(damaged["bits_wrong"], 0.05 * damaged["path_bits_wrong"])
        self.assertLess(damaged["kbyte_s"], 0.5 * clean["kbyte_s"])
        self.assertGreater(damaged["checksum_errors"], 50)
        self.assertEqual(damaged["relay_verdicts"], {})

    def test_bursts_hit_fewer_packets_and_are_taken_too(self):
        alone, burst = transfer(ber=2.5e-5), transfer(ber=2.5e-5, burstiness=0.9)
        self.assertLess(burst["packets_damaged"], 0.4 * alone["packets_damaged"])
        self.assertGreater(burst["relay_verdicts"]["recovered"], 0.8 * burst["packets_damaged"])

    def test_nothing_is_left_and_bad_options_are_one_line(self):
        self.assertEqual(cells.Cell("tcpltest").leftovers(), [])
        for options, words in (
            (["--ber", "2"], "--ber"),
            (["--mtu", "x"], "--mtu"),
            (["--runs", "0"], "--runs"),
            (["--nonsense"], "--nonsense"),
            (["--name", "muchtoolong"], "--name"),
            (["--ber", ""], "--ber is ''"),
            (["--mtu", "", "--time", "virtual"], "--mtu is ''"),
            (["--csv", "/nowhere/x.csv"], "the folder of --csv is '/nowhere/'"),
            (
                ["--csv", "x", "--png", "./x"],
                "--png ./x: cannot be written: that file is given twice",
            ),
        ):
            done = subprocess.run(
                [TOP / "openwip", "tcp-l", *options],
                capture_output=True,
                text=True,
                env=os.environ | {"OPENWIP_NO_BUILD": "1"},
            )
            self.assertEqual(done.returncode, 2, done)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
            self.assertIn(words, done.stderr)


class ALineSoBadThatNothingEnds(unittest.TestCase):
    """One bit in a hundred: a segment of 40 bytes gets through once in 25, one with data never."""

    def test_the_transfer_is_a_result_and_not_a_failure_of_the_run(self):
        with tempfile.TemporaryDirectory() as folder:
            file = {
                kind: str(pathlib.Path(folder) / f"out.{kind}") for kind in ("json", "csv", "png")
            }
            done = subprocess.run(
                [
                    TOP / "openwip",
                    "tcp-l",
                    "--name",
                    "tcplbad",
                    "--ber",
                    "0.01",
                    "--mtu",
                    "1500",
                    "--relay",
                    "off",
                    "--runs",
                    "2",
                    "--bytes",
                    "100000",
                    "--rate-kbps",
                    "8000",
                    "--delay-ms",
                    "10",
                    "--limit",
                    "4",
                    f"--json={file['json']}",
                    "--csv",
                    file["csv"],
                    "--png",
                    file["png"],
                ],
                capture_output=True,
                text=True,
                env=os.environ | {"OPENWIP_NO_BUILD": "1"},
                timeout=120,
            )
            report = json.loads(pathlib.Path(file["json"]).read_text(encoding="utf-8"))
            # Whether the machine was busy is not the question here.
            for run in report["runs"]:
                self.assertEqual(failed_but_pacing(run["verdict"]["checks"]), [], done)
                self.assertTrue(run["unfinished"])
                self.assertNotIn("kbyte_s", run)
                self.assertGreater(run["packets_damaged"], 0)  # errors were injected
            if report["verdict"]["valid"]:
                self.assertEqual(done.returncode, 0, done)
                (row,) = report["summary"]
                self.assertEqual(
                    (row["tcp_unfinished"], row["tcp_runs"], row["tcp_kbyte_s"]), (2, 0, None)
                )
                self.assertIn("- (2 unfinished)", done.stdout)
            with open(file["csv"], newline="", encoding="utf-8") as f:
                self.assertEqual(
                    [(r["unfinished"], r["seconds"]) for r in csv.DictReader(f)], [("True", "")] * 2
                )
            self.assertEqual(pathlib.Path(file["png"]).read_bytes()[:4], b"\x89PNG")
        self.assertEqual(cells.Cell("tcplbad0").leftovers(), [])


class Unfinished(unittest.TestCase):
    @staticmethod
    def result(kbyte_s=None, relay=False, valid=True, **more):
        one = {
            "mtu": 1500,
            "ber": 1e-5,
            "burstiness": 0.0,
            "relay": relay,
            "packets": 1000,
            "packets_damaged": 100,
            "relay_verdicts": {"recovered": 90} if relay else {},
            "verdict": {"valid": valid, "reasons": []},
        }
        return (
            one
            | ({"unfinished": True} if kbyte_s is None else {"kbyte_s": kbyte_s, "bits_wrong": 50})
            | more
        )

    def test_transfers_are_counted_and_left_out_of_every_mean(self):
        (row,) = transfer_results.summary(
            [
                self.result(10.0),
                self.result(),
                self.result(14.0),
                self.result(40.0, relay=True),
                self.result(relay=True, packets_damaged=900),
                self.result(relay=True, valid=False),
            ]
        )
        self.assertEqual((row["tcp_unfinished"], row["tcp_runs"], row["tcp_kbyte_s"]), (1, 2, 12.0))
        # An invalid run is neither: nobody knows why it did not end.
        self.assertEqual(
            (row["tcpl_unfinished"], row["tcpl_runs"], row["tcpl_kbyte_s"]), (1, 1, 40.0)
        )
        self.assertEqual(
            (row["packets_damaged"], row["recovered"], row["bits_wrong"]), (0.1, 0.9, 50)
        )

    def test_when_none_ended_there_is_no_throughput_and_no_damage(self):
        (row,) = transfer_results.summary(
            [self.result(), self.result(relay=True), self.result(relay=True)]
        )
        self.assertEqual(
            (row["tcp_kbyte_s"], row["tcp_interval"], row["tcpl_kbyte_s"]), (None, None, None)
        )
        self.assertEqual((row["tcp_unfinished"], row["tcpl_unfinished"]), (1, 2))
        self.assertNotIn("bits_wrong", row)
        line = transfer_results.table([row]).splitlines()[1]
        self.assertIn("- (1 unfinished)", line)
        self.assertIn("- (2 unfinished)", line)

    def test_the_table_says_so_beside_the_mean_of_the_others(self):
        rows = transfer_results.summary(
            [
                self.result(10.0),
                self.result(12.0),
                self.result(),
                self.result(40.0, relay=True),
                self.result(41.0, relay=True),
            ]
        )
        line = transfer_results.table(rows).splitlines()[1]
        self.assertIn("11.0 ± 12.7 (1 unfinished)", line)
        self.assertEqual(line.count("unfinished"), 1)


class Points(unittest.TestCase):
    def test_the_scenarios_of_the_literature_have_all_their_points(self):
        for name, points in (("tcp-l", 2 * 6 * 2 * 30), ("tcp-l-bursts", 2 * 5 * 2 * 30)):
            _, _, s = tcpl.parse(["--config", str(TOP / f"flowgraphs/scenarios/{name}.yaml")])
            self.assertEqual(len(list(tcpl.points_of(s))), points)

    def test_a_value_that_is_given_twice_is_measured_once(self):
        """Otherwise the same seeds would count as further runs, and the interval would be too
        narrow."""
        for given in ("1e-5", "1e-5,1e-5,0.00001"):
            s = tcpl.parse(["--ber", given, "--mtu", "576", "--runs", "3", "--relay", "off"])[2]
            self.assertEqual([p["seed"] for p in tcpl.points_of(s)], [1, 2, 3])


class Figure(unittest.TestCase):
    def test_every_point_of_both_panels_is_inside_the_axes(self):
        rows = [
            {
                "mtu": mtu,
                "ber": ber,
                "burstiness": 0.0,
                "tcp_kbyte_s": most - 1e6 * ber,
                "tcp_interval": 1.0,
                "tcpl_kbyte_s": most,
                "tcpl_interval": None,
            }
            for mtu, most in ((576, 43.6), (1500, 46.3))
            for ber in (0, 2.5e-5)
        ]
        figure = transfer_results.draw(rows)
        self.assertEqual([a.get_title() for a in figure.axes], ["MTU 576", "MTU 1500"])
        for a in figure.axes:
            low, high = a.get_ylim()
            shown = [y for line in a.get_lines() for y in line.get_ydata()]
            self.assertEqual(low, 0)
            self.assertGreater(max(shown), 43)
            self.assertLess(max(shown), high)


class Intervals(unittest.TestCase):
    def test_of_student_for_few_values(self):
        mean, half = transfer_results.interval([10.0, 12.0, 14.0])
        self.assertAlmostEqual(mean, 12)
        self.assertAlmostEqual(half, 4.303 * 2 / 3**0.5, places=3)
        self.assertEqual(transfer_results.interval([5.0]), (5.0, None))
        self.assertAlmostEqual(
            transfer_results.interval([1.0, 2.0] * 15)[1], 2.045 * 0.50855 / 30**0.5, places=2
        )


if __name__ == "__main__":
    need_root()
    unittest.main(verbosity=2)
