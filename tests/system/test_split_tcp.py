# SPDX-License-Identifier: GPL-3.0-or-later
"""Split TCP: the proxy between two hosts in namespaces of their own, joined by cables through a
controller, and in a cell, in real time and in virtual time."""

import contextlib
import hashlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from demo_support import Demo, openwip, wait_until
from openwip_cli.cell import cell as cells
from openwip_cli.errors import BadInput
from openwip_cli.machine import system
from openwip_cli.measure import flows
from openwip_cli.runs import split_tcp, virtual
from openwip_cli.settings import emulator
from split_world import (
    BUFFER,
    BUILD,
    BUILT,
    LISTED,
    NOTHING_TO_LINGER_FOR,
    PLACES,
    SERVER,
    TERMINAL,
    UNLISTED,
    World,
    read_all,
)


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(BUILT, "the proxy is not built")
class Proxy(unittest.TestCase):
    def world(self, **settings):
        world = World(f"split{os.getpid() % 100000}", **settings)
        self.addCleanup(world.__exit__)  # cleans up even if entering the world fails
        return world

    def assert_sums(self, world):
        c = world.counts()
        n, ways = c["connections"], c["bytes_from"].values()
        self.assertEqual(n["split"], n["open"] + n["ended"] + n["reset"] + n["not_reached"])
        for way in ways:
            self.assertEqual(way["in"], way["out"] + way["held"] + way["lost"])
            self.assertLessEqual(way["most_held"], BUFFER)

    def test_bytes_pass_unaltered_both_ways_at_once_and_neither_end_sees_the_proxy(self):
        with self.world() as world:
            for opener, address in (("base", SERVER), ("terminal", TERMINAL)):
                client, server = world.connected(opener=opener)
                self.assertEqual(world.seen, client.getsockname())
                self.assertEqual(client.getpeername(), server.getsockname())
                self.assertEqual(world.seen[0], address)
                sent = {s: os.urandom(3_000_000 + n) for n, s in enumerate((client, server))}

                def send(s):
                    s.sendall(sent[s])
                    s.shutdown(socket.SHUT_WR)

                threads = [threading.Thread(target=send, args=(s,)) for s in sent]
                for t in threads:
                    t.start()
                reader = threading.Thread(
                    target=lambda: digests.append(hashlib.sha256(read_all(server)).digest())
                )
                digests = []
                reader.start()
                came_back = read_all(client)
                for t in (*threads, reader):
                    t.join(20)
                self.assertEqual(came_back, sent[server])
                self.assertEqual(digests, [hashlib.sha256(sent[client]).digest()])
                client.close(), server.close()
            world.wait_for(split=2, ended=2, open=0)
            self.assertEqual(
                [w["out"] for w in world.counts()["bytes_from"].values()], [6_000_000, 6_000_002]
            )
            self.assert_sums(world)

    def test_an_end_that_has_sent_its_last_still_gets_everything(self):
        with self.world() as world:
            for first in (0, 1):
                ends = world.connected()
                early, late = ends[first], ends[1 - first]
                early.sendall(b"question")
                early.shutdown(socket.SHUT_WR)
                self.assertEqual(read_all(late), b"question")
                world.wait_for(open=1)
                for part in (b"an ", b"answer"):
                    late.sendall(part)
                    time.sleep(0.05)
                late.close()
                self.assertEqual(read_all(early), b"an answer")
                early.close()
                world.wait_for(open=0, ended=first + 1)

    def test_a_reader_that_does_not_read_stops_the_sender_and_nothing_is_lost(self):
        with self.world() as world:
            client, server = world.connected()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
            client.setblocking(False)
            part, sent = os.urandom(1 << 16), 0
            digest, deadline = hashlib.sha256(), time.monotonic() + 10
            still_since, held = time.monotonic(), {"held": 0}
            # A stall of the machine stops a sender, too: only one that the proxy's full buffer
            # is behind counts.
            while (
                time.monotonic() - still_since < 1 or held["held"] < BUFFER
            ) and time.monotonic() < deadline:
                try:
                    n = client.send(part)
                    digest.update(part[:n])
                    sent, still_since = sent + n, time.monotonic()
                except BlockingIOError:
                    time.sleep(0.02)
                    held = world.counts()["bytes_from"]["opener"]
            self.assertGreaterEqual(
                time.monotonic() - still_since, 1, "the sender was never stopped"
            )
            self.assertEqual(held["most_held"], BUFFER)
            self.assertEqual(held["held"], BUFFER)
            # Besides those there are the buffers of the proxy's two sockets, of the sender and of
            # the reader, for which the kernel grants some 128 KiB at first.
            self.assertLess(sent, 12 * BUFFER)
            client.setblocking(True)
            client.shutdown(socket.SHUT_WR)
            self.assertEqual(hashlib.sha256(read_all(server)).digest(), digest.digest())
            client.close(), server.close()
            world.wait_for(ended=1)
            self.assert_sums(world)

    def test_a_reset_passes_on_and_what_was_held_is_counted_as_lost(self):
        with self.world() as world:
            for n, resets in enumerate((0, 1)):
                ends = world.connected()
                ends[0].sendall(b"through")  # both halves are open now
                self.assertEqual(ends[1].recv(10), b"through")
                ends[1 - resets].sendall(b"to whom it concerns")
                ends[resets].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NOTHING_TO_LINGER_FOR)
                ends[resets].close()
                with self.assertRaises(ConnectionResetError):
                    read_all(ends[1 - resets])
                ends[1 - resets].close()
                world.wait_for(open=0, reset=n + 1)
            self.assert_sums(world)

    def test_where_nobody_listens_the_opener_is_reset(self):
        with self.world() as world:
            client = world.socket("base")
            with self.assertRaises((ConnectionResetError, ConnectionRefusedError)):
                client.connect((TERMINAL, LISTED))
                read_all(client)
            client.close()
            world.wait_for(not_reached=1, open=0)
            self.assert_sums(world)

    def test_an_end_that_vanishes_is_missed_and_the_other_one_reset(self):
        with self.world(**{"split_tcp.keepalive_s": 1}) as world:
            client, server = world.connected()
            client.sendall(b"hello")
            self.assertEqual(server.recv(10), b"hello")
            system.ip(
                "-n",
                world.cell.namespace("terminal"),
                "address",
                "del",
                f"{TERMINAL}/30",
                "dev",
                "wip0",
            )
            with self.assertRaises(ConnectionResetError):
                read_all(client)
            client.close(), server.close()
            world.wait_for(reset=1, open=0)

    def test_what_cannot_be_split_passes(self):
        with self.world() as world:
            client, server = world.connected(UNLISTED)
            client.sendall(b"unlisted")
            self.assertEqual(server.recv(10), b"unlisted")
            client.close(), server.close()
            with (
                world.socket("terminal", socket.SOCK_DGRAM) as there,
                world.socket("base", socket.SOCK_DGRAM) as here,
            ):
                there.bind((TERMINAL, LISTED))
                here.sendto(b"datagram", (TERMINAL, LISTED))
                self.assertEqual(there.recv(20), b"datagram")
            self.assertEqual(world.counts()["connections"]["split"], 0)
            self.assertEqual(world.rule_counts()["connections_passed"], 1)
            self.assertEqual(world.rule_counts()["split"], 0)

    def test_at_its_limit_a_connection_passes_and_lives_on_when_there_is_room_again(self):
        with self.world(**{"split_tcp.connections": 1}) as world:
            first = world.connected()
            world.wait_for(open=1, full=1)
            second = world.connected()
            self.assertEqual(world.rule_counts()["connections_passed"], 1)
            for s in first:
                s.close()
            world.wait_for(open=0, ended=1)
            third = world.connected()
            world.wait_for(split=2, open=1)
            for client, server in (second, third):
                client.sendall(b"still here")
                self.assertEqual(server.recv(20), b"still here")
                client.close(), server.close()

    def test_killed_it_leaves_no_end_in_the_belief_that_all_has_come(self):
        with self.world() as world:
            client, server = world.connected()
            client.sendall(b"half")
            self.assertEqual(server.recv(10), b"half")
            world.proxy.send_signal(signal.SIGKILL)
            for s in (client, server):
                with self.assertRaises(ConnectionResetError):
                    read_all(s)
                s.close()

    def test_it_keeps_one_right_and_is_the_account(self):
        with self.world() as world:
            fields = dict(
                line.split(":\t", 1)
                for line in pathlib.Path(f"/proc/{world.proxy.pid}/status").read_text().splitlines()
                if ":\t" in line
            )
            _, account, _ = system.account()
            self.assertEqual(set(fields["Uid"].split()), {str(account)})
            self.assertEqual(
                [int(fields[f"Cap{w}"], 16) for w in ("Prm", "Eff", "Bnd", "Amb")],
                [1 << 13, 1 << 13, 0, 0],
            )
            self.assertEqual(fields["NoNewPrivs"].strip(), "1")


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless((BUILD / split_tcp.GUEST).exists(), "the proxy of virtual time is not built")
class WithoutARule(unittest.TestCase):
    def test_it_listens_with_the_one_address_and_connects_with_the_other_in_two_namespaces(self):
        cell = cells.Cell(f"spg{os.getpid() % 100000}", terminals=2, controller=True)
        listens, connects = cell.namespace("controller"), cell.namespace("terminal2")
        with contextlib.ExitStack() as stack:
            for name in cell.namespaces:
                stack.callback(system.delete_namespace, name)
                system.make_namespace(name, cell.mark)
            for ends in (
                ((cell.namespace("base"), SERVER), (listens, TERMINAL)),
                ((connects, SERVER), (cell.namespace("terminal"), TERMINAL)),
            ):
                system.ip(
                    "link",
                    "add",
                    "wip0",
                    "netns",
                    ends[0][0],
                    "type",
                    "veth",
                    "peer",
                    "name",
                    "wip0",
                    "netns",
                    ends[1][0],
                )
                for namespace, address in ends:
                    system.ip("-n", namespace, "address", "add", f"{address}/30", "dev", "wip0")
                    system.ip("-n", namespace, "link", "set", "wip0", "up")
            there = stack.enter_context(open(system.namespace_file(connects)))
            proxy = subprocess.Popen(
                [
                    "ip",
                    "netns",
                    "exec",
                    listens,
                    BUILD / split_tcp.GUEST,
                    str(LISTED),
                    str(BUFFER),
                    "10",
                    "120",
                    str(there.fileno()),
                ],
                stdout=subprocess.PIPE,
                text=True,
                pass_fds=[there.fileno()],
            )
            (
                stack.callback(proxy.stdout.close),
                stack.callback(proxy.wait),
                stack.callback(proxy.kill),
            )

            def made(station):
                s = stack.enter_context(system.in_namespace(cell.namespace(station), socket.socket))
                s.settimeout(10)
                return s

            listener, client = made("terminal"), made("base")
            listener.bind((TERMINAL, LISTED))
            listener.listen()
            self.assertTrue(wait_until(lambda: client.connect_ex((TERMINAL, LISTED)) == 0, 10))
            server, seen = listener.accept()
            stack.enter_context(server)
            server.settimeout(10)
            self.assertEqual(seen, client.getsockname())
            text = os.urandom(1_000_000)
            threading.Thread(
                target=lambda: (client.sendall(text), client.shutdown(socket.SHUT_WR))
            ).start()
            self.assertEqual(read_all(server), text)
            server.sendall(b"all there")
            server.close()
            self.assertEqual(read_all(client), b"all there")
            proxy.terminate()
            output = json.loads(proxy.communicate(timeout=10)[0])
        self.assertEqual((output["split"], output["ended"], output["open"]), (1, 1, 0))
        self.assertEqual(
            [(w["in"], w["out"], w["lost"]) for w in output["ways"]],
            [(1_000_000, 1_000_000, 0), (9, 9, 0)],
        )


