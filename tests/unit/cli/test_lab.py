# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip lab: a student's worksheet is the same at every call and another student's is not; right
answers are right, each wrong one is named, and so is a run that was not asked for."""

import contextlib
import copy
import io
import json
import pathlib
import shlex
import subprocess
import tempfile
import unittest

import yaml

from openwip_cli import __main__ as launcher
from openwip_cli.errors import BadInput
from openwip_cli.lab import command, sheets

CLI = pathlib.Path(command.__file__).resolve().parents[2]
STUDENT = "Ada Lovelace"
LINK = {
    "modulation_histogram": [0, 0, 0, 900, 100, 0, 0, 0, 0],
    "retransmission_histogram": [800, 150, 50] + [0] * 28,
    "frame_error_rate": 0.125,
}


def report_of(sheet, run, seed, mbps, rtt_ms):
    config = {}
    for key, value in command.settings_of(sheet, run).items():
        room, name = key.split(".")
        config.setdefault(room, {})[name] = float(value) if isinstance(value, int) else value
    return {
        "verdict": {"valid": True},
        "seed": seed,
        "config": config,
        "link": copy.deepcopy(LINK),
        "capacity": {"bits_per_symbol": 3.5},
        "tcp": {"goodput_bps": mbps * 1e6, "rtt_ms": {"mean": rtt_ms}},
        "packets": {"downlink": {"dropped": {"retransmissions_exceeded": 7}}},
    }


class World:
    """A folder with the worksheet and the reports of its runs."""

    def __init__(self, folder, number):
        self.folder, self.number = pathlib.Path(folder), number
        self.sheet, self.seed = sheets.sheet_of(number, STUDENT), sheets.seed_of(STUDENT)
        self.reports = {
            run.name: report_of(self.sheet, run, self.seed, 4.0 - at, 100.0 - 20 * at)
            for at, run in enumerate(self.sheet.runs)
        }
        self.answers = {
            q.name: q.right if isinstance(q, sheets.Choice) else q.right(self.reports)
            for q in self.sheet.questions
        }

    def check(self):
        filled = {"lab": self.number, "student": STUDENT, "answers": self.answers}
        path = self.folder / f"lab{self.number}.yaml"
        path.write_text(yaml.safe_dump(filled))
        for run in self.sheet.runs:
            (self.folder / command.report_file(self.sheet, run)).write_text(
                json.dumps(self.reports[run.name])
            )
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = launcher.find("lab")(["check", str(self.number), "--answers", str(path)], None)
        return code, said.getvalue().splitlines()


class Lab(unittest.TestCase):
    def world(self, number):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return World(folder.name, number)

    def test_right_answers_are_right(self):
        for number in sheets.SHEETS:
            world = self.world(number)
            code, said = world.check()
            self.assertEqual(code, 0, said)
            self.assertEqual(said[-1], "8 of 8 answers are right")

    def test_each_wrong_answer_is_named_alone(self):
        for number in sheets.SHEETS:
            for question in sheets.sheet_of(number, STUDENT).questions:
                world = self.world(number)
                if isinstance(question, sheets.Choice):
                    world.answers[question.name] = next(
                        c for c in question.choices if c != question.right
                    )
                else:
                    world.answers[question.name] = 1.2 * world.answers[question.name] + 2
                code, said = world.check()
                self.assertEqual(code, 1)
                self.assertEqual(said[-1], "7 of 8 answers are right")
                wrong = [line for line in said if " not " in line]
                self.assertEqual([question.name in line for line in wrong], [True], said)

    def test_what_is_no_answer_is_said(self):
        world = self.world(1)
        world.answers.update(bits_a=None, bits_b="many", why_fail="e", failed_b_percent=True)
        code, said = world.check()
        self.assertEqual(code, 1)
        text = "\n".join(said)
        self.assertIn("bits_a: not answered", text)
        self.assertIn("bits_b: 'many'; valid: a number", text)
        self.assertIn("failed_b_percent: 'True'; valid: a number", text)
        self.assertIn("why_fail: 'e'; valid: a, b, c", text)

    def test_a_run_that_was_not_asked_for_is_refused(self):
        for change, words in (
            (lambda r: r.update(seed=1), "its seed is 1; yours is"),
            (lambda r: r["verdict"].update(valid=False), "not VALID"),
            (lambda r: r["config"]["channel"].update(snr_db=40.0), "channel.snr_db is 40.0"),
            (lambda r: r.pop("config"), "link.bins is None"),
        ):
            world = self.world(1)
            change(world.reports["b"])
            code, said = world.check()
            self.assertEqual(code, 1)
            line = next(line for line in said if line.startswith("run b"))
            self.assertIn(words, line)
            self.assertTrue(all("as asked for" in x for x in said[:4] if x != line), said)

    def test_a_report_without_what_is_needed_is_no_crash(self):
        world = self.world(2)
        world.reports["d"]["tcp"] = {}
        code, said = world.check()
        self.assertEqual(code, 1)
        self.assertTrue(any("cannot be checked" in line for line in said), said)

    def test_files_that_are_none(self):
        world = self.world(1)
        world.check()
        path = world.folder / "lab1.yaml"
        good = path.read_text()
        for text, words in (
            ("[]", "no worksheet"),
            ("lab: 1\nlab: 1\n", "no worksheet"),
            (good.replace("lab: 1", "lab: 2"), "lab is 2; valid here: 1"),
            (good.replace(STUDENT, ""), "valid: a name"),
            ("lab: 1\nstudent: A\n", "there are no answers"),
            ("lab: 1\nstudent: A\nanswers: {guess: 1}\n", "answers.guess is no question"),
        ):
            path.write_text(text)
            with self.assertRaises(BadInput) as caught:
                command.check(1, path)
            self.assertIn(words, str(caught.exception))
        path.write_text(good)
        for run, text, words in (("a", "{", "no report"), ("b", "[]", "no report")):
            report = world.folder / f"lab1-{run}.json"
            kept = report.read_text()
            report.write_text(text)
            with self.assertRaises(BadInput) as caught:
                command.check(1, path)
            self.assertIn(words, str(caught.exception))
            report.write_text(kept)
        (world.folder / "lab1-c.json").unlink()
        with self.assertRaises(BadInput) as caught:
            command.check(1, path)
        self.assertIn("there is no such file", str(caught.exception))

    def test_a_student_has_always_the_same_sheet_and_another_one_another(self):
        names = [f"student {n}" for n in range(60)]
        self.assertEqual(sheets.seed_of(" Ada  lovelace "), sheets.seed_of(STUDENT))
        self.assertEqual(len({sheets.seed_of(n) for n in names}), len(names))
        for number in sheets.SHEETS:
            texts = {n: command.as_text(sheets.sheet_of(number, n), n) for n in names}
            again = {n: command.as_text(sheets.sheet_of(number, n), n) for n in names}
            self.assertEqual(texts, again)
            self.assertGreater(len({str(sheets.sheet_of(number, n).common) for n in names}), 2)

    def test_a_sheet_is_a_file_to_fill_in_and_its_commands_are_taken(self):
        for number in sheets.SHEETS:
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                launcher.find("lab")(["sheet", str(number), "--student", STUDENT], None)
            filled = yaml.safe_load(said.getvalue())
            self.assertEqual((filled["lab"], filled["student"]), (number, STUDENT))
            self.assertEqual(set(filled["answers"].values()), {None})
            commands = [x for x in said.getvalue().splitlines() if "./openwip demo" in x]
            self.assertEqual(len(commands), 4)
            for line in commands:
                words = shlex.split(line.lstrip("# "))[2:]
                taken = subprocess.run(
                    [
                        "awk",
                        "-f",
                        CLI / "command_line.awk",
                        "--",
                        CLI / "command_lines.txt",
                        *words,
                    ],
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=60,
                )
                self.assertEqual((taken.returncode, taken.stderr), (0, ""), line)
                self.assertEqual(words[words.index("--seed") + 1], str(sheets.seed_of(STUDENT)))


if __name__ == "__main__":
    unittest.main()
