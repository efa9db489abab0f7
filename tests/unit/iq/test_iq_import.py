# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of other rates and programs, imported: resampled here by SciPy, so by something else than
the import. Nothing that the original held is lost; what is no such file is refused."""

import io
import json
import pathlib
import re
import sys
import tarfile
import tempfile
import unittest

import numpy
from scipy import signal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from iq_world import (
    VALIDATOR,
    apps,
    record,
    run,
)
from openwip_schema import slot_link_pb2

from openwip_cli.errors import BadInput
from openwip_cli.iq import imports, recordings

SLOTS = 240


def resampled(samples, up, down):
    """The samples at up/down of the rate, images and aliases 100 dB down."""
    window = signal.firwin(
        320 * max(up, down) + 1, 0.9 / max(up, down), window=("kaiser", signal.kaiser_beta(100))
    )
    return signal.resample_poly(samples.astype(numpy.complex128), up, down, window=window).astype(
        numpy.complex64
    )


def frames(recording):
    """{(slot, bin): payload} of what was received well."""
    reports = [slot_link_pb2.SlotReport.FromString(r) for r in recording.reports()]
    return {
        (r.air, b.bin): b.payload
        for r in reports
        if r.locked
        for b in r.bins
        if b.outcome == slot_link_pb2.GOOD
    }


class Import(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="openwip-iq-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.original = record(cls.folder / "original", slots=SLOTS, snr_db=40)
        cls.samples = numpy.fromfile(cls.original.data_path, numpy.complex64)
        cls.received = frames(cls.original)
        # The slots without a failed frame: in a fade the noise decides, and the last bit of the
        # sums.
        cls.good = {
            k: payload
            for k, payload in cls.received.items()
            if all((k[0], b) in cls.received for b in range(25))
        }
        assert len(cls.good) > 0.95 * 25 * SLOTS, len(cls.good)

    def write(self, name, samples):
        path = self.folder / name
        samples.tofile(path)
        return path

    def sigmf(self, name, samples, rate, datatype="cf32_le", edit=None):
        self.write(name + recordings.DATA, samples)
        meta = {
            "global": {
                "core:datatype": datatype,
                "core:sample_rate": rate,
                "core:version": "1.0.0",
            },
            "captures": [{"core:sample_start": 0}],
            "annotations": [],
        }
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
        """The slots that the original received well; the receiver may need one slot more to find
        the cell."""
        found = frames(recording)
        first = max(from_slot, min(slot for slot, _ in self.good) + 1)
        lost = [k for k in self.good if k[0] >= first and k not in found]
        self.assertEqual(lost, [])
        self.assertEqual([k for k in self.good if k in found and found[k] != self.good[k]], [])

    def test_a_recording_at_another_rate_loses_no_frame_that_the_original_had(self):
        for up, down, text in ((125, 96, "10"), (4, 5, "6.144"), (2, 1, "15.36"), (125, 48, "20")):
            with self.subTest(rate=text):
                bare = self.write("bare.cf32", resampled(self.samples, up, down))
                recording, reported = self.imported(
                    "--sample-rate", f"{7.68e6 * up / down:.10g}", bare
                )
                self.assert_nothing_is_lost(recording)
                self.assertRegex(
                    reported,
                    rf"resampled from {text} to 7.68 MS/s by liquid-dsp [\d.]+ \(msresamp_crcf;"
                    r" stop band 60 dB down\)",
                )
                self.assertRegex(
                    reported, r"locked +\d+ slots from \d+: \d+ grants, frames \d+ good, \d+ bad"
                )
                self.assertEqual(
                    recording.whole["openwip:imported"],
                    {"file": "bare.cf32", "sample_rate": 7.68e6 * up / down, "datatype": "cf32_le"},
                )
                self.assertLess(abs(recording.samples - len(self.samples)), 3)

    def test_an_imported_recording_is_a_recording(self):
        bare = self.write("bare.cf32", resampled(self.samples, 125, 96))
        recording, _ = self.imported("--sample-rate", "10e6", bare)
        code, text = run("replay", recording.base, "--json")
        result = json.loads(text)
        self.assertEqual(
            (code, result["whole"], result["identical"]),
            (0, True, recording.whole["openwip:reports"]),
        )
        code, text = run("info", recording.base)
        self.assertEqual(code, 0)
        self.assertIn("imported, resampled from 10 to 7.68 MS/s", text)
        self.assertIn("SHA-512 as recorded", text)

    @unittest.skipUnless(
        VALIDATOR.exists(), f"no SigMF validator at {VALIDATOR}: ./openwip setup installs it"
    )
    def test_the_validator_of_sigmf_passes_it(self):
        import subprocess

        bare = self.write("bare.cf32", resampled(self.samples[: 100 * 5120], 125, 96))
        recording, _ = self.imported("--sample-rate", "10e6", bare)
        done = subprocess.run([VALIDATOR, recording.meta_path], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_at_the_rate_of_the_cell_the_samples_are_those_of_the_original(self):
        bare = self.write("bare.cf32", self.samples)
        recording, reported = self.imported("--sample-rate", "7.68e6", bare)
        self.assertIn("at 7.68 MS/s already, not resampled", reported)
        self.assertEqual(
            numpy.fromfile(recording.data_path, numpy.complex64).tobytes(), self.samples.tobytes()
        )
        self.assertEqual(frames(recording), self.received)

    def test_sigmf_of_another_program_with_integers(self):
        fast = resampled(self.samples, 125, 96)
        scale = 0.5 / numpy.abs(fast).max()
        integers = numpy.round(fast.view(numpy.float32) * scale * 32768).astype("<i2")
        base = self.sigmf(
            "foreign",
            integers,
            10e6,
            "ci16_le",
            lambda m: m["captures"][0].update(
                {"core:frequency": 1.8e9, "core:datetime": "2026-01-02T03:04:05Z"}
            ),
        )
        for name in (base, f"{base}.sigmf-data", f"{base}.sigmf-meta"):
            recording, _ = self.imported(name)
            self.assertEqual(recording.captures[0]["core:frequency"], 1.8e9)
            self.assertEqual(recording.captures[0]["core:datetime"], "2026-01-02T03:04:05Z")
        self.assert_nothing_is_lost(recording)

    def test_a_gap_of_the_original_stays_one(self):
        fast = resampled(self.samples, 125, 96)
        first, missing = 900_000, 30_001
        kept = numpy.concatenate((fast[:first], fast[first + missing :]))
        base = self.sigmf(
            "gap",
            kept,
            10e6,
            edit=lambda m: m.update(
                captures=[
                    {"core:sample_start": 0, "core:global_index": 1_000_000},
                    {"core:sample_start": 500_000, "core:global_index": 1_500_000},
                    {"core:sample_start": first, "core:global_index": 1_000_000 + first + missing},
                ]
            ),
        )
        recording, _ = self.imported(base)
        self.assertEqual(
            [c["core:global_index"] for c in recording.captures],
            [768_000, round(1_930_001 * 0.768)],
        )
        (gap,) = recording.gaps
        self.assertLess(abs(gap["openwip:lost_samples"] - missing * 0.768), 2)
        # The cell is received behind the gap as before it: the slot numbers come from the air.
        cut = {(first + missing) * 0.768 / 5120 + 150 + n for n in (-10, 10)}
        self.good = {k: v for k, v in self.good.items() if not min(cut) < k[0] < max(cut)}
        self.assert_nothing_is_lost(recording)

    def test_samples_without_a_cell_are_said_to_have_none(self):
        noise = numpy.random.default_rng(1).normal(size=400_000).astype("f4").view(numpy.complex64)
        code, text = run(
            "import",
            "--sample-rate",
            "10e6",
            self.write("noise.cf32", noise),
            self.folder / "nothing",
        )
        self.assertEqual(code, 1)
        self.assertIn("the receiver has found no cell in it", text)

    # --- refusals ---

    def assert_refused(self, *arguments_and_parts, parts):
        reported, _ = run("import", *arguments_and_parts)
        self.assertIsInstance(reported, str, "not refused")
        self.assertNotIn("\n", reported)
        for part in parts:
            self.assertIn(part, reported)
        self.assertEqual(list(self.folder.glob("never*")), [])

    def test_refuses_rates_that_cannot_be(self):
        bare = self.write("bare.cf32", self.samples[:10_000])
        never = self.folder / "never"
        for rate in (
            "0",
            "-10e6",
            "nan",
            "-nan",
            "inf",
            "5e6",
            "4.5e6",
            "5009999",
            "250000001",
            "1e300",
            "fast",
            "",
        ):
            self.assert_refused(
                f"--sample-rate={rate}",
                bare,
                never,
                parts=(f"--sample-rate is {rate!r}; valid: 5010000..250000000",),
            )
        for rate in (0, -10e6, float("nan"), float("inf"), 5e6, 1e12, "10e6", None, True, [10e6]):
            self.assert_refused(
                self.sigmf("rate", self.samples[:10_000], rate),
                never,
                parts=(
                    "rate.sigmf-meta: core:sample_rate is",
                    "5010000..250000000 (the cell occupies 5.01 MHz)",
                ),
            )
        self.assert_refused(
            bare,
            never,
            parts=("bare.cf32: have no .sigmf-meta", "--sample-rate 5010000..250000000"),
        )
        reported, _ = run(
            "replay",
            self.sigmf(
                "own",
                self.samples,
                10e6,
                edit=lambda m: m["global"].update(
                    {"core:extensions": [{"name": "openwip", "version": "1.0.0", "optional": True}]}
                ),
            ),
        )
        self.assertIn(
            "core:sample_rate is 10000000.0; valid: 7680000 (./openwip iq import resamples)",
            reported,
        )

    def test_refuses_what_is_no_file_of_samples(self):
        never = self.folder / "never"
        self.assert_refused(
            "--sample-rate",
            "1e7",
            self.folder / "none",
            never,
            parts=("none: No such file", "valid: a file of cf32_le"),
        )
        self.assert_refused(
            self.folder / "none",
            never,
            parts=("none.sigmf-meta", "No such file", "valid: the name of a recording"),
        )
        self.assert_refused(
            "--sample-rate", "1e7", self.folder, never, parts=(str(self.folder), "Is a directory")
        )
        short = self.write("short", self.samples[:5119])
        self.assert_refused(
            "--sample-rate",
            "1e7",
            short,
            never,
            parts=("has 40952 bytes", "40960 or more (5120 samples)"),
        )
        self.assert_refused(
            "--sample-rate",
            "1e7",
            self.write("odd", numpy.zeros(50_001, "u1")),
            never,
            parts=("50001", "a multiple of 8"),
        )
        broken = self.samples[:20_000].copy()
        broken[12_345] = numpy.nan
        self.assert_refused(
            "--sample-rate",
            "1e7",
            self.write("nan", broken),
            never,
            parts=("sample 12345 is no number",),
        )
        bare = self.write("bare.cf32", self.samples[:10_000])
        self.assert_refused(
            "--sample-rate",
            "1e7",
            "--datatype",
            "cu4",
            bare,
            never,
            parts=("--datatype", "cu4", "ci16_le"),
        )
        self.assert_refused(
            "--sample-rate",
            "1e7",
            bare,
            self.folder / "no" / "never",
            parts=("OUT", "cannot be written"),
        )

    def test_refuses_sigmf_that_says_what_cannot_be(self):
        never, some = self.folder / "never", self.samples[:10_000]
        whole = self.sigmf("whole", some, 10e6)
        self.assert_refused(
            "--sample-rate",
            "1e7",
            whole,
            never,
            parts=("--sample-rate is 10000000.0", "only for samples whose rate"),
        )
        self.assert_refused(whole, whole, parts=("is the samples to be imported",))
        self.assertTrue((self.folder / "whole.sigmf-data").exists())
        for edit, parts in (
            (
                lambda m: m["global"].update({"core:datatype": "rf32_le"}),
                ("core:datatype is 'rf32_le', real samples", "valid: cf32_le, "),
            ),
            (
                lambda m: m["global"].update({"core:num_channels": 0}),
                ("core:num_channels is 0", "valid: 1..256"),
            ),
            (
                lambda m: m["global"].update({"openwip:receiver": {"cell": 99}}),
                ("openwip:receiver",),
            ),
            (lambda m: m.update(captures=7), ("captures",)),
            (
                lambda m: m.update(captures=[{"core:sample_start": 10_000}]),
                ("captures", "10000 samples"),
            ),
            (lambda m: m.update(captures=[{"core:sample_start": -1}]), ("captures",)),
            (
                lambda m: m["captures"].append(
                    {"core:sample_start": 9_000, "core:global_index": 8_000}
                ),
                ("core:global_index 8000", "9000 or more"),
            ),
            (
                lambda m: m["captures"][0].update({"core:header_bytes": 4}),
                ("has 79996 bytes", "a multiple of 8"),
            ),
        ):
            self.assert_refused(self.sigmf("wrong", some, 10e6, edit=edit), never, parts=parts)

    def test_the_import_writes_the_sigmf_that_a_recording_writes(self):
        self.assertEqual(recordings.SIGMF_VERSION, apps.VERSION)
        self.assertEqual(recordings.extension_version(), apps.EXTENSION_VERSION)
        self.assertTrue(re.fullmatch(r"[\d.]+", recordings.extension_version()))
        self.assertEqual(set(imports.RECEIVER), set(self.original.whole["openwip:receiver"]))


class Containers(unittest.TestCase):
    """Samples inside something, and metadata of any program."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="openwip-iq-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        rng = numpy.random.default_rng(4)
        self.samples = ((rng.normal(size=10240) + 1j * rng.normal(size=10240)) * 0.05).astype("<c8")
        self.meta = {
            "global": {
                "core:datatype": "cf32_le",
                "core:sample_rate": 7680000,
                "core:version": "1.2.0",
            },
            "captures": [{"core:sample_start": 0}],
            "annotations": [],
        }

    def archive(self, name, *members, **more):
        path = self.folder / name
        with tarfile.open(path, "w", format=tarfile.PAX_FORMAT, **more) as t:
            for member, content in members:
                info = tarfile.TarInfo(member)
                if content is None:
                    info.type = tarfile.DIRTYPE
                elif isinstance(content, str):
                    info.type, info.linkname = tarfile.SYMTYPE, content
                else:
                    info.size = len(content)
                t.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
        return str(path)

    def recording(self, name):
        return (f"{name}.sigmf-meta", json.dumps(self.meta).encode()), (
            f"{name}.sigmf-data",
            self.samples.tobytes(),
        )

    def refused(self, pattern, function, *arguments):
        with self.assertRaisesRegex(BadInput, pattern) as caught:
            function(*arguments)
        self.assertNotIn("\n", str(caught.exception))

    def assert_all_samples(self, source):
        read = numpy.concatenate(list(imports.pieces(source, 0, source.samples)))
        self.assertEqual(read.tobytes(), self.samples.tobytes())

    def test_an_archive_is_read_where_it_stands_whatever_its_members_are_called(self):
        for members in (
            self.recording("run"),
            (("run", None), *self.recording("run/run")),
            self.recording("../../evil"),
            self.recording("/etc/evil"),
        ):
            path = self.archive("a.sigmf", *members)
            source = imports.opened(path, None, None)
            self.assert_all_samples(source)
            self.assertEqual([p.name for p in self.folder.iterdir()], ["a.sigmf"])
        self.refused(
            "--sample-rate is 7680000.0; valid: only for samples whose rate nothing says",
            imports.opened,
            path,
            7.68e6,
            None,
        )

    def test_of_several_recordings_one_is_chosen(self):
        other = self.samples
        first = self.recording("a/a")
        self.samples = self.samples * 2
        path = self.archive("two.sigmf", *first, *self.recording("b/b"))
        self.refused(
            "holds the recordings a/a, b/b; valid: one of them with --recording NAME",
            imports.opened,
            path,
            None,
            None,
        )
        self.refused("holds the recordings a/a, b/b", imports.opened, path, None, None, "c")
        for name in ("b/b", "b"):
            self.assert_all_samples(imports.opened(path, None, None, name))
        self.samples = other
        self.assert_all_samples(imports.opened(path, None, None, "a"))

    def test_archives_that_are_none_are_refused(self):
        meta, data = self.recording("run")
        for pattern, members in (
            ("has no samples run.sigmf-data", (meta,)),
            ("holds no recording", (data,)),
            (
                "run.sigmf-data is not stored in it as a plain, complete file",
                (meta, ("run.sigmf-data", "/etc/shadow")),
            ),
            ("is not JSON", (("run.sigmf-meta", b"{" * 100_000), data)),
            ("has 1000 bytes", (meta, ("run.sigmf-data", bytes(1000)))),
        ):
            with self.subTest(pattern):
                self.refused(
                    pattern, imports.opened, self.archive("bad.sigmf", *members), None, None
                )
        whole = pathlib.Path(self.archive("cut.sigmf", meta, data)).read_bytes()
        for length in (600, 1500, 2000, 10_000):
            (self.folder / "cut.sigmf").write_bytes(whole[:length])
            self.refused("cut.sigmf", imports.opened, str(self.folder / "cut.sigmf"), None, None)
        header = bytearray(whole[:512])
        header[156:157] = b"x"  # the size field then claims eight gigabytes
        header[124:136] = b"77777777777\0"
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header)
        (self.folder / "large.sigmf").write_bytes(header + whole[512:])
        self.refused(
            "is damaged|holds no recording",
            imports.opened,
            str(self.folder / "large.sigmf"),
            None,
            None,
        )

    def test_a_container_is_never_bare_samples(self):
        body = self.samples.tobytes()
        (self.folder / "x.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + body[:-8])
        for name, begin in (
            ("gzip", b"\x1f\x8b\x08\0"),
            ("ZIP", b"PK\x03\x04"),
            ("HDF5", b"\x89HDF\r\n\x1a\n"),
            ("HDF5", bytes(512) + b"\x89HDF\r\n\x1a\n"),
            ("RIFF", b"RIFF\0\0\0\0WAVEfmt "),
            ("JSON", json.dumps(self.meta).encode()),
            ("JSON", b"\xef\xbb\xbf" + json.dumps(self.meta).encode()),
            ("PNG", b"\x89PNG\r\n\x1a\n"),
            ("ELF", b"\x7fELF"),
            ("pcapng", b"\x0a\x0d\x0d\x0a"),
            ("pcap", b"\xd4\xc3\xb2\xa1"),
            ("MATLAB", b"MATLAB 5.0 MAT-file"),
            ("NumPy", b"\x93NUMPY"),
            ("text", b"0.125,-0.5\n" * 100),
        ):
            with self.subTest(name):
                path = self.folder / "x"
                path.write_bytes((begin + body)[: len(body)])
                for rate in (None, 7.68e6):
                    self.refused(
                        rf"samples .*/x is an? .*{name}.*, not samples",
                        imports.opened,
                        str(path),
                        rate,
                        None,
                    )
        (self.folder / "bare").write_bytes(body)
        self.assert_all_samples(imports.opened(str(self.folder / "bare"), 7.68e6, None))

    def test_metadata_of_another_type_are_refused_in_one_line(self):
        self.samples.tofile(self.folder / "m.sigmf-data")

        def edited(change):
            meta = json.loads(json.dumps(self.meta))
            change(meta)
            (self.folder / "m.sigmf-meta").write_text(json.dumps(meta))
            return str(self.folder / "m")

        def capture(key, value):
            return lambda m: m["captures"][0].update({key: value})

        def whole(key, value):
            return lambda m: m["global"].update({key: value})

        for pattern, change in (
            (
                "captures/0/core:frequency is '1.8e9'; valid: a finite number",
                capture("core:frequency", "1.8e9"),
            ),
            ("captures/0/core:frequency is True", capture("core:frequency", True)),
            ("captures/0/core:frequency is nan", capture("core:frequency", float("nan"))),
            (
                "captures/0/core:sample_start is True; valid: a whole number",
                capture("core:sample_start", True),
            ),
            ("captures/0/core:sample_start is '0'", capture("core:sample_start", "0")),
            ("captures/0/core:global_index is 1000000", capture("core:global_index", 10**30)),
            ("captures/0/core:datetime is 7; valid: a text", capture("core:datetime", 7)),
            ("captures is 'x'; valid: a list", lambda m: m.update(captures="x")),
            ("captures/0 is 7; valid: an object", lambda m: m.update(captures=[7])),
            ("annotations/0/core:label is 7", lambda m: m.update(annotations=[{"core:label": 7}])),
            (
                "annotations/0/core:sample_start is -1",
                lambda m: m.update(annotations=[{"core:sample_start": -1}]),
            ),
            ("core:datatype is \\['cf32_le'\\]", whole("core:datatype", ["cf32_le"])),
            ("global/core:version is 1", whole("core:version", 1)),
            ("global/core:extensions is 'x'", whole("core:extensions", "x")),
            (
                "needs other; valid: extensions that are optional",
                whole(
                    "core:extensions", [{"name": "other", "version": "1.0.0", "optional": False}]
                ),
            ),
        ):
            with self.subTest(pattern):
                self.refused(pattern, imports.opened, edited(change), None, None)


if __name__ == "__main__":
    unittest.main()
