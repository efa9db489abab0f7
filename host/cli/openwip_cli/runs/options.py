# SPDX-License-Identifier: GPL-3.0-or-later
"""The command lines of the runs: a scenario, and what happens around it."""

import argparse
import dataclasses
import re
from typing import Any

from ..cell import outside, remote
from ..errors import BadInput, not_valid
from ..iq import recordings
from ..machine import outputs, placement, rights
from ..machine.places import Places
from ..settings import emulator, episodes, inputs
from ..settings.command_line import (
    FILE,
    FOLDER,
    OUTPUT,
    RECORDING,
    Parser,
    check_cell_name,
    help_of_setting,
    placeholder,
    read,
    remember_kind,
)
from ..settings.kinds import Real
from ..settings.scenario import SETTINGS, Scenario, check_together, read_file, text_of
from ..settings.table import Setting
from . import loop, ns3_tcp

# --time: the wall's, or none, with the TCP of a Linux kernel of its own (runs/virtual.py) or of
# ns-3
CLOCKS = ("real", "virtual", "ns3")


@dataclasses.dataclass
class Options:
    """A scenario, and what happens around it."""

    scenario: Scenario
    json: str | None = None
    keep: bool = False
    logs: str | None = None
    name: str = "demo"
    # placement.parse(); None: wherever this process is
    cores: placement.Placement | list[int] | str | None = "auto"
    record: str | None = None
    capture: str | None = None
    monitor: bool = False
    # station -> FILE without ending
    record_iq: dict[str, str] = dataclasses.field(default_factory=dict)
    record_iq_seconds: float = 0
    listen: "remote.Listen | None" = None  # remote.check_listen()
    outside: "outside.Outside" = dataclasses.field(default_factory=outside.Outside)
    replay_iq: str | None = None  # FILE in the place of the radio
    pace_found: float | None = None  # found by --speed auto, if a trial was needed
    loop_found: dict[str, Any] | None = None  # found by --loop auto (runs/loop.py)
    # files that are read, and so not to be written
    inputs: list[str] = dataclasses.field(default_factory=list)
    generator: bool = False  # emulate only: virtual time, without a cell
    time: str = CLOCKS[0]  # emulate only: one of CLOCKS
    # Sysctls of the kernel in virtual time.
    sysctl: dict[str, str] = dataclasses.field(default_factory=dict)
    tcp: dict[str, str] = dataclasses.field(default_factory=dict)  # settings of the TCP of ns-3


def settings_parser(
    command: str, description: str, settings: list[Setting], name: str, one_cell: bool = True
) -> Parser:
    """A parser with an option for each setting, and the options that all runs have. `one_cell`:
    those for the cores of a cell and for what is left after it, too."""
    p = Parser(command, description, usage=f"./openwip {command} [OPTIONS]")
    p.flags |= {s.key: s.flag for s in settings if s.flag}
    rooms: dict[str, Any] = {"": p}  # headings of the help, as of docs/reference/settings.md
    for s in settings:
        if s.flag is None:
            continue
        if (room := s.key.rpartition(".")[0]) not in rooms:
            rooms[room] = p.add_argument_group(room)
        default = text_of(s.default)
        text = help_of_setting(s.help, s.kind, s.unit, default)
        remember_kind(
            rooms[room].add_argument(
                s.flag,
                dest=s.key,
                metavar=placeholder(s.flag, s.kind, s.unit),
                default=None,
                help=text.replace("%", "%%"),
            ),
            s.kind,
        )
    p.add_argument(
        "--config",
        names=FILE,
        metavar="FILE",
        help=(
            "scenario file (YAML) with settings of the run; an option replaces a setting of the"
            " file"
        ),
    )
    p.json("the whole report of the run", was_a_word=True)
    if one_cell:
        p.add_argument(
            "--cores",
            metavar="CORES",
            default="auto",
            help=(
                "processor cores on which the processes run that must finish within each slot:"
                " auto, none (left to the kernel), or numbers such as 1 or 2,3 (default auto)"
            ),
        )
        p.add_argument(
            "--keep",
            action="store_true",
            help=(
                "leave the base station and the terminal running when the command ends; ./openwip"
                " down ends them"
            ),
        )
        p.add_argument(
            "--logs",
            metavar="DIR",
            help=(
                "copy the configuration files and logs of all processes into this folder at the"
                " end of the run"
            ),
        )
    p.add_argument(
        "--name",
        type=check_cell_name,
        default=name,
        help=(
            "name of the cell, by which other commands find it (several cells can run at once;"
            f" default {name})"
        ),
    )
    return p


