# SPDX-License-Identifier: GPL-3.0-or-later
"""The data of a connection over time, its graph, and the behaviour of its sender around a handover,
from a capture that is written here."""

import contextlib
import io
import pathlib
import struct
import tempfile
import unittest

from openwip_cli.capture import plot
from openwip_cli.errors import BadInput
from openwip_cli.measure import packet_rtt, time_sequence

SERVER, TERMINAL = (b"\x0a\x2a\0\1", 5001), (b"\x0a\x2a\0\2", 40000)
FIRST = 2**32 - 1500  # numbers wrap in the second segment
SEGMENT, ACK = 1000, 16  # bytes; a flag of a TCP header


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

    def pcap(self):
        data = struct.pack("<IHHiIII", packet_rtt.MAGIC, 2, 4, 0, 0, 65535, 101)
        for seconds, packet in sorted(self.packets, key=lambda p: p[0]):
            ns = round(seconds * 1e9)
            head = ns // 10**9, ns % 10**9, len(packet), len(packet)
            data += struct.pack("<IIII", *head) + packet
        return data

    def pcapng(self):
        """Two interfaces: link frames, which are no IP, and packets."""

        def block(kind, body):
            body += bytes(-len(body) % 4)
            length = struct.pack("<I", len(body) + 12)
            return struct.pack("<I", kind) + length + body + length

        resolution = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)
        data = block(packet_rtt.SECTION, struct.pack("<IHHq", packet_rtt.SECTION_ORDER, 1, 0, -1))
        data += block(packet_rtt.INTERFACE, struct.pack("<HHI", 147, 0, 0) + resolution)
        data += block(packet_rtt.INTERFACE, struct.pack("<HHI", packet_rtt.RAW, 0, 0) + resolution)
        for seconds, packet in sorted(self.packets, key=lambda p: p[0]):
            ns = round(seconds * 1e9)
            for which in (0, 1):
                head = which, ns >> 32, ns & (2**32 - 1), len(packet), len(packet)
                data += block(packet_rtt.PACKET, struct.pack("<IIIII", *head) + packet)
        return data

    def read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "packets.pcap")
            path.write_bytes(self.pcap())
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

    def test_pcapng_says_the_same_and_its_end_may_be_missing(self):
        c = Capture()
        c.data(1.0, 1.1, 0)
        c.data(1.01, 1.11, 1)
        c.ack(1.1, 1.2, 2)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "run.pcapng")
            path.write_bytes(c.pcapng())
            self.assertEqual(time_sequence.of_capture(path), c.read())
            path.write_bytes(c.pcapng()[:-7])
            found = time_sequence.of_capture(path)
            self.assertEqual((len(found.sent), found.heard), (2, []))

    def test_the_window_counts_in_units_of_the_scale_that_both_offer(self):
        self.assertEqual(time_sequence.scale_of(b"\2\4\5\0\1\3\3\7"), 7)
        for options in (b"", b"\1\1", b"\3\3", b"\2\4\5\264"):
            self.assertIsNone(time_sequence.scale_of(options))
        c = Capture()
        c.data(1.0, 1.1, 0)
        c.ack(1.1, 1.2, 1)
        self.assertEqual(c.read().heard[0].window, 1000)

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


class Plot(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        c = Capture()
        c.data(1.0, 1.1, 0)
        c.data(1.01, None, 1)
        c.data(1.02, 1.12, 2)
        c.ack(1.12, 1.22, 1, (2, 3))
        c.data(2.0, 2.1, 1)
        c.ack(2.1, 2.2, 3)
        self.capture = self.folder / "run.pcapng"
        self.capture.write_bytes(c.pcapng())

    def plot(self, *arguments):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            plot.main([str(a) for a in arguments])
        return said.getvalue()

    def test_the_graph_has_what_the_capture_has(self):
        out = self.folder / "graph.svg"
        said = self.plot(self.capture, "-o", out, "--window")
        self.assertIn("10.42.0.1:5001 to 10.42.0.2:40000, 3000 octets in 4 segments, 1 sent", said)
        text = out.read_text()
        self.assertTrue(text.startswith("<?xml"))
        for word in ("sent again", "acknowledged", "SACK", "window of the receiver"):
            self.assertIn(f"<!-- {word} -->", text)

    def test_what_cannot_be_drawn_is_refused_and_nothing_is_written(self):
        out = self.folder / "graph.png"
        empty = self.folder / "empty.pcap"
        empty.write_bytes(Capture().pcap())
        for words, why in (
            (
                [self.folder / "none", "-o", out],
                "cannot be read: No such file or directory; valid: a readable pcapng",
            ),
            ([self.folder / "x.txt", "-o", out], "is neither pcapng nor a pcap file with nano"),
            (
                [empty, "-o", out],
                "has no TCP segment with data over IPv4; valid: a capture of a TCP",
            ),
            ([self.capture, "-o", out, "--connection", 2], "--connection is 2, .* valid: 1..1"),
            ([self.capture, "-o", self.folder / "x.gif"], "--out is .*x.gif'; valid: a name that"),
            (
                [self.capture, "-o", out, "--from", 2, "--until", 1],
                "--from is 2 s with --until 1 s",
            ),
        ):
            (self.folder / "x.txt").write_text("no capture")
            with self.assertRaisesRegex(BadInput, why):
                self.plot(*words)
            self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
