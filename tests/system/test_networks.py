# SPDX-License-Identifier: GPL-3.0-or-later
"""IP through a cell, by packet captures at both of its ends: both families, sizes, DSCP and ECN;
and the ways to what is outside of it. A namespace of the test plays the computer: its own network is
not touched."""

import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

from demo_support import wait_until
from emulate_support import PATIENT, PLACES, PRIVILEGED
from openwip_cli.machine import system
from openwip_cli.runs import emulate
from outside_support import (
    CELL,
    HOST,
    LAN,
    LAN2,
    NET,
    OPENED,
    SHORT,
    Computer,
    Tap,
    close_all,
    openwip,
    sh,
)

BASE, TERMINAL = "10.42.0.1", "10.42.0.2"
BASE6, TERMINAL6 = "fd42:10:42::1", "fd42:10:42::2"
LINK = PATIENT | {"channel.model": "static", "channel.snr_db": 30.0, "link.bins": 25}


def udp_socket(namespace, family, address=""):
    def opened():
        s = socket.socket(family, socket.SOCK_DGRAM)
        s.settimeout(10)
        if family == socket.AF_INET6:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        s.bind((address, 4000))
        return s

    OPENED.append(made := system.in_namespace(namespace, opened))
    return made


def run_cell(settings, workload, name="nettest"):
    report = emulate.run(LINK | settings, workload, name=name, places=PLACES)
    return report["workload"], report


FAMILIES = {
    4: (socket.AF_INET, BASE, TERMINAL, socket.IPPROTO_IP, socket.IP_TOS),
    6: (socket.AF_INET6, BASE6, TERMINAL6, socket.IPPROTO_IPV6, socket.IPV6_TCLASS),
}


