# SPDX-License-Identifier: GPL-3.0-or-later
"""An SNR trace played on samples, by the medium and by the fader: what the receiver finds is what
the trace says.

Limits, written before the first run: SNR of a bin, mean of the run's slots in dB, within 0.3 dB rms
of the trace's rows of the same slots; row t is slot t of the radio's clock; bad files are one line,
exit code 2."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from demo_support import GENTLE, built, openwip

BUILD = pathlib.Path(os.environ["OPENWIP_BUILD"])
CELL = f"t{os.getpid() % 100000}"
MOST_DB = 0.3
SLOTS = 750  # the run is longer: the trace begins again


@unittest.skipUnless(
    (BUILD / "host/channel/wip_channel").exists() and built(), "wip_channel or macd is not built"
)
class TraceOnSamples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="openwip-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.trace = cls.folder / "t.h5"
        subprocess.run(
            [
                BUILD / "host/channel/wip_channel",
                "render",
                "epa",
                "-o",
                cls.trace,
                "--seconds",
                str(SLOTS / 1500),
                "--snr",
                "20",
                "--speed-kmh",
                "30",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        with h5py.File(cls.trace) as f:
            cls.rows = f["snr_db"][:].astype(float)

    def record_of(self, *options):
        """(report, slots, SNR by slot and bin) of a run."""
        report, record = self.folder / "r.json", self.folder / "r.h5"
        done = openwip(
            "demo",
            "--name",
            CELL,
            *GENTLE,
            "--channel",
            str(self.trace),
            "--bins",
            "25",
            "--duration",
            "1",
            "--pings",
            "5",
            "--record",
            str(record),
            f"--json={report}",
            *options,
        )
        self.assertTrue(report.exists(), done.stdout + done.stderr)
        with h5py.File(record) as f:
            slot = f["topics/slot/terminal"]
            locked = slot["locked"][:] & slot["snr_db.known"][:]
            # The last ones are from when the transmitter had stopped.
            return (
                json.loads(report.read_text()),
                slot["message.slot"][:][locked][:-3],
                slot["snr_db"][:][locked][:-3].astype(float),
            )

    def assert_played(self, slots, found):
        # twice around and more; every tenth is recorded
        self.assertGreater(slots.max() - slots.min(), 2 * SLOTS)
        self.assertGreater(len(slots), 150)
        wanted = self.rows[slots % SLOTS]
        by_bin = numpy.sqrt(numpy.mean(numpy.square((found - wanted).mean(axis=0))))
        self.assertLess(by_bin, MOST_DB)
        # Another slot than row t would be seen: the fit is best there.
        misfit = [
            numpy.sqrt(numpy.mean(numpy.square(found - self.rows[(slots + k) % SLOTS])))
            for k in (-2, -1, 0, 1, 2)
        ]
        self.assertEqual(numpy.argmin(misfit), 2, misfit)
        print(f"SNR by bin {by_bin:.3f} dB rms, of single slots {misfit[2]:.3f}", file=sys.stderr)

    @unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
    def test_the_medium_plays_it(self):
        report, slots, found = self.record_of()
        self.assert_played(slots, found)
        self.assertEqual(report["config"]["channel"]["model"], str(self.trace))

    @unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
    def test_the_fader_plays_it_and_evaluates_it(self):
        report, slots, found = self.record_of("--air", "cabled")
        # slots of the fader's reception, which are those that the base station numbers
        self.assert_played(slots, found)
        (sounding,) = report["fader"]["soundings"]
        self.assertFalse(sounding["not_judged"])
        self.assertLess(sounding["residual_db"], sounding["limit_db"])

    def test_a_bad_file_is_one_line(self):
        bad = self.folder / "bad.h5"
        bad.write_bytes(b"no trace")
        for file, why in ((bad, "not an HDF5 file"), (self.folder / "none.h5", "No such file")):
            config = self.folder / "air.yaml"
            config.write_text(
                f"air: {{name: {CELL}}}\nnodes: {{a: {{}}, b: {{noise_dbfs: -40}}}}\npaths:"
                f" [{{from: a, to: b, channel: {file}}}]\n"
            )
            done = subprocess.run(
                [BUILD / "host/medium/air", "--config", config],
                capture_output=True,
                text=True,
                timeout=20,
            )
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
            self.assertIn(f"paths[0].channel: {file}", done.stderr)
            self.assertIn(why, done.stderr)

    @unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
    def test_a_demo_with_a_bad_file_ends_with_2_before_anything_is_made(self):
        damaged = bytearray(self.trace.read_bytes())
        damaged[8:64] = bytes(56)
        for name, data in (("bad.h5", b"no trace"), ("damaged.h5", damaged), ("missing.h5", None)):
            file = self.folder / name
            if data is not None:
                file.write_bytes(data)
            for air in ("medium", "cabled"):
                with self.subTest(name, air=air):
                    done = openwip("demo", "--name", CELL, "--air", air, "--channel", str(file))
                    self.assertEqual(
                        (done.returncode, len(done.stderr.splitlines()), done.stdout),
                        (2, 1, ""),
                        done.stderr,
                    )
                    self.assertRegex(
                        done.stderr,
                        f"^openwip: paths\\[0\\].channel: {file}: [a-z]"
                        if data is not None
                        else f"^openwip: demo: --channel is '{file}', which does not exist; valid: ",
                    )

    def test_what_a_trace_has_of_its_own_is_refused(self):
        for option, value in (
            ("--speed-kmh", "30"),
            ("--shadowing", "on"),
            ("--fade", "transmitter"),
        ):
            done = openwip("demo", "--name", CELL, "--channel", str(self.trace), option, value)
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertIn(str(self.trace), done.stderr)


if __name__ == "__main__":
    unittest.main()
