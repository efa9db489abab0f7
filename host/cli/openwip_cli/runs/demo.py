# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo: start a cell, measure it, end it. One progress line for each phase.

run_workload(options, workload, progress) is the entry for programs, as run() of the emulator
(emulate.py) is."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ..air import SAMPLE_RATE, SLOTS_PER_SECOND
from ..cell import configuration, outside, processes, remote
from ..cell.cell import Cell
from ..cell.process import FIRST_DESCRIPTOR
from ..cell.program_check import check_config
from ..cell.session import (
    OBSERVER,
    START_TIMEOUT_S,
    Progress,
    identity,
    owned_cell,
    start_observers,
    start_process,
)
from ..cell.supervisor import SupervisorClient
from ..errors import NoLock
from ..figures import checks, fading, link_counts, report
from ..figures.facts import Facts, Lock
from ..iq import command as iq
from ..iq import fader_recordings, recordings
from ..machine import outputs, slot_path
from ..machine import places as whereabouts
from ..machine.places import Places
from ..measure import pace, traffic
from ..messages import control
from ..settings import inputs
from ..settings.command_line import check_cell_name
from ..settings.scenario import SETTINGS, Scenario, check_together, scenario_of
from ..shapes import Interface
from . import cable_attenuator, loop, replay_cell, run
from .measured import MeasuredRun, Workload
from .options import Options, parse_demo
from .phases import carry_out

Answer = TypeVar("Answer")
LOCK_TIMEOUT_S = 10  # seconds of air time
CAUGHT_UP_S = 0.005  # seconds behind the wall clock at which the medium counts as on time
CATCH_UP_TIMEOUT_S = 10
FACTS_TIMEOUT_S = 3
FADER_SIDES = ("-base-input", "-terminal-output")  # endings of the names of its recordings


# --- a running cell ---


class DemoCell(run.MeasuredCell):
    """A cell of ./openwip demo, with the attenuator that may be in its cable."""

    def __init__(
        self, cell: Cell, supervisor: SupervisorClient, scenario: Scenario, places: Places
    ) -> None:
        super().__init__(cell, supervisor, scenario)
        self.attenuator = cable_attenuator.CableAttenuator(cell, supervisor, scenario, places)
        self.page_faults: dict[str, dict[str, int]] = {}

    def begin(self) -> None:
        self.attenuator.begin()

    def more_facts(self, _now: Any, _kernel: dict[str, Interface] | None) -> dict[str, Any]:
        free = self.scenario["air.clock"] == "realtime"
        return {
            "page_faults": self.page_faults if free else None,
            "attenuator": self.attenuator.ask(),
        }


@contextlib.contextmanager
def recorded_to(options: Options) -> Iterator[dict[str, outputs.NewFiles]]:
    """The new files of the recordings, by station, until they have been handed over. The fader
    makes its own, as root."""
    with contextlib.ExitStack() as files:
        yield {
            station: files.enter_context(iq.new_files(station, base))
            for station, base in options.record_iq.items()
            if station != "fader"
        }


def begin_recordings(options: Options, files: dict[str, outputs.NewFiles]) -> None:
    """Begins the recordings, whose files replace others of their names."""
    for station, base in options.record_iq.items():
        if station == "fader":
            for one in FADER_SIDES:
                recordings.remove_former(base + one, recordings.META)
        else:
            files[station].give_names()
            recordings.remove_former(base, *[recordings.SLOTS] * (station == "base"))


def recording_arguments(options: Options) -> dict[str, list[str]]:
    """The arguments of the flowgraphs, by station."""
    slots = round(options.record_iq_seconds * SLOTS_PER_SECOND)
    made = {
        "fader": [f"--set=fader.record={base}", f"--set=fader.record_s={options.record_iq_seconds}"]
        for station, base in options.record_iq.items()
        if station == "fader"
    }
    return made | {
        station: [
            "--record-iq",
            base,
            "--record-iq-slots",
            str(slots),
            "--record-iq-descriptors",
            ",".join(str(FIRST_DESCRIPTOR + n) for n in range(len(recordings.WRITTEN[station]))),
        ]
        for station, base in options.record_iq.items()
        if station != "fader"
    }


def start_cell(
    running: DemoCell,
    places: Places,
    progress: Callable[[str], None],
    record_iq: dict[str, list[str]] | None = None,
    record_to: dict[str, tuple[int, ...]] | None = None,
) -> None:
    cell, supervisor, scenario = running.cell, running.supervisor, running.scenario
    configuration.write_configs(cell, scenario)
    by_name = {
        p.name: p for p in processes.cell_processes(cell, scenario, places, record_iq, record_to)
    }
    running.attenuator.start()
    progress("starting the medium")
    start_process(supervisor, by_name["air"], running.air)
    progress("starting the base station and the terminal")
    for name in ("fader", "base.macd", "terminal.macd", "base.radio", "terminal.radio"):
        if name in by_name:
            supervisor.start(by_name[name])
    for endpoint in (running.base, running.terminal):
        if not supervisor.wait_until(endpoint.answers, START_TIMEOUT_S):
            supervisor.blame(f"{endpoint.endpoint} does not answer")
    start_observers(supervisor, cell, "demo", places)


