# SPDX-License-Identifier: GPL-3.0-or-later
"""Round trip of each TCP segment, from a capture of both ends' interfaces (pcap with nanoseconds or
pcapng, IPv4): from when it is sent for the first time until the first acknowledgement of
all of it is there. Segments that are sent again have none: it could be that of either. A packet is
told from others by its ends, identification and numbers; the first time that it stands in the
capture it is sent, the second time it has arrived."""

import dataclasses
import pathlib
import struct
from collections.abc import Iterator

MAGIC = 0xA1B23C4D  # nanoseconds, this order of bytes
SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6  # blocks of pcapng
SECTION_ORDER = 0x1A2B3C4D  # mark of a pcapng section's byte order
RAW, IPV4 = 101, 228  # link types of packets that are IP
RESOLUTION, END_OF_OPTIONS = 9, 0
TCP, ACK, NUMBERS = 6, 16, 2**32 - 1
Flow = tuple[bytes, bytes]  # address and port of the sender, of the receiver


def packets(path: pathlib.Path | str) -> Iterator[tuple[int, bytes]]:
    """Nanoseconds and IP packet of each that the capture has."""
    data = pathlib.Path(path).read_bytes()
    magic = struct.unpack_from("<I", data)[0] if len(data) >= 24 else 0
    if magic == SECTION:
        yield from _of_pcapng(data)
        return
    if magic != MAGIC:
        raise ValueError(f"{path} is neither pcapng nor a pcap file with nanoseconds")
    at = 24
    while at + 16 <= len(data):
        seconds, nanoseconds, held, _ = struct.unpack_from("<IIII", data, at)
        yield seconds * 1_000_000_000 + nanoseconds, data[at + 16 : at + 16 + held]
        at += 16 + held


def _of_pcapng(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Time (ns) and IP packet of each record. The last block of a broken file is left out, and so
    are interfaces without IP."""
    units: list[int | None] = []  # nanoseconds of a unit of time of each interface
    at = 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if length < 12 or at + length > len(data):
            break
        if kind == SECTION:
            if struct.unpack_from("<I", data, at + 8)[0] != SECTION_ORDER:
                raise ValueError("a pcapng file in the other order of bytes")
            units = []
        elif kind == INTERFACE:
            link = struct.unpack_from("<H", data, at + 8)[0]
            options = data[at + 16 : at + length - 4]
            units.append(_unit_ns(options) if link in (RAW, IPV4) else None)
        elif kind == PACKET:
            which, high, low, held = struct.unpack_from("<IIII", data, at + 8)
            if which < len(units) and (unit := units[which]) is not None:
                yield ((high << 32 | low) * unit, data[at + 28 : at + 28 + held])
        at += length


def _unit_ns(options: bytes) -> int:
    """Nanoseconds of an interface's unit of time, by its option if_tsresol, a power of ten. Without
    the option the unit is a microsecond."""
    at = 0
    while at + 4 <= len(options):
        code, length = struct.unpack_from("<HH", options, at)
        if code == END_OF_OPTIONS:
            break
        if code == RESOLUTION and length == 1 and options[at + 4] <= 9:
            return int(10 ** (9 - options[at + 4]))
        at += 4 + length + (-length) % 4
    return 1000


@dataclasses.dataclass
class Segment:
    """A TCP segment as it stands in the capture. Its numbers count from the first data of their
    direction."""

    ns: int
    flow: Flow
    arrived: bool  # it is the second copy, captured at the receiver
    took_ns: int | None  # from its first copy to this one; None: it is the first copy
    flags: int
    octets: int  # octets of data
    number: int | None  # None: that direction has had no data yet
    # acknowledgement number, counted from the first data of the other direction
    acknowledged: int | None
    options: bytes
    first_of_back: int  # number of the first data of the other direction, as it stands in a packet
    window: int  # unscaled, as in the header


def segments_of(path: pathlib.Path | str) -> Iterator[Segment]:
    """The TCP segments of a capture over IPv4, in its order."""
    seen: dict[tuple[bytes, ...], int] = {}
    first: dict[Flow, int] = {}
    for ns, ip in packets(path):
        header = (ip[0] & 15) * 4 if ip else 0
        if len(ip) < max(20, header) + 20 or ip[0] >> 4 != 4 or ip[9] != TCP:
            continue
        number, acknowledged, offset, flags, window = struct.unpack_from(">IIBBH", ip, header + 4)
        source = ip[12:16] + ip[header : header + 2]
        destination = ip[16:20] + ip[header + 2 : header + 4]
        data_at = header + (offset >> 4) * 4
        octets = len(ip) - data_at
        name = (
            source,
            destination,
            ip[4:6],
            ip[header + 4 : header + 12],
            bytes([octets > 0, flags]),
        )
        arrived, sent_ns = name in seen, seen.setdefault(name, ns)
        flow, back = (source, destination), (destination, source)
        if octets and not arrived:
            first.setdefault(flow, number)
        yield Segment(
            ns,
            flow,
            arrived,
            ns - sent_ns if arrived else None,
            flags,
            octets,
            number - first[flow] & NUMBERS if flow in first else None,
            acknowledged - first[back] & NUMBERS if flags & ACK and back in first else None,
            ip[header + 20 : data_at],
            first.get(back, 0),
            window,
        )


def delays_of_capture(path: pathlib.Path | str) -> list[int]:
    """Nanoseconds from sending to arrival of each packet with data, those that are sent again
    included, in the order of arrival: of the direction with the most data."""
    found: dict[Flow, list[int]] = {}
    octets: dict[Flow, int] = {}
    for s in segments_of(path):
        if s.took_ns is not None and s.octets:
            found.setdefault(s.flow, []).append(s.took_ns)
            octets[s.flow] = octets.get(s.flow, 0) + s.octets
    return found[max(octets, key=lambda flow: octets[flow])] if octets else []


def of_capture(path: pathlib.Path | str) -> dict[Flow, list[float]]:
    """Milliseconds, segment by segment in the order of their numbers, of each direction of each
    connection that has any."""
    # For each direction: number -> (end, time sent, whether sent again).
    sent: dict[Flow, dict[int, tuple[int, int, bool]]] = {}
    # The acknowledgements that reached the sender of each direction: (time, number up to which).
    heard: dict[Flow, list[tuple[int, int]]] = {}
    for s in segments_of(path):
        if s.arrived and s.acknowledged is not None:
            heard.setdefault((s.flow[1], s.flow[0]), []).append((s.ns, s.acknowledged))
        elif s.octets and not s.arrived and s.number is not None:
            numbers = sent.setdefault(s.flow, {})
            end, first_ns, _ = numbers.get(s.number, (s.number + s.octets, s.ns, False))
            numbers[s.number] = (end, first_ns, s.number in numbers)
    found = {}
    for flow, segments in sent.items():
        acknowledgements = iter(heard.get(flow, ()))
        when, up_to = 0, -1
        trips = []
        for end, first_ns, again in (segments[s] for s in sorted(segments)):
            while up_to < end and (following := next(acknowledgements, None)) is not None:
                when, up_to = following if following[1] > up_to else (when, up_to)
            if up_to >= end and not again:
                trips.append((when - first_ns) * 1e-6)
        if trips:
            found[flow] = trips
    return found
