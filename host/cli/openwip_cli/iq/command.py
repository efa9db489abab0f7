# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip iq record | replay | import | info."""

import argparse
import json
import pathlib
import socket
import time
from collections.abc import Sequence
from typing import Any

from ..air import SLOTS_PER_SECOND
from ..cell.cell import Cell
from ..cell.running import running_cell
from ..errors import (
    INTERRUPTED,
    INVALID,
    VALID,
    BadInput,
    CellDied,
    NotWritten,
    Terminated,
    not_valid,
)
from ..machine import outputs
from ..machine.confined import printable
from ..machine.places import Places
from ..settings.command_line import RECORDING, Parser, run_command
from ..settings.kinds import Integer, Real
from . import foreign, imports, metadata, recordings
from . import replay as replays

ANSWER_S = 5.0
START_SLOTS = 300  # slots until a recording has allocated its queue of 64 MB
USAGE = """./openwip iq record [--name CELL] [--station terminal|base] [--duration S | --slots A..B] FILE
       ./openwip iq replay FILE [--json[=FILE]]
       ./openwip iq import [--sample-rate HZ] [--datatype TYPE] [--recording NAME] [--channel N] [--unchecked] FILE OUT
       ./openwip iq info FILE [--json[=FILE]]"""


# --- record ---


def ask(
    cell: Cell, station: str, descriptors: Sequence[int] = (), **request: object
) -> dict[str, Any]:
    """Sends a request to the recording socket of a station's flowgraph, and returns the answer. The
    flowgraph may not create files itself, so it is sent `descriptors`."""
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(ANSWER_S)
            s.connect(cell.endpoint(f"{station}.iq").removeprefix("ipc://"))
            socket.send_fds(s, [json.dumps(request).encode()], list(descriptors))
            s.shutdown(socket.SHUT_WR)
            answer: dict[str, Any] = json.loads(b"".join(iter(lambda: s.recv(1 << 16), b"")))
    except (OSError, ValueError):
        raise CellDied(
            f"the GNU Radio flowgraph of the station {station} does not answer"
        ) from None
    if not answer["ok"]:
        raise (NotWritten if answer.get("not_written") else BadInput)(
            f"{station}: {answer['error']}"
        )
    return answer


def new_files(station: str, base: str) -> outputs.NewFiles:
    """The files of a recording of this station, in the order of flowgraphs/apps/recording.py."""
    try:
        return outputs.NewFiles(base + ending for ending in recordings.WRITTEN[station])
    except OSError as e:
        raise BadInput(f"{base}: cannot be written: {e.strerror or e}") from None


def slots_range(text: str) -> tuple[int, int]:
    first, dots, last = text.partition("..")
    # samples: 64 bits
    if not (
        dots
        and first.isdecimal()
        and last.isdecimal()
        and max(len(first), len(last)) < 16
        and int(first) <= int(last)
    ):
        raise not_valid(
            "--slots",
            repr(text),
            "A..B, numbers of slots, A <= B (./openwip status shows the current one)",
        )
    return int(first), int(last)


