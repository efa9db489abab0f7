# SPDX-License-Identifier: GPL-3.0-or-later
"""A setting that nobody has heard of: one entry in a scratch copy of the table, and it is an option
with its check, a key of scenario files, in what the processes are given, in set and get, in the
monitor's lists, and on the page of settings. (The keys of the processes and the monitor's rows
themselves: tests/unit/host/test_settings_table.cpp; a cell that runs with it, and its row in the
window: tests/system/test_new_setting.py.)"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[3]
ENTRY = (TOP / "tests/system/new_setting/entry.yaml").read_text()
HANDED_OVER = """
import json, sys
from openwip_cli.campaign.settings import SETTINGS
from openwip_cli.cell import cell, configuration
from openwip_cli.runs import emulate, options
from openwip_cli.settings import monitor
demo = options.parse_demo(["--eagerness", "keen"]).scenario
emulated = options.parse_emulate(["--config", sys.argv[1]]).scenario
print(json.dumps([demo.tree()["link"]["eagerness"],
                  configuration.mac_config(cell.Cell("x"), demo, "base")["link"]["eagerness"],
                  emulate.config(cell.Cell("x"), emulated)["link"]["eagerness"],
                  monitor.choices()["base link.eagerness"], SETTINGS["eagerness"].words]))
"""


class NewSetting(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.top = pathlib.Path(cls.folder.name)
        shutil.copytree(
            TOP / "host/cli", cls.top / "host/cli", ignore=shutil.ignore_patterns("__pycache__")
        )
        (cls.top / "channels/vusrp").mkdir(parents=True)
        shutil.copy(TOP / "channels/vusrp/devices.yaml", cls.top / "channels/vusrp")
        table = (TOP / "mac/schema/settings.yaml").read_text()
        (cls.top / "mac/schema").mkdir(parents=True)
        (cls.top / "mac/schema/settings.yaml").write_text(
            table.replace("  link.packing:", f"{ENTRY}  link.packing:")
        )

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_python(self, *arguments):
        given = [
            os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p
        ]
        path = [
            str(self.top / "host/cli"),
            str(TOP / "tests/support"),
            *(p for p in given if p != str(TOP / "host/cli")),
        ]
        return subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            cwd="/",
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path), "OPENWIP_TOP": str(self.top)},
        )

    def openwip(self, *arguments):
        return self.run_python("-m", "openwip_cli", *arguments)

    def test_it_is_an_option_with_its_help_and_its_check(self):
        for command in ("demo", "emulate"):
            words = " ".join(self.openwip(command, "--help").stdout.split())
            self.assertIn(
                "--eagerness mild|keen how eager the link is; mild|keen (default "
                + {"demo": "mild)", "emulate": "keen)"}[command],
                words,
            )
            done = self.openwip("check", command, "--eagerness", "wild")
            self.assertEqual(
                (done.returncode, done.stderr),
                (2, "openwip: --eagerness is 'wild'; valid: mild|keen\n"),
            )

    def test_it_is_kept_where_compiled_python_is_and_read_from_there(self):
        with tempfile.TemporaryDirectory() as folder:

            def tree(*more):
                done = self.run_python(
                    *more,
                    "-c",
                    "import json; from openwip_cli.settings import table;"
                    " print(json.dumps(table.tree()))",
                )
                self.assertEqual(done.returncode, 0, done.stderr)
                return json.loads(done.stdout)

            keeping = ("-X", f"pycache_prefix={folder}")
            plain = tree()
            self.assertIn("link.eagerness", plain["settings"])
            self.assertEqual(tree(*keeping), plain)
            (kept,) = pathlib.Path(folder).glob("settings-*.json")
            self.assertEqual(json.loads(kept.read_text()), plain)
            for text, seen in (
                ('{"sett', plain),
                ('{"settings": {"read": {}}}', {"settings": {"read": {}}}),
            ):
                kept.write_text(text)
                self.assertEqual(tree(*keeping), seen)

    def test_set_and_get_know_it_and_who_takes_it(self):
        done = self.openwip("get", "--describe", "--json", "link.eagerness")
        for kind, (row,) in json.loads(done.stdout)["cells"].items():
            self.assertEqual(
                (row["process"], row["type"], row["words"], row["unit"], row["changeable"]),
                ("base", "choice", ["mild", "keen"], "tries", True),
                kind,
            )

    def test_it_reaches_the_processes_the_experiments_and_the_monitor(self):
        scenario = self.top / "scenario.yaml"
        scenario.write_text("link: {eagerness: mild}\n")
        done = self.run_python("-c", HANDED_OVER, str(scenario))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            json.loads(done.stdout),
            ["keen", "keen", "mild", ["mild", "keen"], "eagerness of the link"],
        )

    def test_it_is_on_the_page_of_settings(self):
        page = self.openwip("get", "--describe", "--markdown").stdout
        self.assertIn(
            "|`link.eagerness`|`--eagerness`|mild; emulate: keen|mild, keen|cell|base|how eager the"
            " link is|\n",
            page,
        )
        self.assertNotIn("eagerness", (TOP / "docs/reference/settings.md").read_text())


if __name__ == "__main__":
    unittest.main()
