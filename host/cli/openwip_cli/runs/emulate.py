# SPDX-License-Identifier: GPL-3.0-or-later
"""The bin-level emulator: one process between two interfaces, in two namespaces
(docs/explanation/emulator.md).

run(options, workload, progress) is the entry for programs: it starts a cell, lets `workload` run
whatever it likes in the namespaces, drains the link, checks the sums and returns the report with
its verdict."""

import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf import json_format
from openwip_schema import control_pb2 as pb

from ..cell import cell as cells
from ..cell import configuration, outside, remote
from ..cell.cell import Cell
from ..cell.process import Process
from ..cell.program_check import check_config, refusal
from ..cell.session import OBSERVER, identity, owned_cell, start_observers, start_process
from ..cell.supervisor import SupervisorClient
from ..channel import program as channel_program
from ..errors import BadInput, not_valid
from ..figures import capacities, conservation, link_counts, own_code
from ..figures.facts import Facts
from ..machine import places as whereabouts
from ..machine import scratch, system
from ..machine.places import Places
from ..settings import inputs, table
from ..settings.command_line import check_cell_name
from ..settings.emulator import NAME, SETTINGS, scenario_of
from ..settings.scenario import Scenario, text_of
from ..shapes import Link
from ..text import to_yaml
from . import run as runs
from . import split_tcp
from .measured import MeasuredRun, Workload
from .options import Options
from .phases import Run, carry_out

PROGRAM = "host/emulator/wip_emulator"


# --- predictions of the receiver's own predictor ---

TRACE_MARGIN_S = 30  # start, draining, sums; the emulator would begin a trace again


@contextlib.contextmanager
def with_predictions(s: Scenario, places: Places) -> Iterator[Scenario]:
    """The scenario as the emulator takes it: for `predictor`, a trace of the channel that holds
    what the receiver's predictor says from noisy gains (the emulator has no receiver)."""
    method = inputs.for_process(s.values, SETTINGS)["phy.predictor"]
    if s["channel.prediction_nmse"] != "predictor":
        if method != table.column("phy.predictor", "default", ()):
            raise not_valid(
                "--predictor",
                repr(method),
                "with --prediction-nmse predictor",
                more=", but the predicted SNR is made with the error that --prediction-nmse says",
            )
        yield s
        return
    for key, flag, plain in (("terminals", "--terminals", 1), ("channel.bins_db", "--bins-db", [])):
        if s[key] != plain:
            raise BadInput(
                f"--prediction-nmse is predictor with {flag}, but a predictor follows one fading"
                " channel of one terminal; valid: a number 0..0.5"
            )
    if s["channel.model"].endswith(".h5"):
        raise BadInput(
            f"--prediction-nmse is predictor with --channel {s['channel.model']}: a trace holds no"
            " gains to predict from; valid: a number 0..0.5, or trace if it was rendered with"
            " --predictor"
        )
    with scratch.folder() as folder:
        file = str(folder / "predicted.h5")
        shadowing = s["channel.shadowing"]
        arguments = [
            "render",
            s["channel.model"],
            f"--output={file}",
            f"--seed={s['seed']}",
            f"--seconds={s['traffic.duration_s'] + TRACE_MARGIN_S:g}",
            f"--snr={s['channel.snr_db']:g}",
            f"--horizon={s.retransmission_delay_slots}",
            "--predictor",
            f"--method={method}",
        ]
        if s["channel.speed_kmh"] is not None:
            arguments.append(f"--speed-kmh={s['channel.speed_kmh']:g}")
        if shadowing in ("on", "off"):
            arguments.append(f"--shadowing={shadowing}")
        elif shadowing != "as_defined":
            arguments.append(f"--shadowing-db={shadowing}")
        channel_program.run_program(places, arguments)
        folder.chmod(0o755)  # in virtual time the process reads it under another user
        yield Scenario(
            s.values
            | {
                "channel.model": file,
                "channel.prediction_nmse": "trace",
                "channel.speed_kmh": None,
                "channel.shadowing": "as_defined",
            },
            SETTINGS,
        )


# --- configuration of the process ---