@unittest.skipUnless(PRIVILEGED, "needs root and /dev/net/tun")
class Captures(unittest.TestCase):
    def tearDown(self):
        close_all()

    def test_every_dscp_and_ecn_passes_unchanged_in_both_families_and_both_ways(self):
        def workload(cell):
            found = {}
            for version, (family, base, terminal, level, option) in FAMILIES.items():
                taps = {s: Tap(cell.namespace(s)) for s in ("base", "terminal")}
                ends = {s: udp_socket(cell.namespace(s), family) for s in ("base", "terminal")}
                for tos in range(256):
                    for station, to in (("base", terminal), ("terminal", base)):
                        ends[station].setsockopt(level, option, tos)
                        ends[station].sendto(bytes([tos]) * 40, (to, 4000))
                    time.sleep(0.004)
                captured = {s: tap.packets() for s, tap in taps.items()}
                found[version] = [
                    captured["base"][0],
                    captured["terminal"][1],
                    captured["terminal"][0],
                    captured["base"][1],
                ]
            return {"found": found}

        said, report = run_cell({"network.ipv6": "on"}, workload)
        for version, (sent, received, sent_up, received_up) in said["found"].items():
            for near, far in ((sent, received), (sent_up, received_up)):
                self.assertEqual(len(near), 256)
                self.assertEqual(near, far, f"IPv{version}: altered, lost or in another order")
                fields = [p[1] if version == 4 else (p[0] & 15) << 4 | p[1] >> 4 for p in far]
                self.assertEqual(fields, list(range(256)))
        self.assertTrue(report["verdict"]["checks"]["sums"], report["verdict"]["reasons"])

    def test_a_sender_that_reacts_to_marks_is_marked_by_the_queue_and_loses_nothing(self):
        """The TCP of Linux through a queue under CoDel: marks in the captures and in the sums."""

        def workload(cell):
            def negotiate():
                pathlib.Path("/proc/sys/net/ipv4/tcp_ecn").write_text("1")

            for station in ("base", "terminal"):
                system.in_namespace(cell.namespace(station), negotiate)
            tap = Tap(cell.namespace("terminal"))
            server = system.in_namespace(cell.namespace("base"), socket.socket)
            OPENED.append(server)
            server.bind((BASE, 5000))
            server.listen()
            client = system.in_namespace(cell.namespace("terminal"), socket.socket)
            OPENED.append(client)
            client.settimeout(30)
            client.connect((BASE, 5000))
            sender, _ = server.accept()
            OPENED.append(sender)
            sent = os.urandom(3_000_000)
            feeder = threading.Thread(target=sender.sendall, args=(sent,))
            feeder.start()
            arrived = b""
            while len(arrived) < len(sent):
                arrived += client.recv(1 << 16)
            feeder.join()
            came = [p for p in tap.packets()[1] if p[9] == socket.IPPROTO_TCP]
            return {
                "same": arrived == sent,
                "ecn": [sum((p[1] & 3) == field for p in came) for field in range(4)],
            }

        said, report = run_cell(
            {"link.bins": 10, "link.queue": "codel", "link.queue_packets": 500}, workload
        )
        self.assertTrue(said["same"])
        marked = said["ecn"][3]
        self.assertGreater(marked, 2, said)
        self.assertGreater(said["ecn"][2], 1000, said)
        down = report["packets"]["downlink"]
        self.assertEqual(down["marked"], marked)
        self.assertEqual(down["dropped"].get("queue_managed", 0), 0)
        self.assertTrue(report["verdict"]["checks"]["sums"], report["verdict"]["reasons"])

    def test_the_discipline_of_the_queue_changes_in_a_running_cell(self):
        def workload(cell):
            sender = udp_socket(cell.namespace("base"), socket.AF_INET)
            # 10 Mbit/s, more than two bins carry
            answers = []
            for kind in ("codel", "fq_codel", "pie", "dualpi2", "drop_tail"):
                answers.append(openwip("set", "--name", "nettest", f"link.queue={kind}")[:2])
                end = time.monotonic() + 1
                while time.monotonic() < end:
                    sender.sendto(bytes(1200), (TERMINAL, 4000))
                    time.sleep(0.001)
            return {"answers": answers}

        said, report = run_cell({"link.bins": 2, "link.queue_packets": 200}, workload)
        self.assertEqual([code for code, _ in said["answers"]], [0] * 5, said)
        down = report["packets"]["downlink"]
        self.assertGreater(down["dropped"]["queue_managed"], 5)
        self.assertGreater(down["dropped"]["queue_full"], 5)
        self.assertTrue(report["verdict"]["checks"]["sums"], report["verdict"]["reasons"])

    def big_datagram(self, mtu, versions):
        def workload(cell):
            found = {}
            for version in versions:
                family, base, terminal, level, _ = FAMILIES[version]
                tap = Tap(cell.namespace("terminal"))
                sender = udp_socket(cell.namespace("base"), family)
                receiver = udp_socket(cell.namespace("terminal"), family)
                sent = os.urandom(20000)
                sender.sendto(sent, (terminal, 4000))
                arrived = receiver.recv(65536)
                discover = socket.IPPROTO_IP == level
                sender.setsockopt(level, 10 if discover else 23, 2)  # MTU_DISCOVER, DO
                header = 28 if discover else 48
                sender.sendto(bytes(mtu - header), (terminal, 4000))
                whole = len(receiver.recv(65536))
                try:
                    sender.sendto(bytes(mtu - header + 1), (terminal, 4000))
                    refused = ""
                except OSError as e:
                    refused = e.strerror
                sizes = [len(p) for p in tap.packets()[1]]
                found[version] = (arrived == sent, sizes, whole + header, refused)
            return {"found": found}

        said, report = run_cell(
            {"network.mtu": mtu, "network.ipv6": "on" if 6 in versions else "off"}, workload
        )
        for version, (same, sizes, whole, refused) in said["found"].items():
            self.assertTrue(same, f"IPv{version}, MTU {mtu}")
            self.assertGreater(len(sizes), 20000 // mtu)
            self.assertEqual(max(sizes), mtu)
            self.assertEqual(whole, mtu)
            self.assertEqual(refused, os.strerror(90))  # EMSGSIZE
        self.assertTrue(report["verdict"]["checks"]["sums"], report["verdict"]["reasons"])

    def test_fragments_of_an_mtu_of_576(self):
        self.big_datagram(576, (4,))

    def test_fragments_of_an_mtu_of_1280_which_is_the_least_of_ipv6(self):
        self.big_datagram(1280, (4, 6))

    def test_fragments_of_an_mtu_of_9000(self):
        self.big_datagram(9000, (4, 6))

    def test_ipv6_needs_1280_bytes(self):
        code, out, err = openwip("emulate", "--ipv6", "on", "--mtu", "1279", "--duration", "1")
        self.assertEqual(code, 2, out + err)
        self.assertIn("1280", err)

    def test_terminals_have_an_ipv6_address_each_and_no_other_gets_their_packets(self):
        def workload(cell):
            sender = udp_socket(cell.namespace("base"), socket.AF_INET6)
            taps = [Tap(cell.namespace(f"terminal{n}")) for n in ("", "2", "3")]
            for to in (TERMINAL6, "fd42:10:42::3", "fd42:10:42::4", "fd42:10:42::77"):
                for _ in range(3):
                    sender.sendto(bytes(40), (to, 4000))
            return {"got": [[p[39] for p in tap.packets()[1]] for tap in taps]}

        said, report = run_cell(
            {"network.ipv6": "on", "terminals": 3, "scheduling.method": "proportional_fair"},
            workload,
        )
        # The last byte of the destination; what nobody has is dropped and counted.
        self.assertEqual(said["got"], [[2] * 3, [3] * 3, [4] * 3])
        self.assertTrue(report["verdict"]["checks"]["sums"], report["verdict"]["reasons"])
        self.assertEqual(report["packets"]["downlink"]["dropped"], {"no_such_terminal": 3})


@unittest.skipUnless(PRIVILEGED, "needs root and /dev/net/tun")
class Outside(Computer, unittest.TestCase):
    def test_the_terminal_reaches_a_server_through_the_gateway(self):
        said = self.up("--gateway")
        self.assertIn("forwarding was 0, is 1", said)
        self.assertIn(f"table inet openwip-{CELL}", said)
        tap = Tap(NET, "eth0")
        self.assertIn("2 received", self.ping(f"owip-{CELL}-terminal", "192.0.2.1"))
        sources = {p[12:16] for p in tap.packets()[1] if p[0] == 0x45}
        self.assertEqual(sources, {bytes([192, 0, 2, 2])}, "not masqueraded")
        server = subprocess.Popen(
            [
                *("ip", "netns", "exec", NET, sys.executable, "-m", "http.server"),
                *("-d", str(pathlib.Path(__file__).parent), "8000"),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        page = "import urllib.request as u; print(u.urlopen('http://192.0.2.1:8000/test_networks.py', timeout=9).read().decode(), end='')"
        terminal = f"owip-{CELL}-terminal"
        fetched = []

        def fetch():
            fetched[:] = [
                sh("ip", "netns", "exec", terminal, sys.executable, "-c", page, check=False)
            ]
            return bool(fetched[0])

        self.assertTrue(wait_until(fetch, 20))
        self.assertEqual(fetched[0], pathlib.Path(__file__).read_text())
        self.down()

    def test_a_launcher_that_is_killed_leaves_nothing(self):
        run = subprocess.Popen(
            [
                *("nsenter", f"--net=/run/netns/{HOST}", sys.executable, "-m", "openwip_cli"),
                *SHORT,
                *("--duration", "100", "--gateway", "--attach", "terminal=if:lan0"),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        self.assertTrue(
            wait_until(lambda: f"openwip-{CELL}" in sh("nft", "list", "tables", inside=HOST), 60)
        )
        self.assertNotEqual(self.state(), self.before)
        run.send_signal(signal.SIGKILL)
        self.expect_nothing_left()

    def test_a_keeper_that_is_killed_too_is_cleaned_up_after_by_down(self):
        self.up("--gateway", "--attach", "terminal=if:lan0")
        written = json.loads(pathlib.Path(f"/run/openwip/{CELL}/state.json").read_text())
        os.kill(written["keeper"][0], signal.SIGKILL)
        self.assertNotEqual(self.state(), self.before)
        self.down()

    def test_a_namespace_behind_the_terminal_learns_the_path_mtu(self):
        said = self.up("--attach", f"terminal=netns:{LAN}", "--mtu", "1280", "--ipv6", "on")
        self.assertIn(f"netns:{LAN} is behind the terminal", said)
        self.assertIn("2 received", self.ping(LAN, BASE))
        self.assertIn("2 received", self.ping(LAN, BASE6))
        tap = Tap(LAN, "openwip0")
        for family, address, level, option, mtu in (
            (socket.AF_INET, BASE, socket.IPPROTO_IP, 10, 14),
            (socket.AF_INET6, BASE6, socket.IPPROTO_IPV6, 23, 24),
        ):

            def opened():
                return socket.socket(family, socket.SOCK_DGRAM)

            with system.in_namespace(LAN, opened) as s:
                s.setsockopt(level, option, 2)
                s.connect((address, 4000))
                s.send(bytes(1400))

                def learned():
                    return s.getsockopt(level, mtu) == 1280

                self.assertTrue(wait_until(learned, 10), s.getsockopt(level, mtu))
                with self.assertRaises(OSError):
                    s.send(bytes(1400))
        came = tap.packets()[1]
        # ICMP: fragmentation needed, next hop 1280; ICMPv6: packet too big, 1280.
        self.assertTrue(
            [
                p
                for p in came
                if p[0] >> 4 == 4
                and p[20:22] == b"\x03\x04"
                and p[26:28] == struct.pack(">H", 1280)
            ]
        )
        self.assertTrue(
            [
                p
                for p in came
                if p[0] >> 4 == 6
                and p[40:42] == b"\x02\x00"
                and p[44:48] == struct.pack(">I", 1280)
            ]
        )
        self.down()

    def test_the_emulator_between_two_interfaces_routes_between_the_computers_there(self):
        self.up("--between", "lan1", "lan0", "--ipv6", "on")
        for name, network in ((LAN, "44"), (LAN2, "45")):
            sh("ip", "-n", name, "address", "add", f"10.{network}.0.2/24", "dev", "eth0")
            sh("ip", "-n", name, "route", "add", "default", "via", f"10.{network}.0.1")
            sh(
                "ip",
                "-n",
                name,
                "address",
                "add",
                f"fd42:10:{network}::2/64",
                "dev",
                "eth0",
                "nodad",
            )
            sh("ip", "-n", name, "route", "add", "default", "via", f"fd42:10:{network}::1")
        self.assertIn("2 received", self.ping(LAN, "10.45.0.2"))
        self.assertIn("2 received", self.ping(LAN2, "10.44.0.2"))
        self.assertIn("2 received", self.ping(LAN, "fd42:10:45::2"))
        self.down()

    def test_what_cannot_be_attached_is_refused_in_one_sentence(self):
        for options, words in (
            (("--attach", "terminal=if:eth0"), "default route"),
            (("--attach", "terminal=if:nothere"), "no such interface"),
            (("--attach", "terminal=netns:nothere"), "no such netns"),
            (("--attach", "phone=if:lan0"), "valid: base|terminal=netns:NAME"),
            (("--attach", "terminal=usb:lan0"), "valid: base|terminal=netns:NAME"),
            (("--between", "lan0", "lan0"), "both stations"),
            (("--attach", "terminal=if:lan0", "--terminals", "2"), "--terminals is 2"),
        ):
            code, out, err = openwip(*SHORT, *options, inside=HOST)
            self.assertEqual(code, 2, (options, out, err))
            self.assertIn(words, err)
            self.assertEqual(len(err.strip().splitlines()), 1, err)
        sh("ip", "-n", HOST, "route", "del", "default")
        code, out, err = openwip(*SHORT, "--gateway", inside=HOST)
        self.assertEqual(code, 2, out + err)
        self.assertIn("no default route", err)


if __name__ == "__main__":
    unittest.main()
