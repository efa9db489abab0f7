# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip station base|terminal: one side of a cell on this computer, the other one on another
(docs/how-to/two-computers.md)."""

import collections
import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

from ..cell import configuration, faders, outside, processes, remote, station
from ..cell.cell import Cell
from ..cell.process import Process
from ..cell.radio_loop import BETWEEN_SLOTS, find
from ..cell.running import STILL_S, asked, interface_counts, read_at_rest
from ..cell.session import OBSERVER, START_TIMEOUT_S, Progress, identity, owned_cell, start_process
from ..cell.supervisor import SupervisorClient
from ..errors import BAD_INPUT, SIGNALS, BadInput, CellDied, Terminated, not_valid
from ..figures import fading, key_figures, meaning, one_station
from ..figures.facts import Facts
from ..machine import outputs, own_files, rights, slot_path, system
from ..machine.places import Places
from ..measure.applications import heard, watching
from ..messages import control
from ..shapes import AirStatus, Clipped, Interface, MacStatus
from . import cable_attenuator, loop, phases, run
from .options import Options
from .station_options import Station, parse

LOOK_S = 0.2
BEFORE_LEAVING_S = 3.0  # seconds; a station switches its radio off before it reports its end


# --- while it runs ---


class Follower:
    """Reports changes: the other station connects and leaves, the receiver locks and loses lock."""

    def __init__(self, role: str, progress: Callable[[str], None]) -> None:
        self.progress = progress
        self.other = "the base station" if role == "terminal" else "the terminal"
        self.terminal = role == "terminal"
        self.returns = -1  # how often the other station came again
        # base station: other terminals that it turned away; terminal: times that it was turned away
        self.refused = 0
        # last status before the other station left; later ones say nothing about the link
        self.until: MacStatus | None = None
        self.before: tuple[bool, bool] = (False, False)
        self.first: MacStatus | None = None
        self.clips = False
        self.recent: collections.deque[MacStatus] = collections.deque(
            maxlen=round(BEFORE_LEAVING_S / LOOK_S)
        )

    def __call__(self, now: MacStatus) -> None:
        peer, locked = now.peer_connected, self.terminal and now.radio.locked
        was_there, was_locked = self.before
        self.recent.append(now)
        self.first = self.first or now
        if peer != was_there:
            self.returns += peer
            self.until = None if peer else self.recent[0]
            self.progress(f"{self.other} {'is there' if peer else 'has left'} (slot {now.slot})")
        if now.peers_refused > self.refused:
            self.refused = now.peers_refused
            self.progress(
                "turned away: the base station has another terminal, which keeps its place; this"
                " one goes on trying"
                if self.terminal
                else (
                    f"another terminal with the same key was turned away ({self.refused} so far);"
                    " the first one keeps its place"
                )
            )
        if locked != was_locked:
            self.progress(
                f"locked: {key_figures.listed(key_figures.of_radio(now.radio))}"
                if locked
                else f"lock lost ({meaning.lock(now.radio)})"
            )
        scale = one_station.at_full_scale(self.first, now)
        if self.terminal and not self.clips and one_station.clips(**scale):
            self.clips = True
            self.progress(
                f"{one_station.CLIPS} ({scale['clipped']} of {scale['samples']} samples so far)"
            )
        self.before = (peer, locked)


class Running:
    """This station's macd, as the phases ask it."""

    def __init__(self, cell: Cell, supervisor: SupervisorClient, role: str) -> None:
        self.cell, self.supervisor, self.role = cell, supervisor, role
        self.macd = control.Control(cell.endpoint(f"{role}.control"))

    def status(self) -> MacStatus:
        found: MacStatus = asked(self.supervisor, self.macd)
        return found

    def at_rest(self) -> tuple[MacStatus, Interface | None]:
        """(status, the kernel's counts), the latter only if nothing moved meanwhile."""

        def counts(s: MacStatus) -> tuple[bytes, bytes]:
            return s.downlink.SerializeToString(deterministic=True), s.uplink.SerializeToString(
                deterministic=True
            )

        return read_at_rest(
            self.status,
            counts,
            lambda: interface_counts(self.cell, self.role),
            lambda: self.supervisor.pause(STILL_S),
        )