def wait_for_lock(
    running: run.MeasuredCell, scenario: Scenario, progress: Callable[[str], None]
) -> float:
    """Returns air time from the first sample to lock, s."""

    def begun() -> bool:
        return running.ask(running.terminal).slot > 0

    if not running.supervisor.wait_until(begun, START_TIMEOUT_S):
        running.supervisor.blame("the terminal's receiver does not deliver slots")
    speed = scenario.speed
    seen = []

    def locked() -> bool:
        status = running.ask(running.terminal)
        seen.append(status)
        return status.radio.locked

    if not running.supervisor.wait_until(locked, LOCK_TIMEOUT_S / speed, every=0.02):
        raise NoLock(LOCK_TIMEOUT_S)
    unlocked = seen[-1].terminal.slots_unlocked / SLOTS_PER_SECOND
    progress(f"the terminal has locked after {unlocked * 1000:.0f} ms of air time")

    # The start of the programs kept the medium behind its schedule; it runs fast until it has made
    # up for that.
    def on_schedule() -> bool:
        air = running.ask(running.air)
        return air.wall_seconds * air.speed - air.now / SAMPLE_RATE < CAUGHT_UP_S * air.speed

    if not running.supervisor.wait_until(on_schedule, CATCH_UP_TIMEOUT_S):
        progress("the medium does not catch up with the wall clock")
    return unlocked


def most_behind(cell: Cell) -> Callable[[], float | None]:
    """A function: how far the medium was behind its schedule at worst, s; None when it does not
    say."""
    endpoint = control.Control(cell.endpoint("air.control"))

    def ask() -> float | None:
        try:
            return endpoint.status(0.5).pacing_max_us * 1e-6
        except control.NoAnswer:
            return None

    return ask


def watched(cell: DemoCell, places: Places, workload: Workload) -> dict[str, Any]:
    """The result of the workload, and how the processes kept their time meanwhile."""
    supervisor, s = cell.supervisor, cell.scenario
    stalls = slot_path.StallWatch(
        slot_path.on_its_core(supervisor.pids, supervisor.placement),
        most_behind(cell.cell),
        supervisor.placement.slot_path,
    )
    stalls.start()
    # A clock that waits loses nothing in a stall, so the monitor's thread switch in each
    # millisecond would be for nothing.
    stall_monitor = slot_path.StallMonitor(
        supervisor.placement.realtime if s["air.clock"] == "realtime" else [], places
    )
    faults = slot_path.PageFaults(supervisor.pids)
    try:
        result = workload(cell) or {}
    except traffic.TrafficFailed as e:
        result = {"failed": [str(e)]}
    cell.page_faults = faults.report()
    return result | {"stall": stalls.report(), "standstills": stall_monitor.report()}


def ping_tcp_udp(cell: run.MeasuredCell, progress: Callable[[str], None]) -> dict[str, Any]:
    """A failure is a reason of the verdict, and the rest goes on."""
    supervisor, s, failed = cell.supervisor, cell.scenario, []

    def attempt(what: str, function: Callable[[], Answer]) -> Answer | None:
        try:
            return function()
        except traffic.TrafficFailed as e:
            failed.append(f"{what}: {e}")
            return None

    pings = s["traffic.pings"]
    progress(f"ping over the idle link, {pings} times")
    result = {
        "ping_ms": attempt("ping", lambda: traffic.ping(supervisor, cell.cell, pings, s.speed)),
        "udp": None,
    }
    progress(f"TCP download with iperf3, {s['traffic.duration_s']:g} s")
    result |= attempt("TCP", lambda: run.iperf3_download(cell)) or {"tcp": None}
    if "last" not in cell.marks:
        cell.mark("last")
    udp_rate = s["traffic.udp_mbps"]
    rate = (
        udp_rate * 1e6 if udp_rate else 0.6 * result["tcp"]["goodput_bps"] if result["tcp"] else 0
    )
    if rate:
        progress(f"UDP stream with iperf3, {rate / 1e6:.2f} Mbit/s")
        result["udp"] = attempt("UDP", lambda: traffic.udp(supervisor, cell.cell, s, rate))
    return result | {"failed": failed}


