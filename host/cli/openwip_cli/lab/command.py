# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip lab sheet N --student NAME: a worksheet as a file to fill in; ./openwip lab check N:
the answers in it against the student's own runs. Exit code of the check: 0: all is right, 1: not,
2: a file is missing or is not what it should be."""

import argparse
import math
import pathlib
from collections.abc import Mapping
from typing import Any

from ..errors import INVALID, BadInput
from ..machine.places import Places
from ..settings.command_line import Parser
from ..text import of_file, of_json, of_yaml, shown
from . import sheets
from .sheets import Choice, Number, Report, Reports, Run, Sheet

FLAGS = {  # of ./openwip demo
    "channel.model": "--channel",
    "channel.snr_db": "--snr",
    "channel.speed_kmh": "--speed-kmh",
    "link.bins": "--bins",
    "link.allocation": "--allocation",
    "link.max_retransmissions": "--max-retransmissions",
    "link.retransmission_delay_ms": "--retransmission-delay-ms",
    "link.queue_packets": "--queue-packets",
    "phy.predictor": "--predictor",
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
        help="the worksheet: 1 fading and adaptation, 2 ARQ and delay",
    )
    p.add_argument("--student", metavar="NAME", help="sheet: the student, who decides the seed")
    p.add_argument(
        "--answers",
        metavar="FILE",
        help="check: the worksheet that was filled in (default labN.yaml); the reports of the runs"
        " lie beside it",
    )
    return p


def settings_of(sheet: Sheet, run: Run) -> dict[str, Any]:
    return {**sheet.common, **run.settings}


def report_file(sheet: Sheet, run: Run) -> str:
    return f"lab{sheet.number}-{run.name}.json"


def command_of(sheet: Sheet, run: Run, seed: int) -> str:
    options = " ".join(f"{FLAGS[key]} {value}" for key, value in settings_of(sheet, run).items())
    return f"sudo ./openwip demo --seed {seed} {options} --json={report_file(sheet, run)}"


def as_text(sheet: Sheet, student: str) -> str:
    """The worksheet: a YAML file whose comments say what to do."""
    seed = sheets.seed_of(student)
    lines = [
        f"# Worksheet {sheet.number}: {sheet.title} ({sheet.page})",
        "# 1. Run these, from the top of the tree. Repeat one that is INVALID.",
        "#",
    ]
    for run in sheet.runs:
        lines += [f"# Run {run.name}: {run.says}", f"#   {command_of(sheet, run, seed)}"]
    lines += [
        "#",
        "# 2. Answer the questions behind the colons: a number, or a letter.",
        f"# 3. ./openwip lab check {sheet.number}",
        "",
        f"lab: {sheet.number}",
        f'student: "{student}"',
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


def what_is_wrong(report: Report, sheet: Sheet, run: Run, seed: int) -> list[str]:
    """Why this report is not of the run that was asked for; none: it is."""
    wrong = []
    verdict = report.get("verdict")
    if not isinstance(verdict, Mapping) or verdict.get("valid") is not True:
        wrong.append("the run is not VALID: repeat it")
    if report.get("seed") != seed:
        wrong.append(f"its seed is {report.get('seed')}; yours is {seed}")
    for key, wanted in settings_of(sheet, run).items():
        value = at_key(report, key)
        if not equal(value, wanted):
            wrong.append(f"{key} is {value}; asked for: {wanted}")
    return wrong


def read_report(path: pathlib.Path) -> Report:
    try:
        report = of_json(of_file(path))
    except FileNotFoundError:
        raise BadInput(
            f"{path}: there is no such file; valid: the report of a run of your worksheet, by"
            " --json"
        ) from None
    except ValueError as e:
        raise BadInput(f"{path}: no report of a run: {shown(str(e))}") from e
    if not isinstance(report, Mapping):
        raise BadInput(f"{path}: no report of a run; valid: the file of ./openwip demo --json")
    return report


def judge(question: Number | Choice, answer: Any, reports: Reports) -> str:
    """Empty: it is right."""
    if answer is None:
        return "not answered"
    if isinstance(question, Choice):
        letter = str(answer).strip().casefold()
        if letter not in question.choices:
            return f"'{shown(str(answer))}'; valid: {', '.join(question.choices)}"
        return "" if letter == question.right else "not right"
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        return f"'{shown(str(answer))}'; valid: a number"
    try:
        right = question.right(reports)
    except (AttributeError, LookupError, TypeError, ValueError, ZeroDivisionError):
        return "cannot be checked: a report lacks what it needs; repeat its run"
    off = max(question.tolerance * abs(right), question.least)
    return "" if abs(answer - right) <= off + 1e-9 else f"{answer} is not what your runs say"


def read_answers(path: pathlib.Path, number: int) -> tuple[str, Mapping[str, Any]]:
    try:
        filled = of_yaml(of_file(path))
    except FileNotFoundError:
        raise BadInput(
            f"{path}: there is no such file; valid: a worksheet of ./openwip lab sheet {number}"
        ) from None
    except ValueError as e:
        raise BadInput(f"{path}: no worksheet: {shown(str(e))}") from e
    if not isinstance(filled, Mapping):
        raise BadInput(f"{path}: no worksheet; valid: lab, student and answers")
    student, answers = filled.get("student"), filled.get("answers")
    if filled.get("lab") != number:
        raise BadInput(f"{path}: lab is {shown(str(filled.get('lab')))}; valid here: {number}")
    if not isinstance(student, str) or not student.strip():
        raise BadInput(f"{path}: student is {shown(str(student))}; valid: a name")
    if not isinstance(answers, Mapping):
        raise BadInput(f"{path}: there are no answers; valid: a mapping of question to answer")
    return student, answers


def check(number: int, path: pathlib.Path) -> int:
    student, answers = read_answers(path, number)
    sheet, seed = sheets.sheet_of(number, student), sheets.seed_of(student)
    known = {q.name for q in sheet.questions}
    if unknown := [str(name) for name in answers if name not in known]:
        raise BadInput(
            f"{path}: answers.{shown(unknown[0])} is no question; valid: {', '.join(sorted(known))}"
        )
    reports = {run.name: read_report(path.parent / report_file(sheet, run)) for run in sheet.runs}
    good = True
    for run in sheet.runs:
        wrong = what_is_wrong(reports[run.name], sheet, run, seed)
        good = good and not wrong
        print(f"run {run.name} ({run.says}): {'; '.join(wrong) or 'as asked for, and VALID'}")
    right = 0
    for at, question in enumerate(sheet.questions, 1):
        said = judge(question, answers.get(question.name), reports)
        right += not said
        print(f"{at}. {question.name}: {said or 'right'}")
    print(f"{right} of {len(sheet.questions)} answers are right")
    return 0 if good and right == len(sheet.questions) else INVALID


def main(arguments: list[str], _places: Places) -> int:
    p = parser()
    given = p.parse_args(arguments)
    if given.what == "sheet":
        if not (given.student or "").strip():
            p.error("sheet needs --student NAME")
        if '"' in given.student or "\\" in given.student or not given.student.isprintable():
            p.error("--student has a quote, a backslash or a control character; valid: a name")
        print(as_text(sheets.sheet_of(given.number, given.student), given.student), end="")
        return 0
    return check(given.number, pathlib.Path(given.answers or f"lab{given.number}.yaml"))