class Refusals(unittest.TestCase):
    def refused(self, word, *arguments):
        done = openwip("emulate", "--link", "umts", *arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr.strip().splitlines()[-1], word)

    @unittest.skipUnless(BUILT, "the proxy is not built")
    def test_what_cannot_be_split_at_all_is_said_in_one_line(self):
        self.refused("--split-tcp is '80' with --link ofdm", "--link", "ofdm", "--split-tcp", "80")
        self.refused("--split-tcp-connections.*1..10000", "--split-tcp-connections", "0")
        self.refused("--split-tcp-buffer-kb.*4..65536", "--split-tcp-buffer-kb", "1")
        if os.geteuid() == 0:
            for bad in ("http,80", "20-10", "0"):
                self.refused(
                    "(--split-tcp|split_tcp.ports).*off, all, or ports", "--split-tcp", bad
                )
        if (BUILD / virtual.KERNEL).exists():
            self.refused(
                "terminals is 2 with --split-tcp and --time virtual",
                "--split-tcp",
                "all",
                "--time",
                "virtual",
                "--terminals",
                "2",
            )
            self.refused("whose traffic has port 5001", "--split-tcp", "80", "--time", "virtual")


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(BUILT, "the proxy is not built")
class InACell(unittest.TestCase):
    def test_a_download_is_split_all_sums_match_and_nothing_is_left(self):
        name = f"spl{os.getpid() % 100000}"
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "r.json")
            done = openwip(
                "emulate",
                "--link",
                "umts",
                "--bearer",
                "lundsten-384",
                "--one-way-ms",
                "40",
                "--wired-delay-ms",
                "20",
                "--split-tcp",
                "all",
                "--duration",
                "3",
                "--pacing-limit-ms",
                "1000",
                "--name",
                name,
                f"--json={file}",
            )
            report = json.loads(file.read_text())
        of_the_machine = ("applications", "surroundings", "telemetry")
        self.assertEqual(
            [
                r
                for r in report["verdict"]["reasons"]
                if "pacing" not in r and not r.startswith(of_the_machine)
            ],
            [],
            done.stderr,
        )
        self.assertLessEqual({"sums", "wired", "split"}, set(report["verdict"]["checks"]))
        found = report["split_tcp"]
        self.assertEqual(found["connections"]["split"], 2)  # iperf3's control, and its data
        self.assertGreater(found["bytes_from"]["opener"]["out"], 30_000)
        self.assertEqual(found["rule"]["connections_passed"], 0)
        self.assertGreater(found["wired"]["downlink"]["delivered"], 20)
        self.assertIn("split TCP    2 connections", done.stdout)
        self.assertEqual(cells.Cell(name).leftovers(), [])

    def test_without_its_proxy_the_cell_ends_and_leaves_nothing(self):
        name = f"spk{os.getpid() % 100000}"
        demo = Demo(
            name,
            "--link",
            "umts",
            "--split-tcp",
            "5201",
            "--duration",
            "20",
            "--pacing-limit-ms",
            "1000",
            command="emulate",
        )
        self.addCleanup(demo.close)
        demo.wait_for("starting the wired network", 60)
        demo.kill("split")
        self.assertEqual(demo.ended(20), 3)
        self.assertRegex(demo.output, "split was killed by SIGKILL")
        self.assertTrue(
            wait_until(lambda: not cells.Cell(name).leftovers(), 10), cells.Cell(name).leftovers()
        )


