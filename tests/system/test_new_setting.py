# SPDX-License-Identifier: GPL-3.0-or-later
"""One entry in the table and one use (new_setting/): a cell starts with it, set and get reach the
process, which refuses what it cannot take, get --describe says what it is, and the monitor's row
changes it. Emulator and monitor are built from the same sources with that table."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import monitor_window as mw
import screen as screens
from controls_support import happens
from demo_support import TOP, environment, left_of, openwip
from openwip_cli.cell.cell import Cell

BUILD = pathlib.Path(environment()["OPENWIP_BUILD"])
PROGRAMS = BUILD / "tests/system/new_setting"
MONITOR = PROGRAMS / "host/gui/openwip-monitor"
OTHER = ("host/emulator", "host/gui")  # folders of a build that are the scratch tree's own
CELL = f"e{os.getpid() % 100000}"


def scratch_tree(top):
    """A tree with the launcher, a table that has the new entry, and a build of which all but two
    programs are links."""
    shutil.copytree(
        TOP / "host/cli", top / "host/cli", ignore=shutil.ignore_patterns("__pycache__")
    )
    (top / "channels/vusrp").mkdir(parents=True)
    shutil.copy(TOP / "channels/vusrp/devices.yaml", top / "channels/vusrp")
    (top / "mac/schema").mkdir(parents=True)
    entry = (TOP / "tests/system/new_setting/entry.yaml").read_text()
    table = (TOP / "mac/schema/settings.yaml").read_text()
    (top / "mac/schema/settings.yaml").write_text(
        table.replace("  link.packing:", f"{entry}  link.packing:")
    )
    (top / "build/host").mkdir(parents=True)
    for there in (
        *(BUILD / "host").iterdir(),
        *(path for path in BUILD.iterdir() if path.name != "host"),
    ):
        name = there.relative_to(BUILD)
        (top / "build" / name).symlink_to((PROGRAMS if str(name) in OTHER else BUILD) / name)


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(
    (PROGRAMS / "host/emulator/wip_emulator").exists(), "the emulator with the setting is not built"
)
class NewSetting(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name)
        scratch_tree(self.top)
        given = [
            p
            for p in os.environ.get("PYTHONPATH", "").split(os.pathsep)
            if p and pathlib.Path(p).resolve() != TOP / "host/cli"
        ]
        self.environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(self.top / "host/cli"), *given]),
            "OPENWIP_TOP": str(self.top),
            "OPENWIP_BUILD": str(self.top / "build"),
            "OPENWIP_NO_BUILD": "1",
        }

    def command(self, *arguments):
        return [sys.executable, "-m", "openwip_cli", *arguments]

    def openwip(self, *arguments):
        return subprocess.run(
            self.command(*arguments),
            capture_output=True,
            text=True,
            timeout=60,
            cwd="/",
            env=self.environment,
        )

    def cell(self, *options):
        reported = (self.top / "said").open("w+")
        process = subprocess.Popen(
            self.command(
                "emulate",
                "--name",
                CELL,
                "--duration",
                "600",
                "--pacing-limit-ms",
                "1000",
                *options,
            ),
            stdout=reported,
            stderr=reported,
            cwd="/",
            env=self.environment,
        )

        def end():
            process.send_signal(signal.SIGTERM)
            process.wait(30)
            openwip("down", "--name", CELL)
            reported.close()
            self.assertEqual(left_of(Cell(CELL)), [])

        self.addCleanup(end)
        up = happens(
            lambda: (Cell(CELL).run / "keeper.telemetry").exists() or process.poll() is not None, 60
        )
        self.assertTrue(up and process.poll() is None, (self.top / "said").read_text())

    def value(self):
        done = self.openwip("get", "--name", CELL, "--json", "link.eagerness")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["values"]["link.eagerness"]

    def test_a_cell_starts_with_it_takes_it_and_refuses_it(self):
        self.cell("--eagerness", "mild", "--bins", "25")
        self.assertEqual(self.value(), "mild")
        done = self.openwip("set", "--name", CELL, "link.eagerness=keen")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn(
            "link.eagerness is keen: too much for so many bins; valid: mild, or link.bins up to 20",
            done.stderr,
        )
        self.assertEqual(self.value(), "mild")
        done = self.openwip("set", "--name", CELL, "link.bins=20", "link.eagerness=keen")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"link\.eagerness +mild -> keen  from slot \d+ ")
        self.assertEqual(self.value(), "keen")
        done = self.openwip("set", "--name", CELL, "link.eagerness=wild")
        self.assertEqual(
            (done.returncode, done.stderr),
            (2, "openwip: link.eagerness is wild; valid: mild|keen\n"),
        )
        if MONITOR.exists() and not screens.missing():
            self.set_in_the_window()

    def set_in_the_window(self):
        row = "base link.eagerness"
        with (
            screens.Screen("1920x1400") as screen,
            mw.Window(screen, self.top, "--name", CELL, program=MONITOR) as window,
        ):
            window.choices[row] = ["mild", "keen"]
            window.set(row, "mild")
            self.assertEqual(self.value(), "mild")
            window.set(row, "keen")
            self.assertEqual(self.value(), "keen")

    def test_what_the_process_cannot_take_is_refused_at_the_start(self):
        done = self.openwip("emulate", "--name", CELL, "--bins", "21")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("link.eagerness is keen: too much for so many bins", done.stderr)

    def test_it_is_described(self):
        done = self.openwip("get", "--describe", "link.eagerness")
        self.assertRegex(
            done.stdout,
            r"(?s)demo:.*link\.eagerness +base +mild\|keen.*emulate:.*link\.eagerness +base"
            r" +mild\|keen",
        )


if __name__ == "__main__":
    unittest.main()
