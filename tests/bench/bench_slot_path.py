# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip bench slot-path: measures the CPU time that a slot costs in a running cell, for one build
of OpenWIP or for two, which take turns.

Each run is a demo of its own in the build's tree; while its TCP stream runs, the five processes of
the slot path are read from /proc and, where the kernel traces, their wake-ups are counted. Two
builds take turns, A B A B ..., since the speed of a machine drifts; the ratios are of the medians,
with the interval that the runs leave (bootstrap, 95 %).

--catch-up: in one more run of each build the medium is stopped for 0.3 s; at which pace it makes up
for that."""

import argparse
import contextlib
import json
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import slot_path_cost
import wake_ups
from openwip_cli.air import SLOT_SAMPLES, SLOTS_PER_SECOND
from openwip_cli.cell import cell as cells
from openwip_cli.cell import processes
from openwip_cli.errors import BadInput, CellDied
from openwip_cli.machine import outputs, procfs, slot_path, system
from openwip_cli.machine.places import Places
from openwip_cli.measure import pace
from openwip_cli.messages import control
from openwip_cli.settings.command_line import Parser
from openwip_cli.settings.kinds import Integer, Real

CELL = "slotpath"
TCP_STARTS_S = 60  # within
SETTLE_S = 1.5  # seconds of the stream before anything is read
STOPPED_S = 0.3
CAUGHT_UP_S = 0.02  # behind: of no interest any more
CATCHES_UP_S = 20.0  # within
AIMS = {"switches": 9.0, "catch_up": 1.5}
USUAL = ["--bins", "25", "--modulation", "8", "--snr", "40", "--uplink-kbps", "5000"]
FIGURES = ("switches", "preemptions", "user_us", "kernel_us", "processor_us", "waited_us")
RESAMPLES = 2000  # bootstrap resamples of an interval


def parse(arguments: list[str]) -> Any:
    p = Parser(
        "bench slot-path",
        __doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"After -- come options of the demo (default: {' '.join(USUAL)}).",
    )
    p.value(
        "--runs",
        Integer(1, 100),
        metavar="N",
        default=3,
        help="number of runs of each build, 1..100 (default 3)",
    )
    p.value(
        "--duration",
        Real(1, 600),
        was="--seconds",
        metavar="S",
        default=4.0,
        help="measured part of each run, 1..600 (default 4)",
    )
    p.add_argument(
        "--against",
        metavar="TREE",
        help="another built checkout to compare with, which has TREE/openwip and TREE/build",
    )
    p.add_argument(
        "--catch-up",
        action="store_true",
        help="also stop the medium for a while, and measure how fast it catches up with real time",
    )
    p.json("the results of all runs", was_a_word=True)
    p.add_argument("demo", nargs="*", help="options for ./openwip demo, which stand after --")
    given = p.parse_args(arguments)
    if (
        given.against is not None
        and not (pathlib.Path(given.against) / "build" / processes.MACD).exists()
    ):
        raise BadInput(
            f"--against is {given.against!r}; valid: a checkout whose demo is built (TREE/openwip,"
            " TREE/build)"
        )
    system.require_root()
    return given


def process_ids(cell: str = CELL) -> Any:
    found = {}
    pids = cells.RUN_ROOT / cell / "pids"
    for name in slot_path.PROCESSES:
        if name == "fader" and not (pids / name).exists():
            continue  # only a cell on cables with a fader has it
        try:
            found[name] = int((pids / name).read_text().split()[0])
        except (OSError, ValueError, IndexError):
            raise CellDied(f"the demo has no process {name}") from None
    return found


def air_status(cell: str = CELL) -> Any:
    return control.Control(f"ipc://{cells.RUN_ROOT / cell}/air.control").status(2.0)


def slots_so_far(cell: str = CELL) -> Any:
    """The slot that the cell's medium has reached."""
    return air_status(cell).now // SLOT_SAMPLES


def wait_for_stream(demo: Any) -> None:
    """Waits until the demo says that its TCP stream has begun."""
    deadline = time.monotonic() + TCP_STARTS_S
    for line in demo.stderr:
        if "TCP download" in line:
            return
        if time.monotonic() > deadline:
            break
    raise CellDied("the demo did not come to its TCP stream")


def behind_s(status: Any) -> Any:
    return status.wall_seconds - pace.air_seconds(status)


def catch_up(look: Any, stop: Any, go_on: Any, wait: Any = time.sleep) -> Any:
    """The pace (air time over wall time) at which the medium catches up after a stop, while it is
    behind by more than CAUGHT_UP_S. `look()`: a status of the medium."""
    usual = behind_s(look())
    stop()
    wait(STOPPED_S)
    go_on()
    first = last = look()
    deadline = first.wall_seconds + CATCHES_UP_S
    while behind_s(last) - usual > CAUGHT_UP_S and last.wall_seconds < deadline:
        wait(0.005)
        last = look()
    return pace.of(first, last)


