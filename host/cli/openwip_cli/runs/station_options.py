# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of ./openwip station."""

import argparse
import dataclasses
from collections.abc import Callable
from typing import Any

from ..cell import outside, station
from ..cell.radio_loop import BETWEEN_SLOTS
from ..errors import BadInput, not_valid
from ..machine import outputs, placement
from ..machine.places import Places
from ..settings import radios, table
from ..settings import scenario as scenarios
from ..settings.command_line import FOLDER, Parser
from ..settings.kinds import Integer, Real
from ..settings.scenario import SETTINGS
from ..settings.table import Setting
from . import loop
from .options import Options, check_rights, outside_of, scenario_of, settings_parser

# The delay in samples of the fader at a control endpoint, which is asked with these keys.
AskDelay = Callable[[str, str | None], int]
CARRIER = table.setting("fader.frequency_hz", "fader")
SOURCES = tuple(table.column("nodes.*.clock_source", "choices", ("fader",)))
# Settings of the demo that a station has; those of one role are given at that station alone.
DELAY = "fader.delay_samples"
OF_BOTH = ("link.", "network.", "air.over", DELAY, "attenuator.", "seed")
OF_ROLE = {
    "base": (*OF_BOTH, "radio.edge_samples", "wired."),
    "terminal": (*OF_BOTH, "phy.", "uplink."),
}


@dataclasses.dataclass
class Station:
    role: str
    radio: station.Radio
    peer: station.Peer
    fader: str | None  # control endpoint
    duration_s: float | None
    unused: list[str]  # keys of the scenario file that only a demo has a use for


def settings_of(role: str) -> list[Setting]:
    return [s for s in SETTINGS if s.key.startswith(OF_ROLE[role])]


def scenario(
    role: str, given: argparse.Namespace, ask: AskDelay | None, find: radios.Find
) -> tuple[scenarios.Scenario, list[str]]:
    """The scenario of this station, and the keys of the scenario file that it has no use for. A
    file for a demo serves as well: settings of the other station, the clock and the medium are left
    out; the channel is taken where the base station's flowgraph makes the fading."""
    file = scenarios.read_file(given.config) if given.config else {}
    faded = role == "base" and file.get("air.fade") == "transmitter"
    station_settings = settings_of(role) + [
        s for s in SETTINGS if faded and (s.key == "air.fade" or s.key.startswith("channel."))
    ]
    keys = {s.key for s in station_settings}
    if role == "terminal" and file.get("link.loop") == loop.AUTO:
        keys.remove("link.loop")  # the base station measures the loop
    # the attenuator in the file belongs to the other station
    if getattr(given, "attenuator.port") == scenarios.NONE:
        keys -= {k for k in keys if k.startswith("attenuator.")}
    values = {k: v for k, v in file.items() if k in keys} | {"air.over": over(file, given)}
    values |= reported_by_fader(given, values, ask)
    fader_slots = scenario_of(given, settings_of(role), file=values).fader_slots
    # The base station sets the delays of the loop, and only its own computer knows its radio.
    knows_radio = role == "base" and given.radio is not None
    defaults = radios.defaults_for(given.radio, find) if knows_radio else None
    made = scenario_of(
        given,
        settings_of(role),
        {"air.clock": "realtime", "air.speed": 1.0}
        | scenarios.by_clock("realtime", BETWEEN_SLOTS + fader_slots, defaults),
        values,
    )
    whole = scenarios.Scenario(made.values, station_settings)
    scenarios.check_attenuator(whole)
    scenarios.check_rules(whole)
    scenarios.check_free_running(whole)
    if role == "terminal" and whole["link.loop"] == loop.AUTO:
        raise BadInput(
            "--loop is 'auto' at a terminal, which takes the loop from the base station; valid:"
            " as_set, or at the base station"
        )
    return whole, sorted(k for k in file if k not in keys)


def over(file: dict[str, Any], given: argparse.Namespace) -> str:
    """The path between the stations: cabled, with a fader, or radio. A scenario file that says
    `medium` is for a demo and means radio here."""
    if getattr(given, "air.over") == "medium":
        raise BadInput("--air is 'medium' at a station, which uses a radio; valid: radio, cabled")
    return "cabled" if file.get("air.over") == "cabled" else "radio"


def reported_by_fader(
    given: argparse.Namespace, values: dict[str, Any], ask: AskDelay | None
) -> dict[str, Any]:
    """The delay that the fader named by --fader reports, if neither options nor scenario file say
    it. Without `ask` nobody can be asked yet, and the smallest possible delay serves: an error of
    the options that it shows would be one with any other delay, too."""
    asked = getattr(given, "air.over") or values["air.over"]
    if not given.fader or asked != "cabled" or getattr(given, DELAY) is not None or DELAY in values:
        return {}
    kind = next(s for s in SETTINGS if s.key == DELAY).kind
    assert isinstance(kind, Integer)
    return {DELAY: ask(given.fader, given.keys) if ask else kind.low}