def config(cell: Cell, s: Scenario) -> dict[str, Any]:
    """The configuration of the emulator: every setting of the scenario that it has, and those of
    the cell itself."""
    errors = (
        "none"
        if s["channel.error_free"] == "on"
        else ("symbols" if s["channel.symbol_noise"] == "on" else "computed")
    )

    def end(station: str, status: str) -> dict[str, Any]:
        address = (
            f"{cells.ADDRESS[station]}/{30 if s['terminals'] == 1 else 24}"
            if station in cells.ADDRESS
            else cells.RADIO_ADDRESS
        )
        return {
            "namespace": cell.namespace(station),
            "tun": "wip0",
            "address": address,
            "address6": (
                configuration.address6(s, station) if station in cells.ADDRESS6 else "none"
            ),
            "control": cell.endpoint(f"{status}.control"),
            "telemetry": cell.endpoint(f"{status}.telemetry"),
        }

    given = inputs.for_process(s.values, SETTINGS)
    values = {
        process_key: text_of(given[key])
        for process_key, key in table.process_keys("emulator", NAME).items()
        if given[key] is not None
    }
    return table.nested(values | {"channel.errors": errors}) | {
        "name": cell.name,
        "user": system.account()[0],
        "server": end(cells.CONTROLLER if split_tcp.asked(s) else "base", "base"),
        "terminal": end("terminal", "terminal"),
        "control": cell.endpoint("air.control"),
    }


# --- a run ---


def run(
    options: Scenario | dict[str, Any],
    workload: Workload | None = None,
    progress: Callable[[str], None] | None = None,
    *,
    places: Places | None = None,
    observers: bool = False,
    **around: Any,
) -> dict[str, Any]:
    """One run. `options`: {key of SETTINGS: value}, or a Scenario. `workload(cell: MeasuredCell) ->
    dict` runs the applications (None: iperf3); what it returns is the report's `workload`, except
    `tcp` (to the top), `cpu` (added) and `failed` (reasons of the verdict); TrafficFailed makes the
    run invalid.
    `around`: of Options; `cores`: where it runs (what placement.find() takes), None: wherever this
    process does.
    `observers`: also telemetry of TCP, processor and verdict so far, for who looks on meanwhile.
    Raises BadInput, CellDied, Terminated."""
    scenario = options if isinstance(options, Scenario) else scenario_of(options)
    more: dict[str, Any] = {"name": NAME, "cores": None} | around
    given = Options(scenario, **more)
    where = places or whereabouts.default()
    say: Callable[[str], None] = progress or (lambda text: None)
    check_cell_name(given.name)
    split_tcp.check(scenario)
    runs.check(given, where, (PROGRAM, OBSERVER))
    with with_predictions(scenario, where) as as_run:
        check_config(str(where.path(PROGRAM)), config(cells.Cell(given.name), as_run))
        if split_tcp.asked(scenario):
            check_config(
                where.program(split_tcp.PROGRAM),
                split_tcp.proxy_config(cells.Cell(given.name), as_run),
                "--check-here",
            )
        with owned_cell(
            given.name, say, scenario["terminals"], controller=split_tcp.asked(scenario)
        ) as (cell, supervisor):
            return runs.in_cell(
                cell,
                supervisor,
                given,
                where,
                say,
                lambda: carry_out(
                    EmulatorRun(
                        cell,
                        supervisor,
                        given,
                        as_run,
                        workload or runs.iperf3_download,
                        where,
                        say,
                        observers,
                    )
                ),
            )


