# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of the commands that open a radio."""

import argparse

from ..machine import outputs
from ..settings import table
from ..settings.command_line import Parser
from ..settings.kinds import Real

FREQUENCY = table.setting("fader.frequency_hz", "fader").kind
GAIN = Real(-200, 200)  # the radio itself reports its range


def radio_option(p: Parser) -> None:
    p.add_argument(
        "--radio",
        metavar="ARGS",
        default="",
        help=("UHD device arguments of the radio, such as type=b200; type=vusrp: the software one"),
    )


def receive_options(p: Parser) -> None:
    p.value(
        "--freq",
        FREQUENCY,
        metavar="HZ",
        default=1.8e9,
        help="centre frequency in Hz (default 1.8e9)",
    )
    p.value(
        "--receive-gain",
        GAIN,
        metavar="DB",
        help="gain of the receiver in dB (default: the middle of its range)",
    )
    p.add_argument(
        "--antenna",
        metavar="PORT",
        default="",
        help="antenna port of the receiver (default: the device's own choice)",
    )


def transmit_options(p: Parser) -> None:
    p.value(
        "--transmit-gain",
        GAIN,
        metavar="DB",
        help=(
            "gain of the transmitter in dB (default: its lowest). An attenuator of 30 dB or more "
            "belongs between transmitter and receiver (docs/how-to/radios.md)"
        ),
    )
    p.add_argument(
        "--transmit-antenna",
        metavar="PORT",
        default="",
        help="antenna port of the transmitter (default: the device's own choice)",
    )


def radio_parser(command: str, receives: bool = False) -> Parser:
    p = Parser(command)
    radio_option(p)
    if receives:
        receive_options(p)
        p.value(
            "--duration",
            Real(0.02, 10),
            was="--seconds",
            metavar="S",
            default=0.5,
            help="time in seconds for which samples are received for the measurement (default 0.5)",
        )
    p.json("what was found about the radio", was_a_word=True)
    return p


def parsed(p: Parser, arguments: list[str]) -> argparse.Namespace:
    given = p.parse_args(arguments)
    outputs.check_given("--json", given.json)
    return given


def asked(given: argparse.Namespace) -> list[str]:
    """The options for wip_radio; options that a command does not have or that were not given are
    left out."""
    names = {
        "freq": "--freq",
        "receive_gain": "--receive-gain",
        "antenna": "--antenna",
        "seconds": "--seconds",
        "transmit_gain": "--transmit-gain",
        "transmit_antenna": "--transmit-antenna",
        "tone": "--tone",
        "tone_radio": "--tone-args",
    }
    return [
        f"{flag}={value}"
        for name, flag in names.items()
        if (value := getattr(given, name, None)) not in (None, "")
    ]
