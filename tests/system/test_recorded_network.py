# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded network as the link of a running cell: when its packets come, what can be changed while
it runs, its report, record, capture and journal; and what is refused before it starts."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from emulate_support import PATIENT, PLACES, PRIVILEGED, openwip
from openwip_cli.cell import cell as cells
from openwip_cli.cell.program_check import check_config
from openwip_cli.commands import settings_command
from openwip_cli.errors import BadInput
from openwip_cli.runs import emulate
from openwip_cli.settings.emulator import scenario_of

NAME = f"rn{os.getpid() % 100000}"
TRACES = pathlib.Path(__file__).resolve().parents[1] / "vectors/delivery"
RECORDED = PATIENT | {"link.kind": "trace", "trace.file": str(TRACES / "slow-3g.json")}


def ping(cell, *arguments):
    """Round trips in ms of the echoes that came back."""
    done = subprocess.run(
        ["ip", "netns", "exec", cell.namespace("base"), "ping", "-n", *arguments, "10.42.0.2"],
        capture_output=True,
        text=True,
    )
    return [float(t) for t in re.findall(r"time=([\d.]+) ms", done.stdout)]


class Refusals(unittest.TestCase):
    def test_the_command_refuses_what_does_not_fit_with_one_sentence(self):
        trace = str(TRACES / "mahimahi.trace")
        for arguments, said in (
            (
                ["--link", "trace"],
                "--link is trace without --trace, so the link has nothing to play; valid: .*--trace",
            ),
            (["--trace", trace], "--trace is given with --link ofdm; valid: with --link trace"),
            (
                ["--link", "trace", "--trace", trace, "--wired-delay-ms", "5"],
                "--wired-delay-ms is given with --link trace.*valid: with another --link",
            ),
            (["--link", "trace", "--trace", trace, "--trace-delay-ms", "-1"], "0..60000"),
            (["--link", "trace", "--trace", "/nowhere/x"], "/nowhere/x"),
        ):
            with self.subTest(arguments):
                code, _, error = openwip("emulate", *arguments)
                self.assertEqual(code, 2, error)
                self.assertRegex(error, said)
                self.assertNotIn("Traceback", error)

    def test_the_process_names_the_setting_the_file_and_the_line(self):
        with tempfile.NamedTemporaryFile("w") as bad:
            bad.write("5\n10\nten\n")
            bad.flush()
            scenario = scenario_of({"link.kind": "trace", "trace.file": bad.name})
            with self.assertRaisesRegex(BadInput, f"trace.file = {bad.name}: line 3 is 'ten'"):
                check_config(
                    str(PLACES.path(emulate.PROGRAM)), emulate.config(cells.Cell("x"), scenario)
                )


@unittest.skipUnless(PRIVILEGED, "needs root and /dev/net/tun")
class Recorded(unittest.TestCase):
    def test_a_cell_runs_over_a_profile_and_tells_its_packets(self):
        def workload(cell):
            s = settings_command.RunningSettings(cell.name, cell.cell.endpoint)
            before = ping(cell, "-c", "2", "-i", "0.2", "-W", "10")
            s.set({"trace.delay_ms": 100, "link.queue": "codel"})
            after = ping(cell, "-c", "2", "-i", "0.2", "-W", "10")
            with self.assertRaisesRegex(BadInput, "trace.file"):
                s.set({"trace.file": "other"})
            with self.assertRaisesRegex(BadInput, "a link of kind trace has no such live setting"):
                s.set({"channel.snr_db": 10})
            return {"before": before, "after": after}

        with tempfile.TemporaryDirectory() as folder:
            record = os.path.join(folder, "run.h5")
            report = emulate.run(
                RECORDED, workload, name=NAME, places=PLACES, record=record, observers=True
            )
            done = subprocess.run(
                [sys.executable, "-m", "openwip_cli", "record", "info", record],
                capture_output=True,
                text=True,
            )
            for line in ("status    base", "packet    base"):
                self.assertIn(line, done.stdout)
        self.assertTrue(report["verdict"]["checks"]["sums"], report["verdict"]["reasons"])
        w = report["workload"]
        # An echo of 84 bytes: 2 s, and 1.68 ms at 400 kbit/s in each direction.
        self.assertEqual((len(w["before"]), len(w["after"])), (2, 2))
        self.assertGreaterEqual(min(w["before"]), 2003)
        self.assertLess(min(w["before"]), 2100)
        self.assertGreaterEqual(min(w["after"]), 2203)
        self.assertLess(min(w["after"]), 2300)
        self.assertEqual(report["recorded"]["down"]["base_delay_ms"], 1100)
        self.assertAlmostEqual(report["recorded"]["down"]["mean_rate_bps"], 400e3, delta=1)


if __name__ == "__main__":
    unittest.main()
