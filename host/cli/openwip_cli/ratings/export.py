# SPDX-License-Identifier: GPL-3.0-or-later
"""The runs of a study as a table. It is blind unless the cases are requested."""

import csv
import io
import pathlib
from typing import Any

from ..errors import BadInput, not_valid
from ..text import of_file
from .cases import GRADES, HIGHEST, TASKS
from .study import KEY, LONGEST_FILE, Study

NUMBERS = (
    "subject",
    "run",
    "rating",
    "initial_s",
    "total_s",
    "stopped_s",
    "startup_s",
    "rebuffers",
    "rebuffer_s",
    "end_s",
    "requests",
    "bytes",
)
SWITCHES = ("valid", "simulated", "dry")
COLUMNS = (
    "subject",
    "method",
    "task",
    "run",
    "code",
    "case",
    "rating",
    "grade",
    "comment",
    "valid",
    "initial_s",
    "total_s",
    "stopped_s",
    "startup_s",
    "rebuffers",
    "rebuffer_s",
    "levels",
    "end_s",
    "requests",
    "bytes",
    "simulated",
    "dry",
)
NEEDED = ("subject", "task", "code", "rating", "valid")
BEGINS_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def rows_of(study: Study, unblind: bool = False) -> list[dict[str, Any]]:
    """A row for each rated run, in the order of subjects and runs; None: there is no such value."""
    codes = study.key()["codes"] if unblind else {}
    rows = []
    for line in study.all_lines():
        if not line["run"]:  # run 0 is the reference, which is not rated
            continue
        stall_lengths_s = [r.get("length_s") for r in line.get("rebuffers", ())]
        row = {name: line.get(name) for name in COLUMNS} | {
            "grade": GRADES[HIGHEST - line["rating"]],
            "rebuffers": len(stall_lengths_s) if "rebuffers" in line else None,
            "rebuffer_s": round(sum(s for s in stall_lengths_s if s is not None), 3)
            if "rebuffers" in line
            else None,
            "levels": " ".join(f"{e['t_s']:g}:{e['kbps']:g}" for e in line.get("levels", ()))
            or None,
        }
        if unblind:
            try:
                row["case"] = codes[line["task"]][line["code"]]
            except LookupError:
                raise BadInput(
                    f"{study.folder / KEY} has no case for code {line['code']} of {line['task']};"
                    " valid: the key of the study whose logs these are"
                ) from None
        else:
            del row["case"]
        rows.append(row)
    return rows


def text_of(value: Any) -> str:
    """A comment that a spreadsheet would take for a formula gets an apostrophe."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = "" if value is None else str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(BEGINS_FORMULA) else text


def csv_of(rows: list[dict[str, Any]]) -> str:
    names = [n for n in COLUMNS if n != "case" or any("case" in row for row in rows)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([text_of(row.get(n)) for n in names] for row in rows)
    return out.getvalue()


def read_csv(path: str) -> list[dict[str, Any]]:
    """The rows of such a table, or of one with at least the columns NEEDED."""
    try:
        table = list(csv.DictReader(io.StringIO(of_file(pathlib.Path(path), LONGEST_FILE))))
    except FileNotFoundError:
        raise BadInput(
            f"{path}: there is no such file; valid: a CSV table that ./openwip ratings export has written"
        ) from None
    except (ValueError, csv.Error):
        raise BadInput(
            f"{path} is no CSV in UTF-8; valid: a CSV table that ./openwip ratings export has written"
        ) from None
    missing = [n for n in NEEDED if not table or n not in table[0]]
    if missing:
        raise BadInput(
            f"{path} has no column {missing[0]}; valid: a CSV table that ./openwip ratings export has written"
        )
    return [read_row(f"{path}, line {number}", row) for number, row in enumerate(table, 2)]


def read_row(where: str, row: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = dict(row)
    for name in NUMBERS:
        if name in row:
            try:
                found[name] = float(row[name]) if row[name] else None
            except (TypeError, ValueError):
                raise not_valid(f"{where}: {name}", repr(row[name]), "a number") from None
    for name in SWITCHES:
        if name in row:
            if row[name] not in ("yes", "no"):
                raise not_valid(f"{where}: {name}", repr(row[name]), "yes, no")
            found[name] = row[name] == "yes"
    if row["task"] not in TASKS:
        raise not_valid(f"{where}: task", repr(row["task"]), ", ".join(TASKS))
    if found["rating"] not in range(1, HIGHEST + 1):
        raise not_valid(f"{where}: rating", repr(row["rating"]), f"1..{HIGHEST}")
    return found
