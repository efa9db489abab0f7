# SPDX-License-Identifier: GPL-3.0-or-later
"""The command ./openwip channel and files of a trace, for its tests."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import h5py

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["OPENWIP_BUILD"])
PROGRAM = str(BUILD / "host" / "channel" / "wip_channel")


class TraceCase(unittest.TestCase):
    """Files in a folder of the class, among them a trace of a minute."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.trace = cls.file("flat.h5")
        cls.command(
            "render",
            "flat",
            "-o",
            cls.trace,
            "--speed-kmh",
            "75",
            "--duration",
            "60",
            "--snr",
            "13",
            "--seed",
            "4",
            "--prediction-nmse",
            "0.1",
        )

    @classmethod
    def file(cls, name):
        return str(cls.folder / name)

    @classmethod
    def run_it(cls, *arguments, **more):
        return subprocess.run(
            [sys.executable, "-m", "openwip_cli", "channel", *arguments],
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": f"{BUILD / 'python'}:{TOP / 'host' / 'cli'}",
                "OPENWIP_TOP": str(TOP),
                "OPENWIP_BUILD": str(BUILD),
            },
            **more,
        )

    @classmethod
    def command(cls, *arguments):
        done = cls.run_it(*arguments)
        assert done.returncode == 0, done
        return done.stdout

    def refused(self, pattern, *arguments):
        done = self.run_it(*arguments)
        self.assertEqual(done.returncode, 2, done)
        lines = done.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertRegex(lines[0], pattern)
        self.assertEqual(done.stdout, "")

    def lines(self, name):
        return (self.folder / name).read_text().splitlines()

    def numbers(self, name):
        """The values of one line with commas between them."""
        (line,) = self.lines(name)
        return [int(n) for n in line.split(",")]

    def rows(self, name, snr_db, slots):
        with open(self.file(name), "w", encoding="ascii") as f:
            f.writelines(",".join([str(snr_db)] * 25) + "\n" for _ in range(slots))

    def damaged(self, name, change):
        """A copy of the trace, changed."""
        copy = self.file(name)
        shutil.copy(self.trace, copy)
        with h5py.File(copy, "r+") as f:
            change(f)
        return copy
