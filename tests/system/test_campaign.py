# SPDX-License-Identifier: GPL-3.0-or-later
"""A campaign with a cheap program in the place of the emulator: killed at half, gone on with, with
workers that are killed and a file system that stumbles; and one in virtual time by a SLURM of its
own. Nothing here evaluates the pace."""

import collections
import contextlib
import io
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from demo_support import TOP, environment, wait_until
from openwip_cli.campaign import command, experiments, plan, store
from openwip_cli.errors import CellDied, Terminated
from openwip_cli.machine import system
from openwip_cli.machine.places import Places
from openwip_cli.runs import elsewhere, failure, pool, virtual

UNIT = TOP / "tests" / "unit" / "experiments"
sys.path.append(str(UNIT))
import world

BUILD = pathlib.Path(environment()["OPENWIP_BUILD"])
PLACES = Places(TOP, BUILD, sys.executable)
# A run: says who it is, waits as long as its specification says, and takes its time to clean up.
RUN = f"""
import json, os, pathlib, sys, time
sys.path.insert(0, {str(TOP / "host" / "cli")!r})
from openwip_cli.runs import pool
spec, out, _, parent = sys.argv[1:]
mark = pathlib.Path("alive", str(os.getpid()))
mark.write_text("")
try:
    pool.with_parent(int(parent))
    told = json.loads(pathlib.Path(spec).read_text())
    with open("ran", "a") as f:
        f.write(told["name"] + "\\n")
    if told.get("says"):
        sys.exit(told["says"])
    time.sleep(told["seconds"])
    pool.write_json(pathlib.Path(out), told)
    if told.get("dies"):
        mark.unlink()
        os.kill(os.getppid(), 9)
        os.kill(os.getpid(), 9)
finally:
    mark.unlink()
"""
# A campaign of four runs, of which two do not end by themselves.
CAMPAIGN = f"""
import pathlib, sys
sys.path.insert(0, {str(TOP / "host" / "cli")!r})
from openwip_cli.machine.places import Places
from openwip_cli.runs import pool
many = pool.Pool(Places(pathlib.Path({str(TOP)!r}), pathlib.Path({str(BUILD)!r}), sys.executable), pathlib.Path(sys.argv[1]), 4, sys.argv[2:])
with many.owned():
    many.run({{f"{{n}}": {{"name": str(n), "seconds": 0 if n < 3 else 60}} for n in range(1, 5)}}, lambda key: print(key, flush=True))
"""


