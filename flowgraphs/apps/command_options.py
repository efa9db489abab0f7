# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line that base_station.py and terminal.py share."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from program import bad_input
from radio_time import time_of_slot
from tree import command_line, table


class OneLineParser(argparse.ArgumentParser):
    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:
        given, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self.error(command_line.why_unknown(self, unknown))
        return given

    def error(self, message: str) -> NoReturn:
        bad_input(f"{message} (--help lists the options)")


def ranged(kind: Callable[[str], Any], low: float, high: float) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' is not valid; valid: a number") from None
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"'{text}' is not valid; valid: {low}..{high}")
        return value

    return parse


def setting(
    p: argparse.ArgumentParser,
    key: str,
    program: str = "demo",
    flag: str | None = None,
    default: Any = None,
) -> None:
    """An option that is a setting: all of it is in the table of settings
    (mac/schema/settings.yaml), as that program has it, but for a name and a default of its own."""
    s = table.setting(key, program)
    default = s.default if default is None else default

    def parse(text: str) -> Any:
        try:
            return s.kind.read(text)
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"'{text}' is not valid; valid: {s.kind.valid}"
            ) from None

    p.add_argument(
        flag or str(s.flag),
        type=parse,
        default=default,
        metavar="X",
        help=f"{s.help}; {s.kind.valid} (default {default})",
    )


def slot_time(text: str) -> tuple[int, int, float]:
    """Device time of the first sample, which has to be the start of a slot: (slot, full,
    fraction)."""
    from gnuradio import wip

    try:
        slot = wip.slot_of_time(text)
    except (ValueError, ZeroDivisionError) as e:
        raise argparse.ArgumentTypeError(str(e)) from None
    if slot < 0:
        raise argparse.ArgumentTypeError(f"'{text}' is before device time 0; valid: 0 or later")
    return time_of_slot(slot)


def parser(description: str) -> OneLineParser:
    p = OneLineParser(description=description, allow_abbrev=False)
    p.add_argument(
        "--args", required=True, help="UHD device address, e.g. type=vusrp,air=demo,node=base"
    )
    p.add_argument(
        "--endpoint", default="", help="address of macd's slot link, shm://PATH or a ZeroMQ address"
    )
    setting(p, "fader.frequency_hz", "fader", "--freq")
    p.add_argument("--antenna", default="", help="antenna port; empty: the device's default")
    p.add_argument(
        "--start-time",
        type=slot_time,
        default="0.1",
        help="device time of the first sample, s; a multiple of 1/1500 s",
    )
    p.add_argument(
        "--start-in",
        type=ranged(float, 0.05, 60),
        metavar="S",
        help="start so many seconds from now, instead of --start-time: when the radio is ready",
    )
    for what in ("clock", "time"):
        p.add_argument(
            f"--{what}-source",
            choices=table.column(f"nodes.*.{what}_source", "choices", ("fader",)),
            default="internal",
            help={
                "clock": "reference of the radio's oscillators (default internal)",
                "time": (
                    "edge of the second that the radio's time is set by (default internal: none)"
                ),
            }[what],
        )
    p.add_argument(
        "--reset-time",
        action="store_true",
        help="set the device's time to 0 first (hardware; never on a shared air)",
    )
    p.add_argument(
        "--timeout",
        type=ranged(float, 0.1, 60),
        default=2.0,
        help="macd counts as gone after this silence of its socket, s",
    )
    p.add_argument("--no-realtime", action="store_true", help="do not ask for real-time scheduling")
    p.add_argument(
        "--record-iq",
        metavar="FILE",
        default="",
        help="record the samples from the first one on: FILE.sigmf-data, FILE.sigmf-meta",
    )
    p.add_argument(
        "--record-iq-slots",
        type=ranged(int, 0, 2**40),
        default=0,
        help="so many slots; 0: until the end (61 MB/s)",
    )
    p.add_argument(
        "--record-iq-descriptors",
        metavar="N,...",
        default="",
        help="write to these descriptors instead, which have the files open",
    )
    p.add_argument(
        "--record-endpoint",
        metavar="ipc://PATH",
        default="",
        help="socket at which recordings are started and stopped",
    )
    p.add_argument(
        "--least-rights",
        action="store_true",
        help="give up all rights but priority and locked memory, before the radio is opened",
    )
    return p
