# SPDX-License-Identifier: GPL-3.0-or-later
"""A cell that follows a script, in virtual time: IP packets become link frames, some of them fail,
are sent again whole or cut, and arrive. It is an independent model of mac/rlc (docs/explanation/mac.md), in
hexadecimal strings: one character is one nibble. Its telemetry is what base station and terminal
would publish."""

import copy
import pathlib
import random
import struct
import sys

from openwip_schema import telemetry_pb2 as pb

from openwip_cli.messages import link_frames

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import frame_batches

GOOD, BAD, UNKNOWN = 1, 2, 3  # outcomes of a frame (telemetry.proto)
LOOP = 3  # slots from a transmission to its retransmission
CRC_NIBBLES = 6  # 24 bits


def slot_ns(slot):
    return slot * 2_000_000 // 3


def payload_nibbles(bits_per_symbol):
    return 27 * bits_per_symbol - CRC_NIBBLES


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def ipv4(number, payload_bytes, source="10.42.0.1", destination="10.42.0.2", filler=None):
    """An ICMP echo request of its own number, whose checksums are right."""
    body = bytes((number * 7 + i) % 256 if filler is None else filler for i in range(payload_bytes))
    icmp = struct.pack(">BBHHH", 8, 0, 0, 77, number & 0xFFFF) + body
    if len(icmp) % 2:
        value = checksum(icmp + b"\0")
    else:
        value = checksum(icmp)
    icmp = icmp[:2] + struct.pack(">H", value) + icmp[4:]

    def head(checked):
        return struct.pack(
            ">BBHHHBBH4s4s",
            0x45,
            0,
            20 + len(icmp),
            number & 0xFFFF,
            0x4000,
            64,
            1,
            checked,
            *(bytes(int(x) for x in a.split(".")) for a in (source, destination)),
        )

    return head(checksum(head(0))) + icmp


def ipv6_udp(number, payload_bytes):
    body = bytes((number + 3 * i) % 256 for i in range(payload_bytes))
    addresses = bytes.fromhex("fd42" + "00" * 13 + "01" + "fd42" + "00" * 13 + "02")
    length = 8 + len(body)
    udp = struct.pack(">HHHH", 4000, 5000 + number, length, 0) + body
    pseudo = addresses + struct.pack(">II", length, 17) + udp + b"\0" * (length % 2)
    udp = udp[:6] + struct.pack(">H", checksum(pseudo) or 0xFFFF) + udp[8:]
    return struct.pack(">IHBB", 6 << 28, length, 17, 64) + addresses + udp


class Unit:
    """The content of one bin with one frame (mac/rlc/unit.h)."""

    def __init__(self, sn, offset, length, bits_per_symbol, retransmissions=0):
        self.sn, self.offset, self.length = sn, offset, length
        self.bits_per_symbol, self.retransmissions = bits_per_symbol, retransmissions


