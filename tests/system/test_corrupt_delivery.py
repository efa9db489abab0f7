# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged packets reach applications that asked for them, through the kernel: UDP-Lite with partial
coverage and UDP without checksum get the damaged bytes, UDP with checksum next to none, TCP with
`link.tcp_l` (the relay TCP-L, docs/explanation/corrupt-delivery.md) all of its bytes, errors
included. Over the macds of the radio (their frames damaged by
a fake flowgraph) and through the emulator (damaged by symbol noise).

Exit code 77 (skipped) without root or /dev/net/tun."""

import json
import socket
import subprocess
import sys
import textwrap
import unittest

from macd_world import World, need_root
from openwip_cli.runs import emulate

UDPLITE = 136  # IANA's protocol number
COUNT, SIZE, HEAD = 400, 1000, 12  # datagrams, bytes of each, of which checked by UDP-Lite
TCP_BYTES = 300_000

PROGRAM = textwrap.dedent("""
    import json, random, socket, sys, time
    kind, what, address = sys.argv[1:]
    COUNT, SIZE, HEAD, PORT, TCP_BYTES = %d, %d, %d, 5400, %d
    END, ENDS = b"\\xff" * HEAD, 25
    SO_NO_CHECK, CSCOV_SEND, CSCOV_RECV = 11, 10, 11
    if kind == "tcp":
        sent = random.Random(1).randbytes(TCP_BYTES)
        if what == "send":
            with socket.create_connection((address, PORT), timeout=30) as s:
                s.sendall(sent)
                s.shutdown(socket.SHUT_WR)
                s.recv(1)   # the receiver closes when it has everything
            sys.exit(0)
        listener = socket.create_server((address, PORT))
        print("ready", flush=True)
        listener.settimeout(30)
        s, _ = listener.accept()
        s.settimeout(30)
        data = b""
        while len(data) < TCP_BYTES and (received := s.recv(65536)):   # empty: the sender has ended
            data += received
        s.close()
        print(json.dumps({"bytes": len(data), "wrong_bits": sum((a ^ b).bit_count() for a, b in zip(data, sent))}))
        sys.exit(0)
    lite = kind == "udplite"
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136 if lite else 17)

    def datagram(number):
        return number.to_bytes(4, "big") * (HEAD // 4) + random.Random(number).randbytes(SIZE - HEAD)

    if what == "send":
        if lite:
            s.setsockopt(136, CSCOV_SEND, 8 + HEAD)
        if kind == "unchecked":
            s.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)
        for n in range(COUNT):
            s.sendto(datagram(n), (address, PORT))
            time.sleep(0.004)
        for _ in range(ENDS):      # the queue is a FIFO: what comes before one of these has come
            s.sendto(END, (address, PORT))
            time.sleep(0.004)
    else:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        if lite:
            s.setsockopt(136, CSCOV_RECV, 8 + HEAD)
        s.bind((address, PORT))
        print("ready", flush=True)
        s.settimeout(%s)
        got = {"intact": 0, "damaged": 0, "odd": 0, "wrong_bits": 0}
        try:
            while True:
                data = s.recv(65536)
                if len(data) == HEAD:
                    got["odd"] += lite and data != END
                    s.settimeout(0.5 if data == END else 3)
                    continue
                s.settimeout(3)      # seconds, if the end of the stream does not arrive
                number = int.from_bytes(data[:4], "big")
                sent = datagram(number)
                if data[:HEAD] != sent[:HEAD] or number >= COUNT or len(data) != SIZE:
                    got["odd"] += 1
                elif data == sent:
                    got["intact"] += 1
                else:
                    got["damaged"] += 1
                    got["wrong_bits"] += sum((a ^ b).bit_count() for a, b in zip(data, sent))
        except TimeoutError:
            print(json.dumps(got), flush=True)
