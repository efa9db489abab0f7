# SPDX-License-Identifier: GPL-3.0-or-later
"""A record is read back equal, and one that is being written is whole or not there."""

import errno
import os
import random
import unittest
from unittest import mock

import h5py
import numpy
from openwip_schema import control_pb2, receiver_pb2
from openwip_schema import telemetry_pb2 as pb

from openwip_cli.errors import BadInput, RecordFailed
from openwip_cli.messages import telemetry
from openwip_cli.records import (
    columns,
    messages,
    record_file,
    record_seal,
    record_storage,
    run_record,
)
from recording import RecordWorld

RNG = random.Random(3)


def filled(descriptor, depth=0):
    """A message of that kind with a value in every field: lists of the length that the record
    expects."""
    message = next(
        getattr(m, descriptor.name)
        for m in (pb, control_pb2, receiver_pb2)
        if hasattr(m, descriptor.name)
    )
    message = message()
    widths = columns.WIDTHS.get(descriptor.name, {})
    for f in descriptor.fields:
        if f.type == f.TYPE_MESSAGE:
            if depth < 2:
                parts = [filled(f.message_type, depth + 1) for _ in range(2)]
                if f.label == f.LABEL_REPEATED:
                    getattr(message, f.name).extend(parts)
                else:
                    getattr(message, f.name).CopyFrom(parts[0])
            continue
        n = widths.get(f.name, RNG.randrange(1, 6))
        if f.type == f.TYPE_BYTES:
            setattr(message, f.name, RNG.randbytes(n))
            continue
        if f.type == f.TYPE_STRING:
            # A list of texts has a row for each text.
            lines = [] if f.label == f.LABEL_REPEATED else ["a: 1\nb: 2"]
            make = lambda: RNG.choice(["queue_full", "é", *lines])
        elif f.type == f.TYPE_BOOL:
            make = lambda: True
        elif f.type == f.TYPE_ENUM:
            make = lambda: 2
        elif f.type in (f.TYPE_DOUBLE, f.TYPE_FLOAT):
            make = lambda: RNG.randrange(-4000, 4000) / 64  # exactly representable in 32 bits
        elif f.type in (f.TYPE_UINT64, f.TYPE_INT64):
            make = lambda: RNG.randrange(2**62)
        else:
            make = lambda: RNG.randrange(2**31)
        if f.label == f.LABEL_REPEATED:
            getattr(message, f.name).extend([make() for _ in range(n)])
        else:
            setattr(message, f.name, make())
    return message


