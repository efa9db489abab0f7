# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip fader CONFIG: the channel between radios on cables, and its recordings; ./openwip fader
calibrate CONFIG: what its radios do beside the channel (docs/how-to/cabled.md). Calibration: exit
code 0: nothing is wrong, 1: something is, 2: bad input, or a radio that is not there."""

import argparse
import contextlib
import datetime
import json
import math
import os
import pathlib
import signal
import subprocess
from collections.abc import Iterable, Iterator
from typing import Any

from openwip_schema import receiver_pb2

from ..air import SAMPLE_RATE
from ..cell import faders, radio_loop, remote
from ..errors import BAD_INPUT, INVALID, VALID, BadInput, not_valid, of_program
from ..figures import checks, fading, report, through_radios
from ..figures.facts import Facts
from ..iq import fader_recordings, recordings
from ..machine import outputs, system
from ..machine.places import Places, operand
from ..settings.command_line import FILE, FOLDER, OUTPUT, Named, Parser
from ..settings.kinds import Real
from ..settings.scenario import read_yaml
from ..shapes import AirStatus, Burst, ThroughRadios
from ..text import of_json, of_yaml
from .finding import Finding, as_json, evaluated, show

PROGRAM = "host/cabled/wip_fader"
MOST_BEND_DB = 0.1  # deviation of the gain over its three levels
LEAST_IMAGE_DB = 25  # docs/results/radios.md: costs 256-QAM about 1 dB


def parser(command: str, description: str) -> Parser:
    p = Parser(command, description)
    p.add_argument(
        "config",
        names=FILE,
        metavar="CONFIG",
        help=(
            "YAML file of the fader (channel emulator): its nodes with their radios, and the paths"
            " between them"
        ),
    )
    p.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help=(
            "setting that replaces that of the YAML file, such as fader.delay_samples=10240;"
            " repeatable"
        ),
    )
    return p


def start(given: argparse.Namespace, places: Places, *more: str) -> list[str]:
    return [
        str(places.program(PROGRAM)),
        "--config",
        operand(given.config),
        *(f"--set={assignment}" for assignment in given.set),
        *more,
    ]


def until_it_ends(command: list[str]) -> int:
    child = subprocess.Popen(command, preexec_fn=system.follower())
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda signum, _frame: child.send_signal(signum))
    return child.wait()


def air_of(config: str, assignments: Iterable[str] = ()) -> dict[str, Any]:
    """The section `air` of the fader's configuration file, with the changes of --set."""
    tree = read_yaml("fader's file", config)
    side = tree.get("air") if isinstance(tree, dict) else None
    reported = (a.partition("=") for a in assignments)
    return (side if isinstance(side, dict) else {}) | {
        key.removeprefix("air."): value for key, _, value in reported if key.startswith("air.")
    }