def options_parser(
    command: str,
    description: str,
    settings: list[Setting],
    name: str,
    captured: str = (
        "capture the IP packets and link frames of the run in a pcapng file, for Wireshark"
    ),
) -> Parser:
    p = settings_parser(command, description, settings, name)
    p.add_argument(
        "--record",
        names=OUTPUT,
        metavar="FILE",
        help=(
            "record what the processes of the run publish (their telemetry, without the contents"
            " of frames and packets) in an HDF5 file, which ./openwip report FILE shows"
        ),
    )
    p.add_argument("--capture", names=OUTPUT, metavar="FILE", help=captured)
    p.add_argument(
        "--listen",
        metavar="tcp://ADDR:PORT",
        help=(
            "let other computers watch and control the cell at this address, on PORT and the ports"
            " after it; needs --keys"
        ),
    )
    p.add_argument(
        "--keys",
        names=FOLDER,
        metavar="DIR",
        help="folder with the encryption keys that ./openwip keys has made, for --listen",
    )
    outside.add_options(p)
    p.add_argument(
        "--monitor",
        action="store_true",
        help="open a window that shows the running cell, as ./openwip monitor does",
    )
    return p


def scenario_of(
    given: argparse.Namespace,
    settings: list[Setting],
    fixed: dict[str, Any] | None = None,
    file: dict[str, Any] | None = None,
) -> Scenario:
    """Makes the scenario from parsed arguments: file under flags. `fixed`: settings of the command,
    under both; `file`: where it has been read."""
    values = (
        dict(file)
        if file is not None
        else read_file(given.config, settings)
        if given.config
        else {}
    )
    for s in settings:
        if s.flag is not None and (text := getattr(given, s.key)) is not None:
            values[s.key] = read(s.flag, s.kind, text)
    loop.refuse_beside(values)
    return Scenario((fixed or {}) | values, settings)


OUTPUTS = ("json", "record", "capture")


def options_of(
    given: argparse.Namespace, settings: list[Setting], files: list[str] | None = None
) -> "Options":
    """The options of a run, all checked: values of a file, which options of the command line
    replace. `files`: other files that were read for them."""
    outputs.apart(given, "config", *OUTPUTS)
    scenario = check_together(scenario_of(given, settings))
    inputs = [*(files or ()), *scenario.files, *([given.config] if given.config else [])]
    outputs.apart(given, *OUTPUTS, inputs=inputs)
    model = scenario["channel.model"]
    for key, unused, with_ in (
        (
            "speed_kmh",
            scenario.speed_kmh is None and scenario.values.get("link.kind") != "wlan",
            "a channel that moves",
        ),
        ("bins_db", model != "static", "--channel static"),
    ):
        if unused and getattr(given, f"channel.{key}", None) is not None:
            raise BadInput(
                f"--{key.replace('_', '-')} is given with --channel {model}; valid: with {with_}"
            )
    return Options(
        scenario,
        given.json,
        given.keep,
        given.logs,
        given.name,
        placement.parse(given.cores),
        given.record,
        given.capture,
        given.monitor,
        listen=remote.check_listen(given.listen, given.keys),
        inputs=inputs,
        outside=outside_of(given, scenario),
    )


def outside_of(
    given: argparse.Namespace,
    scenario: Scenario,
    stations: tuple[str, ...] = outside.STATIONS,
) -> outside.Outside:
    wanted = outside.read(given, stations)
    terminals = scenario.values.get("terminals", 1)
    if "terminal" in wanted.attached and terminals > 1:
        raise BadInput(
            f"--terminals is {terminals} with --attach terminal={wanted.attached['terminal']}, but"
            " packets find one of several terminals by its own address; valid: 1 terminal with it"
        )
    if scenario.values.get("split_tcp.ports", "off") != "off":
        for flag, asked in (
            ("--gateway and --attach", wanted.asked),
            ("--ipv6", scenario["network.ipv6"] == "on"),
        ):
            if asked:
                raise BadInput(
                    f"{flag} is given with --split-tcp, whose proxy handles IPv4 within the"
                    " cell only; valid: without --split-tcp"
                )
    return wanted


BESIDE_REPLAY = (
    "--speed",
    "--monitor",
    "--record",
    "--capture",
    "--json",
    "--logs",
    "--name",
    "--cores",
)


def refuse_beside_replay(parser: Parser, given: argparse.Namespace) -> None:
    """Everything else has been decided when the samples were recorded."""
    for flag in parser.named_options(given):
        if flag not in (*BESIDE_REPLAY, "--replay-iq"):
            raise BadInput(
                f"{flag} is given with --replay-iq, which plays a recording as it is; valid"
                " with it:"
                f" {', '.join(BESIDE_REPLAY)}"
            )