class ScriptedCell:
    """`batch_slots`: slots whose frames are one message."""

    def __init__(
        self, seed=1, first_slot=100, first_sn=65530, user=0, max_retransmissions=30, batch_slots=1
    ):
        self.dice = random.Random(seed)
        self.slot, self.user = first_slot, user
        self.next_sn = first_sn  # unwrapped
        self.limit = max_retransmissions
        self.queue = ""  # nibbles not cut yet
        self.waiting = []  # [packet, nibbles left to cut]
        self.frames = {}  # sn -> nibbles
        self.holds = {}  # sn -> packet numbers
        self.borders = {}  # sn -> nibble of the packet border, 254: none
        self.arrived = {}  # sn -> set of nibbles that are there
        self.given_up = set()
        self.due = {}  # slot -> units that failed
        self.packets = []  # bytes, in order
        self.parts = []  # per packet: {sn: [first, end)}
        self.delivered = []  # packet numbers, as they came out
        self.log = []  # (slot, bin, unit, outcome)
        self.sequence = {}
        self.before = {}  # (station, topic) -> records published
        self.batch_slots = batch_slots
        self.waiting_frames = {"base": pb.FrameBatch(), "terminal": pb.FrameBatch()}
        self.messages = []  # (station, topic, Telemetry)
        self.first_new = first_sn

    # --- verbs ---

    def give(self, *packets):
        """Packets come in at the TUN of the base station, now."""
        batch = pb.IpBatch()
        for data in packets:
            number = len(self.packets)
            self.packets.append(data)
            self.parts.append({})
            self.queue += data.hex()
            self.waiting.append([number, 2 * len(data)])
            batch.packet.add(
                out=False, time_ns=slot_ns(self.slot), data=data, number=number, downlink=True
            )
        self.publish("base", "ip", ip=batch)

    def uplink(self, data):
        for station, out, slot in (("terminal", False, self.slot), ("base", True, self.slot + 3)):
            batch = pb.IpBatch()
            batch.packet.add(out=out, time_ns=slot_ns(slot), data=data, downlink=False)
            self.publish(station, "ip", ip=batch)

    def run_slot(self, modulations, fail=lambda unit: False, unheard=False):
        """One slot: `modulations` are those of bins 0, 1, ..."""
        failed = sorted(self.due.pop(self.slot, []), key=lambda u: (u.sn, u.offset))
        units = []
        self.first_new = self.next_sn
        for bin_index, k in enumerate(modulations):
            unit = self._again(failed, k) if failed else self._new(k)
            if unit is not None:
                units.append((bin_index, unit))
        self.due.setdefault(self.slot + 1, []).extend(failed)
        grant, sent, received = self._grant(), [], []
        for bin_index, unit in units:
            bad = fail(unit)
            outcome = UNKNOWN if unheard else BAD if bad else GOOD
            # a copy of the unit as it was sent
            self.log.append((self.slot, bin_index, copy.copy(unit), outcome))
            sent.append(self._record(bin_index, unit, 0))
            received.append(self._record(bin_index, unit, outcome))
            if outcome == GOOD:
                self.arrived.setdefault(unit.sn, set()).update(
                    range(unit.offset, unit.offset + unit.length)
                )
            elif unit.retransmissions >= self.limit:
                self.given_up.add(unit.sn)
            else:
                unit.retransmissions += 1
                self.due.setdefault(self.slot + LOOP, []).append(unit)
        for station, frames in (("base", sent), ("terminal", received)):
            if frames:
                frame_batches.append(self.waiting_frames[station], frames, grant)
        if (self.slot + 1) % self.batch_slots == 0:
            self.publish_frames()
        self.slot += 1
        self._deliver()

    def drain(self, modulations, fail=lambda unit: False):
        while self.queue or any(self.due.values()):
            self.run_slot(modulations, fail)
        self.publish_frames()

    def publish_frames(self):
        for station, batch in self.waiting_frames.items():
            if batch.slot:
                self.publish(station, "frames", frames=batch)
        self.waiting_frames = {station: pb.FrameBatch() for station in self.waiting_frames}

    def send(self, publish):
        for station, topic, message in self.messages:
            publish(station, topic, message)

    # --- inside ---

    def _new(self, k):
        if not self.queue:
            return None
        n = payload_nibbles(k)
        sn, self.next_sn = self.next_sn, self.next_sn + 1
        content, self.queue = self.queue[:n], self.queue[n:]
        at = 0
        while self.waiting and at < len(content):
            number, left = self.waiting[0]
            take = min(left, len(content) - at)
            self.parts[number][sn] = (at, at + take)
            self.holds.setdefault(sn, []).append(number)
            at += take
            if take == left:
                self.waiting.pop(0)
            else:
                self.waiting[0][1] -= take
        starts = [self.parts[p][sn][0] for p in self.holds[sn] if min(self.parts[p]) == sn]
        self.borders[sn] = min(starts + [len(content)] * (len(content) < n), default=254)
        self.frames[sn] = content.ljust(n, "0")
        return Unit(sn, 0, n, k)

    def _again(self, failed, k):
        """The first failed unit, or as much of it as a bin of k bits a symbol holds."""
        unit = failed[0]
        whole = unit.offset == 0 and unit.length == len(self.frames[unit.sn])
        if unit.bits_per_symbol and k >= unit.bits_per_symbol:
            return failed.pop(0)
        frame = self.frames[unit.sn]
        n = payload_nibbles(k)
        if unit.length <= n:
            failed.pop(0)
            piece = unit
        else:
            piece = Unit(unit.sn, unit.offset, n, k, unit.retransmissions)
            failed[0] = Unit(unit.sn, unit.offset + n, unit.length - n, 0, unit.retransmissions)
        if piece.offset + piece.length == len(frame):  # the last piece: the lowest that holds it
            k = next(j for j in range(1, 9) if payload_nibbles(j) >= piece.length)
        piece.bits_per_symbol = k
        assert not whole or piece is not unit
        return piece

    def _grant(self):
        edge = min(
            [
                sn
                for sn in self.frames
                if sn not in self.given_up and len(self.arrived.get(sn, ())) < len(self.frames[sn])
            ],
            default=self.first_new,
        )
        bits = f"{0:012b}{self.first_new & 0xFFFF:016b}{self.first_new - edge:015b}".ljust(240, "0")
        return int(bits, 2).to_bytes(30, "big")

    def _record(self, bin_index, unit, outcome):
        frame = self.frames[unit.sn]
        n = payload_nibbles(unit.bits_per_symbol)
        content = frame[unit.offset : unit.offset + n].ljust(n, "0")
        sent = outcome == 0
        if outcome == BAD:
            content = "".join("%x" % (int(c, 16) ^ self.dice.randrange(16)) for c in content)
            if bin_index % 2:  # bits of a bad frame are reported only on request
                content, n = "", 0
        return link_frames.LinkFrame(
            slot=self.slot,
            bin=bin_index,
            bits_per_symbol=unit.bits_per_symbol,
            sn=unit.sn & 0xFFFF,
            offset=unit.offset,
            whole=unit.offset == 0
            and unit.length == len(frame) == payload_nibbles(unit.bits_per_symbol),
            last=unit.offset + unit.length >= len(frame),
            retransmissions=unit.retransmissions if sent else min(1, unit.retransmissions),
            outcome=outcome,
            snr_db=10 + bin_index + (0.5 if sent else 0.25),
            combined=not sent and unit.retransmissions > 0,
            payload=bytes.fromhex(content + "0" * (n % 2)),
            payload_bits=4 * n,
            packet=tuple(self.holds.get(unit.sn, [])) if sent else (),
            border=self.borders[unit.sn] if sent and not unit.retransmissions else 255,
        )

    def _deliver(self):
        """Delivers packets in order; one that has lost a part is skipped."""
        batch = pb.IpBatch()
        while len(self.delivered) < len(self.packets):
            number = len(self.delivered)
            if not self.parts[number] or any(w[0] == number for w in self.waiting):
                break
            lost = any(sn in self.given_up for sn in self.parts[number])
            there = all(
                set(range(a, b)) <= self.arrived.get(sn, set())
                for sn, (a, b) in self.parts[number].items()
            )
            if not lost and not there:
                break
            self.delivered.append(None if lost else number)
            if not lost:
                batch.packet.add(
                    out=True, time_ns=slot_ns(self.slot), data=self.packets[number], downlink=True
                )
        if batch.packet:
            self.publish("terminal", "ip", ip=batch)

    def publish(self, station, topic, **what):
        number = self.sequence[station, topic] = self.sequence.get((station, topic), 0) + 1
        before = self.before.setdefault((station, topic), 0)
        if topic == "frames":
            what["frames"].frames_before = before
            self.before[station, topic] += len(what["frames"].bin)
        else:
            what["ip"].packets_before = before
            self.before[station, topic] += len(what["ip"].packet)
        self.messages.append(
            (
                station,
                topic,
                pb.Telemetry(
                    sequence=number,
                    slot=self.slot,
                    version=pb.VERSION_CURRENT,
                    user=self.user,
                    **what,
                ),
            )
        )
