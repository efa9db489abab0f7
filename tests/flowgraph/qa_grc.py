# SPDX-License-Identifier: GPL-3.0-or-later
"""flowgraphs/grc/loopback.grc: grcc compiles it with the blocks of this tree, and the program that comes
out runs to its end without a display and shows slots received."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]


class Loopback(unittest.TestCase):
    def test_compiles_and_runs_headless_and_receives_frames(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "GRC_BLOCKS_PATH": str(TOP / "blocks" / "grc"), "HOME": folder}
            environment.pop("DISPLAY", None)
            compiled = subprocess.run(["grcc", "-o", folder, str(TOP / "flowgraphs/grc/loopback.grc")],
                                      capture_output=True, text=True, env=environment, timeout=100)
            output = compiled.stdout + compiled.stderr
            self.assertEqual(compiled.returncode, 0, output)
            self.assertTrue((pathlib.Path(folder) / "loopback.py").exists(), output)
            ran = subprocess.run([sys.executable, "-u", str(pathlib.Path(folder) / "loopback.py")],
                                 capture_output=True, text=True, env=environment, timeout=60,
                                 stdin=subprocess.DEVNULL)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        shown = ran.stdout + ran.stderr
        messages = re.findall(r"\(outcome \. #\[([0-9 ]*)\]", shown)
        self.assertEqual(len(messages), 4, shown[-2000:])      # 700 slots, every 150th
        self.assertEqual(messages[1:], [" ".join("1" * 25)] * 3, "frames of the later slots are all good")


if __name__ == "__main__":
    unittest.main()
