# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo: start a cell, measure it, end it. One progress line for each phase."""
import contextlib
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import time

from . import accounting, cell as cells, report, system, traffic
from .errors import (BAD_INPUT, DIED, INTERRUPTED, INVALID, VALID, BadInput, CellDied, NoLock)
from .keeper import KeeperClient

START_TIMEOUT_S = 30
LOCK_TIMEOUT_S = 10    # of air time
CAUGHT_UP_S = 0.005    # behind the wall clock
CATCH_UP_TIMEOUT_S = 10


class Terminated(Exception):
    def __init__(self, signum):
        self.signum = signum


class Progress:
    """Phase lines on standard error, so that standard output holds the report only."""

    def __init__(self):
        self.began = time.monotonic()

    def __call__(self, text):
        print(f"[{time.monotonic() - self.began:6.1f} s] {text}", file=sys.stderr, flush=True)


# --- the machine ---

def check_machine(build, options):
    system.require_root()
    system.require_tun()
    missing = [p for p in ("host/app/macd", "channels/air/air", "python/openwip_schema")
               if not (build / p).exists()]
    if missing:
        raise BadInput(f"not built yet ({', '.join(missing)} missing in {build}): run ./openwip build")
    wanted = options.scenario["traffic.tcp_cc"]
    there = pathlib.Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    if wanted not in there:
        raise BadInput(f"--tcp-cc {wanted}: this kernel has {', '.join(there)}")


def check_output(path):
    if path is None:
        return None
    target = pathlib.Path(path)
    if target.is_dir() or not os.access(target.parent, os.W_OK | os.X_OK):
        raise BadInput(f"--json {path}: cannot be written")
    return target


def take_over(cell, progress):
    """Become the owner of the cell's name; remove what a killed run left of it."""
    if not cell.acquire():
        raise BadInput(f"a cell '{cell.name}' is already up: run ./openwip down")
    left = cell.leftovers()
    if left:
        progress(f"removing what an earlier run left: {', '.join(left)}")
        cell.remove()
        if not cell.acquire():   # its directory was the lock
            raise BadInput(f"a cell '{cell.name}' is already up: run ./openwip down")
    foreign = [n for n in cell.namespaces if system.namespace_exists(n)]
    if foreign:
        raise BadInput(f"network namespace {foreign[0]} exists and is not ours: remove it "
                       f"(ip netns del {foreign[0]}) or use --name")


def versions(top, python):
    def first_line(*argv):
        try:
            done = subprocess.run(argv, capture_output=True, text=True, timeout=10, cwd=top)
            return (done.stdout or done.stderr).splitlines()[0].strip() if done.returncode == 0 else "unknown"
        except (OSError, IndexError, subprocess.TimeoutExpired):
            return "unknown"

    return {
        "openwip": first_line("git", "-c", "safe.directory=*", "describe", "--always", "--dirty", "--tags"),
        "gnuradio": first_line(python, "-c", "from gnuradio import gr; print(gr.version())"),
        "uhd": first_line("uhd_config_info", "--version").removeprefix("UHD ").strip(),
        "kernel": platform.release(),
        "iperf3": first_line("iperf3", "--version").removeprefix("iperf ").split(" ")[0],
        "python": platform.python_version(),
    }


# --- a running cell ---

class Running:
    """A cell whose processes are up: what its control sockets say."""

    def __init__(self, cell, keeper):
        from . import control
        self.cell, self.keeper = cell, keeper
        self.NoAnswer = control.NoAnswer
        self.air = control.Control(cell.endpoint("air.control"))
        self.base = control.Control(cell.endpoint("base.control"))
        self.terminal = control.Control(cell.endpoint("terminal.control"))

    def ask(self, endpoint):
        """Status, or CellDied: a process that does not answer for 5 s counts as dead."""
        for _ in range(10):
            self.keeper.pause(0)
            with contextlib.suppress(self.NoAnswer):
                return endpoint.status(0.5)
        raise CellDied(f"{endpoint.endpoint} does not answer")

    def answers(self, endpoint):
        try:
            endpoint.status(0.2)
            return True
        except self.NoAnswer:
            return False

    def tun_counts(self):
        """What the kernel counted at the interfaces: to_macd = read by macd, from_macd = written by it."""
        counts = {}
        for station in cells.STATIONS:
            text = system.ip("-n", self.cell.namespace(station), "-s", "-j", "link", "show", "wip0")
            stats = json.loads(text)[0]["stats64"]
            counts[station] = {"to_macd": (stats["tx"]["packets"], stats["tx"]["bytes"]),
                               "from_macd": (stats["rx"]["packets"], stats["rx"]["bytes"])}
        return counts