def record(arguments: list[str]) -> int:
    p = Parser("iq record", "Records the IQ samples of a running cell as SigMF.", "demo")
    p.add_argument(
        "--station",
        choices=("terminal", "base"),
        default="terminal",
        help="samples received by the terminal (default) or transmitted by the base station",
    )
    p.value(
        "--duration",
        Real(0.001, 86400),
        was="--seconds",
        help="length of the recording in seconds of samples (default 2)",
    )
    p.add_argument(
        "--slots",
        metavar="A..B",
        help="numbers of the first and last slot to record, both included",
    )
    p.add_argument(
        "file", metavar="FILE", help="name of the recording: FILE.sigmf-data and FILE.sigmf-meta"
    )
    given = p.parse_args(arguments)
    if given.seconds and given.slots:
        raise BadInput("--duration is given with --slots; valid: one of the two")
    begin, end = slots_range(given.slots) if given.slots else (-1, -1)
    seconds = (end + 1 - begin) / SLOTS_PER_SECOND if given.slots else given.seconds or 2.0
    base = recordings.check_place(given.file, seconds, "FILE")
    cell = running_cell(given.name)
    air = ask(cell, given.station, do="status")["air"]
    if given.slots and begin <= air:
        raise not_valid(
            "--slots",
            given.slots,
            "slots after that",
            more=f", and the cell is at slot {air} already",
        )
    if not given.slots:
        begin = air + START_SLOTS
        end = begin + round(seconds * SLOTS_PER_SECOND) - 1
    facts = metadata.cell_settings(cell)
    with new_files(given.station, base) as files:
        ask(
            cell,
            given.station,
            files.fds,
            do="start",
            file=base,
            begin_slot=begin,
            end_slot=end + 1,
        )
        # The files get their names only now: if the request is refused, files of these names may
        # belong to a recording that is in progress.
        files.give_names()
    recordings.remove_former(base, *[recordings.SLOTS] * (given.station == "base"))
    interrupted = VALID
    try:
        while not ask(cell, given.station, do="status")["complete"]:
            time.sleep(0.05)
    except (KeyboardInterrupt, Terminated) as e:  # an interrupted recording is kept
        interrupted = getattr(e, "code", INTERRUPTED)
    done = ask(cell, given.station, do="stop")
    recording = metadata.complete(base, facts)
    print(
        f"{recording.data_path}: {recording.samples} samples ({replays.seconds(recording):.3f} s, "
        f"{replays.megabytes(recording):.0f} MB), {done['samples_lost']} lost"
    )
    if done["error"]:
        raise NotWritten(f"{recording.data_path}: {done['error']}")
    return interrupted or (INVALID if done["samples_lost"] else VALID)


def finish_demo(
    cell: Cell, stations: dict[str, str], facts: dict[str, Any]
) -> tuple[list[str], list[str]]:
    """Ends the recordings of a demo (station: base name) that its radios began; lines for the
    progress, and what could not be written."""
    lines, not_written = [], []
    for station, base in stations.items():
        try:
            done: dict[str, Any] | None = ask(cell, station, do="stop")
        except BadInput:  # over already: the number of slots asked for
            done = None
        except NotWritten as e:
            not_written.append(str(e))
            continue
        recording = metadata.complete(base, metadata.cell_settings(cell) | facts)
        lost = recording.whole["openwip:samples_lost"]
        error = done["error"] if done else recording.whole.get("openwip:error", "")
        lines.append(
            f"recorded {recording.data_path}: {replays.seconds(recording):.3f} s, "
            f"{replays.megabytes(recording):.0f} MB"
            + (f"; {lost} samples lost, the disk did not follow" if lost else "")
            + (f"; {error}" if error else "")
        )
        if error:
            not_written.append(f"{recording.data_path}: {error}; {lost} samples are not in it")
    return lines, not_written


# --- replay, info ---


def parse_file(
    command: str, description: str, as_json: str, arguments: list[str]
) -> argparse.Namespace:
    p = Parser(command, description)
    p.add_argument(
        "file",
        names=RECORDING,
        metavar="FILE",
        help="SigMF recording of IQ samples: FILE.sigmf-meta and FILE.sigmf-data",
    )
    p.json(as_json)
    given = p.parse_args(arguments)
    outputs.check_given("--json", given.json, given.file)
    return given


def to_replay(file: pathlib.Path | str) -> tuple[recordings.Recording, list[bytes]]:
    """(recording, reports of the live receiver) of a file that can be replayed; BadInput says why
    another cannot."""
    recording = recordings.Recording(file)
    if recording.whole["openwip:role"] != "terminal":
        raise not_valid(
            f"recording {recording.meta_path}: openwip:role",
            repr(recording.whole["openwip:role"]),
            "terminal (what a base station transmitted, or a fader has, was never received)",
        )
    if "openwip:receiver" not in recording.whole:
        raise BadInput(
            f"recording {recording.meta_path}: has no object openwip:receiver with the settings of"
            " the receiver, so it cannot be replayed; valid: a recording of a cell's terminal"
        )
    live = recording.reports()
    replays.check_reports(recording, live)
    recording.check_hash()
    return recording, live


