# SPDX-License-Identifier: GPL-3.0-or-later
"""The programmable attenuator in the cable of a run (docs/how-to/attenuator.md): a process of the
cell, which plays a table or an SNR trace from the begin of the measured time on, or from the edge
at its trigger input, or takes levels; and what the run asks of it.

  python -m openwip_cli cable-attenuator FILE [--check]     FILE: attenuator.* of the scenario,
  endpoints; --check: is it there, can it do that"""

import contextlib
import os
import pathlib
import queue
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any

import zmq
from openwip_schema import attenuator_pb2
from openwip_schema import control_pb2 as pb

from ..cell import attenuator_tables as tables
from ..cell import configuration
from ..cell.cell import Cell
from ..cell.process import Process
from ..cell.session import start_process
from ..cell.supervisor import SupervisorClient
from ..errors import BAD_INPUT, BadInput, NoAnswer, Terminated, catch, not_valid, of_program
from ..figures import attenuator as figures
from ..machine import rights, scratch
from ..machine.places import Places
from ..messages import attenuator as link
from ..messages import control, telemetry
from ..settings.command_line import read
from ..settings.scenario import NONE, Scenario, text_of
from ..settings.table import setting
from ..text import of_yaml, to_yaml

LEVELS = setting("attenuator.levels_db", "demo", running=True)
# seconds; BEGUN_S is long, because a run whose table never began is lost
LOOK_S, TAKEN_S, BEGUN_S = 0.2, 2.0, 10.0
TOPIC, PUBLISHED_EVERY_S = "attenuator", 0.1
BUSY = ("armed", "playing")


# --- the process ---


