# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo: start a cell, measure it, end it. One progress line for each phase."""
import contextlib
import dataclasses
import os
import pathlib

from ..capture import capture
from ..cell import cell as cells, remote, window
from ..figures import accounting, report
from ..machine import slot_path, system
from ..measure import pace, traffic
from ..messages import control
from ..records import record
from ..errors import DIED, INVALID, VALID, NoLock
from ..cell.session import (OBSERVER, START_TIMEOUT_S, CpuClock, Progress, Running, check_built, check_congestion_control, drain,
                            exit_code_of, fresh_output, identity, owned_cell, place, start_observers, start_process, telemetry_reasons,
                            watching, write_json)

LOCK_TIMEOUT_S = 10    # of air time
CAUGHT_UP_S = 0.005    # behind the wall clock
CATCH_UP_TIMEOUT_S = 10


# --- the machine ---

def check_machine(build, options):
    system.require_root()
    system.require_tun()
    check_built(build, ("host/macd/macd", "host/medium/air", OBSERVER, "python/openwip_schema"))
    check_congestion_control(options.scenario["traffic.tcp_cc"])


# --- a running cell ---

def recording_arguments(options):
    """Of the flowgraphs, by station."""
    from ..iq import command
    for base in options.record_iq.values():
        command.remove_former(base)
    slots = round(options.record_iq_seconds * accounting.SLOTS_PER_SECOND)
    return {station: ["--record-iq", base, "--record-iq-slots", str(slots)]
            for station, base in options.record_iq.items()}


def start(cell, keeper, scenario, places, progress, record_iq=None):
    top, build, python = places
    cells.write_configs(cell, scenario)
    processes = {p.name: p for p in cells.cell_processes(cell, scenario, top, build, python, record_iq)}
    running = Running(cell, keeper)
    progress("starting the medium")
    start_process(keeper, processes["air"], running, running.air)
    progress("starting the base station and the terminal")
    for name in ("base.macd", "terminal.macd", "base.radio", "terminal.radio"):
        keeper.start(processes[name])
    for endpoint in (running.base, running.terminal):
        if not keeper.wait_until(lambda e=endpoint: running.answers(e), START_TIMEOUT_S):
            keeper.blame(f"{endpoint.endpoint} does not answer")
    start_observers(keeper, cell, "demo", places)
    return running


def wait_for_lock(running, scenario, progress):
    """Returns air time from the first sample to lock, s."""
    def begun():
        return running.ask(running.terminal).slot > 0

    if not running.keeper.wait_until(begun, START_TIMEOUT_S):
        running.keeper.blame("the terminal's receiver does not deliver slots")
    speed = scenario.speed
    seen = []

    def locked():
        status = running.ask(running.terminal)
        seen.append(status)
        return status.radio.locked

    if not running.keeper.wait_until(locked, LOCK_TIMEOUT_S / speed, every=0.02):
        raise NoLock(f"the terminal did not lock within {LOCK_TIMEOUT_S} s of air time")
    unlocked = seen[-1].terminal.slots_unlocked / accounting.SLOTS_PER_SECOND
    progress(f"the terminal has locked after {unlocked * 1000:.0f} ms of air time")

    # The start of the programs kept the medium behind its schedule; it runs fast until it has made up for that.
    def on_schedule():
        air = running.ask(running.air)
        return air.wall_seconds * air.speed - air.now / accounting.SAMPLE_RATE < CAUGHT_UP_S * air.speed

    if not running.keeper.wait_until(on_schedule, CATCH_UP_TIMEOUT_S):
        progress("the medium does not catch up with the wall clock")
    return unlocked


def most_behind(cell):
    """A function: how far the medium was behind its schedule at worst, s; None when it does not say."""
    endpoint = control.Control(cell.endpoint("air.control"))

    def ask():
        try:
            return endpoint.status(0.5).pacing_max_us * 1e-6
        except control.NoAnswer:
            return None
    return ask