class EmulatorRun(MeasuredRun):
    """`as_run`: the scenario as the emulator takes it."""

    def __init__(
        self,
        cell: Cell,
        supervisor: SupervisorClient,
        given: Options,
        as_run: Scenario,
        workload: Workload,
        places: Places,
        progress: Callable[[str], None],
        observers: bool,
    ) -> None:
        kind = split_tcp.SplitCell if split_tcp.asked(as_run) else runs.MeasuredCell
        super().__init__(kind(cell, supervisor, given.scenario), workload, progress)
        self.given, self.as_run, self.places, self.observers = given, as_run, places, observers

    def start(self) -> None:
        running, places = self.cell, self.places
        cell, supervisor, progress = running.cell, running.supervisor, self.progress
        tree = config(cell, self.as_run)
        path = configuration.write_config(cell, "emulator", tree)
        if isinstance(running, split_tcp.SplitCell):
            running.prepare()
        progress(f"cell '{cell.name}': starting the emulator")
        start_process(
            supervisor,
            Process(
                "emulator",
                [places.program(PROGRAM), "--config", path],
                {"OPENWIP_RUN": str(cell.run)},
                slot_path=True,
            ),
            running.air,
        )
        if isinstance(running, split_tcp.SplitCell):
            running.start(tree, places, progress, PROGRAM)
        if self.observers or self.given.keep or self.given.record:
            start_observers(supervisor, cell, "emulate", places)
        remote.start(cell, supervisor, self.given.listen, places, progress)
        s = running.scenario
        outside.start(
            cell, self.given.outside, s["network.ipv6"] == "on", s["network.mtu"], progress
        )
        if self.workload is runs.iperf3_download:
            progress(f"TCP download with iperf3, {running.scenario['traffic.duration_s']:g} s")
        self.began = time.monotonic()

    def rows(self) -> dict[str, Any]:
        found = super().rows()
        air, base, terminal = self.now.air, self.now.base, self.now.terminal
        return (
            found
            | {
                "workload": self.workload_result,
                "emulator": (
                    emulator_report(base, terminal)
                    | {
                        "release_us": {
                            "median": air.release_median_us,
                            "p99": air.release_p99_us,
                            "p999": air.release_p999_us,
                            "max": air.release_max_us,
                            "packets": air.released,
                        },
                        "realtime_priority": air.realtime_priority,
                        "relay": {r.reason: r.count.packets for r in terminal.terminal.relay},
                        "malformed_messages": (
                            base.malformed_messages + terminal.malformed_messages
                        ),
                    }
                ),
                "bearer": bearer_report(base, terminal),
                "mobility": mobility_report(base, terminal),
                "recorded": recorded_report(base, terminal),
                "split_tcp": getattr(self.cell, "found", None),
                "users": users_of(base, terminal),
                "effective": {"emulator": base.effective_yaml},
                "seconds": time.monotonic() - self.began,
            }
            | identity(self.given.scenario, self.places)
        )


def at_the_end(
    raw: dict[str, Any],
) -> tuple[pb.MacStatus, pb.MacStatus, dict[str, conservation.Path], Link]:
    """The result of a program in virtual time: both statuses and their paths when all is drained,
    and the link's interval."""

    def status(when: str, end: str) -> pb.MacStatus:
        return json_format.ParseDict(raw[when][end], pb.MacStatus())

    base, terminal = status("drained", "base"), status("drained", "terminal")
    return (
        base,
        terminal,
        conservation.paths_of(base, terminal),
        link_counts.link_interval(status("first", "base"), status("last", "base")),
    )


def bearer_report(base: pb.MacStatus, terminal: pb.MacStatus) -> dict[str, Any] | None:
    """The bearer of a UMTS link, by direction; None: the link is not of UMTS."""
    if not base.HasField("bearer"):
        return None
    return {
        way: link_counts.counts_of(status.bearer, "")
        for way, status in (("down", base), ("up", terminal))
    }


def mobility_report(base: pb.MacStatus, terminal: pb.MacStatus) -> dict[str, Any] | None:
    """The networks between which a terminal moved; None: the link has a single network."""
    if not base.HasField("mobility"):
        return None
    reported = base.mobility
    return {
        "network": reported.network,
        "destination": reported.destination,
        "handovers": reported.handovers,
        "state_changes": reported.state_changes,
        "handing_over_s": reported.handing_over_s,
        "application_bytes": reported.application_bytes,
        "latest": [link_counts.counts_of(one, "") for one in reported.latest],
        "mean_rate_bps": {
            "down": reported.mean_rate_bps,
            "up": terminal.mobility.mean_rate_bps,
        },
    }


def recorded_report(base: pb.MacStatus, terminal: pb.MacStatus) -> dict[str, Any] | None:
    """The network that is played from a record; None: the link is not played from one."""
    if not base.HasField("recorded"):
        return None
    return {
        name: {
            "mean_rate_bps": end.recorded.mean_rate_bps,
            "base_delay_ms": end.recorded.base_delay_ms,
        }
        for name, end in (("down", base), ("up", terminal))
    }


def snoop_report(base: pb.MacStatus) -> dict[str, Any] | None:
    """Counts of the Snoop agent; those of packets with their bytes."""
    if not base.HasField("snoop"):
        return None
    return {
        name: {"packets": value.packets, "bytes": value.bytes}
        if isinstance(value, pb.PacketsBytes)
        else value
        for name, value in link_counts.counts_of(base.snoop, "").items()
    }


