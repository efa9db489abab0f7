# SPDX-License-Identifier: GPL-3.0-or-later
"""openwip channel: SNR traces (docs/how-to/channel-traces.md), and chains from traces of losses
(docs/how-to/fit-losses.md). Files are written and checked by one
program, wip_channel (host/channel); this is its command line, and what Python is better at: CSV,
plots, and recording from a running cell."""

import contextlib
import json
import pathlib
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

from ..air import SLOTS_PER_SECOND
from ..cell.running import running_cell
from ..errors import BadInput, not_valid, of_program
from ..machine import outputs, scratch, snr_trace, system
from ..machine.confined import printable
from ..machine.places import Places, operand, version
from ..settings import table
from ..settings.command_line import FILE, OUTPUT, Named, Parser, run_command
from ..settings.kinds import Integer, Numbers, Real, number_of
from . import export, resampled, satellite_pass
from .program import describe, run_program

USAGE = """usage: ./openwip channel COMMAND [OPTIONS]

  list                         list the channel models that a cell can have by name
  render NAME -o FILE.h5       make an SNR trace from a channel model (render --help)
  info FILE.h5                 check an SNR trace and print what it holds
  plot FILE.h5 -o FILE.png     plot an SNR trace: heat map, fading spectrum, distribution, level
  import FILE -o FILE.h5       make an SNR trace from a log of SNRs in dB: CSV of any dialect, JSON lines,
                               MATLAB, NumPy, HDF5; or from the channel response of a ray tracer
  export FILE.h5 --csv FILE    write an SNR trace as CSV, or for other emulators (--mahimahi, --kaunet)
  pass -o FILE.csv             compute delay and Doppler shift of a satellite's pass (pass --help)
  record -o FILE.h5            record an SNR trace in a running cell (demo or emulate --keep)
  fit FILE [--json[=FILE]]     fit Markov chains to a trace of lost blocks or packets: text, CSV, .npy

openwip channel COMMAND --help says more."""


@contextlib.contextmanager
def writing(
    places: Places,
    file: str,
    info: dict[str, Any],
    definition: str,
    prediction: dict[str, Any] | None = None,
) -> Iterator[Callable[[Any], None]]:
    """A trace from rows of dB, by a function that takes some: a pipe to wip_channel write. What is
    incomplete stays unwritten."""
    import numpy

    arguments = [
        "write",
        "-o",
        operand(file),
        "--software",
        f"openwip {version(places.top)}",
        *(["--predicted"] if prediction else []),
    ]
    for key, value in (info | (prediction or {})).items():
        arguments += [f"--{key.replace('_', '-')}", str(value)]
    with scratch.file(definition) as source:
        process: Any = subprocess.Popen(
            [places.program(snr_trace.PROGRAM), *arguments, "--definition", source],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=system.follower(),
        )
        try:
            yield lambda rows: process.stdin.write(
                numpy.ascontiguousarray(rows, dtype="<f4").tobytes()
            )
        except BrokenPipeError:  # the program has ended, and its error is read below
            pass
        except BaseException:
            process.kill()
            process.wait()
            raise
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        printed = process.stderr.read().decode(errors="replace")
        if code := process.wait():
            raise of_program("wip_channel", code, printed)


def list_channels(arguments: list[str], places: Places) -> int:
    p = Parser(
        "channel list",
        "Lists the channel definitions: the channel models that a cell can have by name.",
    )
    p.json("the channel definitions, an object in each line,")
    given = p.parse_args(arguments)
    outputs.check_given("--json", given.json)
    lines = run_program(places, ["list"])
    outputs.write_json_text(given.json, lines)
    if given.json == "-":
        return 0
    print(
        f"{'name':12} {'taps':>4} {'last, ns':>8} {'rms, ns':>8} {'km/h':>8} {'users':>5}  source"
    )
    for line in lines.splitlines():
        d = json.loads(line)
        low, high = d["speed_kmh"]
        speed = "own" if d["own_motion"] else f"{low:g}" if low == high else f"{low:g}..{high:g}"
        source = d["source"].split(". ")[0]
        print(
            f"{d['name']:12} {d['taps']:4} {d['last_tap_ns']:8.0f} {d['rms_delay_spread_ns']:8.0f}"
            f" {speed:>8} {d['users']:5}  {source[:90]}"
        )
    return 0