def finish_fader(cell: Cell, base: str, facts: dict[str, Any], places: Places) -> Iterator[str]:
    """Completes the metadata of the fader's recordings after the fader has written its part; yields
    a line for each."""
    for node, side in (one[1:].split("-") for one in FADER_SIDES):
        try:
            made = fader_recordings.complete(
                base, node, side, str(cell.run / "fader.yaml"), places, facts, FACTS_TIMEOUT_S
            )
            yield (
                f"recorded {made.data_path}: {made.samples / SAMPLE_RATE:.3f} s,"
                f" {made.whole['openwip:samples_lost']} samples lost"
            )
        except TimeoutError:
            yield (
                f"recording {base}-{node}-{side}: no metadata, the run was shorter than"
                " --record-iq-seconds"
            )


# --- one run ---


def check(options: Options, places: Places) -> None:
    """Checks the options before anything is made, also those that only medium and fader can check,
    such as a trace file."""
    cell, scenario = Cell(options.name), options.scenario
    fader = [processes.FADER] if scenario.cabled else []
    run.check(options, places, (processes.MACD, processes.MEDIUM, OBSERVER, *fader))
    check_config(places.program(processes.MEDIUM), configuration.air_config(cell, scenario))
    if fader:
        check_config(places.program(processes.FADER), configuration.fader_config(cell, scenario))
    # Loaded by a check of the base station's process, and of the terminal's for its receiver.
    if inputs.names_of(scenario.values, inputs.that_name_code(SETTINGS)):
        for role in ("base", "terminal"):
            check_config(
                places.program(processes.MACD), configuration.mac_config(cell, scenario, role)
            )
    cable_attenuator.check(scenario, places)


def run_workload(
    options: dict[str, Any],
    workload: Workload,
    progress: Callable[[str], None] | None = None,
    *,
    places: Places | None = None,
    **around: Any,
) -> dict[str, Any]:
    """One run with applications of one's own, as emulate.run() has them: the report. `options`:
    {key of SETTINGS: value}; air.speed is 1 unless it says so, since the TCP of the hosts lives by
    the wall clock. Raises NoLock, and what that does."""
    scenario = check_together(scenario_of({"air.speed": 1.0} | options, SETTINGS))
    given = Options(scenario, **around)
    where = places or whereabouts.default()
    say: Callable[[str], None] = progress or (lambda text: None)
    check_cell_name(given.name)
    check(given, where)
    with owned_cell(given.name, say) as (cell, supervisor):
        return in_cell(cell, supervisor, given, where, say, "none", workload)


def main(arguments: list[str], places: Places) -> int:
    """Returns the exit code."""
    options = parse_demo(arguments)
    if options.replay_iq:
        return replay_cell.run_replay(options, places)
    progress = Progress()
    outputs.check_given("--json", options.json)
    check(options, places)
    try:
        if options.scenario["air.speed"] == pace.AUTO:
            return run_at_the_pace_found(options, places, progress)
        with owned_cell(options.name, progress) as (cell, supervisor):
            # a fader's clock has one pace, so no other is tried
            if options.scenario["link.loop"] == loop.AUTO:
                loop.take(options, loop.radios_of_demo(options.scenario), 0, places, progress)
            return run_cell(cell, supervisor, options, places, progress)
    except NoLock as e:
        verdict = checks.evaluate(Facts(lock=Lock(locked=False, within_s=e.within_s)))
        return run.report(
            {"verdict": verdict} | identity(options.scenario, places),
            options,
            "\n".join(report.verdict_lines(verdict)),
        )


def run_at_the_pace_found(options: Options, places: Places, progress: Callable[[str], None]) -> int:
    """--speed auto. A cell that is only tried writes no file and opens no window."""
    bare = dataclasses.replace(options, record=None, capture=None, monitor=False, record_iq={})
    watched = any((options.record, options.capture, options.monitor, options.record_iq))
    trial = "only" if watched else "if needed"
    for _ in range(pace.MOST_TRIALS):
        tried = options.scenario.speed
        try:
            with owned_cell(options.name, progress) as (cell, supervisor):
                return run_cell(cell, supervisor, bare, places, progress, trial)
        except pace.OtherPace as other:
            options.scenario.values["air.speed"] = other.speed
            if options.pace_found is None or other.speed < tried:
                options.pace_found = other.found
            if other.speed == tried:
                break
            trial = "again"
    with owned_cell(options.name, progress) as (cell, supervisor):
        return run_cell(cell, supervisor, options, places, progress)


def run_cell(
    cell: Cell,
    supervisor: SupervisorClient,
    options: Options,
    places: Places,
    progress: Callable[[str], None],
    trial: str = "none",
) -> int:
    progress(f"cell '{cell.name}': namespaces {' and '.join(cell.namespaces)}")
    result = in_cell(cell, supervisor, options, places, progress, trial)
    return run.report(result, options, report.screen(result))


def in_cell(
    cell: Cell,
    supervisor: SupervisorClient,
    options: Options,
    places: Places,
    progress: Callable[[str], None],
    trial: str,
    workload: Workload | None = None,
) -> dict[str, Any]:
    return run.in_cell(
        cell,
        supervisor,
        options,
        places,
        progress,
        lambda: phases(cell, supervisor, options, places, progress, trial, workload),
        apart=options.scenario.cabled and options.scenario["air.clock"] == "realtime",
    )


