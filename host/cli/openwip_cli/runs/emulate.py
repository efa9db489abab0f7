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
from ..cell import remote
from ..cell.cell import Cell
from ..cell.keeper import KeeperClient
from ..cell.program_check import check_config, refusal
from ..cell.session import OBSERVER, identity, owned_cell, start_observers, start_process
from ..channel import command as channel
from ..errors import BadInput
from ..figures import accounting
from ..machine import places as whereabouts
from ..machine import scratch, system
from ..machine.places import Places
from ..measure.applications import watching
from ..settings import table
from ..settings.command_line import check_cell_name
from ..settings.emulator import NAME, SETTINGS, scenario_of
from ..settings.scenario import Scenario, text_of
from ..text import to_yaml
from . import run as runs
from . import split_tcp
from .options import Options

PROGRAM = "host/emulator/wip_emulator"


# --- predictions of the receiver's own predictor ---

TRACE_MARGIN_S = 30  # start, draining, sums; the emulator would begin a trace again


@contextlib.contextmanager
def with_predictions(s: Scenario, places: Places) -> Iterator[Scenario]:
    """The scenario as the emulator takes it: for `predictor`, a trace of the channel that holds
    what the receiver's predictor says from noisy gains (the emulator has no receiver)."""
    if s["channel.prediction_nmse"] != "predictor":
        yield s
        return
    for key, flag, plain in (("terminals", "--terminals", 1), ("channel.bins_db", "--bins-db", [])):
        if s[key] != plain:
            raise BadInput(
                f"--prediction-nmse predictor with {flag}: the predictor runs on one fading"
                " channel; valid is a number 0..0.5"
            )
    if s["channel.model"].endswith(".h5"):
        raise BadInput(
            f"--prediction-nmse predictor with --channel {s['channel.model']}: a trace holds no"
            " gains to predict from; valid is a number 0..0.5, or trace if it was rendered with"
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
        ]
        if s["channel.speed_kmh"] is not None:
            arguments.append(f"--speed-kmh={s['channel.speed_kmh']:g}")
        if shadowing in ("on", "off"):
            arguments.append(f"--shadowing={shadowing}")
        elif shadowing != "as_defined":
            arguments.append(f"--shadowing-db={shadowing}")
        channel.run_program(places, arguments)
        folder.chmod(0o755)  # in virtual time it is read as who the process becomes
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
    """Of the emulator: every setting of the scenario that it has, and what belongs to the cell."""
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
            "control": cell.endpoint(f"{status}.control"),
            "telemetry": cell.endpoint(f"{status}.telemetry"),
        }

    values = {
        theirs: text_of(s[ours])
        for theirs, ours in table.process_keys("emulator", NAME).items()
        if s[ours] is not None
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
    workload: Callable[..., dict[str, Any] | None] | None = None,
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
        check_config(str(where.build / PROGRAM), config(cells.Cell(given.name), as_run))
        if split_tcp.asked(scenario):
            check_config(
                where.program(split_tcp.PROGRAM),
                split_tcp.proxy_config(cells.Cell(given.name), as_run),
                "--check-here",
            )
        with owned_cell(
            given.name, say, scenario["terminals"], controller=split_tcp.asked(scenario)
        ) as (cell, keeper):
            return runs.in_cell(
                cell,
                keeper,
                given,
                where,
                say,
                lambda: phases(
                    cell,
                    keeper,
                    given,
                    as_run,
                    workload or runs.iperf3_download,
                    where,
                    say,
                    observers,
                ),
            )


def phases(
    cell: Cell,
    keeper: KeeperClient,
    given: Options,
    as_run: Scenario,
    workload: Callable[..., dict[str, Any] | None],
    places: Places,
    progress: Callable[[str], None],
    observers: bool,
) -> dict[str, Any]:
    with watching(cell) as (watch, applications):
        path = cells.write_config(cell, "emulator", config(cell, as_run))
        running = runs.MeasuredCell(cell, keeper, given.scenario)
        if split_tcp.asked(as_run):
            running = split_tcp.SplitCell(cell, keeper, given.scenario)
            running.prepare()
        progress(f"cell '{cell.name}': starting the emulator")
        start_process(
            keeper,
            cells.Process(
                "emulator",
                [places.program(PROGRAM), "--config", path],
                {"OPENWIP_RUN": str(cell.run)},
                slot_path=True,
            ),
            running.air,
        )
        if isinstance(running, split_tcp.SplitCell):
            running.start(config(cell, as_run), places, progress, PROGRAM)
        if observers or given.keep or given.record:
            start_observers(keeper, cell, "emulate", places)
        remote.start(cell, keeper, given.listen, places, progress)
        if workload is runs.iperf3_download:
            progress(f"TCP download with iperf3, {given.scenario['traffic.duration_s']:g} s")
        began = time.monotonic()
        common, more, now = runs.measure(
            running, watch, applications, workload, progress, (running.air,)
        )
        air, terminal = now.air, now.terminal
        return (
            common
            | {
                "workload": more,
                "emulator": (
                    emulator_report(now.base, terminal)
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
                            now.base.malformed_messages + terminal.malformed_messages
                        ),
                    }
                ),
                "bearer": bearer_report(now.base, terminal),
                "split_tcp": getattr(running, "found", None),
                "users": users_of(now.base, terminal),
                "effective": {"emulator": now.base.effective_yaml},
                "seconds": time.monotonic() - began,
            }
            | identity(given.scenario, places)
        )


