# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner with an emulator that is a formula: resume, repetition of invalid runs, interruption."""
import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time
import unittest
from unittest import mock

import world
from world import World

from openwip_cli.errors import BadInput, CellDied
from openwip_cli.campaign import command, plan, runner


class Runs(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)

    def test_every_run_is_made_once_and_has_one_file_with_its_specification(self):
        runs = self.world.experiment().runs()
        self.assertEqual(self.world.runner().run_all(runs), (32, 0))
        self.assertEqual(len(self.world.ran()), 32)
        for run in runs:
            stored = self.world.store.get(run.key)
            self.assertEqual((stored["spec"], stored["valid"], len(stored["attempts"])), (run.spec, True, 1))
        self.assertEqual([p.name for p in self.world.store.runs.iterdir() if p.suffix != ".json"], [])

    def test_cells_that_run_at_the_same_time_have_different_names(self):
        self.world.runner(jobs=4).run_all(self.world.experiment().runs())
        names = {r["name"] for r in self.world.ran()}
        self.assertEqual(len(names), 4)
        for name in names:
            self.assertRegex(name, "^[a-z0-9]{1,12}$")

    def test_a_rerun_does_only_what_is_missing(self):
        runs = self.world.experiment().runs()
        self.world.runner().run_all(runs[:10])
        self.world.store.path(runs[3].key).write_text('{"half": ')      # as a full disk would leave it
        self.assertEqual(self.world.runner().run_all(runs), (23, 9))
        self.assertEqual(len(self.world.ran()), 33)

    def test_an_invalid_run_is_repeated_a_bounded_number_of_times_counted_and_tried_again_by_the_next_call(self):
        runs = self.world.experiment().runs()
        bad = runs[5].spec["emulator"]

        def emulate(options, workload, progress, name, cores):
            made = self.world.emulate(options, workload, progress, name, cores)
            if options == bad:
                made["verdict"] = {"valid": False, "reasons": ["pacing: bad day"]}
            return made

        work = self.world.runner(emulate=emulate)
        work.run_all(runs)
        stored = self.world.store.get(runs[5].key)
        self.assertEqual((stored["valid"], len(stored["attempts"]), work.repeated), (False, runner.ATTEMPTS, runner.ATTEMPTS))
        self.assertEqual(stored["attempts"][0]["reasons"], ["pacing: bad day"])
        self.assertEqual(self.world.runner().run_all(runs), (1, 31))
        self.assertTrue(self.world.store.get(runs[5].key)["valid"])

    def test_a_cell_that_dies_and_a_process_that_vanishes_are_invalid_attempts(self):
        marks = self.world.path

        def emulate(options, workload, progress, name, cores):
            mark = marks / f"first{options['seed']}"
            if options["link.modulation"] == 1 and not mark.exists():
                mark.write_text("")
                if options["seed"] == 1:
                    raise CellDied("emulator was killed by SIGSEGV", [("emulator", "last words")])
                os.kill(os.getpid(), signal.SIGKILL)
            return self.world.emulate(options, workload, progress, name, cores)

        runs = self.world.experiment("quick").runs()
        self.world.runner(emulate=emulate).run_all(runs)
        attempts = {r.spec["realisation"]: self.world.store.get(r.key)["attempts"] for r in runs
                    if r.spec["emulator"]["link.modulation"] == 1}
        self.assertEqual(attempts[1][0]["reasons"], ["died: emulator was killed by SIGSEGV", "emulator: last words"])
        self.assertIn("ended with -9", attempts[2][0]["reasons"][0])
        self.assertTrue(all(a[-1]["valid"] for a in attempts.values()))

    def test_bad_input_ends_everything_with_its_words(self):
        def emulate(options, workload, progress, name, cores):
            raise BadInput("--channel is 'moon'")

        with self.assertRaisesRegex(BadInput, "S1 .*--channel is 'moon'"):
            self.world.runner(emulate=emulate).run_all(self.world.experiment().runs())