class ReadBack(RecordWorld):
    def expect_equal(self, table, row, message, nested="", children=None):
        """Every field of the message is in that row of the table."""
        widths = columns.WIDTHS.get(message.DESCRIPTOR.name, {})
        children = {} if children is None else children
        for f in message.DESCRIPTOR.fields:
            name, value = nested + f.name, getattr(message, f.name)
            with self.subTest(f"{message.DESCRIPTOR.name}.{f.name}"):
                if f.type == f.TYPE_MESSAGE and f.label == f.LABEL_REPEATED:
                    child = children.setdefault(name, table.child(name))
                    rows = [] if child is None else numpy.flatnonzero(child["row"] == row)
                    self.assertEqual(len(rows), len(value))
                    below = {}
                    for i, entry in zip(rows, value):
                        self.expect_equal(child, i, entry, "", below)
                elif f.type == f.TYPE_MESSAGE:
                    self.expect_equal(table, row, value, f"{name}.", children)
                elif f.type == f.TYPE_STRING:
                    expected = "\n".join(value) if f.label == f.LABEL_REPEATED else value
                    self.assertEqual(table[name][row], expected)
                elif f.name in widths:
                    got = table[name][row]
                    missing = (
                        numpy.isnan(got)
                        if got.dtype.kind == "f"
                        else got == (255 if f.type == f.TYPE_BYTES else 0)
                    )
                    self.assertTrue(list(got) == list(value) or (not value and missing.all()))
                elif f.label == f.LABEL_REPEATED or f.type == f.TYPE_BYTES:
                    entries = table.ragged(name)[row]
                    self.assertEqual(
                        entries.tobytes() if f.type == f.TYPE_BYTES else list(entries),
                        value if f.type == f.TYPE_BYTES else list(value),
                    )
                elif f.type == f.TYPE_DOUBLE and f.has_presence and not message.HasField(f.name):
                    self.assertTrue(numpy.isnan(table[name][row]))
                else:
                    self.assertEqual(table[name][row], value)

    def test_every_field_of_every_topic_comes_back_equal(self):
        sent = {}
        for topic, content in telemetry.CONTENT.items():
            kind = pb.Telemetry.DESCRIPTOR.fields_by_name[content].message_type
            sent[topic] = [
                self.give(topic, slot=n, wall_ns=7 * n, user=n % 3, **{content: filled(kind)})
                for n in range(3)
            ]
        self.finish()
        record = self.read()
        self.assertEqual(sorted(record.tables()), sorted((t, "base") for t in telemetry.TOPICS))
        for topic, given in sent.items():
            table = record.table(topic, "base")
            self.assertEqual(list(table["message.sequence"]), [1, 2, 3])
            self.assertEqual(list(table["message.wall_ns"]), [0, 7, 14])
            self.assertEqual(list(table["message.user"]), [0, 1, 2])
            for row, message in enumerate(given):
                self.expect_equal(table, row, getattr(message, telemetry.CONTENT[topic]))
        again = {}
        for _, source, topic, body in messages.messages(record, telemetry.TOPICS):
            self.assertEqual(source, "base")
            again.setdefault(topic, []).append(pb.Telemetry.FromString(body))
            again[topic][-1].version = 1
        self.assertEqual(again, sent)

    def test_messages_come_again_in_the_order_of_reception_and_absent_is_absent(self):
        nobody = bytes([255]) * 25
        sent = [
            ("slot", "base", {"slot_sample": {"user": nobody, "snr_db": [float("nan")] * 25}}),
            ("verdict", "keeper", {"verdict": {}}),
            ("slot", "terminal", {"slot_sample": {"outcome": b"\0" * 25}}),
            ("ip", "base", {"ip": {"packet": [{"number": 0}, {"data": b""}, {"data": b"ab"}]}}),
            ("slot", "base", {"slot_sample": {"predicted_snr_db": [-0.0] * 25}}),
            (
                "cpu",
                "observer",
                {"cpu": {"process": [{"name": "a", "waiting": 0.0}, {"name": "b"}]}},
            ),
            ("status", "terminal", {"mac": {"role": "terminal", "radio": {"cfo_hz": -0.0}}}),
        ]
        given = [self.give(topic, source, **what) for topic, source, what in sent]
        self.reader.on_refused = self.file.refuse
        self.reader.take("base", [b"slot", b"\xff"])
        self.reader.take("base", [b"slot", pb.Telemetry(version=9, sequence=7).SerializeToString()])
        self.finish()
        record = self.read()
        self.assertEqual(record.refused["future"].tolist(), [0, 7])
        heard = list(messages.messages(record, telemetry.TOPICS))
        self.assertEqual(
            [(topic, source) for _, source, topic, _ in heard],
            [s[:2] for s in sent] + [("slot", "base")] * 2,
        )
        self.assertEqual([t for t, *_ in heard], sorted(t for t, *_ in heard))
        self.assertGreater(messages.length_ns(record, telemetry.TOPICS), 0)
        for message, (*_, body) in zip(given, heard):
            read = pb.Telemetry.FromString(body)
            read.version = 1
            # NaN is not equal to itself; -0 is equal to 0, but is another number.
            self.assertEqual(
                read.SerializeToString(deterministic=True),
                message.SerializeToString(deterministic=True),
            )
        again = telemetry.Reader({})
        for _, source, topic, body in heard:
            again.take(source, [topic.encode(), body])
        for counts in ("malformed", "future"):
            self.assertEqual(getattr(again, counts)["base"], getattr(self.reader, counts)["base"])
        self.assertEqual(
            (again.received(), again.lost()), (self.reader.received(), self.reader.lost())
        )

    def test_more_rows_than_a_block_come_back_in_order(self):
        rows = [[RNG.randrange(-80, 160) / 4 for _ in range(25)] for _ in range(1300)]
        for n, row in enumerate(rows):
            self.give(
                "slot",
                "terminal",
                slot=n,
                slot_sample={"snr_db": row, "outcome": bytes([n % 4] * 25)},
            )
        for n in range(700):
            self.give("receiver", "terminal", receiver={"points": bytes([n % 256] * (n % 7))})
        self.finish()
        table = self.read().table("slot", "terminal")
        self.assertEqual(table["snr_db"].tolist(), rows)
        self.assertEqual(list(table["message.slot"]), list(range(1300)))
        points = self.read().table("receiver", "terminal").ragged("points")
        self.assertEqual([len(p) for p in points], [n % 7 for n in range(700)])
        self.assertEqual(
            [p.view("u1")[0] for p in points if len(p)], [n % 256 for n in range(700) if n % 7]
        )

    def test_what_a_publisher_does_not_know_is_missing_not_zero(self):
        self.give("slot", slot_sample={"locked": True})
        self.finish()
        table = self.read().table("slot", "base")
        self.assertTrue(numpy.isnan(table["snr_db"]).all())
        self.assertEqual(set(table["outcome"][0]), {columns.MISSING})
        self.assertEqual(table.attributes["misshapen"], 0)

    def test_a_list_of_a_wrong_length_is_counted(self):
        self.give("slot", slot_sample={"snr_db": [1.0] * 30, "outcome": b"\1\1"})
        self.finish()
        table = self.read().table("slot", "base")
        self.assertEqual(table["snr_db"][0].tolist(), [1.0] * 25)
        self.assertEqual(table["outcome"][0].tolist(), [1, 1] + [columns.MISSING] * 23)
        self.assertEqual(table.attributes["misshapen"], 2)

    def test_every_column_has_a_unit_and_every_text_is_resolved(self):
        for topic, content in telemetry.CONTENT.items():
            kind = pb.Telemetry.DESCRIPTOR.fields_by_name[content].message_type
            self.give(topic, **{content: filled(kind)})
        self.finish()
        without, seen = [], []
        with h5py.File(self.path, "r") as f:

            def visit(name, item):
                if isinstance(item, h5py.Dataset):
                    (seen if item.attrs.get("unit") else without).append(name)

            f["topics"].visititems(visit)
            self.assertEqual(f["topics/slot/base/snr_db"].attrs["unit"], "dB")
            self.assertEqual(f["topics/packet/base/packet/queue_ns"].attrs["unit"], "ns")
            self.assertEqual(f["topics/slot/base/snr_db"].compression, "gzip")
        self.assertGreater(len(seen), 150)
        self.assertEqual(without, [])

    def test_a_number_that_may_be_absent_is_none_when_it_is(self):
        self.give("cpu", cpu={"load_average": 1.0})
        self.give("cpu", cpu={"pressure_percent": 0.0})
        self.give("ip", ip={"packet": [{"number": 0}, {}]})
        self.finish()
        self.assertEqual(
            numpy.isnan(self.read().table("cpu", "base")["pressure_percent"]).tolist(),
            [True, False],
        )
        number = pb.IpRecord.DESCRIPTOR.fields_by_name["number"]
        packets = self.read().table("ip", "base").child("packet")
        self.assertEqual("number.known" in packets, columns.has_presence(number))
        if columns.has_presence(number):
            self.assertEqual(packets["number.known"].tolist(), [True, False])

    def test_gaps_are_recorded_where_they_were(self):
        self.give("slot", slot=1, slot_sample={})
        self.give("slot", slot=9, wall_ns=90, skip=4, slot_sample={})
        self.give("status", "terminal", skip=0, mac={})
        self.finish()
        record = self.read()
        gaps = record.gaps
        self.assertEqual(len(gaps), 1)
        self.assertEqual(
            [
                gaps[c][0]
                for c in (
                    "source",
                    "topic",
                    "sequence_before",
                    "sequence_after",
                    "lost",
                    "slot",
                    "wall_ns",
                )
            ],
            ["base", "slot", 1, 6, 4, 9, 90],
        )
        self.assertEqual(
            record.table("slot", "base").attributes,
            {"received": 2, "lost": 4, "restarts": 0, "misshapen": 0},
        )
        self.assertIn("4 lost", run_record.info_text(record))

    def test_refused_messages_are_in_the_record_as_counts(self):
        self.assertIsNone(self.reader.take("base", [b"slot", b"\xff"]))
        self.assertIsNone(
            self.reader.take(
                "base", [b"slot", pb.Telemetry(version=9, sequence=7).SerializeToString()]
            )
        )
        self.finish()
        about = self.read().about
        self.assertEqual((about["malformed"]["base"], about["future"]["base"]), (1, 1))
        text = run_record.info_text(self.read())
        self.assertIn("1 messages did not parse", text)
        self.assertIn("1 messages of a later version", text)

    def test_who_was_silent_is_said(self):
        self.finish(silent={"observer": None, "base": 7.25})
        text = run_record.info_text(self.read())
        self.assertIn("observer was never heard", text)
        self.assertIn("base was silent for the last 7.2 s", text)

    def test_texts_beyond_the_bound_are_counted_not_kept(self):
        strings = columns.Strings()
        numbers = [strings.number(str(n)) for n in range(columns.MOST_TEXTS + 5)]
        self.assertEqual(numbers[-5:], [0] * 5)
        self.assertEqual((strings.dropped, len(strings.take_new())), (6, columns.MOST_TEXTS))

    def test_the_run_is_described(self):
        self.finish(
            scenario={"link": {"bins": 25}},
            seed=4,
            versions={"gnuradio": "3.10"},
            effective={"base": "a: 1\n"},
            report={"verdict": {"valid": False, "reasons": ["late: 3 slots"], "checks": {}}},
        )
        record = self.read()
        self.assertEqual(record.about["scenario"]["link"]["bins"], 25)
        self.assertEqual(record.about["effective"]["base"], "a: 1\n")
        self.assertEqual(
            record.verdict, {"valid": False, "reasons": ["late: 3 slots"], "final": True}
        )
        self.assertEqual(
            run_record.info_text(record).splitlines()[:2], ["verdict: INVALID", "  late: 3 slots"]
        )

    def test_without_a_report_the_last_verdict_of_the_cell_counts_and_is_not_called_final(self):
        self.give("verdict", "keeper", verdict={"valid": True})
        self.give("verdict", "keeper", verdict={"valid": False, "reason": ["pacing: a", "late: b"]})
        self.finish()
        self.assertEqual(
            self.read().verdict,
            {"valid": False, "reasons": ["pacing: a", "late: b"], "final": False},
        )

    def test_without_any_verdict_there_is_none(self):
        self.finish()
        self.assertIsNone(self.read().verdict)
        self.assertIn("verdict: NONE", run_record.info_text(self.read()))