def measure(running, watch, applications, scenario, progress):
    """All traffic. Returns the report without verdict, and the reasons of failed traffic."""
    keeper, cell = running.keeper, running.cell
    speed, duration = scenario.speed, scenario["traffic.duration_s"]
    result, failed = {}, []
    with contextlib.suppress(running.NoAnswer):
        for endpoint in (running.air, running.base, running.terminal):
            endpoint.reset_counters()
    air_before = running.ask(running.air)
    applications.begin()
    stalls = slot_path.StallWatch({n: p for n, p in keeper.pids.items() if n in slot_path.PROCESSES}, most_behind(cell),
                                  keeper.placement.slot_path)
    stalls.start()

    def attempt(what, function):
        try:
            return function()
        except traffic.TrafficFailed as e:
            failed.append(f"traffic: {what}: {e}")
            return None

    pings = scenario["traffic.pings"]
    progress(f"ping over the idle link, {pings} times")
    result["ping_ms"] = attempt("ping", lambda: traffic.ping(keeper, cell, pings, speed))

    progress(f"TCP download with iperf3, {duration:g} s")
    marks = {}

    def mark(name):
        if name == "first":
            marks["clock"] = CpuClock(dict(keeper.pids) | {"keeper": keeper.pid, "launcher": os.getpid()})
        marks[name] = running.ask(running.base)
        if name == "last":
            marks["cpu"] = marks["clock"].cores()

    wall = max(1, round(duration / speed))
    edge = min(1.0, 0.1 * wall)
    before = running.ask(running.base)
    tcp = attempt("TCP", lambda: traffic.tcp(keeper, cell, scenario,
                                             [(edge, lambda: mark("first")),
                                              (wall - 0.1 * edge, lambda: mark("last"))]))
    marks.setdefault("first", before)
    marks.setdefault("last", running.ask(running.base))
    result["tcp"], cpu_iperf, tcp_wall = tcp if tcp else (None, {}, wall)
    cpu = marks.get("cpu", {})
    cpu |= {name: round(seconds / tcp_wall, 4) for name, seconds in cpu_iperf.items()}
    result["cpu"] = cpu | {"total": round(sum(cpu.values()), 4)}
    result["link"] = accounting.link_interval(marks["first"], marks["last"])

    udp_rate = scenario["traffic.udp_mbps"]
    rate = udp_rate * 1e6 if udp_rate else 0.6 * result["tcp"]["goodput_bps"] if result["tcp"] else 0
    if rate:
        progress(f"UDP stream with iperf3, {rate / 1e6:.2f} Mbit/s")
        udp = attempt("UDP", lambda: traffic.udp(keeper, cell, scenario, rate))
        result["udp"] = udp[0] if udp else None
    else:
        result["udp"] = None

    result["applications"] = applications.report()
    stall = stalls.report()
    progress("draining the link, checking the sums")
    drain(running, speed)
    air_after = running.ask(running.air)
    base, terminal = running.ask(running.base), running.ask(running.terminal)
    tun = running.tun_counts()
    paths = accounting.paths_of(base, terminal)
    late = max(air_after.late, base.radio.late_slots)
    result["realtime"] = accounting.realtime_of(air_before, air_after, late) | {"stall": stall}
    result["placement"] = keeper.placement.report() | {
        "realtime_priority": {n: system.has_realtime_thread(p) for n, p in keeper.pids.items() if n in slot_path.PROCESSES}}
    result["packets"] = {name: path.report() for name, path in paths.items()}
    result["packets"]["uplink"]["feedback"] = {"packets": terminal.uplink_feedback.packets,
                                               "bytes": terminal.uplink_feedback.bytes}
    mss = result["tcp"]["mss"] if result["tcp"] else 1448
    result["capacity"] = accounting.capacity(scenario["link.bins"], scenario["link.modulation"],
                                             result["link"]["modulation_histogram"], mss,
                                             scenario["link.packing"] == "on")
    changes = accounting.changes_of(base=base, terminal=terminal, air=air_after)
    accounting.mark_capacity(result["capacity"], changes)
    result["changes"] = changes
    result["radio"] = {
        "state": terminal.radio.mode, "cell": terminal.radio.cell,
        "locks": terminal.radio.locks, "lock_losses": terminal.radio.lock_losses,
        "transitions": {name: getattr(terminal.radio, name) for name in (
            "candidates", "synchronisations", "candidates_refuted", "losses_pilots", "losses_gap", "losses_jump")},
        "level_dbfs": terminal.radio.rx_level_dbfs,
        "gain_db": terminal.radio.gain_db, "gain_changes": terminal.radio.gain_changes,
        "cfo_hz": terminal.radio.cfo_hz, "evm_percent": terminal.radio.evm_percent,
        "mean_snr_db": terminal.radio.mean_snr_db,
        "overflows": terminal.radio.overflows,
        "grants_failed": terminal.terminal.grants_failed,
        "slots_unlocked": terminal.terminal.slots_unlocked,
        "frames_combined": terminal.terminal.frames_combined,
        "malformed_messages": base.malformed_messages + terminal.malformed_messages,
    }
    # The receiver's own figure: against the SNR that it measured when the predicted slot had come.
    result["prediction"] = {"nmse": terminal.radio.prediction_nmse,
                            "horizon_slots": terminal.radio.horizon or scenario.retransmission_delay_slots}
    watch.end()
    result["telemetry"] = {"received": sum(watch.received.values()), "lost": sum(watch.lost.values())}
    result["verdict"] = accounting.judge(accounting.Observed(
        paths=paths, realtime=result["realtime"], tun=tun, lock_losses=terminal.radio.lock_losses, changes=changes,
        telemetry=telemetry_reasons(watch) + keeper.lost, waiting=result["applications"]["worst"], traffic=failed,
        surroundings=keeper.noted))
    result["effective"] = {"base": base.effective_yaml, "terminal": terminal.effective_yaml,
                           "air": air_after.effective_yaml}
    return result