class CpuClock:
    """CPU time of processes over an interval, in cores."""

    def __init__(self, pids):
        self.pids = pids
        self.began = self._read()

    def _read(self):
        return time.monotonic(), {n: system.cpu_seconds(p) for n, p in self.pids.items()}

    def cores(self):
        now, seconds = self._read()
        t0, before = self.began
        return {n: round((seconds[n] - before[n]) / (now - t0), 4) for n in self.pids
                if seconds[n] is not None and before[n] is not None}


def start(cell, keeper, scenario, places, progress):
    top, build, python = places
    cells.write_configs(cell, scenario)
    processes = {p.name: p for p in cells.cell_processes(cell, scenario, top, build, python)}
    running = Running(cell, keeper)
    progress("starting the medium")
    keeper.start(processes["air"])
    if not keeper.wait_until(lambda: running.answers(running.air), START_TIMEOUT_S):
        raise CellDied("air does not answer on its control socket")
    progress("starting the base station and the terminal")
    for name in ("base.macd", "terminal.macd", "base.radio", "terminal.radio"):
        keeper.start(processes[name])
    for endpoint in (running.base, running.terminal):
        if not keeper.wait_until(lambda e=endpoint: running.answers(e), START_TIMEOUT_S):
            raise CellDied(f"{endpoint.endpoint} does not answer")
    return running


def wait_for_lock(running, scenario, progress):
    """Returns air time from the first sample to lock, s."""
    def begun():
        return running.ask(running.terminal).slot > 0

    if not running.keeper.wait_until(begun, START_TIMEOUT_S):
        raise CellDied("the terminal's receiver does not deliver slots")
    speed = scenario["air.speed"]
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


def drain(running, scenario, limit_s=30):
    """Wait until both queues are empty and nothing changes any more."""
    previous = None

    def quiet():
        nonlocal previous
        b, t = running.ask(running.base), running.ask(running.terminal)
        now = [x.SerializeToString(deterministic=True) for x in (b.downlink, b.uplink, t.downlink, t.uplink)]
        still = now == previous
        previous = now
        return still and not (b.downlink.queued.packets or b.uplink.queued.packets
                              or t.downlink.queued.packets or t.uplink.queued.packets)

    running.keeper.wait_until(quiet, limit_s / scenario["air.speed"], every=0.15 / min(1, scenario["air.speed"]))


def measure(running, watch, scenario, progress):
    """All traffic. Returns the report without verdict, and the reasons of failed traffic."""
    keeper, cell = running.keeper, running.cell
    speed, duration = scenario["air.speed"], scenario["traffic.duration_s"]
    result, failed = {}, []
    with contextlib.suppress(running.NoAnswer):
        for endpoint in (running.air, running.base, running.terminal):
            endpoint.reset_counters()
    air_before = running.ask(running.air)

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

    progress("draining the link, checking the sums")
    drain(running, scenario)
    air_after = running.ask(running.air)
    base, terminal = running.ask(running.base), running.ask(running.terminal)
    tun = running.tun_counts()
    paths = accounting.paths_of(base, terminal)
    late = max(air_after.late, base.radio.late_slots)
    result["realtime"] = accounting.realtime_of(air_before, air_after, late)
    result["packets"] = {name: path.report() for name, path in paths.items()}
    result["packets"]["uplink"]["feedback"] = {"packets": terminal.uplink_feedback.packets,
                                               "bytes": terminal.uplink_feedback.bytes}
    mss = result["tcp"]["mss"] if result["tcp"] else 1448
    result["capacity"] = accounting.capacity(scenario["link.bins"], scenario["link.modulation"],
                                             result["link"]["modulation_histogram"], mss,
                                             scenario["link.packing"] == "on")
    result["radio"] = {
        "locks": terminal.radio.locks, "lock_losses": terminal.radio.lock_losses,
        "cfo_hz": terminal.radio.cfo_hz, "evm_percent": terminal.radio.evm_percent,
        "mean_snr_db": terminal.radio.mean_snr_db,
        "grants_failed": terminal.terminal.grants_failed,
        "slots_unlocked": terminal.terminal.slots_unlocked,
        "frames_combined": terminal.terminal.frames_combined,
        "malformed_messages": base.malformed_messages + terminal.malformed_messages,
    }
    # The receiver's own figure: against the SNR that it measured when the predicted slot had come.
    result["prediction"] = {"nmse": terminal.radio.prediction_nmse,
                            "horizon_slots": scenario.retransmission_delay_slots}
    watch.end()
    result["telemetry"] = {"received": sum(watch.received.values()), "lost": sum(watch.lost.values())}
    checks = [
        ("pacing", accounting.check_pacing(result["realtime"])),
        ("late_slots", [f"late: {late} slots missed their time"] if late else []),
        ("lock", [f"lock: lost {terminal.radio.lock_losses} times"] if terminal.radio.lock_losses else []),
        ("sums", accounting.check_sums(paths, tun)),
        ("telemetry", telemetry_reasons(watch)),
        ("traffic", failed),
    ]
    result["verdict"] = accounting.verdict(checks)
    result["effective"] = {"base": base.effective_yaml, "terminal": terminal.effective_yaml}
    return result


