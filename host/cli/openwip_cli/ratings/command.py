# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip ratings new | session | export | analyse (docs/how-to/ratings.md)."""

import argparse
import os
import pathlib

from ..cell.session import Progress
from ..errors import VALID, BadInput
from ..machine import outputs, rights
from ..machine.places import Places
from ..settings.command_line import EITHER, FOLDER, OUTPUT, Parser, check_cell_name, run_command
from ..settings.kinds import Integer, Real
from . import browser, cases, export, session, study

USAGE = """./openwip ratings new FOLDER [--subjects N] [--dcr-subjects N] [--task NAME ...] [--seed N]
       sudo ./openwip ratings session FOLDER --subject N [--listen ADDRESS] [--port PORT] [--name CELL]
       ./openwip ratings session FOLDER --subject N --dry-run [--speed FACTOR] [--pictures FOLDER]
       ./openwip ratings export FOLDER [--unblind] [--out FILE.csv] [--json[=FILE]]
       ./openwip ratings analyse FOLDER|FILE.csv [--unblind] [--out FOLDER] [--json[=FILE]]"""
HEAD = "A study in which people rate web pages and a video over links of the emulator"
SEEDS = 2**31 - 1  # largest seed


def new(arguments: list[str], _places: Places) -> int:
    p = Parser("ratings new", f"{HEAD}: makes its folder and draws the order of each subject.")
    p.add_argument(
        "folder", metavar="FOLDER", help="folder to be made for the study; it must not hold one yet"
    )
    p.value(
        "--subjects",
        Integer(1, study.MOST_SUBJECTS),
        metavar="N",
        default=40,
        help=f"number of people who take part in the study; 1..{study.MOST_SUBJECTS} (default 40)",
    )
    p.value(
        "--dcr-subjects",
        Integer(0, study.MOST_SUBJECTS),
        metavar="N",
        default=0,
        help="number of subjects, the last ones of the study, who see the reference of each task"
        " first (degradation category rating; default 0: all rate by absolute categories)",
    )
    p.add_argument(
        "--task",
        metavar="NAME",
        action="append",
        choices=cases.TASKS,
        help=f"a task of the session: {', '.join(cases.TASKS)}; may be repeated (default: all whose"
        " links this release has)",
    )
    p.value(
        "--seed",
        Integer(1, SEEDS),
        metavar="N",
        help="seed of the random orders of the runs and of their codes (default: drawn, so that"
        " the operator does not know it)",
    )
    given = p.parse_args(arguments)
    tasks = tuple(t for t in cases.TASKS if t in (given.task or available()))
    seed = given.seed or int.from_bytes(os.urandom(4), "big") % SEEDS + 1
    made = study.make(given.folder, given.subjects, given.dcr_subjects, tasks, seed)
    runs = sum(len(cases.cases_of(task)) for task in made.tasks)
    print(f"{made.folder}: {made.subjects} subjects, {runs} runs each ({', '.join(made.tasks)})")
    return VALID


def available() -> tuple[str, ...]:
    return cases.TASKS if cases.has_handover() else cases.TASKS[:2]


def one(arguments: list[str], places: Places) -> int:
    p = Parser(
        "ratings session",
        f"{HEAD}: one session. The subject's browser opens the address that is printed; a session"
        " that was interrupted goes on with the run that it had not rated.",
    )
    p.add_argument(
        "folder", names=FOLDER, metavar="FOLDER", help="folder of the study, as ratings new made it"
    )
    p.value(
        "--subject",
        Integer(1, study.MOST_SUBJECTS),
        metavar="N",
        required=True,
        help="number of the subject in the study",
    )
    p.add_argument(
        "--listen",
        metavar="ADDRESS",
        default="127.0.0.1",
        help="IPv4 address for the subject's browser (default 127.0.0.1: a browser of this"
        " computer); another one, for a tablet, such as 192.168.7.1",
    )
    p.value(
        "--port",
        Integer(0, 65534),
        metavar="PORT",
        default=8640,
        help="TCP port of the rating pages; the pages that are rated have the next one (default"
        " 8640; 0: any)",
    )
    p.add_argument(
        "--name",
        type=check_cell_name,
        default=session.CELL,
        help=f"name of the cell that emulates the links (default {session.CELL})",
    )
    p.add_argument(
        "--dry-run",
        action="store_true",
        help="rehearse the session: a headless Chromium is the subject, no links are emulated,"
        " and the grades are random",
    )
    p.value(
        "--speed",
        Real(1, 100),
        metavar="FACTOR",
        default=1.0,
        help="with --dry-run: factor by which the video is played faster (default 1)",
    )
    p.add_argument(
        "--pictures",
        metavar="FOLDER",
        help="with --dry-run: save a picture of each kind of page that the subject sees in this"
        " folder",
    )
    given = p.parse_args(arguments)
    for flag, value in (("--speed", given.speed != 1.0), ("--pictures", given.pictures)):
        if value and not given.dry_run:
            raise BadInput(f"{flag} is given without --dry-run; valid: with --dry-run")
    opened = study.opened(given.folder)
    opened.check_subject(given.subject)
    cases.check_tasks(opened.tasks, given.dry_run)
    if given.dry_run:
        return dry_run(opened, given, places)
    rights.require_for_a_cell()
    session.Session(opened, given.subject, places, Progress(), name=given.name).carry_out(
        given.listen, given.port
    )
    return VALID


