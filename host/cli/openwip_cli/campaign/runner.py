# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of a plan, resumable (runs/pool.py runs them, several at a time).

What a run found is one file, runs/KEY.json, written under another name and renamed, so a file is whole or absent. An attempt
whose verdict is invalid is repeated; all of them are counted. After Ctrl-C what was finished stays."""
import contextlib
import json
import os
import pathlib
import time
from collections.abc import Callable
from typing import Any

from ..errors import BadInput, CellDied, Terminated
from ..machine import outputs
from ..runs.pool import ATTEMPTS, Pool

__all__ = ["ATTEMPTS", "Runner", "Store", "Terminated"]


def write_json(path: pathlib.Path, value: Any) -> None:
    outputs.write_whole(path, json.dumps(value, separators=(",", ":")) + "\n")


def read_run(path: pathlib.Path) -> Any:
    """A finished run, or None: absent, or not a run file."""
    try:
        run = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return run if isinstance(run, dict) and {"key", "spec", "attempts", "valid"} <= set(run) else None


class Store:
    """The folder of the results."""

    def __init__(self, out: pathlib.Path) -> None:
        self.out = out
        self.runs, self.logs = out / "runs", out / "logs"

    def prepare(self) -> None:
        try:
            for folder in (self.out, self.runs, self.logs):
                folder.mkdir(parents=True, exist_ok=True)
            probe = self.runs / f".probe.{os.getpid()}"
            probe.write_text("")
            probe.unlink()
        except OSError as e:
            raise BadInput(f"--out {self.out}: cannot be written ({e.strerror})") from None

    def path(self, key: str) -> pathlib.Path:
        return self.runs / f"{key}.json"

    def get(self, key: str) -> Any:
        return read_run(self.path(key))

    @property
    def plan(self) -> dict[str, Any] | None:
        try:
            return json.loads((self.out / "plan.json").read_text())
        except (OSError, ValueError):
            return None

    def write_plan(self, plan: dict[str, Any]) -> None:
        write_json(self.out / "plan.json", plan)

    def anything(self) -> bool:
        return self.plan is not None or any(self.runs.glob("*.json"))


class Runner:
    """`run` is runs.emulate.run, or in tests something that looks like it; `workload(spec)` gives what
    it is to run in the cell; `say(text)` shows progress."""

    def __init__(self, store: Store, jobs: int, run: Callable[..., dict[str, Any]], workload: Any, say: Callable[[str], None],
                 cleanup: Callable[..., Any] = lambda name: None) -> None:
        self.store, self.emulate, self.workload, self.say = store, run, workload, say
        self.pool = Pool(jobs, f"x{os.getpid() % 10**7}j", self._attempt, self._take, lambda r: self.store.logs / f"{r.key}.log", cleanup)
        self.attempts: dict[str, list[dict[str, Any]]] = {}     # key -> outcomes so far, without results
        self.done_cost = self.spent = 0.0
        self.repeated = 0

    def run_all(self, runs: list[Any]) -> tuple[int, int]:
        """Everything that has no valid file yet. Returns (done here, found finished)."""
        # A run that stayed invalid is tried again by the next call: the machine may be quieter then.
        waiting = [r for r in runs if not (self.store.get(r.key) or {}).get("valid")]
        self.total, self.left_cost = len(waiting), sum(r.cost_s for r in waiting)
        self.completed, self.began = 0, time.monotonic()
        self.pool.run(waiting)
        return self.completed, len(runs) - len(waiting)

    def _attempt(self, run: Any, name: str, place: Any) -> dict[str, Any]:
        """One emulation, in a process of its own."""
        def progress(text: str) -> None:
            print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)

        try:
            result = self.emulate(run.spec["emulator"], self.workload(run.spec), progress, name=name, cores=place)
        except CellDied as e:
            return {"valid": False, "reasons": [f"died: {e}"] + [f"{n}: {words}" for n, words in e.last_words], "result": None}
        except BadInput as e:
            raise BadInput(f"{run.label}: {e}") from None
        return {"valid": bool(result["verdict"]["valid"]), "reasons": list(result["verdict"]["reasons"]), "result": result}

    def _take(self, job: Any, outcome: Any, why: str, last: Any) -> Any:
        """Store it; False: to be run again."""
        run = job.task
        outcome = outcome or {"valid": False, "reasons": [why], "result": None}
        outcome["seconds"] = round(time.monotonic() - job.began, 2)
        result = outcome.pop("result")
        mine = self.attempts.setdefault(run.key, [])
        mine.append(outcome)
        self.spent += outcome["seconds"]
        if not outcome["valid"]:
            self.repeated += 1
            if not last:
                self.say(f"{run.label}: invalid ({outcome['reasons'][0]}), will be repeated")
                return False
        self.completed += 1
        self.done_cost += run.cost_s
        self.left_cost -= run.cost_s
        write_json(self.store.path(run.key), {"key": run.key, "spec": run.spec, "label": run.label, "valid": outcome["valid"],
                                              "attempts": mine, "result": result})
        with contextlib.suppress(OSError):
            if outcome["valid"]:
                (self.store.logs / f"{run.key}.log").unlink()
        self.say(f"{self.completed}/{self.total} {run.label}: {headline(result)}, "
                 f"{'valid' if outcome['valid'] else 'INVALID: ' + outcome['reasons'][0]}; {self.remaining()}")
        return outcome["valid"]

    def remaining(self) -> str:
        elapsed = time.monotonic() - self.began
        if not self.done_cost:
            return "time left unknown"
        # What is running now counts as half done.
        half = sum(j.task.cost_s for j in self.pool.active.values()) / 2
        left = max(0.0, self.left_cost - half) * elapsed / (self.done_cost + half)
        return f"{left / 60:.0f} min left" if left > 90 else f"{left:.0f} s left"


def headline(result: dict[str, Any]) -> str:
    """One figure of a run for the progress line."""
    work = (result or {}).get("workload") or {}
    if "goodput_bps" in work:
        return f"{work['goodput_bps'] / 1e6:.2f} Mbit/s"
    if "loss" in work:
        return f"{work['loss']:.2%} lost"
    if "flows" in work:
        return ", ".join(f"{kb} kB {f['goodput_bps'] / 1e6:.2f}" for kb, f in work["flows"].items()) + " Mbit/s"
    return "no result"