def telemetry_reasons(watch):
    wrong = [f"telemetry: {n} messages of {name} lost" for name, n in watch.lost.items() if n]
    wrong += [f"telemetry: {n} messages of {name} do not parse" for name, n in watch.malformed.items() if n]
    wrong += [f"telemetry: nothing came from {name}" for name, n in watch.received.items() if not n]
    return wrong


# --- one run ---

def raise_terminated(signum, _frame):
    raise Terminated(signum)


def run(options, top, build, python):
    """Returns the exit code."""
    progress = Progress()
    target = check_output(options.json)
    check_machine(build, options)
    if target is not None and target.is_file():
        target.unlink()   # a run that dies must not leave the report of the run before it
    cell = cells.Cell(options.name)
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, raise_terminated)
    keeper = None
    try:
        try:
            take_over(cell, progress)
            keeper = KeeperClient(cell)
            return run_cell(cell, keeper, options, (top, build, python), progress)
        finally:
            for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(signum, signal.SIG_IGN)
            if keeper is None and cell.lock is not None:
                cell.remove()
            elif keeper is not None and not keeper.over:
                kind = sys.exc_info()[0]
                keeper.end("stopped by a signal" if kind is Terminated else
                           "the launcher failed" if kind is not None else "the run is over")
    except Terminated as e:
        name = "Ctrl-C" if e.signum == signal.SIGINT else signal.Signals(e.signum).name
        print(f"openwip: stopped by {name}; everything is removed", file=sys.stderr)
        return INTERRUPTED if e.signum == signal.SIGINT else 128 + e.signum
    except CellDied as e:
        print(f"openwip: {e}", file=sys.stderr)
        for name, words in e.last_words:
            print(f"  {name}: {words}", file=sys.stderr)
        return DIED
    except NoLock as e:
        reasons = [f"lock: {e}"]
        write_json(options, {"verdict": accounting.verdict([("lock", reasons)])}
                   | identity(options.scenario, top, python))
        print(f"verdict: INVALID\n  {reasons[0]}")
        return INVALID


def identity(scenario, top, python):
    """What a run was, whatever came of it."""
    return {"config": scenario.tree(), "seed": scenario["seed"], "versions": versions(top, python)}


def write_json(options, result):
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(result, indent=2) + "\n")


def run_cell(cell, keeper, options, places, progress):
    from . import control
    scenario = options.scenario
    if options.logs:
        keeper.keep_logs(options.logs)
    progress(f"cell '{cell.name}': namespaces {' and '.join(cell.namespaces)}")
    watch = control.TelemetryWatch({s: cell.endpoint(f"{s}.telemetry") for s in cells.STATIONS})
    try:
        running = start(cell, keeper, scenario, places, progress)
        lock_s = wait_for_lock(running, scenario, progress)
        result = measure(running, watch, scenario, progress)
    finally:
        watch.end()
    result["radio"]["lock_s"] = lock_s
    result |= identity(scenario, places[0], places[2])
    ordered = {k: result[k] for k in ("verdict", "realtime", "ping_ms", "tcp", "udp", "capacity", "link",
                                      "packets", "radio", "prediction", "telemetry", "cpu", "config", "effective", "seed",
                                      "versions")}
    if options.keep:
        keeper.detach()
        progress("the cell stays up: ./openwip exec terminal -- COMMAND, ./openwip status, ./openwip down")
    else:
        progress("ending the cell")
        keeper.end("the run is over")
    write_json(options, ordered)
    print(report.screen(ordered))
    return VALID if ordered["verdict"]["valid"] else INVALID


def main(options, top, build, python):
    try:
        return run(options, pathlib.Path(top), pathlib.Path(build), python)
    except BadInput as e:
        print(f"openwip: {e}", file=sys.stderr)
        return BAD_INPUT
