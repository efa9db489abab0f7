# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that is no whole record is refused, whatever somebody has put into it."""

import json
import os
import random
import unittest

import h5py
import numpy

from openwip_cli.errors import BadInput
from openwip_cli.messages import telemetry
from openwip_cli.records import (
    messages,
    record_seal,
    run_record,
)
from recording import RecordWorld

RNG = random.Random(3)
FLIPPED = int(os.environ.get("OPENWIP_FLIPPED_RECORDS", "20"))


class Refusals(RecordWorld):
    def setUp(self):
        super().setUp()
        for n in range(60):
            self.give("slot", slot=n, slot_sample={"snr_db": [RNG.random() for _ in range(25)]})
        self.finish()
        self.whole = self.path.read_bytes()

    def expect_refused(self, pattern, path=None):
        with self.assertRaisesRegex(BadInput, pattern) as caught:
            run_record.RunRecord(path or self.path).close()
        self.assertNotIn("\n", str(caught.exception))

    def test_a_truncated_file_at_any_length(self):
        for length in (100, 511, 512, 1000, len(self.whole) // 2, len(self.whole) - 1):
            with self.subTest(length):
                self.path.write_bytes(self.whole[:length])
                self.expect_refused("run.h5 is truncated")

    def test_a_byte_changed_anywhere(self):
        # The HDF5 library itself crashes on some of them.
        for n in range(len("openwip-run-record 1"), len(self.whole), 977):
            damaged = bytearray(self.whole)
            damaged[n] ^= 1 << RNG.randrange(8)
            self.path.write_bytes(damaged)
            with self.subTest(n):
                self.expect_refused("was changed")

    def test_a_file_of_another_version(self):
        self.path.write_bytes(
            self.whole.replace(b"openwip-run-record 1\n", b"openwip-run-record 2\n", 1)
        )
        self.expect_refused("format version 2; valid: 1")

    def test_a_record_whose_recorder_was_killed(self):
        self.path.write_bytes(bytes(512) + self.whole[512:])
        self.expect_refused("recorder was killed")

    def test_a_session_file_of_the_monitor_before(self):
        self.path.write_bytes(b"OWIPSES1\x0c\0\0\0{}")
        self.expect_refused(
            "session file of an earlier monitor, which this version cannot read; valid: a file of"
            " ./openwip record"
        )

    def test_files_that_are_none_of_ours(self):
        self.path.write_text("verdict: VALID\n")
        self.expect_refused("no run record")
        self.path.write_bytes(b"")
        self.expect_refused("not a complete run record|no run record")
        with h5py.File(self.path, "w") as f:
            f["x"] = 1
        self.expect_refused("no run record")
        self.expect_refused("No such file", self.folder / "absent.h5")
        self.expect_refused("Is a directory", self.folder)

    def test_a_sealed_file_that_holds_something_else(self):
        with h5py.File(self.path, "w", userblock_size=record_seal.SIZE) as f:
            f["x"] = 1
        record_seal.seal(self.path)
        self.expect_refused("its contents are not those of a run record")

    def test_other_programs_read_it_as_hdf5(self):
        with h5py.File(self.path, "r") as f:
            self.assertEqual(f.attrs["format"], "openwip-run-record")
            self.assertEqual(f["topics/slot/base/snr_db"].shape, (60, 25))


class Crafted(RecordWorld):
    """Records that somebody sent, sealed as they should be: a seal is a checksum, which everybody
    can write."""

    def setUp(self):
        super().setUp()
        for n in range(60):
            self.give("slot", slot=n, slot_sample={"snr_db": [RNG.random() for _ in range(25)]})
            self.give("status", slot=n, mac={"slot": n, "role": "base"})
        self.finish(report={"verdict": {"valid": True, "reasons": [], "checks": {}}})
        self.secret = self.folder / "secret"
        self.secret.write_text("TOPSECRET " * 100)
        self.other = self.folder / "other.h5"
        with h5py.File(self.other, "w") as f:
            f["command"] = numpy.bytes_("TOPSECRET")
        os.mkfifo(self.folder / "fifo")

    def craft(self, change):
        with h5py.File(self.path, "r+") as f:
            change(f)
        record_seal.seal(self.path)

    def expect_refused(self, pattern):
        """The record is refused when it is opened, which every command does: in one line, which has
        nothing of another file in it, and without waiting."""
        with self.assertRaisesRegex(BadInput, pattern) as caught:
            run_record.RunRecord(self.path).close()
        self.assertNotRegex(str(caught.exception), "\n|TOPSECRET")
        self.assertIn(str(self.path), str(caught.exception))

    def external(self, group, name, size, space):
        del group[name]
        created = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        created.set_external(str(self.secret).encode(), 0, 900)
        kind = h5py.h5t.C_S1.copy()
        kind.set_size(size)
        h5py.h5d.create(group.id, name.encode(), kind, space, created)

    @staticmethod
    def replaced(f, name, **what):
        del f[name]
        f.create_dataset(name, **what)

    def test_data_in_other_files_are_refused_by_name(self):
        def virtual(f):
            layout = h5py.VirtualLayout((60,), "i8")
            layout[:1] = h5py.VirtualSource(str(self.other), "command", shape=(1,))
            del f["topics/status/base/message.slot"]
            f["topics/status/base"].create_virtual_dataset("message.slot", layout)

        def link(f, name, to):
            del f[name]
            f[name] = to

        simple = h5py.h5s.create_simple
        for pattern, change in (
            (
                r"a data set at /about/command whose data are in another file",
                lambda f: self.external(f["about"], "command", 900, simple((1,))),
            ),
            (
                r"a data set at /strings whose data are in another file",
                lambda f: self.external(f, "strings", 18, simple((50,))),
            ),
            (
                r"a data set at /topics/slot/base/snr_db whose data",
                lambda f: self.external(f["topics/slot/base"], "snr_db", 4, simple((60,))),
            ),
            (
                r"a link to another file at /about/command",
                lambda f: link(f, "about/command", h5py.ExternalLink(str(self.other), "/command")),
            ),
            (
                r"a link to another file at /about/command",
                lambda f: link(
                    f, "about/command", h5py.ExternalLink(str(self.folder / "fifo"), "/x")
                ),
            ),
            (
                r"a link to another file at /topics/slot",
                lambda f: link(f, "topics/slot", h5py.ExternalLink(str(self.other), "/")),
            ),
            (
                r"a link to another name at /topics/slot",
                lambda f: link(f, "topics/slot", h5py.SoftLink("/topics/status")),
            ),
            (
                r"a link to another name at /about",
                lambda f: link(f, "about", h5py.SoftLink("/about")),
            ),
            (r"a virtual data set at /topics/status/base/message.slot", virtual),
            (
                r"with the filter 32000 \(lzf\)",
                lambda f: self.replaced(
                    f,
                    "topics/status/base/message.slot",
                    data=numpy.arange(60),
                    compression="lzf",
                    chunks=(60,),
                ),
            ),
        ):
            with self.subTest(pattern):
                whole = self.path.read_bytes()
                self.craft(change)
                self.expect_refused(pattern)
                self.path.write_bytes(whole)

    def test_what_claims_more_than_the_file_can_hold_is_refused(self):
        slot = "topics/status/base/message.slot"

        def many(f):
            for i in range(3000):
                f["topics"].create_group(f"t{i}/s")

        def deep(f):
            f["topics/slot/base/a"] = f["topics/slot"]  # hard links that form a cycle

        for pattern, change in (
            (
                r"/message.slot of 2147483648 entries, which are not in",
                lambda f: self.replaced(
                    f, slot, shape=(1 << 31,), dtype="i8", chunks=(1 << 16,), compression="gzip"
                ),
            ),
            (
                r"/strings of 268435456 entries",
                lambda f: self.replaced(
                    f,
                    "strings",
                    shape=(1 << 28,),
                    dtype="S16",
                    chunks=(1 << 16,),
                    compression="gzip",
                ),
            ),
            (
                r"/strings of 268435456 entries",
                lambda f: self.replaced(
                    f, "strings", shape=(1 << 28,), dtype=h5py.string_dtype(), chunks=(1 << 16,)
                ),
            ),
            (r"more than 2000 tables", many),
            (r"tables more than 6 deep", deep),
        ):
            with self.subTest(pattern):
                whole = self.path.read_bytes()
                self.craft(change)
                self.expect_refused(pattern)
                self.path.write_bytes(whole)

    def test_what_is_of_another_type_or_length_is_refused_and_a_verdict_is_no_text(self):
        slot = "topics/status/base/message.slot"

        def about(name, value):
            return lambda f: self.replaced(
                f, f"about/{name}", data=json.dumps(value), dtype=h5py.string_dtype()
            )

        for pattern, change in (
            (
                r"whose columns differ in length: message.slot has 1 rows, .* has 60",
                lambda f: self.replaced(f, slot, data=[1]),
            ),
            (
                r"a column at .*/message.slot of the type \|S1, not numbers",
                lambda f: self.replaced(f, slot, data=numpy.array([b"x"] * 60)),
            ),
            (
                r"column message.slot does not hold whole numbers",
                lambda f: self.replaced(f, slot, data=numpy.zeros(60)),
            ),
            (
                r"column message.slot does not hold whole numbers",
                lambda f: self.replaced(f, slot, data=numpy.zeros((60, 2), "i8")),
            ),
            (
                r"of the shape \(60, 2, 2\)",
                lambda f: self.replaced(f, slot, data=numpy.zeros((60, 2, 2), "i8")),
            ),
            (
                r"at /about/report, where texts of variable length",
                lambda f: self.replaced(f, "about/report", data=numpy.bytes_("[1, 2, 3]")),
            ),
            (r"about/report is \[1, 2, 3\]", about("report", [1, 2, 3])),
            (
                r"the verdict of about/report is",
                about("report", {"verdict": {"valid": "yes", "reasons": []}}),
            ),
            (r"the verdict of about/report is", about("report", {"verdict": "yes"})),
            (r"about/topics is 7", about("topics", 7)),
            (
                r"its contents are not those of a run record",
                lambda f: self.replaced(
                    f, "about/report", data="[" * 100_000, dtype=h5py.string_dtype()
                ),
            ),
        ):
            with self.subTest(pattern):
                whole = self.path.read_bytes()
                self.craft(change)
                self.expect_refused(pattern)
                self.path.write_bytes(whole)

    def test_control_characters_of_a_record_do_not_reach_the_terminal(self):
        self.craft(
            lambda f: self.replaced(
                f, "about/command", data="\x1b]0;owned\x07", dtype=h5py.string_dtype()
            )
        )
        with run_record.RunRecord(self.path) as record:
            self.assertNotIn("\x1b", run_record.info_text(record))

    def test_a_fifo_a_device_and_a_link_to_itself_are_refused_at_once(self):
        loop = self.folder / "loop"
        loop.symlink_to(loop)
        for path, pattern in (
            (self.folder / "fifo", "is no regular file"),
            ("/dev/zero", "is no regular file"),
            (loop, "symbolic links"),
        ):
            with self.assertRaisesRegex(BadInput, pattern):
                run_record.RunRecord(path)

    def test_one_byte_flipped_anywhere_and_sealed_again_is_read_or_refused_in_one_line(self):
        whole = self.path.read_bytes()
        refused = 0
        for seed in range(FLIPPED):
            r, damaged = random.Random(seed), bytearray(whole)
            damaged[r.randrange(record_seal.SIZE, r.choice((4096, len(whole))))] ^= (
                1 << r.randrange(8)
            )
            self.path.write_bytes(damaged)
            record_seal.seal(self.path)
            try:
                with run_record.RunRecord(self.path) as record, record.computing():
                    run_record.info_text(record)
                    list(messages.messages(record, telemetry.TOPICS))
            except BadInput as e:
                refused += 1
                self.assertNotIn("\n", str(e))
                self.assertIn(str(self.path), str(e))
        self.assertGreater(refused, 0)


if __name__ == "__main__":
    unittest.main()
