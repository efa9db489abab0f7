# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip emulate with several terminals and with other links: who gets which packets, and what a
link does to them on command."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from demo_support import wait_until
from emulate_support import PATIENT, PLACES, PRIVILEGED
from openwip_cli.commands import settings_command
from openwip_cli.errors import BadInput
from openwip_cli.figures import meaning
from openwip_cli.measure import flows, traffic
from openwip_cli.runs import emulate


def packets_of(cell, count):
    """The command that prints so many packets of the cell's journal."""
    return [
        *(sys.executable, "-m", "openwip_cli", "packets"),
        *("--name", cell.name, "--json", "--count", str(count)),
    ]


@contextlib.contextmanager
def sending(cell, sender, receiver):
    """TCP as fast as it goes, between two stations of a cell."""
    sides = {"base": 0, "terminal": 1}
    wanted = flows.flow("bulk", sides[sender], sides[receiver], seconds=600)
    program, ends = PLACES.program(flows.PROGRAM), []
    try:
        for end, station in (("receiver", receiver), ("sender", sender)):
            ends.append(
                traffic.Program(cell.namespace(station), flows.command(program, end, wanted))
            )
            if end == "receiver":
                ends[0].wait(cell.supervisor, 10, until=traffic.says_ready)
                assert traffic.says_ready(ends[0]), ends[0].stderr
        yield
    finally:
        for program in reversed(ends):
            program.kill()


