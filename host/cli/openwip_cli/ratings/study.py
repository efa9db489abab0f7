# SPDX-License-Identifier: GPL-3.0-or-later
"""A study in a folder: study.json (method, tasks, number of subjects), key.json (seed, order of
each subject, code of each case; for root or its owner alone), and for each subject a log,
subject-NN.jsonl, with a line for each run (docs/reference/ratings.md).

The sessions are blind: a log and an export name a case by its code, such as a3, which is drawn for
each study. Only key.json says which case that is."""

import dataclasses
import json
import os
import pathlib
import random
from collections.abc import Iterator
from typing import Any

from ..errors import BadInput, NotWritten, not_valid
from ..machine import outputs
from ..text import of_file, of_json
from .cases import HIGHEST, TASKS, Case, case_of, cases_of, reference_of

ACR, DCR = "acr", "dcr"
STUDY, KEY = "study.json", "key.json"
LETTERS = dict(zip(TASKS, "abv"))  # first letter of a task's codes
FORMAT = 1
MOST_SUBJECTS = 1000  # subjects of a study
LONGEST_COMMENT = 2000  # characters


@dataclasses.dataclass(frozen=True)
class Run:
    """A run: task and number, which subject and operator see, and its case, which they do not see.
    `number`: from 1 in each task; 0: the reference of a task, which is not rated."""

    task: str
    number: int
    code: str
    case: Case

    @property
    def title(self) -> str:
        return f"run {self.number}" if self.number else "reference"


def draw(seed: int, subjects: int, tasks: tuple[str, ...]) -> dict[str, Any]:
    """The key of a study: the same for the same seed. Each subject has an order of its own."""
    codes: dict[str, dict[str, str]] = {}
    for task in tasks:
        names = [case.name for case in cases_of(task)]
        random.Random(f"openwip ratings codes {seed} {task}").shuffle(names)
        codes[task] = {f"{LETTERS[task]}{n}": name for n, name in enumerate(names, 1)}
    orders = {}
    for subject in range(1, subjects + 1):
        source = random.Random(f"openwip ratings order {seed} {subject}")
        orders[str(subject)] = {
            task: source.sample(sorted(codes[task]), len(codes[task])) for task in tasks
        }
    return {"format": FORMAT, "seed": seed, "codes": codes, "orders": orders}


@dataclasses.dataclass(frozen=True)
class Study:
    folder: pathlib.Path
    about: dict[str, Any]

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(self.about["tasks"])

    @property
    def subjects(self) -> int:
        return int(self.about["subjects"])

    def method(self, subject: int) -> str:
        """The last subjects of a study are those that see the reference first."""
        return DCR if subject > self.subjects - self.about["dcr_subjects"] else ACR

    def check_subject(self, subject: int) -> None:
        if not 1 <= subject <= self.subjects:
            raise BadInput(
                f"--subject is {subject}; valid in the study {self.folder}: 1..{self.subjects}"
            )

    def key(self) -> dict[str, Any]:
        return read(self.folder / KEY, "the key of a study, made by ./openwip ratings new")

    def runs(self, subject: int) -> list[Run]:
        """The runs of a session, in their order."""
        self.check_subject(subject)
        key, runs = self.key(), []
        try:
            for task in self.tasks:
                if self.method(subject) == DCR:
                    runs.append(Run(task, 0, "", reference_of(task)))
                runs += [
                    Run(task, number, code, case_of(task, key["codes"][task][code]))
                    for number, code in enumerate(key["orders"][str(subject)][task], 1)
                ]
        except (LookupError, TypeError, StopIteration):
            raise BadInput(
                f"{self.folder / KEY} does not fit {STUDY} beside it; valid: both files as"
                " ./openwip ratings new made them"
            ) from None
        return runs

    def log_of(self, subject: int) -> pathlib.Path:
        return self.folder / f"subject-{subject:02d}.jsonl"

    def lines(self, subject: int) -> list[dict[str, Any]]:
        """The log of a subject; empty: the session has not begun."""
        path = self.log_of(subject)
        if not path.exists():
            return []
        found = []
        for number, text in enumerate(of_file(path, LONGEST_FILE).splitlines(), 1):
            try:
                line = of_json(text)
            except ValueError:
                line = None
            found.append(checked_line(f"{path}, line {number}", line))
        return found

    def all_lines(self) -> Iterator[dict[str, Any]]:
        for subject in range(1, self.subjects + 1):
            yield from self.lines(subject)

    def left(self, subject: int) -> list[Run]:
        """The runs that a session still has: one that was interrupted goes on where it was."""
        done = {(line["task"], line["run"]) for line in self.lines(subject)}
        return [run for run in self.runs(subject) if (run.task, run.number) not in done]

    def add(self, subject: int, line: dict[str, Any]) -> None:
        """Appends a run to the log of its subject, whole and on the disk."""
        try:
            with open(self.log_of(subject), "a", encoding="utf-8") as log:
                log.write(json.dumps(line) + "\n")
                log.flush()
                os.fsync(log.fileno())
        except OSError as e:
            raise NotWritten(
                f"{self.log_of(subject)}: cannot be written: {e.strerror or e}"
            ) from None


