# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of a campaign on a file system that stumbles, with files that are damaged, and with
runs that left none: nothing valid is lost or mixed, and what is missing is said with its reason.
The emulator is a formula, as in test_runner.py; errors of reading are made by a file system (a
folder or a FIFO in the place of a file, /proc/self/mem) or, where none makes them at will, by a
replaced read."""

import contextlib
import errno
import json
import os
import pathlib
import unittest
from unittest import mock

import world
from world import World

from openwip_cli.campaign import metrics, options, plan, report, runner, statements, store
from openwip_cli.campaign.metrics import Lack
from openwip_cli.campaign.store import State
from openwip_cli.errors import BadInput
from openwip_cli.machine import durable
from openwip_cli.runs import failure
from openwip_cli.runs.failure import Cause, Failure


class Folder(unittest.TestCase):
    """A campaign with all its 32 runs finished."""

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.store, self.runs = self.world.store, self.world.experiment().runs()
        self.world.make(self.runs)
        self.whole = self.contents()
        waits = mock.patch.object(store, "WAITS_S", (0.001,))
        waits.start()
        self.addCleanup(waits.stop)

    def contents(self):
        return {
            path.name: path.read_bytes() for path in self.store.runs.iterdir() if path.is_file()
        }

    def path(self, n):
        return self.store.path(self.runs[n].key)

    def state(self, n):
        return self.store.read(self.runs[n].key).state

    def next_keys(self, **more):
        e = self.world.experiment()
        return [
            r.key
            for r in runner.Progress(
                self.store, [e], plan.unique_runs([e]), self.world.output.append, **more
            ).next(99)
        ]

    def results(self):
        return metrics.Results(self.world.experiment(), self.store.read)

    def in_place_of(self, n, make):
        """Something else instead of the nth file; the file as it was."""
        self.path(n).rename(self.world.path / "kept")
        make(self.path(n))

    @contextlib.contextmanager
    def reading_fails(self, *numbers, code=errno.EIO):
        """Reading the files of these runs fails (without numbers: of all runs)."""
        paths = {self.path(n) for n in numbers or range(len(self.runs))}
        plain, self.reads = store.read_file, 0

        def read(path):
            if path in paths:
                self.reads += 1
                raise OSError(code, os.strerror(code), str(path))
            return plain(path)

        with mock.patch.object(store, "read_file", read):
            yield


class Reading(Folder):
    def test_absent_unreadable_invalid_and_valid_are_told_apart(self):
        self.path(0).unlink()
        self.path(1).write_text("{")
        with self.reading_fails(2):
            self.assertEqual(
                [self.state(n) for n in range(4)],
                [State.ABSENT, State.INVALID, State.UNREADABLE, State.VALID],
            )

    def test_what_a_real_file_system_does_not_give_is_unreadable(self):
        for make in (
            pathlib.Path.mkdir,
            os.mkfifo,
            lambda path: path.symlink_to("/proc/self/mem"),
            lambda path: path.symlink_to(path.name),
        ):
            self.in_place_of(0, make)
            self.assertEqual(self.state(0), State.UNREADABLE)
            self.assertTrue(os.path.lexists(self.path(0)))
            (
                pathlib.Path.rmdir
                if self.path(0).is_dir() and not self.path(0).is_symlink()
                else pathlib.Path.unlink
            )(self.path(0))
            (self.world.path / "kept").rename(self.path(0))
        self.assertEqual(self.state(0), State.VALID)

    def test_one_that_comes_back_at_another_look_is_valid(self):
        plain, left = store.read_file, [OSError(errno.ESTALE, "Stale file handle")]

        def read(path):
            if left:
                raise left.pop()
            return plain(path)

        with mock.patch.object(store, "read_file", read):
            self.assertEqual(self.state(0), State.VALID)

    def test_a_command_does_not_wait_for_each_of_many_that_do_not_come_back(self):
        self.store.patience = 0.003
        with self.reading_fails():
            for n in range(len(self.runs)):
                self.state(n)
        self.assertEqual(self.reads, len(self.runs) + 3)


class GoingOn(Folder):
    """The same command again."""

    def test_a_disk_that_gives_nothing_costs_no_result_and_makes_no_run(self):
        for code in (errno.EIO, errno.EACCES, errno.ESTALE, errno.ENOMEM):
            with self.reading_fails(code=code):
                self.assertEqual(self.next_keys(), [])
            self.assertEqual(self.contents(), self.whole)
            self.assertIn(os.strerror(code), "\n".join(self.world.output))
        self.assertEqual(self.next_keys(), [])
        self.assertFalse(self.store.aside.exists())

    def test_many_files_that_cannot_be_read_are_said_in_a_few_lines(self):
        with self.reading_fails():
            self.next_keys()
        self.assertEqual(self.world.output[-1], "27 more files of runs cannot be used")
        self.assertEqual(sum("cannot be used" in line for line in self.world.output), 6)

    def test_a_damaged_file_is_set_aside_with_its_reason_and_its_run_is_made_again(self):
        self.path(0).write_bytes(b'{"half": ')
        self.path(1).write_bytes(self.path(2).read_bytes())
        self.path(3).write_bytes(b"\xff\xfe")
        self.assertEqual(sorted(self.next_keys()), sorted(self.runs[n].key for n in (0, 1, 3)))
        self.assertEqual(
            {path.name: path.read_bytes() for path in self.store.aside.iterdir()},
            {
                f"{self.runs[0].key}.1.json": b'{"half": ',
                f"{self.runs[1].key}.1.json": self.path(2).read_bytes(),
                f"{self.runs[3].key}.1.json": b"\xff\xfe",
            },
        )
        self.assertEqual(
            [
                words
                for words in (
                    "it is not what a run writes. It is set aside as",
                    "it is the result of another run",
                    "it is not text",
                )
                if words not in "\n".join(self.world.output)
            ],
            [],
        )

    def test_set_aside_files_of_one_run_do_not_replace_each_other(self):
        for n in (1, 2, 3):
            self.path(0).write_text(f"[{n}]")
            self.next_keys()
        self.assertEqual(
            sorted(path.read_text() for path in self.store.aside.iterdir()), ["[1]", "[2]", "[3]"]
        )

    def test_what_cannot_be_set_aside_stays_and_its_run_is_not_made_again(self):
        self.path(0).write_text("{")
        self.store.aside.write_text("a file in the way")
        self.assertEqual(self.next_keys(), [])
        self.assertEqual(self.path(0).read_text(), "{")
        self.assertIn("it cannot be moved to", self.world.output[-1])

    def test_an_invalid_verdict_is_tried_again_and_what_was_before_is_kept(self):
        self.path(0).unlink()
        self.world.make(
            self.runs[:1], lambda *_: world.result(valid=False, reasons=["pacing: bad day"])
        )
        before = self.path(0).read_text()
        self.assertEqual(self.next_keys(), [self.runs[0].key])
        self.assertEqual(self.store.archive.read(self.runs[0].key), before)
        self.assertFalse(self.path(0).exists())
        self.assertIn("1 runs are tried again (1 verdict invalid)", self.world.output[-1])

    def test_a_run_that_failed_is_tried_again_when_the_machine_was_the_cause_or_when_asked(self):
        for cause in Cause:
            self.path(0).unlink()
            self.store.fail(self.runs[0].key, self.runs[0].spec, Failure(cause, said="a word"))
            with self.subTest(cause):
                retried = cause in (Cause.KILLED, Cause.OUT_OF_MEMORY, Cause.EXHAUSTED, Cause.LOST)
                if not retried:
                    self.assertEqual(self.next_keys(), [])
                    self.assertEqual(
                        self.world.output[-1],
                        f"1 runs failed before and are not tried again (1 {cause.value});"
                        " --retry-failed tries them again",
                    )
                self.assertEqual(self.next_keys(retry_failed=not retried), [self.runs[0].key])
                self.world.make(self.runs[:1])

    def test_a_file_that_is_not_its_runs_ends_no_campaign(self):
        self.path(0).unlink()
        progress = self.world.progress()
        self.path(0).write_text("{}")
        self.assertTrue(progress.take(self.runs[0].key))
        self.assertEqual(self.store.read(self.runs[0].key).failure.cause, Cause.NO_RESULT)
        self.assertRegex(
            self.world.output[-1],
            "^1/1 S1 .*: no result, FAILED: it left no result of this run: it is not what a run"
            " writes; ",
        )

    def test_a_result_that_cannot_be_read_after_its_round_is_left_and_not_run_twice(self):
        self.path(0).unlink()
        progress = self.world.progress()
        (run,) = progress.next(9)
        self.world.make([run])
        with self.reading_fails(0):
            self.assertFalse(progress.take(run.key))
            progress.settle([run.key])
            self.assertEqual(progress.next(9), [])
        self.assertEqual(self.contents(), self.whole)


class Saying(Folder):
    """The evaluation of a folder that is not whole says so, and changes no result."""

    def spoil(self):
        """Makes one run each not run, damaged, failed and invalid, all of realisation 1, which
        consists of the first eight runs."""
        self.path(0).unlink()
        self.path(1).write_text("{")
        for n in (2, 3):
            self.path(n).unlink()
        self.store.fail(
            self.runs[2].key,
            self.runs[2].spec,
            Failure(Cause.CRASHED, signal="SIGSEGV", said="last words", seconds=2.0),
        )
        self.world.make(
            self.runs[3:4], lambda *_: world.result(valid=False, reasons=["sums: one too many"])
        )

    def evaluated(self):
        results = self.results()
        return report.Evaluated(
            results.experiment,
            statements.evaluate_all(results),
            report.counts(results),
            [],
            list(results.lacking.values()),
        )

    def test_counts_figures_and_statements_tell_what_lacks_and_why(self):
        self.spoil()
        with self.reading_fails(4):
            evaluated = self.evaluated()
        self.assertEqual(
            {k: n for k, n in evaluated.counts.items() if k != "repeated"},
            {
                "runs": 32,
                "valid": 27,
                "invalid": 1,
                "failed": 1,
                "absent": 1,
                "unreadable": 1,
                "damaged": 1,
            },
        )
        text = report.markdown([evaluated], {})
        self.assertIn("| 32 | 27 | 1 + 1 failed + 1 not run + 1 unreadable + 1 damaged |", text)
        self.assertIn(
            f"failed run {self.runs[2].key} ({self.runs[2].label}): it crashed (killed by SIGSEGV):"
            " last words",
            text,
        )
        self.assertIn(
            f"unreadable run {self.runs[4].key} ({self.runs[4].label}): Input/output error", text
        )
        self.assertIn(
            "27 of 32 runs valid (1 invalid, 1 failed, 1 not run, 1 unreadable, 1 damaged)",
            report.screen([evaluated]),
        )
        self.assertIn("without ", report.screen([evaluated]))

    def test_a_statement_counts_the_runs_of_its_own_points_alone(self):
        """The statement is about channel jakes with modulation 1, 2, 3."""
        self.assertEqual([j.lacking for j in self.evaluated().evaluations], [{}])
        for run in self.runs:
            if (
                run.spec["channel"] == "winner"
                or run.spec["emulator"]["link.modulation"] == "adaptive"
            ):
                self.store.path(run.key).unlink()
        self.assertEqual([j.lacking for j in self.evaluated().evaluations], [{}])
        lost = [
            r
            for r in self.runs
            if r.spec["channel"] == "jakes" and r.spec["emulator"]["link.modulation"] == 3
        ]
        for run in lost:
            self.store.path(run.key).unlink()
            self.store.fail(run.key, run.spec, Failure(Cause.LOST))
        self.assertEqual(
            [j.lacking for j in self.evaluated().evaluations], [{Lack.FAILED.value: 4}]
        )

    def test_an_evaluation_renames_nothing(self):
        self.spoil()
        before = self.contents()
        self.evaluated()
        self.assertEqual((self.contents(), self.store.aside.exists()), (before, False))


class Failures(unittest.TestCase):
    def test_the_cause_of_an_end_is_what_the_kernel_says_of_it(self):
        for code, more, cause, signal in (
            (1, {}, Cause.FAILED, None),
            (2, {}, Cause.REFUSED, None),
            (0, {}, Cause.NO_RESULT, None),
            (75, {}, Cause.EXHAUSTED, None),
            (-9, {}, Cause.KILLED, "SIGKILL"),
            (-9, {"memory": True}, Cause.OUT_OF_MEMORY, "SIGKILL"),
            (-11, {}, Cause.CRASHED, "SIGSEGV"),
            (-15, {"timed_out": True}, Cause.TIMED_OUT, "SIGTERM"),
            (143, {}, Cause.KILLED, "SIGTERM"),
            (139, {}, Cause.CRASHED, "SIGSEGV"),
        ):
            with self.subTest(code, **more):
                made = failure.of_exit(code, "openwip: a word", 1.5, **more)
                self.assertEqual(
                    (made.cause, made.signal, made.said), (cause, signal, "openwip: a word")
                )
                self.assertEqual(failure.of_tree(json.loads(json.dumps(made.tree()))), made)
                self.assertTrue(made.text().endswith(": a word"), made.text())

    def test_a_failed_run_never_takes_the_place_of_a_result(self):
        with World() as w:
            run, *_ = w.experiment().runs()
            w.make([run])
            self.assertFalse(w.store.fail(run.key, run.spec, Failure(Cause.LOST)))
            self.assertTrue(w.store.read(run.key).counts)
            self.assertEqual([path.name for path in w.store.runs.iterdir()], [f"{run.key}.json"])

    def test_a_file_is_whole_or_as_before_when_the_disk_is_full(self):
        with World() as w:
            path = w.path / "file"
            path.write_text("before")
            with mock.patch.object(
                os, "fsync", side_effect=OSError(errno.ENOSPC, "No space left on device")
            ):
                for write in (durable.write, durable.write_new):
                    with self.assertRaises(OSError):
                        write(path, "after")
            self.assertEqual(
                (path.read_text(), [p.name for p in w.path.glob(".file*")]), ("before", [])
            )
            self.assertFalse(durable.write_new(path, "after"))
            with mock.patch.object(
                os, "link", side_effect=PermissionError(errno.EPERM, "a file system without links")
            ):
                self.assertFalse(durable.write_new(path, "after"))
                self.assertTrue(durable.write_new(w.path / "other", "after"))
            self.assertEqual(
                (path.read_text(), (w.path / "other").read_text()), ("before", "after")
            )


class Where(unittest.TestCase):
    """Results of a command without --out."""

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.build, self.here = self.world.path / "build", self.world.path / "here"
        for folder in (self.build, self.here):
            folder.mkdir()
        self.places = world.places(self.build)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.here)

    def test_they_are_in_the_current_folder_and_never_in_the_build(self):
        self.assertEqual(
            options.default_out("quick-virtual", self.places),
            pathlib.Path("openwip-results/quick-virtual"),
        )
        os.chdir(self.build)
        with self.assertRaisesRegex(
            BadInput,
            "the current folder is in the build folder .*, which may be removed; valid: --out DIR",
        ):
            options.default_out("quick", self.places)

    def test_those_of_before_are_named_where_there_are_some(self):
        (self.build / "experiments" / "quick").mkdir(parents=True)
        with self.assertRaisesRegex(
            BadInput,
            f"an earlier release left results in {self.build}/experiments/quick, .* after mkdir -p"
            " openwip-results && mv ",
        ):
            options.default_out("quick", self.places)
        (self.here / "openwip-results" / "quick").mkdir(parents=True)
        self.assertEqual(
            options.default_out("quick", self.places), pathlib.Path("openwip-results/quick")
        )


if __name__ == "__main__":
    unittest.main()