@unittest.skipUnless(PRIVILEGED, "needs root and /dev/net/tun")
class Terminals(unittest.TestCase):
    def run_cell(self, settings, workload, name, **around):
        return emulate.run(PATIENT | settings, workload, name=name, places=PLACES, **around)

    def test_several_terminals_have_their_own_namespaces(self):
        def workload(cell):
            answers = [
                subprocess.run(
                    [
                        "ip",
                        "netns",
                        "exec",
                        cell.namespace("base"),
                        "ping",
                        "-n",
                        "-c",
                        "2",
                        "-W",
                        "5",
                        f"10.42.0.{n + 1}",
                    ],
                    capture_output=True,
                ).returncode
                for n in (1, 2, 3)
            ]
            return {"answers": answers}

        report = self.run_cell(
            {
                "terminals": 3,
                "channel.model": "static",
                "channel.snr_db": 30,
                "scheduling.method": "proportional_fair",
            },
            workload,
            "emutest3",
        )
        self.assertEqual(report["workload"]["answers"], [0, 0, 0])
        self.assertTrue(report["verdict"]["checks"]["sums"], report["verdict"]["reasons"])

    def test_multicast_reaches_every_terminal_and_an_unknown_address_none(self):
        """The test runs on each kind of link; links know nothing of addresses."""
        for kind in ("ofdm", "umts", "wlan", "hetnet"):

            def workload(cell):
                def inside(station, *argv):
                    return subprocess.run(
                        ["ip", "netns", "exec", cell.namespace(station), *argv],
                        capture_output=True,
                        text=True,
                        check=True,
                    ).stdout

                inside("base", "ip", "route", "add", "10.99.0.0/16", "dev", "wip0")
                inside(
                    "base",
                    sys.executable,
                    "-c",
                    "import socket; s = socket.socket(socket.AF_INET,"
                    " socket.SOCK_DGRAM)\ns.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF,"
                    " socket.inet_aton('10.42.0.1'))\nfor _ in range(4): s.sendto(bytes(100),"
                    " ('239.1.2.3', 9))\nfor _ in range(5): s.sendto(bytes(100), ('10.99.0.7', 9))",
                )

                def came():
                    return [
                        json.loads(inside(t, "ip", "-s", "-j", "link", "show", "wip0"))[0][
                            "stats64"
                        ]["rx"]["packets"]
                        for t in cell.cell.terminals
                    ]

                wait_until(lambda: min(came()) >= 4, 20)
                return {"came": came()}

            with self.subTest(kind):
                report = self.run_cell(
                    {"link.kind": kind, "terminals": 3}
                    | ({"channel.model": "static", "channel.snr_db": 30} if kind == "ofdm" else {}),
                    workload,
                    "emutest3",
                )
                self.assertEqual(report["workload"]["came"], [4, 4, 4])
                down = report["packets"]["downlink"]
                self.assertEqual(
                    (down["in"], down["delivered"], down["dropped"]),
                    (4 * 3 + 5, 4 * 3, {"no_such_terminal": 5}),
                )
                self.assertTrue(report["verdict"]["checks"]["sums"], report["verdict"]["reasons"])

    def test_delay_injection_on_the_802_11_link_can_be_switched_while_a_station_sends(self):
        def workload(cell):
            settings = settings_command.RunningSettings(cell.name, cell.cell.endpoint)
            with sending(cell, "terminal", "base"):
                seen = []
                for mode in ("adaptive", "off", "static"):
                    settings.set({"delay_injection.mode": mode})
                    settings.read()
                    before = settings.status["base"].delay_injection.held
                    if mode != "off":
                        self.assertTrue(
                            wait_until(
                                lambda: settings.read()
                                or settings.status["base"].delay_injection.held > before,
                                20,
                            )
                        )
                    seen.append(settings.status["base"].delay_injection.held_now)
                follower = subprocess.run(
                    packets_of(cell, 5),
                    capture_output=True,
                    text=True,
                    timeout=20,
                )
            return {
                "seen": seen,
                "journal": [json.loads(line) for line in follower.stdout.splitlines()],
            }

        report = self.run_cell(
            {
                "link.kind": "wlan",
                "terminals": 2,
                "wlan.errors": "burst",
                "wlan.burst": 20,
                "wlan.retry_limit": 50,
            },
            workload,
            "emutest5",
        )
        self.assertEqual(report["workload"]["seen"][1], 0)
        self.assertGreater(report["emulator"]["delay_injection"]["spikes"], 0)
        self.assertEqual(len(report["emulator"]["wlan"]), 3)
        self.assertEqual(len(report["workload"]["journal"]), 5)
        for packet in report["workload"]["journal"]:
            self.assertEqual(
                packet["total_ns"], sum(packet[f"{part}_ns"] for part in meaning.DELAY_PARTS)
            )
            self.assertEqual((packet["frames"], packet["dropped"]), (1, None))
            self.assertGreater(packet["air_ns"], 192000)
        self.assertTrue(report["verdict"]["checks"]["sums"], report["verdict"]["reasons"])
        self.assertEqual([c["to"] for c in report["changes"]], ["adaptive", "off", "static"])

    def test_delay_injection_on_the_ofdm_cell_holds_what_comes_up_after_a_dark_time(self):
        def workload(cell):
            settings = settings_command.RunningSettings(cell.name, cell.cell.endpoint)
            with sending(cell, "base", "terminal"):

                def count(name, least):
                    return wait_until(
                        lambda: settings.read()
                        or getattr(settings.status["base"].delay_injection, name) >= least,
                        20,
                    )

                self.assertTrue(count("samples", 100))
                with self.assertRaisesRegex(
                    BadInput, "wlan.rate_mbps is 1: a link of kind ofdm has no such live setting"
                ):
                    settings.set({"wlan.rate_mbps": 1})
                settings.set({"channel.blackout": 300})
                self.assertTrue(count("held", 1))
                settings.set({"delay_injection.mode": "off"})
                settings.read()
            return {"held_now": settings.status["base"].delay_injection.held_now}

        report = self.run_cell(
            {
                "link.max_retransmissions": 30,
                "channel.model": "static",
                "channel.snr_db": 20,
                "delay_injection.mode": "adaptive",
                "delay_injection.flows": "downlink",
            },
            workload,
            "emutest7",
        )
        self.assertEqual(report["workload"], {"held_now": 0})
        self.assertGreater(report["emulator"]["delay_injection"]["spikes"], 0)
        self.assertTrue(report["verdict"]["checks"]["sums"], report["verdict"]["reasons"])

    def test_a_umts_cell_does_to_its_terminals_as_it_is_told_and_loses_no_packet(self):
        def workload(cell):
            settings = settings_command.RunningSettings(cell.name, cell.cell.endpoint)
            ping = [
                "ip",
                "netns",
                "exec",
                cell.namespace("base"),
                "ping",
                "-n",
                "-W",
                "10",
                "-i",
                "0.1",
            ]

            def slowest(*arguments):  # ms; to the second terminal, which answers all of them
                done = subprocess.run(
                    [*ping, *arguments, "10.42.0.3"], capture_output=True, text=True
                )
                self.assertEqual(done.returncode, 0, done.stdout)
                return float(done.stdout.rsplit("/", 2)[1])

            slowest("-c", "3")
            settings.read()
            whole = settings.status["base"].bearer.blocks_lost
            # The changes hold from the next interval on: a spike, which ends by itself, and a
            # downlink of 1 kbit/s, 100 bytes in 0.8 s.
            settings.set({"umts.spike_ms": 600})
            spike = slowest("-c", "1")
            settings.set({"umts.down_kbps": 1})
            slow = slowest("-c", "1", "-s", "72")
            settings.set({"umts.down_kbps": 0, "umts.errors": 0.5})
            slowest("-c", "10")
            settings.set({"umts.errors": 0})
            follower = subprocess.Popen(
                packets_of(cell, 3),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            echoes = 3 + 1 + 1 + 10
            for _ in range(100):
                if follower.poll() is None:
                    slowest("-c", "2")
                    echoes += 2
            journal = [
                json.loads(line) for line in follower.communicate(timeout=20)[0].splitlines()
            ]
            self.assertEqual(len(journal), 3)
            for packet in journal:
                self.assertEqual((packet["user"], packet["bytes"], packet["frames"]), (1, 84, 3))
                self.assertEqual((packet["pdus"][1] - packet["pdus"][0]) % 4096, 2)
            with self.assertRaisesRegex(BadInput, "umts.down_kbps.*valid: a number 0, or 1..20000"):
                settings.set({"umts.down_kbps": 0.5})
            settings.set({"delay_injection.mode": "adaptive"})
            with self.assertRaisesRegex(BadInput, "umts.spikes.*pairs"):
                settings.set({"umts.spikes": "1"})
            with self.assertRaisesRegex(BadInput, "umts.classes.*conversational, streaming"):
                settings.set({"umts.classes": "urgent"})
            with self.assertRaisesRegex(
                BadInput, "channel.snr_db is 10: a link of kind umts has no such live setting"
            ):
                settings.set({"channel.snr_db": 10})
            return {"lost_before": whole, "spike": spike, "slow": slow, "echoes": echoes}

        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "pdus.pcapng")
            report = self.run_cell(
                {
                    "link.kind": "umts",
                    "umts.max_dat": 40,
                    "terminals": 2,
                    "umts.cell_kbps": 300,
                    "umts.classes": "background,streaming",
                },
                workload,
                "emutest6",
                capture=file,
            )
            if shutil.which("tshark"):
                seen = subprocess.run(
                    [
                        "tshark",
                        "-r",
                        file,
                        "--enable-heuristic",
                        "rlc_udp",
                        "-Y",
                        "rlc",
                        "-T",
                        "fields",
                        "-e",
                        "frame.interface_name",
                    ],
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout.split()
                for sender, way in (("base.pdus", "down"), ("terminal2.pdus", "up")):
                    self.assertGreaterEqual(
                        seen.count(sender),
                        report["bearer"][way]["pdus"] + report["bearer"][way]["status_pdus"],
                    )
        self.assertEqual(report["workload"]["lost_before"], 0)
        self.assertGreater(report["workload"]["spike"], 500)
        self.assertGreater(report["workload"]["slow"], 800)
        down = report["bearer"]["down"]
        self.assertGreater(down["blocks_lost"], 0)
        self.assertGreater(down["retransmissions"], 0)
        self.assertEqual(down["sdus_given_up"], 0)
        first, second = (u["delivered_packets"] for u in report["users"])
        self.assertEqual(first, 0)
        # The first of the three records may be that of an echo before: its acknowledgement came late.
        self.assertEqual(second, report["workload"]["echoes"])
        self.assertEqual(
            [(c["key"], c["to"]) for c in report["changes"]],
            [
                ("umts.spike_ms", "600"),
                ("umts.down_kbps", "1"),
                ("umts.down_kbps", "0"),
                ("umts.errors", "0.5"),
                ("umts.errors", "0"),
                ("delay_injection.mode", "adaptive"),
            ],
        )
        self.assertIn("spike_ms: 0\n", report["effective"]["emulator"])
        self.assertTrue(report["verdict"]["checks"]["sums"], report["verdict"]["reasons"])


if __name__ == "__main__":
    unittest.main()
