# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip bridge: two namespaces that were there before, joined; what it refuses; what a kill
leaves: nothing."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

from demo_support import wait_until
from openwip_cli.commands import bridge
from openwip_cli.errors import BadInput

NAMES = ("openwip-br-a", "openwip-br-b")
SERVER = """
s = socket.create_server(("10.42.0.1", 5000))
print("listens", flush=True)
c = s.accept()[0]
while c.recv(65536):
    pass
"""
CLIENT = """
s = socket.create_connection(("10.42.0.1", 5000))
while True:
    s.sendall(bytes(4000))
    time.sleep(0.01)
"""
# Pure acknowledgements of one flow, numbered, that echo a time: ten regular ones, one that is 20 s
# late, three more.
ACKS = """
import struct
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
s.connect(("10.42.0.2", 0))
for n in range(14):
    echo = int(1000 * time.monotonic()) - (20000 if n == 10 else 40)
    s.send(struct.pack(">HHIIBBHHHBBBBII", 80, 9, n, 0, 0x80, 0x10, 1, 0, 0, 1, 1, 8, 10, 0, echo & 0xffffffff))
    time.sleep(0.02 if n < 10 else 0)
print("sent", flush=True)
"""
NUMBERS = """
import struct
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
s.settimeout(15)
print("listens", flush=True)
print([struct.unpack_from(">I", s.recv(2000), 24)[0] for _ in range(14)], flush=True)
"""
# Packets that are no TCP, N of all sizes up to an interface's, each with bytes of its own:
# datagrams, or ESP (RFC 4303: SPI, sequence number, unreadable rest), whose IP header is made here,
# too.
PACKETS = """
import hashlib, struct, sys
protocol, me, other, kind = sys.argv[1:]
N = 300
def esp(n):
    body = struct.pack(">II", 0x1000, n) + hashlib.shake_128(b"%d" % n).digest(12 + 97 * n % 1437)
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0xb9, 20 + len(body), 1 + n, 0x4000, 37, 50, 0, socket.inet_aton(me), socket.inet_aton(other)) + body
def datagram(n):
    return struct.pack(">I", n) + hashlib.shake_128(b"%d" % n).digest(97 * n % 1437)
if protocol == "esp":
    make, s = esp, socket.socket(socket.AF_INET, socket.SOCK_RAW, 50)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_HDRINCL, 1)
else:
    make, s = datagram, socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if kind == "send":
    print("listens", flush=True)
    for n in range(N):
        s.sendto(make(n), (other, 5000))
        time.sleep(0.002)
else:
    s.bind((me, 5000))
    s.settimeout(15)
    print("listens", flush=True)
    me, other = other, me       # made as the sender made it
    came = []
    for n in range(N):
        packet = bytearray(s.recv(2000))
        if protocol == "esp":
            packet[10:12] = bytes(2)        # the kernel's checksum of the header
        came.append(packet == make(n))
    print(sum(came), flush=True)
"""
PRIVILEGED = os.geteuid() == 0 and os.path.exists("/dev/net/tun")


def ip(*arguments):
    return subprocess.run(["ip", *arguments], capture_output=True, text=True)


class Refusals(unittest.TestCase):
    def test_what_is_wrong_is_named(self):
        for arguments, words in (
            (["a", "a"], "server and terminal are both a"),
            (["a"], "terminal"),
            (
                ["a", "b", "--addresses", "10.0.0.1", "10.0.0.2/30"],
                "address is '10.0.0.1'; valid: an IPv4",
            ),
            (
                ["a", "b", "--delay-injection", "some"],
                "--delay-injection is 'some'; valid: off.static",
            ),
        ):
            with self.subTest(arguments), self.assertRaisesRegex(BadInput, words):
                bridge.parse(arguments)
        with self.assertRaisesRegex(BadInput, "network namespace '../x' does not exist"):
            bridge.check_namespace("../x")

    def test_what_is_not_roots_is_not_entered(self):
        class Theirs(type(pathlib.Path())):
            def stat(self, **_):
                return os.stat_result((0o100444, 0, 0, 1, 1000, 1000, 0, 0, 0, 0))

            exists = lambda self: True

        before, bridge.NETNS = bridge.NETNS, Theirs("/run/netns")
        self.addCleanup(setattr, bridge, "NETNS", before)
        with self.assertRaisesRegex(BadInput, "does not belong to root"):
            bridge.check_namespace("theirs")


