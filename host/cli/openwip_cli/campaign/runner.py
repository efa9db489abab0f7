# SPDX-License-Identifier: GPL-3.0-or-later
"""The progress of a campaign: its results so far (store.py), and which runs are next (runs/pool.py
runs them)."""

import collections
import contextlib
import pathlib
import time
from collections.abc import Callable, Container
from typing import Any

from ..figures.estimates import estimate
from ..runs import failure
from . import metrics
from .grid import Point
from .plan import Experiment, Run
from .stopping import Watch
from .store import State, Store, Stored

MOST_LINES = 5  # unreadable files named; when a file system fails there may be thousands


class Place:
    """A point of an experiment: up to which realisation all results are known, and whether the
    stopping rule ended it there. Results after a missing one do not count yet."""

    def __init__(self, experiment: Experiment, point: Point) -> None:
        self.experiment, self.point = experiment, point
        self.keys = [r.key for r in map(experiment.planned(point).run, experiment.numbers)]
        self.known: dict[int, float] = {}  # realisation -> value of the metric that is watched
        self.next, self.stopped = 0, False  # index of the first run that is missing
        self.watch = Watch(experiment.until) if experiment.until else None

    def advance(self, left: Container[str]) -> None:
        while self.watch and not self.stopped and self.next < len(self.keys):
            if self.keys[self.next] in left:
                return
            self.next += 1
            if self.next in self.known:
                self.stopped = self.watch.add(self.known[self.next])


