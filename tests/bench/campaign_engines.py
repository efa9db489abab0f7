#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cost of an engine for many runs for each run, and the fate of the runs whose worker dies:
the same short runs by Snakemake, dask.distributed, submitit and HyperQueue's library, each where the
Python that runs this has it (docs/results/campaigns.md).

    campaign_engines.py [--runs 10000] [--only NAME ...] [--json FILE]

A run is a process that writes a file and renames it. One in ten of the workers' runs of the second
part kills its worker the first time. Expected, written before the first run: less than 5 ms of
processor time for each run and no run lost; an engine that is slower than that by ten times earns
no place for short runs."""

import argparse
import importlib.util
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

SLOTS = 2  # runs at a time
KILLS = 100  # runs of the second part, of which one in ten kills its worker
RUN = """#!/bin/sh
[ -e $1.made ] && exit 0
if [ "$2" = kill ] && mkdir $1.once 2>/dev/null; then kill -9 $PPID; exit 1; fi
echo '{}' >$1.part && mv $1.part $1.made
"""
SNAKEFILE = """
import json
rule all:
    input: [f"{n}.made" for n in range(int(config["runs"]))]
    localrule: True
rule run:
    output: "{n}.made"
    retries: 2
    params: kill=lambda w: "kill" if config["kill"] and int(w.n) % 10 == 0 else "live"
    shell: "exec sh run.sh {wildcards.n} {params.kill}"
"""


def kind(n, kill):
    return "kill" if kill and n % 10 == 0 else "live"


def command(folder, n, kill):
    return ["sh", str(folder / "run.sh"), str(folder / str(n)), kind(n, kill)]


def call(argv):
    """Runs a command in a worker process."""
    return subprocess.call(argv)


def snakemake(folder, runs, kill):
    (folder / "Snakefile").write_text(SNAKEFILE)
    subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", str(SLOTS), "--quiet", "all"]
        + ["--nolock", "--keep-going", "--scheduler", "greedy", "--rerun-triggers", "mtime"]
        + ["--config", f"runs={runs}", f"kill={int(kill)}"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def dask(folder, runs, kill):
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=SLOTS, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        futures = client.map(
            call, [command(folder, n, kill) for n in range(runs)], retries=2, pure=False
        )
        for future in distributed.as_completed(futures):
            future.release()


def submitit(folder, runs, kill):
    import submitit as engine

    executor = engine.AutoExecutor(folder=folder / "log", cluster="local")
    executor.update_parameters(timeout_min=5)
    left, here = list(range(runs)), []
    while left or here:
        while left and len(here) < SLOTS:
            here.append(executor.submit(call, command(folder, left.pop(), kill)))
        here = [job for job in here if not job.done()]
        time.sleep(0.02)


def hyperqueue(folder, runs, kill):
    import hyperqueue as engine
    from hyperqueue.cluster import LocalCluster, WorkerConfig

    with LocalCluster() as cluster:
        cluster.start_worker(WorkerConfig(cores=SLOTS))
        client = cluster.client()
        job = engine.Job()
        for n in range(runs):
            job.program(command(folder, n, kill), stdout=None, stderr=None)
        client.wait_for_jobs([client.submit(job)], raise_on_error=False)


ENGINES = {
    "Snakemake": ("snakemake", snakemake, 1),
    "dask.distributed": ("distributed", dask, 1),
    "submitit": ("submitit", submitit, 20),  # each run is a job of SLURM, or a Python process
    "HyperQueue (library)": ("hyperqueue", hyperqueue, 1),
}


def processor_s():
    return sum(
        use.ru_utime + use.ru_stime
        for use in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def measured(engine, runs, kill):
    """Measures in a process of its own, so that the processor time is that of the runs."""
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        (folder / "run.sh").write_text(RUN)
        began, used = time.monotonic(), processor_s()
        try:
            engine(folder, runs, kill)
            why = ""
        except Exception as e:
            why = f"{type(e).__name__}: {e}"[:200]
        return {
            "runs": runs,
            "made": len(list(folder.glob("*.made"))),
            "wall_s": round(time.monotonic() - began, 2),
            "processor_ms_a_run": round(1000 * (processor_s() - used) / runs, 2),
            "error": why,
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    p = argparse.ArgumentParser(description="engines for many short runs")
    p.add_argument("--runs", type=int, default=10_000)
    p.add_argument("--only", nargs="*", choices=ENGINES, default=list(ENGINES))
    p.add_argument("--json", metavar="FILE")
    p.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = p.parse_args()
    if given.one:
        name, kill = given.one[0], given.one[1] == "kill"
        share = ENGINES[name][2]
        runs = KILLS if kill else max(1, given.runs // share)
        print(json.dumps(measured(ENGINES[name][1], runs, kill)))
        return 0
    rows = {}
    for name in given.only:
        if importlib.util.find_spec(ENGINES[name][0]) is None:
            rows[name] = {"error": f"there is no {ENGINES[name][0]} in {sys.executable}"}
            continue
        for part in ("live", "kill"):
            done = subprocess.run(
                [sys.executable, __file__, "--runs", str(given.runs), "--one", name, part],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=os.environ | {"PYTHONWARNINGS": "ignore"},
            )
            lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
            rows.setdefault(name, {})[part] = (
                json.loads(lines[-1]) if lines else {"error": f"exit code {done.returncode}"}
            )
            print(name, part, json.dumps(rows[name][part]), file=sys.stderr, flush=True)
    text = json.dumps(
        {
            "budget": {"processor_ms_a_run": 5, "lost": 0},
            "load": os.getloadavg()[0],
            "engines": rows,
        },
        indent=1,
    )
    print(text)
    if given.json:
        pathlib.Path(given.json).write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
