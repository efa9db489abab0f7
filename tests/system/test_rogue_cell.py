# SPDX-License-Identifier: GPL-3.0-or-later
"""Root starts a whole cell, which locks, is recorded and ends. During all this time a program of
the Unix user `nobody` attacks it with what that user is able to do (rogue_user.py). It takes, reads
and replaces no memory, file, socket, namespace or record of the cell, and no start fails.

The record and the capture go into a folder in which every user may make files, as /tmp
is one. OPENWIP_TEST_STARTS sets how many starts there are."""

import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

from demo_support import GENTLE, Demo, built, cells, left_of, openwip
from openwip_cli.runs import demo

HERE = pathlib.Path(__file__).resolve().parent
STARTS = int(os.environ.get("OPENWIP_TEST_STARTS", "3"))
PROGRAMS = ("air", "macd", "wip_observer", "base_station.py", "terminal.py", "openwip_cli")
RECORD, CAPTURE = "run.h5", "run.pcapng"


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "macd is not built")
class RogueBesideACell(unittest.TestCase):
    def setUp(self):
        self.cell = cells.Cell(f"r{os.getpid() % 100000}")
        self.addCleanup(openwip, "down", "--name", self.cell.name)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.shared = pathlib.Path(folder.name, "shared")
        self.shared.mkdir()
        self.shared.chmod(0o1777)
        pathlib.Path(folder.name).chmod(0o755)
        self.addCleanup(os.umask, os.umask(0o077))  # the files of the run are this user's alone

    def files_of_the_run_folder(self):
        """Relative paths in the run folder of a cell that has locked."""
        demo = Demo(self.cell.name, *GENTLE, "--keep")
        try:
            demo.wait_for("has locked")
            return sorted(str(p.relative_to(self.cell.run)) for p in self.cell.run.rglob("*"))
        finally:
            demo.close()

    def test_the_user_nobody_can_take_nothing_of_a_cell_and_its_record(self):
        inside = self.files_of_the_run_folder()
        self.assertGreater(len(inside), 10, inside)
        attacker = subprocess.Popen(
            [
                sys.executable,
                HERE / "rogue_user.py",
                self.cell.name,
                self.cell.run,
                *("--shared", self.shared),
                *("--inside", *inside),
                *("--files", RECORD, CAPTURE),
                *("--programs", *PROGRAMS),
                *("--namespaces", *self.cell.namespaces),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(attacker.communicate)
        self.addCleanup(attacker.kill)
        self.assertEqual(attacker.stdout.readline(), "begins\n")
        for start in range(STARTS):
            with self.subTest(start=start):
                # The first start and every tenth are recorded, which takes four times as long.
                written = {} if start % 10 else {"record": RECORD, "capture": CAPTURE}
                report = demo.run_workload(
                    {"air.speed": 0.5, "air.pacing_limit_ms": 1000},
                    lambda cell: None,
                    name=self.cell.name,
                    **{what: str(self.shared / name) for what, name in written.items()},
                )
                self.assertEqual(report["verdict"]["reasons"], [])
                for name in written.values():
                    about = os.lstat(self.shared / name)
                    self.assertTrue(stat.S_ISREG(about.st_mode), name)
                    self.assertEqual((about.st_uid, about.st_mode & 0o077), (0, 0), name)
                    (self.shared / name).unlink()
                self.assertEqual(left_of(self.cell), [])
        printed = attacker.communicate("", timeout=20)[0].splitlines()
        self.assertRegex(printed[-1], r"^tried [1-9]\d* times$")
        self.assertEqual(printed[:-1], [])
        # rogue_user.py plants links to this name, through which root might create a file.
        self.assertFalse(os.path.lexists("/etc/openwip-of-nobody"))


if __name__ == "__main__":
    unittest.main()
