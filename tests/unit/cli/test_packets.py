# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip packets: the line and the JSON object of a packet, counts, and how it ends."""

import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from openwip_schema import telemetry_pb2 as pb
from scripted_publisher import Publisher

from openwip_cli.errors import BadInput
from openwip_cli.figures import meaning
from openwip_cli.messages import telemetry
from openwip_cli.views import packets


def record(number=7, **more):
    given = {
        "bytes": 1500,
        "protocol": 6,
        "source_port": 5201,
        "destination_port": 40112,
        "arrived_ns": 1_000_000_123,
        "left_ns": 1_012_345_679,
        "queue_ns": 5_000_000,
        "scheduling_ns": 2_678_889,
        "air_ns": 666_667,
        "retransmission_ns": 2_000_000,
        "reordering_ns": 2_000_000,
        "frames": 3,
        "retransmissions": [0, 1, 0],
        "each_retransmission_ns": [2_000_000],
        "identification": 4711,
    }
    return pb.PacketRecord(number=number, **(given | more))


class Lines(unittest.TestCase):
    def test_a_line_has_all_parts_in_ms_and_their_sum(self):
        line = packets.line_of(record())
        for words in (
            "7  1500",
            "TCP 5201>40112",
            "12.346 =    5.000 +   2.679 +  0.667 +   2.000 +   2.000",
            "1 of 3 again (1)",
        ):
            self.assertIn(words, line)
        self.assertEqual(len(packets.HEADER.split("=")[0]), len(line.split("=")[0]))

    def test_a_drop_says_why(self):
        line = packets.line_of(
            record(dropped="queue_full", retransmissions=[], user=2, wired_ns=10_000_000)
        )
        self.assertTrue(line.endswith("DROPPED: queue_full"), line)
        self.assertIn("(terminal 3)", line)
        self.assertIn("10.000 ms wired before", line)

    def test_json_has_every_figure_and_its_parts_sum_to_the_total(self):
        tree = json.loads(json.dumps(packets.tree_of(record())))
        self.assertEqual(tree["total_ns"], 12_345_556)
        self.assertEqual(sum(tree[f"{p}_ns"] for p in meaning.DELAY_PARTS), 12_345_556)
        self.assertEqual((tree["number"], tree["identification"], tree["dropped"]), (7, 4711, None))
        self.assertEqual(
            (tree["retransmissions"], tree["each_retransmission_ns"]), ([0, 1, 0], [2_000_000])
        )

    def test_a_packet_of_the_uplink_says_so_and_what_is_wired_lies_behind_it(self):
        line = packets.line_of(record(uplink=True, wired_ns=45_000_000))
        self.assertIn("up TCP 5201>40112", line)
        self.assertIn("45.000 ms wired behind", line)
        self.assertEqual(
            [packets.tree_of(record(uplink=u))["uplink"] for u in (False, True)], [False, True]
        )

    def test_a_way_can_be_asked_for_and_each_counts_its_pdus_for_itself(self):
        records = [
            record(n, uplink=u, first_pdu=0, last_pdu=n) for n in (1, 2, 3) for u in (False, True)
        ]
        for way, pdu, shown in (
            ("down", None, [1, 2, 3]),
            ("up", 2, [2, 3]),
            ("both", 3, [3, 3]),
            ("both", None, [1, 1, 2, 2, 3, 3]),
        ):
            out = io.StringIO()
            packets.Printer(None, out, None, pdu, way).batch(pb.PacketBatch(packet=records))
            trees = [json.loads(line) for line in out.getvalue().splitlines()]
            self.assertEqual([t["number"] for t in trees], shown, (way, pdu))
            self.assertLessEqual(
                {t["uplink"] for t in trees},
                {"down": {False}, "up": {True}, "both": {False, True}}[way],
            )

    def test_what_only_a_bearer_has_is_refused_of_another_link(self):
        class Given:
            way, pdu = "both", None

        class Link:
            name = "x"
            endpoint = staticmethod(lambda name: name)

        answers = {
            "link: {kind: umts}": None,
            "link: {kind: wlan}": "wlan",
            "link: {kind: hetnet}": "hetnet",
            "link: {bins: 25}": "ofdm",
        }
        for yaml, kind in answers.items():
            status = unittest.mock.Mock(return_value=unittest.mock.Mock(effective_yaml=yaml))
            with unittest.mock.patch.object(packets.control.Control, "status", status):
                for way, pdu, asked, valid in (
                    ("up", None, "--way up", "umts, hetnet or trace"),
                    ("up", 4, "--way up", "umts"),
                    ("both", 4, "--pdu 4", "umts"),
                ):
                    Given.way, Given.pdu = way, pdu
                    if kind is None or kind in valid:
                        packets.refuse_without_bearer(Given, Link)
                        continue
                    with self.assertRaisesRegex(
                        BadInput,
                        f"{asked}: the link of cell 'x' is {kind}; valid with emulate --link"
                        f" {valid}$",
                    ):
                        packets.refuse_without_bearer(Given, Link)
                Given.way, Given.pdu = "down", None
                packets.refuse_without_bearer(Given, Link)

    def test_a_pdu_has_the_packets_that_had_a_part_in_it(self):
        records = [
            record(1),
            record(2, first_pdu=0, last_pdu=3),
            record(3, first_pdu=3, last_pdu=9),
            record(4, first_pdu=4090, last_pdu=2),
        ]
        for pdu, numbers in ((3, [2, 3]), (4, [3]), (2, [2, 4]), (4095, [4]), (10, [])):
            out = io.StringIO()
            printer = packets.Printer(None, out, None, pdu)
            printer.batch(pb.PacketBatch(packet=records))
            self.assertEqual(
                [json.loads(line)["number"] for line in out.getvalue().splitlines()], numbers, pdu
            )
            self.assertEqual(printer.shown, len(numbers))


