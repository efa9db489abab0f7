# SPDX-License-Identifier: GPL-3.0-or-later
"""wip_capture with scripted publishers: what is in the file, its limits, and its refusals."""

import pathlib
import re
import shutil
import struct
import subprocess
import unittest

import capture_support as cs
from openwip_schema import telemetry_pb2 as pb
from scripted_cell import slot_ns
from small_captures import InFolder, capinfos, long_cell, pdus, renumber, small_cell, statistics

from openwip_cli.capture import capture
from openwip_cli.messages import link_frames


class Content(InFolder):
    def test_every_packet_is_there_with_its_time_interface_and_direction(self):
        cell = small_cell()
        file, reported = cs.capture(cell, self.folder)
        values, counts = capinfos(file)
        frames = len(cell.log)
        self.assertEqual(
            counts,
            {"base.ip": 6, "terminal.ip": 6, "base.frames": frames, "terminal.frames": frames},
        )
        self.assertEqual(values["Strict time order"], "True")
        self.assertIn("nanoseconds", values["File timestamp precision"])
        self.assertIn(" 0 lost in telemetry", reported)
        self.assertIn("the cell has ended", reported)
        rows = cs.fields(
            file, ["frame.time_epoch", "frame.interface_name", "frame.p2p_dir", "wip.slot"]
        )
        direction = {"base.ip": "0", "terminal.ip": "1", "base.frames": "0", "terminal.frames": "1"}
        for row in rows:
            (where,) = row["frame.interface_name"]
            self.assertEqual(row["frame.p2p_dir"], [direction[where]])
            if row["wip.slot"]:
                slot = int(row["wip.slot"][0]) + (where == "terminal.frames")
                seconds, fraction = row["frame.time_epoch"][0].split(".")
                self.assertEqual(int(seconds) * 10**9 + int(fraction), cs.START_NS + slot_ns(slot))

    def test_decoded_fields_are_what_was_published(self):
        cell = small_cell(seed=4)
        file, _ = cs.capture(cell, self.folder)
        for place, station in ((0, "base"), (1, "terminal")):
            published = [
                f
                for who, topic, message in cell.messages
                if who == station and topic == "frames"
                for f in link_frames.of(message.frames)
            ]
            layers = [p["openwip"] for p in cs.decoded(file, f"wip.place == {place}")]
            self.assertEqual(len(layers), len(published))
            for layer, f in zip(layers, published):
                expected = {
                    "slot": f.slot,
                    "bin": f.bin,
                    "modulation": f.bits_per_symbol,
                    "sn": f.sn,
                    "user": 0,
                    "offset": f.offset,
                    "payload_bits": f.payload_bits,
                    "whole": int(f.whole),
                    "last": int(f.last),
                    "retransmission": int(f.retransmissions > 0),
                }
                if place == 0:
                    expected["retransmissions"] = f.retransmissions
                else:
                    expected |= {"outcome": f.outcome, "combined": int(f.combined)}
                self.assertEqual({k: int(layer[f"wip.{k}"]) for k in expected}, expected)
                snr = layer["wip.snr.predicted" if place == 0 else "wip.snr.measured"]
                self.assertAlmostEqual(float(snr), f.snr_db, places=5)
                self.assertEqual(
                    bytes.fromhex(layer.get("wip.payload", "").replace(":", "")), f.payload
                )

    def test_comments_say_what_was_captured_and_the_verdict_comes_in_at_the_end(self):
        end = pathlib.Path(self.folder, "end")
        end.write_text("verdict: VALID\nthe run has ended\n")
        file, reported = cs.capture(
            small_cell(), self.folder, "--comment", "cell 'scripted'", "--end-file", end
        )
        self.assertIn("(the run has ended)", reported)
        text = cs.tool("capinfos", file)
        self.assertIn("cell 'scripted'", text)
        self.assertIn("verdict: VALID", text)
        self.assertNotIn("not known", text)

    def test_a_reason_of_many_lines_is_one_line_of_the_verdict(self):
        end = pathlib.Path(self.folder, "end")
        for verdict, words in (
            (
                {
                    "valid": False,
                    "reasons": ["iperf3 ended with 1:\niperf3: error -\n\tno route\n", "late"],
                },
                "verdict: INVALID: iperf3 ended with 1: iperf3: error - no route ; late",
            ),
            ({"valid": True, "reasons": []}, "verdict: VALID"),
        ):
            end.write_text(capture.last_words(verdict))
            file, reported = cs.capture(small_cell(), self.folder, "--end-file", end)
            self.assertIn("(the run has ended)", reported)
            self.assertIn(words + "\n", re.sub(r" *\n", "\n", cs.tool("capinfos", file)))
        end.write_text(capture.last_words(None))
        _, reported = cs.capture(small_cell(), self.folder, "--end-file", end)
        self.assertIn("(the run was broken off)", reported)

    def test_classic_pcap_has_the_same_packets_for_readers_of_one_link_type(self):
        """tcpdump of Debian 12 reads no pcapng of several interfaces."""
        for kind, link in (("ip", 101), ("frames", 252)):
            read = []
            for more in ((), ("--pcap",)):
                file, reported = cs.capture(
                    small_cell(), self.folder, "--only", kind, *more, topics=2
                )
                names = ["frame.time_epoch", "frame.len", "ip.id", "wip.sn", "wip.slot"]
                read.append(cs.fields(file, names))
            content = pathlib.Path(file).read_bytes()
            with self.subTest(kind):
                self.assertEqual(read[0], read[1])
                self.assertRegex(reported, rf"^openwip capture: {len(read[1])} packets to ")
                self.assertEqual(struct.unpack_from("<IHH12xI", content)[0::3], (0xA1B23C4D, link))
                if shutil.which("tcpdump"):
                    done = subprocess.run(
                        ["tcpdump", "-nr", file], capture_output=True, text=True, timeout=60
                    )
                    self.assertEqual(
                        (done.returncode, len(done.stdout.splitlines()) >= len(read[1])), (0, True)
                    )
        code, reported = cs.ended(cs.start(self.folder, "-o", file, "--pcap"))
        self.assertEqual(code, 2)
        self.assertIn("--pcap is given without --only", reported)

    def test_two_terminals_have_interfaces_of_their_own(self):
        one, two = small_cell(packets=3), small_cell(packets=2, user=1, seed=9)
        one.messages += two.messages
        renumber(one)
        file, _ = cs.capture(one, self.folder, "--terminals", 2)
        _, counts = capinfos(file)
        self.assertEqual(counts["terminal2.ip"], 2)
        self.assertEqual(counts["base.ip"], 5)
        self.assertEqual(counts["terminal2.frames"], len(two.log))
        complete = cs.fields(file, ["wip.user", "ip.id"], "wip.place == 1 and icmp")
        self.assertEqual(
            [len([r for r in complete if r["wip.user"] == [u]]) > 0 for u in "01"], [True, True]
        )

    def test_a_terminal_that_the_cell_has_not_is_left_out_and_counted(self):
        _, reported = cs.capture(small_cell(user=3), self.folder)
        self.assertRegex(reported, r"\d+ of unknown terminals or links left out")

    def test_what_is_of_another_link_never_comes_under_a_wrong_type(self):
        for link, other, name in (((), pdus(), "frames"), (("--pdus",), small_cell(), "pdus")):
            _, reported = cs.capture(other, self.folder, *link)
            self.assertIn(f"base.{name} 0, terminal.{name} 0,", reported)
            self.assertRegex(reported, r"[1-9]\d* of unknown terminals or links left out")
        _, reported = cs.capture(pdus(), self.folder, "--pdus")
        self.assertIn("base.pdus 3, terminal.pdus 0,", reported)
        self.assertNotIn("unknown", reported)


