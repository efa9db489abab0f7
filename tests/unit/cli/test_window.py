# SPDX-License-Identifier: GPL-3.0-or-later
"""demo --monitor: whatever keeps the window from opening is one line, and nothing waits for it."""

import os
import pathlib
import stat
import tempfile
import unittest
from unittest import mock

from openwip_cli.cell import window


class Window(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.messages = []

    def program(self, script):
        path = pathlib.Path(self.folder.name) / window.PROGRAM
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def open(self, **environment):
        with mock.patch.dict(os.environ, environment):
            return window.open_for("cell7", self.folder.name, self.messages.append)

    def test_a_build_without_the_monitor_is_said(self):
        self.assertIsNone(self.open(DISPLAY=":1"))
        self.assertIn("not part of this build", self.messages[0])
        self.assertIn("the run goes on", self.messages[0])

    def test_no_display_is_said(self):
        self.program("exit 0")
        self.assertIsNone(self.open(DISPLAY="", WAYLAND_DISPLAY="", QT_QPA_PLATFORM=""))
        self.assertIn("DISPLAY is not set", self.messages[0])

    def test_what_a_window_that_cannot_open_says_is_passed_on(self):
        self.program("echo 'openwip monitor: no window can be opened: no such display' >&2; exit 2")
        self.assertIsNone(self.open(DISPLAY=":99999"))
        self.assertIn("no such display", self.messages[0])

    def test_a_window_that_opens_is_told_the_cell_and_has_a_session_of_its_own(self):
        self.program(f'echo "$@" > {self.folder.name}/arguments; exec sleep 30')
        process = self.open(DISPLAY=":1")
        try:
            self.assertEqual(os.getsid(process.pid), process.pid)
            self.assertEqual(
                (pathlib.Path(self.folder.name) / "arguments").read_text().split(),
                ["--name", "cell7"],
            )
            self.assertIn("stays open", self.messages[0])
        finally:
            process.kill()
            process.wait()


if __name__ == "__main__":
    unittest.main()
