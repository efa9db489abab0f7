# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that a cell's two ends publish while a program runs over it, and whether both ends say
the same."""

import subprocess
import time

import zmq

from openwip_cli.messages import link_frames, telemetry

TOPICS = ("status", "slot", "receiver", "frames", "ip", "event")
GOOD, BAD = 1, 2  # outcomes of a frame (telemetry.proto)


def stalled_reader(endpoint):
    """Subscribes to everything and never reads: its queue fills up, at the publisher as well."""
    socket = zmq.Context.instance().socket(zmq.SUB)
    socket.linger, socket.rcvhwm = 0, 1
    socket.setsockopt(zmq.SUBSCRIBE, b"")
    socket.connect(endpoint)
    return socket


class Watched:
    def __init__(self, cell):
        self.reader = telemetry.Reader(
            {s: cell.endpoint(f"{s}.telemetry") for s in ("base", "terminal")}, TOPICS
        )
        self.messages = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.reader.close()

    def until(self, condition, timeout=30):
        """Reads on until `condition()` holds; false when it does not within the time."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            self.messages += self.reader.poll(0.05)
            if condition():
                return True
        return False

    def run(self, *command):
        program = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.until(lambda: program.poll() is not None)
        return program.wait()

    def of(self, source, topic):
        return [m.telemetry for m in self.messages if (m.source, m.topic) == (source, topic)]

    def samples(self, source):
        return {m.slot: m.slot_sample for m in self.of(source, "slot")}

    def frames(self, source):
        """(slot, bin) -> LinkFrame."""
        return {
            (f.slot, f.bin): f for m in self.of(source, "frames") for f in link_frames.of(m.frames)
        }

    def packets(self, source, out, downlink=True):
        return [
            p
            for m in self.of(source, "ip")
            for p in m.ip.packet
            if (p.out, p.downlink) == (out, downlink)
        ]

    def events(self):
        return {
            (m.event.source, m.event.kind, m.event.reason)
            for s in ("base", "terminal")
            for m in self.of(s, "event")
        }


def check_all(test, watched, horizon=3):
    """A cell without loss of feedback whose topic `slot` is published for every slot."""
    test.assertEqual((watched.reader.lost(), watched.reader.restarts()), (0, 0))
    test.assertEqual(sum(watched.reader.malformed.values()), 0)
    check_frames(test, watched)
    check_samples(test, watched, horizon)
    check_packets(test, watched)


def check_frames(test, watched):
    sent, received = watched.frames("base"), watched.frames("terminal")
    both = [(sent[at], received[at]) for at in received if at in sent]
    test.assertGreater(len(both), 100)
    test.assertLess(
        len(received) - len(both),
        0.1 * len(received),
        "the beginning, when one end was not heard yet",
    )
    for s, r in both:
        test.assertEqual(
            (s.sn, s.offset, s.bits_per_symbol, s.whole),
            (r.sn, r.offset, r.bits_per_symbol, r.whole),
        )
        test.assertEqual(s.retransmissions > 0, r.retransmissions == 1)
        if r.outcome == GOOD:
            test.assertEqual(s.payload, r.payload)
    numbers = {p.number for p in watched.packets("base", out=False) if p.HasField("number")}
    named = [set(s.packet) for s, _ in both if s.packet]
    test.assertGreater(len(named), 50)
    if numbers:  # the emulator's wired network stands between its interface and the queue
        test.assertGreater(sum(bool(n & numbers) for n in named), 0.9 * len(named))


def check_samples(test, watched, horizon):
    base, terminal = watched.samples("base"), watched.samples("terminal")
    evaluated = predictions = 0
    for slot, b in base.items():
        t = terminal.get(slot)
        if t is None:
            continue
        for reported, was in zip(b.outcome, t.outcome):
            if reported in (GOOD, BAD):
                evaluated += 1
                test.assertEqual(reported, was, f"slot {slot}")
        made = terminal.get(slot - horizon)
        if made and made.locked and b.predicted_snr_db and made.horizon == horizon:
            predictions += 1
            for used, predicted in zip(b.predicted_snr_db, made.predicted_snr_db):
                test.assertAlmostEqual(used, max(-60, predicted), delta=0.006)
    test.assertGreater(evaluated, 100)
    test.assertGreater(predictions, 100)


def check_packets(test, watched):
    given = {bytes(p.data): p for p in watched.packets("base", out=False)}
    arrived = [p for p in watched.packets("terminal", out=True) if bytes(p.data) in given]
    test.assertGreater(len(arrived), 50)
    for p in arrived:
        test.assertGreater(p.time_ns, given[bytes(p.data)].time_ns)
    test.assertTrue(watched.packets("terminal", out=False, downlink=False))
    test.assertTrue(watched.packets("base", out=True, downlink=False))
