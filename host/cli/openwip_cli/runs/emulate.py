# SPDX-License-Identifier: GPL-3.0-or-later
"""The bin-level emulator: one process between two interfaces, in two namespaces (docs/emulator.md).

run(options, workload, progress) is the entry for programs: it starts a cell, lets `workload` run whatever
it likes in the namespaces, drains the link, checks the sums and returns the report with its verdict."""
import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import time

import yaml

from ..capture import capture
from ..cell import cell as cells, remote, window
from ..channel import command as channel
from ..figures import accounting, report
from ..machine import own_files, system
from ..measure import traffic
from ..records import record
from ..settings import scenario as scenarios
from ..settings.emulator import NAME, SETTINGS, scenario_of
from ..errors import BAD_INPUT, DIED, INVALID, VALID, BadInput
from ..settings.scenario import Scenario
from ..cell.session import (OBSERVER, CpuClock, Progress, Running, check_built, check_congestion_control, drain, exit_code_of,
                            fresh_output, identity, owned_cell, place, start_observers, start_process, telemetry_reasons, watching,
                            write_json)

PROGRAM = "host/emulator/wip_emulator"


# --- predictions of the receiver's own predictor ---

TRACE_MARGIN_S = 30   # start, draining, sums; the emulator would begin a trace again


@contextlib.contextmanager
def with_predictions(s, places):
    """The scenario as the emulator takes it: for `predictor`, a trace of the channel that holds what the
    receiver's predictor says from noisy gains (the emulator has no receiver)."""
    if s["channel.prediction_nmse"] != "predictor":
        yield s
        return
    for key, flag, plain in (("terminals", "--terminals", 1), ("channel.bins_db", "--bins-db", [])):
        if s[key] != plain:
            raise BadInput(f"--prediction-nmse predictor with {flag}: the predictor runs on one fading channel; "
                           "valid is a number 0..0.5")
    if s["channel.model"].endswith(".h5"):
        raise BadInput(f"--prediction-nmse predictor with --channel {s['channel.model']}: a trace holds no gains to "
                       "predict from; valid is a number 0..0.5, or trace if it was rendered with --predictor")
    with tempfile.TemporaryDirectory(prefix="openwip-") as folder:
        file = os.path.join(folder, "predicted.h5")
        shadowing = s["channel.shadowing"]
        arguments = ["render", s["channel.model"], f"--output={file}", f"--seed={s['seed']}",
                     f"--seconds={s['traffic.duration_s'] + TRACE_MARGIN_S:g}", f"--snr={s['channel.snr_db']:g}",
                     f"--horizon={s.retransmission_delay_slots}", "--predictor"]
        if s["channel.speed_kmh"] is not None:
            arguments.append(f"--speed-kmh={s['channel.speed_kmh']:g}")
        if shadowing in ("on", "off"):
            arguments.append(f"--shadowing={shadowing}")
        elif shadowing != "as_defined":
            arguments.append(f"--shadowing-db={shadowing}")
        channel.run_program(places[1], arguments)
        yield Scenario(s.values | {"channel.model": file, "channel.prediction_nmse": "trace",
                                   "channel.speed_kmh": None, "channel.shadowing": "as_defined"}, SETTINGS)


# --- configuration of the process ---

def config(cell, s):
    back_delay = s["wired.uplink_delay_ms"]
    errors = "none" if s["channel.error_free"] == "on" else (
        "symbols" if s["channel.symbol_noise"] == "on" else "computed")
    mac = cells.mac_config(cell, s, "base")

    def end(station, status):
        return {"namespace": cell.namespace(station), "tun": "wip0", "address": f"{cells.ADDRESS[station]}/{30 if s['terminals'] == 1 else 24}",
                "control": cell.endpoint(f"{status}.control"),
                "telemetry": cell.endpoint(f"{status}.telemetry")}

    speed = {} if s["channel.speed_kmh"] is None else {"speed_kmh": f"{s['channel.speed_kmh']:g}"}
    return {
        "name": cell.name, "seed": s["seed"], "user": system.account()[0], "pacing_limit_ms": s["pacing_limit_ms"],
        "link": mac["link"], "uplink": mac["uplink"],
        "channel": {"model": s["channel.model"], "snr_db": s["channel.snr_db"],
                    "bins_db": ",".join(f"{v:g}" for v in s["channel.bins_db"]),
                    "users_db": ",".join(f"{v:g}" for v in s["channel.users_db"]),
                    "errors": errors, "eight_points": s["channel.eight_points"], "shadowing": str(s["channel.shadowing"]),
                    "prediction_nmse": str(s["channel.prediction_nmse"])} | speed,
        "to_base": {"delay_ms": s["wired.delay_ms"], "rate_kbps": s["wired.rate_kbps"],
                    "loss": s["wired.loss"], "queue_packets": s["wired.queue_packets"]},
        "from_base": {"delay_ms": s["wired.delay_ms"] if back_delay is None else back_delay,
                      "rate_kbps": s["wired.uplink_rate_kbps"], "loss": s["wired.uplink_loss"],
                      "queue_packets": s["wired.queue_packets"]},
        "server": end("base", "base"), "terminal": end("terminal", "terminal"),
        "terminals": s["terminals"], "scheduling": {"method": s["scheduling.method"]},
        "control": cell.endpoint("air.control"),
    }