def replay(arguments: list[str]) -> int:
    given = parse_file(
        "iq replay",
        "Gives a recording of IQ samples to the receiver, and compares its decisions with those of"
        " the live run.",
        "the comparison of the receiver's decisions",
        arguments,
    )
    recording, live = to_replay(given.file)
    began = time.monotonic()
    result = replays.compare(recording, live, replays.run(recording))
    result["replay_s"] = round(time.monotonic() - began, 3)
    outputs.say(given.json, screen(recording, result))
    outputs.write_json(given.json, result)
    return 0 if result["same"] else 1


def screen(recording: recordings.Recording, r: dict[str, Any]) -> str:
    lines = [
        f"{recording.data_path}: {replays.seconds(recording):.3f} s, {r['slots_replayed']} slots"
        f" replayed, {r['slots_live']} live"
    ]
    if r["whole"]:
        lines.append(
            f"from the first sample: {r['identical']} of {r['compared']} reports identical, bit by"
            " bit (grants, outcomes, payloads, SNR, predicted SNR, receiver state)"
        )
    else:
        lines += [
            (
                f"from the middle: locked in both {r['locked_in_both']} slots, from slot"
                f" {r['first_locked_slot']}"
            ),
            f"  grants     {r['grants_same']} of {r['locked_in_both']} the same",
            (
                f"  outcomes   {r['outcomes_same']} of {r['frames']} the same, payloads"
                f" {r['payloads_same']}; {r['contradictions']} contradictions"
            ),
            (
                f"  SNR        largest difference {r['snr_largest_difference_db']:.3f} dB;"
                f" predicted {r['prediction_largest_difference_db']:.3f} dB"
            ),
        ]
    if r["first_difference"]:
        lines.append(
            f"first difference in slot {r['first_difference']['slot']}: "
            + ", ".join(r["first_difference"]["what"])
        )
    lines.append("the same decisions" if r["same"] else "NOT the same decisions")
    return "\n".join(lines)


def info(arguments: list[str]) -> int:
    given = parse_file(
        "iq info",
        "Prints what a SigMF recording of IQ samples holds.",
        "the global object, captures and annotations",
        arguments,
    )
    recording = recordings.Recording(given.file)
    hashed = recording.check_hash()
    outputs.write_json(given.json, recording.meta)
    if given.json == "-":
        return 0
    g = recording.whole
    lines = [
        (
            f"{recording.data_path}: {g.get('core:description', 'no description')},"
            f" {g.get('core:hw', 'unknown radio')}"
        ),
        f"  samples     {recording.samples} {g['core:datatype']} at {g['core:sample_rate'] / 1e6:g}"
        f" MS/s: {replays.seconds(recording):.3f} s, {replays.megabytes(recording):.0f} MB;"
        f" {g['openwip:samples_lost']} lost; " + ("SHA-512 as recorded" if hashed else "no hash"),
        f"  slots       from {g['openwip:first_slot']}"
        + (", from the first sample of the run" if g["openwip:from_start"] else "")
        + f"; {g['openwip:reports']} reports of the live receiver",
    ]
    if recording.captures:
        first = recording.captures[0]
        hz = first.get("core:frequency")
        lines.append(
            f"  captured    {first.get('core:datetime', '?')},"
            f" {'?' if hz is None else f'{hz / 1e6:g}'} MHz, {len(recording.captures)} stretches"
            " without a gap"
        )
    if "openwip:name" in g:
        lines.append(
            f"  cell        '{g['openwip:name']}', identity {g.get('openwip:cell', 'not found')},"
            f" {g.get('openwip:bins', 'unknown')} bins, modulation"
            f" {g.get('openwip:link', {}).get('modulation', 'unknown')}, seed"
            f" {g.get('openwip:seed', 'unknown')}"
        )
    if "openwip:verdict" in g:
        v = g["openwip:verdict"]
        lines.append(
            "  verdict     " + ("VALID" if v["valid"] else "INVALID: " + "; ".join(v["reasons"]))
        )
    print("\n".join(printable(line, 1000) for line in lines + annotations(recording)))
    return 0


