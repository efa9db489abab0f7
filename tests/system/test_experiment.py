# SPDX-License-Identifier: GPL-3.0-or-later
"""A small experiment of one's own through the real emulator: every application, interruption,
resume. Nothing here evaluates the pace."""

import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

from demo_support import TOP, cells, environment, left_of, openwip, wait_until
from experiment_support import SMALL, built, runs_of

LONG = SMALL.replace("[tcp, voip, flows]", "tcp").replace("realisations: 1", "realisations: 4")


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "the emulator is not built")
class Experiment(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"
        self.file = self.folder / "S1.yaml"

    def arguments(self, *more):
        return ["experiment", str(self.file), "--machine-cores", "1", "--out", str(self.out), *more]

    def runs(self):
        return runs_of(self.out)

    def start_and_wait(self, finished):
        p = subprocess.Popen(
            [TOP / "openwip", *self.arguments()],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env=environment(),
        )
        self.addCleanup(p.stderr.close)
        for line in p.stderr:
            if re.search(rf" {finished}/4 ", line):
                break

        def started_cells():
            return [
                cells.Cell(d.name)
                for d in cells.RUN_ROOT.glob("x[0-9]*")
                if (d / "pids" / "emulator").exists()
            ]

        self.assertTrue(wait_until(started_cells, 20))
        return p, started_cells()

    def test_tcp_voip_and_file_transfers_with_what_each_measures(self):
        self.file.write_text(SMALL)
        done = openwip(*self.arguments())
        self.assertIn(done.returncode, (0, 1), done.stderr)
        by_kind = {r["spec"]["workload"]["kind"]: r for r in self.runs()}
        self.assertEqual(set(by_kind), {"tcp", "voip", "flows"}, done.stderr)
        for kind, run in by_kind.items():
            checks = dict(run["result"]["verdict"]["checks"])
            checks.pop("pacing")
            self.assertTrue(all(checks.values()), (kind, run["attempts"]))
        tcp, voip, flows = (by_kind[k]["result"]["workload"] for k in ("tcp", "voip", "flows"))
        self.assertGreater(tcp["goodput_bps"], 1e6)
        settings = tcp["tcp_settings"]["base"]
        self.assertIn("window 64096", settings["route"][0])
        self.assertEqual(
            (tcp["congestion_control"], settings["sysctl"]["tcp_sack"]), ("cubic", "1")
        )
        self.assertEqual((voip["sent"], voip["duplicates"]), (100, 0))
        self.assertLess(voip["loss"], 0.05)
        self.assertTrue(all(d > 10_000 for d in voip["delays_us"]))  # the wired delay
        self.assertEqual({kb: f["times"] for kb, f in flows["flows"].items()}, {"1": 3, "100": 2})
        # 2.5 round trips of a connection that takes more than the wired 20 ms.
        self.assertGreater(flows["flows"]["1"]["session_s"], 0.05)

    def test_ctrl_c_leaves_nothing_and_resume_does_the_rest(self):
        self.file.write_text(LONG)
        p, up = self.start_and_wait(finished=1)
        p.send_signal(signal.SIGINT)
        self.assertEqual(p.wait(30), 130)
        self.assertEqual([x for c in up for x in left_of(c)], [])
        before = {r["key"]: r["attempts"] for r in self.runs()}
        self.assertTrue(1 <= len(before) < 4, before)
        done = openwip(*self.arguments())
        self.assertIn(done.returncode, (0, 1), done.stderr)
        after = {r["key"]: r for r in self.runs()}
        self.assertEqual(len(after), 4)
        for key, attempts in before.items():
            if attempts[-1]["valid"]:
                self.assertEqual(after[key]["attempts"], attempts)

    def test_a_killed_experiment_leaves_nothing(self):
        self.file.write_text(LONG)
        p, up = self.start_and_wait(finished=1)
        p.kill()
        p.wait()
        self.assertTrue(
            wait_until(lambda: not [x for c in up for x in left_of(c)], 15),
            [left_of(c) for c in up],
        )

    def test_bad_input_is_one_line_and_exit_code_2(self):
        self.file.write_text(SMALL.replace("tcp, voip, flows", "ftp"))
        for arguments, pattern in (
            (self.arguments(), "workload is 'ftp'; valid: tcp|flows|voip"),
            (["experiment", "A9"], "unknown experiment A9"),
            (["experiment", "A1", "--out", "/proc/x"], "cannot be written"),
            (["campaign", "A1", "--machine-cores", "x"], "--machine-cores is 'x'"),
            (["campaign", "A1", "--profile", "slurm"], "valid: --time virtual"),
        ):
            with self.subTest(arguments):
                done = openwip(*arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(pattern, done.stderr)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
