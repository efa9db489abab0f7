# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip record: telemetry of a running cell into a run record, in a process of its own, so that
nothing of the cell ever waits for a disk. It ends at --duration, at SIGINT or SIGTERM, or when the
cell ends, and leaves a complete file each time. `--record` of demo and emulate starts it
(Launched)."""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import select
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..cell import cell as cells
from ..cell.cell import Cell
from ..cell.running import cell_lives, running_cell
from ..errors import SIGNALS, BadInput, RecordFailed, how_ended
from ..machine import own_files, rights
from ..machine.places import Places, versions
from ..messages import control, pipe, telemetry
from ..settings.command_line import FILE, OUTPUT, Parser
from ..settings.kinds import Real
from ..text import shown

# The data that applications sent belongs into a capture (docs/how-to/run-record.md has its cost
# here).
LEFT_OUT = ("frames", "ip")
EVERY_DAY = tuple(t for t in telemetry.TOPICS if t not in LEFT_OUT)
TOGETHER_S = 0.02  # seconds of messages that are taken together, which costs fewer wake-ups
# A record takes no more than this share of the space that is free when it begins (--max-size), and
# ends when other files have left less than the other share of it, or so many bytes: it never fills
# a disk.
LARGEST_SHARE, LEFT_SHARE = 1 / 2, 1 / 4
LEFT_ON_DISK = 64 << 20  # bytes of the disk that a record leaves free, at least
LEAST_ROOM = 16 << 20  # bytes beyond those that a record needs to begin
# Messages from before a checkpoint are found after a kill: the first one comes soon, the others
# every so often.
FIRST_CHECKPOINT_S, CHECKPOINT_S = 1.0, 10.0
LAST_MESSAGES_S = 0.3  # seconds after the end to wait for messages on their way
CATCH_UP_S = 10.0  # seconds after the end to take messages that wait in queues
SILENT_S = 5.0  # seconds after which a publisher without messages is taken to have stopped
WAITING = 500  # messages in one poll from which on more are taken to be waiting
# The messages of each publisher that may wait while some of them hold frames or packets: 100 MB.
HEAVY_WAITING = 2000
READY, READY_S = "recording", 20


def now_text() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")


def about_run(scenario: dict[str, Any], seed: int) -> dict[str, Any]:
    return {
        "command": shown(shlex.join(["./openwip", *sys.argv[1:]])),
        "scenario": scenario,
        "seed": seed,
        "started": now_text(),
    }


def note_run(cell: Cell, scenario: dict[str, Any], seed: int) -> None:
    """Writes into the run directory what runs there."""
    own_files.create(cell.run / "run.json", json.dumps(about_run(scenario, seed)))


class About:
    """The description of the run, from the run directory and the control sockets, for as long as
    there are any."""

    def __init__(self, cell: Cell) -> None:
        self.cell, self.over = cell, threading.Event()
        self.run: dict[str, Any] = {}
        self.effective: dict[str, str] = {}
        self.at_first: dict[str, str] = {}

    def look(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self.run = json.loads((self.cell.run / "run.json").read_text())
        for path in self.cell.run.glob("*.yaml"):
            if path.stem not in self.effective:
                with contextlib.suppress(OSError):
                    self.effective[path.stem] = path.read_text()
        for path in self.cell.run.glob("*.control"):
            name = path.name.removesuffix(".control")
            with contextlib.suppress(control.NoAnswer, Exception):
                text = getattr(
                    control.Control(self.cell.endpoint(path.name)).status(0.3), "effective_yaml", ""
                )
                if text:
                    self.at_first.setdefault(name, text)
                    self.effective[name] = text

    def run_thread(self) -> None:
        while not self.over.is_set():
            self.look()
            self.over.wait(1.0)


def free_on_disk(folder: pathlib.Path) -> int:
    """Bytes."""
    return shutil.disk_usage(folder).free


class Limits:
    """How large a record may become."""

    def __init__(self, folder: pathlib.Path, largest: int | None) -> None:
        free = free_on_disk(folder)
        self.folder, self.left = folder, max(LEFT_ON_DISK, int(free * LEFT_SHARE))
        self.largest = int(free * LARGEST_SHARE) if largest is None else largest

    def reached(self, size: int) -> str | None:
        """A clause about the limit that is reached; None: none is."""
        if size >= self.largest:
            return f"its largest size of {self.largest / 1e6:.0f} MB (record --max-size)"
        free = free_on_disk(self.folder)
        if free < self.left:
            return (
                f"a disk that has {free / 1e6:.1f} MB free, where a record leaves"
                f" {self.left / 1e6:.1f} MB free"
            )
        return None


class Recorder:
    def __init__(self, cell: Cell, path: pathlib.Path | str, reader: telemetry.Reader) -> None:
        from . import record_file  # h5py, which a run without --record does without

        self.cell, self.reader = cell, reader
        self.file = record_file.RecordFile(path)
        reader.on_refused = self.file.refuse
        self.about = About(cell)
        self.threads = [threading.Thread(target=self.about.run_thread, name="about", daemon=True)]
        self.report: dict[str, Any] | None = None
        self.cut: dict[str, Any] | None = None  # why it takes no more
        self.silent: dict[str, float | None] = {}
        self.unread = False

    def take(self, timeout_s: float) -> list[telemetry.Message]:
        messages = self.reader.poll(timeout_s)
        for m in messages:
            self.file.add(m)
        return messages

    def take_what_waits(self) -> None:
        """Takes the messages that were published before the end and are on their way, or wait here
        if this process is behind; the cell may publish on meanwhile. Messages that still do not
        come cannot be seen from a later number: they are reported as missing."""
        began = time.monotonic()
        while True:
            n, spent = len(self.take(0.05)), time.monotonic() - began
            if n == 0 or (n < WAITING and spent > LAST_MESSAGES_S):
                return
            if spent > CATCH_UP_S:
                self.unread = True
                return

    def _describe(self) -> dict[str, Any]:
        """The description of the run for the record, as far as the run is known."""
        run, report = dict(self.about.run), self.report or {}
        return {
            "command": run.get("command", ""),
            "started": run.get("started", ""),
            "scenario": report.get("config", run.get("scenario", {})),
            "seed": report.get("seed", run.get("seed")),
            "effective": dict(self.about.effective),
            "effective_at_first": dict(self.about.at_first),
            "report": report,
            "cell": self.cell.name,
            "cut": self.cut,
        }

    def abandon(self, why: BaseException) -> None:
        """Abandons the record after a failure, to whose text it adds what is left of the record."""
        left = self.file.abandon()
        if isinstance(why, RecordFailed):
            why.args = (f"{why}{left}",)

    def checkpoint(self) -> None:
        """Makes what was recorded so far safe against a kill."""
        self.file.checkpoint(self._describe(), self.reader)

    def end_early(self, reason: str) -> None:
        """The record takes no more messages."""
        self.silent = self.reader.silent(SILENT_S)
        self.cut = {"reason": reason, "slot": self.file.last["last_slot"], "at": now_text()}
        self.checkpoint()

    def finish(self, places: Places) -> dict[str, Any]:
        """The file is complete when this returns."""
        if self.cut is None:
            self.silent = self.reader.silent(SILENT_S)
            self.take_what_waits()
        self.about.over.set()
        self.file.finish(
            self._describe()
            | {
                "versions": (self.report or {}).get("versions") or versions(places),
                "unread": self.unread,
                "silent": self.silent,
                "recorded": now_text(),
            },
            self.reader,
        )
        return {
            "messages": self.reader.received(),
            "lost": self.reader.lost(),
            "unread": self.unread,
        }


def of_file(
    stream: pathlib.Path | str,
    path: pathlib.Path | str,
    about: dict[str, Any],
    effective: dict[str, str],
    report: dict[str, Any],
    places: Places,
) -> dict[str, Any]:
    """The record of a run that is over and has written its telemetry into a file
    (host/runtime/telemetry_file.h)."""
    with open(stream, "rb", buffering=0) as f:
        reader = pipe.Reader(EVERY_DAY, f.fileno())
        recorder = Recorder(cells.Cell("virtual"), path, reader)
        recorder.about.run, recorder.about.effective, recorder.about.at_first, recorder.report = (
            about,
            effective,
            effective,
            report,
        )
        try:
            while not reader.over:
                recorder.take(0)
            return {"file": str(path), "ended_by": "the launcher"} | recorder.finish(places)
        except BaseException as e:
            recorder.abandon(e)
            raise


def reader_of(cell: Cell, topics: Sequence[str]) -> telemetry.Reader:
    heavy = {"high_water": HEAVY_WAITING} if set(topics) & set(LEFT_OUT) else {}
    return telemetry.Reader(telemetry.endpoints_of(cell), topics, **heavy)


def record(
    cell: Cell,
    path: pathlib.Path | str,
    reader: telemetry.Reader,
    seconds: float,
    places: Places,
    launched: bool,
    largest: int | None = None,
) -> int:
    """Records until the end and returns the exit code. `largest`: bytes, instead of a share of the
    free space. `launched`: standard input says when the run is over and what its report is; with a
    pipe.Reader it has the messages themselves."""
    os.nice(5)  # the radio has precedence
    over = []
    for signum in SIGNALS:
        signal.signal(signum, lambda signum, _: over.append(signal.Signals(signum).name))
    check_target(path)
    recorder = Recorder(cell, path, reader)
    from_pipe = isinstance(reader, pipe.Reader)
    # A launcher's report has them; without it the end of the record would wait for them.
    if from_pipe or not launched:
        recorder.threads.append(threading.Thread(target=versions, args=(places,), daemon=True))
    try:
        limits = Limits(recorder.file.target.parent, largest)
        for thread in recorder.threads:
            thread.start()
        print(
            READY if launched else f"recording cell '{cell.name}' into {path}; Ctrl-C ends it",
            file=sys.stdout if launched else sys.stderr,
            flush=True,
        )
        deadline = None if seconds is None else time.monotonic() + seconds
        output, looked = b"", time.monotonic()
        kept = looked - CHECKPOINT_S + FIRST_CHECKPOINT_S
        while not over:
            if recorder.cut is not None:
                time.sleep(0.1)
            elif recorder.take(0.2):
                time.sleep(TOGETHER_S)
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                over.append("--duration")
            if isinstance(reader, pipe.Reader) and reader.over:
                over.append("the window")
            if launched and not from_pipe and select.select([0], [], [], 0)[0]:
                part = os.read(0, 1 << 16)
                output += part
                if not part:
                    over.append("the launcher")
            if recorder.cut is None and now - looked > 0.5:
                looked = now
                if not launched and not cell_lives(cell):
                    over.append("the end of the cell")
                if reached := limits.reached(recorder.file.size):
                    recorder.end_early(reached)
                    # A launcher has a report to say at the end, which is for the record, too.
                    if from_pipe or not launched:
                        over.append(reached)
            if recorder.cut is None and now - kept > CHECKPOINT_S:
                recorder.checkpoint()
                kept = time.monotonic()
        with contextlib.suppress(ValueError):
            recorder.report = json.loads(output) if output else None
        result = recorder.finish(places) | {
            "ended_by": recorder.cut["reason"] if recorder.cut else over[0]
        }
    except BaseException as e:
        recorder.abandon(e)
        raise
    if result["unread"] and not launched:
        print(
            "openwip: messages that waited at the end were left out: the recorder was too far"
            " behind",
            file=sys.stderr,
        )
    print(
        (
            json.dumps(result)
            if launched
            else f"{path}: {recorder.reader.summary()}; ended by {result['ended_by']}"
        ),
        flush=True,
    )
    return 0


def check_target(path: pathlib.Path | str | None) -> None:
    """BadInput for a record that cannot be written there, or finds no room. None: there is none."""
    if path is None:
        return
    from . import record_file

    folder = record_file.check_target(path).parent
    free, needed = free_on_disk(folder), LEFT_ON_DISK + LEAST_ROOM
    if free < needed:
        raise BadInput(
            f"record {path}: {folder} has {free / 1e6:.1f} MB free, and a record needs"
            f" {needed / 1e6:.1f} MB, as it leaves {LEFT_ON_DISK / 1e6:.1f} MB free; valid: a file"
            " on a disk with more room"
        )


def main(arguments: list[str], places: Places) -> int:
    if arguments[:1] == ["info"]:
        from . import run_record

        return run_record.info(arguments[1:])
    if arguments[:1] == ["recover"]:
        return recover(arguments[1:])
    if arguments[:1] == ["blocks"]:
        from . import blocks

        return blocks.main(arguments[1:])
    if arguments[:1] == ["replay"] and len(arguments) == 2:  # (the monitor's own)
        from . import messages

        return messages.replay(arguments[1], EVERY_DAY)
    p = Parser(
        "record",
        "Records what the processes of a running cell publish (telemetry) in an HDF5 file, a run"
        " record. ./openwip record info prints what is in one, ./openwip record blocks writes its"
        " block errors, and ./openwip record recover makes one of what a killed recorder has left.",
        "demo",
    )
    p.add_argument(
        "file", names=OUTPUT, metavar="FILE.h5", help="file to write (HDF5), a run record"
    )
    p.add_argument(
        "--topics",
        metavar="TOPICS",
        help=(
            "telemetry topics to record, separated by commas, or all (default: all but frames and"
            " ip, which hold the contents of frames and packets)"
        ),
    )
    p.value(
        "--duration",
        Real(0.1, 1e6),
        was="--seconds",
        metavar="S",
        help="end after this time in seconds (default: at Ctrl-C, or when the cell ends)",
    )
    p.value(
        "--max-size",
        Real(1, 1e9),
        metavar="MB",
        help=(
            "end when the file has this many megabytes (default: half of the space that is free"
            " at the start)"
        ),
    )
    p.add_argument("--launched", action="store_true", help=argparse.SUPPRESS)
    p.add_argument("--heard", action="store_true", help=argparse.SUPPRESS)
    given = p.parse_args(arguments)
    topics = telemetry.topics_of(given.topics) if given.topics is not None else EVERY_DAY
    launched = given.launched or given.heard
    cell = cells.Cell(given.name) if launched else running_cell(given.name)
    reader = pipe.Reader(topics) if given.heard else reader_of(cell, topics)
    return record(
        cell,
        given.file,
        reader,
        given.seconds,
        places,
        launched,
        None if given.max_size is None else int(given.max_size * 1e6),
    )


def recover(arguments: list[str]) -> int:
    """The command record recover."""
    from . import record_file, record_seal, run_record

    p = Parser("record recover", "Makes a complete run record of what a killed recorder has left.")
    p.add_argument(
        "file",
        names=FILE,
        metavar="FILE.h5.part",
        help="unfinished run record, which a killed recorder has left",
    )
    p.add_argument(
        "-o",
        "--out",
        names=OUTPUT,
        was="--output",
        metavar="FILE.h5",
        help="name of the repaired record (default: the name without .part)",
    )
    given = p.parse_args(arguments)
    part = pathlib.Path(given.file)
    if given.output is None and part.suffix != record_seal.PART:
        raise BadInput(
            f"{part}: has no name that ends in {record_seal.PART}; valid: such a file, or --out"
            " FILE.h5"
        )
    target = pathlib.Path(given.output or part.with_suffix(""))
    record_file.check_target(target, part)
    with run_record.RunRecord(part) as r, r.computing():
        text = run_record.info_text(r)
    record_file.recover(part, target)
    print(f"{text}\n{target}")
    return 0


class Launched:
    """The launcher's side of --record."""

    def __init__(self, cell: Cell, path: pathlib.Path | str | None, places: Places) -> None:
        self.path = path
        self.process: Any = subprocess.Popen(
            places.module("record", "--launched", "--name", cell.name, "--", path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=lambda: rights.limit(rights.RECORDER),
        )
        if self._line(READY_S) != READY:
            ended = self.process.poll()
            self.process.kill()
            self.process.stdin.close()
            raise BadInput(
                self._words()
                or f"record {path}: the recorder"
                + (
                    f" {how_ended(ended)}"
                    if ended is not None
                    else f" was not ready in {READY_S} s"
                )
                + "; valid: the same command again, or without --record"
            )

    def _line(self, timeout_s: float) -> str:
        ready, _, _ = select.select([self.process.stdout], [], [], timeout_s)
        return self.process.stdout.readline().decode().strip() if ready else ""

    def _words(self) -> str:
        output = self.process.stderr.read().decode(errors="replace").strip().splitlines()
        return output[-1].removeprefix("openwip: ") if output else ""

    def finish(self, report: dict[str, Any] | None = None) -> dict[str, Any]:
        """The result of the recording: {"file", "messages", "lost"} or {"file", "error"}. Without a
        report: the run was stopped."""
        with contextlib.suppress(OSError):
            if report is not None:
                self.process.stdin.write(json.dumps(report).encode())
            self.process.stdin.close()
        text = self._line(60)
        if not text:
            self.process.kill()
        words = self._words()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
        try:
            result = json.loads(text)
            return {"file": str(self.path)} | {
                k: result[k] for k in ("messages", "lost", "unread", "ended_by")
            }
        except (ValueError, KeyError):
            return {"file": str(self.path), "error": words or "the recorder was killed"}


@contextlib.contextmanager
def launched(
    cell: Cell, path: pathlib.Path | str | None, places: Places, progress: Callable[[str], None]
) -> Iterator["Launched | None"]:
    """Yields the recorder, or None without a path. However the block ends, the record is complete
    afterwards."""
    if path is None:
        yield None
        return
    recorder = Launched(cell, path, places)
    try:
        yield recorder
    finally:
        if recorder.process.returncode is None:
            report_result(recorder.finish(), progress)


def report_result(result: dict[str, Any], progress: Callable[[str], None]) -> bool:
    """One line about it; False when there is no record."""
    if "error" in result:
        progress(f"the record FAILED: {result['error']}")
        return False
    early = "" if result["ended_by"] == "the launcher" else f"; ended early by {result['ended_by']}"
    unread = (
        "; more were left unread at the end: the recorder was too far behind"
        if result["unread"]
        else ""
    )
    progress(
        f"record {result['file']}: {result['messages']} messages, {result['lost']}"
        f" lost{unread}{early}"
    )
    return True