def render(arguments: list[str], places: Places) -> int:
    p = Parser("channel render", "Computes an SNR trace from a channel definition.")
    p.add_argument(
        "channel",
        names=Named("file", only=(".yaml",)),
        metavar="NAME",
        help="name of a channel definition (openwip channel list), or FILE.yaml",
    )
    p.add_argument(
        "-o",
        "--out",
        names=OUTPUT,
        was="--output",
        required=True,
        metavar="FILE.h5",
        help="file with the SNR trace to write (HDF5)",
    )
    p.setting(table.setting("seed", "emulate"), help="seed of the random channel")
    p.add_argument(
        "--duration",
        was="--seconds",
        default="30",
        help="length of the trace in seconds (default 30)",
    )
    p.setting(
        table.setting("channel.snr_db", "emulate"),
        help="mean SNR of the trace (mean of the linear values)",
    )
    p.setting(table.setting("channel.speed_kmh", "emulate"))
    p.add_argument(
        "--carrier-hz",
        help=(
            "carrier frequency in Hz, with which the Doppler frequency follows from the speed"
            " (default: the definition's)"
        ),
    )
    p.add_argument(
        "--delay-spread-ns",
        help=(
            "rms delay spread of the channel models tdl-a to tdl-e, in ns (default: the"
            " definition's)"
        ),
    )
    p.setting(table.setting("channel.user", "demo"))
    p.setting(table.setting("channel.shadowing", "demo"), default=None)
    p.add_argument(
        "--horizon",
        default="3",
        help=(
            "prediction horizon: number of slots (2/3 ms each) from the time of an SNR prediction"
            " to the slot that it is for (default 3)"
        ),
    )
    nmse = table.setting("channel.prediction_nmse", "emulate")
    p.setting(
        nmse,
        kind=number_of(nmse.kind),
        default=None,
        help=(
            "also write unbiased predictions of the SNR with this normalised mean squared error"
            " (NMSE)"
        ),
    )
    p.add_argument(
        "--predictor",
        action="store_true",
        help="also write the predictions of the SNR that the receiver's predictor makes",
    )
    kind = table.setting("phy.predictor", "demo").kind
    p.value(
        "--method",
        kind,
        metavar="METHOD",
        help="with --predictor: algorithm of the receiver's predictor (as --predictor of demo);"
        f" {kind.valid} (default delay)",
    )
    given = vars(p.parse_args(arguments))
    if given["method"] is not None and not given["predictor"]:
        raise not_valid("--method", repr(given["method"]), "with it", more=" without --predictor")
    given["output"] = outputs.checked("-o", given["output"], given["channel"])
    if isinstance(given["shadowing"], float):
        given["shadowing_db"] = given.pop("shadowing")
    passed = [
        "render",
        operand(given.pop("channel")),
        "--software",
        f"openwip {version(places.top)}",
    ]
    for key, value in given.items():
        if value is True:
            passed.append(f"--{key.replace('_', '-')}")
        elif value is not None and value is not False:
            passed.append(f"--{key.replace('_', '-')}={value}")
    run_program(places, passed)
    print(summary(describe(places, given["output"])))
    return 0


def summary(d: dict[str, Any]) -> str:
    m = d["measured"]
    lines = [
        (
            f"{d['file']}: {d['channel']}, {d['slots']} slots = {d['seconds']:.3f} s x {d['bins']}"
            f" bins, seed {d['seed']}"
        ),
        (
            f"  SNR: mean {m['mean_snr_db']:.2f} dB (asked for {d['mean_snr_db']:g}), mean of dB"
            f" {m['mean_of_db']:.2f}, {m['lowest_db']:.1f} to {m['highest_db']:.1f} dB"
        ),
        "  "
        + f"speed {d['speed_kmh']:g} km/h at {d['carrier_hz'] / 1e6:g} MHz; "
        * bool(d["carrier_hz"])
        + d["software"],
    ]
    if "prediction" in d:
        q = d["prediction"]
        lines.append(
            f"  prediction: {q['method']}, {q['horizon_slots']} slots ahead, NMSE"
            f" {q['measured_nmse']:.4f}"
            + (f" (asked for {q['nmse']:g})" if q["method"] == "nmse" else "")
        )
    return "\n".join(printable(line) for line in lines)


