# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of an experiment: NAME.csv (a row per valid run and metric), NAME.means.csv (mean and interval per point), and for all
together comparison.md and comparison.json: `text says / we measured / holds`."""
import csv
import dataclasses
import json
import math
import pathlib
from typing import Any

from ..figures import estimates
from .metrics import Results, metrics_of
from .plan import Experiment


def write_csv(results: Results, folder: pathlib.Path) -> None:
    experiment = results.experiment
    settings = sorted(experiment.varied)
    metrics = metrics_of(experiment)
    with open(folder / f"{experiment.name}.csv", "w", newline="", encoding="utf-8") as every, \
            open(folder / f"{experiment.name}.means.csv", "w", newline="", encoding="utf-8") as means:
        rows, summary = csv.writer(every), csv.writer(means)
        rows.writerow([*settings, "realisation", "run", "metric", "value"])
        summary.writerow([*settings, "metric", "mean", "half_interval_95", "realisations"])
        for point in experiment.points:
            if point not in results.found:
                continue
            place = [point[s] for s in settings]
            for metric in metrics:
                try:
                    values = results.values(point, metric)
                except LookupError:     # runs of ns-3, or before there was such a metric, do not have it
                    continue
                for realisation, value in values.items():
                    rows.writerow([*place, realisation, experiment.run(point, realisation).key, metric, value])
                e = estimates.estimate(values.values())
                summary.writerow([*place, metric, e.mean, "" if math.isnan(e.half) else e.half, e.n])


def counts(results: Results) -> dict[str, Any]:
    return {"runs": results.runs, "valid": results.runs - results.absent - results.invalid, "invalid": results.invalid,
            "absent": results.absent, "repeated": results.repeated}


def escape(text: str) -> str:
    return text.replace("|", "\\|")


def markdown(judged: Any, about: dict[str, Any]) -> str:
    """`judged`: [(experiment, judgements, counts, figures)]."""
    lines = ["| experiment | the text says | we measured | holds |", "|---|---|---|---|"]
    for experiment, judgements, _, _ in judged:
        for j in judgements:
            note = f" ({j.note})" if j.note else ""
            lines.append(f"| {experiment.name} | {escape(j.says)} [{escape(j.source)}] | "
                         f"{escape(j.measured or '-')}{escape(note)} | {j.holds} |")
    lines += ["", "| experiment | realisations x s | runs | valid | invalid | repeated attempts |", "|---|---|---|---|---|---|"]
    for experiment, _, c, _ in judged:
        lines.append(f"| {experiment.name} | {experiment.realisations} x {experiment.duration_s} | {c['runs']} | {c['valid']} | "
                     f"{c['invalid']}{' + ' + str(c['absent']) + ' not run' if c['absent'] else ''} | {c['repeated']} |")
    lines += ["", *(f"{k}: {v}" for k, v in about.items())]
    return "\n".join(lines) + "\n"


def write_comparison(judged: Any, about: dict[str, Any], folder: pathlib.Path) -> None:
    (folder / "comparison.md").write_text(markdown(judged, about), encoding="utf-8")
    tree = {"about": about, "experiments": {
        experiment.name: {"title": experiment.title, "mode": experiment.mode, "realisations": experiment.realisations,
                          "duration_s": experiment.duration_s, "counts": c,
                          "figures": [{"name": n, "text_figure": number, "missing": why} for n, number, why in figures],
                          "statements": [dataclasses.asdict(j) for j in judgements]}
        for experiment, judgements, c, figures in judged}}
    (folder / "comparison.json").write_text(json.dumps(tree, indent=1) + "\n", encoding="utf-8")


def screen(judged: Any) -> str:
    lines = []
    for experiment, judgements, c, _ in judged:
        lines.append(f"{experiment.name}  {experiment.title}: {c['valid']} of {c['runs']} runs valid"
                     + (f", {c['repeated']} attempts repeated" if c["repeated"] else ""))
        for j in judgements:
            lines.append(f"  {j.holds:<14} {j.says}" + (f": {j.measured}" if j.measured else ""))
    held = [j.holds for _, js, _, _ in judged for j in js]
    lines.append(f"statements: {sum(h.startswith('yes') for h in held)} hold, {sum(h.startswith('no') and h != 'not measured' for h in held)} "
                 f"do not, {held.count('not measured')} not measured")
    return "\n".join(lines)