class Progress:
    """The results so far: for each point the values of the metric that its stopping rule watches,
    and so which points need more runs."""

    def __init__(
        self,
        store: Store,
        experiments: list[Experiment],
        runs: list[Run],
        say: Callable[[str], None],
        retry_failed: bool = False,
    ) -> None:
        """`retry_failed`: failed runs are made again whatever the cause of the failure, not only if
        it was the machine."""
        self.store, self.experiments, self.say = store, experiments, say
        self.left = {r.key: r for r in runs}
        self.places: dict[str, list[tuple[Place, int]]] = {}
        for e in experiments:
            for place in [Place(e, point) for point in e.points]:
                for realisation, key in enumerate(place.keys, 1):
                    self.places.setdefault(key, []).append((place, realisation))
        self.least = max((e.until.least for e in experiments if e.until), default=0)
        self.done, self.began = 0, time.monotonic()
        self.failed: dict[str, failure.Failure] = {}  # runs that are not tried again now
        # run -> rounds in which it was to be made and left nothing
        self.rounds = collections.Counter[str]()
        # runs of which nothing is known, with a sentence that says why; they are not made again
        self.unreadable: dict[str, str] = {}
        again = collections.Counter[str]()
        for key in list(self.left):
            found = store.read(key)
            if found.counts:
                self._note(key, found)
            elif found.state == State.UNREADABLE:
                self._cannot_read(key, found.why, found.shared)
            elif found.state == State.INVALID and found.arrived:
                self._set_aside(key, found.why, "and its run is made again")
            elif found.state == State.INVALID:
                say(f"{store.place(key, found)} {found.why}. It stays, and its run is made again")
            elif found.failure and not (retry_failed or found.failure.cause.is_of_the_machine):
                self.failed[key] = found.failure
                self._note(key, found)
            # It is tried again, since the machine may be less busy now.
            elif found.state == State.VALID and self._makes_room(key, found):
                again[found.failure.cause.value if found.failure else "verdict invalid"] += 1
        self.finished = len(runs) - len(self.left) - len(self.failed) - len(self.unreadable)
        self._say_unreadable()
        if again:
            say(
                f"{again.total()} runs are tried again ({_list(again)}); what came of them before"
                f" stays in {store.archive.path}"
            )
        if self.failed:
            say(
                f"{len(self.failed)} runs failed before and are not tried again"
                f" ({_list(collections.Counter(f.cause.value for f in self.failed.values()))});"
                " --retry-failed tries them again"
            )

    def _makes_room(self, key: str, found: Stored) -> bool:
        """Makes room for another result of the run, by moving the one that is there into the
        archive. False: that failed, so the run is not made again."""
        if found.arrived and not self.store.take_in([key]):
            self._cannot_read(key, f"it cannot be added to {self.store.archive.path}")
            return False
        return True

    def _note(self, key: str, stored: Stored) -> Run:
        run = self.left.pop(key)
        for place, realisation in self.places[key]:
            if stored.run and stored.counts:
                e = place.experiment
                with contextlib.suppress(LookupError):
                    place.known[realisation] = metrics.value_of(
                        stored.run["result"], place.point, metrics.watched(e)
                    )
            place.advance(self.left)
        return run

    def _cannot_read(self, key: str, why: str, shared: pathlib.Path | None = None) -> None:
        """`shared`: the file that cannot be read, if it is not the run's own."""
        self._leave(
            key, f"{shared or self.store.path(key)} cannot be used: {why}. It stays as it is"
        )

    def _leave(self, key: str, sentence: str) -> None:
        self.unreadable[key] = sentence
        self.left.pop(key)
        for place, _ in self.places[key]:
            place.advance(self.left)

    def _say_unreadable(self, before: int = 0) -> None:
        """Names the files of the runs that became unreadable after the first `before`, each file
        once."""
        counted = collections.Counter(list(self.unreadable.values())[before:])
        for sentence, runs in list(counted.items())[:MOST_LINES]:
            self.say(
                f"{sentence}, and {f'{runs} runs are' if runs > 1 else 'its run is'} not made"
                " again; the same command looks at it again"
            )
        if (more := len(counted) - MOST_LINES) > 0:
            self.say(f"{more} more files of runs cannot be used")

    def _set_aside(self, key: str, why: str = "", so: str = "") -> bool:
        """False: it cannot be moved, so its run is not made again."""
        try:
            target = self.store.set_aside(key)
        except OSError as e:
            self._cannot_read(
                key,
                f"{why + ', and ' if why else ''}it cannot be moved to {self.store.aside}"
                f" ({e.strerror})",
            )
            return False
        if why:
            self.say(
                f"{self.store.path(key)}: {why}. It is set aside as"
                f" {target}{', ' if so else ''}{so}"
            )
        return True

    def next(self, width: int) -> list[Run]:
        """Runs that are still to be made: a realisation of all points that go on before the next
        one (an interrupted campaign is complete in what it has), and no more realisations than it
        takes for `width` runs and for a point to be able to stop."""
        chosen: list[Run] = []
        for run in self.left.values():  # `left` is in the order of the realisations
            if len(chosen) >= width and run.realisation > max(self.least, chosen[-1].realisation):
                break
            if not all(place.stopped for place, _ in self.places[run.key]):
                chosen.append(run)
        return chosen

    def take(self, key: str) -> bool:
        """False: its file cannot be read now, and is to be looked at again."""
        stored, run = self.store.read(key), self.left[key]
        if stored.state == State.INVALID:
            if not self._set_aside(key, stored.why):
                self._say_unreadable(len(self.unreadable) - 1)
                return True
            self.store.fail(
                key, run.spec, failure.Failure(failure.Cause.NO_RESULT, 0, said=stored.why)
            )
            stored = self.store.read(key)
        if stored.run is None:
            return False
        self._note(key, stored)
        self.done += 1
        failed = [a for a in stored.run["attempts"] if not a["valid"]]
        if stored.failure:
            self.failed[key] = stored.failure
        self.store.take_in([key])
        if stored.counts:
            with contextlib.suppress(OSError):  # only a log
                (self.store.logs / f"{key}.log").unlink()
        left = len(self.left) * (time.monotonic() - self.began) / self.done
        outcome = (
            f"FAILED: {stored.failure.text()}"
            if stored.failure
            else "valid"
            if stored.counts
            else f"INVALID: {failed[-1]['reasons'][0]}"
        )
        self.say(
            f"{self.done}/{self.done + len(self.left)} {run.label}:"
            f" {headline(stored.run['result'])}, {outcome}"
            + (f" at attempt {len(failed) + 1}" if failed and stored.counts else "")
            + f"; {self.interval(key)}"
            + (f"{left / 60:.0f} min left" if left > 90 else f"{left:.0f} s left")
        )
        return True

    def settle(self, keys: list[str]) -> None:
        """Decides after a round about the runs that are left. What is there and cannot be read is
        not run again. Neither is a run that has left nothing in two rounds, not even the result of
        a failed run, because its result could not be written. What was not begun is still to be
        made."""
        before = len(self.unreadable)
        for key in keys:
            if key not in self.left:
                continue
            self.rounds[key] += 1
            if (stored := self.store.read(key)).state == State.UNREADABLE:
                self._cannot_read(key, stored.why, stored.shared)
            elif self.rounds[key] > 1:
                self._leave(key, f"{self.store.path(key)} did not arrive in two rounds")
        self._say_unreadable(before)

    def interval(self, key: str) -> str:
        place, _ = self.places[key][0]
        if len(place.known) < 2:
            return ""
        stopped = ", which is enough" if place.stopped else ""
        return (
            f"{metrics.watched(place.experiment)}"
            f" {estimate(place.known.values()).text(3)} of {len(place.known)}{stopped}; "
        )


def headline(result: dict[str, Any] | None) -> str:
    """One figure of a run for the progress line."""
    work = (result or {}).get("workload") or {}
    if "goodput_bps" in work:
        return f"{work['goodput_bps'] / 1e6:.2f} Mbit/s"
    if "loss" in work:
        return f"{work['loss']:.2%} lost"
    if "flows" in work:
        return (
            ", ".join(f"{kb} kB {f['goodput_bps'] / 1e6:.2f}" for kb, f in work["flows"].items())
            + " Mbit/s"
        )
    return "no result"


def _list(counted: "collections.Counter[str]") -> str:
    return ", ".join(f"{n} {name}" for name, n in counted.most_common())
