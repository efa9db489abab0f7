# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip attenuator list|qemu|status|set|play|sweep: the programmable attenuator
(docs/how-to/attenuator.md), on a serial port or in QEMU.

Exit code of play and sweep: 0 if every step was there when it was due, 1 if not, 2 for bad input, 3
if nothing answers."""

import pathlib
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from openwip_schema import attenuator_pb2 as pb

from ..cell.attenuator_tables import (
    MOST_DB,
    NOF_CHANNELS,
    PERIOD_MS,
    SILENCE_MS,
    channel_numbers,
    check_levels,
    limits,
    mean_snr,
    prepare,
    quarters,
)
from ..errors import INVALID, VALID, BadInput, Terminated, not_valid
from ..machine import outputs
from ..machine.places import Places
from ..machine.qemu import Qemu
from ..messages import attenuator as link
from ..settings.command_line import FILE, Parser
from ..settings.kinds import Integer, Real

PORTS = ("/dev/serial/by-id/*", "/dev/ttyACM*", "/dev/ttyUSB*")
OURS = "STLink"  # names in by-id with this text belong to ports that may be sent *IDN?
FIRMWARE = "firmware/arm/netduinoplus2.elf"


def ports() -> list[str]:
    found: dict[pathlib.Path, str] = {}
    for pattern in PORTS:
        for path in sorted(pathlib.Path("/").glob(pattern.lstrip("/"))):
            found.setdefault(path.resolve(), str(path))
    return list(found.values())


def the_port(given: str | None) -> str:
    if given:
        return given
    candidates = [p for p in ports() if OURS in p]
    if len(candidates) != 1:
        raise BadInput(
            f"--port is not given and {len(candidates) or 'no'} boards are found; valid: a serial"
            " port (./openwip attenuator list), or the one that ./openwip attenuator qemu prints"
        )
    return candidates[0]


def sweep_table(start: float, stop: float, step: float) -> bytes:
    for flag, db in (("--from", start), ("--to", stop), ("--step", step)):
        if db % link.STEP_DB:
            raise not_valid(flag, f"{db:g}", f"multiples of {link.STEP_DB} dB")
    low, high, by = (int(db / link.STEP_DB) for db in (start, stop, step))
    return bytes(range(low, high + 1, by) if low <= high else range(low, high - 1, -by))


def as_json(status: pb.Status) -> dict[str, Any]:
    return {
        "state": link.STATES[status.state],
        "steps": status.received,
        "played": status.played,
        "underflows": status.underflows,
        "late": status.late,
        "missed_ticks": status.missed_ticks,
        "damaged_frames": status.damaged,
        "uptime_ms": status.tick,
        "attenuation_db": [q * link.STEP_DB for q in status.levels],
    }


def device_errors(device: link.Attenuator) -> list[list[int | str]]:
    errors = device.errors()
    for code, words in errors:
        print(f"  {code}: {words}")
    return [list(e) for e in errors]


def played(device: link.Attenuator, channels: list[int], table: bytes, given: Namespace) -> int:
    """Plays, and says what came of it."""
    steps = len(table) // len(channels)
    outputs.say(
        given.json,
        f"playing {steps} steps of {given.period} ms on channel {', '.join(map(str, channels))}"
        + (", from the trigger on" if given.external else ""),
    )
    begun = time.monotonic()
    missed_before = device.status().missed_ticks
    try:
        status = device.play(channels, table, given.period, given.external)
    except (KeyboardInterrupt, Terminated):
        device.stop()
        raise
    missed = status.missed_ticks - missed_before
    result = as_json(status) | {
        "nof_steps": steps,
        "took_s": time.monotonic() - begun,
        "missed_ticks": missed,
    }
    good = result["state"] == "ended" and not (status.underflows or status.late or missed)
    outputs.say(
        given.json,
        f"{result['state']}: {status.played} steps in {result['took_s']:.1f} s; not there when due"
        f" {status.underflows}, ticks missed {missed}",
    )
    result["errors"] = device_errors(device)
    outputs.write_json(given.json, result)
    return VALID if good else INVALID


# --- subcommands ---


def do_list(_given: Namespace, _places: Places) -> int:
    for port in ports():
        if OURS not in port:
            print(f"{port}: not asked (no Nucleo board by its name)")
            continue
        try:
            with link.Attenuator(port) as device:
                print(f"{port}: {device.find(1.0)}")
        except (link.NoAnswer, BadInput) as e:  # the error names the port
            print(e)
    if not ports():
        print("no serial ports; ./openwip attenuator qemu runs the firmware without hardware")
    return VALID


def do_qemu(given: Namespace, places: Places) -> int:
    folder = (
        pathlib.Path(given.folder)
        if given.folder
        else pathlib.Path(tempfile.mkdtemp(prefix="openwip-attenuator-"))
    )
    if not folder.is_dir():
        raise not_valid("--folder", folder, "a folder, in which the settings are kept")
    with Qemu(places.build / FIRMWARE, folder) as qemu:
        with link.Attenuator(qemu.port) as device:
            name = device.find()
            qemu.settle(lambda: int(device.status().tick))
        print(f"{name}\n--port {qemu.port}     settings in {folder}; Ctrl-C ends it", flush=True)
        while qemu.process.poll() is None:
            time.sleep(0.2)
    return INVALID


def do_status(given: Namespace, _places: Places) -> int:
    with link.Attenuator(the_port(given.port)) as device:
        name, status = device.find(), device.status()
        result = as_json(status) | {"name": name, "switch": int(device.ask("ROUT:SWIT?"))}
        levels = [float(v) for v in device.ask("INP:ATT:ALL?").split(",")]
        outputs.say(
            given.json,
            f"{name}\n{result['state']}, up {status.tick / 1000:.1f} s, switch {result['switch']},"
            f" steps not there when due {status.underflows}, ticks missed {status.missed_ticks},"
            f" damaged frames {status.damaged}\n"
            + "attenuation "
            + " ".join(f"{v:g}" for v in levels)
            + " dB",
        )
        result["errors"] = device_errors(device)
    outputs.write_json(given.json, result)
    return VALID


def do_set(given: Namespace, _places: Places) -> int:
    lines = []
    for pair in given.series or []:
        channel, _, value = pair.partition("=")
        if value not in ("on", "off"):
            raise not_valid("--series", repr(pair), "CHANNEL=on or CHANNEL=off")
        lines.append(f"INP{channel_numbers('--series', [channel])[0]}:SER {value.upper()}")
    for pair in given.level:
        channel, equals, db = pair.partition("=")
        if not equals:
            raise BadInput(f"{pair!r} is no level; valid: CHANNEL=DB, or all=DB")
        level = quarters(pair, db) * link.STEP_DB
        lines.append(
            f"INP:ATT:ALL {level}"
            if channel == "all"
            else f"INP{channel_numbers(pair, [channel])[0]}:ATT {level}"
        )
    lines += [
        line
        for asked, line in (
            (given.switch, f"ROUT:SWIT {given.switch}"),
            (given.watchdog, f"SYST:WATC:TIM {given.watchdog} MS"),
            (given.save, "*SAV 0"),
        )
        if asked
    ]  # the numbers of channels begin with 1
    if not lines:
        raise BadInput(
            "nothing to set; valid: CHANNEL=DB ..., --switch, --series, --watchdog, --save"
        )
    with link.Attenuator(the_port(given.port)) as device:
        device.find()
        for line in lines:
            device.command(line)
        print(
            "attenuation "
            + " ".join(f"{float(v):g}" for v in device.ask("INP:ATT:ALL?").split(","))
            + " dB"
        )
    return VALID


def do_play(given: Namespace, places: Places) -> int:
    if (given.at_zero is None) != (given.trace.endswith(".csv")):
        raise not_valid(
            f"--at-zero {('is missing' if given.at_zero is None else 'is for SNR traces')}, and"
            " TRACE",
            given.trace,
            "a table FILE.csv, or an SNR trace with --at-zero, the SNR that the link has at 0 dB",
        )
    channels = channel_numbers("--channels", given.channels.split(","))
    snr = None if given.at_zero is None else mean_snr(given.trace, places)
    with link.Attenuator(the_port(given.port)) as device:
        device.find()
        channels, table, clipped = prepare(
            device, given.trace, channels, given.at_zero, given.period, snr
        )
        if given.at_zero is not None:
            outputs.say(
                given.json,
                f"{clipped} of {len(table) // len(channels)} steps are clipped to what the chips"
                " have",
            )
        return played(device, channels, table, given)


def do_sweep(given: Namespace, _places: Places) -> int:
    table = sweep_table(given.start, given.stop, given.step)
    with link.Attenuator(the_port(given.port)) as device:
        device.find()
        check_levels([given.channel], table, limits(device, [given.channel]))
        return played(device, [given.channel], table, given)


def main(arguments: list[str], places: Places) -> int:
    p = Parser(
        "attenuator",
        "Controls the programmable attenuator, an OpenWIP device on a serial port, or its firmware"
        " in QEMU.",
    )
    # argparse gives it a `prog` that begins with the command's.
    of_one: Any = lambda prog, **more: Parser(prog.removeprefix("./openwip "), **more)
    commands = p.add_subparsers(
        dest="what", required=True, metavar="list|qemu|status|set|play|sweep", parser_class=of_one
    )

    def command(name: str, words: str, function: Callable[[Namespace, Places], int]) -> Parser:
        sub: Parser = commands.add_parser(name, help=words, description=words)
        sub.set_defaults(function=function)
        if name not in ("list", "qemu"):
            sub.add_argument(
                "--port",
                metavar="PORT",
                help=(
                    "serial port of the programmable attenuator (default: that of the Nucleo"
                    " board, if there is one)"
                ),
            )
        if name in ("status", "play", "sweep"):
            sub.json("the result of the command", was_a_word=True)
        if name in ("play", "sweep"):
            sub.value(
                "--period",
                Integer(*PERIOD_MS),
                metavar="MS",
                default=1 if name == "play" else 1000,
                help="duration of one step in ms (default %(default)s)",
            )
            sub.add_argument(
                "--external",
                action="store_true",
                help="begin at an edge of the attenuator's trigger input instead of at once",
            )
        return sub

    command("list", "list the serial ports of this computer and the device at each", do_list)
    command(
        "qemu", "run the attenuator's firmware in the emulator QEMU until Ctrl-C", do_qemu
    ).add_argument(
        "--folder",
        metavar="DIR",
        help="folder in which the emulated attenuator keeps its settings (default: a new one)",
    )
    command(
        "status",
        "show the attenuations, the RF switch, the playback and errors of the attenuator",
        do_status,
    )
    sub = command(
        "set",
        "set the attenuation of channels, the RF switch and other settings of the attenuator",
        do_set,
    )
    sub.add_argument(
        "level",
        nargs="*",
        metavar="CHANNEL=DB",
        help="attenuation in dB of a channel, such as 1=20, or of all channels, all=20",
    )
    sub.value("--switch", Integer(1, 4), metavar="N", help="position of the RF switch, 1..4")
    sub.value(
        "--watchdog",
        Integer(*SILENCE_MS),
        metavar="MS",
        help=(
            "time in ms without a message from the host after which the attenuator ends a playback"
            " (100 after a reset)"
        ),
    )
    sub.add_argument(
        "--series",
        metavar="CHANNEL=on|off",
        action="append",
        help=(
            "say that the attenuator chips of CHANNEL and CHANNEL+1 are wired in series (on) or"
            " not (off)"
        ),
    )
    sub.add_argument(
        "--save",
        action="store_true",
        help="store all settings in the attenuator, so that it keeps them after a restart",
    )
    sub = command("play", "play a table or an SNR trace with steps of whole milliseconds", do_play)
    sub.add_argument(
        "trace",
        names=FILE,
        metavar="TRACE",
        help=(
            "table of attenuations FILE.csv, with a line of channels (such as 1,3) and then a line"
            " of levels in dB for each step; or an SNR trace FILE.h5"
        ),
    )
    sub.value(
        "--at-zero",
        Real(-60, 140),
        metavar="DB",
        help="with an SNR trace: SNR of the link in dB when the attenuator is at 0 dB",
    )
    sub.add_argument(
        "--channels",
        metavar="N,...",
        default="1",
        help="with an SNR trace: numbers of the attenuator's channels that play it (default 1)",
    )
    sub = command("sweep", "step the level of one channel from a first to a last value", do_sweep)
    sub.value(
        "--channel",
        Integer(1, NOF_CHANNELS),
        metavar="N",
        default=1,
        help="number of the attenuator's channel (default 1)",
    )
    sub.value(
        "--from",
        Real(0, MOST_DB),
        metavar="DB",
        dest="start",
        default=0.0,
        help="first attenuation of the sweep in dB (default 0)",
    )
    sub.value(
        "--to",
        Real(0, MOST_DB),
        metavar="DB",
        dest="stop",
        default=31.75,
        help="last attenuation of the sweep in dB (default 31.75)",
    )
    sub.value(
        "--step",
        Real(link.STEP_DB, MOST_DB),
        metavar="DB",
        default=1.0,
        help="difference in dB between two attenuations of the sweep (default 1)",
    )
    given = p.parse_args(arguments)
    outputs.check_given("--json", getattr(given, "json", None), getattr(given, "trace", None))
    return int(given.function(given, places))