class Writing(RecordWorld):
    def test_nothing_is_under_the_name_until_it_is_complete(self):
        self.give("slot", slot_sample={})
        self.assertFalse(self.path.exists())
        self.finish()
        self.assertEqual([p.name for p in self.folder.iterdir()], ["run.h5"])

    def test_a_recorder_that_dies_at_any_write_leaves_what_a_checkpoint_has_written(self):
        states, committed = [], 0

        def snapshot(function):
            def call(fd, *arguments):
                done = function(fd, *arguments)
                if fd == self.file.storage.fd:
                    states.append((os.pread(fd, os.fstat(fd).st_size, 0), committed))
                return done

            return call

        with (
            mock.patch.object(record_storage.os, "pwrite", snapshot(os.pwrite)),
            mock.patch.object(record_storage.os, "ftruncate", snapshot(os.ftruncate)),
        ):
            for n in range(4 * 137):
                self.give("slot", slot=n, slot_sample={"snr_db": [n] * 25})
                if n % 137 == 136:
                    self.file.checkpoint({"command": "x" * n, "report": {}}, self.reader)
                    committed = n + 1
            self.finish()
        self.assertGreater(len(states), 100)
        part = self.folder / "state"
        for data, messages_kept in states:
            part.write_bytes(data)
            if record_seal.is_unsealed(data[: record_seal.SIZE]):
                with (
                    open(part, "rb") as f,
                    h5py.File(record_storage.View(f.fileno()), "r") as found,
                ):
                    slots = found["topics/slot/base/message.slot"][()].tolist()
                    self.assertEqual(slots, list(range(len(slots))))
                    self.assertIn(len(slots), (messages_kept, messages_kept + 137))
            else:
                # The file before the first checkpoint, and after it was sealed.
                self.assertIn(messages_kept, (0, 4 * 137))

    def test_a_record_that_a_full_disk_cut_says_so_and_so_does_what_is_recovered(self):
        def write(fd, data, at):
            if at + len(data) > size:
                raise OSError(errno.ENOSPC, "No space left on device")
            return written(fd, data, at)

        written = os.pwrite
        self.give("slot", slot=4, slot_sample={})
        self.file.checkpoint({"command": "x", "report": {}}, self.reader)
        part, size = record_file.part_of(self.path), self.file.size
        with mock.patch.object(record_storage.os, "pwrite", write):
            self.give("slot", slot=5, slot_sample={})
            with self.assertRaisesRegex(RecordFailed, "No space left on device"):
                self.finish()
            self.assertIn("1 messages are in", self.file.abandon())
        words = "ended without a seal at slot 4, .*: the disk was full, and what came later"
        with run_record.RunRecord(part) as record:
            self.assertRegex(run_record.info_text(record), words)
            self.assertEqual(len(record.table("slot", "base")), 1)
        with self.assertRaisesRegex(BadInput, "what a recorder left, as the disk was full;"):
            record_file.check_target(self.path)
        with self.assertRaisesRegex(BadInput, "is there: what a recorder left, as the disk was"):
            run_record.RunRecord(self.path)
        record_file.recover(part, self.path)
        self.assertRegex(run_record.info_text(self.read()), words)

    def test_the_error_of_a_record_keeps_its_journal(self):
        journal = record_seal.Journal(8192, 3, "0" * 64)
        self.path.write_bytes(record_seal.unsealed_block(journal))
        with open(self.path, "r+b") as f:
            record_seal.note_error(f.fileno(), errno.EIO)
        block = self.path.read_bytes()
        self.assertEqual(
            (record_seal.journal_of(block), record_seal.error_of(block)), (journal, errno.EIO)
        )
        self.assertIn("Input/output error", record_seal.why_unsealed(errno.EIO))

    def test_an_abandoned_record_leaves_nothing(self):
        self.give("slot", slot_sample={})
        self.file.abandon()
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_only_a_record_is_replaced(self):
        self.finish()
        record_file.RecordFile(self.path).abandon()
        other = self.folder / "thesis.h5"
        other.write_text("years of work")
        with self.assertRaisesRegex(BadInput, "the file exists and is not a run record"):
            record_file.RecordFile(other)
        with self.assertRaisesRegex(BadInput, "cannot be written"):
            record_file.RecordFile(self.folder / "absent" / "x.h5")
        with self.assertRaisesRegex(BadInput, "cannot be written"):
            record_file.RecordFile(self.folder)


if __name__ == "__main__":
    unittest.main()
