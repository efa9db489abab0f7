# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip capture plot: the time-sequence graph of a TCP connection, as tcptrace draws it, from a
capture with the interfaces of both ends: what the sender sent and sent again, what had been
acknowledged, cumulatively and selectively, and how far the receiver's window reached."""

import argparse
import pathlib
from collections.abc import Iterable
from typing import Any

from ..errors import BadInput, not_valid
from ..machine import outputs
from ..measure import packet_rtt, time_sequence
from ..settings.command_line import FILE, OUTPUT, Parser
from ..settings.kinds import Integer, Real

FORMATS = (".pdf", ".png", ".svg")


def end_text(end: bytes) -> str:
    """Address and port."""
    return f"{'.'.join(map(str, end[:4]))}:{int.from_bytes(end[4:6], 'big')}"


def draw(
    axes: Any,
    sequence: time_sequence.Sequence,
    begin_s: float = 0.0,
    marks_s: Iterable[float] = (),
    window: bool = False,
) -> None:
    """Kilobytes over seconds since `begin_s`; `marks_s`: vertical lines, of the capture's clock."""
    for resent, colour, name in ((False, "tab:blue", "sent"), (True, "tab:red", "sent again")):
        chosen = [s for s in sequence.sent if s.again == resent]
        if chosen or not resent:
            axes.plot(
                [s.at - begin_s for s in chosen],
                [s.end / 1e3 for s in chosen],
                ".",
                color=colour,
                markersize=3,
                label=name,
            )
    acknowledgements = sequence.heard
    lines = [("acknowledged", "tab:green", [h.up_to / 1e3 for h in acknowledgements])]
    if window:
        reach = [(h.up_to + h.window) / 1e3 for h in acknowledgements]
        lines.append(("window of the receiver", "tab:olive", reach))
    for name, colour, height in lines:
        axes.step(
            [h.at - begin_s for h in acknowledgements],
            height,
            where="post",
            color=colour,
            linewidth=1,
            label=name,
        )
    blocks = [(h.at - begin_s, b) for h in acknowledgements for b in h.sacked]
    if blocks:
        axes.vlines(
            [at for at, _ in blocks],
            [b[0] / 1e3 for _, b in blocks],
            [b[1] / 1e3 for _, b in blocks],
            color="tab:orange",
            linewidth=1,
            label="SACK",
        )
    for at in set(marks_s):
        axes.axvline(at - begin_s, color="black", linestyle=":", linewidth=1)


def parse(arguments: list[str]) -> argparse.Namespace:
    p = Parser("capture plot", "Draws the time-sequence graph of a TCP connection in a capture.")
    p.add_argument(
        "capture",
        names=FILE,
        metavar="FILE",
        help="capture with the packets of both ends: pcapng, or pcap with nanoseconds",
    )
    p.add_argument(
        "-o",
        "--out",
        names=OUTPUT,
        required=True,
        metavar="GRAPH",
        help="file to write: .png, .svg or .pdf",
    )
    p.value(
        "--connection",
        Integer(1, 1000),
        default=1,
        metavar="N",
        help="number of the connection by its amount of data, 1 for the largest (default 1)",
    )
    p.value(
        "--from",
        Real(0, 1e6),
        dest="from_s",
        metavar="S",
        help="left end of the time axis, in seconds after the first data of the connection",
    )
    p.value(
        "--until",
        Real(0, 1e6),
        dest="until_s",
        metavar="S",
        help="right end of the time axis, in seconds after the first data of the connection",
    )
    p.add_argument("--window", action="store_true", help="also draw the receive window")
    given = p.parse_args(arguments)
    if pathlib.Path(given.out).suffix not in FORMATS:
        raise not_valid("--out", repr(given.out), f"a name that ends with {', '.join(FORMATS)}")
    if None not in (given.from_s, given.until_s) and given.from_s >= given.until_s:
        raise not_valid(
            "--from",
            f"{given.from_s:g}",
            "a time before --until",
            more=f" s with --until {given.until_s:g} s",
        )
    return given


def connection_of(path: str, number: int) -> tuple[packet_rtt.Flow, time_sequence.Sequence]:
    try:
        found = list(time_sequence.all_of_capture(path).items())
    except OSError as e:
        raise BadInput(
            f"capture {path} cannot be read: {e.strerror}; valid: a readable pcapng or pcap file"
        ) from None
    except ValueError as e:
        raise BadInput(
            f"capture {path}: {e}; valid: a file of ./openwip capture, or of --capture"
        ) from None
    if not found:
        raise BadInput(
            f"capture {path} has no TCP segment with data over IPv4; valid: a capture of a TCP"
            " transfer"
        )
    if number > len(found):
        raise not_valid(
            "--connection",
            number,
            f"1..{len(found)}",
            more=f", and {path} has {len(found)} TCP connections with data",
        )
    return found[number - 1]


def main(arguments: list[str]) -> int:
    given = parse(arguments)
    outputs.check("-o", given.out, given.capture)
    (sender, receiver), sequence = connection_of(given.capture, given.connection)

    from ..machine.canvas import plt

    figure, axes = plt.subplots(figsize=(8, 5))
    begin = sequence.sent[0].at
    draw(axes, sequence, begin, window=given.window)
    axes.set_xlim(left=given.from_s, right=given.until_s)
    if None not in (given.from_s, given.until_s):
        inside = [s for s in sequence.sent if given.from_s <= s.at - begin <= given.until_s]
        if inside:
            low, high = min(s.first for s in inside) / 1e3, max(s.end for s in inside) / 1e3
            axes.set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))
    axes.set_xlabel("s")
    axes.set_ylabel("kB")
    axes.set_title(f"{end_text(sender)} to {end_text(receiver)}", fontsize=10)
    axes.legend(fontsize=8)
    figure.tight_layout()
    kind = pathlib.Path(given.out).suffix[1:]
    with outputs.writing("-o", given.out), outputs.replacing(given.out, binary=True) as out:
        figure.savefig(out, dpi=110, format=kind)
    resent = sum(s.again for s in sequence.sent)
    print(
        f"{given.out}: {end_text(sender)} to {end_text(receiver)}, {sequence.octets} octets in"
        f" {len(sequence.sent)} segments, {resent} sent again"
    )
    return 0
