# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip lab: a student's worksheet is the same at every call and another student's is not; right
answers are right, each wrong one is named, and so is a run that was not asked for."""

import contextlib
import io
import json
import math
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

import yaml

from openwip_cli import __main__ as launcher
from openwip_cli.errors import BadInput
from openwip_cli.figures import prediction
from openwip_cli.lab import command, questions, sheets
from recording import Recording

CLI = pathlib.Path(command.__file__).resolve().parents[2]
STUDENT, OTHER = "Ada Lovelace", "Emmy Noether"
LINK = {
    "modulation_histogram": [0, 0, 0, 900, 100, 0, 0, 0, 0],
    "retransmission_histogram": [800, 150, 50] + [0] * 28,
    "frame_error_rate": 0.125,
    "goodput_bps": 4.2e6,
}


def report_of(sheet, run, seed, mbps, rtt_ms, air):
    config = {}
    for key, value in command.settings_of(sheet, run, air).items():
        room, name = key.split(".")
        config.setdefault(room, {})[name] = float(value) if isinstance(value, int) else value
    return {
        "verdict": {"valid": True, "reasons": []},
        "seed": seed,
        "config": config,
        "link": LINK | {"frame_error_rate": 0.125 / mbps},
        "capacity": {"bits_per_symbol": 3.5},
        "tcp": {"goodput_bps": mbps * 1e6, "rtt_ms": {"mean": rtt_ms}},
        "packets": {
            "downlink": {
                "in": 5000,
                "dropped": {"retransmissions_exceeded": 7, "queue_full": int(100 * mbps)},
            }
        },
    }


def slots_of(recording, horizon, error_db):
    """Ten slots of both stations, whose predictions are `error_db` off in one bin of two."""
    for slot in range(0, 150, 15):
        snr = [8 + 0.5 * b + slot / 50 for b in range(25)]
        predicted = [v + error_db * (b % 2) for b, v in enumerate(snr)]
        recording.give("slot", "base", slot=slot, slot_sample={"predicted_snr_db": predicted})
        recording.give(
            "slot", "terminal", slot=slot, slot_sample={"snr_db": snr, "horizon": horizon}
        )


def flows_of(recording, largest):
    """Samples of a control connection, a data flow of the sender, and its end at the receiver."""

    def flow(station, port, window, bytes_):
        return {
            "station": station,
            "local": f"10.42.0.1:{port}",
            "cwnd_segments": window,
            "bytes_acknowledged": bytes_,
        }

    for n, window in enumerate((10, largest, largest - 3)):
        recording.give(
            "tcp",
            "observer",
            slot=30 * n,
            tcp={
                "flow": [
                    flow("base", 1, 99, 300),
                    flow("base", 2, window, 1_000_000 * n),
                    flow("terminal", 3, 88, 2_000_000 * n),
                ]
            },
        )


class World:
    """A folder with the worksheet and what its runs left."""

    def __init__(self, folder, number, student=STUDENT, air="medium"):
        self.folder, self.number, self.student, self.air = (
            pathlib.Path(folder),
            number,
            student,
            air,
        )
        self.sheet, self.seed = sheets.sheet_of(number, student), sheets.seed_of(student)
        self.reports = {
            run.name: report_of(self.sheet, run, self.seed, 4.0 - at, 100.0 - 20 * at, air)
            for at, run in enumerate(self.sheet.runs)
        }
        self.runs_left()
        self.read = {
            run.name: command.read_run(self.sheet, run, self.folder) for run in self.sheet.runs
        }
        self.answers = {
            q.name: q.right if isinstance(q, questions.Choice) else q.right(self.read)
            for q in self.sheet.questions
        }

    def runs_left(self):
        """Writes the report or the record of each run."""
        for at, run in enumerate(self.sheet.runs):
            self.run_left(run, at)

    def run_left(self, run, at=0):
        path, report = self.folder / command.file_of(self.sheet, run), self.reports[run.name]
        if not self.sheet.recorded:
            path.write_text(json.dumps(report))
            return
        recording = Recording(path)
        # another student's figures are others, too
        more = (self.seed % 7) / 50
        if self.number == 3:
            slots_of(recording, 3 + 3 * (run.name in "bd"), 0.5 + 0.5 * at + more)
        else:
            flows_of(recording, 40 + at + self.seed % 7)
        recording.finish(report=report)
        recording.close()

    def fill_in(self):
        filled = {"lab": self.number, "student": self.student, "answers": self.answers}
        if self.sheet.over_a_cable:
            filled["air"] = self.air
        path = self.folder / f"lab{self.number}.yaml"
        path.write_text(yaml.safe_dump(filled))
        return path

    def check_answers(self):
        """check() with the runs as they were read at first: each record is read by a process."""
        with mock.patch.object(command, "read_run", lambda sheet, run, folder: self.read[run.name]):
            return self.check()

    def check(self):
        path = self.fill_in()
        if not self.sheet.recorded:
            self.runs_left()
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = launcher.find("lab")(["check", str(self.number), "--answers", str(path)], None)
        return code, output.getvalue().splitlines()


class LabWorld(unittest.TestCase):
    def world(self, number, *of):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return World(folder.name, number, *of)


class Answers(LabWorld):
    def test_right_answers_are_right(self):
        for number in sheets.SHEETS:
            world = self.world(number)
            code, output = world.check()
            self.assertEqual(code, 0, output)
            n = len(world.sheet.questions)
            self.assertGreaterEqual(n, 8)
            self.assertEqual(output[-1], f"{n} of {n} answers are right")

    def test_an_answer_may_be_rounded(self):
        for number in sheets.SHEETS:
            world = self.world(number)
            for question in world.sheet.questions:
                if isinstance(question, questions.Number):
                    world.answers[question.name] = float(f"{world.answers[question.name]:.3g}")
            self.assertEqual(world.check_answers()[0], 0)

    def test_each_wrong_answer_is_named_alone_with_a_hint(self):
        for number in sheets.SHEETS:
            world = self.world(number)
            right = dict(world.answers)
            for question in world.sheet.questions:
                world.answers = dict(right)
                if isinstance(question, questions.Choice):
                    world.answers[question.name] = next(
                        c for c in question.choices if c != question.right
                    )
                else:
                    world.answers[question.name] = 1.2 * world.answers[question.name] + 2
                code, output = world.check_answers()
                self.assertEqual(code, 1)
                n = len(world.sheet.questions)
                self.assertEqual(output[-1], f"{n - 1} of {n} answers are right")
                [wrong] = [line for line in output[4:-1] if not line.endswith(": right")]
                self.assertIn(question.name, wrong)
                self.assertIn("not", wrong)
                self.assertGreater(len(question.hint), 20)
                self.assertTrue(wrong.endswith(question.hint), wrong)

    def test_answers_of_another_student_are_wrong_for_these_runs(self):
        """The questions that the runs answer: the letters are the same for all."""
        for number in (3, 4):
            mine, theirs = self.world(number), self.world(number, OTHER)
            mine.answers = theirs.answers
            code, output = mine.check_answers()
            self.assertEqual(code, 1)
            self.assertTrue(any("is not what your runs say" in line for line in output), output)

    def test_runs_of_another_student_are_refused(self):
        for number in sheets.SHEETS:
            mine, theirs = self.world(number), self.world(number, OTHER)
            mine.answers, mine.reports = theirs.answers, theirs.reports
            if mine.sheet.recorded:
                for run in mine.sheet.runs:
                    name = command.file_of(mine.sheet, run)
                    shutil.copy(theirs.folder / name, mine.folder / name)
            code, output = mine.check()
            self.assertEqual(code, 1)
            for line in output[:4]:
                self.assertIn(f"its seed is {theirs.seed}; yours is {mine.seed}", line)

    def test_what_is_no_answer_is_said(self):
        world = self.world(1)
        world.answers.update(bits_a=None, bits_b="many", why_fail="e", failed_b_percent=True)
        code, output = world.check()
        self.assertEqual(code, 1)
        text = "\n".join(output)
        self.assertIn("bits_a: not answered", text)
        self.assertIn("bits_b: 'many'; valid: a number", text)
        self.assertIn("failed_b_percent: 'True'; valid: a number", text)
        self.assertIn("why_fail: 'e'; valid: a, b, c", text)


class Runs(LabWorld):
    def test_a_run_that_was_not_asked_for_is_refused(self):
        for change, words in (
            (lambda r: r.update(seed=1), "its seed is 1; yours is"),
            (lambda r: r["verdict"].update(valid=False), "not VALID"),
            (lambda r: r["config"]["channel"].update(snr_db=40.0), "channel.snr_db is 40.0"),
            (lambda r: r["config"]["air"].update(over="cabled"), "air.over is cabled"),
            (lambda r: r.pop("config"), "link.bins is None"),
        ):
            world = self.world(1)
            change(world.reports["b"])
            code, output = world.check()
            self.assertEqual(code, 1)
            line = next(line for line in output if line.startswith("run b"))
            self.assertIn(words, line)
            self.assertTrue(all("as asked for" in x for x in output[:4] if x != line), output)

    def test_a_record_of_a_run_that_was_not_asked_for_is_refused(self):
        for number, change, words in (
            (3, lambda r: r["config"]["channel"].update(speed_kmh=3.0), "channel.speed_kmh is 3.0"),
            (3, lambda r: r["verdict"].update(valid=False), "not VALID"),
            (4, lambda r: r["config"]["link"].update(queue_packets=54), "link.queue_packets is 54"),
        ):
            world = self.world(number)
            change(world.reports["b"])
            world.run_left(world.sheet.runs[1], 1)
            code, output = world.check()
            self.assertEqual(code, 1)
            line = next(line for line in output if line.startswith("run b"))
            self.assertIn(words, line)

    def test_runs_over_a_cable_are_taken_where_they_were_asked_for(self):
        for number in (1, 2):
            world = self.world(number, STUDENT, "cabled")
            self.assertEqual(world.check()[0], 0)
            world.air = "medium"
            code, output = world.check()
            self.assertEqual(code, 1)
            for line in output[:4]:
                self.assertIn("air.over is cabled; asked for: medium", line)

    def test_a_report_without_what_is_needed_is_no_crash(self):
        world = self.world(2)
        world.reports["d"]["tcp"] = {}
        code, output = world.check()
        self.assertEqual(code, 1)
        self.assertTrue(any("cannot be checked" in line for line in output), output)


class Files(LabWorld):
    def refused(self, world):
        with self.assertRaises(BadInput) as caught:
            command.check(world.number, world.folder / f"lab{world.number}.yaml")
        return str(caught.exception)

    def test_worksheets_that_are_none(self):
        world = self.world(1)
        path = world.fill_in()
        good = path.read_text()
        for text, words in (
            ("[]", "is not a worksheet"),
            ("lab: 1\nlab: 1\n", "is not a worksheet"),
            (good.replace("lab: 1", "lab: 2"), "lab is 2; valid here: 1"),
            (good.replace(STUDENT, ""), "valid: a name"),
            (good.replace("medium", "wet string"), "air is wet string; valid: medium, cabled"),
            ("lab: 1\nstudent: A\n", "the key answers is missing or empty"),
            ("lab: 1\nstudent: A\nanswers: {guess: 1}\n", "answers.guess is not a question"),
        ):
            path.write_text(text)
            self.assertIn(words, self.refused(world))

    def test_reports_that_are_none(self):
        world = self.world(1)
        world.fill_in()
        for run, text, words in (("a", "{", "is not the report"), ("b", "[]", "is not the report")):
            report = world.folder / f"lab1-{run}.json"
            kept = report.read_text()
            report.write_text(text)
            self.assertIn(words, self.refused(world))
            report.write_text(kept)
        (world.folder / "lab1-c.json").unlink()
        self.assertIn("there is no such file; valid: the report of run c", self.refused(world))

    def test_records_that_are_none(self):
        for number in (3, 4):
            world = self.world(number)
            world.fill_in()
            record = world.folder / f"lab{number}-c.h5"
            kept = record.read_bytes()
            record.unlink()
            output = self.refused(world)
            self.assertIn("there is no such file; valid: the record of run c", output)
            self.assertIn(f"--record lab{number}-c.h5", output)
            record.write_text("no record")
            self.assertIn(record.name, self.refused(world))
            record.unlink()
            empty = Recording(record)
            empty.finish(report=world.reports["c"])
            empty.close()
            self.assertIn("valid: the record of a whole run", self.refused(world))
            record.unlink()
            early = Recording(record)
            early.finish()
            early.close()
            self.assertIn("the record has no report", self.refused(world))
            record.write_bytes(kept)
            self.assertEqual(world.check()[0], 0)


class Figures(LabWorld):
    """The right answers, by hand."""

    def test_nmse_of_a_record(self):
        path = self.world(3).folder / "by-hand.h5"
        recording = Recording(path)
        # 10 and 12 in linear numbers: (12 - 10)^2 / 10^2
        for slot in (0, 15):
            recording.give(
                "slot", slot=slot, slot_sample={"predicted_snr_db": [10 * math.log10(12)] * 25}
            )
            recording.give(
                "slot", "terminal", slot=slot, slot_sample={"snr_db": [10.0] * 25, "horizon": 6}
            )
        recording.give("slot", "terminal", slot=30, slot_sample={"snr_db": [10.0] * 25})
        recording.finish(report={"verdict": {"valid": True, "reasons": []}})
        recording.close()
        report = command.read_record(path, sheets.sheet_of(3, STUDENT))
        self.assertAlmostEqual(report["recorded"]["nmse"], 0.04, 5)
        self.assertEqual(report["recorded"]["horizon_slots"], 6)

    def test_theory_of_the_last_value(self):
        for wavelengths, expected in ((0, 0.0), (0.1, 0.1665), (0.2, 0.4148), (0.3827, 0.5)):
            self.assertAlmostEqual(prediction.nmse_of_last_value(wavelengths), expected, 3)

    def test_the_window_is_that_of_the_data(self):
        world = self.world(4)
        self.assertEqual(world.answers["window_a_segments"], 40 + world.seed % 7)

    def test_the_formula(self):
        # Mathis et al.: 1448 x 8 / 80 ms x sqrt(1.5 / (300 / 5000))
        self.assertAlmostEqual(self.world(4).answers["formula_b_mbps"], 0.724, 3)


class Sheets(unittest.TestCase):
    def test_a_student_has_always_the_same_sheet_and_another_one_another(self):
        names = [f"student {n}" for n in range(60)]
        self.assertEqual(sheets.seed_of(" Ada  lovelace "), sheets.seed_of(STUDENT))
        self.assertEqual(len({sheets.seed_of(n) for n in names}), len(names))
        for number in sheets.SHEETS:
            texts = {n: command.as_text(sheets.sheet_of(number, n), n) for n in names}
            again = {n: command.as_text(sheets.sheet_of(number, n), n) for n in names}
            self.assertEqual(texts, again)
            settings = {
                str([command.settings_of(s, run, "medium") for run in s.runs])
                for s in (sheets.sheet_of(number, n) for n in names)
            }
            self.assertGreater(len(settings), 2)

    def sheet(self, *arguments):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            launcher.find("lab")(["sheet", *arguments, "--student", STUDENT], None)
        return output.getvalue()

    def test_a_sheet_is_a_file_to_fill_in_and_its_commands_are_taken(self):
        for number, *more in (
            *((n,) for n in sheets.SHEETS),
            *((n, "--air", "cabled") for n in (1, 2)),
        ):
            text = self.sheet(str(number), *more)
            filled = yaml.safe_load(text)
            self.assertEqual((filled["lab"], filled["student"]), (number, STUDENT))
            self.assertEqual(set(filled["answers"].values()), {None})
            commands = [x for x in text.splitlines() if "sudo ./openwip" in x]
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
                self.assertEqual("--air cabled" in line, bool(more))

    def test_a_cable_is_for_the_first_two(self):
        with self.assertRaisesRegex(
            BadInput, "--air is cabled with worksheet 3; valid: with worksheets 1 and 2"
        ):
            self.sheet("3", "--air", "cabled")


if __name__ == "__main__":
    unittest.main()
