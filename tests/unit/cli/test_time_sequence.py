# SPDX-License-Identifier: GPL-3.0-or-later
"""The behaviour of a sender around a handover, from a capture that is written here."""

import pathlib
import struct
import tempfile
import unittest

from openwip_cli.measure import packet_rtt, time_sequence

SERVER, TERMINAL = (b"\x0a\x2a\0\1", 5001), (b"\x0a\x2a\0\2", 40000)
FIRST = 2**32 - 1500  # numbers wrap in the second segment
SEGMENT, ACK = 1000, 16


class Capture:
    """Packets at their times, each sent, and arrived unless it was dropped."""

    def __init__(self):
        self.packets, self.identification = [], 0

    def goes(self, sent_s, there_s, packet):
        self.packets += [(t, packet) for t in (sent_s, there_s) if t is not None]

    def packet(self, source, destination, number, acknowledged, octets=0, options=b""):
        self.identification += 1
        tcp = struct.pack(
            ">HHIIBBHHH",
            source[1],
            destination[1],
            number % 2**32,
            acknowledged % 2**32,
            (20 + len(options)) // 4 << 4,
            ACK,
            1000,
            0,
            0,
        )
        tcp += options + bytes(octets)
        of = (0x45, 0, 20 + len(tcp), self.identification, 0, 64, packet_rtt.TCP, 0)
        return struct.pack(">BBHHHBBH4s4s", *of, source[0], destination[0]) + tcp

    def data(self, sent_s, there_s, n):
        number = FIRST + SEGMENT * n
        self.goes(sent_s, there_s, self.packet(SERVER, TERMINAL, number, 7, SEGMENT))

    def ack(self, sent_s, there_s, n, sacked=None):
        options = b""
        if sacked:
            edges = [(FIRST + SEGMENT * edge) % 2**32 for edge in sacked]
            options = bytes([1, 1, 5, 10]) + struct.pack(">II", *edges)
        packet = self.packet(TERMINAL, SERVER, 7, FIRST + SEGMENT * n, 0, options)
        self.goes(sent_s, there_s, packet)

    def read(self):
        data = struct.pack("<IHHiIII", packet_rtt.MAGIC, 2, 4, 0, 0, 65535, 101)
        for seconds, packet in sorted(self.packets, key=lambda p: p[0]):
            ns = round(seconds * 1e9)
            head = ns // 10**9, ns % 10**9, len(packet), len(packet)
            data += struct.pack("<IIII", *head) + packet
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "packets.pcap")
            path.write_bytes(data)
            return time_sequence.of_capture(path)


class TimeSequence(unittest.TestCase):
    def test_what_is_sent_heard_and_selected_is_there_with_numbers_from_the_first_one(self):
        c = Capture()
        c.data(1.0, 1.1, 0)
        c.data(1.01, None, 1)
        c.data(1.02, 1.12, 2)
        c.ack(1.1, 1.2, 1)
        c.ack(1.12, 1.22, 1, (2, 3))
        c.data(2.0, 2.1, 1)
        c.ack(2.1, None, 3)
        found = c.read()
        self.assertEqual(
            [(round(s.at, 6), s.first, s.end, s.again) for s in found.sent],
            [(1.0, 0, 1000, False), (1.01, 1000, 2000, False), (1.02, 2000, 3000, False)]
            + [(2.0, 1000, 2000, True)],
        )
        self.assertEqual(
            [(round(h.at, 6), h.up_to, h.sacked) for h in found.heard],
            [(1.2, 1000, []), (1.22, 1000, [(2000, 3000)])],
        )

    def test_timeouts_silence_and_recovery_around_a_handover(self):
        """Segments 1 to 3 are dropped when it begins at 10 s; the third timeout is answered."""
        c = Capture()
        c.data(9.0, 9.3, 0)
        for n in (1, 2, 3):
            c.data(9.5 + n / 100, None, n)
        c.ack(9.3, 9.6, 1)
        c.data(10.77, None, 1)
        c.data(12.31, None, 1)
        c.data(15.39, 15.5, 1)
        c.ack(15.5, 15.6, 2)
        c.data(15.7, 15.8, 2)
        c.data(15.71, 15.81, 3)
        c.ack(15.81, 16.9, 4)
        c.data(19.0, 19.1, 4)
        found = time_sequence.around(c.read(), 10.0, 15.0)
        self.assertEqual(found["in_flight"], 3 * SEGMENT)
        self.assertAlmostEqual(found["rtt_s"], 0.6)
        self.assertEqual(found["again_s"], [0.77, 2.31, 5.39, 5.7, 5.71])
        self.assertAlmostEqual(found["idle_s"], 0.39)
        self.assertAlmostEqual(found["longest_idle_s"], 19.0 - 15.71)
        self.assertAlmostEqual(found["recovered_s"], 1.9)

    def test_a_connection_that_ends_before_has_nothing_to_say(self):
        c = Capture()
        c.data(1.0, 1.1, 0)
        c.ack(1.1, 1.2, 1)
        found = time_sequence.around(c.read(), 10.0, 15.0)
        self.assertEqual((found["in_flight"], found["again_s"]), (0, []))
        self.assertIsNone(found["idle_s"])
        self.assertIsNone(found["longest_idle_s"])
        self.assertIsNone(found["recovered_s"])
        self.assertEqual(Capture().read().sent, [])

    def test_options_that_are_none_have_no_blocks(self):
        for options in (b"", b"\5", b"\5\1", b"\5\12\0", b"\0\5\12" + bytes(8), b"\1" * 9):
            self.assertEqual(time_sequence.sack_blocks(options), [])
        self.assertEqual(time_sequence.sack_blocks(b"\1\1\5\12" + b"\0\0\0\1\0\0\0\2"), [(1, 2)])


if __name__ == "__main__":
    unittest.main()
