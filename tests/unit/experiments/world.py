# SPDX-License-Identifier: GPL-3.0-or-later
"""A small experiment in a temporary folder, and an emulator that is a formula: throughput grows
with the modulation up to `top`, realisations differ. What it runs is counted through a file."""

import contextlib
import json
import pathlib
import sys
import tempfile
import textwrap

import yaml

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "host" / "cli"))

from openwip_cli.campaign import experiments, metrics, one_run, plan, runner, store
from openwip_cli.machine.places import Places
from openwip_cli.runs import pool

DEFAULTS = (experiments.folder(TOP) / "defaults.yaml").read_text()
SMALL = """
title: small
defaults: defaults.yaml
settings: {allocation: static}
grid:
  channel: [jakes, winner]
  modulation: [adaptive, 1, 2, 3]
full: {realisations: 4, duration_s: 2}
quick: {realisations: 2, duration_s: 1, grid: {channel: jakes, modulation: [1, 2]}}
figures:
  - {name: small, number: 1.1, kind: bars, x: modulation, series: channel, metric: goodput_mbps}
statements:
  - {id: best, source: here, says: 2 is best, kind: best, metric: goodput_mbps, over: modulation, among: [1, 2, 3], expect: 2,
     for_each: {channel: [jakes]}}
"""


def places(build):
    return Places(TOP, pathlib.Path(build), sys.executable)


class World:
    def __init__(self, text=SMALL, name="S1", defaults=DEFAULTS):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.file = self.path / f"{name}.yaml"
        self.write(text)
        (self.path / "defaults.yaml").write_text(defaults)
        self.store = store.Store(self.path / "out")
        self.store.prepare()
        self.output = []

    def write(self, text):
        """Writes the experiment; its figure is over the setting that the grid has."""
        text = textwrap.dedent(text)
        # Some documents are no YAML, or have no grid.
        with contextlib.suppress(yaml.YAMLError, AttributeError):
            names = list(yaml.safe_load(text)["grid"].keys())
            text = (
                text if "modulation" in names else text.replace("x: modulation", f"x: {names[-1]}")
            )
            text = text if "channel" in names else text.replace("series: channel, ", "")
        self.file.write_text(text)

    def experiment(self, mode="full"):
        return plan.Experiment(self.file, mode)

    def progress(self, mode="full"):
        e = self.experiment(mode)
        return runner.Progress(self.store, [e], plan.unique_runs([e]), self.output.append)

    def one(self, spec, places, progress):
        """Takes the place of campaign.one_run.attempt."""
        with open(self.path / "ran", "a", encoding="utf-8") as f:
            f.write(json.dumps(spec["emulator"]) + "\n")
        return result(goodput_mbps=formula(spec["emulator"]))

    def make(self, runs, one=None):
        """Runs them as the processes of a pool would."""
        for run in runs:
            made = one_run.attempts_of(run.spec, None, self.output.append, one or self.one)
            pool.write_json(self.store.path(run.key), {"key": run.key, "spec": run.spec} | made)

    def ran(self):
        try:
            return [json.loads(line) for line in (self.path / "ran").read_text().splitlines()]
        except OSError:
            return []

    def close(self):
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def formula(options):
    k = {"adaptive": 4}.get(options["link.modulation"], options["link.modulation"])
    return (
        {1: 1.0, 2: 2.0, 3: 1.5, 4: 2.5}[k]
        + 0.1 * options["seed"]
        + 0.02 * k * (options["seed"] % 2)
    )


def result(valid=True, reasons=(), goodput_mbps=1.0, **more):
    return {
        "verdict": {
            "valid": valid,
            "reasons": list(reasons),
            "checks": {r.partition(":")[0]: False for r in reasons},
        },
        "workload": {
            "kind": "tcp",
            "goodput_bps": goodput_mbps * 1e6,
            "retransmits": 0,
            "rtt_ms": 26.7,
        },
        "link": {
            "frame_error_rate": 0.2,
            "goodput_bps": goodput_mbps * 1.1e6,
            "retransmission_histogram": [80, 16, 3, 1],
            "modulation_histogram": [0, 20, 40, 40, 0, 0, 0, 0, 0],
        },
    } | more


def results(experiment, values, metric_of=result):
    """Results of `values(point, realisation)`, keyword arguments of `result`; None: that run is
    absent."""
    by_key = {}
    for point in experiment.points:
        for r in range(1, experiment.realisations + 1):
            given = values(point, r)
            if given is not None:
                made = metric_of(**given)
                by_key[experiment.run(point, r).key] = {
                    "valid": made["verdict"]["valid"],
                    "attempts": [{}],
                    "result": made,
                }
    return metrics.Results(
        experiment,
        lambda key: store.Stored(store.State.VALID, by_key[key]) if key in by_key else store.ABSENT,
    )
