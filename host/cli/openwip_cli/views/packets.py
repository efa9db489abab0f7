# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip packets: where the time of each packet of a running cell went
(docs/explanation/packet-delay.md). Packets of the downlink are followed over every link, those of
the uplink over a UMTS bearer, several networks or a recorded network."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import IO, Any

from ..cell.cell import Cell
from ..cell.running import cell_lives, running_cell
from ..errors import BadInput
from ..figures.meaning import DELAY_PARTS, link_settings, total_delay_ns
from ..machine import outputs
from ..machine.places import Places
from ..messages import control, telemetry
from ..settings.command_line import Parser, add_value
from ..settings.kinds import Choice, Integer
from ..shapes import PacketBatch, PacketRecord
from . import follow as follow_cell

# IANA's protocol numbers of IP (the most common ones)
PROTOCOLS = {1: "ICMP", 6: "TCP", 17: "UDP", 58: "ICMPv6", 136: "UDP-Lite"}
SILENT_S = 3.0
COUNT = 20  # packets that are shown unless --count says another number
HEADER = (
    f"{'number':>9} {'bytes':>5}  {'what':<26} {'total ms':>9} = {'queue':>8} + {'sched':>7} +"
    f" {'air':>6} + {'retx':>7} + {'reorder':>7}   frames, sent again"
)


def tree_of(r: PacketRecord) -> dict[str, Any]:
    """The tree of a PacketRecord: every figure, the times as whole nanoseconds."""
    tree = {
        name: getattr(r, name)
        for name in (
            "number",
            "uplink",
            "user",
            "bytes",
            "protocol",
            "source_port",
            "destination_port",
            "tcp_sequence",
            "identification",
            "wired_ns",
            "arrived_ns",
            "left_ns",
        )
    }
    tree["total_ns"] = total_delay_ns(r)
    tree |= {f"{p}_ns": getattr(r, f"{p}_ns") for p in DELAY_PARTS}
    tree |= {
        "frames": r.frames,
        "retransmissions": list(r.retransmissions),
        "each_retransmission_ns": list(r.each_retransmission_ns),
        "damaged": r.damaged,
        "dropped": r.dropped or None,
        "sojourn_ns": r.sojourn_ns,
        "marked": r.marked,
    }
    if r.HasField("first_pdu"):  # the numbers of a UMTS bearer's PDUs, which a capture has as well
        tree["pdus"] = [r.first_pdu, r.last_pdu]
    return tree


def retransmission_words(retransmissions: Sequence[int]) -> str:
    """ "3 of 12 (1 1 2)": how many frames were sent again, and how often each of those."""
    n = [str(x) for x in retransmissions if x]
    if not n:
        return f"{len(retransmissions)}"
    listed = " ".join(n[:8]) + (" ..." if len(n) > 8 else "")
    return f"{len(n)} of {len(retransmissions)} again ({listed})"


def line_of(r: PacketRecord) -> str:
    what = ("up " if r.uplink else "") + PROTOCOLS.get(r.protocol, f"protocol {r.protocol}")
    if r.source_port or r.destination_port:
        what += f" {r.source_port}>{r.destination_port}"
    if r.user:
        what += f" (terminal {r.user + 1})"
    total = total_delay_ns(r)
    ms = [getattr(r, f"{p}_ns") / 1e6 for p in DELAY_PARTS]
    line = (
        f"{r.number:>9} {r.bytes:>5}  {what:<26} {total / 1e6:>9.3f} = {ms[0]:>8.3f} +"
        f" {ms[1]:>7.3f} + {ms[2]:>6.3f} + {ms[3]:>7.3f} + {ms[4]:>7.3f}  "
        f" {retransmission_words(r.retransmissions)}"
    )
    if r.HasField("first_pdu"):
        line += f", PDUs {r.first_pdu} to {r.last_pdu}"
    if r.wired_ns:
        line += f", {r.wired_ns / 1e6:.3f} ms wired {'behind' if r.uplink else 'before'}"
    if r.damaged:
        line += ", damaged"
    if r.dropped:
        line += f"  DROPPED: {r.dropped}"
    return line


def has_pdu(r: PacketRecord, number: int) -> bool:
    """True if, over a UMTS bearer, a part of the packet was in the PDU of that number, as captures
    have it. Numbers begin anew at their end."""
    if not r.HasField("first_pdu"):
        return False
    if r.first_pdu <= r.last_pdu:
        return bool(r.first_pdu <= number <= r.last_pdu)
    return bool(number >= r.first_pdu or number <= r.last_pdu)


