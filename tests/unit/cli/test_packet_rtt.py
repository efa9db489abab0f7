# SPDX-License-Identifier: GPL-3.0-or-later
"""Round trips of TCP segments from a capture that is written here."""

import pathlib
import struct
import tempfile
import unittest

from openwip_cli.measure import packet_rtt

SERVER, TERMINAL = (b"\x0a\x2a\0\1", 5001), (b"\x0a\x2a\0\2", 40000)
FIRST = 2**32 - 1000  # sequence numbers pass 2**32 in the second segment
SEGMENT, SYN, ACK = 800, 2, 16  # bytes; flags of a TCP header


class Capture:
    def __init__(self):
        self.data = struct.pack("<IHHiIII", packet_rtt.MAGIC, 2, 4, 0, 0, 65535, 101)
        self.identification = 0

    def add(self, ms, packet):
        ns = round(ms * 1e6)
        self.data += (
            struct.pack("<IIII", ns // 10**9, ns % 10**9, len(packet), len(packet)) + packet
        )

    def packet(self, source, destination, number, acknowledged, octets=0, flags=ACK):
        self.identification += 1
        tcp = struct.pack(
            ">HHIIBBHHH",
            source[1],
            destination[1],
            number % 2**32,
            acknowledged % 2**32,
            5 << 4,
            flags,
            1000,
            0,
            0,
        ) + bytes(octets)
        return (
            struct.pack(
                ">BBHHHBBH4s4s",
                0x45,
                0,
                20 + len(tcp),
                self.identification,
                0,
                64,
                packet_rtt.TCP,
                0,
                source[0],
                destination[0],
            )
            + tcp
        )

    def sightings(self, sent_ms, arrived_ms, *what, **how):
        """(ms, packet) where a packet is sent and, unless arrived_ms is None, where it arrives."""
        packet = self.packet(*what, **how)
        return [(sent_ms, packet)] + ([(arrived_ms, packet)] if arrived_ms is not None else [])

    # `packets_seen`: the lists of sightings() of all packets.
    def trips(self, *packets_seen):
        return self.read(packet_rtt.of_capture, *packets_seen)

    def delays(self, *packets_seen):
        return [
            round(ns * 1e-6, 6) for ns in self.read(packet_rtt.delays_of_capture, *packets_seen)
        ]

    def read(self, reader, *packets_seen):
        for ms, packet in sorted(
            (x for sightings in packets_seen for x in sightings), key=lambda x: x[0]
        ):
            self.add(ms, packet)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "packets.pcap")
            path.write_bytes(self.data)
            return reader(path)

    def data_segment(self, sent_ms, arrived_ms, n):
        return self.sightings(
            sent_ms, arrived_ms, SERVER, TERMINAL, FIRST + n * SEGMENT, 1, octets=SEGMENT
        )

    def acknowledgement(self, sent_ms, arrived_ms, segments):
        return self.sightings(sent_ms, arrived_ms, TERMINAL, SERVER, 1, FIRST + segments * SEGMENT)


class Trips(unittest.TestCase):
    def expect(self, trips, *expected):
        self.assertEqual(len(trips), 1)
        (found,) = trips.values()
        self.assertEqual([round(t, 6) for t in found], list(expected))

    def test_a_round_trip_lasts_until_the_acknowledgement_of_the_whole_segment_arrives(self):
        c = Capture()
        self.expect(
            c.trips(
                c.sightings(0, 10, SERVER, TERMINAL, FIRST - 1, 0, flags=SYN),
                c.data_segment(20, 95, 0),
                c.data_segment(21, 96, 1),
                c.acknowledgement(95, 170, 1),
                c.data_segment(170, 250, 2),
                c.acknowledgement(96, 171, 2),
                c.acknowledgement(250, 333, 3),
            ),
            150,
            150,
            163,
        )

    def test_an_acknowledgement_of_several_segments_ends_the_trip_of_each_and_a_lost_one_ends_none(
        self,
    ):
        c = Capture()
        self.expect(
            c.trips(
                c.data_segment(0, 70, 0),
                c.data_segment(10, 80, 1),
                c.acknowledgement(70, None, 1),
                c.acknowledgement(80, 160, 2),
                c.acknowledgement(81, 161, 2),
            ),
            160,
            150,
        )

    def test_a_segment_that_is_sent_again_has_no_round_trip(self):
        c = Capture()
        self.expect(
            c.trips(
                c.data_segment(0, None, 0),
                c.data_segment(10, 80, 1),
                c.data_segment(300, 370, 0),
                c.acknowledgement(371, 446, 2),
            ),
            436,
        )

    def test_a_segment_that_is_never_acknowledged_has_no_round_trip(self):
        c = Capture()
        self.assertEqual(c.trips(c.data_segment(0, 70, 0)), {})

    def test_delays_are_those_of_all_packets_with_data_of_the_larger_direction(self):
        c = Capture()
        self.assertEqual(
            c.delays(
                c.sightings(0, 10, SERVER, TERMINAL, FIRST - 1, 0, flags=SYN),
                c.sightings(15, 16, TERMINAL, SERVER, 1, FIRST, octets=10),
                c.data_segment(20, 95, 0),
                c.data_segment(21, None, 1),
                c.acknowledgement(95, 170, 1),
                c.data_segment(300, 330.5, 1),
                c.data_segment(301, 325, 2),
            ),
            [75, 24, 30.5],  # in the order of arrival
        )
        self.assertEqual(Capture().delays(), [])

    def test_a_packet_that_is_marked_on_its_way_is_the_same(self):
        c = Capture()
        ((sent_ms, packet),) = c.data_segment(0, None, 0)
        marked = packet[:1] + b"\3" + packet[2:10] + b"\1\1" + packet[12:]
        self.assertEqual(c.delays([(sent_ms, packet), (42, marked)]), [42])

    def test_another_file_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "other")
            path.write_bytes(bytes(100))
            self.assertRaises(ValueError, packet_rtt.of_capture, path)


if __name__ == "__main__":
    unittest.main()