def emulator_report(base: pb.MacStatus, terminal: pb.MacStatus) -> dict[str, Any]:
    return {
        "mean_snr_db": terminal.radio.mean_snr_db,
        "prediction_nmse": terminal.radio.prediction_nmse,
        "frames_combined": terminal.terminal.frames_combined,
        "packets_damaged": terminal.terminal.delivered_damaged.packets,
        "wlan": [link_counts.counts_of(n, "") for n in base.wlan],
        "delay_injection": (
            link_counts.counts_of(base.delay_injection, "")
            if base.HasField("delay_injection")
            else None
        ),
        "snoop": snoop_report(base),
    }


class WithoutClock(Run):
    """The emulator's link in a program that does everything at once. `raw`: its output; `tree`: its
    configuration."""

    raw: dict[str, Any]
    tree: dict[str, Any]

    def __init__(self, s: Scenario, places: Places) -> None:
        super().__init__()
        self.scenario, self.places = s, places

    def drain(self) -> None:
        self.base, self.terminal, self.paths, self.link = at_the_end(self.raw)

    def rows(self) -> dict[str, Any]:
        return {
            "realtime": {
                "clock": "virtual",
                "factor": self.raw["real_time_factor"],
                "slots": self.raw["slots"],
                "wall_seconds": self.raw["wall_seconds"],
            },
            "link": self.link,
            "packets": {name: path.report() for name, path in self.paths.items()},
            "emulator": emulator_report(self.base, self.terminal),
            "own_code": own_code.rows(self.base, self.terminal),
            "users": users_of(self.base, self.terminal),
            "effective": {"emulator": to_yaml(self.tree)},
        } | identity(self.scenario, self.places)


class Generated(WithoutClock):
    """Packets of the emulator's own generator: no namespaces, no TCP, no rights needed."""

    def __init__(self, s: Scenario, places: Places, seconds: float, packet_bytes: int) -> None:
        super().__init__(s, places)
        self.seconds, self.packet_bytes = seconds, packet_bytes

    def traffic(self) -> None:
        places = self.places
        with with_predictions(self.scenario, places) as as_run:
            self.tree = config(cells.Cell(NAME), as_run)
            with scratch.file(to_yaml(self.tree)) as file:
                done = subprocess.run(
                    [
                        places.program(PROGRAM),
                        "--config",
                        file,
                        "--generate",
                        str(self.seconds),
                        "--packet-bytes",
                        str(self.packet_bytes),
                    ],
                    capture_output=True,
                    text=True,
                )
        if done.returncode:
            raise refusal(done, file)
        self.raw = json.loads(done.stdout)

    def facts(self) -> Facts:
        altered = self.raw["packets_altered"]
        if altered > self.terminal.terminal.delivered_damaged.packets:
            self.failed.append(f"{altered} packets arrived altered")
        return Facts(sums=conservation.sums_of_paths(self.paths, None), failed=self.failed)

    def rows(self) -> dict[str, Any]:
        arrived = self.raw["arrivals"]
        return super().rows() | {
            "generator": {
                "packet_bytes": self.packet_bytes,
                "ip_bps": (
                    arrived["bytes"] * 8 / arrived["seconds"] if arrived["seconds"] > 0 else 0.0
                ),
                "packets": arrived["packets"],
                "out_of_order": self.raw["packets_out_of_order"],
                "altered": self.raw["packets_altered"],
            }
        }


def generate(
    s: Scenario, seconds: float, places: Places, packet_bytes: int = capacities.MTU
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Virtual time: (report, the program's own output)."""
    places.check_built(PROGRAM, "python/openwip_schema")
    run = Generated(s, places, seconds, packet_bytes)
    return carry_out(run), run.raw


def users_of(base: pb.MacStatus, terminal: pb.MacStatus) -> list[dict[str, Any]]:
    """Several terminals: what each of them got, and what became of what was sent to it and by it,
    as its sender knows."""
    return [
        {
            "downlink": conservation.End(b.downlink).report(),
            "uplink": conservation.End(t.uplink).report(),
            "delivered_packets": t.downlink.delivered.packets,
            "delivered_bytes": t.downlink.delivered.bytes,
            "mean_snr_db": t.radio.mean_snr_db,
            "frames_sent": b.base.frames_sent,
            "frames_failed": b.base.frames_failed,
            "modulation_histogram": list(b.base.modulation_histogram),
        }
        for b, t in zip(base.users, terminal.users)
    ]
