# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip lab sheet N --student NAME: a worksheet as a file to fill in; ./openwip lab check N:
the answers in it against the student's own runs, of which each has left a report or a run record
beside the worksheet. Exit code of the check: 0: all is right, 1: not, 2: a file is missing or is not
what it should be."""

import argparse
import math
import pathlib
from collections.abc import Mapping
from typing import Any

from ..errors import INVALID, BadInput, not_valid
from ..machine.places import Places
from ..records.run_record import RunRecord
from ..settings.command_line import FILE, Parser
from ..text import of_file, of_json, of_yaml, shown
from . import sheets
from .questions import Choice, Number, Report, Reports, Run, Sheet

CABLED, MEDIUM = "cabled", "medium"  # air.over
FLAGS = {  # setting -> option of ./openwip demo and emulate
    "air.over": "--air",
    "channel.model": "--channel",
    "channel.snr_db": "--snr",
    "channel.speed_kmh": "--speed-kmh",
    "channel.prediction_nmse": "--prediction-nmse",
    "link.bins": "--bins",
    "link.allocation": "--allocation",
    "link.max_retransmissions": "--max-retransmissions",
    "link.retransmission_delay_ms": "--retransmission-delay-ms",
    "link.queue_packets": "--queue-packets",
    "link.order": "--order",
    "phy.predictor": "--predictor",
    "wired.delay_ms": "--wired-delay-ms",
    "traffic.tcp_window_kb": "--tcp-window-kb",
    "traffic.duration_s": "--duration",
}


def parser() -> argparse.ArgumentParser:
    p = Parser(
        "lab",
        "Worksheets for students (docs/lab/index.md): sheet prints one with runs and questions for"
        " this student, as a file to fill in; check compares the answers with the student's runs.",
    )
    p.add_argument(
        "what",
        metavar="sheet|check",
        choices=["sheet", "check"],
        help="print a worksheet, or check one that was filled in",
    )
    p.add_argument(
        "number",
        metavar="N",
        type=int,
        choices=sorted(sheets.SHEETS),
        help=(
            "number of the worksheet: 1 fading and adaptive modulation, 2 ARQ and delay, 3 SNR"
            " prediction and its horizon, 4 TCP over the link"
        ),
    )
    p.add_argument(
        "--student",
        metavar="NAME",
        help="with sheet: name of the student, from which the seed of the random channel is made",
    )
    p.add_argument(
        "--air",
        choices=(MEDIUM, CABLED),
        help=(
            "connection of the software radios in the runs of worksheets 1 and 2: without"
            " cables (medium) or with cables and a fader (cabled, docs/how-to/cabled.md;"
            " default medium)"
        ),
    )
    p.add_argument(
        "--answers",
        names=FILE,
        metavar="FILE",
        help=(
            "with check: file of the worksheet that was filled in (default labN.yaml), with"
            " the reports or records of the runs beside it"
        ),
    )
    return p


def settings_of(sheet: Sheet, run: Run, air: str) -> dict[str, Any]:
    """The settings that the run must have; a sheet for both kinds of cell says which of them."""
    return {**sheet.common, **run.settings} | ({"air.over": air} if sheet.over_a_cable else {})


def file_of(sheet: Sheet, run: Run) -> str:
    """The file that the run leaves: its report, or its record if the sheet looks into it."""
    return f"lab{sheet.number}-{run.name}.{'h5' if sheet.recorded else 'json'}"


def command_of(sheet: Sheet, run: Run, seed: int, air: str) -> str:
    options = " ".join(
        f"{FLAGS[key]} {value}"
        for key, value in settings_of(sheet, run, air).items()
        if (key, value) != ("air.over", MEDIUM)
    )
    kept = "--record " if sheet.recorded else "--json="
    return f"sudo ./openwip {sheet.command} --seed {seed} {options} {kept}{file_of(sheet, run)}"


def as_text(sheet: Sheet, student: str, air: str = MEDIUM) -> str:
    """The worksheet: a YAML file whose comments say what to do."""
    seed = sheets.seed_of(student)
    lines = [
        f"# Worksheet {sheet.number}: {sheet.title} ({sheet.page})",
        "# 1. Run these, from the top of the tree. Repeat one that is INVALID.",
        "#",
    ]
    for run in sheet.runs:
        lines += [f"# Run {run.name}: {run.says}", f"#   {command_of(sheet, run, seed, air)}"]
    lines += [
        "#",
        "# 2. Answer the questions behind the colons: a number, or a letter.",
        f"# 3. ./openwip lab check {sheet.number}",
        "",
        f"lab: {sheet.number}",
        f'student: "{student}"',
        *([f"air: {air}"] if sheet.over_a_cable else []),
        "answers:",
    ]
    for at, question in enumerate(sheet.questions, 1):
        lines += ["", f"  # {at}. {question.asks}"]
        if isinstance(question, Choice):
            lines += [f"  #    {letter}: {text}" for letter, text in question.choices.items()]
        lines.append(f"  {question.name}:")
    return "\n".join(lines) + "\n"


def at_key(report: Report, key: str) -> Any:
    found: Any = report.get("config")
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def equal(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, int | float) and isinstance(value, int | float):
        return math.isclose(value, wanted)
    return bool(value == wanted)


def what_is_wrong(report: Report, sheet: Sheet, run: Run, seed: int, air: str) -> list[str]:
    """Why this report is not of the run that was asked for; none: it is."""
    wrong = []
    verdict = report.get("verdict")
    if not isinstance(verdict, Mapping) or verdict.get("valid") is not True:
        wrong.append("the run is not VALID: repeat it")
    if report.get("seed") != seed:
        wrong.append(f"its seed is {report.get('seed')}; yours is {seed}")
    for key, wanted in settings_of(sheet, run, air).items():
        value = at_key(report, key)
        if not equal(value, wanted):
            wrong.append(f"{key} is {value}; asked for: {wanted}")
    return wrong


def read_report(path: pathlib.Path) -> Report:
    try:
        report = of_json(of_file(path))
    except ValueError as e:
        raise BadInput(f"{path} is not the report of a run: {shown(str(e))}") from e
    if not isinstance(report, Mapping):
        raise BadInput(
            f"{path} is not the report of a run; valid: the file of ./openwip demo --json"
        )
    return report


def read_record(path: pathlib.Path, sheet: Sheet) -> Report:
    """The report that the record holds, and what the sheet takes from its tables."""
    assert sheet.recorded
    with RunRecord(path) as record, record.computing():
        report = record.about.get("report")
        if not report:
            raise BadInput(
                f"{path}: the record has no report, because the run did not end or only a part of"
                " it was recorded; repeat the run"
            )
        return {**report, "recorded": sheet.recorded(record)}


def read_run(sheet: Sheet, run: Run, folder: pathlib.Path) -> Report:
    path = folder / file_of(sheet, run)
    if not path.exists():
        kind = "record" if sheet.recorded else "report"
        raise BadInput(
            f"{path}: there is no such file; valid: the {kind} of run {run.name}, whose command is"
            f" in the worksheet (--{'record' if sheet.recorded else 'json'} {path.name})"
        )
    return read_record(path, sheet) if sheet.recorded else read_report(path)


def evaluate(question: Number | Choice, answer: Any, reports: Reports) -> str:
    """Empty: it is right."""
    if answer is None:
        return "not answered"
    if isinstance(question, Choice):
        letter = str(answer).strip().casefold()
        if letter not in question.choices:
            return f"'{shown(str(answer))}'; valid: {', '.join(question.choices)}"
        return "" if letter == question.right else with_hint("not right", question)
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        return f"'{shown(str(answer))}'; valid: a number"
    try:
        right = question.right(reports)
    except (AttributeError, LookupError, TypeError, ValueError, ZeroDivisionError):
        right = math.nan
    if not math.isfinite(right):
        return "cannot be checked: a report lacks what it needs; repeat its run"
    off = max(question.tolerance * abs(right), question.least)
    if abs(answer - right) <= off + 1e-9:
        return ""
    return with_hint(f"{answer} is not what your runs say", question)


def with_hint(problem: str, question: Number | Choice) -> str:
    return f"{problem}: {question.hint}" if question.hint else problem


def read_answers(path: pathlib.Path, number: int) -> tuple[str, str, Mapping[str, Any]]:
    """(student, air, answers) of a worksheet that was filled in."""
    try:
        filled = of_yaml(of_file(path))
    except FileNotFoundError:
        raise BadInput(
            f"{path}: there is no such file; valid: a worksheet of ./openwip lab sheet {number}"
        ) from None
    except ValueError as e:
        raise BadInput(f"{path} is not a worksheet: {shown(str(e))}") from e
    if not isinstance(filled, Mapping):
        raise BadInput(f"{path} is not a worksheet; valid: a mapping with lab, student and answers")
    student, answers = filled.get("student"), filled.get("answers")
    if filled.get("lab") != number:
        raise BadInput(f"{path}: lab is {shown(str(filled.get('lab')))}; valid here: {number}")
    if not isinstance(student, str) or not student.strip():
        raise not_valid(f"{path}: student", str(student), "a name")
    if not isinstance(answers, Mapping):
        raise BadInput(
            f"{path}: the key answers is missing or empty; valid: a mapping of questions to answers"
        )
    air = filled.get("air", MEDIUM)
    if air not in (MEDIUM, CABLED):
        raise not_valid(f"{path}: air", str(air), f"{MEDIUM}, {CABLED}")
    return student, air, answers


def check(number: int, path: pathlib.Path) -> int:
    student, air, answers = read_answers(path, number)
    sheet, seed = sheets.sheet_of(number, student), sheets.seed_of(student)
    known = {q.name for q in sheet.questions}
    if unknown := [str(name) for name in answers if name not in known]:
        raise BadInput(
            f"{path}: answers.{shown(unknown[0])} is not a question of this worksheet; valid:"
            f" {', '.join(sorted(known))}"
        )
    reports = {run.name: read_run(sheet, run, path.parent) for run in sheet.runs}
    good = True
    for run in sheet.runs:
        wrong = what_is_wrong(reports[run.name], sheet, run, seed, air)
        good = good and not wrong
        print(f"run {run.name} ({run.says}): {'; '.join(wrong) or 'as asked for, and VALID'}")
    right = 0
    for at, question in enumerate(sheet.questions, 1):
        problem = evaluate(question, answers.get(question.name), reports)
        right += not problem
        print(f"{at}. {question.name}: {problem or 'right'}")
    print(f"{right} of {len(sheet.questions)} answers are right")
    return 0 if good and right == len(sheet.questions) else INVALID


def main(arguments: list[str], _places: Places) -> int:
    p = parser()
    given = p.parse_args(arguments)
    if given.what == "sheet":
        if not (given.student or "").strip():
            p.error("--student is missing; valid: --student NAME")
        if '"' in given.student or "\\" in given.student or not given.student.isprintable():
            p.error("--student has a quote, a backslash or a control character; valid: a name")
        sheet = sheets.sheet_of(given.number, given.student)
        if given.air == CABLED and not sheet.over_a_cable:
            p.error(
                f"--air is {CABLED} with worksheet {sheet.number}; valid: with worksheets 1 and 2"
            )
        print(as_text(sheet, given.student, given.air or MEDIUM), end="")
        return 0
    return check(given.number, pathlib.Path(given.answers or f"lab{given.number}.yaml"))
