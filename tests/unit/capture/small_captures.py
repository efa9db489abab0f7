# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripted cells of a few packets, and the folder and the numbers of their captures."""

import pathlib
import tempfile
import unittest

import capture_support as cs
from openwip_schema import telemetry_pb2 as pb
from scripted_cell import ScriptedCell, ipv4, slot_ns


def small_cell(packets=6, **settings):
    cell = ScriptedCell(**settings)
    cell.give(*(ipv4(n, 100 + 37 * (n % 30)) for n in range(packets)))
    cell.drain([8, 3, 1], fail=lambda unit: unit.retransmissions == 0 and unit.sn % 3 == 0)
    return cell


def capinfos(file):
    """name -> value of the lines, and how many packets each interface has."""
    lines = cs.tool("capinfos", "-M", file).splitlines()
    values = {k.strip(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    names = [line.split("=", 1)[1].strip() for line in lines if line.strip().startswith("Name =")]
    counts = [
        int(line.split("=", 1)[1])
        for line in lines
        if line.strip().startswith("Number of packets =")
    ]
    return values, dict(zip(names, counts, strict=True))


@cs.with_tools
class InFolder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name


def pdus(packets=3):
    """The PDUs that a UMTS bearer sends, in one message."""
    cell = ScriptedCell()
    batch = pb.IpBatch(pdus=True)
    for n in range(packets):
        batch.packet.add(time_ns=slot_ns(cell.slot) + n, data=ipv4(n, 8), downlink=True)
    cell.messages.append(
        (
            "base",
            "frames",
            pb.Telemetry(sequence=1, slot=cell.slot, version=pb.VERSION_CURRENT, ip=batch),
        )
    )
    return cell


def renumber(cell):
    """Sequence numbers of a script that was put together from two."""
    count = {}
    for station, topic, message in cell.messages:
        count[station, topic] = message.sequence = count.get((station, topic), 0) + 1


def statistics(file):
    """Interface -> (received, dropped) of the statistics blocks, read from the bytes."""
    data, at, names, found = pathlib.Path(file).read_bytes(), 0, [], {}
    while at < len(data):
        kind, length = (int.from_bytes(data[at + i : at + i + 4], "little") for i in (0, 4))
        body = data[at + 8 : at + length - 4]
        options, o = {}, {1: 8, 5: 12}.get(kind, len(body))
        while o + 4 <= len(body) and (code := int.from_bytes(body[o : o + 2], "little")):
            size = int.from_bytes(body[o + 2 : o + 4], "little")
            options[code] = body[o + 4 : o + 4 + size]
            o += 4 + size + -size % 4
        if kind == 1:
            names.append(options[2].decode())
        if kind == 5:
            found[names[int.from_bytes(body[:4], "little")]] = tuple(
                int.from_bytes(options[c], "little") for c in (4, 5)
            )
        at += length
    return found


def long_cell():
    cell = ScriptedCell(first_slot=300)
    for n in range(600):
        if n % 3 == 0:
            cell.give(ipv4(n, 50))
        cell.run_slot([4])
    return cell