def info(arguments: list[str], places: Places) -> int:
    p = Parser("channel info", "Checks a file with an SNR trace and prints what it holds.")
    p.add_argument("file", names=FILE, metavar="FILE.h5", help="file with an SNR trace (HDF5)")
    p.json("all attributes of the trace")
    given = p.parse_args(arguments)
    outputs.check_given("--json", given.json, given.file)
    d = describe(places, given.file)
    outputs.say(
        given.json,
        f"{summary(d)}\n  definition:\n"
        + "\n".join("    " + printable(line) for line in d["definition"].splitlines()),
    )
    outputs.write_json(given.json, d)
    return 0


def plot(arguments: list[str], places: Places) -> int:
    p = Parser(
        "channel plot", "Plots an SNR trace: heat map, fading spectrum, distribution and level."
    )
    p.add_argument("file", names=FILE, metavar="FILE.h5", help="file with an SNR trace (HDF5)")
    p.add_argument(
        "-o",
        "--out",
        names=OUTPUT,
        was="--output",
        required=True,
        metavar="FILE.png",
        help="picture to write",
    )
    p.value(
        "--heat-seconds",
        Real(0.001, 86400),
        default=1.0,
        help="length of the heat map of SNR over time and frequency, in seconds (default 1)",
    )
    given = p.parse_args(arguments)
    outputs.check("-o", given.output, given.file)
    from . import plot as channel_plot

    channel_plot.draw(
        describe(places, given.file),
        snr_trace.first_rows(places, given.file, channel_plot.MOST_SLOTS),
        given.output,
        given.heat_seconds,
    )
    print(given.output)
    return 0


def import_log(arguments: list[str], places: Places) -> int:
    p = Parser(
        "channel import",
        "Makes an SNR trace from a log of measured SNRs, or from the channel response of a ray"
        " tracer.",
    )
    p.add_argument(
        "file",
        names=FILE,
        metavar="FILE",
        help=(
            "log of SNRs in dB (CSV, JSON lines, MATLAB, NumPy, HDF5), or channel response of a"
            " ray"
            " tracer"
        ),
    )
    p.add_argument(
        "-o",
        "--out",
        names=OUTPUT,
        was="--output",
        required=True,
        metavar="FILE.h5",
        help="file with the SNR trace to write (HDF5)",
    )
    p.add_argument(
        "--channel",
        default="imported",
        help="name by which the trace calls its channel (default imported)",
    )
    p.add_argument(
        "--rate",
        type=float,
        help=(
            "number of rows per second of the log (default: as its column of times says, or 1500);"
            " rows at another rate than 1500 per second are interpolated to slots"
        ),
    )
    p.add_argument(
        "--interpolation",
        choices=resampled.RULES,
        default=resampled.RULES[0],
        help=(
            "interpolation between two rows: the linear SNR linearly in time (linear, the default),"
            " the SNR in dB linearly in time (db), or the row before (hold)"
        ),
    )
    p.add_argument(
        "--variable",
        metavar="NAME",
        help=(
            "name of the array of SNRs in a MATLAB, HDF5 or NumPy file (default: the one called"
            " snr_db, snr, sinr_db or sinr, or the only one)"
        ),
    )
    p.value(
        "--snr",
        Real(-60, 80),
        default=None,
        help=(
            "mean SNR in dB of the trace made from a channel response (complex gains and delays of"
            " paths; default 16)"
        ),
    )
    p.value(
        "--pick",
        Numbers(Integer(0, 10000), 8),
        default=None,
        help="antennas and stations of a channel response that has several: a number from 0 for"
        " each dimension in front of paths and snapshots, separated by commas",
    )
    p.add_argument(
        "--speed-kmh",
        type=float,
        default=0,
        help="speed of the receiver in km/h, which is noted in the trace (default 0)",
    )
    p.add_argument(
        "--carrier-hz",
        type=float,
        default=0,
        help="carrier frequency in Hz, which is noted in the trace (default 0)",
    )
    p.add_argument(
        "--horizon",
        type=int,
        default=3,
        help=(
            "prediction horizon: number of slots (2/3 ms each) from the time of a prediction to"
            " the slot that it is for, in a"
            " log with 50 columns (25 SNRs and 25 predictions)"
        ),
    )
    given = p.parse_args(arguments)
    given.output = outputs.checked("-o", given.output, given.file)
    resampled.check_rate(given.rate)
    from . import opened

    asked = opened.Asked(given.variable, given.snr, given.rate, tuple(given.pick or ()))
    with contextlib.closing(opened.opened_log(given.file, asked)) as log:
        rate = None if log.by_slots else given.rate
        found = resampled.Summary()
        for block in resampled.rows(log, rate, given.interpolation):
            found.add(block)
        mean = found.mean_db
        prediction = (
            {"horizon": given.horizon, "method": "nmse", "nmse": found.nmse}
            if log.predicted
            else None
        )
        about = {
            "channel": given.channel,
            "mean_snr": mean,
            "speed_kmh": given.speed_kmh,
            "carrier_hz": given.carrier_hz,
        }
        definition = (
            f"name: {given.channel}\nsource: imported from {pathlib.Path(given.file).name}\n"
        )
        with writing(places, given.output, about, definition, prediction) as write:
            for block in resampled.rows(log, rate, given.interpolation):
                write(block)
    print(summary(describe(places, given.output)))
    return 0


