# SPDX-License-Identifier: GPL-3.0-or-later
"""openwip channel export: an SNR trace as CSV, or as input of the emulators Mahimahi and KauNet."""

import contextlib
import json

from ..errors import BadInput
from ..machine import outputs, snr_trace
from ..machine.places import Places, operand
from ..settings import table
from ..settings.command_line import FILE, OUTPUT, Parser, marked
from .program import describe, run_program

KAUNET = (".bandwidth", ".biterror", ".packetloss")


def main(arguments: list[str], places: Places) -> int:
    p = Parser(
        "channel export",
        "Writes an SNR trace as CSV, or as input of the emulators Mahimahi and KauNet.",
    )
    p.add_argument("file", names=FILE, metavar="FILE.h5", help="file with an SNR trace (HDF5)")
    what = p.add_mutually_exclusive_group(required=True)
    for option, text in (
        ("--csv", "write the SNRs of the 25 frequency bins in dB, a row for each slot"),
        ("--mahimahi", "write a Mahimahi trace of packet delivery opportunities"),
        (
            "--kaunet",
            "write KauNet patterns: FILE.bandwidth, FILE.biterror, FILE.packetloss",
        ),
    ):
        marked(what.add_argument(option, metavar="FILE", help=text), OUTPUT)
    p.setting(
        table.setting("link.bins", "emulate"),
        help=(
            "number of frequency bins that carry data in a slot, those with the highest predicted"
            " SNR"
        ),
    )
    p.setting(table.setting("link.modulation", "emulate"))
    p.add_argument(
        "--packet-bytes",
        default="1500",
        help="size of the packets for which KauNet patterns are made, in bytes (default 1500)",
    )
    p.add_argument(
        "--seed", default="1", help="seed of the random errors in KauNet patterns (default 1)"
    )
    given = p.parse_args(arguments)
    kind = next(k for k in ("csv", "mahimahi", "kaunet") if getattr(given, k) is not None)
    file = getattr(given, kind)
    formats_of = {
        "--bins": "--mahimahi or --kaunet",
        "--modulation": "--mahimahi or --kaunet",
        "--packet-bytes": "--kaunet",
        "--seed": "--kaunet",
    }
    if wrong := [
        option
        for option in p.named_options(given)
        if f"--{kind}" not in formats_of.get(option, f"--{kind}")
    ]:
        raise BadInput(f"{wrong[0]} is given with --{kind}; valid: with {formats_of[wrong[0]]}")
    for ending in KAUNET if kind == "kaunet" else ("",):
        outputs.check(f"--{kind}", file + ending, given.file)
    if kind == "csv":
        from . import csv_file

        description = describe(places, given.file)
        with contextlib.closing(
            snr_trace.blocks(places, given.file, "prediction" in description)
        ) as rows:
            csv_file.write(rows, "prediction" in description, file)
        print(f"{file}: {description['slots']} rows")
        return 0
    printed = run_program(
        places,
        [
            "patterns",
            operand(given.file),
            f"--kind={kind}",
            f"--output={file}",
            f"--bins={given.bins}",
            f"--modulation={0 if given.modulation == 'adaptive' else given.modulation}",
            f"--packet-bytes={given.packet_bytes}",
            f"--seed={given.seed}",
        ],
    )
    size = json.loads(printed)
    if kind == "mahimahi":
        print(f"{file}: {size['packets']} opportunities, period {size['ms']} ms")
    else:
        print(
            f"{file}.bandwidth: {size['ms']} ms\n{file}.biterror: {size['bits']} bits\n"
            f"{file}.packetloss: {size['packets']} packets"
        )
    return 0
