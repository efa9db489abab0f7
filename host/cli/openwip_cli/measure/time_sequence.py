# SPDX-License-Identifier: GPL-3.0-or-later
"""The data of a TCP connection over time, from a capture of both ends' interfaces (packet_rtt.py),
and the behaviour of its sender around a handover. Times are seconds of the capture's clock."""

import dataclasses
import pathlib
import struct
from typing import Any

from . import packet_rtt

SACK, SCALE, END, NOTHING = 5, 3, 0, 1  # kinds of TCP options
SYN = 2  # flag of a TCP header


@dataclasses.dataclass
class Sent:
    """A segment with data as its sender gave it to the link."""

    at: float
    first: int  # number of its first octet, counted from the beginning of the connection
    end: int  # number of the octet behind its last one
    again: bool  # an octet of it had been sent before


@dataclasses.dataclass
class Heard:
    """An acknowledgement as it reached the sender."""

    at: float
    up_to: int
    sacked: list[tuple[int, int]]
    window: int = 0  # the receiver's window in octets


@dataclasses.dataclass
class Sequence:
    """A connection's data in one direction."""

    sent: list[Sent] = dataclasses.field(default_factory=list)
    heard: list[Heard] = dataclasses.field(default_factory=list)

    @property
    def octets(self) -> int:
        return max((s.end for s in self.sent), default=0)


def sack_blocks(options: bytes) -> list[tuple[int, int]]:
    at = 0
    while at < len(options) and options[at] != END:
        if options[at] == NOTHING:
            at += 1
            continue
        if at + 1 >= len(options) or options[at + 1] < 2:
            break
        length = options[at + 1]
        if options[at] == SACK and at + length <= len(options):
            blocks = length - 2 - (length - 2) % 8
            return [
                (int(first), int(end))
                for first, end in struct.iter_unpack(">II", options[at + 2 : at + 2 + blocks])
            ]
        at += length
    return []


def scale_of(options: bytes) -> int | None:
    """The window scale that a SYN offers."""
    at = 0
    while at + 1 < len(options) and options[at] != END:
        if options[at] == SCALE and at + 2 < len(options):
            return min(14, options[at + 2])
        at += 1 if options[at] == NOTHING else max(2, options[at + 1])
    return None


def of_capture(path: pathlib.Path | str) -> Sequence:
    """The direction with the most data; without any it is empty."""
    return next(iter(all_of_capture(path).values()), Sequence())


def all_of_capture(path: pathlib.Path | str) -> dict[packet_rtt.Flow, Sequence]:
    """Each direction of each connection that has data, the one with the most first."""
    found: dict[packet_rtt.Flow, Sequence] = {}
    scales: dict[packet_rtt.Flow, int | None] = {}
    for s in packet_rtt.segments_of(path):
        at = s.ns * 1e-9
        if s.flags & SYN:
            scales[s.flow] = scale_of(s.options)
        if s.arrived and s.acknowledged is not None:
            blocks = [
                (
                    a - s.first_of_back & packet_rtt.NUMBERS,
                    b - s.first_of_back & packet_rtt.NUMBERS,
                )
                for a, b in sack_blocks(s.options)
            ]
            back = s.flow[1], s.flow[0]
            both = scales.get(s.flow), scales.get(back)
            shift = both[0] if None not in both and not s.flags & SYN else None
            found[back].heard.append(Heard(at, s.acknowledged, blocks, s.window << (shift or 0)))
        elif s.octets and not s.arrived and s.number is not None:
            sequence = found.setdefault(s.flow, Sequence())
            sent_before = s.number < sequence.octets
            sequence.sent.append(Sent(at, s.number, s.number + s.octets, sent_before))
    return dict(sorted(found.items(), key=lambda item: -item[1].octets))


def around(sequence: Sequence, began_s: float, over_s: float) -> dict[str, Any]:
    """Figures of the connection around a handover between these times:

    in_flight     octets that had been sent and not acknowledged when it began rtt_s         round
    trip of the last segment that was acknowledged before it began again_s       when segments were
    sent again, after its beginning idle_s        from its end until the sender sends again
    longest_idle_s  longest silence of the sender between two segments, from its end on recovered_s
    from its end until all that was on the way when it began is acknowledged
    """
    before = [s for s in sequence.sent if s.at <= began_s]
    up_to = max((h.up_to for h in sequence.heard if h.at <= began_s), default=0)
    top = max((s.end for s in before), default=0)
    last = max((h for h in sequence.heard if h.at <= began_s), key=lambda h: h.at, default=None)
    rtt = None
    if last is not None:
        sent = [s.at for s in before if s.first < last.up_to <= s.end and not s.again]
        rtt = last.at - sent[-1] if sent else None
    after = [s.at for s in sequence.sent if s.at >= over_s]
    recovered = next((h.at for h in sequence.heard if h.at >= began_s and h.up_to >= top), None)
    return {
        "in_flight": top - up_to,
        "rtt_s": rtt,
        "again_s": [round(s.at - began_s, 6) for s in sequence.sent if s.again and s.at > began_s],
        "idle_s": after[0] - over_s if after else None,
        "longest_idle_s": max((b - a for a, b in zip(after, after[1:])), default=None),
        "recovered_s": recovered - over_s if recovered is not None else None,
    }