def parse_demo(arguments: list[str]) -> Options:
    parser = options_parser(
        "demo",
        "Runs a base station and a terminal over software radios (USRPs) on this computer, measures"
        " ping, TCP and UDP between them, and says whether the run was valid.",
        SETTINGS,
        "demo",
    )
    parser.add_argument(
        "--record-iq",
        names=OUTPUT,
        metavar="FILE",
        help=(
            "record the IQ samples that the terminal receives, from the first one on, as SigMF:"
            " FILE.sigmf-data, FILE.sigmf-meta (61 MB/s)"
        ),
    )
    parser.add_argument(
        "--record-iq-base",
        names=OUTPUT,
        metavar="FILE",
        help=(
            "record the IQ samples that the base station transmits, from the first one on, as"
            " SigMF:"
            " FILE.sigmf-data, FILE.sigmf-meta"
        ),
    )
    parser.add_argument(
        "--record-iq-fader",
        names=OUTPUT,
        metavar="FILE",
        help=(
            "with --air cabled: record the IQ samples that the fader (channel emulator) receives"
            " and sends as SigMF, FILE-base-input and FILE-terminal-output"
        ),
    )
    parser.add_argument(
        "--record-iq-seconds",
        metavar="SECONDS",
        default="10",
        help="length of the recordings of --record-iq, --record-iq-base and --record-iq-fader in"
        " time of the samples; 0.01..3600 s (default 10)",
    )
    parser.add_argument(
        "--replay-iq",
        names=RECORDING,
        metavar="FILE",
        help=(
            "give the terminal's receiver a SigMF recording of --record-iq instead of a radio's"
            " samples: there is no base station, no traffic is measured, and the receiver's"
            " decisions are compared with the recorded ones"
        ),
    )
    given = parser.parse_args(arguments)
    if given.replay_iq is not None:
        refuse_beside_replay(parser, given)
    options = options_of(given, SETTINGS)
    options.replay_iq = given.replay_iq
    wanted = {
        "terminal": given.record_iq,
        "base": given.record_iq_base,
        "fader": given.record_iq_fader,
    }
    if given.record_iq_fader and not options.scenario.cabled:
        raise not_valid(
            "--record-iq-fader",
            repr(given.record_iq_fader),
            "with --air cabled",
            more=" without a fader",
        )
    code = inputs.names_of(options.scenario.values, inputs.that_name_code(SETTINGS))
    if given.record_iq and "phy.predictor" in code:
        raise not_valid(
            "--record-iq",
            repr(given.record_iq),
            "with a built-in predictor, because a replay does not start code that a recording"
            " names",
            more=" with a predictor of your own",
        )
    if any(wanted.values()):
        seconds = read("--record-iq-seconds", Real(0.01, 3600), given.record_iq_seconds)
        options.record_iq_seconds = seconds
        options.record_iq = {
            station: recordings.check_place(path, seconds, flag)
            for flag, (station, path) in zip(
                ("--record-iq", "--record-iq-base", "--record-iq-fader"), wanted.items()
            )
            if path
        }
        if len(set(options.record_iq.values())) < len(options.record_iq):
            raise not_valid(
                "--record-iq-base",
                repr(given.record_iq_base),
                "another file",
                more=", the same as --record-iq",
            )
        outputs.apart(
            given,
            *OUTPUTS,
            inputs=[
                base + ending
                for base in options.record_iq.values()
                for ending in recordings.ENDINGS
            ],
        )
    return options


AROUND_A_CELL = (
    *("--keep", "--listen", "--monitor", "--logs", "--cores", "--name"),
    *("--gateway", "--attach", "--between", "--ipv6", "--mtu"),
)
OF_PACKETS = ("--capture", "--record")


