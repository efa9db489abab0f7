# SPDX-License-Identifier: GPL-3.0-or-later
"""What every command that runs a cell shares: whose the cell is, how it ends whatever happens, what its
sockets say, and how the run is reported to the shell."""
import contextlib
import functools
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import threading
import time

from . import cell as cells
from ..machine import placement, rights, system
from ..errors import BAD_INPUT, DIED, INTERRUPTED, NOT_WRITTEN, BadInput, CellDied, NotWritten
from .keeper import KeeperClient

START_TIMEOUT_S = 30
OBSERVER = "host/observer/wip_observer"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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

def check_congestion_control(wanted):
    there = pathlib.Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    if wanted not in there:
        raise BadInput(f"--tcp-cc {wanted}: this kernel has {', '.join(there)}")


def check_built(build, parts):
    missing = [p for p in parts if not (build / p).exists()]
    if missing:
        raise BadInput(f"not built yet ({', '.join(missing)} missing in {build}): run ./openwip build")


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


@functools.cache
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
        from ..messages import control
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
        self.keeper.blame(f"{endpoint.endpoint} does not answer")

    def answers(self, endpoint):
        try:
            endpoint.status(0.2)
            return True
        except self.NoAnswer:
            return False

    def tun_counts(self):
        return tun_counts(self.cell)


def tun_counts(cell):
    """What the kernel counted at the interfaces: to_macd = read by macd, from_macd = written by it;
    of several terminals the sum."""
    counts = {}
    for station in cell.stations:
        if not system.namespace_exists(cell.namespace(station)):
            raise CellDied(f"the network namespace {cell.namespace(station)} was deleted from outside")
        text = system.ip("-n", cell.namespace(station), "-s", "-j", "link", "show", "wip0")
        stats = json.loads(text)[0]["stats64"]
        counts[station] = {"to_macd": (stats["tx"]["packets"], stats["tx"]["bytes"]),
                           "from_macd": (stats["rx"]["packets"], stats["rx"]["bytes"])}
    return {"base": counts.pop("base"),
            "terminal": {way: tuple(sum(c[way][i] for c in counts.values()) for i in (0, 1))
                         for way in ("to_macd", "from_macd")}}


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


def start_process(keeper, process, running, endpoint):
    """Start it and wait until it answers."""
    keeper.start(process)
    if not keeper.wait_until(lambda: running.answers(endpoint), START_TIMEOUT_S):
        keeper.blame(f"{process.name} does not answer on its control socket")


def place(keeper, wanted, build, progress):
    """Chooses where the cell runs, and goes out of the way with all that this process starts itself."""
    keeper.placement = placement.find(wanted, build)
    progress(keeper.placement.words())
    if keeper.placement.others is not None:
        os.sched_setaffinity(0, keeper.placement.others)


def drain(running, speed=1.0, limit_s=30):
    """Wait until all queues are empty and nothing changes any more."""
    previous = None

    def quiet():
        nonlocal previous
        b, t = running.ask(running.base), running.ask(running.terminal)
        now = [x.SerializeToString(deterministic=True) for x in (b.downlink, b.uplink, t.downlink, t.uplink)]
        still = now == previous
        previous = now
        return still and not (b.downlink.queued.packets or b.uplink.queued.packets
                              or t.downlink.queued.packets or t.uplink.queued.packets)

    running.keeper.wait_until(quiet, limit_s / speed, every=0.15 / min(1, speed))


def telemetry_reasons(watch):
    wrong = [f"telemetry: {n} messages of {name} lost" for name, n in watch.lost.items() if n]
    wrong += [f"telemetry: {n} messages of {name} do not parse" for name, n in watch.malformed.items() if n]
    wrong += [f"telemetry: nothing came from {name}" for name, n in watch.received.items() if not n]
    return wrong


