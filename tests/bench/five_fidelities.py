#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Twenty points of the grid of chapter 6 on several fidelities, in one plot with 95 % intervals
(docs/results/ns3.md):

    five_fidelities.py OUT [--fidelities formula,ns3,virtual,real,as-radio,sample] [--seeds 6]
    [--seconds 10] [--points A1,B3] [--sender cubic]

formula   min(rate of the link alone, window / round trip, Mathis' sqrt law of wired loss); start-up
is left out ns3       ns-3's CUBIC; virtual: Linux in virtual time; real: Linux in real time (root,
a free core) sample    Linux in real time over software USRPs (root, a free core): the same fading
of the same seeds, by samples as-radio  virtual with what the radio has in the place of what the
others are told: the CRC of its frames (24 bits), and the receiver's own
          predictions in the place of a prediction error. What sample is to be compared with

The link is the same in all of them but the last two: computed errors at the level of bins, the same
seeds of the fading. Air and wall clock are at one pace in sample, for the TCP of the hosts lives by
the wall clock. Two points of A1 need to be told perfect predictions and are not in sample.
OUT/runs.json keeps every run:
the same command goes on where it was ended, another one (--fidelities real --seeds 2 --points B1)
adds to it, figure and table have all that is there. Seconds, sender and version of the tree are in
it, and others are refused: they want another OUT. A run in real time that is invalid is tried again
by the next call.

EXPECTED, written before the first run: at every point the 95 % intervals of ns-3 and of Linux in
virtual time overlap, and so do those of Linux in virtual and in real time; points at which they do
not are listed at the end and make the exit code 1.

EXPECTED of real time at the points other than A4, of which there are fewer seeds (written before
the first of these runs; overlap is no test with two): the mean of the runs in real time lies in the
95 % interval of the six in virtual time, or within 3 % of the mean of the same seeds in virtual
time.