@contextlib.contextmanager
def streaming(tree: Any, length: Any, *options: Any) -> Iterator[Any]:
    """A demo in `tree` whose TCP stream has settled; it is ended when something fails."""
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith("OPENWIP_") and k != "PYTHONPATH"
    }
    demo = subprocess.Popen(
        [
            str(pathlib.Path(tree) / "openwip"),
            "demo",
            "--name",
            CELL,
            "--duration",
            f"{length:g}",
            "--pings",
            "20",
            *options,
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment | {"OPENWIP_NO_BUILD": "1"},
    )
    try:
        wait_for_stream(demo)
        time.sleep(SETTLE_S)
        yield demo
    except BaseException:
        demo.send_signal(signal.SIGINT)
        demo.wait(20)
        raise


def one_catch_up(tree: Any, options: Any) -> dict[str, Any]:
    with streaming(tree, 6, "--pacing-limit-ms", "1000", *options) as demo:
        air = process_ids()["air"]
        found = catch_up(
            air_status, lambda: os.kill(air, signal.SIGSTOP), lambda: os.kill(air, signal.SIGCONT)
        )
        demo.communicate(timeout=120)
    return {"pace": found, "stopped_s": STOPPED_S, "aim_pace": AIMS["catch_up"]}


def one_run(tree: Any, seconds: float, options: Any) -> dict[str, Any]:
    """A demo in `tree`, measured: {process: figures}, wake-ups, verdict, cores."""
    length = SETTLE_S + 2 * seconds + 2
    with tempfile.TemporaryDirectory(prefix="openwip-bench-") as folder:
        report = pathlib.Path(folder) / "report.json"
        with streaming(tree, length, f"--json={report}", *options) as demo:
            ids = process_ids()
            stolen, began = slot_path.steal_s(), time.monotonic()
            figures = slot_path_cost.measure(ids, seconds, slots_so_far)
            share = (slot_path.steal_s() - stolen) / (time.monotonic() - began)
            threads = [int(t) for pid in ids.values() for t in procfs.threads_of(pid)]
            first = slots_so_far()
            wakes = wake_ups.measure(threads, seconds)
            slots = max(1, slots_so_far() - first)
            _, output = demo.communicate(timeout=120)
        if not report.exists():
            raise CellDied(
                f"the demo of {tree} ended with exit code {demo.returncode}:"
                f" {output.strip().splitlines()[-1:]}"
            )
        result = json.loads(report.read_text())
    return {
        "figures": figures,
        "stolen": share,
        "valid": result["verdict"]["valid"],
        "goodput_of_capacity": (
            result["tcp"]["goodput_bps"] / result["capacity"]["tcp_payload_bps"]
            if result["tcp"]
            else None
        ),
        "ping_ms": result["ping_ms"],
        "realtime": result["realtime"],
        "wake_ups": (
            {"error": wakes["error"]}
            if "error" in wakes
            else {k: n / slots for k, n in wakes.items()}
        ),
    }


def medians(runs: Any) -> dict[Any, Any]:
    """{process: {figure: median over the runs}}"""
    return {
        name: {f: statistics.median(r["figures"][name][f] for r in runs) for f in FIGURES}
        for name in runs[0]["figures"]
    }


def interval(ours: Any, theirs: Any, seed: int = 1) -> list[Any]:
    """[low, high] of the ratio of medians, 95 %: drawn again from the runs that there are."""
    generator = random.Random(seed)
    drawn = sorted(
        statistics.median(generator.choices(ours, k=len(ours)))
        / statistics.median(generator.choices(theirs, k=len(theirs)))
        for _ in range(RESAMPLES)
    )
    return [drawn[round(0.025 * RESAMPLES)], drawn[round(0.975 * RESAMPLES) - 1]]


def compare(ours: Any, theirs: Any) -> Any:
    """The ratio of the totals: median of one over median of the other."""
    found = {}
    for figure in FIGURES:
        a, b = ([r["figures"]["total"][figure] for r in runs] for runs in (ours, theirs))
        if min(b) > 0:
            found[figure] = {
                "ratio": statistics.median(a) / statistics.median(b),
                "interval": interval(a, b),
            }
    return found


def summary(runs: Any) -> dict[str, Any]:
    total = medians(runs)["total"]
    return {
        "runs": len(runs),
        "valid": sum(r["valid"] for r in runs),
        "median": medians(runs),
        "stolen": [r["stolen"] for r in runs],
        "wake_ups": [r["wake_ups"] for r in runs],
        "ping_median_ms": [r["ping_ms"]["median"] if r["ping_ms"] else None for r in runs],
        "goodput_of_capacity": [r["goodput_of_capacity"] for r in runs],
        "switches_and_preemptions": total["switches"] + total["preemptions"],
        "aim_switches": AIMS["switches"],
    }


def cpu_model() -> Any:
    try:
        found = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
        return found[1] if found else "unknown"
    except OSError:
        return "unknown"


def main(arguments: list[str], places: Places) -> int:
    given = parse(arguments)
    options = given.demo or USUAL
    trees = {"this": str(places.top)} | (
        {"against": os.path.abspath(given.against)} if given.against else {}
    )
    runs: dict[str, list[Any]] = {which: [] for which in trees}
    for turn in range(given.runs):
        for which, tree in trees.items():
            runs[which].append(one_run(tree, given.seconds, options))
            total = runs[which][-1]["figures"]["total"]
            print(
                f"bench: {turn + 1} of {given.runs}, {which}:"
                f" {total['switches'] + total['preemptions']:.1f} context switches and"
                f" {total['processor_us']:.0f} us of a core a slot,"
                f" {'VALID' if runs[which][-1]['valid'] else 'INVALID'}",
                file=sys.stderr,
                flush=True,
            )
    result = {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "demo": options,
        "slot_us": 1e6 / SLOTS_PER_SECOND,
        **{which: summary(r) for which, r in runs.items()},
    }
    if given.catch_up:
        result["catch_up"] = {which: one_catch_up(tree, options) for which, tree in trees.items()}
    if given.against:
        result["this_over_against"] = compare(runs["this"], runs["against"])
    outputs.write_json(given.json or "-", result)
    return 0