class Campaign(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "alive").mkdir()
        (self.folder / "run.py").write_text(RUN)
        self.command = [sys.executable, str(self.folder / "run.py")]

    def alive(self):
        return list((self.folder / "alive").iterdir())

    def ran(self):
        return sorted((self.folder / "ran").read_text().split())

    def processes(self):
        """Processes whose command line names this folder."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    found += (
                        [entry.name]
                        if str(self.folder).encode() in (entry / "cmdline").read_bytes()
                        else []
                    )
                except OSError:
                    pass
        return found

    def killed_at_half(self):
        campaign = subprocess.Popen(
            [sys.executable, "-c", CAMPAIGN, self.folder, *self.command],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(campaign.stdout.close)
        self.assertEqual({campaign.stdout.readline(), campaign.stdout.readline()}, {"1\n", "2\n"})
        self.assertTrue(wait_until(lambda: len(self.alive()) == 2 and len(self.ran()) == 4, 30))
        campaign.kill()
        campaign.wait(30)
        self.assertTrue(wait_until(lambda: not self.alive() and not self.processes(), 15))

    def go_on(self):
        for path in (self.folder / "specs").iterdir():
            path.write_text(json.dumps(json.loads(path.read_text()) | {"seconds": 0}))
        many, done = pool.Pool(PLACES, self.folder, 2, self.command), []
        with many.owned():
            many.run({key: {} for key in ("3", "4")}, done.append)
        return done

    def test_killed_at_half_it_leaves_nothing_and_no_finished_run_is_repeated(self):
        self.killed_at_half()
        self.assertEqual(
            sorted(p.name for p in (self.folder / "runs").iterdir()), ["1.json", "2.json"]
        )
        self.assertEqual(sorted(self.go_on()), ["3", "4"])
        self.assertEqual(self.ran(), ["1", "2", "3", "3", "4", "4"])

    def test_a_ctrl_c_ends_the_campaign_and_its_runs(self):
        many, done = pool.Pool(PLACES, self.folder, 2, self.command), []

        def take(key):
            done.append(key)
            self.assertTrue(wait_until(lambda: len(self.alive()) == 1 and len(self.ran()) == 2, 30))
            signal.raise_signal(signal.SIGINT)

        with self.assertRaises(Terminated):
            many.run({"1": {"name": "1", "seconds": 0}, "2": {"name": "2", "seconds": 60}}, take)
        self.assertEqual(
            (done, len(self.ran()), self.alive(), self.processes()), (["1"], 2, [], [])
        )

    def test_a_run_that_refuses_is_a_result_with_its_words_and_the_others_go_on(self):
        many, done = pool.Pool(PLACES, self.folder, 1, self.command), []
        many.run(
            {
                "7": {"name": "7", "says": "openwip: --channel is 'moon'"},
                "8": {"name": "8", "seconds": 0},
            },
            done.append,
        )
        self.assertEqual(sorted(done), ["7", "8"])
        made = failure.of_tree(json.loads((self.folder / "runs" / "7.json").read_text())["failure"])
        self.assertEqual(
            (made.cause, made.exit_code, made.said),
            (failure.Cause.FAILED, 1, "openwip: --channel is 'moon'"),
        )
        self.assertEqual(self.ran(), ["7", "8"])

    def test_a_campaign_whose_supervisors_cannot_start_ends_with_their_words(self):
        places = Places(TOP, BUILD, "/bin/false")
        many = pool.Pool(places, self.folder, 1, self.command)
        with self.assertRaisesRegex(CellDied, "^no run could be started: .*supervisors.log"):
            many.run({"7": {"name": "7", "seconds": 0}}, lambda key: None)
        self.assertEqual(list((self.folder / "runs").iterdir()), [])

    def test_a_result_stays_whatever_becomes_of_its_worker(self):
        """A former result stays in a round that makes others, and so does one whose run is killed
        after writing it."""
        (self.folder / "runs").mkdir()
        (self.folder / "runs" / "1.json").write_text("of before")
        many, done = pool.Pool(PLACES, self.folder, 2, self.command), []
        many.run(
            {"1": {"name": "1", "seconds": 0}, "2": {"name": "2", "seconds": 0, "dies": True}},
            done.append,
        )
        self.assertEqual((sorted(done), self.ran()), (["1", "2"], ["2"]))
        self.assertEqual((self.folder / "runs" / "1.json").read_text(), "of before")
        self.assertEqual(json.loads((self.folder / "runs" / "2.json").read_text())["name"], "2")


# A run of an experiment whose worker may be killed. `fates` says how: SPEC's name -> "run" or
# "worker" (with its supervisor), always, or "once".
MORTAL = f"""
import json, os, pathlib, sys, time
sys.path[:0] = [{str(TOP / "host" / "cli")!r}, {str(UNIT)!r}]
import world
from openwip_cli.runs import pool
spec, out, _, parent = sys.argv[1:]
pool.with_parent(int(parent))
folder, key = pathlib.Path(out).resolve().parents[1], pathlib.Path(spec).stem
fate = json.loads((folder / "fates").read_text()).get(key)
with open(folder / "ran", "a") as f:
    f.write(key + chr(10))
if fate in ("run", "worker") or fate == "once" and (folder / "ran").read_text().split().count(key) == 1:
    if fate == "worker":
        os.kill(os.getppid(), 9)
    os.kill(os.getpid(), 9)
told = json.loads(pathlib.Path(spec).read_text())
pool.write_json(pathlib.Path(out), {{"key": key, "spec": told, "valid": True, "attempts": [{{"valid": True, "reasons": []}}],
                                    "result": world.result(goodput_mbps=world.formula(told["emulator"]))}})