def annotations(recording: recordings.Recording) -> list[str]:
    lines = []
    for a in recording.meta["annotations"]:
        if a.get("core:label") == "locked":
            slots, first, grants, good, bad = (
                a.get(f"openwip:{key}", "?")
                for key in ("slots", "first_slot", "grants", "frames_good", "frames_bad")
            )
            lines.append(
                f"  locked      {slots} slots from {first}: {grants} grants, frames {good} good,"
                f" {bad} bad"
            )
        else:
            lines.append(
                f"  {a.get('core:label', 'note'):<11} at sample {a.get('core:sample_start', '?')}:"
                f" {a.get('core:comment', '')}"
            )
    return lines


# --- import ---


def import_(arguments: list[str]) -> int:
    p = Parser(
        "iq import",
        "Converts IQ samples of any program and sample rate into a recording that the receiver can"
        " replay.",
    )
    p.value(
        "--sample-rate",
        Real(*imports.rates()),
        metavar="HZ",
        help=(
            "sample rate in Hz of a file of bare samples, or of a SigMF recording whose metadata"
            " do not say it"
        ),
    )
    p.add_argument(
        "--datatype",
        choices=imports.DATATYPES,
        help="data type of a file of bare samples, as SigMF names it (default cf32_le)",
    )
    p.add_argument(
        "--recording",
        metavar="NAME",
        help="name of the recording to import from a SigMF archive or collection that has several",
    )
    p.value(
        "--channel",
        Integer(1, foreign.MOST_CHANNELS),
        metavar="N",
        default=1,
        help=(
            "number, from 1, of the channel to import from a SigMF recording with several"
            " (core:num_channels; default 1)"
        ),
    )
    p.add_argument(
        "--unchecked",
        action="store_true",
        help="import samples even if their hash differs from that in the metadata",
    )
    p.add_argument(
        "file",
        names=RECORDING,
        metavar="FILE",
        help="SigMF recording, archive or collection, or file of bare samples",
    )
    p.add_argument(
        "out",
        metavar="OUT",
        help=(
            "beginning of the names of the result: OUT.sigmf-data, OUT.sigmf-meta and"
            " OUT.openwip-slots"
        ),
    )
    given = p.parse_args(arguments)
    source = imports.opened(
        given.file,
        given.sample_rate,
        given.datatype,
        given.recording,
        given.channel,
        not given.unchecked,
    )
    began = time.monotonic()
    recording = imports.make(source, given.out)
    locked = [a for a in recording.meta["annotations"] if a.get("core:label") == "locked"]
    print(
        "\n".join(
            [
                (
                    f"{recording.data_path}: {recording.samples} samples"
                    f" ({replays.seconds(recording):.3f} s), {imports.how(source)};"
                    f" {time.monotonic() - began:.1f} s"
                ),
                *annotations(recording),
            ]
            + ["  not locked  the receiver has found no cell in it"] * (not locked)
        )
    )
    return VALID if locked else INVALID


COMMANDS = {"record": record, "replay": replay, "import": import_, "info": info}


def main(arguments: list[str], _places: Places) -> int:
    return run_command(
        "iq",
        f"usage: {USAGE}\n\nRecords and replays IQ samples of a cell as SigMF recordings"
        " (docs/how-to/iq.md).",
        COMMANDS,
        arguments,
    )