class Losses(InFolder):
    def test_gaps_of_the_telemetry_are_drops_of_the_interface(self):
        cell = small_cell()
        lost = [m for m in cell.messages if m[:2] == ("terminal", "frames")][1:4]
        n = sum(len(m[2].frames.bin) for m in lost)
        self.assertGreater(n, 3)
        cell.messages = [m for m in cell.messages if m not in lost]
        file, reported = cs.capture(cell, self.folder)
        self.assertIn(f" {n} lost in telemetry", reported)
        dropped = [
            r["frame.drop_count"] for r in cs.fields(file, ["frame.drop_count"], "wip.place == 1")
        ]
        self.assertEqual([d for d in dropped if d], [[str(n)]])
        self.assertEqual(
            statistics(file),
            {
                "base.ip": (6, 0),
                "terminal.ip": (6, 0),
                "base.frames": (len(cell.log), 0),
                "terminal.frames": (len(cell.log) - n, n),
            },
        )

    def test_packets_that_the_station_left_out_are_drops(self):
        cell = small_cell()
        batches = [
            m for station, topic, m in cell.messages if (station, topic) == ("terminal", "ip")
        ]
        batches[0].ip.skipped = 5  # skipped before this capture began
        for message in batches[1:]:
            message.ip.skipped = 7
        file, reported = cs.capture(cell, self.folder)
        self.assertEqual(statistics(file)["terminal.ip"], (6, 2))
        self.assertIn(" 2 lost in telemetry", reported)

    def test_packets_that_were_missed_are_drops_whatever_message_they_were_in(self):
        cell = small_cell()
        batches = [m for m in cell.messages if m[:2] == ("terminal", "ip")]
        self.assertGreater(len(batches), 2)
        cell.messages.remove(batches[1])
        n = len(batches[1][2].ip.packet)
        file, _ = cs.capture(cell, self.folder)
        self.assertEqual(statistics(file)["terminal.ip"], (6 - n, n))

    def test_a_message_whose_columns_do_not_fit_is_counted_and_left_out(self):
        cell = small_cell()
        batches = [m[2] for m in cell.messages if m[:2] == ("base", "frames")]
        n = 0
        for message, column in zip(batches, ("bin", "snr_db", "payload", "outcome", "nof_packets")):
            n += len(message.frames.bin)
            if column == "snr_db":
                message.frames.snr_db.append(1.0)
            else:
                setattr(message.frames, column, getattr(message.frames, column) + b"\1")
        batches[5].frames.slot[0].frames = 2**32 - 1
        n += len(batches[5].frames.bin)
        file, reported = cs.capture(cell, self.folder)
        self.assertIn("6 messages that do not parse left out", reported)
        self.assertEqual(statistics(file)["base.frames"][0], len(cell.log) - n)

    def test_times_that_cannot_be_are_counted_and_move_nothing(self):
        cell = small_cell()
        whole, _ = cs.capture(cell, self.folder)
        expected = capinfos(whole)[1]

        def copy_of(topic, change):
            at = next(i for i, m in enumerate(cell.messages) if m[:2] == ("base", topic))
            message = pb.Telemetry()
            message.CopyFrom(cell.messages[at][2])
            change(message)
            cell.messages.insert(at + 1, ("base", topic, message))

        for slot in (2**62, 2**63 - 1, -(2**63)):
            copy_of("frames", lambda m, s=slot: setattr(m, "slot", s))
            copy_of("frames", lambda m, s=slot: setattr(m.frames.slot[0], "air", s))
            copy_of("ip", lambda m, s=slot: setattr(m.ip.packet[0], "time_ns", s))
            copy_of("ip", lambda m, s=slot: setattr(m, "wall_ns", -s - 1 if s > 0 else s))
        file, reported = cs.capture(cell, self.folder, "--seconds", "1000")
        self.assertIn("12 messages that do not parse left out", reported)
        values, counts = capinfos(file)
        self.assertEqual(counts, expected)
        self.assertEqual(values["Strict time order"], "True")

    def test_what_does_not_parse_and_what_is_of_a_later_version_is_counted(self):
        cell = small_cell()
        cell.messages[0][2].version = pb.VERSION_CURRENT + 1
        publish = cs.Publishers.publish

        def send(sockets):
            sockets.sockets["base"].send_multipart([b"frames", b"\xff\xff\xff"])
            sockets.sockets["base"].send_multipart([b"frames", b"", b"third"])
            cell_send(lambda *m: publish(sockets, *m))

        cell_send = cell.send
        cell.send = lambda publish_: send(publish_.__self__)
        _, reported = cs.capture(cell, self.folder)
        self.assertIn("2 messages that do not parse left out", reported)
        self.assertIn("1 messages of a newer version left out", reported)


