#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Experiments A1 to C2 in virtual time, small size, some minutes on two cores: a tier of its own, `./openwip test -C chapter6 -R chapter6`
(docs/develop.md). The same seed gives the same packets, so what comes of each statement is known: a change of
link or TCP that moves one shows here, and changes the list below. Nothing is judged by the wall clock."""
import json
import os
import pathlib
import tempfile
import unittest

from demo_support import environment, openwip

BUILD = pathlib.Path(environment()["OPENWIP_BUILD"])
MISSING = [words for part, words in (("virtual-time/linux", "no Linux kernel for virtual time: ./openwip setup --virtual-time"),
                                     ("campaigns/bin/snakemake", "no Snakemake: ./openwip setup --campaigns"),
                                     ("host/emulator/wip_emulator", "the emulator is not built")) if not (BUILD / part).exists()]
# Statements of the text that do not hold at this size.
NOT_SEEN = {"A1 asymptote", "A1 doubling", "A2 distribution", "A3 table-0.1", "A3 crossing", "A4 frames", "B2 falling", "B2 flat-64k",
            "B2 falling-64k", "C2 three-ms"}


@unittest.skipIf(MISSING, "; ".join(MISSING))
class Chapter6(unittest.TestCase):
    def test_every_run_is_valid_and_every_statement_comes_out_as_it_did(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.environ.get("OPENWIP_CHAPTER6", folder)    # a folder that stays: the same command goes on there
            done = openwip("experiment", "chapter6", "--time", "virtual", "--quick", "--out", out, timeout=3600)
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            experiments = json.loads(pathlib.Path(out, "comparison.json").read_text())["experiments"]
        self.assertEqual(list(experiments), ["A1", "A2", "A3", "A4", "A5", "B1", "B2", "B3", "B4", "C1", "C2"])
        holds = {f"{name} {s['id']}": s["holds"] for name, e in experiments.items() for s in e["statements"]}
        self.assertEqual([name for name, held in holds.items() if held == "not measured"], [])
        self.assertEqual({name for name, held in holds.items() if not held.startswith("yes")}, NOT_SEEN)


if __name__ == "__main__":
    unittest.main()
