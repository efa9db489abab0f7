# SPDX-License-Identifier: GPL-3.0-or-later
"""The Wireshark dissector on scripted cells, through tshark: the IP packets inside link frames,
what belongs together, damaged frames, captures that begin or break off in the middle,
installation."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import capture_support as cs
from scripted_cell import ScriptedCell, ipv4, ipv6_udp

LINKS = [
    "frame.number",
    "frame.interface_name",
    "wip.sn",
    "wip.offset",
    "wip.outcome",
    "wip.sent_in",
    "wip.received_in",
    "wip.retransmission_of",
    "wip.retransmitted_in",
    "wip.acknowledged_in",
]
ICMP = ["frame.number", "ip.id", "ip.len", "icmp.checksum", "icmp.checksum.status", "data.data"]


def expected_icmp(packet):
    """The fields that tshark finds in an ipv4() packet: together all of its bytes but the IP
    header's constant ones."""
    return {
        "ip.id": [f"0x{int.from_bytes(packet[4:6], 'big'):04x}"],
        "ip.len": [str(len(packet))],
        "icmp.checksum": [f"0x{int.from_bytes(packet[22:24], 'big'):04x}"],
        "icmp.checksum.status": ["1"],
        "data.data": [packet[28:].hex()] if len(packet) > 28 else [],
    }