class DemoRun(MeasuredRun):
    """A demo that runs. `trial`: whether its pace is tried first: "none", "only" (after it the cell
    ends), "if needed", "again"."""

    cell: DemoCell

    def __init__(
        self,
        cell: DemoCell,
        options: Options,
        places: Places,
        progress: Callable[[str], None],
        trial: str,
        workload: Workload | None,
    ) -> None:
        self.own = workload
        super().__init__(
            cell,
            lambda _: watched(cell, places, workload or (lambda c: ping_tcp_udp(c, progress))),
            progress,
        )
        self.options, self.places, self.trial = options, places, trial

    def begin_anew(self) -> tuple[control.Control, ...]:
        return (self.cell.air, self.cell.base, self.cell.terminal)

    def start(self) -> None:
        running, options, places, progress = self.cell, self.options, self.places, self.progress
        scenario = options.scenario
        with recorded_to(options) as files:
            begin_recordings(options, files)
            start_cell(
                running,
                places,
                progress,
                recording_arguments(options),
                {s: tuple(f.fds) for s, f in files.items()},
            )
        remote.start(running.cell, running.supervisor, options.listen, places, progress)
        outside.start(
            running.cell,
            options.outside,
            scenario["network.ipv6"] == "on",
            scenario["network.mtu"],
            progress,
        )
        self.lock_s = wait_for_lock(running, scenario, progress)
        if self.trial != "none":
            pace.try_out(running, scenario, progress, again=self.trial == "again")
        if self.trial == "only":
            raise pace.OtherPace(1.0, None)
        scenario.values["air.speed"] = scenario.speed

    def rows(self) -> dict[str, Any]:
        common, now, supervisor = super().rows(), self.now, self.cell.supervisor
        radio, link = now.terminal.radio, now.terminal.terminal
        common["realtime"] |= {
            "stall": self.workload_result.pop("stall"),
            "pace_found": self.options.pace_found,
        }
        return (
            common
            | (self.workload_result if self.own is None else {"workload": self.workload_result})
            | ({"loop": self.options.loop_found} if self.options.loop_found else {})
            | {
                "placement": (
                    supervisor.placement.report()
                    | slot_path.granted(supervisor.pids)
                    | {"page_faults": self.cell.page_faults}
                ),
                "fader": fading.fader_of(now.air, radio),
                "transmitter": fading.transmitter_of(now.air, radio),
                "attenuator": self.cell.attenuator.reported,
                "radio": (
                    link_counts.counts_of(
                        radio,
                        "cell",
                        "locks",
                        "lock_losses",
                        "gain_",
                        "cfo_hz",
                        "evm_",
                        "mean_snr_db",
                        "overflows",
                        "clipped",
                    )
                    | {
                        "state": radio.mode,
                        "level_dbfs": radio.rx_level_dbfs,
                        "transitions": link_counts.counts_of(
                            radio, "candidates", "synchronisations", "losses_"
                        ),
                        "grants_failed": link.grants_failed,
                        "slots_unlocked": link.slots_unlocked,
                        "frames_combined": link.frames_combined,
                        "malformed_messages": (
                            now.base.malformed_messages + now.terminal.malformed_messages
                        ),
                        "lock_s": self.lock_s,
                    }
                ),
                # The receiver's own figure: against the SNR that it measured when the predicted slot
                # had come.
                "prediction": {
                    "nmse": radio.prediction_nmse,
                    "horizon_slots": (
                        radio.horizon or self.cell.scenario.retransmission_delay_slots
                    ),
                },
                "effective": {
                    "base": now.base.effective_yaml,
                    "terminal": now.terminal.effective_yaml,
                    "air": now.air.effective_yaml,
                },
            }
            | identity(self.options.scenario, self.places)
        )


def phases(
    cell: Cell,
    supervisor: SupervisorClient,
    options: Options,
    places: Places,
    progress: Callable[[str], None],
    trial: str,
    workload: Workload | None,
) -> dict[str, Any]:
    running = DemoCell(cell, supervisor, options.scenario, places)
    result = carry_out(DemoRun(running, options, places, progress, trial, workload))
    if options.record_iq:
        keys = {"scenario": "config", "verdict": "verdict", "versions": "versions"}
        facts = {f"openwip:{key}": result[name] for key, name in keys.items()}
        base = options.record_iq.pop("fader", None)
        lines, not_written = iq.finish_demo(cell, options.record_iq, facts)
        for line in [*lines, *(finish_fader(cell, base, facts, places) if base else ())]:
            progress(line)
        if not_written:
            result["not_written"] = "; ".join(not_written)
    return result