class Player:
    """Asked by a thread of its own, in which nothing speaks to the device."""

    def __init__(self, device: link.Attenuator, wanted: dict[str, Any], snr: Any) -> None:
        """`snr`: mean_snr() of the trace, if it is one of SNRs."""
        self.device, self.wanted, self.snr, self.name = device, wanted, snr, device.find()
        self.channels, self.table, self.clipped = (
            tables.channel_numbers("--attenuator-channels", [str(c) for c in wanted["channels"]]),
            b"",
            0,
        )
        self.heard, self.status = time.monotonic(), device.status()
        self.missed_before = self.status.missed_ticks
        self.begins, self.wrong, self.set_by_hand = threading.Event(), "", 0
        self.asked: queue.SimpleQueue[tuple[list[float], queue.SimpleQueue[str]]] = (
            queue.SimpleQueue()
        )

    def prepare(self) -> None:
        """Levels as at the begin."""
        if self.wanted["trace"]:
            self.channels, self.table, self.clipped = tables.prepare(
                self.device,
                self.wanted["trace"],
                self.channels,
                self.wanted["at_zero_db"],
                self.wanted["period_ms"],
                self.snr,
            )
            self.set([q * link.STEP_DB for q in self.table[: len(self.channels)]])
        elif self.wanted["levels_db"]:
            self.set(self.wanted["levels_db"])
        self.device.command(f"SYST:WATC:TIM {self.wanted['silence_ms']} MS")
        self.device.command(
            f"SYST:WATC:ACT {'MAX' if self.wanted['at_end'] == 'maximum' else 'HOLD'}"
        )

    def set(self, levels: list[float]) -> None:
        if len(levels) not in (1, len(self.channels)):
            raise not_valid(
                LEVELS.key,
                text_of(levels),
                f"one level, or one for each of channels {text_of(self.channels)}",
            )
        for c, top, db in zip(
            self.channels,
            tables.limits(self.device, self.channels),
            levels * (len(self.channels) // len(levels)),
        ):
            if db > top * link.STEP_DB:
                raise not_valid(
                    LEVELS.key,
                    f"{db:g}",
                    f"0 to {top * link.STEP_DB:g} dB",
                    more=f" for channel {c}",
                )
            self.device.command(f"INP{c}:ATT {tables.quarters(LEVELS.key, str(db)) * link.STEP_DB}")

    def see(self, status: attenuator_pb2.Status) -> None:
        self.heard, self.status = time.monotonic(), status

    def run(self) -> None:
        """Drives the attenuator until Terminated is raised."""
        if self.table:
            with self.noted():
                self.device.play(
                    self.channels,
                    self.table,
                    self.wanted["period_ms"],
                    self.wanted["start"] == "external",
                    seen=self.see,
                    ready=self.begins.is_set,
                )
        while True:
            with self.noted():
                self.see(self.device.status())
            with contextlib.suppress(queue.Empty):
                levels, answer = self.asked.get(timeout=LOOK_S)
                try:
                    self.set(levels)
                    self.see(self.device.status())
                    self.set_by_hand += 1
                    answer.put("")
                except (BadInput, NoAnswer) as e:
                    answer.put(str(e))

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        try:
            yield
        except NoAnswer as e:  # the device may also refuse
            self.wrong = self.wrong or str(e)

    def leave(self) -> None:
        with contextlib.suppress(NoAnswer):
            self.device.stop()
            for c in self.channels if self.wanted["at_end"] == "maximum" else ():
                self.device.command(f"INP{c}:ATT MAX")

    def configure(self, text: str) -> None:
        tree = of_yaml(text)
        if (
            not isinstance(tree, dict)
            or tree.keys() != {"attenuator"}
            or not isinstance(tree["attenuator"], dict)
            or tree["attenuator"].keys() != {"levels_db"}
        ):
            raise BadInput(
                f"only {LEVELS.key} can change in the attenuator of a running cell; valid:"
                f" {LEVELS.key}"
            )
        levels = read(LEVELS.key, LEVELS.kind, tree["attenuator"]["levels_db"])
        if not levels:
            raise BadInput(f"{LEVELS.key} is empty; valid: {LEVELS.kind.valid}")
        if link.STATES[self.status.state] in BUSY:
            raise BadInput(
                f"{LEVELS.key} cannot change while the attenuator plays; valid: once that is over,"
                " or a run without --attenuator-trace"
            )
        answer: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.asked.put((levels, answer))
        try:
            wrong = answer.get(timeout=TAKEN_S)
        except queue.Empty:
            wrong = "the attenuator does not answer"
        if wrong:
            raise BadInput(wrong)

    def answer(self, message: bytes) -> pb.Reply:
        reply = pb.Reply(ok=True)
        try:
            request = pb.Request.FromString(message)
            # resetting the counters begins the measured time
            if request.WhichOneof("what") == "reset_counters":
                self.begins.set()
            elif request.WhichOneof("what") == "configure_yaml":
                self.configure(request.configure_yaml)
        except Exception as e:  # every request is answered
            reply.ok, reply.error = False, f"configure: {e}"
        reply.attenuator.CopyFrom(self.reported())
        return reply

    def reported(self) -> pb.AttenuatorStatus:
        device, reply = self.status, pb.AttenuatorStatus(channels=self.channels)
        reply.levels_db.extend(device.levels[c - 1] * link.STEP_DB for c in self.channels)
        reply.effective_yaml = to_yaml(
            {"attenuator": {"levels_db": text_of(list(reply.levels_db))}}
        )
        reply.name, reply.state, reply.wrong, reply.set_by_hand = (
            self.name,
            link.STATES[device.state],
            self.wrong,
            self.set_by_hand,
        )
        reply.steps, reply.clipped, reply.silent_s = (
            len(self.table) // len(self.channels),
            self.clipped,
            time.monotonic() - self.heard,
        )
        reply.played, reply.underflows, reply.late, reply.missed_ticks = (
            device.played,
            device.underflows,
            device.late,
            device.missed_ticks - self.missed_before,
        )
        return reply

    def serve(
        self, socket: zmq.Socket, publisher: telemetry.Publisher, station: telemetry.Reader
    ) -> None:
        """`station`: its status says the slot."""
        slot, due = 0, time.monotonic()
        while True:
            if socket.poll(max(0, due - time.monotonic()) * 1000):
                socket.send(self.answer(socket.recv()).SerializeToString())
            if time.monotonic() < due:
                continue
            due = max(due + PUBLISHED_EVERY_S, time.monotonic())
            slot = max((m.telemetry.slot for m in station.poll()), default=slot)
            if publisher.wanted(TOPIC):
                publisher.publish(TOPIC, slot, attenuator=self.reported())


def main(arguments: list[str], places: Places) -> int:
    wanted = of_yaml(pathlib.Path(arguments[0]).read_text())
    snr = (
        tables.mean_snr(wanted["trace"], places)
        if wanted["trace"] and wanted["at_zero_db"] is not None
        else None
    )
    with link.Attenuator(wanted["port"]) as device:
        socket = zmq.Context.instance().socket(zmq.REP)
        if arguments[1:] != ["--check"]:
            socket.bind(wanted["control"])
            publisher = telemetry.Publisher(wanted["telemetry"], [TOPIC])
            # The controller stops after a tenth of a second of silence.
            with contextlib.suppress(OSError):
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        rights.become_account()  # rights are given up before a table of unknown origin is read
        player = Player(device, wanted, snr)
        if arguments[1:] == ["--check"]:
            if wanted["trace"]:
                tables.prepare(
                    device,
                    wanted["trace"],
                    player.channels,
                    wanted["at_zero_db"],
                    wanted["period_ms"],
                    snr,
                )
            return 0
        catch()
        try:
            player.prepare()
            station = telemetry.Reader({"station": wanted["slots"]}, ("status",))
            threading.Thread(
                target=player.serve, args=(socket, publisher, station), daemon=True
            ).start()
            player.run()
        except Terminated:
            print("attenuator: asked to stop", flush=True)
        finally:
            player.leave()
    return 0


# --- as a run asks it ---


class CableAttenuator:
    """The attenuator of one run; without a port there is none, and nothing happens."""

    def __init__(
        self, cell: Cell, supervisor: SupervisorClient, scenario: Scenario, places: Places
    ) -> None:
        self.cell, self.supervisor, self.places = cell, supervisor, places
        self.wanted = config(
            scenario,
            {
                "control": cell.endpoint("attenuator.control"),
                "telemetry": cell.endpoint("attenuator.telemetry"),
                "slots": cell.endpoint(f"{cell.stations[0]}.telemetry"),
            },
        )
        self.control = control.Control(cell.endpoint("attenuator.control"))
        self.reported: dict[str, Any] | None = None

    def start(self) -> None:
        if self.wanted:
            file = configuration.write_config(self.cell, "attenuator", self.wanted)
            start_process(
                self.supervisor,
                Process(
                    "attenuator",
                    self.places.module("cable-attenuator", file),
                    {"OPENWIP_RUN": str(self.cell.run)},
                    capabilities=rights.TO_BECOME_THE_ACCOUNT,
                ),
                self.control,
            )

    def begin(self) -> None:
        if self.wanted:
            with contextlib.suppress(NoAnswer):
                self.control.reset_counters(BEGUN_S)

    def ask(self) -> dict[str, Any] | None:
        """A fact of the verdict; the status is kept for the report. None: there is no
        attenuator."""
        if self.wanted:
            try:
                self.reported = figures.report_of(self.control.status())
            except NoAnswer:
                self.reported = figures.report_of(None)
        return self.reported


def config(scenario: Scenario, endpoints: dict[str, str] | None = None) -> dict[str, Any]:
    """The configuration of the attenuator; {}: the cell has none."""
    wanted = {
        key.removeprefix("attenuator."): value
        for key, value in scenario.values.items()
        if key.startswith("attenuator.")
    }
    if wanted.get("port", NONE) == NONE:
        return {}
    return (
        wanted
        | (endpoints or {})
        | {"trace": "" if wanted["trace"] == NONE else os.path.abspath(wanted["trace"])}
    )


def check(scenario: Scenario, places: Places) -> None:
    """Checks device and table before anything is made. BadInput has the error of the device or the
    table."""
    if wanted := config(scenario):
        with scratch.file(to_yaml(wanted)) as file:
            done = subprocess.run(
                places.module("cable-attenuator", file, "--check"), capture_output=True, text=True
            )
        if done.returncode:
            raise of_program("openwip", min(done.returncode, BAD_INPUT), done.stderr)
