# SPDX-License-Identifier: GPL-3.0-or-later
"""An installation under a prefix of its own runs without the folders that it came from: they are
hidden in a mount namespace of the command's. Another project builds against its core."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from demo_support import GENTLE, TOP
from own_code_support import FIRST_TERMINAL, make_library

BUILD = pathlib.Path(os.environ["OPENWIP_BUILD"])
PYTHON = os.environ["OPENWIP_PYTHON"]
VERSION = (TOP / "VERSION").read_text().strip()
PROGRAMS = ("air", "macd", "observer", "machine", "emulator", "channel", "split", "capture")
HIDE = (
    'for folder in "$1" "$2"; do mount -t tmpfs none "$folder" || exit 99; done; shift 2; exec "$@"'
)


def may_mount():
    return (
        subprocess.run(
            ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True
        ).returncode
        == 0
    )


RULE_IN_CPP = """
#include <openwip/extension.h>
static void* make(const char*, const openwip_cell*, openwip_error*) { return new int; }
static int choose(void*, openwip_report*, openwip_error*) { return 0; }
static void end(void* own) { delete static_cast<int*>(own); }
const openwip_extension_table* openwip_extension() {
    static openwip_extension_table table{};
    table.abi = OPENWIP_EXTENSION_ABI;
    table.size = sizeof table;
    table.adaptation_make = make;
    table.adaptation_choose_modulation = choose;
    table.adaptation_free = end;
    return &table;
}
"""


class Installation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)  # processes of a cell are not root
        cls.folder = pathlib.Path(folder.name)
        # The installation is moved after it was made, like a package that is unpacked elsewhere.
        made, cls.prefix = cls.folder / "made", cls.folder / "moved"
        done = subprocess.run(
            ["cmake", "--install", BUILD, "--prefix", made], capture_output=True, text=True
        )
        if done.returncode != 0:
            raise AssertionError(f"cmake --install failed:\n{done.stderr[-3000:]}")
        shutil.move(made, cls.prefix)

    def run_hidden(self, *arguments, program="openwip"):
        """The installed command, with neither the source nor the build folder to be seen."""
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(self.folder)}
        return subprocess.run(
            ["unshare", "-m", "sh", "-c", HIDE, "sh", BUILD, TOP]
            + [self.prefix / "bin" / program, *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd="/",
            timeout=100,
            env=environment,
        )

    def test_programs_have_one_prefix(self):
        names = {p.name for p in (self.prefix / "lib/openwip").iterdir() if p.is_file()}
        self.assertEqual({n for n in names if not n.startswith("openwip-")}, set())
        self.assertLessEqual({f"openwip-{name}" for name in PROGRAMS}, names)

    def test_code_of_ones_own_is_made_with_the_installed_header_and_runs(self):
        header = self.prefix / "include/openwip/extension.h"
        self.assertEqual(
            list(self.prefix.rglob("extension.h")), [header], "installed once, for users"
        )
        (self.folder / "rule.cpp").write_text(RULE_IN_CPP)
        (self.folder / "rule.py").write_text(FIRST_TERMINAL)
        make_library(self.folder / "rule.cpp", self.prefix / "include")
        done = self.run_hidden(
            *("emulate", "--generator", "--duration", "1"),
            *("--scheduler", f"python:{self.folder}/rule.py:First"),
            *("--adaptation", f"library:{self.folder}/rule.so"),
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in ("link.scheduler = python:", "link.adaptation = library:"):
            self.assertIn("own code     " + line, done.stdout)

    def test_nothing_points_back_into_the_source_or_the_build(self):
        back = []
        for path in self.prefix.rglob("*"):
            if path.is_symlink():
                self.assertFalse(os.path.isabs(os.readlink(path)), path)
            elif path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
                output = subprocess.run(["readelf", "-d", path], capture_output=True, text=True)
                back += [path for line in output.stdout.splitlines() if str(BUILD) in line]
        self.assertEqual(back, [])

    def test_every_command_has_a_man_page_that_troff_takes(self):
        table = (TOP / "host/cli/command_lines.txt").read_text()
        pages = {p.name for p in (self.prefix / "share/man/man1").iterdir()}
        commands = re.findall(r"^command\t([^\t]+)", table, re.M)
        self.assertGreater(len(commands), 50)
        wanted = {f"openwip-{c.replace(' ', '-')}.1" for c in commands} | {"openwip.1"}
        self.assertEqual(pages, wanted)
        text = (self.prefix / "share/man/man1/openwip-demo.1").read_text()
        for option in re.search(r"^command\tdemo\t.*?(?=^command\t)", table, re.M | re.S)[0].split(
            "\n"
        ):
            if option.startswith("option\t--"):
                name = option.split("\t")[1].split()[0]
                self.assertIn(name.replace("-", "\\-"), text)
        if shutil.which("man"):
            for page in sorted((self.prefix / "share/man/man1").iterdir()):
                done = subprocess.run(
                    ["man", "-l", "--warnings=mac,syntax,escape,input", page],
                    capture_output=True,
                    text=True,
                    env=os.environ | {"MANPAGER": "cat", "MANWIDTH": "100", "LC_ALL": "C.UTF-8"},
                )
                self.assertEqual((done.returncode, done.stderr), (0, ""), page.name)

    def test_bash_completes_commands_options_and_values(self):
        file = self.prefix / "share/bash-completion/completions/openwip"
        for words, found in (
            (["openwip", "emu"], "emulate"),
            (["openwip", "demo", "--modul"], "--modulation"),
            (["openwip", "demo", "--modulation", "adap"], "adaptive"),
            (["openwip", "channel", "ren"], "render"),
            (["openwip", "channel", "render", "--ou"], "--out"),
        ):
            done = subprocess.run(
                [
                    "bash",
                    "-c",
                    'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _openwip;'
                    ' echo "${COMPREPLY[@]}"',
                    file,
                    *words,
                ],
                capture_output=True,
                text=True,
            )
            self.assertEqual((done.stdout.split(), done.stderr), ([found], ""), words)

    def test_another_project_builds_against_the_core(self):
        folder = self.folder / "consumer"
        for command in (
            ["cmake", "-S", TOP / "tests/system/consumer", "-B", folder, "-G", "Ninja"]
            + [f"-DCMAKE_PREFIX_PATH={self.prefix}"],
            ["cmake", "--build", folder],
            [folder / "consumer"],
        ):
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("symbol error rate", done.stdout)

    @unittest.skipUnless(may_mount(), "hiding folders needs root and mount namespaces")
    def test_it_answers_without_the_tree(self):
        version = self.run_hidden("--version")
        self.assertRegex(
            version.stdout, rf"^openwip {re.escape(VERSION)} \(\S+\)\n$", version.stderr
        )
        help_of = self.run_hidden("emulate", "--help")
        self.assertEqual(help_of.returncode, 0, help_of.stderr)
        self.assertTrue(help_of.stdout.startswith("usage: openwip emulate"), help_of.stdout)
        self.assertIn("--modulation", help_of.stdout)
        refused = self.run_hidden("build")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("this is an installation", refused.stderr)

    @unittest.skipUnless(may_mount(), "hiding folders needs root and mount namespaces")
    def test_it_emulates_without_the_tree(self):
        report = self.folder / "emulate.json"
        done = self.run_hidden(
            "emulate", "--generator", "--duration", "5", "--snr", "20", f"--json={report}"
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        versions = json.loads(report.read_text())["versions"]
        commit = self.run_hidden("--version").stdout.split("(")[1].rstrip(")\n")
        self.assertEqual(versions["openwip"], commit)

    @unittest.skipUnless(may_mount(), "hiding folders needs root and mount namespaces")
    def test_python_finds_the_package_in_its_site_folder(self):
        [folder] = (self.prefix / "lib").glob("python3*/dist-packages")
        program = (
            f"import site; site.addsitedir({str(folder)!r}); import openwip;"
            " print(openwip.__file__);"
            " print(openwip.run('emulate', generator=True, duration=2)['verdict']['valid'])"
        )
        done = self.run_hidden("-I", "-c", program, program=PYTHON)
        self.assertEqual(
            done.stdout.split(),
            [str(self.prefix / "share/openwip/host/cli/openwip/__init__.py"), "True"],
            done.stderr,
        )

    @unittest.skipUnless(may_mount(), "hiding folders needs root and mount namespaces")
    def test_a_cell_runs_without_the_tree(self):
        report = self.folder / "demo.json"
        done = self.run_hidden(
            "demo", "--name", "installed", "--duration", "1", *GENTLE, f"--json={report}"
        )
        self.assertTrue(report.exists(), done.stdout + done.stderr)
        output = json.loads(report.read_text())
        self.assertGreater(output["tcp"]["goodput_bps"], 0, done.stdout + done.stderr)
        self.assertIn("verdict:", done.stdout)


if __name__ == "__main__":
    unittest.main()
