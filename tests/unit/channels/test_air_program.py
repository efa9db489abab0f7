# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of the medium: that of the others, and what is wrong in one line with exit code
2."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "host" / "cli"))

from openwip_cli.machine import media

AIR = pathlib.Path(os.environ["OPENWIP_BUILD"]) / "host/medium/air"


class CommandLine(unittest.TestCase):
    def run_it(self, *arguments):
        return subprocess.run([AIR, *arguments], capture_output=True, text=True, timeout=30)

    def test_what_is_wrong_is_one_line(self):
        for arguments, words in (
            ([], "air.name is missing"),
            (["--config"], "--config: 1 required FILE missing"),
            (["--speed", "2"], "--speed"),
            (["--config", "a", "b"], ": b"),
            (["--config", "/nowhere.yaml"], "/nowhere.yaml"),
        ):
            with self.subTest(arguments):
                done = self.run_it(*arguments)
                self.assertEqual(
                    (done.returncode, done.stderr.count("\n"), done.stdout), (2, 1, ""), done.stderr
                )
                self.assertIn(words, done.stderr)

    def test_a_configuration_is_checked_and_nothing_made_of_it(self):
        name = f"check{os.getpid()}"
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            for more, code, words in (
                ("", 0, ""),
                (", channel: none.h5", 2, "none.h5"),
                (", channel: moon", 2, "moon"),
            ):
                with self.subTest(more):
                    f.seek(0)
                    f.truncate()
                    f.write(
                        f"air: {{name: {name}}}\nnodes: {{a: {{}}, b: {{noise_dbfs: -40}}}}\npaths:"
                        f" [{{from: a, to: b{more}}}]\n"
                    )
                    f.flush()
                    done = self.run_it("--config", f.name, "--check")
                    self.assertEqual(
                        (done.returncode, done.stderr.count("\n"), done.stdout),
                        (code, code // 2, ""),
                        done.stderr,
                    )
                    self.assertIn(words, done.stderr)
                    self.assertFalse(media.socket_of(name).exists())

    def test_help(self):
        for option in ("--help", "-h"):
            done = self.run_it(option)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("--config FILE", done.stdout)


if __name__ == "__main__":
    unittest.main()
