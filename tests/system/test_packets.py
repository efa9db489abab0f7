# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip packets on an emulated cell and on a cell of samples."""
import json
import os
import subprocess
import unittest

from demo_support import GENTLE, TOP, built, cells, environment, openwip
from openwip_cli import packets

PACKETS = 60
FIRST_ID = 0x4001

# UDP to the discard port with chosen identifications, from the base station's side; the kernel fills in the rest.
SENDER = """
import socket, struct, sys, time
out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
first, n, pause = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
for i in range(n):
    size = 100 + 37 * i % 1200
    udp = struct.pack("!HHHH", 4000, 9, 8 + size, 0) + bytes(size)
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), first + i, 0, 64, 17, 0,
                         socket.inet_aton("10.42.0.1"), socket.inet_aton("10.42.0.2"))
    out.sendto(header + udp, ("10.42.0.2", 0))
    time.sleep(pause)
"""


def send(cell, first=FIRST_ID, count=PACKETS, pause=0.01):
    return subprocess.Popen([TOP / "openwip", "exec", "--name", cell.name, "base", "--", "/usr/bin/python3", "-c", SENDER,
                             str(first), str(count), str(pause)],
                            env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Followed:
    """The tests, for a cell that is up."""
    wired_ns = 0

    @classmethod
    def bring_up(cls, *arguments):
        cls.cell = cells.Cell(f"{cls.NAME}{os.getpid() % 10000}")
        cls.addClassCleanup(openwip, "down", "--name", cls.cell.name)
        done = openwip(arguments[0], "--name", cls.cell.name, "--keep", *arguments[1:], timeout=200)
        if not cls.cell.is_up():
            raise AssertionError(f"not up: {done.stdout}{done.stderr}")

    def test_the_command_prints_them(self):
        command = subprocess.Popen([TOP / "openwip", "packets", "--name", self.cell.name, "--count", "20", "--json"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        senders = []
        while command.poll() is None and len(senders) < 20:      # until it has subscribed, and read enough
            senders.append(send(self.cell, FIRST_ID + 1000, 40, 0.005))
            senders[-1].wait()
        out, err = command.communicate(timeout=60)
        self.assertEqual(command.returncode, 0, err)
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(len(lines), 20)
        for r in lines:
            self.assertEqual(sum(r[f"{p}_ns"] for p in packets.PARTS), r["total_ns"])
            self.assertEqual(r["left_ns"] - r["arrived_ns"], r["total_ns"])
            self.assertEqual(r["frames"], len(r["retransmissions"]))
        self.assertIn("20 packets", err)


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "macd is not built")
class Emulated(Followed, unittest.TestCase):
    NAME, wired_ns = "pe", 10_000_000

    @classmethod
    def setUpClass(cls):
        cls.bring_up("emulate", "--duration", "1", "--pacing-limit-ms", "1000")


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "macd is not built")
class Sampled(Followed, unittest.TestCase):
    NAME = "ps"

    @classmethod
    def setUpClass(cls):
        cls.bring_up("demo", "--duration", "1", "--pings", "5", "--bins", "5", "--snr", "30", *GENTLE)


class NoCell(unittest.TestCase):
    @unittest.skipIf(os.geteuid() != 0, "asks for root first")
    def test_it_says_so(self):
        done = openwip("packets", "--name", f"none{os.getpid() % 10000}")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no cell is up", done.stderr)


if __name__ == "__main__":
    unittest.main()
