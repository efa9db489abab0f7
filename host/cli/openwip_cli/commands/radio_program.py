# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that opens radios (host/radio), its options, and where UHD finds the software one."""
import argparse
import json
import os
import subprocess
from collections.abc import Mapping
from typing import Any

from ..errors import BAD_INPUT, BadInput, Stop
from ..machine.places import Places
from ..settings.command_line import Parser
from ..settings.kinds import Real

PROGRAM = "host/radio/wip_radio"
FREQUENCY = Real(0, 1e11)
GAIN = Real(-200, 200)      # what the radio has it says itself


def environment(places: Places) -> dict[str, str]:
    """UHD's own lines would stand between ours; what it refuses comes as an error."""
    return {"UHD_MODULE_PATH": str(places.build / "uhd_modules"), **os.environ, "UHD_LOG_CONSOLE_LEVEL": "error",
            "UHD_LOG_FASTPATH_DISABLE": "1"}


def radio_option(p: Parser) -> None:
    p.add_argument("--radio", metavar="ARGS", default="", help="UHD device arguments of the radio that is meant, such as type=b200; "
                                                               "type=vusrp: the software one")


def receive_options(p: Parser) -> None:
    p.value("--freq", FREQUENCY, metavar="HZ", default=1.8e9, help="centre frequency (default 1.8e9)")
    p.value("--gain", GAIN, metavar="DB", help="of the receiver (default: the middle of its range)")
    p.add_argument("--antenna", metavar="PORT", default="", help="it receives from (default: the device's own choice)")


def transmit_options(p: Parser) -> None:
    p.value("--transmit-gain", GAIN, metavar="DB", help="of the transmitter (default: its lowest). An attenuator of 30 dB or more "
                                                        "belongs between transmitter and receiver (docs/radios.md)")
    p.add_argument("--transmit-antenna", metavar="PORT", default="", help="it sends from (default: the device's own choice)")


def json_option(p: Parser) -> None:
    p.add_argument("--json", metavar="FILE", nargs="?", const="-", help="write what was found there as well; without FILE: as JSON on "
                                                                        "standard output, and nothing else")


def asked(given: argparse.Namespace) -> list[str]:
    """The program's options from ours; those that a command does not have, and those that were not given, are left out."""
    names = {"freq": "--freq", "gain": "--gain", "antenna": "--antenna", "seconds": "--seconds", "transmit_gain": "--transmit-gain",
             "transmit_antenna": "--transmit-antenna", "tone": "--tone", "tone_radio": "--tone-args"}
    found = []
    for name, flag in names.items():
        value = getattr(given, name, None)
        if value not in (None, ""):
            found.append(f"{flag}={value}")
    return found


def ask(places: Places, command: str, radio: str, options: list[str], environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What it found; BadInput: the radio is not there, or refuses what was asked."""
    done = subprocess.run([places.program(PROGRAM), command, f"--args={radio}", *options], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, env=dict(environ or environment(places)))
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()] or [f"radio: ended with {done.returncode}"]
        why = f"{said[-1].removeprefix('radio: ').rstrip()} (--radio {radio or 'not given: the first that is found'})"
        raise BadInput(why) if done.returncode == BAD_INPUT else Stop(why)
    found: dict[str, Any] = json.loads(done.stdout)
    return found