"""
# The whole command, without a check of the machine.
WHOLE = f"""
import pathlib, sys
sys.path.insert(0, {str(TOP / "host" / "cli")!r})
from openwip_cli.campaign import command
from openwip_cli.errors import Stop
from openwip_cli.machine.places import Places
command.check_machine = lambda *_: None
try:
    sys.exit(command.main([sys.argv[1], "--out", sys.argv[2], "--machine-cores", "1"],
                          Places(pathlib.Path({str(TOP)!r}), pathlib.Path({str(BUILD)!r}), sys.executable), sys.argv[3:]))
except Stop as e:
    sys.exit(e.code)
"""


class KilledWorkers(unittest.TestCase):
    """The small campaign of the unit tests, 32 runs, of which three in ten are killed at random."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.out = pathlib.Path(folder.name), pathlib.Path(folder.name, "out")
        self.out.mkdir()
        (self.folder / "S1.yaml").write_text(world.SMALL)
        (self.folder / "defaults.yaml").write_text(world.DEFAULTS)
        (self.folder / "run.py").write_text(MORTAL)
        keys = self.keys = [r.key for r in plan.Experiment(self.folder / "S1.yaml", "full").runs()]
        doomed = random.Random(36).sample(keys, 10)
        self.fate(dict(zip(doomed, ["run"] * 5 + ["worker"] * 2 + ["once"] * 3)))
        self.killed, self.lost, self.once = doomed[:5], doomed[5:7], doomed[7:]
        self.fine = sorted(set(keys) - set(self.killed) - set(self.lost))

    def fate(self, fates):
        (self.out / "fates").write_text(json.dumps(fates))

    def campaign(self, *more):
        """Exit code, screen, how often each run was tried."""
        (self.out / "ran").write_text("")
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            code = command.main(
                [
                    str(self.folder / "S1.yaml"),
                    "--out",
                    str(self.out),
                    "--machine-cores",
                    "1",
                    *more,
                ],
                PLACES,
                [sys.executable, str(self.folder / "run.py")],
            )
        return code, out.getvalue(), collections.Counter((self.out / "ran").read_text().split())

    def results(self):
        """{key: what its run wrote} of those that are valid."""
        kept = store.Store(self.out)
        found = {key: kept.read(key) for key in self.keys}
        kept.archive.close()
        return {key: json.dumps(each.run) for key, each in found.items() if each.counts}

    def test_every_valid_result_is_kept_the_failed_are_listed_and_the_next_call_makes_them(self):
        code, reported, tried = self.campaign()
        self.assertEqual((code, sorted(self.results())), (1, self.fine))
        self.assertEqual(
            [{tried[key] for key in keys} for keys in (self.killed, self.lost, self.once)],
            [{3}, {3}, {2}],
        )
        self.assertIn("25 of 32 runs valid (7 failed)", reported)
        self.assertIn("failed run", reported)
        table = json.loads((self.out / "comparison.json").read_text())["experiments"]["S1"]
        causes = {each["run"]: each["failure"]["cause"] for each in table["lacking"]}
        self.assertEqual(
            causes, dict.fromkeys(self.killed, "killed") | dict.fromkeys(self.lost, "lost")
        )
        before = self.results()
        self.fate({})
        code, _, tried = self.campaign()
        self.assertEqual((code, sorted(tried)), (0, sorted(self.killed + self.lost)))
        self.assertEqual(
            {key: text for key, text in self.results().items() if key in before}, before
        )
        with sqlite3.connect(self.out / "results.sqlite") as connection:
            causes = connection.execute(
                "SELECT cause, COUNT(*) FROM results GROUP BY cause ORDER BY cause"
            ).fetchall()
        self.assertEqual(causes, [(None, 32), ("killed", 5), ("lost", 2)])
        self.assertEqual(list((self.out / "runs").glob("*.json")), [])

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_on_a_file_system_that_stumbles_the_campaign_ends_and_no_valid_result_is_lost(self):
        library = self.folder / "failing_files.so"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-o", library]
            + [TOP / "tests" / "support" / "failing_files.c", "-ldl"],
            check=True,
        )
        (self.out / "ran").write_text("")
        before, codes = {}, []
        for seed in range(2):
            stumbling = {
                "LD_PRELOAD": str(library),
                "FAILING_FOLDER": str(self.out.resolve()),
                "FAILING_ONE_IN": "150",
                "FAILING_SEED": str(seed),
            }
            ended = subprocess.run(
                [sys.executable, "-c", WHOLE, self.folder / "S1.yaml", self.out]
                + [sys.executable, self.folder / "run.py"],
                env=environment() | stumbling,
                capture_output=True,
                timeout=200,
            )
            codes.append(ended.returncode)
            now = self.results()
            self.assertEqual({key: text for key, text in now.items() if key in before}, before)
            before = now
        self.assertLess(set(codes), {0, 1, 2, 3, 75})
        self.fate({})
        # A worker whose file system failed may look as if it had failed by itself.
        code, _, _ = self.campaign("--retry-failed")
        self.assertEqual((code, sorted(self.results())), (0, sorted(self.keys)))
        after = self.results()
        self.assertEqual({key: after[key] for key in before}, before)