class Channel:
    """A fader between two stations, which may have been there for long, or what the base station's
    flowgraph makes (air.fade: transmitter). Without an endpoint its status is not known."""

    def __init__(
        self,
        what: str,
        endpoint: str | None,
        before: AirStatus | None,
        keys: remote.ClientKeys | None = None,
    ) -> None:
        self.what, self.endpoint, self.before, self.keys = what, endpoint, before, keys

    def status(self) -> tuple[AirStatus | None, list[str]]:
        """The status, and a list of what did not answer."""
        try:
            return faders.ask(self.endpoint, self.keys) if self.endpoint else None, []
        except faders.SILENT:
            return None, [f"the {self.what} at {self.endpoint}"]

    def faded(self) -> tuple[Clipped | None, list[str]]:
        """The samples that the channel clipped during the run, and a list of what did not answer."""
        after, unknown = self.status()
        return fading.faded(self.before, after) if after else None, unknown


def own_channel(endpoint: str | None) -> Channel:
    return Channel("channel", endpoint, faders.ask(endpoint) if endpoint else None)


def fader_of(endpoint: str | None, delay_samples: int, keys: str | None = None) -> Channel:
    if endpoint is None:
        return Channel("fader", None, None)
    air = faders.of_station(endpoint, keys)
    if air.delay_samples > delay_samples:
        raise not_valid(
            "--fader-delay-samples",
            delay_samples,
            "the same number as the fader",
            more=f", and the running fader has {air.delay_samples}",
        )
    return Channel("fader", endpoint, air, faders.keys_of_station(endpoint, keys))


class StationRun(phases.Run):
    """The run of one station. `fader`: the fader between the stations. The traffic is whatever the
    user runs in the namespace, until the time is over or Ctrl-C."""

    def __init__(
        self,
        running: Running,
        wanted: Station,
        options: Options,
        places: Places,
        fader: Channel,
        progress: Callable[[str], None],
    ) -> None:
        super().__init__()
        self.running, self.wanted, self.options, self.places = running, wanted, options, places
        self.fader, self.progress = fader, progress
        self.follow = Follower(wanted.role, progress)
        self.attenuator = cable_attenuator.CableAttenuator(
            running.cell, running.supervisor, options.scenario, places
        )

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        with watching(self.running.cell) as (self.watch, _):
            yield

    def start(self) -> None:
        wanted, running, places, progress = self.wanted, self.running, self.places, self.progress
        cell, supervisor, role = running.cell, running.supervisor, wanted.role
        macd, radio = station.processes(
            cell, self.options.scenario, role, wanted.radio, wanted.peer, places
        )
        progress(
            f"starting {macd.name}: {'listens at' if role == 'base' else 'connects to'}"
            f" {wanted.peer.endpoint}, {'with keys' if wanted.peer.keys else 'this machine only'}"
        )
        start_process(supervisor, macd, running.macd)
        scenario = self.options.scenario
        outside.start(
            cell,
            self.options.outside,
            scenario["network.ipv6"] == "on",
            scenario["network.mtu"],
            progress,
        )
        self.attenuator.start()
        progress(
            f"starting the radio: {wanted.radio.arguments}, clock {wanted.radio.clock_source}, time"
            f" {wanted.radio.time_source}"
        )
        supervisor.start(radio)
        if not supervisor.wait_until(lambda: running.status().slot > 0, START_TIMEOUT_S + 60):
            supervisor.blame("the radio does not deliver slots")
        supervisor.start(
            Process(
                "observer",
                [
                    places.program(OBSERVER),
                    "--set",
                    f"stations={role}={cell.namespace(role)}",
                    "--set",
                    f"user={system.account()[0]}",
                ],
                {"OPENWIP_RUN": str(cell.run)},
                essential=False,
            )
        )
        if wanted.radio.power is not None:
            progress(carrier(cell))
            if warned := station.adjacent_channel_warning(wanted.radio.power):
                progress(warned)
        progress(
            f"up: ./openwip exec --name {cell.name} {role} -- COMMAND runs one in its namespace,"
            " Ctrl-C ends it"
        )

    def traffic(self) -> None:
        running, supervisor = self.running, self.running.supervisor
        self.stall_monitor = slot_path.StallMonitor(supervisor.placement.realtime, self.places)
        self.first, self.faults = running.status(), slot_path.PageFaults(supervisor.pids)
        self.own = own_channel(
            running.cell.endpoint(configuration.TRANSMITTER)
            if self.options.scenario.fade_in_transmitter
            else None
        )
        self.attenuator.begin()

        def look() -> bool:
            self.follow(running.status())
            return False

        try:
            supervisor.wait_until(look, self.wanted.duration_s or 1e9, every=LOOK_S)
        except Terminated as e:
            if e.signum not in SIGNALS:
                raise
            self.progress("asked to end")

    def drain(self) -> None:
        """The other station is on another computer: nothing here can wait for it."""
        supervisor = self.running.supervisor
        self.now, self.kernel = self.running.at_rest()
        self.follow(self.now)
        self.watch.end()
        self.stalled = self.stall_monitor.report()
        self.machine = slot_path.granted(supervisor.pids) | {"page_faults": self.faults.report()}

    def facts(self) -> Facts:
        air, silent = self.fader.status()
        self.faded, unknown = self.own.faded()
        role, first, now, supervisor = (
            self.wanted.role,
            self.first,
            self.now,
            self.running.supervisor,
        )
        self.channel = one_station.fader_of(role, first, now, self.fader.before, air)
        return one_station.facts_of(
            role,
            first,
            self.follow.until or now,
            now,
            self.kernel,
            self.follow.returns,
            self.channel,
            self.stalled,
            self.faded,
            heard=heard(self.watch, supervisor.lost, silent + unknown),
            noted=supervisor.noted,
            page_faults=self.machine["page_faults"],
            attenuator=self.attenuator.ask(),
        )

    def rows(self) -> dict[str, Any]:
        role, now, options = self.wanted.role, self.now, self.options
        found: dict[str, Any] = one_station.result(role, self.first, now) | {
            "standstills": self.stalled,
            "machine": self.machine,
            "peer": {
                "endpoint": self.wanted.peer.endpoint,
                "returns": self.follow.returns,
                "there": self.follow.until is None,
            },
        }
        some = {
            "attenuator": self.attenuator.reported,
            "loop": options.loop_found,
            "faded": self.faded,
            "fader": self.channel,
        }
        found |= {name: value for name, value in some.items() if value}
        if options.scenario.cabled and role == "terminal":
            found["bursts_heard"] = one_station.heard(now)
        return found | identity(options.scenario, self.places)


