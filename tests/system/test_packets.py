# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets with an IP identification of their own, followed from TUN to TUN: through an emulated
cell and through a cell of samples. What the two interfaces saw (topic `ip`) and the frames on the
air (`frames`) against the record (`packet`), and the command."""

import json
import os
import subprocess
import time
import unittest

from demo_support import GENTLE, TOP, built, cells, environment, openwip
from openwip_cli.figures import meaning
from openwip_cli.messages import link_frames, telemetry

NANOSECONDS = 10_000  # ns by which the two sums may differ
PACKETS = 60
PROBE_ID, FIRST_ID = 0x3001, 0x4001

# UDP to the discard port with chosen identifications, from the base station's side; the kernel
# fills in the rest.
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
    return subprocess.Popen(
        [
            TOP / "openwip",
            "exec",
            "--name",
            cell.name,
            "base",
            "--",
            "/usr/bin/python3",
            "-c",
            SENDER,
            str(first),
            str(count),
            str(pause),
        ],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def identification(data):
    return data[4] << 8 | data[5]


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

    def collect(self):
        """Sends until both halves of every packet are known. Records and what both TUNs saw, by
        identification; SNs of the frames that name a packet, by its number."""
        endpoints = {s: self.cell.endpoint(f"{s}.telemetry") for s in ("base", "terminal")}
        records, read, written, frames = {}, {}, {}, {}
        ids = set(range(FIRST_ID, FIRST_ID + PACKETS))
        with telemetry.Reader(endpoints, ("packet", "ip", "frames")) as reader:
            heard, deadline = set(), time.monotonic() + 60
            # all that is subscribed to is made
            while len(heard) < 4 and time.monotonic() < deadline:
                send(self.cell, PROBE_ID, 1).wait()
                heard |= {(m.source, m.topic) for m in reader.poll(0.2)} & {
                    ("base", "packet"),
                    ("base", "ip"),
                    ("base", "frames"),
                    ("terminal", "ip"),
                }
            self.assertEqual(len(heard), 4, heard)
            sender = send(self.cell)
            while time.monotonic() < deadline:
                for m in reader.poll(0.2):
                    if m.topic == "packet":
                        records |= {
                            r.identification: r
                            for r in m.telemetry.packets.packet
                            if r.identification >= FIRST_ID
                        }
                    for f in link_frames.of(m.telemetry.frames):
                        for number in f.packet:
                            frames.setdefault(number, set()).add(f.sn)
                    for p in m.telemetry.ip.packet:
                        if (
                            p.downlink
                            and identification(p.data) >= FIRST_ID
                            and p.out == (m.source == "terminal")
                        ):
                            (written if p.out else read)[identification(p.data)] = p
                if sender.poll() is not None and ids <= set(records) & set(read) & set(written):
                    break
            sender.wait()
            self.assertEqual(reader.lost(), 0)
        return records, read, written, frames

    def test_1_a_packet_is_followed_from_tun_to_tun(self):
        records, read, written, frames = self.collect()
        ids = set(range(FIRST_ID, FIRST_ID + PACKETS))
        self.assertEqual(set(records) & ids, ids, "packets without a record")
        self.assertEqual(set(written) & ids, ids, "packets that did not arrive")
        for i in sorted(ids):
            r, came, left = records[i], read[i], written[i]
            self.assertEqual(r.bytes, len(left.data))
            self.assertEqual(came.data, left.data)
            self.assertEqual(
                (r.protocol, r.source_port, r.destination_port, r.dropped), (17, 4000, 9, "")
            )
            if self.wired_ns == 0:  # a packet has no number before the wired network
                self.assertTrue(came.HasField("number"))
                self.assertEqual(came.number, r.number)
            self.assertEqual(len(frames[r.number]), r.frames)
            parts = sum(getattr(r, f"{p}_ns") for p in meaning.DELAY_PARTS)
            self.assertEqual(parts, r.left_ns - r.arrived_ns)
            self.assertAlmostEqual(
                parts + r.wired_ns, left.time_ns - came.time_ns, delta=NANOSECONDS
            )
            self.assertEqual(r.wired_ns, self.wired_ns)
            self.assertEqual(r.air_ns // 1000, 666)
            self.assertEqual(sum(r.each_retransmission_ns), r.retransmission_ns)
            self.assertEqual(len(r.retransmissions), r.frames)
        self.assertEqual(
            [records[i].number for i in sorted(ids)], sorted(records[i].number for i in ids)
        )

    def test_2_the_command_prints_them(self):
        command = subprocess.Popen(
            [TOP / "openwip", "packets", "--name", self.cell.name, "--count", "20", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        senders = []
        # Waits until it has subscribed and read enough.
        while command.poll() is None and len(senders) < 20:
            senders.append(send(self.cell, FIRST_ID + 1000, 40, 0.005))
            senders[-1].wait()
        out, err = command.communicate(timeout=60)
        self.assertEqual(command.returncode, 0, err)
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(len(lines), 20)
        for r in lines:
            self.assertEqual(sum(r[f"{p}_ns"] for p in meaning.DELAY_PARTS), r["total_ns"])
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
        cls.bring_up(
            "demo", "--duration", "1", "--pings", "5", "--bins", "5", "--snr", "30", *GENTLE
        )


class NoCell(unittest.TestCase):
    @unittest.skipIf(os.geteuid() != 0, "asks for root first")
    def test_it_says_so(self):
        done = openwip("packets", "--name", f"none{os.getpid() % 10000}")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no cell is up", done.stderr)


if __name__ == "__main__":
    unittest.main()
