# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings of a real cell: from the first sample of a demo, and of a cell that runs; through the validator of
SigMF, and through the receiver to the same decisions."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from demo_support import GENTLE, built, environment, openwip

CELL = "iqtest"
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

    def test_a_recorded_run_comes_to_the_same_decisions_again(self):
        live, sent, later = (self.folder / name for name in ("live", "sent", "later"))
        demo = openwip("demo", "--name", CELL, *GENTLE, "--duration", "1", "--pings", "5", "--channel", "jakes",
                       "--snr", "16", "--record-iq", live, "--record-iq-base", sent, "--record-iq-seconds", "0.8",
                       "--keep", "--json", self.folder / "report.json")
        self.assertIn(demo.returncode, (0, 1), demo.stdout + demo.stderr)     # the verdict is not what is tested
        report = json.loads((self.folder / "report.json").read_text())
        whole = json.loads(pathlib.Path(f"{live}.sigmf-meta").read_text())["global"]
        self.assertEqual(whole["openwip:samples"], 1200 * 5120)
        self.assertEqual(whole["openwip:verdict"], report["verdict"])
        self.assertEqual(whole["openwip:scenario"], report["config"])
        self.assertEqual((whole["openwip:seed"], whole["openwip:bins"], whole["openwip:name"]), (1, 10, CELL))
        self.assert_valid(live)
        self.assert_valid(sent)
        result = self.replayed(live)
        self.assertTrue(result["whole"])
        self.assertEqual((result["identical"], result["compared"]), (1200, 1200), result["first_difference"])
        self.assertGreater(result["frames"], 1000)

        # The cell is still up: some of its slots, and an end by Ctrl-C.
        done = openwip("iq", "record", "--name", CELL, "--seconds", "0.3", later)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assert_valid(later)
        result = self.replayed(later)
        self.assertFalse(result["whole"])
        self.assertGreater(result["locked_in_both"], 420)
        # A receiver that has just locked may miss a grant in a fade that the live one, which knows the channel, decoded
        # (444 of 446 once); what both decoded is the same.
        self.assertEqual(result["contradictions"], 0, result)
        self.assertGreater(result["grants_same"], 0.97 * result["locked_in_both"], result)
        with subprocess.Popen([pathlib.Path(__file__).parents[2] / "openwip", "iq", "record", "--name", CELL,
                               "--seconds", "60", self.folder / "cut"], env=environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
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
        self.assertIn("already; valid: later ones", done.stderr)


if __name__ == "__main__":
    unittest.main()