def nothing_found(_arguments: str) -> list[dict[str, str]]:
    return []


def parse(
    arguments: list[str], ask: AskDelay | None = None, find: radios.Find = nothing_found
) -> tuple[Station, Options]:
    """`ask`: the delay of the fader at an endpoint, in samples; None: before anything is built.
    `find`: the devices that fit to arguments."""
    role = arguments[0] if arguments else ""
    if role in ("-h", "--help"):
        arguments, role = ["--help"], "base"
    elif role not in OF_ROLE:
        raise not_valid(
            "the role of station",
            role or "missing",
            "./openwip station base|terminal --radio ARGS --peer HOST (station base --help)",
        )
    p = settings_parser(
        f"station {role}",
        "Runs one side of a cell, the base station or the terminal, with a radio of this computer;"
        " the other side runs on another computer.",
        settings_of(role),
        "demo",
    )
    add_options(p, role)
    outside.add_options(p, (role,))
    given = p.parse_args(arguments[1:] if arguments[:1] == [role] else arguments)
    outputs.apart(given, "config", "json")
    chosen, unused = scenario(role, given, ask, find)
    outputs.apart(given, "json", inputs=chosen.files)
    if given.radio is None or given.peer is None:
        raise BadInput(
            f"station {role}: {'--radio' if given.radio is None else '--peer'} is missing; valid:"
            " --radio ARGS (uhd_find_devices lists them) and --peer HOST, the other computer"
        )
    if given.fader and not chosen.cabled:
        raise not_valid("--fader", repr(given.fader), "with --air cabled", more=" without a fader")
    power = getattr(given, "power", None)
    gain = given.transmit_gain if role == "base" else given.receive_gain
    if power is not None and gain is not None:
        raise not_valid(
            "--power",
            f"{power:g}",
            "one of the two, --power where the radio is calibrated",
            more=f" with --transmit-gain {gain:g}",
        )
    radio = station.Radio(
        given.radio,
        given.freq,
        gain or 0.0,
        given.antenna,
        given.clock_source,
        given.time_source,
        power,
    )
    return (
        Station(
            role,
            radio,
            station.peer(role, given.peer, given.keys),
            given.fader,
            given.duration,
            unused,
        ),
        Options(
            chosen,
            given.json,
            given.keep,
            given.logs,
            given.name,
            placement.parse(given.cores),
            outside=outside_of(given, chosen, (role,)),
        ),
    )


def add_options(p: Parser, role: str) -> None:
    p.add_argument(
        "--radio",
        metavar="ARGS",
        help="UHD device arguments, such as type=b200 or addr=192.168.10.2",
    )
    p.add_argument(
        "--peer",
        metavar="HOST[:PORT]",
        help=(
            f"address of the other computer (TCP, port {station.PORT} by default; the base"
            " station listens)"
        ),
    )
    p.add_argument(
        "--keys",
        names=FOLDER,
        metavar="DIR",
        help=(
            "folder with the keys that ./openwip keys has made, by which the two stations"
            " authenticate each other"
        ),
    )
    p.value(
        "--freq",
        CARRIER.kind,
        metavar="HZ",
        default=CARRIER.default,
        help="carrier frequency of the downlink in Hz (default 1.8e9)",
    )
    side = "transmit" if role == "base" else "receive"
    p.value(
        f"--{side}-gain",
        Real(-100, 200),
        metavar="DB",
        default=None,
        help=f"{side} gain of the radio in dB (default 0)",
    )
    if role == "base":
        p.value(
            "--power",
            Real(-200, 100),
            metavar="DBM",
            default=None,
            help=(
                "transmit power in dBm with all frequency bins in use, by the calibration that is"
                " stored for the radio (uhd_power_cal.py), instead of --transmit-gain"
            ),
        )
    p.add_argument(
        "--antenna",
        metavar="PORT",
        default="",
        help="antenna port of the radio (default: the device's own choice)",
    )
    for what in ("clock", "time"):
        p.add_argument(
            f"--{what}-source",
            choices=SOURCES,
            default="internal",
            help={
                "clock": "source of the radio's reference clock",
                "time": "source of the radio's time pulse, 1 PPS",
            }[what]
            + " (default internal)",
        )
    p.add_argument(
        "--fader",
        metavar="ENDPOINT",
        help=(
            "with --air cabled: endpoint of the running fader, the channel emulator (its"
            " air.control,"
            " or its --listen on another computer), so that the run can compare the measured with"
            " the applied channel; without it ./openwip fader compare does so afterwards"
        ),
    )
    p.value(
        "--duration",
        Real(1, 1e7),
        metavar="S",
        default=None,
        help="end after this many seconds (default: at Ctrl-C)",
    )


def check(arguments: list[str], _places: Places) -> None:
    check_rights(parse(arguments)[1])