@unittest.skipUnless(
    BUILT and (BUILD / virtual.KERNEL).exists(),
    f"no Linux kernel for virtual time in {BUILD}: ./openwip setup --virtual-time",
)
class InVirtualTime(unittest.TestCase):
    def run_plan(self, plan, **settings):
        values = {
            "link.kind": "umts",
            "umts.profile": "lundsten-384",
            "umts.one_way_ms": 40,
            "wired.delay_ms": 95,
            "split_tcp.ports": "all",
            "traffic.duration_s": 5,
        }
        return virtual.run(emulator.scenario_of(values | settings), PLACES, plan)

    def test_transfers_are_split_and_arrive_as_they_were_sent(self):
        plan = virtual.Plan(
            [
                flows.flow(
                    "compare",
                    0,
                    1,
                    start_s=1,
                    bytes=300000,
                    congestion_control="cubic",
                    limit_s=200,
                    seed=7,
                ),
                flows.flow("transfer", 0, 1, start_s=1, bytes=20000, congestion_control="cubic"),
            ]
        )
        report, again = self.run_plan(plan), self.run_plan(plan)
        self.assertEqual(report["verdict"]["reasons"], [])
        found = report["split_tcp"]
        self.assertEqual(found["connections"]["split"], 2)
        self.assertEqual(found["bytes_from"]["opener"]["out"], 320000)
        self.assertGreater(found["wired"]["downlink"]["in"], 200)
        self.assertEqual(found, again["split_tcp"])

    def test_what_would_have_to_pass_is_refused(self):
        for wanted in (
            flows.flow("voip", 0, 1, start_s=1, seconds=5, interval_s=0.02, bytes=160),
            flows.flow("transfer", 1, 0, start_s=1, bytes=20000, congestion_control="cubic"),
        ):
            with (
                self.subTest(wanted["kind"]),
                self.assertRaisesRegex(
                    BadInput,
                    f"{wanted['kind']}.*valid: --split-tcp off, or only TCP connections that the server opens",
                ),
            ):
                self.run_plan(virtual.Plan([wanted]))

    def test_a_short_bearer_answers_the_handshake_of_a_server_far_away_early(self):
        plan = virtual.Plan(
            [
                flows.flow(
                    "sessions",
                    0,
                    1,
                    start_s=1,
                    congestion_control="cubic",
                    files=[{"bytes": 20000, "times": 1}],
                )
            ]
        )
        split, whole = (
            self.run_plan(plan),
            self.run_plan(plan, **{"split_tcp.ports": "off", "umts.one_way_ms": 135}),
        )
        for report in (split, whole):  # the second run has the first one's plan as it was given
            self.assertEqual(report["verdict"]["reasons"], [])

        def handshake_s(report):
            sender = next(f for f in report["flows"] if f["end"] == "sender")
            return sender["sessions"][0]["connected"] - sender["sessions"][0]["began"]

        self.assertAlmostEqual(handshake_s(split), 0.190, delta=0.01)  # the wired network alone
        self.assertGreater(handshake_s(whole), 0.26)


if __name__ == "__main__":
    unittest.main()