class Following(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.base = Publisher(f"ipc://{folder.name}/base")
        self.addCleanup(self.base.close)
        self.reader = telemetry.Reader({"base": self.base.endpoint}, ("packet",))
        self.addCleanup(self.reader.close)
        self.base.await_subscribers("packet")
        self.messages, self.out = [], io.StringIO()

    def follow(self, count, as_json=True, alive=lambda: True):
        printer = packets.Printer(*((None, self.out) if as_json else (self.out, None)), count)
        packets.follow(self.reader, alive, printer, self.messages.append)
        return printer

    def batch(self, numbers, skipped=0):
        self.base.send(
            "packet", packets={"packet": [record(n) for n in numbers], "skipped": skipped}
        )

    def test_it_ends_after_as_many_packets_as_asked_for(self):
        self.batch(range(3), skipped=5)
        self.batch(range(3, 6), skipped=9)
        printer = self.follow(4)
        self.assertEqual(
            [json.loads(line)["number"] for line in self.out.getvalue().splitlines()], [0, 1, 2, 3]
        )
        self.assertEqual((printer.shown, printer.skipped), (4, 4))

    def test_a_cell_that_ends_is_the_end_and_is_said(self):
        self.batch([1])
        printer = self.follow(None, as_json=False, alive=lambda: False)
        self.assertEqual((printer.shown, self.messages), (1, ["the cell has ended"]))
        self.assertEqual(self.out.getvalue().splitlines()[0], packets.HEADER)

    def test_silence_is_said_once(self):
        packets.SILENT_S, before = 0.1, packets.SILENT_S
        self.addCleanup(setattr, packets, "SILENT_S", before)
        self.follow(None, alive=lambda: False)
        self.assertEqual(
            [s.split(":")[0] for s in self.messages], ["no packet for 0.1 s", "the cell has ended"]
        )


class Arguments(unittest.TestCase):
    def run_cli(self, *arguments):
        return subprocess.run(
            [sys.executable, "-m", "openwip_cli", "packets", *arguments],
            capture_output=True,
            text=True,
            timeout=60,
        )

    def test_what_is_wrong_is_one_line_and_exit_code_2(self):
        for arguments, word in (
            (["--count", "0"], "--count is '0'"),
            (["--count", "x"], "--count is 'x'"),
            (["--way", "left"], "--way is 'left'"),
            (["--pdu", "4096"], "--pdu is '4096'"),
            (["--count", "3", "--follow"], "not allowed with"),
            (["--fast"], "--fast"),
        ):
            done = self.run_cli(*arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.assertIn(word, done.stderr)

    @unittest.skipIf(os.geteuid() != 0, "asks for root first")
    def test_no_cell_is_said(self):
        done = self.run_cli("--name", f"none{os.getpid()}")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("no cell is up", done.stderr)


if __name__ == "__main__":
    unittest.main()