class Order(InFolder):
    def test_publishers_that_are_read_one_after_the_other_come_out_in_the_order_of_the_air(self):
        cell = long_cell()
        cell.messages.sort(key=lambda m: m[0])  # all of the base station's first
        file, reported = cs.capture(cell, self.folder)
        self.assertNotIn("out of order", reported)
        values, counts = capinfos(file)
        self.assertEqual(values["Strict time order"], "True")
        self.assertEqual(counts["base.frames"], len(cell.log))
        self.assertEqual(counts["terminal.frames"], len(cell.log))

    def test_messages_of_several_slots_make_the_same_capture_as_one_of_each_slot(self):
        rows = []
        for slots in (1, 15):
            file, reported = cs.capture(small_cell(packets=40, batch_slots=slots), self.folder)
            self.assertNotIn("out of order", reported)
            rows.append(
                cs.fields(
                    file,
                    [
                        "frame.number",
                        "frame.time_epoch",
                        "frame.interface_name",
                        "wip.slot",
                        "wip.bin",
                        "wip.sn",
                        "wip.outcome",
                        "wip.window_edge",
                        "wip.payload",
                    ],
                )
            )
        self.assertGreater(len({r["wip.slot"][0] for r in rows[0] if r["wip.slot"]}), 60)
        self.assertEqual(rows[0], rows[1])


