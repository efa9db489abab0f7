# SPDX-License-Identifier: GPL-3.0-or-later
"""Link frames into the columns of a message of topic `frames`, out of them, and out of a run
record."""

import pathlib
import sys
import unittest

from openwip_schema import telemetry_pb2 as pb

from openwip_cli.messages import link_frames
from openwip_cli.messages.link_frames import LinkFrame
from recording import RecordWorld

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import frame_batches


def some_frames(slot, bins):
    return [
        LinkFrame(
            slot=slot,
            bin=b,
            bits_per_symbol=b % 8 + 1,
            sn=(slot * 25 + b) & 0xFFFF,
            payload=bytes([slot % 256] * b),
            payload_bits=max(0, 8 * b - 4 * (b % 2)),
            offset=9 * b,
            whole=b % 2 == 0,
            last=b % 3 == 0,
            retransmissions=b,
            outcome=b % 4,
            snr_db=b / 4,
            combined=b % 5 == 0,
            packet=tuple(range(b % 3)),
        )
        for b in range(bins)
    ]


class Columns(unittest.TestCase):
    def test_what_goes_in_comes_out(self):
        batch, frames = pb.FrameBatch(), []
        for slot, bins in ((300, 25), (301, 1), (305, 7)):
            frames += some_frames(slot, bins)
            frame_batches.append(batch, some_frames(slot, bins), b"g" * 30)
        self.assertEqual(list(link_frames.of(batch)), frames)
        self.assertEqual(
            [(s.air, s.frames, s.grant) for s in batch.slot],
            [(300, 25, b"g" * 30), (301, 1, b"g" * 30), (305, 7, b"g" * 30)],
        )

    def test_columns_that_a_publisher_leaves_empty_are_zero(self):
        batch = pb.FrameBatch()
        frame_batches.append(batch, some_frames(1, 5))
        batch.outcome = batch.combined = batch.nof_packets = b""
        del batch.packet[:]
        self.assertEqual(
            [(f.outcome, f.combined, f.packet) for f in link_frames.of(batch)], [(0, False, ())] * 5
        )

    def test_columns_of_different_length_raise(self):
        batch = pb.FrameBatch()
        frame_batches.append(batch, some_frames(1, 5))
        batch.slot[0].frames = 6
        with self.assertRaises(IndexError):
            list(link_frames.of(batch))


class Recorded(RecordWorld):
    def test_a_record_has_a_row_for_each_message_and_its_frames_one_after_the_other(self):
        batches = []
        for n in range(70):  # more frames than are written at a time
            batch = pb.FrameBatch(frames_before=n)
            for slot in range(15 * n, 15 * n + 3):
                frame_batches.append(batch, some_frames(slot, 4 + n % 3))
            batches.append(batch)
            self.give("frames", slot=15 * n + 14, frames=batch)
        self.finish()
        table = self.read().table("frames", "base")
        self.assertEqual(len(table), 70)
        self.assertEqual(list(table["frames_before"]), list(range(70)))
        self.assertEqual([list(x) for x in table.ragged("sn")], [list(b.sn) for b in batches])
        self.assertEqual(
            [x.tobytes() for x in table.ragged("payload")], [b.payload for b in batches]
        )
        self.assertEqual([x.tobytes() for x in table.ragged("bin")], [b.bin for b in batches])
        slots = table.child("slot")
        self.assertEqual(list(slots["air"]), [s.air for b in batches for s in b.slot])
        self.assertEqual(list(slots["row"]), [n for n, b in enumerate(batches) for _ in b.slot])


if __name__ == "__main__":
    unittest.main()
