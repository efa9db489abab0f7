#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cost of a campaign of many runs for its command, the runs themselves left out: planning a round
with a stopping rule, adding results to the store, and evaluating them (docs/results/campaigns.md).

    campaign_scale.py [--runs 100000] [--json FILE]

Every result is made by a formula and padded to the size of a report. Budgets, written before the
first run: a round is planned in less than 5 s of processor time, and the evaluation, with table and
statement, holds less than 1 GB. Exit code 1: one was missed."""

import argparse
import json
import os
import pathlib
import resource
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(TOP / "tests" / "support"), str(TOP / "tests" / "unit" / "experiments")]
import world

import kept_result  # host/cli, too
from openwip_cli.campaign import archive, metrics, plan, report, runner, statements, store

ROUND_S, MOST_MB = 5.0, 1000.0
REALISATIONS = 50
FILLER = "x" * 6000  # bytes that make a report as long as a real one
TEXT = """
title: many
defaults: defaults.yaml
settings: {{allocation: static, channel: jakes}}
grid: {{snr: [{snrs}], modulation: [1, 2, 3, adaptive]}}
full: {{realisations: {realisations}, duration_s: 2}}
quick: {{}}
until: {{half_width: 0.01, rare: 0.14}}
figures:
  - {{name: many, number: 1, kind: lines, x: snr, series: modulation, metric: goodput_mbps}}
statements:
  - {{id: more, source: here, says: 2 is more than 1, kind: above, metric: goodput_mbps,
     a: {{modulation: 2}}, b: {{modulation: 1}}, at_each: {{snr: [{snrs}]}}}}
"""


class Timed:
    def __init__(self):
        self.rows = {}

    def __call__(self, name, what):
        wall, used = time.monotonic(), time.process_time()
        made = what()
        self.rows[name] = {
            "processor_s": round(time.process_time() - used, 2),
            "wall_s": round(time.monotonic() - wall, 2),
        }
        print(name, self.rows[name], file=sys.stderr, flush=True)
        return made


def rows_of(runs):
    for run in runs:
        spec = run.spec
        made = world.result(goodput_mbps=world.formula(spec["emulator"])) | {"filler": FILLER}
        text = json.dumps(
            {
                "key": run.key,
                "spec": spec,
                "valid": True,
                "attempts": [{"valid": True, "reasons": []}],
            }
            | {"result": made}
        )
        yield archive.Row(run.key, True, None, text)


def fill(kept, runs):
    for begin in range(0, len(runs), store.AT_ONCE):
        kept.archive.add(list(rows_of(runs[begin : begin + store.AT_ONCE])))


def in_child(what):
    """Runs `what` in a child. Returns its JSON, and the most memory that it held [MB]."""
    read, write = os.pipe()
    if (pid := os.fork()) == 0:
        os.close(read)
        with open(write, "w") as out:
            made = what()
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            json.dump({"made": made, "most_mb": round(most)}, out)
            out.flush()
        os._exit(0)
    os.close(write)
    with open(read) as f:
        text = f.read()
    os.waitpid(pid, 0)
    return json.loads(text)


def main():
    p = argparse.ArgumentParser(description="the costs of a campaign beside its runs")
    p.add_argument("--runs", type=int, default=100_000)
    p.add_argument("--json", metavar="FILE")
    given = p.parse_args()
    snrs = ", ".join(str(0.1 * n)[:6] for n in range(given.runs // (4 * REALISATIONS)))
    folder = tempfile.TemporaryDirectory()
    here = pathlib.Path(folder.name)
    (here / "many.yaml").write_text(TEXT.format(snrs=snrs, realisations=REALISATIONS))
    (here / "defaults.yaml").write_text(world.DEFAULTS)
    kept = store.Store(here / "out")
    kept.prepare()

    def in_memory():
        timed = Timed()
        e = timed(
            "experiment read and checked", lambda: plan.Experiment(here / "many.yaml", "full")
        )
        runs = timed("runs planned", lambda: plan.unique_runs([e]))
        progress = timed(
            "progress of an empty folder",
            lambda: runner.Progress(kept, [e], runs, lambda text: None),
        )
        chosen = timed("first round chosen", lambda: progress.next(1000))
        half = [r for r in runs if r.realisation <= 20]
        timed(f"{len(half)} results added to the store", lambda: fill(kept, half))
        progress = timed(
            f"progress with {len(half)} results",
            lambda: runner.Progress(kept, [e], runs, lambda text: None),
        )
        timed("next round chosen", lambda: progress.next(1000))
        rest = [r for r in runs if r.realisation > 20]
        timed(f"{len(rest)} more", lambda: fill(kept, rest))
        return {"steps": timed.rows, "runs": len(runs), "first_round": len(chosen)}

    def evaluation():
        timed = Timed()
        e = plan.Experiment(here / "many.yaml", "full")
        results = timed("results read", lambda: metrics.Results(e, kept.read))
        timed("statements", lambda: statements.evaluate_all(results))
        timed("tables", lambda: report.write_csv(results, here / "out"))
        return {"steps": timed.rows, "values": sum(map(len, results.found.values()))}

    planned = in_child(in_memory)
    evaluated = in_child(evaluation)
    kept_mb = (here / "out" / "results.sqlite").stat().st_size / 1e6
    steps = planned["made"]["steps"]
    round_s = sum(
        steps[name]["processor_s"]
        for name in ("runs planned", "progress of an empty folder", "first round chosen")
    )
    made = {
        "runs": planned["made"]["runs"],
        "budget": {"round_s": ROUND_S, "evaluation_mb": MOST_MB},
        "round_s": round(round_s, 2),
        "later_round_s": steps["next round chosen"]["processor_s"],
        "evaluation_mb": evaluated["most_mb"],
        "planning_mb": planned["most_mb"],
        "store_mb": round(kept_mb),
        "planning": steps,
        "evaluation": evaluated["made"]["steps"],
        "values": evaluated["made"]["values"],
    }
    print(json.dumps(made, indent=1))
    if given.json:
        command = "/usr/bin/python3 tests/bench/campaign_scale.py --json FILE"
        kept_result.write(given.json, command, made)
    folder.cleanup()
    return int(made["round_s"] > ROUND_S or made["evaluation_mb"] > MOST_MB)


if __name__ == "__main__":
    sys.exit(main())
