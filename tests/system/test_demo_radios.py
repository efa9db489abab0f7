# SPDX-License-Identifier: GPL-3.0-or-later
"""A short demo with each kind of radio in both stations: the link carries what its faults leave.
What the machine does to the pace is not evaluated."""

import concurrent.futures
import itertools
import json
import os
import pathlib
import tempfile
import unittest

from demo_support import built, cells, left_of, openwip

CELLS = (f"r{os.getpid() % 100000}n{n}" for n in itertools.count())
# Two at a time on two cores, beside tests of the lowest priority: at half the pace a cell was held
# back now and then until TCP's timer ran out.
SLOW = ["--speed", "0.25", "--pacing-limit-ms", "1000"]
# The SNR leaves room for the image of any product; two products run at 256-QAM below.
SIX_BITS = ["--modulation", "6", "--snr", "30"]
EIGHT_BITS = ["--modulation", "8", "--snr", "40"]


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "macd is not built")
class Products(unittest.TestCase):
    def run_all(self, settings):
        """The reports, two cells at a time: one core each is what a cell of this pace takes."""
        with concurrent.futures.ThreadPoolExecutor(2) as two:
            return list(two.map(lambda these: self.run_with(*these), settings))

    def run_with(self, *arguments):
        cell = next(CELLS)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "r.json")
            done = openwip(
                "demo",
                "--name",
                cell,
                *SLOW,
                "--duration",
                "1",
                "--pings",
                "5",
                "--uplink-kbps",
                "2000",
                *arguments,
                f"--json={path}",
            )
            self.assertEqual(left_of(cells.Cell(cell)), [])
            self.assertTrue(path.exists(), done.stdout + done.stderr)
            report = json.loads(path.read_text())
        self.assertEqual(report["realtime"]["late_slots"], 0)
        self.assertEqual(report["tcp"]["retransmits"], 0)
        self.assertGreater(report["link"]["frames_sent"], 5000)
        return report

    def test_every_product_runs_the_demo(self):
        products = ("b200", "b210", "x310", "n310", "n320", "e320", "x410", "n210")
        for product, report in zip(
            products, self.run_all([("--product", product, *SIX_BITS) for product in products])
        ):
            with self.subTest(product):
                self.assertLess(report["link"]["frame_error_rate"], 0.02)

    # A clock of 100 MHz (8.333 MS/s) and one of 200 MHz (7.692 MS/s), without other faults: nothing
    # is lost by the conversion.
    def test_another_rate_costs_no_frame_at_256_qam(self):
        radios = ("product=n210,faults=0", "product=x310,master_clock_rate=200e6,faults=0")
        for radio, report in zip(
            radios,
            self.run_all(
                [
                    ("--base-radio", radio, "--terminal-radio", radio, *EIGHT_BITS)
                    for radio in radios
                ]
            ),
        ):
            with self.subTest(radio):
                self.assertEqual(report["link"]["frames_failed"], 0)

    def test_radios_of_two_kinds_at_256_qam(self):
        report = self.run_with(
            "--base-radio", "product=x310", "--terminal-radio", "product=b210", *EIGHT_BITS
        )
        self.assertLess(report["link"]["frame_error_rate"], 0.02)


class Refused(unittest.TestCase):
    def test_a_wrong_product_is_one_line_and_exit_code_2(self):
        for arguments, words in (
            (["--product", "b2100"], "openwip: --product is 'b2100'; valid: ideal|b200|b210|n210|"),
            (
                ["--base-radio", "product=usrp"],
                "openwip: --base-radio is 'product=usrp'; valid: product=ideal, b200",
            ),
            (
                ["--terminal-radio", "b210"],
                "openwip: --terminal-radio is 'b210'; valid: none, or device arguments",
            ),
        ):
            done = openwip("demo", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertTrue(done.stderr.startswith(words), done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
