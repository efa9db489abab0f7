# SPDX-License-Identifier: GPL-3.0-or-later
"""A session: for each run a cell with the link of its case, the door, and the subject. A dry run has
no cells: the door reaches the content server directly."""

import contextlib
import dataclasses
import json
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..campaign import experiment_file, experiments, workloads
from ..cell.cell import ADDRESS
from ..errors import BadInput, NotWritten
from ..machine import system
from ..machine.places import Places
from ..runs import emulate
from ..runs.run import MeasuredCell
from . import content
from . import desk as desks
from . import door as doors
from .cases import FIRST_NETWORK_S, VIDEO, Case, VideoCase
from .study import Run, Study

PORT = 8080  # port of the content server, in the namespace of the base station
CELL = "ratings"
LAST_PAGE_S = 3.0  # seconds in which the browser requests the last page
SETTLE_S = 0.5  # seconds for a page's last message after the subject has pressed the button
LINKS = "links.jsonl"

DEFAULTS = "defaults-umts-a.yaml"  # TCP settings of the experiments after Teyeb (2006)


def tcp_of(places: Places) -> dict[str, Any]:
    """TCP of the literature, for both ends of the link, as campaign/workloads.py takes it."""
    common = experiment_file.read_defaults(experiments.folder(places.top) / DEFAULTS, "full")
    settings = common["settings"]
    return {
        "tcp": common["tcp"],
        "congestion_control": settings["congestion_control"],
        "window_bytes": settings["window_bytes"],
    }


# Acts in a browser: it is given the address of the first page and the door.
Subject = Callable[[str, doors.Door], None]


@dataclasses.dataclass
class Seen:
    """The result of a run, without the grade."""

    traffic: dict[str, Any]
    stopped_s: float
    report: dict[str, Any] | None = None  # report of the emulator

    @property
    def is_valid(self) -> bool:
        return self.report is None or bool(self.report["verdict"]["valid"])


# --- the link of a run ---


def listening(address: str, port: int) -> socket.socket:
    return socket.create_server((address, port), backlog=64)


@contextlib.contextmanager
def content_server(cell: MeasuredCell) -> Iterator[None]:
    made = system.in_namespace(cell.namespace("base"), lambda: listening(ADDRESS["base"], PORT))
    with doors.Server(("", 0), doors.ContentHandler, made):
        yield


def connected(address: tuple[str, int]) -> socket.socket:
    """A connection that is made whatever the link loses; the kernel repeats what was lost."""
    return socket.create_connection(address, timeout=doors.SILENCE_S)


def through_link(cell: MeasuredCell) -> doors.Connect:
    terminal = cell.namespace("terminal")
    return lambda: connected_from(terminal)