@cs.with_tools
class Case(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def captured(self, cell, *arguments):
        return cs.capture(cell, self.folder, *arguments)[0]

    def packets_in_frames(self, file, place):
        """The fields that tshark decodes of every IP packet that is complete in a link frame; a
        frame may complete several."""
        found = []
        for row in cs.fields(file, ICMP, f"wip.place == {place} and icmp"):
            parts = [row[n] for n in ICMP[1:]]
            self.assertEqual({len(p) for p in parts}, {len(parts[0])}, row)
            found += [dict(zip(ICMP[1:], ([v] for v in values))) for values in zip(*parts)]
        return found


class Reassembly(Case):
    def test_the_packets_in_the_frames_are_those_that_were_sent(self):
        cell = ScriptedCell(seed=2)
        packets = [
            ipv4(n, size) for n, size in enumerate((1, 60, 333, 1472, 2, 900, 17, 640, 41, 1200))
        ]
        cell.give(*packets)
        cell.drain([8, 1, 5, 3], fail=lambda unit: cell.dice.random() < 0.3)
        retransmitted = [u for _, _, u, _ in cell.log if u.retransmissions]
        split = [u for _, _, u, _ in cell.log if u.offset]
        odd = [a for parts in cell.parts for a, _ in parts.values() if a % 2]
        self.assertTrue(retransmitted and split and odd, "the script is too easy")
        file = self.captured(cell)
        for place in (0, 1):
            found = sorted(self.packets_in_frames(file, place), key=lambda p: p["ip.id"])
            self.assertEqual(found, [expected_icmp(p) for p in packets])

    def test_packets_and_frames_name_each_other(self):
        cell = ScriptedCell(seed=3)
        cell.give(*(ipv4(n, 80 + 90 * n) for n in range(8)))
        cell.drain([4, 2, 6], fail=lambda unit: cell.dice.random() < 0.25)
        file = self.captured(cell)
        rows = cs.fields(
            file,
            LINKS
            + [
                "wip.slot",
                "wip.bin",
                "ip.id",
                "wip.ip.frame",
                "wip.ip.tun_in",
                "wip.ip.tun_out",
                "wip.ip.received_in",
                "wip.ip.delay_ms",
                "frame.time_relative",
            ],
        )
        number_of = {}  # place, slot, bin -> frame number
        for r in rows:
            if r["wip.sn"]:
                number_of[
                    r["frame.interface_name"][0], int(r["wip.slot"][0]), int(r["wip.bin"][0])
                ] = r["frame.number"][0]
        tun = {
            (r["frame.interface_name"][0], int(r["ip.id"][0], 16)): r
            for r in rows
            if not r["wip.sn"]
        }
        for packet, parts in enumerate(cell.parts):
            came, left = tun["base.ip", packet], tun["terminal.ip", packet]
            self.assertEqual(came["wip.ip.tun_out"], left["frame.number"])
            self.assertEqual(left["wip.ip.tun_in"], came["frame.number"])
            carried = {
                number_of["base.frames", slot, b]
                for slot, b, unit, _ in cell.log
                if unit.sn in parts
                and unit.offset < parts[unit.sn][1]
                and unit.offset + unit.length > parts[unit.sn][0]
            }
            self.assertEqual(set(came["wip.ip.frame"]), carried)
            self.assertEqual(left["wip.ip.frame"], came["wip.ip.frame"])
            delay = float(left["frame.time_relative"][0]) - float(came["frame.time_relative"][0])
            self.assertAlmostEqual(float(came["wip.ip.delay_ms"][0]), 1000 * delay, places=4)
            complete = next(r for r in rows if r["frame.number"] == came["wip.ip.received_in"])
            self.assertEqual(complete["wip.outcome"], ["1"])
        by_number = {r["frame.number"][0]: r for r in rows}
        for slot, b, unit, outcome in cell.log:
            sent = by_number[number_of["base.frames", slot, b]]
            received = by_number[number_of["terminal.frames", slot, b]]
            self.assertEqual(sent["wip.received_in"], received["frame.number"])
            self.assertEqual(received["wip.sent_in"], sent["frame.number"])
            self.assertEqual(received["wip.outcome"], [str(outcome)])
            if outcome == 1:
                self.assertLessEqual(
                    int(sent["wip.acknowledged_in"][0]), int(received["frame.number"][0])
                )
            if unit.retransmissions and not unit.offset:
                first = next((s, i) for s, i, u, _ in cell.log if u.sn == unit.sn)
                self.assertEqual(
                    sent["wip.retransmission_of"], [number_of[("base.frames", *first)]]
                )
            if outcome != 1:
                again = by_number[sent["wip.retransmitted_in"][0]]
                self.assertEqual(again["wip.sn"], sent["wip.sn"])
                self.assertGreater(int(again["frame.number"][0]), int(sent["frame.number"][0]))
        self.assertTrue(any(u.retransmissions > 1 for _, _, u, _ in cell.log))

    def test_ipv6_and_padding_between_packets(self):
        cell = ScriptedCell(seed=5)
        packets = [ipv6_udp(n, 30 + 111 * n) for n in range(6)]
        for packet in packets:
            cell.give(packet)
            cell.run_slot([3, 5])
        cell.drain([3, 5], fail=lambda unit: False)
        file = self.captured(cell)
        rows = cs.fields(
            file, ["udp.dstport", "udp.checksum", "data.data"], "wip.place == 1 and ipv6"
        )
        ports = [p for r in rows for p in r["udp.dstport"]]
        self.assertEqual(ports, [str(5000 + n) for n in range(6)])
        data = [d for r in rows for d in r["data.data"]]
        self.assertEqual(data, [p[48:].hex() for p in packets])

    def test_the_sequence_number_wraps(self):
        cell = ScriptedCell(seed=6, first_sn=65500)
        packets = [ipv4(n, 300) for n in range(60)]
        cell.give(*packets)
        cell.drain([2, 2, 2, 2], fail=lambda unit: cell.dice.random() < 0.2)
        self.assertGreater(max(cell.frames), 65536)
        found = sorted(self.packets_in_frames(self.captured(cell), 1), key=lambda p: p["ip.id"])
        self.assertEqual(found, [expected_icmp(p) for p in packets])

    def test_users_do_not_mix(self):
        cell, other = ScriptedCell(seed=7), ScriptedCell(seed=8, user=1)
        for c, first in ((cell, 0), (other, 100)):
            c.give(*(ipv4(first + n, 200) for n in range(5)))
            c.drain([3, 3], fail=lambda unit, c=c: c.dice.random() < 0.3)
        cell.messages += other.messages
        count = {}
        for station, topic, message in cell.messages:
            count[station, topic] = message.sequence = count.get((station, topic), 0) + 1
        file = self.captured(cell, "--terminals", 2)
        rows = cs.fields(file, ["wip.user", "ip.id"], "wip.place == 1 and icmp")
        by_user = {
            u: sorted(int(i, 16) for r in rows if r["wip.user"] == [u] for i in r["ip.id"])
            for u in "01"
        }
        self.assertEqual(by_user, {"0": list(range(5)), "1": list(range(100, 105))})


class Incomplete(Case):
    def test_a_capture_that_begins_in_the_middle_finds_the_next_packet(self):
        cell = ScriptedCell(seed=9)
        packets = [ipv4(n, 500 + 7 * n) for n in range(20)]
        cell.give(*packets)
        cell.drain([3, 4], fail=lambda unit: False)
        cell.messages = [m for m in cell.messages if m[2].slot >= 110]
        found = [int(p["ip.id"][0], 16) for p in self.packets_in_frames(self.captured(cell), 1)]
        begun_before = next(
            n
            for n, parts in enumerate(cell.parts)
            if all(s >= 110 for s, _, u, _ in cell.log if u.sn in parts)
        )
        self.assertEqual(found, list(range(begun_before, 20)))

    def test_frames_that_telemetry_lost_cost_their_packets_only(self):
        cell = ScriptedCell(seed=10)
        packets = [ipv4(n, 400) for n in range(30)]
        cell.give(*packets)
        cell.drain([5, 4], fail=lambda unit: False)
        lost_slots = range(108, 111)
        lost = {u.sn for s, _, u, _ in cell.log if s in lost_slots}
        cell.messages = [
            m
            for m in cell.messages
            if not (m[:2] == ("base", "frames") and m[2].frames.slot[0].air in lost_slots)
        ]
        file = self.captured(cell)
        found = self.packets_in_frames(file, 1)
        whole = [n for n, parts in enumerate(cell.parts) if not lost & set(parts)]
        self.assertEqual([int(p["ip.id"][0], 16) for p in found], whole)
        self.assertEqual(found, [expected_icmp(packets[n]) for n in whole])

    def test_a_packet_that_was_given_up_is_not_complete_and_the_next_one_is(self):
        cell = ScriptedCell(seed=11, max_retransmissions=1)
        packets = [ipv4(n, 300) for n in range(10)]
        cell.give(*packets)
        cell.drain([4], fail=lambda unit: unit.sn == 65534)
        lost = {n for n, parts in enumerate(cell.parts) if 65534 in parts}
        self.assertTrue(lost)
        file = self.captured(cell)
        found = {int(p["ip.id"][0], 16) for p in self.packets_in_frames(file, 1)}
        self.assertEqual(found, set(range(10)) - lost)
        for n in lost:
            (row,) = cs.fields(
                file,
                ["wip.ip.frame", "wip.ip.tun_out"],
                f"frame.interface_name == base.ip and ip.id == {n}",
            )
            self.assertTrue(row["wip.ip.frame"])
            self.assertEqual(row["wip.ip.tun_out"], [])

    def test_damaged_and_unheard_frames_are_marked(self):
        cell = ScriptedCell(seed=12)
        cell.give(*(ipv4(n, 300) for n in range(4)))
        cell.run_slot([4, 4], fail=lambda unit: True)
        cell.run_slot([4, 4], unheard=True)
        cell.drain([4, 4])
        file = self.captured(cell)
        damaged = cs.fields(file, ["wip.slot", "wip.place"], "wip.damaged")
        self.assertEqual([(r["wip.slot"], r["wip.place"]) for r in damaged], [(["100"], ["1"])] * 2)
        unheard = cs.fields(file, ["wip.slot"], "wip.unheard")
        self.assertEqual([r["wip.slot"] for r in unheard], [["101"]] * 2)
        self.assertIn("DAMAGED", cs.tshark(file, "-Y", "wip.damaged"))

    def test_a_frame_of_a_later_version_is_said_and_not_guessed(self):
        cell = ScriptedCell()
        cell.give(ipv4(1, 20))
        cell.drain([4])
        file = self.captured(cell)
        data = file.read_bytes().replace(b"openwip\0\0\0\0\0\2", b"openwip\0\0\0\0\0\3")
        file.write_bytes(data)
        text = cs.tshark(file, "-Y", "wip.version", "-T", "fields", "-e", "wip.slot")
        self.assertEqual(text.split(), [])
        self.assertEqual(len(text.splitlines()), 2 * len(cell.log))


class Analysis(Case):
    def test_one_filter_follows_a_packet(self):
        cell = ScriptedCell(seed=13)
        cell.give(*(ipv4(n, 150) for n in range(4)))
        cell.uplink(ipv4(50, 20, "10.42.0.2", "10.42.0.1"))
        cell.drain([2, 2], fail=lambda unit: unit.sn == 65532 and not unit.retransmissions)
        file = self.captured(cell)
        (came,) = cs.fields(
            file, ["frame.number"], "frame.interface_name == base.ip and ip.id == 2"
        )
        number = came["frame.number"][0]
        rows = cs.fields(
            file, ["frame.interface_name"], f"frame.number == {number} or wip.ip.tun_in == {number}"
        )
        places = [r["frame.interface_name"][0] for r in rows]
        self.assertEqual(places[0], "base.ip")
        self.assertEqual(places[-1], "terminal.ip")
        self.assertEqual(set(places[1:-1]), {"base.frames", "terminal.frames"})
        (up,) = cs.fields(
            file,
            ["frame.interface_name", "wip.ip.tun_out", "wip.ip.delay_ms"],
            "wip.ip.tun_out and ip.src == 10.42.0.2 and frame.interface_name == terminal.ip",
        )
        self.assertEqual(up["wip.ip.delay_ms"], ["2"])

    def test_frames_read_without_preferences_and_in_one_pass(self):
        cell = ScriptedCell()
        cell.give(ipv4(1, 200))
        cell.drain([3])
        file = self.captured(cell)
        with tempfile.TemporaryDirectory() as home:
            done = subprocess.run(
                [
                    *cs.TSHARK,
                    "-n",
                    "-X",
                    f"lua_script:{cs.DISSECTOR}",
                    "-r",
                    file,
                    "-Y",
                    "wip.slot",
                ],
                capture_output=True,
                text=True,
                env={"HOME": home, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            )
        self.assertEqual(len(done.stdout.splitlines()), 2 * len(cell.log), done.stderr)
        self.assertIn("8-QAM", done.stdout)


class Installation(Case):
    def openwip(self, *arguments, **more):
        environment = (
            os.environ | {"HOME": self.folder, "OPENWIP_NO_BUILD": "1", "LC_ALL": "C.UTF-8"} | more
        )
        return subprocess.run(
            [cs.TOP / "openwip", *arguments], capture_output=True, text=True, env=environment
        )

    def tshark(self, *arguments):
        environment = {"HOME": self.folder, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        return subprocess.run(
            [*cs.TSHARK, *arguments], capture_output=True, text=True, env=environment
        )

    def in_terminal(self, *arguments):
        """tshark colours only what a terminal shows."""
        ours, its = os.openpty()
        environment = {
            "HOME": self.folder,
            "PATH": os.environ["PATH"],
            "LC_ALL": "C.UTF-8",
            "COLORTERM": "truecolor",
        }
        process = subprocess.Popen(
            [*cs.TSHARK, *arguments], stdout=its, stderr=subprocess.DEVNULL, env=environment
        )
        os.close(its)
        text = b""
        try:
            while data := os.read(ours, 65536):
                text += data
        except OSError:
            pass  # the end, of a terminal
        os.close(ours)
        process.wait()
        return text.decode()

    def test_installed_wireshark_needs_nothing_more_and_uninstall_leaves_nothing(self):
        cell = ScriptedCell()
        cell.give(ipv4(1, 200))
        cell.drain([3], fail=lambda unit: unit.retransmissions == 0)
        file = self.captured(cell)
        file = file.rename(
            pathlib.Path(tempfile.gettempdir(), f"openwip-test-{os.getpid()}.pcapng")
        )
        self.addCleanup(file.unlink)
        before = sorted(pathlib.Path(self.folder).rglob("*"))
        done = self.openwip(
            "capture", "--install-wireshark", WIRESHARK_EXTCAP_DIR=f"{self.folder}/extcap"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        again = self.openwip(
            "capture", "--install-wireshark", WIRESHARK_EXTCAP_DIR=f"{self.folder}/extcap"
        )
        self.assertEqual(again.returncode, 0, again.stderr)
        text = self.tshark(
            "-n", "-r", str(file), "-Y", "wip.damaged", "-T", "fields", "-e", "wip.sn"
        ).stdout
        self.assertEqual(len(text.split()), sum(o == 2 for *_, o in cell.log))
        coloured = self.in_terminal(
            "-n", "-C", "OpenWIP", "--color", "-r", str(file), "-Y", "wip.damaged"
        )
        # the colour in the profile's colorfilters
        self.assertIn("\x1b[48;2;237;178;152m", coloured)
        self.assertIn("terminal.frames", coloured)
        programs = subprocess.run(
            cs.with_extcap(f"{self.folder}/extcap", ["tshark", "-G", "plugins"]),
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertIn("openwip-extcap", programs.stdout, programs.stderr)
        self.openwip("capture", "--uninstall", WIRESHARK_EXTCAP_DIR=f"{self.folder}/extcap")
        left = [
            p
            for p in sorted(pathlib.Path(self.folder).rglob("*"))
            if p not in before and not p.is_dir()
        ]
        self.assertEqual([p for p in left if "openwip" in str(p).lower()], [])

    def test_a_stranger_in_the_way_is_not_overwritten(self):
        extcap = pathlib.Path(self.folder, "extcap")
        extcap.mkdir()
        (extcap / "openwip-extcap").write_text("mine")
        done = self.openwip("capture", "--install-wireshark", WIRESHARK_EXTCAP_DIR=str(extcap))
        self.assertEqual(done.returncode, 2)
        self.assertIn("was not made by OpenWIP", done.stderr)
        self.assertEqual((extcap / "openwip-extcap").read_text(), "mine")


if __name__ == "__main__":
    unittest.main()