def check_config(program, tree, flag="--check"):
    """What only the program can judge (of the emulator: channel, trace file), before anything is made."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        yaml.safe_dump(tree, f, sort_keys=False)
        f.flush()
        done = subprocess.run([program, "--config", f.name, flag], capture_output=True, text=True)
    if done.returncode:
        raise BadInput(last_line(done.stderr, f.name))


def last_line(text, file):
    """What the program refused, without its name and that of a file that is gone."""
    line = (text.strip().splitlines() or ["it failed"])[-1]
    return line.removeprefix("wip_emulator: ").removeprefix("macd: ").removeprefix(f"{file}: ")


# --- a running cell, as a workload sees it ---

class EmulatedCell(Running):
    """`keeper` (pause, wait_until), statuses, and where the applications run."""
    address = cells.ADDRESS

    def __init__(self, cell, keeper, scenario):
        super().__init__(cell, keeper)
        self.scenario = scenario
        self.marks = {}

    @property
    def name(self):
        return self.cell.name

    def namespace(self, station):
        return self.cell.namespace(station)

    def mark(self, name):
        """`first` and `last`: between them the link's and the processor's figures are taken."""
        if name == "first":
            self.marks["cpu"] = CpuClock(dict(self.keeper.pids) | {"keeper": self.keeper.pid,
                                                                   "launcher": os.getpid()})
        self.marks[name] = self.ask(self.base)
        if name == "last":
            self.marks["cores"] = self.marks["cpu"].cores()


def iperf3_download(cell):
    """The default workload: TCP from the server's side to the terminal."""
    duration = cell.scenario["traffic.duration_s"]
    edge = min(1.0, 0.1 * duration)
    report_, cpu, wall = traffic.tcp(cell.keeper, cell.cell, cell.scenario,
                                     [(edge, lambda: cell.mark("first")),
                                      (duration - 0.1 * edge, lambda: cell.mark("last"))])
    return {"tcp": report_, "cpu": {n: round(s / wall, 4) for n, s in cpu.items()}}


def measure(cell, watch, applications, workload, progress):
    s = cell.scenario
    with contextlib.suppress(cell.NoAnswer):
        cell.air.reset_counters()
    failed, result = [], {}
    air_before = cell.ask(cell.air)
    applications.begin()
    cell.mark("first")
    before = cell.marks["first"]
    try:
        result = workload(cell) or {}
    except traffic.TrafficFailed as e:
        failed.append(f"traffic: {e}")
    if cell.marks["first"] is before or "last" not in cell.marks:
        cell.mark("last")
    waiting = applications.report()
    progress("draining the link, checking the sums")
    drain(cell)
    air_after = cell.ask(cell.air)
    base, terminal = cell.ask(cell.base), cell.ask(cell.terminal)
    paths = accounting.paths_of(base, terminal)
    realtime = accounting.realtime_of(air_before, air_after, air_after.late)
    link = accounting.link_interval(cell.marks["first"], cell.marks["last"])
    cpu = cell.marks["cores"] | result.pop("cpu", {})
    watch.end()
    verdict = accounting.judge(accounting.Observed(
        paths=paths, realtime=realtime, tun=cell.tun_counts(), telemetry=telemetry_reasons(watch) + cell.keeper.lost,
        waiting=waiting["worst"], traffic=failed + result.pop("failed", []), surroundings=cell.keeper.noted))
    mss = (result.get("tcp") or {}).get("mss", 1448)
    packets = {name: path.report() for name, path in paths.items()}
    packets["uplink"]["feedback"] = {"packets": terminal.uplink_feedback.packets,
                                     "bytes": terminal.uplink_feedback.bytes}
    changes = accounting.changes_of(base=base, terminal=terminal, air=air_after)
    return {
        "verdict": verdict, "realtime": realtime,
        "tcp": result.pop("tcp", None), "workload": result, "changes": changes,
        "capacity": accounting.mark_capacity(accounting.capacity(s["link.bins"], s["link.modulation"], link["modulation_histogram"], mss,
                                        s["link.packing"] == "on",
                                        accounting.CRC_BITS if s["link.profile"] == "radio" else 0), changes),
        "link": link, "packets": packets,
        "emulator": {
            "release_us": {"median": air_after.release_median_us, "p99": air_after.release_p99_us,
                           "p999": air_after.release_p999_us, "max": air_after.release_max_us,
                           "packets": air_after.released},
            "realtime_priority": air_after.realtime_priority,
            "mean_snr_db": terminal.radio.mean_snr_db,
            "prediction_nmse": terminal.radio.prediction_nmse,
            "frames_combined": terminal.terminal.frames_combined,
            "packets_damaged": terminal.terminal.delivered_damaged.packets,
            "relay": {r.reason: r.count.packets for r in terminal.terminal.relay},
            "malformed_messages": base.malformed_messages + terminal.malformed_messages,
        },
        "users": users_of(base, terminal),
        "telemetry": {"received": sum(watch.received.values()), "lost": sum(watch.lost.values())},
        "cpu": cpu | {"total": round(sum(cpu.values()), 4)}, "applications": waiting,
        "effective": {"emulator": base.effective_yaml},
    }