def dry_run(opened: study.Study, given: argparse.Namespace, places: Places) -> int:
    browser.required()
    pictures = pathlib.Path(given.pictures) if given.pictures else None
    if pictures is not None:
        with outputs.writing("--pictures", pictures):
            pictures.mkdir(parents=True, exist_ok=True)
    subject = browser.ProgramAsSubject(given.subject, pictures)
    session.Session(
        opened,
        given.subject,
        places,
        Progress(),
        dry=True,
        speed=given.speed,
        simulated=True,
        look=subject.check,
    ).carry_out(given.listen, given.port, subject)
    return VALID


def export_rows(arguments: list[str], _places: Places) -> int:
    p = Parser("ratings export", f"{HEAD}: all runs that were rated, as a table.")
    p.add_argument(
        "folder", names=FOLDER, metavar="FOLDER", help="folder of the study, as ratings new made it"
    )
    p.add_argument(
        "--unblind",
        action="store_true",
        help=(
            "name the emulated link behind each code of the table, which the key file of the study"
            " holds"
        ),
    )
    p.add_argument(
        "-o",
        "--out",
        names=OUTPUT,
        metavar="FILE.csv",
        help="write the table of grades into this CSV file (default: print it)",
    )
    p.json("the table of grades")
    given = p.parse_args(arguments)
    rows = export.rows_of(study.opened(given.folder), given.unblind)
    text = export.csv_of(rows)
    if given.out:
        with outputs.writing("--out", given.out):
            outputs.write_whole(given.out, text)
        outputs.say(given.json, f"{given.out}: {len(rows)} runs")
    elif given.json is None:
        print(text, end="")
    outputs.write_json(given.json, {"runs": rows})
    return VALID


def analyse(arguments: list[str], _places: Places) -> int:
    from . import analysis

    p = Parser(
        "ratings analyse",
        f"{HEAD}: means, box plots, analysis of variance, intervals of Tukey, and grades against"
        " delays.",
    )
    p.add_argument(
        "source",
        names=EITHER,
        metavar="FOLDER|FILE.csv",
        help="folder of the study, or the CSV file that ratings export made of it",
    )
    p.add_argument(
        "--unblind",
        action="store_true",
        help=(
            "with FOLDER: name the emulated link behind each code of the table, which the key file"
            " of the study holds"
        ),
    )
    p.add_argument(
        "-o", "--out", metavar="FOLDER", help="write a figure for each task into this folder"
    )
    p.json("the result of the analysis")
    given = p.parse_args(arguments)
    if given.source.endswith(".csv"):
        if given.unblind:
            raise BadInput(
                "--unblind is given with a CSV table, beside which there is no key file; valid:"
                " with the FOLDER of the study"
            )
        rows = export.read_csv(given.source)
    else:
        rows = export.rows_of(study.opened(given.source), given.unblind)
    result = analysis.of_rows(rows)
    outputs.say(given.json, analysis.screen(result))
    if given.out:
        from . import figures

        with outputs.writing("--out", given.out):
            outputs.write_into(given.out, figures.of_result(result, rows))
    outputs.write_json(given.json, result)
    return VALID


COMMANDS = {"new": new, "session": one, "export": export_rows, "analyse": analyse}


def main(arguments: list[str], places: Places) -> int:
    return run_command(
        "ratings",
        f"usage: {USAGE}\n\n{HEAD} (docs/how-to/ratings.md).",
        COMMANDS,
        arguments,
        places,
    )