def record(arguments: list[str], places: Places) -> int:
    p = Parser("channel record", "Records an SNR trace in a running cell.", "demo")
    p.add_argument(
        "-o",
        "--out",
        names=OUTPUT,
        was="--output",
        required=True,
        metavar="FILE.h5",
        help="file with the SNR trace to write (HDF5)",
    )
    p.value(
        "--duration",
        Real(0.01, 86400),
        was="--seconds",
        default=30.0,
        help="length of the trace in seconds (default 30)",
    )
    p.add_argument(
        "--gaps",
        choices=["refuse", "hold"],
        default="refuse",
        help=(
            "what happens with slots that were not measured: the trace is refused (refuse), or the"
            " last measured slot is repeated (hold)"
        ),
    )
    given = p.parse_args(arguments)
    given.output = outputs.checked("-o", given.output)  # before, not after an hour
    from . import record as channel_record

    cell = running_cell(given.name)
    recording = channel_record.record(cell, round(given.seconds * SLOTS_PER_SECOND))
    rows, gaps = recording.rows(given.gaps)
    from . import csv_file as channel_csv

    about = {"channel": f"recorded-{given.name}", "mean_snr": channel_csv.mean_db(rows)}
    prediction = {
        "horizon": recording.horizon,
        "method": "predictor",
        "nmse": channel_csv.nmse(rows),
    }
    with writing(
        places, given.output, about, recording.definition(given.name, gaps), prediction
    ) as write:
        write(rows)
    print(summary(describe(places, given.output)))
    if gaps:
        print(f"  {gaps} slots were not measured and repeat the one before")
    return recording.interrupted


def fit(arguments: list[str], places: Places) -> int:
    p = Parser("channel fit", "Fits Markov chains to a trace of lost blocks or packets.")
    p.add_argument(
        "file",
        names=FILE,
        metavar="FILE",
        help="trace of losses, 0 for a block that arrives and 1 for one that is lost: text, CSV"
        " with a column for each user, or .npy of blocks or of blocks x users",
    )
    p.json("counts, probabilities with intervals, and settings for emulate")
    given = p.parse_args(arguments)
    outputs.check_given("--json", given.json, given.file)
    from . import chain_fit, losses

    try:
        result = chain_fit.fit(losses.read(pathlib.Path(given.file)))
    except BadInput as e:
        name = f"{given.file}: "
        raise BadInput(name + str(e).removeprefix(name)) from None
    outputs.say(given.json, chain_fit.text_of(result, printable(given.file)))
    outputs.write_json(given.json, {"file": given.file} | result)
    return 0


COMMANDS = {
    "list": list_channels,
    "render": render,
    "info": info,
    "plot": plot,
    "import": import_log,
    "export": export.main,
    "record": record,
    "pass": satellite_pass.main,
    "fit": fit,
}


def main(arguments: list[str], places: Places) -> int:
    return run_command("channel", USAGE, COMMANDS, arguments, places)
