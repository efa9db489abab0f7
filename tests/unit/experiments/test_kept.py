# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures and tables of results that are gone or cannot be read any more: an evaluation leaves them
as they are and says so, and the file that cannot be read is named once."""

import contextlib
import errno
import io
import json
import os
import sqlite3
import unittest
from unittest import mock

import world
from world import World

from openwip_cli.campaign import command, experiments, report, store
from openwip_cli.campaign.archive import Archive

MADE = ("S1.csv", "S1.means.csv", "small.png", "comparison.md", "comparison.json")


class Kept(unittest.TestCase):
    """A campaign of four runs that has been evaluated."""

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.out, self.archive = self.world.store.out, self.world.store.archive.path
        for where, name, value in (
            (experiments, "folder", lambda top: self.world.path),
            (experiments, "known", lambda top, *_: ["S1"]),
            (command, "check_machine", lambda *_: None),
            (store, "WAITS_S", ()),
        ):
            patch = mock.patch.object(where, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        self.runs = self.world.experiment("quick").runs()
        self.add(self.runs)
        self.assertEqual(self.evaluate()[0], 0)
        self.before = self.files()

    def add(self, runs):
        self.world.make(runs)
        self.world.store.take_in([r.key for r in runs])
        self.world.store.archive.close()

    def files(self):
        return {name: (self.out / name).read_bytes() for name in MADE if (self.out / name).exists()}

    def call(self, *words):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = command.main(
                ["S1", "--out", str(self.out), "--quick", *words], world.places(self.world.path)
            )
        return code, out.getvalue(), err.getvalue()

    def evaluate(self):
        code, out, _ = self.call("--only-evaluate")
        return code, out

    def assert_kept(self, runs, why):
        code, out = self.evaluate()
        self.assertEqual((code, self.files()), (1, self.before))
        self.assertIn(
            f"kept           S1.csv, S1.means.csv, small.png as they were: {runs} of the runs that"
            f" they were made of {'has' if runs == 1 else 'have'} no readable result now ({why})",
            out,
        )
        self.assertIn("comparison.md and comparison.json stay as they were, too", out)
        self.assertNotIn("no figure", out)
        return out

    @contextlib.contextmanager
    def nothing_readable(self):
        fault = sqlite3.OperationalError("unable to open database file")
        with mock.patch.object(Archive, "read", side_effect=fault):
            yield

    def test_a_store_that_cannot_be_read_costs_no_figure_and_no_table(self):
        for content in (os.urandom(8192), self.archive.read_bytes()[:5000]):
            self.archive.write_bytes(content)
            out = self.assert_kept(4, "4 unreadable")
            self.assertIn("0 of 4 runs valid (4 unreadable)", out)
            self.assertEqual(out.count(f"{self.archive} cannot be read: SQLite says: "), 1)
            self.assertIn("; nothing is known of 4 runs\n", out)
            self.assertNotIn("unreadable run ", out)
        with self.nothing_readable():
            self.assert_kept(4, "4 unreadable")

    def test_a_store_that_is_gone_or_empty_costs_none_either(self):
        self.archive.write_bytes(b"")
        self.assert_kept(4, "4 not run")
        self.archive.unlink()
        self.assert_kept(4, "4 not run")
        self.assertFalse(self.archive.exists())

    def test_one_run_of_several_that_cannot_be_read_any_more_is_enough(self):
        key, plain = self.runs[1].key, Archive.read

        def fail():
            raise sqlite3.DatabaseError("disk I/O error")

        for found, why in (
            (fail, "unreadable"),
            (lambda: b"changed", "damaged"),
            (lambda: None, "not run"),
        ):
            with mock.patch.object(
                Archive, "read", lambda a, asked, f=found: f() if asked == key else plain(a, asked)
            ):
                out = self.assert_kept(1, f"1 {why}")
                self.assertIn("; move them away to have new ones of the runs that are left\n", out)

    def test_a_campaign_whose_store_cannot_be_read_keeps_them_and_names_the_store_once(self):
        self.archive.write_bytes(b"no database at all" * 100)
        code, _, err = self.call()
        self.assertEqual((code, self.files()), (1, self.before))
        self.assertEqual(err.count(f"{self.archive} cannot be used: SQLite says: "), 1)
        self.assertIn(". It stays as it is, and 4 runs are not made again; the same command", err)
        self.assertNotIn(str(self.world.store.runs), err)

    def test_without_the_table_nobody_knows_their_runs_and_they_stay(self):
        (self.out / "S1.csv").unlink()
        self.before = self.files()
        for spoil in (lambda: self.archive.write_bytes(b"x" * 9000), self.archive.unlink):
            spoil()
            code, out = self.evaluate()
            self.assertEqual((code, self.files()), (1, self.before))
            self.assertIn("kept           S1.means.csv, small.png as they were: 4 of the plan", out)

    def test_they_are_made_anew_when_all_their_runs_can_be_read_again_or_they_are_moved_away(self):
        for name in ("S1.means.csv", "small.png", "comparison.md"):
            (self.out / name).write_text("of before")
        spoilt = self.files()
        with self.nothing_readable():
            self.assertEqual((self.evaluate()[0], self.files()), (1, spoilt))
        code, out = self.evaluate()
        self.assertEqual((code, self.files()), (0, self.before))
        self.assertNotIn("kept ", out)
        for name in MADE:
            (self.out / name).unlink()
        with self.nothing_readable():
            self.assertIn("no figure      small: no valid run", self.evaluate()[1])
        self.assertEqual(len((self.out / "S1.csv").read_text().splitlines()), 1)
        self.assertEqual((self.evaluate()[0], self.files()), (0, self.before))

    def test_a_run_that_never_was_in_them_keeps_none_back(self):
        """The figures of a campaign go on while one of its runs cannot be read."""
        for name in MADE:
            (self.out / name).unlink()
        key, plain = self.runs[3].key, Archive.read
        known = {r.key for r in self.runs[:1]}

        def read(archive, asked):
            if asked == key:
                raise sqlite3.DatabaseError("disk I/O error")
            return plain(archive, asked) if asked in known else None

        with mock.patch.object(Archive, "read", read):
            for n in (1, 3):
                known |= {r.key for r in self.runs[:n]}
                code, out = self.evaluate()
                self.assertEqual((code, "kept " in out), (1, False))
                self.assertEqual(report.runs_in_table(self.out / "S1.csv"), known)
                tree = json.loads((self.out / "comparison.json").read_text())
                self.assertEqual(tree["experiments"]["S1"]["counts"]["valid"], n)

    def test_a_plan_without_runs_has_none_to_keep(self):
        for name in MADE:
            (self.out / name).unlink()
        self.archive.unlink()
        for _ in range(2):
            code, out = self.evaluate()
            self.assertEqual((code, "kept " in out), (1, False))
            self.assertIn("no figure      small: no valid run of these points", out)
            self.assertEqual(set(self.files()), set(MADE) - {"small.png"})

    def test_a_figure_stays_if_the_store_fails_while_it_is_drawn(self):
        self.world.write(
            world.SMALL.replace(
                "kind: bars, x: modulation, series: channel, metric: goodput_mbps",
                "kind: cdf, series: modulation, range_ms: [0, 40]",
            )
        )
        (self.out / "plan.json").unlink(missing_ok=True)
        plain, asked = Archive.read, []

        def read(archive, key):
            asked.append(key)
            if len(asked) > len(self.runs):
                raise sqlite3.OperationalError("disk I/O error")
            return plain(archive, key)

        with mock.patch.object(Archive, "read", read):
            code, out = self.evaluate()
        self.assertEqual((self.out / "small.png").read_bytes(), self.before["small.png"])
        self.assertIn("no figure      small: run ", out)

    def test_a_result_that_does_not_arrive_is_named_as_what_did_not_arrive(self):
        self.archive.unlink()
        progress, keys = self.world.progress("quick"), [r.key for r in self.runs]
        for _ in range(2):
            progress.settle(keys[:1])
        path = self.world.store.path(keys[0])
        self.assertIn(
            f"{path} did not arrive in two rounds, and its run is not made again; the same command"
            " looks at it again",
            self.world.output,
        )

    def test_what_is_no_table_of_runs_says_so(self):
        path = self.out / "other.csv"
        for content in (b"", b"a,b\n1,2\n", b"\xff\xfe"):
            path.write_bytes(content)
            self.assertIsNone(report.runs_in_table(path))
        path.unlink()
        self.assertIsNone(report.runs_in_table(path))
        os.mkfifo(path)
        self.assertIsNone(report.runs_in_table(path))

    def test_a_store_of_which_not_even_the_existence_is_known_is_unreadable_and_none_is_made(self):
        self.archive.unlink()
        fault = OSError(errno.EIO, os.strerror(errno.EIO))
        with mock.patch.object(type(self.archive), "stat", side_effect=fault):
            found = self.world.store.read(self.runs[0].key)
        self.assertEqual((found.state, found.shared), (store.State.UNREADABLE, self.archive))
        self.assertFalse(self.archive.exists())


if __name__ == "__main__":
    unittest.main()
