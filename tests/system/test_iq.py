# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings of a real cell: from the first sample of a demo, and of a cell that runs; through the
validator of SigMF, and through the receiver to the same decisions, also when they were brought to
another rate in between."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

import numpy
from scipy import signal as dsp

from demo_support import GENTLE, built, environment, openwip

CELL = "iqtest"
RATE = 10_000_000  # samples per second
VALIDATOR = pathlib.Path(environment()["OPENWIP_BUILD"], "sigmf", "bin", "sigmf_validate")


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "not built")
class Iq(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="openwip-iq-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.addCleanup(openwip, "down", "--name", CELL)

    def replayed(self, base):
        done = openwip("iq", "replay", base, "--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def assert_valid(self, base):
        if VALIDATOR.exists():
            done = subprocess.run([VALIDATOR, f"{base}.sigmf-meta"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def frames(self, base):
        """{(slot, bin): payload} of what was received well."""
        from openwip_schema import slot_link_pb2

        from openwip_cli.iq import recordings

        reports = [
            slot_link_pb2.SlotReport.FromString(r) for r in recordings.Recording(base).reports()
        ]
        return {
            (r.air, b.bin): b.payload
            for r in reports
            if r.locked
            for b in r.bins
            if b.outcome == slot_link_pb2.GOOD
        }

    def test_a_recorded_run_at_another_rate_is_imported_and_loses_nothing(self):
        live, fast, imported = (self.folder / name for name in ("live", "fast.cf32", "imported"))
        demo = openwip(
            "demo",
            "--name",
            CELL,
            *GENTLE,
            "--duration",
            "1",
            "--pings",
            "5",
            "--bins",
            "25",
            "--modulation",
            "6",
            "--snr",
            "40",
            "--record-iq",
            live,
            "--record-iq-seconds",
            "0.5",
        )
        self.assertIn(demo.returncode, (0, 1), demo.stdout + demo.stderr)
        samples = numpy.fromfile(f"{live}.sigmf-data", numpy.complex64)
        # 7.68 x 125 / 96 = 10 MS/s, images 100 dB down.
        window = dsp.firwin(320 * 125 + 1, 0.9 / 125, window=("kaiser", dsp.kaiser_beta(100)))
        dsp.resample_poly(samples.astype(numpy.complex128), 125, 96, window=window).astype(
            numpy.complex64
        ).tofile(fast)
        done = openwip("iq", "import", "--sample-rate", str(RATE), fast, imported)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("resampled from 10 to 7.68 MS/s by liquid-dsp", done.stdout)
        self.assert_valid(imported)
        ours, theirs = self.frames(live), self.frames(imported)
        self.assertGreater(len(ours), 1000)
        first = min(slot for slot, _ in ours) + 1  # finding the cell may take one slot more
        self.assertEqual([k for k in ours if k[0] >= first and theirs.get(k) != ours[k]], [])
        self.assertTrue(self.replayed(imported)["whole"])
        for rate in ("0", "nan", "-10e6", "5e6", "1e12"):
            done = openwip("iq", "import", f"--sample-rate={rate}", fast, self.folder / "never")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(f"--sample-rate is {rate!r}; valid: 5010000..250000000", done.stderr)

    def test_a_recorded_run_comes_to_the_same_decisions_again(self):
        live, sent, later = (self.folder / name for name in ("live", "sent", "later"))
        demo = openwip(
            "demo",
            "--name",
            CELL,
            *GENTLE,
            "--duration",
            "1",
            "--pings",
            "5",
            "--channel",
            "jakes",
            "--snr",
            "16",
            "--record-iq",
            live,
            "--record-iq-base",
            sent,
            "--record-iq-seconds",
            "0.8",
            "--keep",
            f"--json={self.folder / 'report.json'}",
        )
        # the verdict is not what is tested
        self.assertIn(demo.returncode, (0, 1), demo.stdout + demo.stderr)
        report = json.loads((self.folder / "report.json").read_text())
        whole = json.loads(pathlib.Path(f"{live}.sigmf-meta").read_text())["global"]
        self.assertEqual(whole["openwip:samples"], 1200 * 5120)
        self.assertEqual(whole["openwip:verdict"], report["verdict"])
        self.assertEqual(whole["openwip:scenario"], report["config"])
        self.assertEqual(
            (whole["openwip:seed"], whole["openwip:bins"], whole["openwip:name"]), (1, 10, CELL)
        )
        self.assert_valid(live)
        self.assert_valid(sent)
        result = self.replayed(live)
        self.assertTrue(result["whole"])
        self.assertEqual(
            (result["identical"], result["compared"]), (1200, 1200), result["first_difference"]
        )
        self.assertGreater(result["frames"], 1000)

        # The cell is still up: some of its slots, and an end by Ctrl-C.
        done = openwip("iq", "record", "--name", CELL, "--duration", "0.3", later)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assert_valid(later)
        result = self.replayed(later)
        self.assertFalse(result["whole"])
        self.assertGreater(result["locked_in_both"], 420)
        # A receiver that has just locked may miss a grant in a fade that the live one, which knows
        # the channel, decoded (444 of 446 once); what both decoded is the same.
        self.assertEqual(result["contradictions"], 0, result)
        self.assertGreater(result["grants_same"], 0.97 * result["locked_in_both"], result)
        with subprocess.Popen(
            [
                pathlib.Path(__file__).parents[2] / "openwip",
                "iq",
                "record",
                "--name",
                CELL,
                "--duration",
                "60",
                self.folder / "cut",
            ],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            data = self.folder / "cut.sigmf-data"
            while not (data.exists() and data.stat().st_size) and process.poll() is None:
                pass
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("samples", out)
        self.assert_valid(self.folder / "cut")
        done = openwip("iq", "record", "--name", CELL, "--slots", "1..5", later)
        self.assertEqual(done.returncode, 2)
        self.assertIn("already; valid: slots after that", done.stderr)


if __name__ == "__main__":
    unittest.main()