def default_places():
    top = pathlib.Path(os.environ.get("OPENWIP_TOP", pathlib.Path(__file__).resolve().parents[4]))
    build = pathlib.Path(os.environ.get("OPENWIP_BUILD", top / "build"))
    return top, build, os.environ.get("OPENWIP_PYTHON", "python3")


def run(options, workload=None, progress=None, *, name=NAME, keep=False, logs=None, places=None, record_to=None,
        observers=False, capture_to=None, listen=None, monitor=False, cores=None):
    """One run. `options`: {key of SETTINGS: value}, or a Scenario. `workload(cell: EmulatedCell) -> dict`
    runs the applications (None: iperf3); what it returns is the report's `workload`, except `tcp` (to the
    top), `cpu` (added) and `failed` (reasons of the verdict); TrafficFailed makes the run invalid.
    `cores`: where it runs (what placement.find() takes); None: wherever this process does.
    `observers`: also telemetry of TCP, processor and verdict so far, for who looks on meanwhile.
    Raises BadInput, CellDied, session.Terminated."""
    top, build, python = places or default_places()
    progress = progress or (lambda text: None)
    s = options if isinstance(options, Scenario) else scenario_of(options)
    scenarios.check_cell_name(name)
    system.require_root()
    system.require_tun()
    check_built(build, (PROGRAM, OBSERVER, "python/openwip_schema"))
    check_congestion_control(s["traffic.tcp_cc"])
    record.check_target(record_to)
    capture.check_file("--capture", capture_to)
    with with_predictions(s, (top, build, python)) as as_run:
        check_config(str(build / PROGRAM), config(cells.Cell(name), as_run))
        return _run_cell(s, as_run, workload, progress, name, keep, logs, (top, build, python), record_to,
                         observers, capture_to, listen, monitor, cores)


def _run_cell(s, as_run, workload, progress, name, keep, logs, places, record_to, observers, capture_to, listen,
              monitor, cores):
    top, build, python = places
    with contextlib.ExitStack() as stack:
        cell, keeper = stack.enter_context(owned_cell(name, progress, s["terminals"]))
        if logs:
            keeper.keep_logs(logs)
        record.note_run(cell, s.tree(), s["seed"])
        if monitor:
            window.open_for(name, places[1], progress)
        recorder = stack.enter_context(record.launched(cell, record_to, python, progress))
        captured = stack.enter_context(capture.recording(cell, capture_to, s.tree(), s.speed, places, progress))
        with watching(cell) as (watch, applications):
            path = cell.run / "emulator.yaml"
            own_files.create(path, yaml.safe_dump(config(cell, as_run), sort_keys=False))
            if cores is not None:
                place(keeper, cores, places[1], progress)
            running = EmulatedCell(cell, keeper, s)
            progress(f"cell '{name}': starting the emulator")
            start_process(keeper, cells.Process("emulator", [str(build / PROGRAM), "--config", str(path)],
                                                {"OPENWIP_RUN": str(cell.run)}, slot_path=True), running, running.air)
            if observers or keep or record_to:
                start_observers(keeper, cell, "emulate", places)
            remote.start(cell, keeper, listen, places, progress)
            began = time.monotonic()
            result = measure(running, watch, applications, workload or iperf3_download, progress)
        captured.end(result["verdict"])
        result["seconds"] = time.monotonic() - began
        if keep:
            keeper.detach()
        else:
            keeper.end("the run is over")
        result |= identity(s, top, python)
        if recorder is not None:
            result["record"] = recorder.finish(result)
            record.said(result["record"], progress)
    return result