class Limits(InFolder):
    def test_count_and_only(self):
        file, reported = cs.capture(
            long_cell(), self.folder, "--only", "frames", "--count", 5, topics=2
        )
        values, counts = capinfos(file)
        self.assertEqual(sum(counts.values()), 5)
        self.assertEqual(set(counts), {"base.frames", "terminal.frames"})
        self.assertIn("as much as was asked for", reported)

    def test_only_ip(self):
        file, _ = cs.capture(small_cell(), self.folder, "--only", "ip", topics=2)
        self.assertEqual(capinfos(file)[1], {"base.ip": 6, "terminal.ip": 6})

    def test_seconds_of_air_time(self):
        file, _ = cs.capture(long_cell(), self.folder, "--seconds", 0.2)
        slots = [int(r["wip.slot"][0]) for r in cs.fields(file, ["wip.slot"], "wip.place == 0")]
        self.assertLessEqual(slots[-1] - 300, 301)
        self.assertGreaterEqual(slots[-1] - 300, 298)

    def test_snap_keeps_the_length_on_the_air_and_says_that_the_frame_is_cut(self):
        file, _ = cs.capture(small_cell(), self.folder, "--snap", 64)
        rows = cs.fields(
            file, ["frame.len", "frame.cap_len", "wip.payload_bits", "_ws.expert.message"]
        )
        self.assertTrue(all(int(r["frame.cap_len"][0]) <= 64 for r in rows))
        long = [r for r in rows if r["wip.payload_bits"] == ["840"]]
        self.assertTrue(long)
        self.assertTrue(all(int(r["frame.len"][0]) >= 16 + 32 + 105 for r in long))
        self.assertTrue(all("only a part" in r["_ws.expert.message"][-1] for r in long), long[0])


class Refusals(unittest.TestCase):
    def assert_refused(self, word, *arguments):
        done = subprocess.run(
            [cs.BUILD / "host/capture/wip_capture", *arguments],
            capture_output=True,
            text=True,
            timeout=30,
        )
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertIn(word, done.stderr)

    def test_bad_arguments_are_named(self):
        ends = ["--base", "ipc:///tmp/nobody.b", "--terminal", "ipc:///tmp/nobody.t"]
        self.assert_refused("--output", *ends)
        self.assert_refused("--only", "-o", "/dev/null", "--only", "frame", *ends)
        self.assert_refused("--snap", "-o", "/dev/null", "--snap", "3", *ends)
        self.assert_refused("--seconds", "-o", "/dev/null", "--seconds", "-1", *ends)
        self.assert_refused("/nowhere/x.pcapng", "-o", "/nowhere/x.pcapng", *ends)
        self.assert_refused(
            "nonsense", "-o", "/dev/null", "--base", "nonsense", "--terminal", "ipc:///tmp/nobody.t"
        )

    def test_no_cell_is_said(self):
        self.assert_refused(
            "no cell answers",
            "-o",
            "/dev/null",
            "--wait",
            "0.2",
            "--base",
            "ipc:///tmp/nobody.b",
            "--terminal",
            "ipc:///tmp/nobody.t",
        )


if __name__ == "__main__":
    unittest.main()
