# SPDX-License-Identifier: GPL-3.0-or-later
"""The versions that a run reports of the programs it used: each program's file is asked once."""

import os
import pathlib
import subprocess
import tempfile
import unittest
from unittest import mock

from openwip_cli.machine import places


class Version(unittest.TestCase):
    def test_asking_writes_nothing_into_the_clone(self):
        """Otherwise the index would be root's after a call with sudo."""
        with tempfile.TemporaryDirectory() as folder:

            def git(*words):
                subprocess.run(
                    ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
                    cwd=folder,
                    check=True,
                    capture_output=True,
                )

            file = pathlib.Path(folder, "file")
            file.write_text("one")
            git("init")
            git("add", "file")
            git("commit", "-m", "one")
            # the index says another time, and git would note this one
            os.utime(file, (1e9, 1e9))
            index = pathlib.Path(folder, ".git", "index")
            before = index.read_bytes()
            self.assertRegex(places.version(folder), "^[0-9a-f]{7,}$")
            places.version.cache_clear()
            file.write_text("two")
            self.assertRegex(places.version(folder), "^[0-9a-f]{7,}-dirty$")
            self.assertEqual(index.read_bytes(), before)


class KeptLine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.folder / "meter"
        self.places = places.Places(self.folder, self.folder / "build", "")
        self.places.build.mkdir()
        patch = mock.patch.dict(os.environ, {"PATH": f"{self.folder}:{os.environ['PATH']}"})
        patch.start()
        self.addCleanup(patch.stop)

    def install(self, says, code=0):
        self.program.unlink(missing_ok=True)
        self.program.write_text(
            f"#!/bin/sh\necho asked >> {self.folder}/asked\necho {says}\nexit {code}\n"
        )
        self.program.chmod(0o755)

    def line(self):
        return places.kept_line(self.places, "meter", "--version")

    def asked(self):
        return len((self.folder / "asked").read_text().split())

    def test_a_program_is_asked_once_and_again_when_it_is_another_file(self):
        self.install("meter 1.0")
        self.assertEqual([self.line(), self.line(), self.asked()], ["meter 1.0", "meter 1.0", 1])
        self.install("meter 1.1")
        self.assertEqual([self.line(), self.line(), self.asked()], ["meter 1.1", "meter 1.1", 2])

    def test_a_kept_file_that_is_damaged_is_replaced(self):
        self.install("meter 1.0")
        self.line()
        for text in ("", "[]", "{}", '{"of": 1}'):
            (self.places.build / "versions" / "meter").write_text(text)
            self.assertEqual(self.line(), "meter 1.0")
        self.assertEqual(self.asked(), 5)

    def test_a_program_that_is_absent_or_fails_is_unknown_and_not_kept(self):
        self.assertEqual(self.line(), "unknown")
        self.install("meter 1.0", code=1)
        self.assertEqual([self.line(), self.line(), self.asked()], ["unknown", "unknown", 2])

    def test_a_build_folder_that_cannot_be_written_costs_only_time(self):
        self.install("meter 1.0")
        (self.places.build / "versions").write_text("")
        self.assertEqual([self.line(), self.line(), self.asked()], ["meter 1.0", "meter 1.0", 2])


class Operand(unittest.TestCase):
    def test_a_file_that_begins_with_a_dash_is_no_option_of_a_program(self):
        for given, handed_on in (
            ("-t.h5", "./-t.h5"),
            ("--o", "./--o"),
            ("-", "-"),
            ("t.h5", "t.h5"),
            ("/-t", "/-t"),
            ("", ""),
        ):
            self.assertEqual(places.operand(given), handed_on)


if __name__ == "__main__":
    unittest.main()