def connected_from(namespace: str) -> socket.socket:
    """The socket is made in the namespace, and connected outside: a thread that waits for the
    handshake is not to stay there."""
    made = system.in_namespace(namespace, lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    try:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.settimeout(doors.SILENCE_S)
        made.connect((ADDRESS["base"], PORT))
    except BaseException:
        made.close()
        raise
    return made


class Handover:
    """Hands the terminal over some time after the video was started: a wall clock of the run, read
    by the code that waits for the subject."""

    def __init__(self, case: Case, cell: MeasuredCell) -> None:
        self.network = case.handover if isinstance(case, VideoCase) else None
        self.cell = cell
        self.at: float | None = None

    def begin(self, now: float) -> None:
        self.at = now + FIRST_NETWORK_S

    def look(self) -> None:
        if self.network is not None and self.at is not None and time.monotonic() >= self.at:
            self.cell.air.configure({"hetnet": {"network": self.network}})
            self.network = None


def in_cell(
    case: Case,
    seed: int,
    places: Places,
    during: Callable[[doors.Connect, Callable[[float], object], Handover], Seen],
    name: str = CELL,
    cores: str | None = "auto",
) -> Seen:
    """`during(connect, pause, handover)` in a cell with the link of the case."""
    seen: list[Seen] = []

    def workload(cell: MeasuredCell) -> dict[str, Any]:
        workloads.apply_tcp(cell, tcp_of(places))
        handover = Handover(case, cell)

        def pause(seconds: float) -> None:
            cell.supervisor.pause(seconds)
            handover.look()

        with content_server(cell):
            cell.mark("first")
            try:
                seen.append(during(through_link(cell), pause, handover))
            finally:
                workloads.hang_up(cell)
        return {}

    report = emulate.run(
        {**case.settings(), "seed": seed}, workload, places=places, name=name, cores=cores
    )
    return dataclasses.replace(seen[0], report=report)


def seed_of(study: Study, subject: int, run: Run) -> int:
    """The seed of the link's errors, another one in each run."""
    source = random.Random(
        f"openwip ratings link {study.key()['seed']} {subject} {run.task} {run.number}"
    )
    return int(source.random() * 2**31) + 1


# --- the session ---


def served(address: str, port: int, handler: type[doors.Handler]) -> doors.Server:
    """A server for the subject's browser; port 0: any that is free."""
    try:
        return doors.Server((address, port), handler)
    except OSError as e:
        raise BadInput(
            f"--listen {address} --port {port}: {e.strerror or e}; valid: an IPv4 address of this"
            " machine, and a port that is free together with the next one"
        ) from None


@dataclasses.dataclass
class Session:
    study: Study
    subject: int
    places: Places
    progress: Callable[[str], None]
    dry: bool = False
    name: str = CELL
    speed: float = 1.0
    simulated: bool = False  # the subject is a program
    look: Callable[[], None] = lambda: None  # raises what ended that program

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)
        self.look()

    def carry_out(self, address: str, port: int, subject: Subject | None = None) -> int:
        """Carries out all runs that are left, and returns their number. `subject`: a program, which
        is called in a thread with the address of the first page."""
        left = self.study.left(self.subject)
        if not left:
            raise BadInput(
                f"--subject {self.subject}: this subject has rated all runs of the session; valid:"
                " the number of another subject"
            )
        if any(run.task == VIDEO for run in left):
            self.progress("making the video")
            content.make_video()
        door = doors.Door()
        with (
            served(address, port + 1 if port else 0, doors.handler_of(door)) as behind,
            self.at_desk(address, port, behind) as (first, desk),
        ):
            self.progress(f"open {first} in the subject's browser")
            thread = self.begin(subject, first, door)
            desk.wait(desks.PREPARING, pause=self.pause)
            for number, run in enumerate(left, 1):
                self.progress(f"{desks.title_of(run)} ({number} of {len(left)})")
                self.one(run, desk, door)
            desk.go(desks.DONE)
            self.progress("the session is over")
            if thread is not None:
                thread.join(LAST_PAGE_S)
            else:
                time.sleep(LAST_PAGE_S)
        return len(left)

    @contextlib.contextmanager
    def at_desk(
        self, address: str, port: int, behind: doors.Server
    ) -> Iterator[tuple[str, desks.Desk]]:
        """The address of the first page, and the desk that serves it."""
        desk = desks.Desk(behind.server_port, f"speed={self.speed:g}")
        with served(address, port, desks.handler_of(desk)) as server:
            shown = "localhost" if address in ("127.0.0.1", "0.0.0.0") else address
            yield f"http://{shown}:{server.server_port}/?{desk.token}", desk

    def begin(
        self, subject: Subject | None, first: str, door: doors.Door
    ) -> threading.Thread | None:
        if subject is None:
            return None
        thread = threading.Thread(target=subject, args=(first, door), daemon=True)
        thread.start()
        return thread

    def one(self, run: Run, desk: desks.Desk, door: doors.Door) -> None:
        desk.prepare(run)

        def during(
            connect: doors.Connect, pause: Callable[[float], object], handover: Handover | None
        ) -> Seen:
            with door.opened(doors.Upstream(connect)) as traffic:
                desk.go(desks.READY)
                # Later phases, too: a program presses faster than anybody looks here.
                desk.wait(desks.RUNNING, desks.RATING, desks.PREPARING, pause=pause)
                if handover is not None:
                    handover.begin(desk.since[desks.RUNNING])
                desk.wait(desks.RATING, desks.PREPARING, pause=pause)
                stopped = desk.since[desks.RATING] - desk.since[desks.RUNNING]
                pause(SETTLE_S / self.speed)
                return Seen(traffic.report(), round(stopped, 3))

        if self.dry:
            with doors.Server(("127.0.0.1", 0), doors.ContentHandler) as content:
                at = ("127.0.0.1", content.server_port)
                seen = during(lambda: connected(at), self.pause, None)
        else:
            seed = seed_of(self.study, self.subject, run)
            seen = in_cell(run.case, seed, self.places, during, self.name)
            self.keep_link(run, seen, seed)
        desk.wait(desks.PREPARING, pause=self.pause)
        self.study.add(self.subject, self.line(run, seen, desk))

    def line(self, run: Run, seen: Seen, desk: desks.Desk) -> dict[str, Any]:
        """A line of the log: nothing in it names the case."""
        found: dict[str, Any] = {
            "subject": self.subject,
            "method": self.study.method(self.subject),
            "task": run.task,
            "run": run.number,
            "code": run.code,
            "rating": desk.rating,
            "comment": desk.comment,
            "valid": seen.is_valid,
            "dry": self.dry,
            "simulated": self.simulated,
            "stopped_s": seen.stopped_s,
        }
        events = seen.traffic.pop("events", None)
        return found | seen.traffic | (of_events(events) if events else {})

    def keep_link(self, run: Run, seen: Seen, seed: int) -> None:
        """The case, its settings and the verdict of the link, in a file beside the key that is as
        secret as the key."""
        assert seen.report is not None
        line = {
            "subject": self.subject,
            "task": run.task,
            "run": run.number,
            "case": run.case.name,
            "seed": seed,
            "verdict": seen.report["verdict"],
            "bearer": seen.report["bearer"],
        }
        path = self.study.folder / LINKS
        try:
            descriptor = os.open(
                path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600
            )
            with open(descriptor, "a", encoding="utf-8") as f:
                f.write(json.dumps(line) + "\n")
        except OSError as e:
            raise NotWritten(f"{path}: cannot be written: {e.strerror or e}") from None


def of_events(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Facts of the video: when it began, how often and how long it stalled, the encodings shown, and
    whether it was seen to its end. Times are seconds since its page was asked for."""
    started = next((e["t_s"] for e in events if e["what"] == "start"), None)
    standing, found = None, []
    for event in events:
        if event["what"] == "rebuffer":
            standing = event
        elif event["what"] == "resume" and standing is not None:
            found.append({"t_s": standing["t_s"], "length_s": event.get("stood_s")})
            standing = None
    if standing is not None:  # the subject stopped the video during a stall
        found.append({"t_s": standing["t_s"], "length_s": None})
    return {
        "startup_s": started,
        "rebuffers": found,
        "levels": [
            {"t_s": e["t_s"], "kbps": e.get("kbps")} for e in events if e["what"] == "level"
        ],
        "end_s": next((e["t_s"] for e in events if e["what"] == "end"), None),
        "failed": any(e["what"] == "failed" for e in events),
    }
