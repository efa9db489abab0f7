# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of an experiment: NAME.csv (a row per valid run and metric), NAME.means.csv (mean and
interval per point), and for all together comparison.md and comparison.json: `text says / we
measured / holds`. experiment --beside FOLDER...: what several campaigns (another TCP, another time)
say to the statements of the literature, a column each."""

import collections
import csv
import dataclasses
import io
import itertools
import json
import math
import os
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from ..errors import BadInput, not_valid
from ..figures import estimates
from ..machine import outputs
from ..text import OTHER_TREE, of_json
from .metrics import Lack, Lacking, Results, metrics_of
from .plan import Experiment
from .statements import Evaluation, Holds
from .store import read_file

COMPARISON, COMPARISON_TEXT = "comparison.json", "comparison.md"
# Nothing is known of a run: its result may have been read at an earlier evaluation.
UNREAD = (Lack.ABSENT, Lack.UNREADABLE, Lack.DAMAGED)
# name and number of a figure, why it is not there
Drawn: TypeAlias = tuple[str, int | str, str | None]
MOST_LINES = 5  # lines printed for runs without a value, for each cause


class Evaluated(NamedTuple):
    """An experiment with the evaluation of its statements."""

    experiment: Experiment
    evaluations: list[Evaluation]
    counts: dict[str, int]
    figures: list[Drawn]
    lacking: list[Lacking]
    # The answer of each evaluation if all statements of the campaign share an error of 5 %.
    corrected: list[Holds] = []
    kept: str = ""  # the files that stay as they were, and why


class NoComparison(BadInput):
    """There is no comparison in the folder, or the file is something else."""


def runs_in_table(path: pathlib.Path) -> set[str] | None:
    """The keys of the runs that a NAME.csv has values of. None: it is no such table, or cannot be
    read."""
    try:
        rows = csv.DictReader(io.StringIO(read_file(path), newline=""))
        return {row["run"] for row in rows} if "run" in (rows.fieldnames or ()) else None
    except (OSError, UnicodeDecodeError, csv.Error):
        return None


def kept(results: Results, folder: pathlib.Path) -> str:
    """Which figures and tables of the experiment stay as they are, and why; empty: all are made
    anew. They stay if new ones would lack a run that they were made of, because its result is gone
    or cannot be read; NAME.csv tells which runs those are. They also stay if there is no run to
    make new ones of, or if there is no such table and a result cannot be read."""
    e = results.experiment
    tables = [f"{e.name}.csv", f"{e.name}.means.csv"]
    pictures = [f"{spec['name']}.png" for spec in e.tree["figures"]]
    there = [name for name in tables + pictures if os.path.lexists(folder / name)]
    unread = [run for run in results.lacking.values() if run.lack in UNREAD]
    if not there or not unread:
        return ""
    made_of = runs_in_table(folder / tables[0])
    lost = [run for run in unread if run.key in (made_of or ())]
    of_them = "of the runs that they were made of"
    if not lost:
        has_content = made_of != set() or not set(there) <= set(tables)
        is_unknown = made_of is None and any(run.lack != Lack.ABSENT for run in unread)
        if not (is_unknown or (has_content and not results.found)):
            return ""
        lost, of_them = unread, "of the planned runs"
    lacks = collections.Counter(run.lack.value for run in lost)
    return (
        f"{', '.join(there)} as {'it was' if len(there) == 1 else 'they were'}: {len(lost)}"
        f" {of_them} {'has' if len(lost) == 1 else 'have'} no readable result now"
        f" ({', '.join(f'{n} {lack}' for lack, n in lacks.items())})"
        + "; move them away to have new ones of the runs that are left"
        * bool(results.found)
    )


def drawn_before(experiment: Experiment, folder: pathlib.Path) -> list[Drawn]:
    """The figures of an experiment whose files stay as they were."""
    return [
        (
            spec["name"],
            spec.get("number", ""),
            None if os.path.lexists(folder / f"{spec['name']}.png") else "results cannot be read",
        )
        for spec in experiment.tree["figures"]
    ]


def write_csv(results: Results, folder: pathlib.Path) -> None:
    """Writes both tables; each is written completely or stays as it was."""
    experiment = results.experiment
    settings = sorted(experiment.varied)
    metrics = metrics_of(experiment)
    every, means = io.StringIO(newline=""), io.StringIO(newline="")
    rows, summary = csv.writer(every), csv.writer(means)
    rows.writerow([*settings, "realisation", "run", "metric", "value"])
    summary.writerow(
        [*settings, "metric", "mean", "half_interval_95", "realisations", "low_95", "high_95"]
    )
    for point in experiment.points:
        if point not in results.found:
            continue
        place = [point[s] for s in settings]
        for metric in metrics:
            try:
                values = results.values(point, metric)
            # runs of ns-3, or before there was such a metric, do not have it
            except LookupError:
                continue
            for realisation, value in values.items():
                rows.writerow(
                    [*place, realisation, experiment.run(point, realisation).key, metric, value]
                )
            e = estimates.estimate(values.values())
            known = not math.isnan(e.half)
            interval = (e.low, e.high) if known else ("", "")
            summary.writerow([*place, metric, e.mean, e.half if known else "", e.n, *interval])
    for name, text in (("csv", every), ("means.csv", means)):
        outputs.write_whole(folder / f"{experiment.name}.{name}", text.getvalue())


def counts(results: Results) -> dict[str, int]:
    """The numbers of runs by outcome. `absent`: they were not run; `unreadable`, `damaged`: their
    files are."""
    return {
        "runs": results.runs,
        "valid": results.runs - len(results.lacking),
        "invalid": results.invalid,
        "failed": results.number(Lack.FAILED),
        "absent": results.absent,
        "unreadable": results.number(Lack.UNREADABLE),
        "damaged": results.number(Lack.DAMAGED),
        "repeated": results.repeated,
    }


# The keys of counts() that are missing results, with their words in a report.
LACKS = {
    "invalid": "invalid",
    "failed": "failed",
    "absent": "not run",
    "unreadable": "unreadable",
    "damaged": "damaged",
}


def without_value(c: dict[str, int], keys: Iterable[str] = LACKS) -> list[str]:
    """Runs that have none, by why."""
    return [f"{c[key]} {LACKS[key]}" for key in keys if c[key]]


def lacking_text(lacking: dict[str, int]) -> str:
    """A statement's missing runs, as the text in brackets behind what was measured; empty: none is
    missing."""
    return (
        f"without {sum(lacking.values())} runs:"
        f" {', '.join(f'{n} {why}' for why, n in lacking.items())}"
        if lacking
        else ""
    )


def ended_without(lacking: Iterable[Lacking]) -> list[str]:
    """A line for each failure, unreadable and damaged file; those of one kind beyond the first few
    are counted."""
    lines: list[str] = []
    groups: dict[str, list[Lacking]] = {}
    stores = collections.Counter[tuple[str, str]]()
    for run in lacking:
        if run.shared:
            stores[run.shared, run.why] += 1
        elif run.lack not in (Lack.ABSENT, Lack.INVALID):
            groups.setdefault(
                run.failure.cause.value if run.failure else run.lack.value, []
            ).append(run)
    for (path, why), n in stores.items():
        lines.append(f"{path} cannot be read: {why}; nothing is known of {n} run{'s' * (n > 1)}")
    for name, runs in groups.items():
        lines += [
            f"{run.lack.value} run {run.key} ({run.label}): {run.why}" for run in runs[:MOST_LINES]
        ]
        lines += [f"{len(runs) - MOST_LINES} more runs: {name}"] * (len(runs) > MOST_LINES)
    return lines


def escape(text: str) -> str:
    return text.replace("|", "\\|")


def shared_confidence(statements: int) -> float:
    """The confidence of each interval with which all of them together have the error of one
    (Bonferroni)."""
    return 1 - (1 - estimates.CONFIDENCE) / max(1, statements)


def unsure_together(evaluated: Evaluated) -> set[int]:
    """Numbers of the evaluations that are sure alone, and not among all statements."""
    sure = (Holds.YES, Holds.NO)
    return {
        n
        for n, (j, holds) in enumerate(zip(evaluated.evaluations, evaluated.corrected))
        if j.holds in sure and holds != j.holds
    }


def correction_text(evaluated: Sequence[Evaluated]) -> str:
    """Empty: there are not several statements."""
    several = sum(len(experiment.evaluations) for experiment in evaluated)
    if several < 2:
        return ""
    lost = sum(len(unsure_together(experiment)) for experiment in evaluated)
    chance = several * (1 - estimates.CONFIDENCE)
    return (
        f"Each of the {several} statements is evaluated by intervals of"
        f" {100 * estimates.CONFIDENCE:g} %, without a correction for their number: if each of them"
        f" depended on chance alone, {chance:.1f} would be decided wrongly. With Bonferroni's"
        f" correction (intervals of {100 * shared_confidence(several):.2f} %) {lost} that are sure"
        " alone are not."
    )


def markdown(evaluated: Sequence[Evaluated], about: dict[str, Any]) -> str:
    lines = ["| experiment | the text says | we measured | holds |", "|---|---|---|---|"]
    for each in evaluated:
        experiment, lost = each.experiment, unsure_together(each)
        for n, j in enumerate(each.evaluations):
            together = "not sure among all statements" if n in lost else ""
            notes = (j.note, lacking_text(j.lacking), together)
            note = "".join(f" ({text})" for text in notes if text)
            lines.append(
                f"| {experiment.name} | {escape(j.says)} [{escape(j.source)}] | "
                f"{escape(j.measured or '-')}{escape(note)} | {j.holds} |"
            )
    if correction := correction_text(evaluated):
        lines += ["", correction]
    lines += [
        "",
        "| experiment | realisations x s | runs | valid | invalid | repeated attempts |",
        "|---|---|---|---|---|---|",
    ]
    for experiment, _, c, *_ in evaluated:
        lines.append(
            f"| {experiment.name} | {experiment.realisations} x {experiment.duration_s} |"
            f" {c['runs']} | {c['valid']} |"
            f" {' + '.join([str(c['invalid']), *without_value(c, list(LACKS)[1:])])} |"
            f" {c['repeated']} |"
        )
    lines += ["", *(f"{k}: {v}" for k, v in about.items())]
    lines += [
        f"no figure {name} of {experiment.name}: {why}"
        for experiment, _, _, figures, *_ in evaluated
        for name, _, why in figures
        if why
    ]
    lines += [f"kept {each.kept}" for each in evaluated if each.kept]
    lines += [line for each in evaluated for line in ended_without(each.lacking)]
    return "\n".join(lines) + "\n"


def write_comparison(
    evaluated: Sequence[Evaluated], about: dict[str, Any], folder: pathlib.Path
) -> bool:
    """False: it stays as it was, as do figures and tables of an experiment that are in it."""
    there = any(os.path.lexists(folder / name) for name in (COMPARISON, COMPARISON_TEXT))
    if there and any(each.kept for each in evaluated):
        return False
    outputs.write_whole(folder / COMPARISON_TEXT, markdown(evaluated, about))
    tree = {
        "about": about,
        "experiments": {
            experiment.name: {
                "title": experiment.title,
                "mode": experiment.mode,
                "realisations": experiment.realisations,
                "duration_s": experiment.duration_s,
                "counts": c,
                "figures": [
                    {"name": n, "text_figure": number, "missing": why} for n, number, why in figures
                ],
                "statements": [
                    dataclasses.asdict(j) | ({"among_all": holds} if holds else {})
                    for j, holds in itertools.zip_longest(evaluations, corrected)
                ],
                "lacking": [
                    {
                        "run": run.key,
                        "label": run.label,
                        "lack": run.lack.name.lower(),
                        "why": run.why,
                    }
                    | ({"failure": run.failure.tree()} if run.failure else {})
                    for run in lacking
                ],
            }
            for experiment, evaluations, c, figures, lacking, corrected, _ in evaluated
        },
    }
    outputs.write_whole(folder / COMPARISON, json.dumps(tree, indent=1) + "\n")
    return True


def screen(evaluated: Sequence[Evaluated]) -> str:
    lines = []
    for experiment, evaluations, c, figures, lacking, _, kept_files in evaluated:
        lines.append(
            f"{experiment.name}  {experiment.title}: {c['valid']} of {c['runs']} runs valid"
            + (f" ({', '.join(without_value(c))})" if c["valid"] < c["runs"] else "")
            + (f", {c['repeated']} attempts repeated" if c["repeated"] else "")
        )
        for j in evaluations:
            lines.append(
                f"  {j.holds:<14} {j.says}"
                + (f": {j.measured}" if j.measured else "")
                + (f" ({lacking_text(j.lacking)})" if j.lacking else "")
            )
        lines += [f"  no figure      {name}: {why}" for name, _, why in figures if why]
        lines += [f"  kept           {kept_files}"] * bool(kept_files)
        lines += [f"  {line}" for line in ended_without(lacking)]
    held = [j.holds for each in evaluated for j in each.evaluations]
    lines.append(
        f"statements: {sum(h.is_yes for h in held)} hold,"
        f" {sum(h.is_no for h in held)} do not,"
        f" {held.count(Holds.NOT_MEASURED)} not measured"
    )
    return "\n".join(lines)


# --- several campaigns ---


def read_comparison(given: str) -> tuple[str, dict[str, Any]]:
    """Title and comparison of FOLDER, or of TITLE=FOLDER; without a title it is the campaign's time
    and TCP."""
    title, equal, folder = given.rpartition("=")
    if pathlib.Path(given).is_dir():  # the name of the folder contains "="
        title, equal, folder = "", "", given
    path = pathlib.Path(folder, COMPARISON)
    if equal and not title:
        raise not_valid("--beside", repr(given), "FOLDER or TITLE=FOLDER")
    try:
        tree = of_json(path.read_text())
        for e in tree["experiments"].values():
            for s in e["statements"]:
                _ = [s[key].strip for key in ("id", "says", "measured")]
                Holds(s["holds"])
        return title or f"{tree['about']['time']}, {tree['about']['mode']}", tree
    except (OSError, *OTHER_TREE) as e:
        why = getattr(e, "strerror", None) or "it is no comparison.json of ./openwip experiment"
        unread = isinstance(e, OSError) and not isinstance(e, FileNotFoundError)
        raise (BadInput if unread else NoComparison)(
            f"--beside {folder}: {path}: {why}; valid: a folder of results"
        ) from None


def held(statements: Sequence[dict[str, Any]]) -> str:
    found = [Holds(s["holds"]) for s in statements]
    return f"{sum(h.is_yes for h in found)} of {sum(h.is_yes or h.is_no for h in found)}"


def side_by_side(columns: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """Statements are the same ones when experiment, id and words are. `-`: not in that folder."""
    rows: dict[tuple[str, str, str], dict[int, dict[str, Any]]] = {}
    for n, (_, tree) in enumerate(columns):
        for name, experiment in tree["experiments"].items():
            for s in experiment["statements"]:
                rows.setdefault((name, s["id"], s["says"]), {})[n] = s
    titles = [escape(title) for title, _ in columns]
    lines = [
        "| statement | the text says | " + " | ".join(titles) + " |",
        "|---" * (len(columns) + 2) + "|",
    ]
    for (name, statement, says), found in sorted(rows.items(), key=lambda row: row[0][0]):
        cells = [
            f"**{found[n]['holds']}**: {escape(found[n]['measured'] or '-')}" if n in found else "-"
            for n in range(len(columns))
        ]
        lines.append(f"| {name} {escape(statement)} | {escape(says)} | " + " | ".join(cells) + " |")
    of_all = [
        held([found[n] for found in rows.values() if n in found]) for n in range(len(columns))
    ]
    lines.append("| hold, of those measured | | " + " | ".join(of_all) + " |")
    return "\n".join(lines)