""") % (COUNT, SIZE, HEAD, TCP_BYTES, "20")


def exchange(base, terminal, kind):
    """The datagrams that the receiver in namespace `terminal` got of those sent in namespace
    `base`."""

    def command(namespace, what):
        return [
            "ip",
            "netns",
            "exec",
            namespace,
            sys.executable,
            "-c",
            PROGRAM,
            kind,
            what,
            "10.42.0.2",
        ]

    receiver = subprocess.Popen(command(terminal, "receive"), stdout=subprocess.PIPE, text=True)
    try:
        assert receiver.stdout.readline() == "ready\n"
        subprocess.run(command(base, "send"), check=True, timeout=60)
        return json.loads(receiver.communicate(timeout=60)[0])
    finally:
        receiver.kill()
        receiver.wait()


def udp_lite_here():
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM, UDPLITE).close()
        return True
    except OSError:
        return False


class Corrupt:
    """The behaviour that both paths must have; `exchange(kind)` runs one stream over them."""

    def test_udp_lite_gets_damaged_bytes_outside_its_coverage_and_none_inside(self):
        if not udp_lite_here():
            self.skipTest("this kernel has no UDP-Lite")
        got = self.exchange("udplite")
        self.assertGreater(got["damaged"], COUNT // 20, got)
        self.assertGreater(got["intact"], COUNT // 20, got)
        self.assertEqual(got["odd"], 0, got)
        self.assertGreater(got["wrong_bits"], got["damaged"])

    def test_udp_without_a_checksum_gets_damaged_bytes(self):
        got = self.exchange("unchecked")
        self.assertGreater(got["damaged"], COUNT // 20, got)

    def test_udp_with_a_checksum_gets_next_to_no_damaged_datagram(self):
        got = self.exchange("checked")
        # The checksum misses one pair of wrong bits in 32: same column of 16, opposite values.
        self.assertLess(got["damaged"] + got["odd"], COUNT // 50, got)
        self.assertGreater(got["intact"], COUNT // 20, got)
        self.assertLess(got["intact"], COUNT * 9 // 10, got)  # others were damaged on the way

    def test_tcp_with_the_relay_takes_damaged_segments(self):
        got = self.exchange("tcp")
        self.assertEqual(got["bytes"], TCP_BYTES)
        self.assertGreater(got["wrong_bits"], 20, got)
        self.assertGreater(self.relayed["recovered"], TCP_BYTES // 1448 // 10, self.relayed)
        self.assertGreater(self.relayed["intact"], 0, self.relayed)


def packets_by_reason(terminal):
    """The numbers of TCP packets by the relay's decision: intact, recovered, ..."""
    return {r.reason: r.count.packets for r in terminal.relay}


class OverTheRadiosMac(Corrupt, unittest.TestCase):
    def exchange(self, kind):
        link = [
            "link.bins=25",
            "link.modulation=8",
            "link.max_retransmissions=0",
            "link.deliver_corrupt=on",
            "link.order=as_completed",
            f"link.tcp_l={'on' if kind == 'tcp' else 'off'}",
        ]
        with World(link, [*link, "uplink.kbps=5000"]) as w:
            w.start_pipe(frame_error=0.1)
            got = exchange(w.netns("base"), w.netns("terminal"), kind)
            terminal = w.status("terminal").terminal
            self.assertGreater(terminal.delivered_damaged.packets, COUNT // 20)
            self.relayed = packets_by_reason(terminal)
            self.assertEqual(bool(self.relayed), kind == "tcp")
            return got


class ThroughTheEmulator(Corrupt, unittest.TestCase):
    def exchange(self, kind):
        # 16-QAM at 19 dB: one frame in twenty is wrong, by a few symbols, and is not sent again.
        options = {
            "channel.model": "static",
            "channel.snr_db": 19.0,
            "link.modulation": 4,
            "link.max_retransmissions": 0,
            "wired.delay_ms": 1.0,
            "pacing_limit_ms": 1000.0,
            "link.tcp_l": "on" if kind == "tcp" else "off",
        }
        report = emulate.run(
            options,
            lambda cell: exchange(cell.namespace("base"), cell.namespace("terminal"), kind),
            name=f"corrupt{kind[0]}",
        )
        self.assertTrue(report["verdict"]["checks"]["sums"], report["verdict"])
        self.assertGreater(report["emulator"]["packets_damaged"], COUNT // 20)
        self.relayed = report["emulator"]["relay"]
        return report["workload"]


if __name__ == "__main__":
    need_root()
    unittest.main(verbosity=2)
