# SPDX-License-Identifier: GPL-3.0-or-later
"""Block errors of the OFDM PHY for a UMTS bearer: of each TTI the first frame that the base station
of a run record sent in it for the first time, 0 when it was acknowledged and 1 when it was not, or
the terminal did not say. As --error-trace reads it. A TTI without such a frame, or of which no slot
was recorded (telemetry.slot_every), is left out."""

import pathlib
from collections.abc import Iterable

import numpy

from ..air import SLOTS_PER_SECOND
from ..errors import BadInput, not_valid
from ..machine import outputs
from ..settings.command_line import FILE, OUTPUT, Parser
from ..settings.kinds import Integer, Real
from .run_record import RunRecord, verdict_words

WIDTH = 80  # blocks in a line


def of_record(record: RunRecord, tti_ms: float, user: int) -> "tuple[numpy.ndarray, int]":
    """True for each block that is lost, and how many TTIs between the first and the last have
    none."""
    from openwip_schema import slot_link_pb2

    table = record.table("slot", "base")
    if table is None or "outcome" not in table:
        raise BadInput(
            f"{record.path} has no frames of a base station (topic slot); valid: the record of a"
            " cell with --link ofdm"
        )
    outcome = numpy.where(table["retransmissions"] == 0, table["outcome"], 0)
    outcome[table["user"] != user] = 0
    rows = numpy.flatnonzero(outcome.any(axis=1))
    if not len(rows):
        users = sorted(set(table["user"][table["outcome"] != 0].tolist()))
        raise not_valid(
            "--user",
            user,
            ", ".join(map(str, users)) or "no number, because the record has no frame at all",
            more=f", and {record.path} has no frame to that terminal",
        )
    # Nanoseconds: 15 slots are 10 ms, exactly.
    tti = (
        table["message.slot"][rows].astype("i8")
        * 1_000_000_000
        // SLOTS_PER_SECOND
        // round(tti_ms * 1e6)
    )
    of_tti, first = numpy.unique(tti, return_index=True)
    frames = outcome[rows[first]]
    lost = frames[numpy.arange(len(frames)), (frames != 0).argmax(axis=1)] != slot_link_pb2.GOOD
    return lost, int(of_tti[-1] - of_tti[0] + 1 - len(of_tti))


def text(lost: Iterable[bool], about: str) -> str:
    digits = "".join("1" if x else "0" for x in lost)
    return f"# {about}\n" + "".join(
        digits[at : at + WIDTH] + "\n" for at in range(0, len(digits), WIDTH)
    )


def main(arguments: list[str]) -> int:
    p = Parser(
        "record blocks",
        "Writes the block errors of a recorded OFDM link as a trace for the emulation of a UMTS"
        " bearer (emulate --error-trace FILE).",
    )
    p.add_argument(
        "record",
        names=FILE,
        metavar="RUN.h5",
        help="run record (HDF5 file of --record) of a cell with an OFDM link",
    )
    p.add_argument(
        "-o",
        "--out",
        names=OUTPUT,
        was="--output",
        required=True,
        metavar="FILE",
        help="file to write, with a 0 (arrived) or 1 (lost) for each block",
    )
    p.value(
        "--tti-ms",
        Real(0.1, 1000),
        default=10.0,
        help=(
            "transmission time interval (TTI) of the UMTS bearer in ms, each of which carries one"
            " block (default 10)"
        ),
    )
    p.value(
        "--user",
        Integer(0, 24),
        default=0,
        help="number of the terminal whose block errors are wanted, from 0 (default 0)",
    )
    given = p.parse_args(arguments)
    target = outputs.check("-o", given.output, given.record)
    with RunRecord(given.record) as r, r.computing():
        lost, without = of_record(r, given.tti_ms, given.user)
        words = verdict_words(r.verdict) + [f"record {w}" for w in r.end_words]
    about = (
        f"blocks of {given.tti_ms:g} ms, terminal {given.user} of"
        f" {pathlib.Path(given.record).name}; {words[0]}"
    )
    with outputs.writing("-o", given.output):
        outputs.write_whole(target, text(lost, about))
    print("\n".join(words))
    print(
        f"{given.output}: {len(lost)} blocks of {given.tti_ms:g} ms, {lost.sum()} lost"
        f" ({lost.mean():.2%}); {without} TTIs without a new frame are left out"
    )
    return 0
