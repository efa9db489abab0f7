# SPDX-License-Identifier: GPL-3.0-or-later
"""The database of a campaign's results: rows are added and never changed, a changed byte is seen, a
folder made before there was a database is converted, and a file system that gives errors costs no
result."""

import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import world
from world import World

from openwip_cli.campaign import archive, metrics, plan, runner, store
from openwip_cli.campaign.store import State
from openwip_cli.errors import BadInput
from openwip_cli.runs.failure import Cause, Failure

SUPPORT = world.TOP / "tests" / "support"
# Adds the files of a folder to its database until none is left, on a file system that stumbles.
ADDING = f"""
import os, pathlib, sys
sys.path[:0] = [{str(world.TOP / "host" / "cli")!r}]
from openwip_cli.campaign import store
store.WAITS_S = ()
kept = store.Store(pathlib.Path(sys.argv[1]))
for _ in range(400):
    try:
        left = kept.arrivals()
    except OSError:
        continue
    if not left:
        break
    for key in left:
        print(kept.take_in([key]))
"""


class Rows(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.store, self.runs = self.world.store, self.world.experiment().runs()
        self.world.make(self.runs)
        self.texts = {r.key: self.store.path(r.key).read_text() for r in self.runs}

    def take_in(self):
        self.assertEqual(self.store.take_in(self.store.arrivals()), len(self.runs))

    def raw(self, statement, *values):
        with sqlite3.connect(self.store.archive.path) as connection:
            return connection.execute(statement, values).fetchall()

    def progress(self):
        e = self.world.experiment()
        return runner.Progress(self.store, [e], plan.unique_runs([e]), self.world.output.append)

    def test_a_folder_of_before_is_converted_with_every_byte_of_every_result(self):
        before = metrics.Results(self.world.experiment(), self.store.read)
        self.take_in()
        self.assertEqual(self.store.arrivals(), [])
        self.assertEqual({k: self.store.archive.read(k) for k in self.texts}, self.texts)
        self.assertEqual(dict(self.raw("SELECT key, run FROM results")), self.texts)
        after = metrics.Results(self.world.experiment(), self.store.read)
        self.assertEqual((after.kept, after.runs), (before.kept, before.runs))
        self.assertEqual(self.progress().next(99), [])

    def test_rows_are_neither_changed_nor_deleted(self):
        self.take_in()
        for statement in ("DELETE FROM results", "UPDATE results SET valid = 0"):
            with self.assertRaisesRegex(sqlite3.IntegrityError, "added and never"):
                self.raw(statement)
        self.assertEqual(dict(self.raw("SELECT key, run FROM results")), self.texts)

    def test_of_several_results_a_valid_one_counts_and_else_the_newest(self):
        run, *_ = self.runs
        whole = self.store.path(run.key).read_text()
        for cause in (Cause.KILLED, Cause.LOST):
            self.store.path(run.key).unlink()
            self.store.fail(run.key, run.spec, Failure(cause))
            self.assertEqual(self.store.take_in([run.key]), 1)
            self.assertEqual(self.store.read(run.key).failure.cause, cause)
            self.store.path(run.key).write_text(whole)
        self.store.take_in([run.key])
        self.store.fail(run.key, run.spec, Failure(Cause.KILLED))
        self.store.take_in([run.key])
        self.assertTrue(self.store.read(run.key).counts)
        self.assertEqual(
            self.raw("SELECT cause FROM results WHERE key = ? ORDER BY id", run.key),
            [("killed",), ("lost",), (None,), ("killed",)],
        )

    def test_a_byte_that_changed_on_the_disk_is_seen_and_only_that_run_is_made_again(self):
        self.take_in()
        self.store.archive.close()
        run = self.runs[5]
        path = self.store.archive.path
        content = bytearray(path.read_bytes())
        at = content.index(self.texts[run.key].encode()[:200])
        content[at + 150] ^= 1
        path.write_bytes(content)
        self.assertEqual(self.store.read(run.key).state, State.INVALID)
        progress = self.progress()
        self.assertEqual([r.key for r in progress.next(99)], [run.key])
        self.assertIn("its bytes in the store changed. It stays", "\n".join(self.world.output))
        self.world.make([run])
        progress.take(run.key)
        self.assertEqual(self.store.read(run.key).run["key"], run.key)
        self.assertEqual(len(self.raw("SELECT id FROM results")), len(self.runs) + 1)

    def test_what_is_no_database_is_left_as_it_is_and_no_run_is_made(self):
        self.take_in()
        self.store.archive.close()
        for content in (b"no database at all" * 100, self.store.archive.path.read_bytes()[:5000]):
            self.store.archive.path.write_bytes(content)
            with mock.patch.object(store, "WAITS_S", ()):
                self.assertEqual(self.progress().next(99), [])
            self.assertEqual(self.store.archive.path.read_bytes(), content)
            self.assertIn("SQLite says: ", "\n".join(self.world.output))
            self.store.archive.close()

    def test_a_store_of_a_later_format_is_refused(self):
        self.take_in()
        self.store.archive.close()
        self.raw("PRAGMA user_version = 7")
        with self.assertRaisesRegex(
            BadInput,
            "holds results in format version 7, and this release of OpenWIP reads version 1",
        ):
            self.store.read(self.runs[0].key)

    def test_a_file_whose_row_does_not_read_back_the_same_stays(self):
        with mock.patch.object(archive.Archive, "add", lambda self, rows: []):
            self.assertEqual(self.store.take_in(self.store.arrivals()), 0)
        with mock.patch.object(archive.Archive, "add", side_effect=sqlite3.OperationalError):
            self.assertEqual(self.store.take_in(self.store.arrivals()), 0)
        self.assertEqual(self.store.arrivals(), sorted(self.texts))

    def test_the_realisations_of_a_point_have_the_keys_of_their_specifications(self):
        for run in self.runs:
            self.assertEqual(
                (plan.digest(run.spec), run.realisation), (run.key, run.spec["realisation"])
            )


@unittest.skipUnless(shutil.which("cc"), "no C compiler")
class Stumbling(unittest.TestCase):
    """One in twenty calls of the file system fails, those of SQLite among them: most additions."""

    def test_every_result_is_in_a_file_or_in_the_database_and_at_last_all_are_in_the_database(self):
        with World() as w, tempfile.TemporaryDirectory() as folder:
            library = pathlib.Path(folder, "failing_files.so")
            subprocess.run(
                ["cc", "-shared", "-fPIC", "-o", library, SUPPORT / "failing_files.c", "-ldl"],
                check=True,
            )
            runs = w.experiment().runs()
            w.make(runs)
            whole = {r.key: w.store.read(r.key).run for r in runs}
            added = []
            for seed in range(40):
                added += subprocess.run(
                    [sys.executable, "-B", "-c", ADDING, w.store.out],
                    env=os.environ
                    | {
                        "LD_PRELOAD": str(library),
                        "FAILING_FOLDER": str(w.store.out.resolve()),
                        "FAILING_ONE_IN": "20",
                        "FAILING_SEED": str(seed),
                    },
                    capture_output=True,
                    text=True,
                ).stdout.split()
                # Without errors every result exists, either as a file or as a row.
                w.store.archive.close()
                self.assertEqual({r.key: w.store.read(r.key).run for r in runs}, whole)
                if not w.store.arrivals():
                    break
            self.assertEqual((w.store.arrivals(), added.count("1")), ([], len(runs)))
            self.assertGreater(added.count("0"), len(runs))
            with sqlite3.connect(w.store.archive.path) as connection:
                self.assertEqual(connection.execute("PRAGMA integrity_check").fetchall(), [("ok",)])


if __name__ == "__main__":
    unittest.main()