@unittest.skipUnless(
    (BUILD / elsewhere.SNAKEMAKE).exists(), "no Snakemake: ./openwip setup --campaigns"
)
class Snakemake(unittest.TestCase):
    """The engine for other machines."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_snakemake_that_begins_no_run_ends_the_campaign_with_its_words(self):
        (self.folder / "profile").mkdir()
        (self.folder / "profile" / "config.yaml").write_text("executor: moon\n")
        many = elsewhere.Elsewhere(PLACES, self.folder, 1, self.folder / "profile", ["true"])
        with self.assertRaisesRegex(CellDied, "^no run could be started: .*moon.*snakemake.log"):
            many.run({"7": {"name": "7", "seconds": 0}}, lambda key: None)
        self.assertEqual(list((self.folder / "runs").iterdir()), [])

    def test_one_look_of_the_scheduler_is_due_at_a_time(self):
        """Snakemake's own: ten."""
        asked = (
            "import snakemake_here, threading, time\n"
            "scheduler = object.__new__(snakemake_here.JobScheduler)\n"
            "scheduler._open_jobs = threading.Semaphore(0)\n"
            "for _ in range(10): scheduler._schedule_reevalutation(0.05)\n"
            "time.sleep(0.5)\n"
            "print(scheduler._open_jobs._value)"
        )
        python = (BUILD / elsewhere.SNAKEMAKE).with_name("python3")
        environment = {"PYTHONPATH": str(TOP / "host" / "campaign"), "PYTHONDONTWRITEBYTECODE": "1"}
        self.assertEqual(
            subprocess.check_output([python, "-c", asked], env=environment, text=True), "1\n"
        )


TOOLS = ("munged", "slurmctld", "slurmd", "sbatch", "srun")
SMALL = f"""
title: small
defaults: {experiments.folder(TOP)}/defaults.yaml
grid: {{workload: [tcp, voip], channel: jakes}}
full: {{realisations: 1, duration_s: 1}}
quick: {{}}
figures: [{{name: small, number: 0, kind: bars, x: workload, series: channel, metric: frame_error_rate}}]
statements: []
"""


def missing():
    """The reason why the test of SLURM cannot run; "": none."""
    tools = [t for t in TOOLS if not shutil.which(t, path=os.defpath + ":/usr/sbin:/sbin")]
    return (
        f"no SLURM here ({', '.join(tools)}): slurmctld, slurmd and munge of Debian"
        if tools
        else (
            "a cluster of one's own needs root"
            if os.geteuid()
            else (
                "no SLURM for Snakemake: ./openwip setup --campaigns"
                if not list(
                    (BUILD / "campaigns/lib").glob(
                        "python*/site-packages/snakemake_executor_plugin_slurm"
                    )
                )
                else (
                    ""
                    if (BUILD / virtual.KERNEL).exists()
                    else "no Linux kernel for virtual time: ./openwip setup --virtual-time"
                )
            )
        )
    )


