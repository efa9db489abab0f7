# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of a plan, several at a time, resumable.

Each run is a process of its own (the emulator's launcher forks, and wants to be the only thread), with a cell of
its own. What it found is one file, runs/KEY.json, written under another name and renamed, so a file is whole or
absent. An attempt whose verdict is invalid is repeated, ATTEMPTS times at most; all of them are counted.

Ctrl-C, SIGTERM: the processes of the runs get SIGTERM, which ends their cells; what was finished stays. If this
process is killed, the kernel sends them the SIGTERM, and the keeper of each cell removes it."""
import contextlib
import json
import os
import select
import signal
import sys
import time
import traceback

from ..cell import session
from ..machine import placement, system
from ..errors import BAD_INPUT, DIED, BadInput, CellDied

ATTEMPTS = 3
END_S = 12          # for a run to take its cell down


class Stopped(Exception):
    def __init__(self, signum):
        self.signum = signum


def write_json(path, value):
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    partial.write_text(json.dumps(value, separators=(",", ":")) + "\n")
    os.replace(partial, path)


def read_run(path):
    """A finished run, or None: absent, or not a run file."""
    try:
        run = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return run if isinstance(run, dict) and {"key", "spec", "attempts", "valid"} <= set(run) else None


class Store:
    """The folder of the results."""

    def __init__(self, out):
        self.out = out
        self.runs, self.logs = out / "runs", out / "logs"

    def prepare(self):
        try:
            for folder in (self.out, self.runs, self.logs):
                folder.mkdir(parents=True, exist_ok=True)
            probe = self.runs / f".probe.{os.getpid()}"
            probe.write_text("")
            probe.unlink()
        except OSError as e:
            raise BadInput(f"--out {self.out}: cannot be written ({e.strerror})") from None

    def path(self, key):
        return self.runs / f"{key}.json"

    def get(self, key):
        return read_run(self.path(key))

    @property
    def plan(self):
        try:
            return json.loads((self.out / "plan.json").read_text())
        except (OSError, ValueError):
            return None

    def write_plan(self, plan):
        write_json(self.out / "plan.json", plan)

    def anything(self):
        return self.plan is not None or any(self.runs.glob("*.json"))


def attempt(spec, name, place, run, workload, log):
    """One emulation, in a process of its own: (valid, reasons, result)."""
    def progress(text):
        print(f"{time.strftime('%H:%M:%S')} {text}", file=log, flush=True)

    try:
        result = run(spec["emulator"], workload, progress, name=name, cores=place)
    except CellDied as e:
        return False, [f"died: {e}"] + [f"{n}: {words}" for n, words in e.last_words], None
    verdict = result["verdict"]
    return bool(verdict["valid"]), list(verdict["reasons"]), result


def child(job, run, workload, log_path):
    """In the forked process: one attempt, and its outcome in a file. Never returns."""
    code = DIED
    try:
        os.setpgid(0, 0)      # Ctrl-C is the parent's to pass on
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, lambda n, _: (_ for _ in ()).throw(Stopped(n)))
        with open(log_path, "a", encoding="utf-8") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            valid, reasons, result = attempt(job.run.spec, job.name, job.place, run, workload(job.run.spec), log)
            write_json(job.outcome, {"valid": valid, "reasons": reasons, "result": result})
            code = 0
    except BadInput as e:
        write_json(job.outcome, {"refused": str(e)})
        code = BAD_INPUT
    except BaseException as e:
        if not isinstance(e, (Stopped, session.Terminated)):
            traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class Job:
    def __init__(self, run, name, place, store):
        self.run, self.name, self.place = run, name, place
        self.outcome = store.logs / f"{run.key}.outcome"
        self.began = time.monotonic()
        self.pid = self.pidfd = None

    def start(self, *arguments):
        sys.stdout.flush()
        sys.stderr.flush()
        self.outcome.unlink(missing_ok=True)
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            system.die_with_parent(parent)
            child(self, *arguments)
        self.pidfd = os.pidfd_open(self.pid)

    def collect(self):
        """After its end: the outcome, or what can be said about its absence."""
        _, status = os.waitpid(self.pid, 0)
        os.close(self.pidfd)
        try:
            outcome = json.loads(self.outcome.read_text())
        except (OSError, ValueError):
            outcome = {"valid": False, "result": None,
                       "reasons": [f"the run's process ended with {os.waitstatus_to_exitcode(status)}"]}
        self.outcome.unlink(missing_ok=True)
        return outcome | {"seconds": round(time.monotonic() - self.began, 2)}


class Runner:
    """`run` is runs.emulate.run, or in tests something that looks like it; `workload(spec)` gives what
    it is to run in the cell; `say(text)` shows progress."""

    def __init__(self, store, jobs, run, workload, say, cleanup=lambda name: None):
        self.store, self.jobs = store, jobs
        self.emulate, self.workload, self.say, self.cleanup = run, workload, say, cleanup
        self.active = {}       # pidfd -> Job
        self.attempts = {}     # key -> outcomes so far, without results
        self.done_cost = self.spent = 0.0
        self.repeated = 0

    def run_all(self, runs):
        """Everything that has no valid file yet. Returns (done here, found finished)."""
        # A run that stayed invalid is tried again by the next call: the machine may be quieter then.
        finished = [r for r in runs if (f := self.store.get(r.key)) is not None and f["valid"]]
        there = {r.key for r in finished}
        waiting = [r for r in runs if r.key not in there]
        self.total, self.left_cost = len(waiting), sum(r.cost_s for r in waiting)
        self.completed, self.began = 0, time.monotonic()
        places = {f"x{os.getpid() % 10**7}j{i}": placement.of_several(i) for i in range(self.jobs)}
        old = {s: signal.signal(s, self._stop) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        try:
            while waiting or self.active:
                free = [n for n in places if n not in {j.name for j in self.active.values()}]
                while waiting and free:
                    name = free.pop(0)
                    job = Job(waiting.pop(0), name, places[name], self.store)
                    job.start(self.emulate, self.workload, self.store.logs / f"{job.run.key}.log")
                    self.active[job.pidfd] = job
                ready, _, _ = select.select(list(self.active), [], [], 5)
                for pidfd in ready:
                    again = self._finish(self.active.pop(pidfd))
                    if again is not None:
                        waiting.append(again)
        except BaseException:
            self._end_all()
            raise
        finally:
            for signum, handler in old.items():
                signal.signal(signum, handler)
        return self.completed, len(finished)

    @staticmethod
    def _stop(signum, _frame):
        raise Stopped(signum)

    def _finish(self, job):
        """Store it, or give it back to be run again."""
        outcome = job.collect()
        if "refused" in outcome:
            raise BadInput(f"{job.run.label}: {outcome['refused']}")
        result = outcome.pop("result")
        mine = self.attempts.setdefault(job.run.key, [])
        mine.append(outcome)
        self.spent += outcome["seconds"]
        if not outcome["valid"]:
            self.repeated += 1
            self.cleanup(job.name)
            if len(mine) < ATTEMPTS:
                self.say(f"{job.run.label}: invalid ({outcome['reasons'][0]}), will be repeated")
                return job.run
        self.completed += 1
        self.done_cost += job.run.cost_s
        self.left_cost -= job.run.cost_s
        write_json(self.store.path(job.run.key),
                   {"key": job.run.key, "spec": job.run.spec, "label": job.run.label, "valid": outcome["valid"],
                    "attempts": mine, "result": result})
        with contextlib.suppress(OSError):
            if outcome["valid"]:
                (self.store.logs / f"{job.run.key}.log").unlink()
        self.say(f"{self.completed}/{self.total} {job.run.label}: {headline(result)}, "
                 f"{'valid' if outcome['valid'] else 'INVALID: ' + outcome['reasons'][0]}; {self.remaining()}")
        return None

    def remaining(self):
        elapsed = time.monotonic() - self.began
        if not self.done_cost:
            return "time left unknown"
        # What is running now counts as half done.
        half = sum(j.run.cost_s for j in self.active.values()) / 2
        left = max(0.0, self.left_cost - half) * elapsed / (self.done_cost + half)
        return f"{left / 60:.0f} min left" if left > 90 else f"{left:.0f} s left"

    def _end_all(self):
        jobs = list(self.active.values())
        for signum, patience in ((signal.SIGTERM, END_S), (signal.SIGKILL, 2)):
            for job in jobs:
                with contextlib.suppress(OSError):
                    signal.pidfd_send_signal(job.pidfd, signum)
            deadline = time.monotonic() + patience
            while jobs and (left := deadline - time.monotonic()) > 0:
                ready, _, _ = select.select([j.pidfd for j in jobs], [], [], left)
                for job in [j for j in jobs if j.pidfd in ready]:
                    job.collect()
                    self.cleanup(job.name)
                    jobs.remove(job)
        self.active.clear()


def headline(result):
    """One figure of a run for the progress line."""
    work = (result or {}).get("workload") or {}
    if "goodput_bps" in work:
        return f"{work['goodput_bps'] / 1e6:.2f} Mbit/s"
    if "loss" in work:
        return f"{work['loss']:.2%} lost"
    if "flows" in work:
        return ", ".join(f"{kb} kB {f['goodput_bps'] / 1e6:.2f}" for kb, f in work["flows"].items()) + " Mbit/s"
    return "no result"