def refuse_without_bearer(given: argparse.Namespace, cell: Cell) -> None:
    """Raises BadInput if the link of the cell cannot serve --way up or --pdu: packets of the uplink
    are followed over three kinds of link, and only a UMTS bearer has numbers of PDUs."""
    asked = (
        f"--way {given.way}"
        if given.way == "up"
        else f"--pdu {given.pdu}"
        if given.pdu is not None
        else None
    )
    if asked is None:
        return
    kind = link_settings(
        control.Control(cell.endpoint("base.control")).status(3.0).effective_yaml
    ).get("kind", "ofdm")
    valid = ("umts", "hetnet", "trace") if given.pdu is None else ("umts",)
    if kind not in valid:
        raise BadInput(
            f"{asked}: the link of cell '{cell.name}' is {kind}; valid with emulate --link"
            f" {' or '.join([', '.join(valid[:-1]), valid[-1]] if len(valid) > 1 else valid)}"
        )


class Printer:
    def __init__(
        self,
        out: IO[str] | None,
        json_out: IO[str] | None,
        count: int | None,
        pdu: int | None = None,
        way: str = "both",
    ) -> None:
        """`out`: where lines for people go, `json_out`: JSON; None: nowhere."""
        self.out, self.json_out, self.left, self.pdu, self.way = out, json_out, count, pdu, way
        self.shown = 0
        self.skipped_first: int | None = None
        self.skipped_last: int | None = None

    def batch(self, batch: PacketBatch) -> bool:
        """True when enough have been shown."""
        if self.skipped_last is not None and batch.skipped < self.skipped_last:
            self.skipped_first = 0  # each new connection counts anew
        if self.skipped_first is None:
            self.skipped_first = batch.skipped
        self.skipped_last = batch.skipped
        lines, objects = [], []
        for r in batch.packet:
            if self.left == 0:
                break
            if self.way == ("down" if r.uplink else "up") or (
                self.pdu is not None and not has_pdu(r, self.pdu)
            ):
                continue
            if self.out is not None:
                lines += [HEADER] * (self.shown % 50 == 0) + [line_of(r)]
            if self.json_out is not None:
                objects.append(json.dumps(tree_of(r), separators=(",", ":")))
            self.shown += 1
            if self.left is not None:
                self.left -= 1
        for out, text in ((self.out, lines), (self.json_out, objects)):
            if out is not None and text:
                out.write("\n".join(text) + "\n")
                out.flush()
        return self.left == 0

    @property
    def skipped(self) -> int:
        return (
            0
            if self.skipped_last is None or self.skipped_first is None
            else self.skipped_last - self.skipped_first
        )


def follow(
    reader: telemetry.Reader,
    alive: Callable[[], bool],
    printer: Printer,
    say: Callable[[str], None],
) -> None:
    """Prints packets until enough have come, or the cell ends."""
    news, warned = time.monotonic(), False
    for messages in follow_cell.messages(reader, alive):
        for m in messages:
            news, warned = time.monotonic(), False
            if printer.batch(m.telemetry.packets):
                return
        if not warned and time.monotonic() - news > SILENT_S:
            warned = True
            say(f"no packet for {SILENT_S:g} s: the link carries nothing; waiting (Ctrl-C ends)")
    say("the cell has ended")


def main(arguments: list[str], _places: Places) -> int:
    p = Parser(
        "packets",
        "Prints for each IP packet of a running cell how long it spent in which queue and link: on"
        " the downlink, and with --link umts, hetnet or trace in both directions.",
        "demo",
    )
    much = p.add_mutually_exclusive_group()
    add_value(
        much,
        "--count",
        Integer(1, 1 << 40),
        default=COUNT,
        metavar="N",
        help=f"end after this number of packets (default {COUNT})",
    )
    much.add_argument(
        "--follow", action="store_true", help="print packets until Ctrl-C or until the cell ends"
    )
    p.value(
        "--pdu",
        Integer(0, 4095),
        metavar="SN",
        help=(
            "with a UMTS link: from now on, show only packets of which a part is in the RLC"
            " PDU with this sequence number; each direction numbers its PDUs separately"
        ),
    )
    p.value(
        "--way",
        Choice("down", "up", "both"),
        default="both",
        metavar="WAY",
        help=(
            "direction of the packets: down, up (only with --link umts, hetnet and trace), or both"
            " (default)"
        ),
    )
    p.json("an object for each packet in a line, times in nanoseconds,")
    given = p.parse_args(arguments)
    outputs.check_given("--json", given.json)
    count = None if given.follow else given.count
    cell = running_cell(given.name)
    if cell.replay is not None:
        raise BadInput(
            f"cell '{cell.name}' is a replay of {cell.replay['file']}, which has no base station"
            " to follow packets; valid: a cell with a base station"
        )
    refuse_without_bearer(given, cell)
    with (
        outputs.json_lines(given.json) as json_out,
        follow_cell.following({"base": cell.endpoint("base.telemetry")}, ("packet",)) as reader,
    ):
        out = None if given.json == "-" else sys.stdout
        printer = Printer(out, json_out, count, given.pdu, given.way)
        follow(
            reader,
            lambda: cell_lives(cell),
            printer,
            lambda text: print(f"openwip: {text}", file=sys.stderr),
        )
    print(
        f"openwip: {printer.shown} packets; {printer.skipped} skipped at the base station;"
        f" {reader.summary()}",
        file=sys.stderr,
    )
    return 0
