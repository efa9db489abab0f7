# SPDX-License-Identifier: GPL-3.0-or-later
"""A tier of statements: experiments in virtual time, small size. The same seed gives the same
packets, so what comes of each statement is known: a change of link or TCP that moves one shows
here, and changes the list of the test. Nothing is evaluated by the wall clock."""

import json
import os
import pathlib
import tempfile
import unittest

from demo_support import environment, openwip

BUILD = pathlib.Path(environment()["OPENWIP_BUILD"])
MISSING = [
    words
    for part, words in (
        ("virtual-time/linux", "no Linux kernel for virtual time: ./openwip setup --virtual-time"),
        ("host/emulator/wip_emulator", "the emulator is not built"),
    )
    if not (BUILD / part).exists()
]


@unittest.skipIf(MISSING, "; ".join(MISSING))
class Statements(unittest.TestCase):
    NAMES = ["chapter6"]  # names of experiments, or of a set of them
    RUN = ["A1", "A2", "A3", "A4", "A5", "B1", "B2", "B3", "B4", "C1", "C2"]
    # Environment variable: a folder that is kept, so that the same command continues there.
    KEEP = "OPENWIP_CHAPTER6"
    NOT_SEEN: set[str] = set()  # statements that do not hold at this size
    NOT_MEASURED: set[str] = set()

    def test_every_run_is_valid_and_every_statement_comes_out_as_it_did(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.environ.get(self.KEEP, folder)
            done = openwip(
                "experiment",
                *self.NAMES,
                "--time",
                "virtual",
                "--quick",
                "--out",
                out,
                timeout=3600,
            )
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            experiments = json.loads(pathlib.Path(out, "comparison.json").read_text())[
                "experiments"
            ]
        self.assertEqual(list(experiments), self.RUN)
        holds = {
            f"{name} {s['id']}": s["holds"]
            for name, e in experiments.items()
            for s in e["statements"]
        }
        self.assertEqual(
            {name for name, held in holds.items() if held == "not measured"}, self.NOT_MEASURED
        )
        self.assertEqual(
            {name for name, held in holds.items() if held in ("no", "no (not sure)")},
            self.NOT_SEEN,
        )
