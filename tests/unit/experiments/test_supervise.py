# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that supervises a run of a campaign (runs/supervise.py), with real runs that end in
every way: whatever happens to one there is a result that says so, and none that is there is
replaced."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from world import TOP

from openwip_cli.runs import failure, pool
from openwip_cli.runs.failure import Cause

# A run: SPEC is a Python program that is given OUT.
RUN = (
    "import json, sys; program, out = json.load(open(sys.argv[1]))['program'], sys.argv[2];"
    " exec(program)"
)


def wait_until(true, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not true():
        time.sleep(0.02)
    return true()


class Supervise(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("specs", "runs"):
            (self.folder / name).mkdir()
        self.out, self.tries = self.folder / "runs" / "1a.json", self.folder / "tries"

    def start(self, program, limit_s=60.0):
        spec = {"program": f"open({str(self.tries)!r}, 'a').write('x')\n{program}"}
        (self.folder / "specs" / "1a.json").write_text(json.dumps(spec))
        (self.folder / "run.py").write_text(RUN)
        started = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "openwip_cli",
                "supervise",
                self.folder,
                "--run",
                f"{sys.executable} {self.folder}/run.py",
                "--limit-s",
                str(limit_s),
                "--key",
                "1a",
                "--ended",
                self.folder / "ended" / "1a",
                "--with-parent",
                str(os.getpid()),
            ],
            env=os.environ | {"PYTHONPATH": str(TOP / "host" / "cli")},
        )
        self.addCleanup(started.wait)
        self.addCleanup(started.kill)
        return started

    def run_of(self, program, **more):
        """The file that is there after it, and how often it was tried."""
        self.assertEqual(self.start(program, **more).wait(60), 0)
        self.assertTrue((self.folder / "ended" / "1a").exists())
        return json.loads(self.out.read_text()), len(self.tries.read_text())

    def failure_of(self, program, **more):
        run, tries = self.run_of(program, **more)
        self.assertEqual(
            (run["key"], run["valid"], run["result"], len(run["attempts"])),
            ("1a", False, None, tries),
        )
        self.assertIn("program", run["spec"])
        return failure.of_tree(run["failure"]), tries

    def test_a_run_that_leaves_a_result_is_left_alone(self):
        self.assertEqual(self.run_of("open(out, 'w').write('{}')"), ({}, 1))
        self.assertEqual([path.name for path in (self.folder / "runs").iterdir()], ["1a.json"])

    def test_a_run_that_is_refused_or_fails_is_a_result_with_its_last_words_and_is_tried_once(self):
        for code, cause in ((2, Cause.REFUSED), (1, Cause.FAILED)):
            made, tries = self.failure_of(
                "print('first', file=sys.stderr); print('openwip: no moon', file=sys.stderr);"
                f" sys.exit({code})"
            )
            self.assertEqual(
                (made.cause, made.exit_code, made.said, tries), (cause, code, "openwip: no moon", 1)
            )
            self.out.unlink()
            self.tries.unlink()

    def test_a_run_that_says_it_is_done_and_left_nothing_is_none(self):
        self.assertEqual(self.failure_of("pass")[0].cause, Cause.NO_RESULT)

    def test_a_run_that_crashes_is_tried_once_and_one_that_is_killed_three_times(self):
        made, tries = self.failure_of("import os; os.kill(os.getpid(), 11)")
        self.assertEqual((made.cause, made.signal, tries), (Cause.CRASHED, "SIGSEGV", 1))
        self.out.unlink()
        self.tries.unlink()
        made, tries = self.failure_of("import os; os.kill(os.getpid(), 9)")
        self.assertEqual((made.cause, made.signal, tries), (Cause.KILLED, "SIGKILL", 3))

    def test_a_run_that_is_killed_once_has_its_result_all_the_same(self):
        self.assertEqual(
            self.run_of(
                f"import os\nif os.path.getsize({str(self.tries)!r}) < 2: os.kill(os.getpid(),"
                " 9)\nopen(out, 'w').write('{}')"
            ),
            ({}, 2),
        )

    def test_a_run_that_takes_too_long_is_ended(self):
        made, tries = self.failure_of("import time; time.sleep(600)", limit_s=0.5)
        self.assertEqual((made.cause, tries), (Cause.TIMED_OUT, 1))
        self.assertLess(made.seconds, 30)

    def test_a_run_killed_after_its_result_was_written_keeps_it(self):
        self.assertEqual(
            self.run_of("import os; open(out, 'w').write('{}'); os.kill(os.getpid(), 9)"), ({}, 1)
        )

    def test_what_is_there_before_is_not_made_again_nor_replaced(self):
        self.out.mkdir()
        self.tries.write_text("")
        self.assertEqual(self.start("sys.exit(1)").wait(60), 0)
        self.assertTrue(self.out.is_dir())
        self.assertEqual(self.tries.read_text(), "")

    def test_a_campaign_that_is_stopped_makes_no_failed_run_and_leaves_no_process(self):
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            self.tries.unlink(missing_ok=True)
            started = self.start(
                "import os, time; f = open(out + '.pid', 'w'); f.write(str(os.getpid()));"
                " f.close(); time.sleep(600)"
            )
            # The run is told to write beside its result, which gets its name at the end.
            pid = self.out.with_suffix(f"{pool.MADE}.pid")
            self.assertTrue(wait_until(lambda: pid.exists() and pid.read_text()))
            started.send_signal(signum)
            self.assertEqual(started.wait(30), -9 if signum == signal.SIGKILL else 128 + signum)
            self.assertTrue(wait_until(lambda: not pathlib.Path("/proc", pid.read_text()).exists()))
            self.assertFalse(self.out.exists())
            pid.unlink()


if __name__ == "__main__":
    unittest.main()