@contextlib.contextmanager
def reachable(given: argparse.Namespace, places: Places) -> Iterator[None]:
    """Makes the fader reachable from other computers, with keys. A process of its own forwards;
    like the fader, it gives up root's rights."""
    listen = remote.check_listen(given.listen, given.keys)
    if listen is None:
        yield
        return
    air, keys = air_of(given.config, given.set), listen[2]
    inside = air.get("control")
    if os.geteuid() == 0 and not air.get("user"):
        given.set.append(f"air.user={system.account()[0]}")
    if not isinstance(inside, str) or not inside.startswith("ipc://"):
        raise BadInput(
            f"--listen {given.listen}: {given.config} has air.control = {inside!r}; valid:"
            " air.control = ipc://PATH, to which --listen leads"
        )
    with subprocess.Popen(
        [*places.module("forward", inside, given.listen, keys.folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    ) as forwarder:
        assert forwarder.stdout
        try:
            if forwarder.stdout.readline() != b"ready\n":
                raise BadInput(
                    f"--listen {given.listen}: it cannot listen there; valid: an address of this"
                    " computer, a free port"
                )
            yield
        finally:
            forwarder.terminate()


# --- recordings ---


def run_recording(given: argparse.Namespace, places: Places) -> int:
    """Runs the fader until its recordings are complete; then writes their metadata."""
    seconds = given.seconds or 2.0
    base = str(recordings.check_place(given.record, seconds, "--record"))
    try:
        sides = fader_recordings.used_sides(given.config)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        sides = []  # the program reports what is wrong
    for node, side in sides:
        recordings.remove_former(f"{base}-{node}-{side}", recordings.META)
    code = until_it_ends(
        start(given, places, f"--set=fader.record={base}", f"--set=fader.record_s={seconds}")
    )
    if code == BAD_INPUT:
        return code
    lost = 0
    for node, side in sides:
        made = fader_recordings.complete(base, node, side, given.config, places)
        lost += made.whole["openwip:samples_lost"]
        print(
            f"{made.data_path}: {made.samples} samples ({made.samples / SAMPLE_RATE:.3f} s), "
            f"{made.whole['openwip:samples_lost']} lost"
            + (f"; {made.whole['openwip:error']}" if "openwip:error" in made.whole else "")
        )
    return code or (INVALID if lost else VALID)


# --- calibration ---


def findings_of(path: dict[str, Any]) -> Iterator[Finding]:
    name = f"{path['from']} to {path['to']}"
    if not path["heard"]:
        yield Finding(
            name,
            f"the transmitter at {path['to']} is not heard by the receiver at {path['from']}",
            "no calibration",
            "a cable with its attenuator from the one to the other; transmit_gain_db of"
            f" {path['to']}, receive_gain_db of {path['from']}",
        )
        return
    delays = path["delays"]
    spread = max(delays) - min(delays)
    says = (
        f"{min(delays)} samples in each of {len(delays)} starts"
        if spread == 0
        else f"{min(delays)} to {max(delays)} samples in {len(delays)} starts"
    )
    yield evaluated(
        f"delay, {name}",
        says,
        spread == 0,
        "the fader's delay is not what it says",
        "a common clock and time of both radios (clock_source, time_source)",
    )
    gains = [g["gain_db"] for g in path["gain_db"]]
    says = ", ".join(f"{g['gain_db']:.2f} dB at {g['sent_dbfs']:g} dBFS" for g in path["gain_db"])
    yield evaluated(
        f"gain, {name}",
        says,
        max(gains) - min(gains) <= MOST_BEND_DB,
        "not linear: the level changes the channel",
        "less gain, or a larger attenuator",
    )
    yield Finding(f"noise, {name}", f"{path['noise_dbfs']:.1f} dBFS in 7.68 MHz")
    yield Finding(
        f"DC offset, {name}",
        f"{path['dc_dbfs']:.1f} dBFS, {path['dc_sending_dbfs']:.1f} while a tone is sent",
    )
    at_least = "at least " if path["image_at_least"] else ""
    yield evaluated(
        f"image, {name}",
        f"{at_least}{path['image_db']:.1f} dB below a tone",
        path["image_db"] >= LEAST_IMAGE_DB,
        "more than 1 dB at 256-QAM",
        "calibrate the radios (./openwip radio probe says how)",
    )


def calibrate(arguments: list[str], places: Places) -> int:
    p = parser(
        "fader calibrate",
        "Measures what the radios of a fader (channel emulator) add to the channel: delay, gain,"
        " noise, DC offset and image. THIS TRANSMITS. In the place of the stations, a cable with"
        " an attenuator of 30 dB or more"
        " leads from each path's end to its beginning.",
    )
    p.add_argument(
        "-o",
        "--out",
        names=OUTPUT,
        metavar="FILE",
        default="calibration.json",
        help=(
            "file for the result of the calibration, with date and devices (default"
            " calibration.json)"
        ),
    )
    given = p.parse_args(arguments)
    outputs.check_given("--out", given.out, given.config)
    done = subprocess.run(
        start(given, places, "--calibrate"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=radio_loop.environment(places),
    )
    if done.returncode != 0:
        raise of_program("wip_fader", done.returncode, done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    nodes = of_yaml(pathlib.Path(given.config).read_text(encoding="utf-8"))["nodes"]
    findings = [f for path in found["paths"] for f in findings_of(path)]
    show(findings)
    outputs.write_json(
        given.out,
        {
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "devices": {
                node: asked | {"found": found["devices"][node]} for node, asked in nodes.items()
            },
            "paths": found["paths"],
            "findings": as_json(findings),
        },
    )
    return VALID if all(f.ok for f in findings) else INVALID


# --- the channel that a distant terminal heard ---


def bursts_of(file: str) -> list[Burst]:
    """Reads a terminal's report."""
    try:
        reported = of_json(pathlib.Path(file).read_text(encoding="utf-8"))["bursts_heard"]
        bursts = [
            receiver_pb2.Burst(**{name: b[name] for name in ("centre", "noise", "response")})
            for b in reported
        ]
    except OSError as e:
        raise BadInput(f"{file}: {e.strerror}") from None
    except (ValueError, LookupError, TypeError):
        raise BadInput(
            f"{file} holds no sounding bursts that a terminal has received; valid: --json=FILE of"
            " ./openwip station terminal"
            " --air cabled"
        ) from None
    for number, b in enumerate(bursts):
        if (
            len(b.response) != 2 * through_radios.VALUES
            or not all(map(math.isfinite, b.response))
            or not any(b.response)
        ):
            raise BadInput(
                f"{file}: bursts_heard[{number}].response has {len(b.response)} numbers; valid:"
                f" {2 * through_radios.VALUES}, finite, not all zero"
            )
        if not math.isfinite(b.noise) or b.noise < 0:
            raise not_valid(f"{file}: bursts_heard[{number}].noise", f"{b.noise:g}", "0 and more")
    return bursts


def compare(arguments: list[str], _places: Places) -> int:
    p = Parser(
        "fader compare",
        "Compares the channel that a terminal on another computer has measured with the one that a"
        " running fader (channel emulator) has applied.",
    )
    p.add_argument(
        "fader",
        names=Named("file", not_before="tcp://"),
        metavar="CONFIG|tcp://ADDR:PORT",
        help="YAML file of the running fader, which answers at the air.control of that file; or"
        " the address that is its --listen",
    )
    p.add_argument(
        "report",
        names=FILE,
        metavar="FILE",
        help="report of the terminal, made by ./openwip station terminal --air cabled --json=FILE",
    )
    p.add_argument(
        "--keys",
        names=FOLDER,
        metavar="DIR",
        help=(
            "folder with the encryption keys that ./openwip keys has made, for a fader on another"
            " computer"
        ),
    )
    given = p.parse_args(arguments)
    heard = bursts_of(given.report)
    far, keys = (
        given.fader.startswith("tcp://"),
        remote.keys_of("the fader", given.fader, given.keys),
    )
    air = faders.find(
        "the fader" if far else f"{given.fader}: air.control",
        given.fader if far else air_of(given.fader).get("control"),
        (
            "--listen of a ./openwip fader that runs, with its keys"
            if far
            else "the file of a ./openwip fader that runs"
        ),
        keys,
    )
    findings = [of_comparison(through_radios.compare(air.bursts, heard)), of_fader(air)]
    show(findings)
    return VALID if all(f.ok for f in findings) else INVALID


def of_fader(air: AirStatus) -> Finding:
    """The losses since it began, and its own sounding: stations that cannot ask it do not evaluate
    them."""
    own = fading.fader_of(air, None)
    wrong = (
        checks.evaluate(Facts(fader=own, clipped=own))["reasons"]
        if own
        else ["fader: it says no delay"]
    )
    return evaluated(
        "the fader since it began",
        "; ".join(w.removeprefix("fader: ") for w in wrong)
        or "nothing lost, its channel as commanded",
        not wrong,
        "the terminal heard gaps, or another channel",
        "as said; losses and clipping from before the stations count too: begin it again, then the"
        " stations",
    )


def of_comparison(found: ThroughRadios) -> Finding:
    name = "through the radios"
    if found["not_judged"]:
        return Finding(
            name,
            f"not evaluated: {found['not_judged']}",
            "whether the terminal hears the channel commanded is not known",
            "nodes and paths without impairments, a channel above its noise while the base station"
            " starts",
        )
    return evaluated(
        name,
        "; ".join([report.through_words(found), *found["wrong"]]),
        not found["wrong"],
        "the terminal hears another channel than the one commanded",
        "seed and channel of CONFIG, cables, levels; --air cabled at both stations, the terminal"
        " first",
    )


def main(arguments: list[str], places: Places) -> int:
    if arguments[:1] == ["calibrate"]:
        return calibrate(arguments[1:], places)
    if arguments[:1] == ["compare"]:
        return compare(arguments[1:], places)
    p = parser(
        "fader",
        "Runs a channel emulator (fader) with radios that are connected to those of the stations"
        " by cables, until Ctrl-C; `fader calibrate` measures its radios, and `fader compare`"
        " compares its channel with what a terminal on another computer received"
        " (docs/how-to/cabled.md).",
    )
    p.add_argument(
        "--record",
        names=OUTPUT,
        metavar="FILE",
        help=(
            "record the IQ samples that each radio receives and sends, from the first one on, as"
            " SigMF: FILE-NODE-input and FILE-NODE-output"
        ),
    )
    p.value(
        "--duration",
        Real(0.001, 3600),
        was="--seconds",
        metavar="S",
        help="length of each recording of --record in seconds (default 2; 61 MB/s)",
    )
    p.add_argument(
        "--listen",
        metavar="tcp://ADDR:PORT",
        help="address at which stations on other computers reach this fader (their --fader)",
    )
    p.add_argument(
        "--keys",
        names=FOLDER,
        metavar="DIR",
        help="folder with the encryption keys that ./openwip keys has made, for --listen",
    )
    given = p.parse_args(arguments)
    os.environ.setdefault("UHD_MODULE_PATH", str(places.build / "uhd_modules"))
    if given.seconds is not None and not given.record:
        raise BadInput("--duration is given without --record; valid: with --record")
    with reachable(given, places):
        if given.record:
            return run_recording(given, places)
        command = start(given, places)
        if given.listen:
            return until_it_ends(command)
        os.execv(command[0], command)