def carrier(cell: Cell) -> str:
    """The level that the radio made of the requested power: facts of its flowgraph, in words."""
    text = own_files.read(cell.run / "base.radio.log").decode(errors="replace")
    for line in text.splitlines():
        with contextlib.suppress(ValueError, LookupError, TypeError):
            facts = json.loads(line)
            power, gain = float(facts["carrier_dbm"]), float(facts["gain_db"])
            return f"carrier of {power:.1f} dBm: gain {gain:g} dB"
    return "the radio does not say its power"


def reported_by_the_device(e: CellDied) -> Exception:
    """The error in the radio's own words as BadInput, if the radio ended because it is absent,
    refuses a setting, has no reference, or its address is taken; otherwise `e` itself."""
    refused = [
        words for name, words in e.last_words if name == e.died and e.ended_with == BAD_INPUT
    ]
    return BadInput(refused[0]) if refused else e


def main(arguments: list[str], places: Places) -> int:
    wanted, options = parse(arguments, faders.delay_of, lambda radio: find(radio, places))
    progress = Progress()
    if wanted.unused:
        progress(f"of the scenario file a station has no use for {', '.join(wanted.unused)}")
    outputs.check_given("--json", options.json)
    rights.require_for_a_cell()
    system.require_tun()
    places.check_built(processes.MACD, OBSERVER, "python/openwip_schema")
    cable_attenuator.check(options.scenario, places)
    outside.check(options.outside)
    fader = fader_of(wanted.fader, options.scenario["fader.delay_samples"], wanted.peer.keys)
    try:
        with owned_cell(
            options.name,
            progress,
            terminals=int(wanted.role == "terminal"),
            base=wanted.role == "base",
        ) as (cell, supervisor):
            if options.scenario["link.loop"] == loop.AUTO:
                loop.take(
                    options, loop.radios_of_base(wanted.radio), BETWEEN_SLOTS, places, progress
                )
            progress(f"cell '{cell.name}': namespace {cell.namespace(wanted.role)}")
            result = run.in_cell(
                cell,
                supervisor,
                options,
                places,
                progress,
                lambda: phases.carry_out(
                    StationRun(
                        Running(cell, supervisor, wanted.role),
                        wanted,
                        options,
                        places,
                        fader,
                        progress,
                    )
                ),
            )
    except CellDied as e:
        raise reported_by_the_device(e) from None
    return run.report(result, options, one_station.screen(result))