LONGEST_FILE = 1 << 26  # bytes
WORDS = {int: "a whole number", str: "a text", bool: "true, false"}
NEEDED = {"subject": int, "task": str, "run": int, "code": str, "valid": bool}


def checked_line(where: str, line: Any) -> dict[str, Any]:
    """BadInput: a line that no session writes."""
    if not isinstance(line, dict):
        raise BadInput(
            f"{where} is not the entry of a rated run; valid: a JSON object in each line"
        )
    for name, kind in NEEDED.items():
        if not isinstance(line.get(name), kind):
            raise not_valid(f"{where}: {name}", line.get(name), WORDS[kind])
    if line["task"] not in TASKS:
        raise not_valid(f"{where}: task", line["task"], ", ".join(TASKS))
    rating = line.get("rating")
    if line["run"] and (type(rating) is not int or not 1 <= rating <= HIGHEST):
        raise not_valid(f"{where}: rating", rating, f"1..{HIGHEST}")
    return line


def read(path: pathlib.Path, what: str) -> dict[str, Any]:
    try:
        found = of_json(of_file(path, LONGEST_FILE))
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput(f"{path}: there is no such file; valid: {what}") from None
    except PermissionError:
        raise BadInput(
            f"{path}: this user may not read it; valid: as its owner, or as root"
        ) from None
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise BadInput(f"{path} does not have the expected form; valid: {what}")
    return found


def opened(folder: str) -> Study:
    """A study that ./openwip ratings new has made."""
    path = pathlib.Path(folder)
    about = read(path / STUDY, "a study, made by ./openwip ratings new")
    for name, valid in (
        ("subjects", f"1..{MOST_SUBJECTS}"),
        ("dcr_subjects", f"0..{MOST_SUBJECTS}"),
    ):
        if type(about.get(name)) is not int or not 0 <= about[name] <= MOST_SUBJECTS:
            raise not_valid(f"{path / STUDY}: {name}", about.get(name), valid)
    tasks = about.get("tasks")
    if not isinstance(tasks, list) or not tasks or not set(map(str, tasks)) <= set(TASKS):
        raise not_valid(f"{path / STUDY}: tasks", tasks, ", ".join(TASKS))
    return Study(path, about)


def make(folder: str, subjects: int, dcr_subjects: int, tasks: tuple[str, ...], seed: int) -> Study:
    """Writes study.json and key.json into a folder that has neither."""
    path = pathlib.Path(folder)
    if dcr_subjects > subjects:
        raise not_valid(
            "--dcr-subjects", dcr_subjects, f"0..{subjects}", more=f" with --subjects {subjects}"
        )
    for name in (STUDY, KEY):
        if (path / name).exists():
            raise BadInput(f"{path / name} exists: a study is made once; valid: a new folder")
    about = {
        "format": FORMAT,
        "subjects": subjects,
        "dcr_subjects": dcr_subjects,
        "tasks": list(tasks),
    }
    with outputs.writing("FOLDER", path):
        path.mkdir(parents=True, exist_ok=True)
        key = os.open(path / KEY, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with open(key, "w", encoding="utf-8") as f:
            json.dump(draw(seed, subjects, tasks), f, indent=1)
        outputs.write_whole(path / STUDY, json.dumps(about, indent=1) + "\n")
    return Study(path, about)