class Cluster:
    """SLURM on the loopback: a controller, a node, munge."""

    def __init__(self, folder):
        def free_port():
            with socket.create_server(("127.0.0.1", 0)) as s:
                return s.getsockname()[1]

        folder.chmod(0o755)  # munge wants to be reached
        for name in ("state", "spool", "bin"):
            (folder / name).mkdir()
        (folder / "key").write_bytes(os.urandom(32))
        (folder / "key").chmod(0o400)
        conf = folder / "slurm.conf"
        conf.write_text(
            "\n".join(
                f"{k}={v}"
                for k, v in {
                    "ClusterName": "openwip",
                    "SlurmctldHost": "localhost",
                    "SlurmUser": "root",
                    "SlurmctldPort": free_port(),
                    "SlurmdPort": free_port(),
                    "AuthInfo": f"socket={folder}/munge.sock",
                    "StateSaveLocation": folder / "state",
                    "SlurmdSpoolDir": folder / "spool",
                    "SlurmctldPidFile": folder / "ctld.pid",
                    "SlurmdPidFile": folder / "slurmd.pid",
                    "ProctrackType": "proctrack/pgid",
                    "TaskPlugin": "task/none",
                    "SelectType": "select/cons_tres",
                    "SelectTypeParameters": "CR_Core",
                    "JobAcctGatherType": "jobacct_gather/none",
                    "KillWait": 2,
                    "MpiDefault": "none",
                    "AccountingStorageType": "accounting_storage/none",
                    "ReturnToService": 2,
                    "NodeName": f"localhost CPUs={os.cpu_count()} RealMemory=2000",
                    "PartitionName": "all Nodes=ALL Default=YES State=UP",
                }.items()
            )
            + "\n"
        )
        # The executor takes SLURM's variables out of a job's environment; a usual cluster has its
        # file in /etc.
        srun = folder / "bin" / "srun"
        srun.write_text(f'#!/bin/sh\nSLURM_CONF={conf} exec {shutil.which("srun")} "$@"\n')
        srun.chmod(0o755)
        self.environment = environment() | {
            "SLURM_CONF": str(conf),
            "PATH": f"{folder}/bin:{os.environ['PATH']}:/usr/sbin:/sbin",
        }
        self.log = open(folder / "daemons.log", "w")
        self.daemons = [
            self.start(
                "munged",
                "-F",
                "-f",
                f"--key-file={folder}/key",
                f"--socket={folder}/munge.sock",
                f"--pid-file={folder}/munged.pid",
                f"--log-file={folder}/munged.log",
                f"--seed-file={folder}/seed",
            ),
            self.start("slurmctld", "-D"),
            self.start("slurmd", "-D", "-N", "localhost"),
        ]
        if not wait_until(lambda: "idle" in self.says("sinfo", "-h", "-o", "%T"), 60):
            raise AssertionError((folder / "daemons.log").read_text()[-3000:])

    def start(self, *argv):
        parent = os.getpid()
        return subprocess.Popen(
            argv,
            env=self.environment,
            stdout=self.log,
            stderr=self.log,
            preexec_fn=lambda: system.die_with_parent(parent),
        )

    def says(self, *argv):
        return subprocess.run(argv, env=self.environment, capture_output=True, text=True).stdout

    def close(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            daemon.wait(20)
        self.log.close()


@unittest.skipIf(missing(), missing())
class Slurm(unittest.TestCase):
    def campaign(self, folder, *options, env=None):
        (folder / "S1.yaml").write_text(SMALL)
        done = subprocess.run(
            [
                TOP / "openwip",
                "campaign",
                folder / "S1.yaml",
                "--time",
                "virtual",
                "--out",
                folder / "out",
                *options,
            ],
            capture_output=True,
            text=True,
            env=env or environment(),
            timeout=240,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return {key: run["result"] for key, run in store.Store(folder / "out").every().items()}

    def test_a_campaign_on_a_cluster_finishes_with_the_numbers_of_one_here(self):
        with (
            tempfile.TemporaryDirectory() as here,
            tempfile.TemporaryDirectory() as there,
            tempfile.TemporaryDirectory() as folder,
        ):
            cluster = Cluster(pathlib.Path(folder))
            try:
                far = self.campaign(
                    pathlib.Path(there), "--profile", "slurm", env=cluster.environment
                )
                jobs = cluster.says("squeue", "-h", "--states=all", "-o", "%T").split()
            finally:
                cluster.close()
            near = self.campaign(pathlib.Path(here))
        self.assertEqual(jobs, ["COMPLETED"] * 2)
        for result in (*near.values(), *far.values()):
            del result["realtime"], result["workload"]["wall_s"]
        self.assertEqual(far, near)


if __name__ == "__main__":
    unittest.main()