def start_observers(keeper, cell, command, places):
    """What looks on: the cell lives without them (their death is in the verdict)."""
    top, build, python = places
    run = {"OPENWIP_RUN": str(cell.run)}
    stations = ",".join(f"{s}={cell.namespace(s)}" for s in cell.stations)
    keeper.start(cells.Process("observer", [str(pathlib.Path(build) / OBSERVER), "--set", f"stations={stations}",
                                            "--set", f"user={system.account()[0]}"], run,
                               essential=False))
    keeper.start(cells.Process("judge", [python, "-m", "openwip_cli", "judge", cell.name, command,
                                         str(len(cell.terminals))], run, essential=False,
                               capabilities=rights.JUDGE_AT_FIRST))


@contextlib.contextmanager
def watching(cell):
    """What a verdict needs that has to be watched all the time: (TelemetryWatch, ApplicationClock)."""
    from ..messages import control
    from ..measure.applications import ApplicationClock
    watch = control.TelemetryWatch({s: cell.endpoint(f"{s}.telemetry") for s in cells.STATIONS})
    applications = ApplicationClock({s: cell.namespace(s) for s in cell.stations},
                                    lambda: [pid for pid, _ in cell.recorded_processes()])
    try:
        yield watch, applications
    finally:
        watch.end()
        applications.end()


# --- one run ---

def raise_terminated(signum, _frame):
    raise Terminated(signum)


@contextlib.contextmanager
def owned_cell(name, progress, terminals=1, base=True):
    """The cell's name and its keeper for as long as the block runs; nothing of the cell is left
    afterwards, however the block ends, unless keeper.detach() was called."""
    cell = cells.Cell(name, terminals, base)
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {s: signal.signal(s, raise_terminated) for s in SIGNALS}
    keeper = None
    try:
        take_over(cell, progress)
        if system.account()[0] != system.ACCOUNT:
            progress(f"no account '{system.ACCOUNT}' (sudo ./openwip setup makes it): the processes run as nobody")
        keeper = KeeperClient(cell)
        yield cell, keeper
    finally:
        for signum in before:
            signal.signal(signum, signal.SIG_IGN)
        if keeper is None and cell.lock is not None:
            cell.remove()
        elif keeper is not None and not keeper.over:
            kind = sys.exc_info()[0]
            keeper.end("stopped by a signal" if kind is Terminated else
                       "the launcher failed" if kind is not None else "the run is over")
        if keeper is not None:
            keeper.channel.close()
        cell.release()
        for signum, handler in before.items():
            signal.signal(signum, handler)


def exit_code_of(run):
    """Calls run(), which returns an exit code, and says in one line what stopped it, if anything did."""
    try:
        return run()
    except Terminated as e:
        name = "Ctrl-C" if e.signum == signal.SIGINT else signal.Signals(e.signum).name
        print(f"openwip: stopped by {name}; everything is removed", file=sys.stderr)
        return INTERRUPTED if e.signum == signal.SIGINT else 128 + e.signum
    except CellDied as e:
        print(f"openwip: {e}", file=sys.stderr)
        for name, words in e.last_words:
            print(f"  {name}: {words}", file=sys.stderr)
        return DIED
    except BadInput as e:
        print(f"openwip: {e}", file=sys.stderr)
        return BAD_INPUT
    except NotWritten as e:
        print(f"openwip: {e}", file=sys.stderr)
        return NOT_WRITTEN


def fresh_output(path):
    """A run that dies must not leave the report of the run before it."""
    target = check_output(path)
    if target is not None and target.is_file():
        target.unlink()


def identity(scenario, top, python):
    """What a run was, whatever came of it."""
    return {"config": scenario.tree(), "seed": scenario["seed"], "versions": versions(top, python)}


@contextlib.contextmanager
def writing(flag, path):
    """A file of the report, after the screen: whatever keeps it from being written is NotWritten."""
    try:
        yield pathlib.Path(path)
    except OSError as e:
        raise NotWritten(f"{flag} {path}: cannot be written: {e.strerror or e}") from None


def write_json(path, result):
    """Whole or not at all; not into what is no file (a device, a pipe), which is written as it is."""
    if not path:
        return
    text = json.dumps(result, indent=2) + "\n"
    with writing("--json", path) as target:
        if target.exists() and not target.is_file():
            target.write_text(text)
            return
        partial = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            partial.write_text(text)
            partial.replace(target)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