def parse_emulate(arguments: list[str]) -> Options:
    parser = options_parser(
        "emulate",
        "Emulates a link between two network namespaces without radio samples (an OFDM downlink by"
        " one SNR for each frequency bin and slot, or another link), measures TCP over it, and"
        " says whether the run was valid.",
        emulator.SETTINGS,
        emulator.NAME,
        "capture the IP packets and link frames of the run in a pcapng file, for Wireshark; with"
        " --time virtual or ns3 IP"
        " packets alone (pcap)",
    )
    parser.add_argument(
        "--generator",
        action="store_true",
        help=(
            "run the link alone as fast as the machine can, with packets of its own that keep the"
            " queues full, without network interfaces and TCP"
        ),
    )
    parser.add_argument(
        "--time",
        choices=CLOCKS,
        default="real",
        help=(
            "how time passes and whose TCP runs: real (the clock and the kernel of this"
            " machine), virtual (a Linux kernel of its own) or ns3 (the TCP of ns-3);"
            " virtual and ns3 run as fast as the machine can, need no root, and make the"
            " same packets from the same seed (docs/explanation/virtual-time.md,"
            " docs/explanation/ns3.md; default real)"
        ),
    )
    parser.add_argument(
        "--between",
        nargs=2,
        metavar="INTERFACE",
        help="make the emulator a router between two interfaces of this computer, as --attach"
        " base=if:IF1 --attach terminal=if:IF2 does",
    )
    parser.add_argument(
        "--sysctl",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help=(
            "with --time virtual: sysctl to be set in its Linux kernel, such as"
            " net.ipv4.tcp_sack=0; repeatable"
        ),
    )
    parser.add_argument(
        "--tcp",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help=(
            "with --time ns3: setting of the TCP of ns-3, such as sender=eifel or min_rto_ms=20"
            " (docs/explanation/ns3.md); repeatable"
        ),
    )
    given = parser.parse_args(arguments)
    if given.generator and given.time != "real":
        raise BadInput(
            f"--generator is given with --time {given.time}, but the generator makes packets"
            " without TCP;"
            " valid: one of the two"
        )
    if given.generator or given.time != "real":
        beside, named = (
            ("--generator", ()) if given.generator else (f"--time {given.time}", OF_PACKETS)
        )
        for flag in parser.named_options(given):
            if flag in {*AROUND_A_CELL, *OF_PACKETS}.difference(named):
                raise BadInput(
                    f"{flag} is given with {beside}, which starts no cell of processes; valid:"
                    f" {', '.join(('--json', *named))}"
                )
        if given.pacing_limit_ms is not None:
            raise BadInput(
                f"--pacing-limit-ms is given with {beside}, which does not follow the wall"
                " clock; valid:"
                " with"
                " --time real"
            )
    for flag, words, clock in (("--sysctl", given.sysctl, "virtual"), ("--tcp", given.tcp, "ns3")):
        if words and given.time != clock:
            raise BadInput(
                f"{flag} {words[0]} is given with --time {given.time}, whose TCP has no such"
                " setting;"
                " valid: --time"
                f" {clock}"
            )
    options = options_of(given, emulator.SETTINGS, episodes.take_files(given, emulator.NAME))
    kind, split = options.scenario["link.kind"], options.scenario["split_tcp.ports"] != "off"
    for s in emulator.SETTINGS:
        if s.flag and getattr(given, s.key) is not None:
            if emulator.of_another_link(s.key, kind):
                raise BadInput(
                    f"{s.flag} is given with --link {kind}; valid: with --link"
                    f" {emulator.OF_LINKS[s.key.partition('.')[0]]}"
                )
            if s.key.startswith("cells.") and "cells" not in (
                options.scenario["umts.error_model"],
                options.scenario["umts.up_error_model"],
            ):
                raise BadInput(
                    f"{s.flag} is given, but no block errors come from the cells; valid: with"
                    " --error-model cells or --up-error-model cells"
                )
            if s.key.startswith("wired.") and kind == "umts" and not split:
                raise BadInput(
                    f"{s.flag} is given with --link umts without --split-tcp, so there is no wired"
                    " network; valid: with --split-tcp, or with another --link"
                )
            if s.key.startswith("wired.") and kind in ("hetnet", "trace"):
                raise BadInput(
                    f"{s.flag} is given with --link {kind}, where no wired network is between server"
                    " and link; valid: with another --link"
                )
    if given.generator or given.time != "real":
        without = "--generator" if given.generator else f"--time {given.time}"
        for key, plain in (("network.ipv6", "off"), ("network.mtu", 1500)):
            if (asked := options.scenario[key]) != plain:
                raise not_valid(
                    key, asked, plain, more=f" with {without}, where the cell has no interfaces"
                )
    options.generator, options.time = given.generator, given.time
    options.tcp = ns3_tcp.read(given.tcp)
    for setting in given.sysctl:
        name, equal, value = setting.partition("=")
        if (
            not re.fullmatch(r"net[./][\w./-]+", name)
            or not equal
            or not re.fullmatch(r"[\w. -]+", value)
        ):
            raise not_valid(
                "--sysctl", repr(setting), "NAME=VALUE of net, such as net.ipv4.tcp_sack=0"
            )
        options.sysctl[name.replace(".", "/")] = value
    return options


def check_demo(arguments: list[str], _places: Places) -> None:
    check_rights(parse_demo(arguments))


def check_emulate(arguments: list[str], _places: Places) -> None:
    check_rights(parse_emulate(arguments))


def check_rights(options: Options) -> None:
    """A cell in real time has interfaces."""
    if not options.generator and options.time == CLOCKS[0]:
        rights.require_for_a_cell()
