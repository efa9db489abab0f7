# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip down where there is no cell but something of one. Real cells:
tests/system/test_cli_supervisor.py."""

import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from openwip_cli.cell import cell as cells
from openwip_cli.commands import commands

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


if __name__ == "__main__":
    unittest.main()
