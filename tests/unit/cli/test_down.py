# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip down where there is no cell but something of one. Real cells:
tests/system/test_cli_supervisor.py."""

import contextlib
import fcntl
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

from openwip_cli.cell import cell as cells
from openwip_cli.cell import running, session
from openwip_cli.commands import commands
from openwip_cli.errors import BadInput

KILLED = """
import os, pathlib, signal, sys
from openwip_cli.cell import cell as cells
cells.RUN_ROOT = pathlib.Path(sys.argv[1])
cells.Cell("leftx").acquire()
os.kill(os.getpid(), signal.SIGKILL)
"""


class Down(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "openwip"
        patch = mock.patch.multiple(cells, RUN_ROOT=self.root)
        patch.start()
        self.addCleanup(patch.stop)
        self.run_folder = self.root / "leftx"

    def killed(self):
        """A launcher that is killed as soon as the run directory is there."""
        done = subprocess.run([sys.executable, "-c", KILLED, self.root], env=os.environ)
        self.assertEqual((done.returncode, list(self.run_folder.iterdir())), (-9, []))

    def said(self, *words):
        printed = io.StringIO()
        with (
            mock.patch.object(commands.rights, "require_for_a_cell"),
            contextlib.redirect_stdout(printed),
        ):
            self.assertEqual(commands.down([*words], None), 0)
        return printed.getvalue()

    def test_an_empty_run_directory_is_named_as_what_was_removed(self):
        for words in (("--name", "leftx"), ("--all",)):
            self.killed()
            self.assertIn(
                f"removed what was left of cell 'leftx': directory {self.run_folder}\n",
                self.said(*words),
            )
            self.assertFalse(self.run_folder.exists())
        self.assertEqual(self.said("--name", "leftx"), "nothing is up, nothing was left\n")

    def test_the_next_start_takes_an_empty_run_directory_over(self):
        self.killed()
        cell = cells.Cell("leftx")
        self.assertTrue(cell.acquire())
        self.addCleanup(cell.release)
        self.assertEqual((cell.leftovers(), cell.owns_directory()), ([], True))

    def begin(self, name):
        """The first step of a start of this cell; the lines that it prints."""
        cell, printed = cells.Cell(name), []
        self.addCleanup(cell.release)
        session.take_over(cell, printed.append)
        self.assertTrue(cell.owns_directory())
        return printed

    def test_the_next_start_of_another_cell_removes_an_empty_run_directory(self):
        for folders in ([], ["pids"]):  # as far as the killed launcher has come
            self.killed()
            for folder in folders:
                (self.run_folder / folder).mkdir()
            self.assertEqual(self.begin("other"), [])
            self.assertEqual([d.name for d in self.root.iterdir()], ["other"])
            cells.Cell("other").run.rmdir()

    def test_status_removes_an_empty_run_directory(self):
        for name in ("leftx", "other"):
            self.killed()
            with (
                mock.patch.object(running.system, "require_root"),
                self.assertRaisesRegex(BadInput, f"^no cell is up that is called {name}: [^,]*$"),
            ):
                running.running_cell(name)
            self.assertFalse(self.root.exists())

    def test_a_directory_with_an_owner_or_with_anything_in_it_stays(self):
        owner = cells.Cell("owned")
        self.assertTrue(owner.acquire())
        self.addCleanup(owner.release)
        (self.root / "killed/pids").mkdir(parents=True)
        (self.root / "killed/pids/macd").write_text("1 1")
        self.assertEqual(cells.up(), ["owned"])
        self.assertEqual(sorted(d.name for d in self.root.iterdir()), ["killed", "owned"])
        self.assertTrue((self.root / "killed/pids/macd").exists())

    def test_a_start_waits_for_a_command_that_looks_at_the_directory(self):
        """Such a command has the lock for a moment."""
        self.root.mkdir()
        self.run_folder.mkdir()
        looks = os.open(self.run_folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(looks, fcntl.LOCK_SH)
        ends = threading.Timer(0.06, os.close, [looks])
        ends.start()
        self.addCleanup(ends.join)
        self.assertEqual(self.begin("leftx"), [])

    def test_a_cell_that_is_up_is_not_taken(self):
        owner = cells.Cell("leftx")
        self.assertTrue(owner.acquire())
        self.addCleanup(owner.release)
        with self.assertRaisesRegex(BadInput, "a cell 'leftx' is already up: run ./openwip down"):
            self.begin("leftx")


if __name__ == "__main__":
    unittest.main()
