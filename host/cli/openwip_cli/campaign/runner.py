# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder of a campaign's results, what is known of them so far, and which runs are next (runs/pool.py runs them)."""
import contextlib
import os
import pathlib
import time
from collections.abc import Callable
from typing import Any

from ..errors import BadInput
from ..figures.estimates import estimate
from ..runs.pool import write_json
from ..text import OTHER_TREE, of_json
from . import metrics
from .plan import Experiment, Point, Run, digest


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
        """A finished run, or None: absent, not a run file, or that of another run."""
        try:
            run = of_json(self.path(key).read_text())
            _ = run["valid"], (run["result"] or {}).get("workload"), [(a["valid"], a["reasons"][:1]) for a in run["attempts"]]
            return run if digest(run["spec"]) == key else None
        except (OSError, *OTHER_TREE):
            return None

    @property
    def plan(self) -> dict[str, Any] | None:
        try:
            plan: dict[str, Any] = of_json((path := self.out / "plan.json").read_text())
            _ = [(e["mode"], e["fingerprint"], e.get("programs", {}).items()) for e in plan["experiments"].values()]
            return plan
        except FileNotFoundError:
            return None
        except (OSError, *OTHER_TREE) as e:
            raise BadInput(f"--out: {path}: {getattr(e, 'strerror', None) or 'it is not what ./openwip experiment wrote'}; use another --out") from None

    def write_plan(self, plan: dict[str, Any]) -> None:
        write_json(self.out / "plan.json", plan)


class Progress:
    """What the runs said so far: of each point the metric that is watched, and so which points go on."""

    def __init__(self, store: Store, experiments: list[Experiment], runs: list[Run], say: Callable[[str], None]) -> None:
        self.store, self.experiments, self.say = store, experiments, say
        self.left = {r.key: r for r in runs}
        self.places: dict[str, list[tuple[Experiment, Point, int]]] = {}
        for e in experiments:
            for point in e.points:
                for realisation in range(1, e.realisations + 1):
                    self.places.setdefault(e.run(point, realisation).key, []).append((e, point, realisation))
        self.values: dict[tuple[str, Point], dict[int, float]] = {}
        self.least = max((e.until.at_least for e in experiments if e.until), default=0)
        self.done, self.began = 0, time.monotonic()
        for key in list(self.left):
            found = store.get(key)
            if found and found["valid"]:
                self._note(key, found)
            else:       # one that stayed invalid is tried again: the machine may be quieter now
                store.path(key).unlink(missing_ok=True)

    def _note(self, key: str, stored: dict[str, Any]) -> Run:
        if stored["valid"]:
            for e, point, realisation in self.places[key]:
                with contextlib.suppress(LookupError):
                    self.values.setdefault((e.name, point), {})[realisation] = metrics.read(stored["result"], point, metrics.watched(e))
        return self.left.pop(key)

    def goes_on(self, e: Experiment, point: Point) -> bool:
        if e.until is None:
            return True
        known, values = self.values.get((e.name, point), {}), {}
        for realisation in range(1, e.realisations + 1):
            if e.run(point, realisation).key in self.left:      # what came later does not count without it
                break
            if realisation in known:
                values[realisation] = known[realisation]
        return e.until.enough(values) is None

    def next(self, width: int) -> list[Run]:
        """Runs that are still to be made: a realisation of all points that go on before the next one (an interrupted campaign is
        complete in what it has), and no more realisations than it takes for `width` runs and for a point to be able to stop."""
        waiting = {key: r for key, r in self.left.items() if any(self.goes_on(e, p) for e, p, _ in self.places[key])}
        chosen: list[Run] = []
        for realisation in sorted({r.spec["realisation"] for r in waiting.values()}):
            chosen += [r for r in waiting.values() if r.spec["realisation"] == realisation]
            if len(chosen) >= width and realisation >= self.least:
                break
        return chosen

    def take(self, key: str) -> None:
        stored = self.store.get(key)
        if stored is None:
            raise BadInput(f"{self.store.path(key)} is not a run")
        run = self._note(key, stored)
        self.done += 1
        failed = [a for a in stored["attempts"] if not a["valid"]]
        if stored["valid"]:
            with contextlib.suppress(OSError):
                (self.store.logs / f"{key}.log").unlink()
        left = len(self.left) * (time.monotonic() - self.began) / self.done
        self.say(f"{self.done}/{self.done + len(self.left)} {run.label}: {headline(stored['result'])}, "
                 f"{'valid' if stored['valid'] else 'INVALID: ' + failed[-1]['reasons'][0]}"
                 + (f" at attempt {len(failed) + 1}" if failed and stored["valid"] else "") + f"; {self.interval(key)}"
                 + (f"{left / 60:.0f} min left" if left > 90 else f"{left:.0f} s left"))

    def interval(self, key: str) -> str:
        e, point, _ = self.places[key][0]
        values = self.values.get((e.name, point), {})
        if len(values) < 2:
            return ""
        stopped = "" if self.goes_on(e, point) else ", which is enough"
        return f"{metrics.watched(e)} {estimate(values.values()).text(3)} of {len(values)}{stopped}; "


def headline(result: dict[str, Any] | None) -> str:
    """One figure of a run for the progress line."""
    work = (result or {}).get("workload") or {}
    if "goodput_bps" in work:
        return f"{work['goodput_bps'] / 1e6:.2f} Mbit/s"
    if "loss" in work:
        return f"{work['loss']:.2%} lost"
    if "flows" in work:
        return ", ".join(f"{kb} kB {f['goodput_bps'] / 1e6:.2f}" for kb, f in work["flows"].items()) + " Mbit/s"
    return "no result"
