# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip bench: every benchmark runs, as short as it goes, and prints JSON. No figure is
evaluated."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest


class Bench(unittest.TestCase):
    def test_every_benchmark_runs_and_prints_json(self):
        built = {
            p.name
            for p in (pathlib.Path(os.environ["OPENWIP_BUILD"]) / "tests" / "bench").glob("bench_*")
            if p.is_file()
        }
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "bench.json"
            done = subprocess.run(
                [sys.executable, "-m", "openwip_cli", "bench", "--least", f"--json={out}"],
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            results = json.loads(out.read_text())
        self.assertEqual(set(results), built)
        for name, result in results.items():
            self.assertNotIn("error", result, name)


if __name__ == "__main__":
    unittest.main()
