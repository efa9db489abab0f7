# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of other rates and programs, imported: resampled here by SciPy, so by something else than the import. Nothing that the
original held is lost; what is no such file is refused."""
import json
import pathlib
import re
import sys
import tempfile
import unittest

import numpy
from scipy import signal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from test_iq_recording import VALIDATOR, apps, record, run      # noqa: E402  (the module has the path of the apps)

from openwip_cli.iq import imports, recordings                  # noqa: E402
from openwip_schema import slot_link_pb2                        # noqa: E402

SLOTS = 240


def resampled(samples, up, down):
    """At up/down of the rate, images and aliases 100 dB down."""
    window = signal.firwin(320 * max(up, down) + 1, 0.9 / max(up, down), window=("kaiser", signal.kaiser_beta(100)))
    return signal.resample_poly(samples.astype(numpy.complex128), up, down, window=window).astype(numpy.complex64)


def frames(recording):
    """{(slot, bin): payload} of what was received well."""
    reports = [slot_link_pb2.SlotReport.FromString(r) for r in recording.reports()]
    return {(r.air, b.bin): b.payload for r in reports if r.locked for b in r.bins if b.outcome == slot_link_pb2.GOOD}


class Import(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="openwip-iq-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.original = record(cls.folder / "original", slots=SLOTS, snr_db=40)
        cls.samples = numpy.fromfile(cls.original.data_path, numpy.complex64)
        cls.received = frames(cls.original)
        # Of slots without a failed frame: in a fade it is the noise that decides, and the last bit of the sums.
        cls.good = {k: payload for k, payload in cls.received.items() if all((k[0], b) in cls.received for b in range(25))}
        assert len(cls.good) > 0.95 * 25 * SLOTS, len(cls.good)

    def write(self, name, samples):
        path = self.folder / name
        samples.tofile(path)
        return path

    def sigmf(self, name, samples, rate, datatype="cf32_le", edit=None):
        self.write(name + recordings.DATA, samples)
        meta = {"global": {"core:datatype": datatype, "core:sample_rate": rate, "core:version": "1.0.0"},
                "captures": [{"core:sample_start": 0}], "annotations": []}
        if edit:
            edit(meta)
        (self.folder / (name + recordings.META)).write_text(json.dumps(meta))
        return self.folder / name

    def imported(self, *arguments):
        """(recording, what was said)."""
        out = self.folder / "imported"
        code, text = run("import", *arguments, out)
        self.assertEqual(code, 0, text)
        return recordings.Recording(out), text

    def assert_nothing_is_lost(self, recording, from_slot=0):
        """Of what the original received well; the receiver may need one slot more to find the cell."""
        found = frames(recording)
        first = max(from_slot, min(slot for slot, _ in self.good) + 1)
        lost = [k for k in self.good if k[0] >= first and k not in found]
        self.assertEqual(lost, [])
        self.assertEqual([k for k in self.good if k in found and found[k] != self.good[k]], [])

    def test_a_recording_at_another_rate_loses_no_frame_that_the_original_had(self):
        for up, down, text in ((125, 96, "10"), (4, 5, "6.144"), (2, 1, "15.36"), (125, 48, "20")):
            with self.subTest(rate=text):
                bare = self.write("bare.cf32", resampled(self.samples, up, down))
                recording, said = self.imported("--sample-rate", f"{7.68e6 * up / down:.10g}", bare)
                self.assert_nothing_is_lost(recording)
                self.assertRegex(said, rf"resampled from {text} to 7.68 MS/s by liquid-dsp [\d.]+ \(msresamp_crcf; stop band 60 dB down\)")
                self.assertRegex(said, r"locked +\d+ slots from \d+: \d+ grants, frames \d+ good, \d+ bad")
                self.assertEqual(recording.whole["openwip:imported"],
                                 {"file": "bare.cf32", "sample_rate": 7.68e6 * up / down, "datatype": "cf32_le"})
                self.assertLess(abs(recording.samples - len(self.samples)), 3)

    def test_an_imported_recording_is_a_recording(self):
        bare = self.write("bare.cf32", resampled(self.samples, 125, 96))
        recording, _ = self.imported("--sample-rate", "10e6", bare)
        code, text = run("replay", recording.base, "--json")
        result = json.loads(text)
        self.assertEqual((code, result["whole"], result["identical"]), (0, True, recording.whole["openwip:reports"]))
        code, text = run("info", recording.base)
        self.assertEqual(code, 0)
        self.assertIn("imported, resampled from 10 to 7.68 MS/s", text)
        self.assertIn("SHA-512 as recorded", text)

    @unittest.skipUnless(VALIDATOR.exists(), f"no SigMF validator at {VALIDATOR}: ./openwip setup installs it")
    def test_the_validator_of_sigmf_passes_it(self):
        import subprocess
        bare = self.write("bare.cf32", resampled(self.samples[:100 * 5120], 125, 96))
        recording, _ = self.imported("--sample-rate", "10e6", bare)
        done = subprocess.run([VALIDATOR, recording.meta_path], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_at_the_rate_of_the_cell_the_samples_are_those_of_the_original(self):
        bare = self.write("bare.cf32", self.samples)
        recording, said = self.imported("--sample-rate", "7.68e6", bare)
        self.assertIn("at 7.68 MS/s already, not resampled", said)
        self.assertEqual(numpy.fromfile(recording.data_path, numpy.complex64).tobytes(), self.samples.tobytes())
        self.assertEqual(frames(recording), self.received)

    def test_sigmf_of_another_program_with_integers(self):
        fast = resampled(self.samples, 125, 96)
        scale = 0.5 / numpy.abs(fast).max()
        integers = numpy.round(fast.view(numpy.float32) * scale * 32768).astype("<i2")
        base = self.sigmf("foreign", integers, 10e6, "ci16_le",
                          lambda m: m["captures"][0].update({"core:frequency": 1.8e9, "core:datetime": "2026-01-02T03:04:05Z"}))
        for name in (base, f"{base}.sigmf-data", f"{base}.sigmf-meta"):
            recording, _ = self.imported(name)
            self.assertEqual(recording.captures[0]["core:frequency"], 1.8e9)
            self.assertEqual(recording.captures[0]["core:datetime"], "2026-01-02T03:04:05Z")
        self.assert_nothing_is_lost(recording)

    def test_a_gap_of_the_original_stays_one(self):
        fast = resampled(self.samples, 125, 96)
        first, missing = 900_000, 30_001
        kept = numpy.concatenate((fast[:first], fast[first + missing:]))
        base = self.sigmf("gap", kept, 10e6, edit=lambda m: m.update(captures=[
            {"core:sample_start": 0, "core:global_index": 1_000_000}, {"core:sample_start": 500_000, "core:global_index": 1_500_000},
            {"core:sample_start": first, "core:global_index": 1_000_000 + first + missing}]))
        recording, _ = self.imported(base)
        self.assertEqual([c["core:global_index"] for c in recording.captures], [768_000, round(1_930_001 * 0.768)])
        gap, = recording.gaps
        self.assertLess(abs(gap["openwip:lost_samples"] - missing * 0.768), 2)
        # Behind the gap, as before it: the slot numbers come from the air.
        cut = {(first + missing) * 0.768 / 5120 + 150 + n for n in (-10, 10)}
        self.good = {k: v for k, v in self.good.items() if not min(cut) < k[0] < max(cut)}
        self.assert_nothing_is_lost(recording)

    def test_samples_without_a_cell_are_said_to_have_none(self):
        noise = numpy.random.default_rng(1).normal(size=400_000).astype("f4").view(numpy.complex64)
        code, text = run("import", "--sample-rate", "10e6", self.write("noise.cf32", noise), self.folder / "nothing")
        self.assertEqual(code, 1)
        self.assertIn("the receiver has found no cell in it", text)

    # --- refusals ---

    def assert_refused(self, *arguments_and_parts, parts):
        said, _ = run("import", *arguments_and_parts)
        self.assertIsInstance(said, str, "not refused")
        self.assertNotIn("\n", said)
        for part in parts:
            self.assertIn(part, said)
        self.assertEqual(list(self.folder.glob("never*")), [])

    def test_refuses_rates_that_cannot_be(self):
        bare = self.write("bare.cf32", self.samples[:10_000])
        never = self.folder / "never"
        for rate in ("0", "-10e6", "nan", "-nan", "inf", "5e6", "4.5e6", "5009999", "250000001", "1e300", "fast", ""):
            self.assert_refused(f"--sample-rate={rate}", bare, never, parts=(f"--sample-rate is {rate!r}; valid: 5010000..250000000",))
        for rate in (0, -10e6, float("nan"), float("inf"), 5e6, 1e12, "10e6", None, True, [10e6]):
            self.assert_refused(self.sigmf("rate", self.samples[:10_000], rate), never,
                                parts=("rate.sigmf-meta: core:sample_rate is", "valid: 5010000..250000000 (the cell occupies 5.01 MHz)"))
        self.assert_refused(bare, never, parts=("bare.cf32: have no .sigmf-meta", "--sample-rate 5010000..250000000"))
        said, _ = run("replay", self.sigmf("own", self.samples, 10e6, edit=lambda m: m["global"].update(
            {"core:extensions": [{"name": "openwip", "version": "1.0.0", "optional": True}]})))
        self.assertIn("core:sample_rate is 10000000.0; valid: 7680000 (./openwip iq import resamples)", said)

    def test_refuses_what_is_no_file_of_samples(self):
        never = self.folder / "never"
        self.assert_refused("--sample-rate", "1e7", self.folder / "none", never, parts=("none: No such file", "valid: a file of cf32_le"))
        self.assert_refused(self.folder / "none", never, parts=("none.sigmf-meta", "No such file", "valid: the name of a recording"))
        self.assert_refused("--sample-rate", "1e7", self.folder, never, parts=(str(self.folder), "Is a directory"))
        short = self.write("short", self.samples[:5119])
        self.assert_refused("--sample-rate", "1e7", short, never, parts=("has 40952 bytes", "40960 or more (5120 samples)"))
        self.assert_refused("--sample-rate", "1e7", self.write("odd", numpy.zeros(50_001, "u1")), never, parts=("50001", "a multiple of 8"))
        broken = self.samples[:20_000].copy()
        broken[12_345] = numpy.nan
        self.assert_refused("--sample-rate", "1e7", self.write("nan", broken), never, parts=("sample 12345 is no number",))
        bare = self.write("bare.cf32", self.samples[:10_000])
        self.assert_refused("--sample-rate", "1e7", "--datatype", "cu4", bare, never, parts=("--datatype", "cu4", "ci16_le"))
        self.assert_refused("--sample-rate", "1e7", bare, self.folder / "no" / "never", parts=("OUT", "cannot be written"))

    def test_refuses_sigmf_that_says_what_cannot_be(self):
        never, some = self.folder / "never", self.samples[:10_000]
        whole = self.sigmf("whole", some, 10e6)
        self.assert_refused("--sample-rate", "1e7", whole, never, parts=("--sample-rate is 10000000.0", "only for bare samples"))
        self.assert_refused(whole, whole, parts=("is the samples to be imported",))
        self.assertTrue((self.folder / "whole.sigmf-data").exists())
        for edit, parts in (
                (lambda m: m["global"].update({"core:datatype": "rf32_le"}), ("core:datatype is 'rf32_le'", "cf32_le, ci16_le, ci8")),
                (lambda m: m["global"].update({"core:num_channels": 2}), ("core:num_channels is 2", "valid: 1")),
                (lambda m: m["global"].update({"openwip:receiver": {"cell": 99}}), ("openwip:receiver",)),
                (lambda m: m.update(captures=7), ("captures",)),
                (lambda m: m.update(captures=[{"core:sample_start": 10_000}]), ("captures", "10000 samples")),
                (lambda m: m.update(captures=[{"core:sample_start": -1}]), ("captures",)),
                (lambda m: m["captures"].append({"core:sample_start": 9_000, "core:global_index": 8_000}), ("core:global_index 8000", "9000 or more")),
                (lambda m: m["captures"][0].update({"core:header_bytes": 4}), ("core:header_bytes",))):
            self.assert_refused(self.sigmf("wrong", some, 10e6, edit=edit), never, parts=parts)

    def test_the_import_writes_the_sigmf_that_a_recording_writes(self):
        self.assertEqual(recordings.SIGMF_VERSION, apps.VERSION)
        self.assertEqual(recordings.extension_version(), apps.EXTENSION_VERSION)
        self.assertTrue(re.fullmatch(r"[\d.]+", recordings.extension_version()))
        self.assertEqual(set(imports.RECEIVER), set(self.original.whole["openwip:receiver"]))


if __name__ == "__main__":
    unittest.main()