EXPECTED of the sample level (written before the first run): the mean of its runs lies in the 95 %
interval of the six of as-radio, or within 5 % of the mean of the same seeds there. Receiver and bin
level differ in an SNR of 0.3 to 0.5 dB rms (docs/results/curves.md), the receiver loses 0.1 dB, and
within bin and slot the bin level does not fade, which costs at 75 km/h; against these 2 % of real
time for TCP. Against virtual itself the sample level is slower, by the CRC: no limit."""

import argparse
import csv
import dataclasses
import json
import math
import pathlib
import statistics
import sys
import unittest.mock
from typing import Any

import matplotlib
from scipy import stats

from openwip_cli.campaign import (
    experiments,
    flow_results,
    grid,
    in_virtual_time,
    tcp_settings,
    workloads,
)
from openwip_cli.campaign.file_parts import read_setting
from openwip_cli.campaign.plan import Experiment
from openwip_cli.errors import BadInput, CellDied, NoLock
from openwip_cli.figures import capacities
from openwip_cli.machine import places as whereabouts
from openwip_cli.measure import flows
from openwip_cli.runs import demo, emulate, ns3, virtual
from openwip_cli.settings import scenario as scenarios
from openwip_cli.settings.emulator import scenario_of
from openwip_cli.settings.scenario import text_of

matplotlib.use("Agg")
import matplotlib.pyplot as plt

START_S = virtual.START_S
OF_RADIO = {"link.profile": "radio", "channel.prediction_nmse": "predictor"}
OF_DEMO = {s.key for s in scenarios.SETTINGS}
POINTS: list[tuple[str, dict[str, Any]]] = [
    *(
        ("A1", {"channel": "jakes", "modulation": m, "max_retransmissions": r})
        for m, r in (("adaptive", 5), ("adaptive", 30), ("2", 30))
    ),
    *(
        ("A4", {"channel": c, "allocation": a})
        for c in ("jakes", "winner")
        for a in ("static", "best")
    ),
    *(("B1", {"channel": "jakes", "retransmission_delay_ms": d}) for d in (2, 8, 16)),
    *(
        ("B2", {"channel": "jakes", "window_bytes": 64096, "wired_delay_ms": d})
        for d in (0, 50, 150)
    ),
    *(
        ("B3", {"channel": "jakes", "retransmission_delay_ms": 2, "wired_loss": p})
        for p in (0.01, 0.03, 0.1)
    ),
    *(
        ("B4", {"channel": "jakes", "retransmission_delay_ms": 2, "queue_packets": q})
        for q in (3, 20)
    ),
    *(
        (
            "C1",
            {"channel": "jakes", "retransmission_delay_ms": 2, "wired_delay_ms": 10, "flow_kb": kb},
        )
        for kb in (100, 10000)
    ),
]


class Point:
    def __init__(
        self, name: str, values: dict[str, Any], seconds: float, sender: str = "cubic"
    ) -> None:
        self.sender = sender
        experiment = Experiment(
            experiments.folder(whereabouts.default().top) / f"{name}.yaml", "quick"
        )
        settings = {k: read_setting(experiment.path, k, v) for k, v in values.items()}
        self.experiment, self.point = experiment, grid.Point(tuple(sorted(settings.items())))
        self.kb = values.get("flow_kb")
        self.label = (
            f"{name} "
            + " ".join(f"{v}" for k, v in values.items() if k != "channel")
            + f" {values['channel']}"
        )
        experiment.duration_s = int(seconds)

    def spec(self, seed: int) -> dict[str, Any]:
        wanted = dict(self.point.settings)
        wanted.pop("flow_kb", None)
        return self.experiment.spec(grid.Point(tuple(wanted.items())), seed) | {}

    def settings(self, seed: int) -> dict[str, Any]:
        # computed: the same mean as a noise for every symbol (docs/explanation/emulator.md), and
        # faster
        return self.spec(seed)["emulator"] | {
            "channel.symbol_noise": "off",
            "traffic.duration_s": self.experiment.duration_s,
        }

    def work(self) -> dict[str, Any]:
        work = dict(self.spec(1)["workload"])
        return work | {
            "kind": "tcp",
            "duration_s": self.experiment.duration_s,
            "congestion_control": self.sender,
        }

    def skipped(self, name: str) -> str | None:
        """Why it is not in this fidelity."""
        s = self.settings(1)
        predicted = s["link.modulation"] == "adaptive" or s["link.allocation"] == "best"
        perfect = s["channel.prediction_nmse"] == 0 and predicted and name in ("as-radio", "sample")
        return (
            "its predictions are told to be perfect, those of a receiver are not"
            if perfect
            else None
        )

    def flow(self, work: dict[str, Any]) -> flows.Flow:
        """A file of C1 is sent once."""
        control = work["congestion_control"]
        if self.kb:
            size = self.kb * 1000
            return flows.flow("transfer", 0, 1, bytes=size, congestion_control=control)
        return flows.flow("bulk", 0, 1, seconds=work["duration_s"], congestion_control=control)

    def plan(self, work: dict[str, Any]) -> virtual.Plan:
        return virtual.Plan([self.flow(work) | {"start_s": START_S}], between=(START_S, None))


def rate_of(report: dict[str, Any], point: Point) -> float:
    """The rate in Mbit/s; that of a file counts from the start of its flow."""
    if not report["verdict"]["valid"]:
        raise RuntimeError("; ".join(report["verdict"]["reasons"]))
    end = next(e for e in report["flows"] if e["end"] == "receiver")
    return 8e-6 * end["bytes"] / (end["last"] - (START_S if point.kb else end["began"]))


def of_ns3(point: Point, seed: int, places: Any) -> float:
    work = point.work()
    tcp = tcp_settings.of_ns3(work)
    tcp.pop("sender")
    return rate_of(
        ns3.run(
            scenario_of(point.settings(seed)),
            places,
            point.plan(work),
            tcp=tcp,
        ),
        point,
    )


def of_linux(point: Point, seed: int, places: Any, over: dict[str, Any] | None = None) -> float:
    work = point.work()
    of_point = dataclasses.replace(
        flow_results.KINDS["tcp"], flow_of=point.flow, result_of=lambda *_: {}
    )
    with unittest.mock.patch.dict(flow_results.KINDS, {"tcp": of_point}):
        report = in_virtual_time.run(
            point.settings(seed) | (over or {}), work, lambda text: None, places=places
        )
    COUNTED["frames_failed"], COUNTED["prediction_nmse"] = (
        report["link"]["frame_error_rate"],
        report["emulator"]["prediction_nmse"],
    )
    return rate_of(report, point)


def as_radio(point: Point, seed: int, places: Any) -> float:
    return of_linux(point, seed, places, OF_RADIO)


COUNTED: dict[str, float] = {}  # counters of the last run, beside its rate


def workload_of(point: Point, places: Any) -> Any:
    return workloads.make(
        point.work()
        | ({"kind": "flows", "flows": [{"kb": point.kb, "times": 1}]} if point.kb else {}),
        places,
    )


def of_real_time(point: Point, seed: int, places: Any) -> float:
    return by_the_clock(
        point,
        emulate.run(
            point.settings(seed), workload_of(point, places), places=places, name="fidelities"
        ),
    )


def of_samples(point: Point, seed: int, places: Any) -> float:
    settings = {
        key: value
        for key, value in point.settings(seed).items()
        if key in OF_DEMO and key not in OF_RADIO
    }
    channel = scenarios.read_yaml(
        "channel", places.top / "channels" / "profiles" / f"{settings['channel.model']}.yaml"
    )
    # the emulator's is as defined, the demo's off
    settings["channel.shadowing"] = text_of(channel.get("shadowing", {}).get("default", False))
    work = workload_of(point, places)

    def watched(cell: Any) -> Any:
        before = cell.ask(cell.terminal).terminal
        result = work(cell)
        now = cell.ask(cell.terminal).terminal
        COUNTED["grants_lost"] = (now.grants_failed - before.grants_failed) / (
            now.slots - before.slots
        )
        return result

    report = demo.run_workload(settings, watched, places=places, name="fidelities")
    COUNTED["frames_failed"], COUNTED["prediction_nmse"] = (
        report["link"]["frame_error_rate"],
        report["prediction"]["nmse"],
    )
    return by_the_clock(point, report)


def by_the_clock(point: Point, report: dict[str, Any]) -> float:
    if not report["verdict"]["valid"]:
        raise RuntimeError("; ".join(report["verdict"]["reasons"]))
    if point.kb:  # runs until its last byte, as in the other fidelities
        return 8e-3 * point.kb / report["workload"]["flows"][str(point.kb)]["last_byte_s"]
    return 1e-6 * report["workload"]["goodput_bps"]


def of_formula(point: Point, seed: int, places: Any) -> float:
    s, work = point.settings(seed), point.work()
    wired, loss, mss = (
        s.get("wired.delay_ms", 10) * 1e-3,
        s.get("wired.loss", 0),
        capacities.USUAL_MSS,
    )
    alone, _ = emulate.generate(scenario_of(s), point.experiment.duration_s, places)
    link = alone["generator"]["ip_bps"] * mss / capacities.MTU
    trip = 2 * wired + 0.004 + capacities.MTU * 8 / alone["generator"]["ip_bps"]
    limits = [
        link,
        8 * work["window_bytes"] / trip if work["window_bytes"] else math.inf,
        8 * mss / trip * math.sqrt(1.5 / loss) if loss else math.inf,
    ]
    return 1e-6 * min(limits)


FIDELITIES = {
    "formula": of_formula,
    "ns3": of_ns3,
    "virtual": of_linux,
    "real": of_real_time,
    "as-radio": as_radio,
    "sample": of_samples,
}
WITHIN = {"real": 0.03, "sample": 0.05}  # relative tolerance for fidelities with fewer seeds


class Kept:
    """The results in the file OUT. `made`: the parameters that all runs have in common; `runs`:
    {"point|fidelity|seed": Mbit/s, or the reason why the run is invalid}; `counted`: counts of the
    link, for the runs that have some."""

    def __init__(self, file: pathlib.Path, made: dict[str, Any]) -> None:
        self.file, self.made = file, made
        self.runs: dict[str, float | str] = {}
        self.counted: dict[str, dict[str, float]] = {}
        if file.exists():
            try:
                content = json.loads(file.read_text())
                self.runs, self.counted = content["runs"], content.get("counted", {})
            except (ValueError, KeyError, TypeError):
                raise BadInput(
                    f"{file} does not say with what it was made; valid: another OUT"
                ) from None
            for name, value in made.items():
                if (its := content.get(name)) != value:
                    raise BadInput(
                        f"{file} was made with {name} {its!r}, and this is {value!r}; valid: the"
                        " same, or another OUT"
                    )

    def make(self, point: Point, name: str, seed: int, given: Any, places: Any) -> None:
        key = f"{point.label}|{name}|{seed}"
        if isinstance(self.runs.get(key, ""), str):
            COUNTED.clear()
            try:
                self.runs[key] = FIDELITIES[name](point, seed, places)
                self.counted[key] = dict(COUNTED)
            except (RuntimeError, CellDied, NoLock) as e:
                self.runs[key] = str(e)
            print(
                key,
                self.runs[key],
                *(f"{name} {value:.3f}" for name, value in COUNTED.items()),
                flush=True,
            )
            part = self.file.with_suffix(".part")
            part.write_text(
                json.dumps(self.made | {"runs": self.runs, "counted": self.counted}, indent=1)
            )
            part.rename(self.file)

    def values(self, label: str, name: str) -> dict[int, float]:
        mine = {
            k.rsplit("|", 1)[1]: v for k, v in self.runs.items() if k.startswith(f"{label}|{name}|")
        }
        return {int(seed): v for seed, v in mine.items() if isinstance(v, float)}

    def row(self, label: str, name: str) -> list[dict[str, Any]]:
        if not (values := self.values(label, name)):
            return []
        mean, half = interval(list(values.values()))
        invalid = sum(
            isinstance(v, str) for k, v in self.runs.items() if k.startswith(f"{label}|{name}|")
        )
        return [
            {
                "point": label,
                "fidelity": name,
                "mean": mean,
                "half": half,
                "runs": len(values),
                "invalid": invalid,
                "values": " ".join(f"{v:.4f}" for v in values.values()),
            }
        ]

    def agree(self, label: str, a: str, b: str) -> bool | None:
        """Whether two fidelities agree as expected above; None: not measured."""
        one, other = self.values(label, a), self.values(label, b)
        if len(one) < 2 or len(other) < 2:
            return None
        (mean, half), (there, half_there) = (
            interval(list(one.values())),
            interval(list(other.values())),
        )
        if a not in WITHIN or a == "real" and len(one) >= len(other):
            return abs(mean - there) <= half + half_there
        if not (same := [other[seed] for seed in one if seed in other]):
            return None
        return abs(mean - there) <= half_there or abs(mean - statistics.fmean(same)) <= WITHIN[
            a
        ] * statistics.fmean(same)


def interval(values: list[float]) -> tuple[float, float]:
    """Mean and half of its 95 % interval (Student)."""
    half = (
        stats.t.ppf(0.975, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
        if len(values) > 1
        else math.nan
    )
    return statistics.fmean(values), float(half)


def draw(rows: list[dict[str, Any]], labels: list[str], file: pathlib.Path) -> None:
    figure, axes = plt.subplots(figsize=(10, 5))
    for n, name in enumerate(FIDELITIES):
        rows_of_fidelity = [r for r in rows if r["fidelity"] == name]
        axes.errorbar(
            [labels.index(r["point"]) + 0.13 * (n - 2.5) for r in rows_of_fidelity],
            [r["mean"] for r in rows_of_fidelity],
            # Two values are too few for a statement.
            [r["half"] if r["runs"] > 2 else 0 for r in rows_of_fidelity],
            fmt="o_s^sD"[n],
            mfc="none" if name == "as-radio" else None,
            markersize=4,
            capsize=2,
            label=name,
        )
    axes.set_xticks(range(len(labels)), labels, rotation=60, ha="right", fontsize=7)
    axes.set_ylabel("TCP goodput, Mbit/s")
    axes.set_ylim(bottom=0)
    axes.legend()
    figure.tight_layout()
    figure.savefig(file, dpi=110)


PAIRS = (("ns3", "virtual"), ("real", "virtual"), ("sample", "as-radio"))


def listed(flag: str, text: str, valid: list[str]) -> list[str]:
    words = text.split(",")
    if unknown := [w for w in words if w not in valid]:
        raise BadInput(f"{flag} has {unknown[0]!r}; valid: {', '.join(valid)}, separated by commas")
    return words


def main() -> int:
    try:
        return measure()
    except BadInput as e:
        print(f"five_fidelities.py: {e}", file=sys.stderr)
        return e.code


def measure() -> int:
    p = argparse.ArgumentParser(description="points of the grid on several fidelities")
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--fidelities", default="formula,ns3,virtual")
    p.add_argument("--points", default="")
    p.add_argument("--sender", default="cubic", help="congestion control of the flows")
    p.add_argument("--seeds", type=int, default=6)
    p.add_argument("--seconds", type=int, default=10)
    given = p.parse_args()
    wanted, places = (
        listed("--fidelities", given.fidelities, list(FIDELITIES)),
        whereabouts.default(),
    )
    names = list(dict.fromkeys(n for n, _ in POINTS))
    chosen = listed("--points", given.points, names) if given.points else names
    if given.seeds < 1 or given.seconds < 1:
        raise BadInput(f"--seeds is {given.seeds}, --seconds is {given.seconds}; valid: 1 and more")
    given.out.mkdir(parents=True, exist_ok=True)
    points = [Point(n, v, given.seconds, given.sender) for n, v in POINTS if n in chosen]
    kept = Kept(
        given.out / "runs.json",
        {
            "seconds": given.seconds,
            "sender": given.sender,
            "version": whereabouts.version(places.top),
        },
    )
    for point in points:
        for name in wanted:
            if why := point.skipped(name):
                print(f"{point.label}|{name} left out: {why}")
                continue
            for seed in range(1, given.seeds + 1):
                kept.make(point, name, seed, given, places)
    labels = [
        point.label for point in (Point(n, v, given.seconds, given.sender) for n, v in POINTS)
    ]
    rows = [row for label in labels for name in FIDELITIES for row in kept.row(label, name)]
    if not rows:
        print("no run is valid")
        return 1
    with open(given.out / "fidelities.csv", "w", newline="") as f:
        writer = csv.DictWriter(f, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    draw(rows, labels, given.out / "fidelities.png")
    found = {(label, a, b): kept.agree(label, a, b) for label in labels for a, b in PAIRS}
    apart = [row for row, agree in found.items() if agree is False]
    for row in apart:
        print("apart:", *row)
    for a, b in PAIRS:
        missing = sum(found[label, a, b] is None for label in labels)
        print(
            f"{a} against {b}: {len(labels) - missing} of {len(labels)} points measured, {missing}"
            " not measured"
        )
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
