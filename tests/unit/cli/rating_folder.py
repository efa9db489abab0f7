# SPDX-License-Identifier: GPL-3.0-or-later
"""A study of ratings in a folder of its own, for the tests of ./openwip ratings."""

import contextlib
import io
import pathlib
import tempfile
import unittest

from openwip_cli.errors import BadInput
from openwip_cli.machine.places import Places
from openwip_cli.ratings import (
    cases,
    command,
    session,
    study,
)

TOP = pathlib.Path(__file__).resolve().parents[3]
PLACES = Places(TOP, TOP / "build", "python3")
NAMES = {case.name for task in cases.TASKS for case in cases.cases_of(task)}


class Folder(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = str(pathlib.Path(kept.name, "study"))

    def openwip(self, *arguments):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            code = command.main(list(arguments), PLACES)
        self.assertEqual(code, 0)
        return out.getvalue()

    def refused(self, *arguments):
        with self.assertRaises(BadInput) as raised:
            command.main(list(arguments), PLACES)
        return str(raised.exception)

    def made(self, subjects=2, dcr=0, tasks=cases.TASKS, seed=7):
        return study.make(self.folder, subjects, dcr, tuple(tasks), seed)

    def held(self, made, subject, person, **more):
        session.Session(
            made, subject, PLACES, lambda text: None, dry=True, look=person.check, **more
        ).carry_out("127.0.0.1", 0, person)
        person.check()
        return made.lines(subject)