def generate(s, seconds, places, packet_bytes=accounting.MTU):
    """Virtual time: (report, the program's own output). No namespaces, no TCP, no rights needed."""
    from google.protobuf import json_format
    from openwip_schema import control_pb2 as pb
    top, build, python = places
    check_built(build, (PROGRAM, "python/openwip_schema"))
    with with_predictions(s, places) as as_run, tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        tree = config(cells.Cell(NAME), as_run)
        yaml.safe_dump(tree, f, sort_keys=False)
        f.flush()
        done = subprocess.run([str(build / PROGRAM), "--config", f.name, "--generate", str(seconds),
                               "--packet-bytes", str(packet_bytes)], capture_output=True, text=True)
    if done.returncode:
        raise BadInput(last_line(done.stderr, f.name))
    raw = json.loads(done.stdout)

    def status(when, end):
        return json_format.ParseDict(raw[when][end], pb.MacStatus())

    base, terminal = status("drained", "base"), status("drained", "terminal")
    paths = accounting.paths_of(base, terminal)
    checks = [("sums", accounting.check_sums(paths, None)),
              ("traffic", [f"traffic: {raw['packets_altered']} packets arrived altered"]
               if raw["packets_altered"] > terminal.terminal.delivered_damaged.packets else [])]
    link = accounting.link_interval(status("first", "base"), status("last", "base"))
    arrived = raw["arrivals"]
    return {
        "verdict": accounting.verdict(checks),
        "realtime": {"clock": "virtual", "factor": raw["real_time_factor"], "slots": raw["slots"],
                     "wall_seconds": raw["wall_seconds"]},
        "generator": {"packet_bytes": packet_bytes, "ip_bps": arrived["bytes"] * 8 / arrived["seconds"]
                      if arrived["seconds"] > 0 else 0.0, "packets": arrived["packets"],
                      "out_of_order": raw["packets_out_of_order"], "altered": raw["packets_altered"]},
        "link": link, "packets": {name: path.report() for name, path in paths.items()},
        "emulator": {"mean_snr_db": terminal.radio.mean_snr_db,
                     "prediction_nmse": terminal.radio.prediction_nmse,
                     "frames_combined": terminal.terminal.frames_combined,
                     "packets_damaged": terminal.terminal.delivered_damaged.packets},
        "users": users_of(base, terminal),
        "effective": {"emulator": yaml.safe_dump(tree, sort_keys=False)},
    } | identity(s, top, python), raw


def users_of(base, terminal):
    """Several terminals: what each of them got."""
    return [{"delivered_packets": t.downlink.delivered.packets, "delivered_bytes": t.downlink.delivered.bytes,
             "mean_snr_db": t.radio.mean_snr_db, "frames_sent": b.base.frames_sent,
             "frames_failed": b.base.frames_failed,
             "modulation_histogram": list(b.base.modulation_histogram)}
            for b, t in zip(base.users, terminal.users)]


def main(given, top, build, python):
    progress, options = Progress(), given.options
    places = (pathlib.Path(top), pathlib.Path(build), python)

    def whole():
        fresh_output(options.json)
        if given.generator:
            progress(f"packet generator, {options.scenario['traffic.duration_s']:g} s of virtual time")
            result, _ = generate(options.scenario, options.scenario["traffic.duration_s"], places)
            print(report.generator_screen(result))
            write_json(options.json, result)
            return VALID if result["verdict"]["valid"] else INVALID
        progress(f"TCP download with iperf3, {options.scenario['traffic.duration_s']:g} s")
        result = run(options.scenario, None, progress, name=options.name, keep=options.keep, logs=options.logs,
                     places=places, observers=True, record_to=options.record, capture_to=options.capture, listen=options.listen,
                     monitor=options.monitor, cores=options.cores)
        print(report.screen(result))
        write_json(options.json, result)
        if "error" in result.get("record", {}):
            return DIED
        return VALID if result["verdict"]["valid"] else INVALID

    return exit_code_of(whole)