def at_the_end(
    raw: dict[str, Any],
) -> tuple[pb.MacStatus, pb.MacStatus, dict[str, accounting.Path], accounting.Link]:
    """Of what a program in virtual time says: both statuses and their paths when all is drained,
    and the link's interval."""

    def status(when: str, end: str) -> pb.MacStatus:
        return json_format.ParseDict(raw[when][end], pb.MacStatus())

    base, terminal = status("drained", "base"), status("drained", "terminal")
    return (
        base,
        terminal,
        accounting.paths_of(base, terminal),
        accounting.link_interval(status("first", "base"), status("last", "base")),
    )


def bearer_report(base: pb.MacStatus, terminal: pb.MacStatus) -> dict[str, Any] | None:
    """Of a UMTS bearer, each way; nothing: the link is none."""
    if not base.HasField("bearer"):
        return None
    return {
        way: accounting.counts_of(status.bearer, "")
        for way, status in (("down", base), ("up", terminal))
    }


def emulator_report(base: pb.MacStatus, terminal: pb.MacStatus) -> dict[str, Any]:
    return {
        "mean_snr_db": terminal.radio.mean_snr_db,
        "prediction_nmse": terminal.radio.prediction_nmse,
        "frames_combined": terminal.terminal.frames_combined,
        "packets_damaged": terminal.terminal.delivered_damaged.packets,
        "wlan": [accounting.counts_of(n, "") for n in base.wlan],
        "delay_injection": (
            accounting.counts_of(base.delay_injection, "")
            if base.HasField("delay_injection")
            else None
        ),
    }


def generate(
    s: Scenario, seconds: float, places: Places, packet_bytes: int = accounting.MTU
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Virtual time: (report, the program's own output). No namespaces, no TCP, no rights needed."""
    places.check_built(PROGRAM, "python/openwip_schema")
    with (
        with_predictions(s, places) as as_run,
        scratch.file(to_yaml(tree := config(cells.Cell(NAME), as_run))) as file,
    ):
        done = subprocess.run(
            [
                places.program(PROGRAM),
                "--config",
                file,
                "--generate",
                str(seconds),
                "--packet-bytes",
                str(packet_bytes),
            ],
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise refusal(done, file)
    raw = json.loads(done.stdout)

    base, terminal, paths, link = at_the_end(raw)
    checks = [
        ("sums", accounting.check_sums(paths, None)),
        (
            "traffic",
            (
                [f"traffic: {raw['packets_altered']} packets arrived altered"]
                if raw["packets_altered"] > terminal.terminal.delivered_damaged.packets
                else []
            ),
        ),
    ]
    arrived = raw["arrivals"]
    return {
        "verdict": accounting.verdict(checks),
        "realtime": {
            "clock": "virtual",
            "factor": raw["real_time_factor"],
            "slots": raw["slots"],
            "wall_seconds": raw["wall_seconds"],
        },
        "generator": {
            "packet_bytes": packet_bytes,
            "ip_bps": arrived["bytes"] * 8 / arrived["seconds"] if arrived["seconds"] > 0 else 0.0,
            "packets": arrived["packets"],
            "out_of_order": raw["packets_out_of_order"],
            "altered": raw["packets_altered"],
        },
        "link": link,
        "packets": {name: path.report() for name, path in paths.items()},
        "emulator": emulator_report(base, terminal),
        "users": users_of(base, terminal),
        "effective": {"emulator": to_yaml(tree)},
    } | identity(s, places), raw


def users_of(base: pb.MacStatus, terminal: pb.MacStatus) -> list[dict[str, Any]]:
    """Several terminals: what each of them got, and what became of what was sent to it and by it,
    as its sender knows."""
    return [
        {
            "downlink": accounting.End(b.downlink).report(),
            "uplink": accounting.End(t.uplink).report(),
            "delivered_packets": t.downlink.delivered.packets,
            "delivered_bytes": t.downlink.delivered.bytes,
            "mean_snr_db": t.radio.mean_snr_db,
            "frames_sent": b.base.frames_sent,
            "frames_failed": b.base.frames_failed,
            "modulation_histogram": list(b.base.modulation_histogram),
        }
        for b, t in zip(base.users, terminal.users)
    ]
