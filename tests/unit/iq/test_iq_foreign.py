# SPDX-License-Identifier: GPL-3.0-or-later
"""SigMF as other programs write it: every form is read to the last sample, or refused in one line."""

import hashlib
import json
import pathlib
import sys
import tempfile
import unittest

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import iq_world  # noqa: F401  (host/cli)

from openwip_cli.errors import BadInput
from openwip_cli.iq import foreign, imports

RATE = 7680000  # samples per second


class Forms(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="openwip-iq-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        rng = numpy.random.default_rng(1)
        self.samples = ((rng.normal(size=30720) + 1j * rng.normal(size=30720)) * 0.05).astype("<c8")

    def write(self, name, data=None, captures=({"core:sample_start": 0},), drop=(), **whole):
        """Writes a SigMF recording and returns its path without ending. `whole`: entries of the
        global object, without the prefix core:."""
        data = self.samples if data is None else data
        (self.folder / f"{name}.sigmf-data").write_bytes(
            data if isinstance(data, bytes) else data.tobytes()
        )
        g = {"datatype": "cf32_le", "sample_rate": RATE, "version": "1.2.0"} | whole
        meta = {
            "global": {f"core:{k}": v for k, v in g.items() if k not in drop},
            "captures": list(captures),
            "annotations": [],
        }
        text = json.dumps(meta)
        (self.folder / f"{name}.sigmf-meta").write_text(text)
        return str(self.folder / name)

    def refused(self, pattern, *arguments, **more):
        with self.assertRaisesRegex(BadInput, pattern) as caught:
            foreign.stretches(foreign.opened(*arguments, **more))
        self.assertNotIn("\n", str(caught.exception))

    @staticmethod
    def read(source):
        return numpy.concatenate(
            [
                piece
                for s in foreign.stretches(source)
                for piece in foreign.pieces(source, s.first, s.samples)
            ]
        )

    def assert_samples(self, source, wanted=None):
        self.assertEqual(
            self.read(source).tobytes(), (self.samples if wanted is None else wanted).tobytes()
        )

    def test_every_complex_datatype_is_read_to_its_resolution(self):
        both = self.samples.view("<f4")
        for name, (kind, full, silence) in foreign.DATATYPES.items():
            is_float = numpy.dtype(kind).kind == "f"
            steps = both * full + silence
            data = (steps if is_float else numpy.round(steps.astype("f8"))).astype(kind)
            source = foreign.opened(self.write("x", data, datatype=name), None, None)
            error = abs(self.read(source) - self.samples).max()
            with self.subTest(name):
                self.assertLessEqual(error, 1e-7 if is_float else 1.5 / full + 1e-7)
        self.refused(
            "core:datatype is 'rf32_le', real samples, .*; valid: cf32_le, ",
            self.write("x", both, datatype="rf32_le"),
            None,
            None,
        )

    def test_a_part_of_a_rotated_recording_has_all_its_samples_at_its_time(self):
        third = len(self.samples) // 3
        for k in range(3):
            at = k * third
            part = self.samples[at : at + third]
            base = self.write(f"part{k}", part, [{"core:sample_start": at}], offset=at)
            source = foreign.opened(base, None, None)
            self.assert_samples(source, part)
            self.assertEqual(foreign.stretches(source), [(0, third, at, "")])
        # an offset that is smaller than the file, which would leave 1000 samples out
        base = self.write("small", None, [{"core:sample_start": 1000}], offset=1000)
        self.assert_samples(foreign.opened(base, None, None))

    def test_what_is_before_the_first_capture_is_samples(self):
        base = self.write("late", None, [{"core:sample_start": 5120}])
        self.assert_samples(foreign.opened(base, None, None))

    def test_a_rate_that_the_metadata_leave_out_is_that_of_the_option_and_no_other(self):
        base = self.write("none", drop=["sample_rate"])
        self.refused("core:sample_rate is missing; valid: with --sample-rate", base, None, None)
        source = foreign.opened(base, float(RATE), None)
        self.assertEqual(source.rate, RATE)
        self.assert_samples(source)
        self.refused("--sample-rate is 7680000.0; valid: only", self.write("said"), 7.68e6, None)
        for rate in (0, "7680000", 1e12):
            self.refused(
                "core:sample_rate is .*; valid: ", self.write("x", sample_rate=rate), None, None
            )

    def test_samples_that_are_not_those_of_the_hash_are_refused_and_can_be_taken_all_the_same(self):
        whole = self.samples.tobytes()
        digest = hashlib.sha512(whole).hexdigest()
        self.assert_samples(foreign.opened(self.write("good", sha512=digest), None, None))
        for name, data in (
            ("cut_sample", whole[:-8]),
            ("cut_slot", whole[:-40960]),
            ("longer", whole + whole[:40960]),
            ("changed", whole[:40000] + bytes(8000) + whole[48000:]),
        ):
            base = self.write(name, data, sha512=digest)
            with self.subTest(name):
                self.refused(
                    "core:sha512 is .*, and the samples have .*--unchecked", base, None, None
                )
                source = foreign.opened(base, None, None, checked=False)
                self.assertEqual(source.samples, len(data) // 8)
        self.refused("a multiple of 8", self.write("x", whole[:-3], sha512=digest), None, None)

    def test_a_time_that_jumps_parts_the_stretches_however_it_is_said(self):
        half = len(self.samples) // 2
        after = half / RATE

        def at(seconds):
            return f"2026-01-01T00:00:{seconds:09.6f}Z"

        for why, first, second, time in (
            (
                "5 s are missing",
                {"core:datetime": at(0)},
                {"core:datetime": at(5 + after)},
                half + 5 * RATE,
            ),
            ("goes back by 8.002 s", {"core:datetime": at(9)}, {"core:datetime": at(1)}, None),
            (
                "samples before this one are missing",
                {"core:global_index": 0},
                {"core:global_index": half + RATE},
                half + RATE,
            ),
            (
                "tuned from 1800 to 1900 MHz",
                {"core:frequency": 1.8e9},
                {"core:frequency": 1.9e9},
                None,
            ),
        ):
            captures = [
                {"core:sample_start": 0} | first,
                {"core:sample_start": half} | second,
            ]
            source = foreign.opened(self.write("x", None, captures), None, None)
            one, two = foreign.stretches(source)
            with self.subTest(why):
                self.assert_samples(source)
                self.assertIn(why, two.why)
                self.assertEqual((one.samples, two.first), (half, half))
                expected = half + RATE if time is None else time
                self.assertAlmostEqual(two.time, expected, delta=10)
        for exact in (
            [{"core:datetime": at(0)}, {"core:datetime": at(after)}],
            [{"core:datetime": "2026-01-01T00:00:00Z"}, {"core:datetime": "2026-01-01T00:00:01Z"}],
            [{"core:frequency": 1.8e9}, {"core:frequency": 1.8e9}],
            [{}, {}],
        ):
            captures = [{"core:sample_start": k * half} | more for k, more in enumerate(exact)]
            source = foreign.opened(self.write("x", None, captures), None, None)
            self.assertEqual(len(foreign.stretches(source)), 1, exact)
        self.refused(
            "core:datetime is 'yesterday'; valid: a time such as",
            self.write(
                "x",
                None,
                [
                    {"core:sample_start": 0, "core:datetime": "yesterday"},
                    {"core:sample_start": half, "core:datetime": at(1)},
                ],
            ),
            None,
            None,
        )

    def test_captures_that_are_no_stretches_are_refused(self):
        half = len(self.samples) // 2
        for starts in ((half, 0), (0, half, half), (0, len(self.samples))):
            self.refused(
                "captures do not divide its 30720 samples",
                self.write("x", None, [{"core:sample_start": s} for s in starts]),
                None,
                None,
            )

    def test_one_of_several_channels_is_chosen(self):
        other = self.samples[::-1].copy()
        both = numpy.stack([self.samples, other], 1).reshape(-1)
        base = self.write("two", both, num_channels=2)
        for channel, wanted in ((1, self.samples), (2, other)):
            self.assert_samples(foreign.opened(base, None, None, channel=channel), wanted)
        self.refused("--channel is 3, and .* has 2; valid: 1..2", base, None, None, channel=3)
        self.refused("--channel is 2", self.write("one"), None, None, channel=2)
        self.refused("core:num_channels is 0", self.write("x", num_channels=0), None, None)

    def test_bytes_before_and_behind_the_samples_are_no_samples(self):
        half = len(self.samples) // 2
        parts = self.samples[:half].tobytes(), self.samples[half:].tobytes()
        data = b"RIFF" + bytes(40) + parts[0] + bytes(4) + parts[1] + b"the end"
        captures = [
            {"core:sample_start": 0, "core:header_bytes": 44},
            {"core:sample_start": half, "core:header_bytes": 4},
        ]
        base = self.write("x", data, captures, trailing_bytes=7)
        self.assert_samples(foreign.opened(base, None, None))
        (self.folder / "x.sigmf-data").rename(self.folder / "noise.wav")
        base = self.write("y", b"", captures, trailing_bytes=7, dataset="noise.wav")
        (self.folder / "y.sigmf-data").unlink()
        self.assert_samples(foreign.opened(base, None, None))
        for name in ("/etc/passwd", "../x", "", "a/b"):
            self.refused(
                "core:dataset is .*; valid: a file in the same folder",
                self.write("z", dataset=name),
                None,
                None,
            )
        self.refused("No such file", self.write("z", dataset="absent.bin"), None, None)

    def test_a_collection_names_its_members_and_one_is_chosen(self):
        other = self.samples[::-1].copy()
        streams = []
        for name, data in (("rx0", self.samples), ("rx1", other)):
            base = self.write(name, data, collection="pair")
            text = pathlib.Path(base + ".sigmf-meta").read_bytes()
            streams.append({"name": name, "hash": hashlib.sha512(text).hexdigest()})
        pair = self.folder / "pair.sigmf-collection"

        def collection(streams):
            pair.write_text(
                json.dumps({"collection": {"core:version": "1.2.0", "core:streams": streams}})
            )
            return str(pair)

        self.refused(
            "holds the recordings rx0, rx1; valid: one of them with --recording NAME",
            collection(streams),
            None,
            None,
        )
        self.assert_samples(foreign.opened(str(pair), None, None, "rx1"), other)
        self.assert_samples(foreign.opened(collection(streams[:1]), None, None))
        self.refused(
            "the hash of rx0 is .*, and its metadata have",
            collection([streams[0] | {"hash": "0" * 128}]),
            None,
            None,
        )
        self.refused(
            "valid: recordings in the same folder", collection([{"name": "../rx0"}]), None, None
        )
        for text in ("{", "[]", '{"collection": {"core:streams": 3}}', '{"collection": 7}'):
            pair.write_text(text)
            self.refused("is no JSON object collection", str(pair), None, None)

    def test_whole_numbers_may_be_written_as_floats(self):
        base = self.write("x", None, [{"core:sample_start": 0.0}], num_channels=1.0)
        self.assert_samples(foreign.opened(base, None, None))
        self.refused(
            "core:sample_start is 0.5; valid: a whole number",
            self.write("x", None, [{"core:sample_start": 0.5}]),
            None,
            None,
        )

    def test_metadata_without_samples_are_said_to_be_so(self):
        self.refused("core:metadata_only is true", self.write("x", metadata_only=True), None, None)

    def test_an_import_says_the_gap_that_the_time_of_day_tells(self):
        half = len(self.samples) // 2
        captures = [
            {"core:sample_start": 0, "core:datetime": "2026-01-01T00:00:00.000000Z"},
            {"core:sample_start": half, "core:datetime": "2026-01-01T00:00:05.002000Z"},
        ]
        source = foreign.opened(self.write("x", None, captures), None, None)
        made = imports.make(source, str(self.folder / "made"))
        self.assertEqual(len(made.captures), 2)
        (gap,) = made.gaps
        self.assertIn("core:datetime says that 5 s are missing", gap["core:comment"])
        self.assertAlmostEqual(gap["openwip:lost_samples"], 5 * RATE, delta=10)


if __name__ == "__main__":
    unittest.main()
