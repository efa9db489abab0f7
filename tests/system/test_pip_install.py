# SPDX-License-Identifier: GPL-3.0-or-later
"""`pip install .` into an environment of its own, of what is built already: the build backend
(cmake/pip/openwip_wheel.py) needs no other package and no network."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "unit" / "cli"))

from recording import RecordWorld

BUILD = pathlib.Path(os.environ["OPENWIP_BUILD"])
PYTHON = os.environ["OPENWIP_PYTHON"]
VERSION = (TOP / "VERSION").read_text().strip()
PIP = ("install", "-q", "--no-deps", "--no-build-isolation", "--no-index")
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def run(*command, **more):
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=580,
        cwd="/",
        **more,
    )


class PipInstall(RecordWorld):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.environment = pathlib.Path(folder.name, "environment")
        made = run(PYTHON, "-m", "venv", "--system-site-packages", cls.environment)
        if made.returncode:
            raise unittest.SkipTest(f"no environment: {made.stdout}{made.stderr}")
        done = cls.pip(*PIP, "--config-settings", f"build-dir={BUILD}", TOP)
        if done.returncode:
            raise AssertionError(f"pip install failed:\n{done.stderr[-3000:]}")

    @classmethod
    def pip(cls, *words):
        return run(cls.environment / "bin" / "pip", *words)

    def python(self, text, *words):
        return run(self.environment / "bin" / "python", "-c", text, *words, env={"PATH": PATH})

    def test_the_command_runs_there(self):
        done = run(self.environment / "bin" / "openwip", "--version", env={"PATH": PATH})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"openwip {VERSION} (", done.stdout)

    def test_a_record_is_opened_there(self):
        self.give("slot", slot=1500, slot_sample={"snr_db": [1.0] * 25})
        self.finish(seed=7)
        done = self.python(
            "import openwip, sys\n"
            "with openwip.open_record(sys.argv[1]) as record:\n"
            "    print(openwip.__file__, record.about['seed'], record.tables())",
            self.path,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith(str(self.environment)), done.stdout)
        self.assertIn(" 7 [('slot', 'base')]", done.stdout)

    def test_the_blocks_are_modules_there(self):
        done = self.python("import gnuradio.wip; print(gnuradio.wip.__file__)")
        self.assertTrue(done.stdout.startswith(str(self.environment)), done)

    def test_pip_knows_all_files_and_its_version_is_pythons_form_of_the_version(self):
        done = self.pip("show", "--files", "openwip")
        self.assertIn(f"Version: {VERSION.replace('-rc.', 'rc')}\n", done.stdout)
        for name in ("bin/openwip", "share/openwip/openwip", "openwip.pth"):
            self.assertIn(name + "\n", done.stdout)

    def test_a_folder_that_is_not_built_and_a_key_that_is_none_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            for given, why in (
                (f"build-dir={folder}", "valid: a folder that CMake has built"),
                ("build-dri=build", "unknown key build-dri; valid: build-dir=FOLDER"),
            ):
                done = self.pip(*PIP, "--config-settings", given, "--target", folder, TOP)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(why, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