class Interrupted(unittest.TestCase):
    # Runs of 0.1 s, until a signal comes; then a run takes its time to clean up, and says so in a file.
    PROGRAM = textwrap.dedent(f"""
        import sys, time, pathlib
        sys.path[:0] = [{str(pathlib.Path(__file__).parent)!r}]
        from world import World, plan, runner, result
        out, file = map(pathlib.Path, sys.argv[1:])
        store = runner.Store(out)
        def emulate(options, workload, progress, name, cores):
            mark = out / ("cell." + name)
            try:
                mark.write_text("")
                time.sleep(0.1 if options["seed"] == 1 else 60)
            finally:
                time.sleep(0.2)
                mark.unlink(missing_ok=True)
            return result()
        work = runner.Runner(store, 3, emulate, lambda spec: None, lambda text: print(text, flush=True))
        try:
            work.run_all(plan.Experiment(file, "full").runs())
        except runner.Terminated as e:
            sys.exit(int(e.signum))
        """)

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)

    def start_and_wait_for_eight_runs(self):
        p = subprocess.Popen([sys.executable, "-c", self.PROGRAM, self.world.store.out, self.world.file], stdout=subprocess.PIPE, text=True)
        self.addCleanup(p.stdout.close)
        for line in p.stdout:
            if line.startswith("8/32"):
                break
        deadline = time.monotonic() + 20
        while len(list(self.world.store.out.glob("cell.*"))) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        return p

    def cells_left(self, within=15):
        deadline = time.monotonic() + within
        while list(self.world.store.out.glob("cell.*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        return list(self.world.store.out.glob("cell.*"))

    def stopped_by(self, signum):
        p = self.start_and_wait_for_eight_runs()
        p.send_signal(signum)
        self.assertEqual(p.wait(20), int(signum))
        self.assertEqual(self.cells_left(0), [])
        self.assertEqual(len(list(self.world.store.runs.glob("*.json"))), 8)

    def test_ctrl_c_ends_the_runs_in_order_and_a_resume_finishes_the_rest(self):
        self.stopped_by(signal.SIGINT)
        self.assertEqual(self.world.runner().run_all(self.world.experiment().runs()), (24, 8))

    def test_sigterm_does_the_same(self):
        self.stopped_by(signal.SIGTERM)

    def test_when_the_runner_is_killed_its_runs_end_too(self):
        p = self.start_and_wait_for_eight_runs()
        p.kill()
        p.wait()
        self.assertEqual(self.cells_left(), [])


class Command(unittest.TestCase):
    """./openwip experiment from its arguments to its files, the emulator replaced."""

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        for name, value in (("folder", lambda top: self.world.path), ("known", lambda top: ["S1"])):
            patch = mock.patch.object(plan, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        self.out = self.world.path / "results"

    def command(self, *arguments, emulate=None):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = command.main(["S1", "--out", str(self.out), *arguments], world.places(self.world.path), emulate or self.world.emulate)
        return code, out.getvalue(), err.getvalue()

    def test_results_figure_and_table_are_written(self):
        code, out, err = self.command("--jobs", "3")
        self.assertEqual(code, 0)
        self.assertIn("32 to do", err)
        self.assertIn("statements: 1 hold, 0 do not, 0 not measured", out)
        self.assertEqual((self.out / "small.png").read_bytes()[:4], b"\x89PNG")
        rows = (self.out / "S1.csv").read_text().splitlines()
        self.assertEqual((rows[0], len(rows)), ("channel,modulation,realisation,run,metric,value", 33))
        means = (self.out / "S1.means.csv").read_text().splitlines()
        self.assertEqual(len(means), 9)
        table = json.loads((self.out / "comparison.json").read_text())["experiments"]["S1"]
        self.assertEqual((table["counts"]["valid"], table["statements"][0]["holds"]), (32, "yes"))
        self.assertIn("| S1 | 2 is best [here] | jakes: 2 (2.2", (self.out / "comparison.md").read_text())

    def test_a_folder_with_results_needs_resume_and_resume_repeats_nothing(self):
        self.command("--quick")
        with self.assertRaisesRegex(BadInput, "results are there already; --resume goes on"):
            self.command("--quick")
        code, _, err = self.command("--quick", "--resume")
        self.assertEqual((code, len(self.world.ran())), (0, 4))
        self.assertIn("4 of them finished before; 0 to do", err)

    def test_a_changed_scenario_is_refused_under_resume(self):
        self.command("--quick")
        with self.assertRaisesRegex(BadInput, "is quick, not full"):
            self.command("--resume")
        self.world.write(world.SMALL.replace("allocation: static", "allocation: best"))
        with self.assertRaisesRegex(BadInput, r"S1\.yaml or its defaults changed since"):
            self.command("--quick", "--resume")

    def test_virtual_time_makes_other_runs_and_the_two_are_not_mixed(self):
        self.command("--quick")
        with self.assertRaisesRegex(BadInput, "S1 in .* is in real time, not virtual"):
            self.command("--quick", "--resume", "--time", "virtual")
        real, virtual = (plan.Experiment(self.world.file, "quick", time).runs() for time in ("real", "virtual"))
        self.assertEqual({r.key for r in real} & {r.key for r in virtual}, set())
        self.assertEqual([r.spec | {"time": "virtual"} for r in real], [r.spec for r in virtual])

    def test_an_invalid_run_is_left_out_of_the_means_shown_and_makes_the_exit_code_1(self):
        def emulate(options, workload, progress, name, cores):
            made = self.world.emulate(options, workload, progress, name, cores)
            if options["seed"] == 4:
                made["verdict"] = {"valid": False, "reasons": ["late: 3 slots"]}
                made["workload"]["goodput_bps"] = 1e9
            return made

        code, out, _ = self.command(emulate=emulate)
        self.assertEqual(code, 1)
        self.assertIn("24 of 32 runs valid", out)
        self.assertNotIn("1000", (self.out / "S1.means.csv").read_text())


if __name__ == "__main__":
    unittest.main()