@unittest.skipUnless(PRIVILEGED, "needs root and /dev/net/tun")
class Live(unittest.TestCase):
    def setUp(self):
        for name in NAMES:
            ip("netns", "delete", name)
            self.assertEqual(ip("netns", "add", name).returncode, 0)
            self.addCleanup(ip, "netns", "delete", name)

    def interfaces(self):
        return [ip("-n", name, "link", "show", "wip0").returncode == 0 for name in NAMES]

    def bridge(self, wired_ms=5):
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "openwip_cli",
                "bridge",
                *NAMES,
                "--wired-delay-ms",
                str(wired_ms),
                "--delay-injection",
                "adaptive",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertIn("10.42.0.2/30 in openwip-br-b", process.stdout.readline())
        return process

    def tell(self, process, line):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline()

    def python(self, name, code, *arguments):
        process = subprocess.Popen(
            [
                "ip",
                "netns",
                "exec",
                name,
                sys.executable,
                "-c",
                "import socket, time\n" + code,
                *arguments,
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def counts(self, line):
        self.assertRegex(
            line,
            r"^delay injection: \d+ delay spikes in \d+ acknowledgements of \d+ flows; \d+ held,"
            r" [\d.]+ ms each, \d+ now",
        )
        return dict(
            zip(
                ("spikes", "samples", "flows", "held"),
                map(int, re.findall(r"\b\d+\b(?= [dafh])", line)),
            )
        )

    def test_acknowledgements_of_an_upload_are_held_after_a_delay_spike_and_the_end_tells_it(self):
        process = self.bridge()
        self.assertEqual(
            self.counts(self.tell(process, "status")),
            {"spikes": 0, "samples": 0, "flows": 0, "held": 0},
        )
        server = self.python(NAMES[0], SERVER)
        self.assertIn("listens", server.stdout.readline())
        self.python(NAMES[1], CLIENT)
        self.assertTrue(
            wait_until(lambda: self.counts(self.tell(process, "status"))["samples"] > 10, 10)
        )
        emulator = int(subprocess.check_output(["pgrep", "-P", str(process.pid)], text=True))
        # the link is stopped: packets on their way arrive that much later
        os.kill(emulator, signal.SIGSTOP)
        time.sleep(0.4)
        os.kill(emulator, signal.SIGCONT)
        self.assertTrue(
            wait_until(lambda: self.counts(self.tell(process, "status"))["held"] > 0, 10)
        )
        process.send_signal(signal.SIGTERM)  # ends it like Ctrl-C
        last = process.stdout.readline()
        self.assertTrue(self.counts(last)["spikes"] > 0 and self.counts(last)["held"] > 0, last)
        self.assertRegex(last, r"; last: pdelay -?[\d.]+, threshold -?[\d.]+, D [\d.]+ ms$")
        self.assertEqual(process.wait(10), 0)

    def test_what_is_held_leaves_at_the_end(self):
        process = self.bridge(wired_ms=0)
        receiver = self.python(NAMES[1], NUMBERS)
        self.assertIn("listens", receiver.stdout.readline())
        self.assertIn("sent", self.python(NAMES[0], ACKS).stdout.readline())
        # within the second for which the last three are held
        process.send_signal(signal.SIGINT)
        self.assertRegex(process.stdout.readline(), " 1 delay spikes in 14 .* 3 held")
        self.assertEqual(process.wait(10), 0)
        self.assertEqual(receiver.stdout.readline(), f"{list(range(14))}\n")

    def test_datagrams_and_encrypted_packets_pass_as_they_are_in_order_beside_acknowledgements_that_are_held(
        self,
    ):
        ends = list(zip(NAMES, ("10.42.0.1", "10.42.0.2")))
        for protocol in ("udp", "esp"):
            for (there, other), (here, me) in (ends, ends[::-1]):
                with self.subTest(protocol, to=me):
                    process = self.bridge(wired_ms=0)
                    receiver = self.python(here, PACKETS, protocol, me, other, "receive")
                    self.assertIn("listens", receiver.stdout.readline())
                    self.assertIn("sent", self.python(NAMES[0], ACKS).stdout.readline())
                    self.assertTrue(
                        wait_until(
                            lambda: self.counts(self.tell(process, "status"))["held"] == 3, 10
                        )
                    )
                    self.python(there, PACKETS, protocol, other, me, "send")
                    self.assertEqual(receiver.stdout.readline(), "300\n")
                    self.assertEqual(
                        self.counts(self.tell(process, "status")),
                        {"spikes": 1, "samples": 14, "flows": 1, "held": 3},
                        "none of them is looked at",
                    )
                    process.kill()
                    process.wait()
                    self.assertTrue(wait_until(lambda: self.interfaces() == [False, False], 10))

    def test_packets_pass_settings_change_and_a_kill_leaves_nothing(self):
        process = self.bridge()
        ping = [
            "netns",
            "exec",
            NAMES[0],
            "ping",
            "-n",
            "-q",
            "-c",
            "3",
            "-i",
            "0.05",
            "-W",
            "10",
            "10.42.0.2",
        ]
        self.assertEqual(ip(*ping).returncode, 0)
        for line, answer in (
            ("delay_injection.mode=static", "delay_injection.mode = static"),
            ("delay_injection.mode=x", "valid: off|static|adaptive"),
            ("wired.delay_ms=40", "wired.delay_ms = 40"),
            ("wired.loss=2", "valid: 0..1"),
            ("link.bins=3", "link.bins: unknown key; valid: delay_injection.mode, "),
            ("nonsense", "valid: KEY=VALUE, status"),
        ):
            self.assertIn(answer, self.tell(process, line))
        done = ip(*ping)
        self.assertEqual(done.returncode, 0)
        self.assertGreater(float(re.search(r"= ([\d.]+)/", done.stdout)[1]), 80)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertTrue(wait_until(lambda: self.interfaces() == [False, False], 10))


if __name__ == "__main__":
    unittest.main()