# --- one run ---

def run(options, top, build, python):
    """Returns the exit code."""
    progress = Progress()
    fresh_output(options.json)
    check_machine(build, options)
    record.check_target(options.record)
    capture.check_file("--capture", options.capture)
    places = (top, build, python)
    try:
        if options.scenario["air.speed"] == pace.AUTO:
            return run_at_the_pace_found(options, places, progress)
        with owned_cell(options.name, progress) as (cell, keeper):
            return run_cell(cell, keeper, options, places, progress)
    except NoLock as e:
        reasons = [f"lock: {e}"]
        print(f"verdict: INVALID\n  {reasons[0]}")
        write_json(options.json, {"verdict": accounting.verdict([("lock", reasons)])}
                   | identity(options.scenario, top, python))
        return INVALID


def run_at_the_pace_found(options, places, progress):
    """--speed auto. A cell that is only tried writes no file and opens no window."""
    bare = dataclasses.replace(options, record=None, capture=None, monitor=False, record_iq={})
    watched = any((options.record, options.capture, options.monitor, options.record_iq))
    trial = "only" if watched else "if needed"
    for _ in range(pace.MOST_TRIALS):
        tried = options.scenario.speed
        try:
            with owned_cell(options.name, progress) as (cell, keeper):
                return run_cell(cell, keeper, bare, places, progress, trial)
        except pace.OtherPace as other:
            options.scenario.values["air.speed"] = other.speed
            if options.pace_found is None or other.speed < tried:
                options.pace_found = other.found
            if other.speed == tried:
                break
            trial = "again"
    with owned_cell(options.name, progress) as (cell, keeper):
        return run_cell(cell, keeper, options, places, progress)


def run_cell(cell, keeper, options, places, progress, trial="none"):
    if options.logs:
        keeper.keep_logs(options.logs)
    progress(f"cell '{cell.name}': namespaces {' and '.join(cell.namespaces)}")
    place(keeper, options.cores, places[1], progress)
    record.note_run(cell, options.scenario.tree(), options.scenario["seed"])
    if options.monitor:
        window.open_for(cell.name, places[1], progress)
    with record.launched(cell, options.record, places[2], progress) as recorder, \
            capture.recording(cell, options.capture, options.scenario.tree(), options.scenario.speed, places, progress) as captured:
        return run_recorded(cell, keeper, options, places, progress, recorder, captured, trial)


def run_recorded(cell, keeper, options, places, progress, recorder, captured, trial):
    scenario = options.scenario
    with watching(cell) as (watch, applications):
        running = start(cell, keeper, scenario, places, progress, recording_arguments(options))
        remote.start(cell, keeper, options.listen, places, progress)
        lock_s = wait_for_lock(running, scenario, progress)
        if trial != "none":
            pace.try_out(running, scenario, progress, again=trial == "again")
        if trial == "only":
            raise pace.OtherPace(1.0, None)
        scenario.values["air.speed"] = scenario.speed
        result = measure(running, watch, applications, scenario, progress)
    captured.end(result["verdict"])
    result["radio"]["lock_s"] = lock_s
    result["realtime"]["pace_found"] = options.pace_found
    result |= identity(scenario, places[0], places[2])
    ordered = {k: result[k] for k in ("verdict", "realtime", "placement", "ping_ms", "tcp", "udp", "capacity", "link", "changes",
                                      "packets", "radio", "prediction", "telemetry", "cpu", "applications",
                                      "config", "effective", "seed", "versions")}
    if options.record_iq:
        from ..iq import command
        keys = {"scenario": "config", "verdict": "verdict", "versions": "versions"}
        facts = {f"openwip:{key}": ordered[name] for key, name in keys.items()}
        for line in command.finish_demo(cell, options.record_iq, facts):
            progress(line)
    if options.keep:
        keeper.detach()
        progress("the cell stays up: ./openwip exec terminal -- COMMAND, ./openwip status, ./openwip down")
    else:
        progress("ending the cell")
        keeper.end("the run is over")
    recorded = True
    if recorder is not None:
        ordered["record"] = recorder.finish(ordered)
        recorded = record.said(ordered["record"], progress)
    print(report.screen(ordered))
    write_json(options.json, ordered)
    return (VALID if ordered["verdict"]["valid"] else INVALID) if recorded else DIED


def main(options, top, build, python):
    return exit_code_of(lambda: run(options, pathlib.Path(top), pathlib.Path(build), python))
