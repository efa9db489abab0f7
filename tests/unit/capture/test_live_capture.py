# SPDX-License-Identifier: GPL-3.0-or-later
"""Wireshark's user may run one thing through sudo: a capture to standard output, and nothing else
whatever is asked."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import capture_support as cs
from scripted_cell import ScriptedCell, ipv4

from openwip_cli.machine import system

TOP = pathlib.Path(__file__).resolve().parents[3]
CELL = f"lc{os.getpid() % 100000}"


class LiveCapture(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        for file in (
            cs.BUILD / "host/capture/wip_capture",
            TOP / "host/capture/openwip-live-capture",
        ):
            shutil.copy(file, folder.name)
        self.program = f"{folder.name}/openwip-live-capture"

    def run_it(self, *arguments, **kwargs):
        return subprocess.run([self.program, *arguments], capture_output=True, timeout=60, **kwargs)

    def test_whatever_else_is_asked_is_refused_in_one_line(self):
        for arguments in (
            ["-o", "/etc/shadow"],
            ["--name", "demo", "-o", "x"],
            ["--name", "../../tmp"],
            ["--name", "a b"],
            ["--name"],
            [],
            ["--name", "demo", "--end-file", "/etc/shadow"],
            ["--name", "demo", "--user", "root"],
            ["--name", "demo", "--only", "x y"],
            ["--name", "demo", "--snap", "1;id"],
            ["--snap", "70"],
            ["--name", "demo", "--base", "tcp://x:1"],
            ["--name=demo"],
            ["--name", "$(id)"],
        ):
            done = self.run_it(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertEqual((done.stdout, len(done.stderr.splitlines())), (b"", 1), done)

    @unittest.skipIf(os.geteuid() != 0, "a cell belongs to root")
    def test_the_account_of_the_cells_gets_a_capture_on_standard_output(self):
        out, printed = self.captured()
        self.assertEqual(out[:4], b"\x0a\x0d\x0d\x0a")  # pcapng
        self.assertIn(b"base.ip 5, terminal.ip 5", printed)
        self.assertRegex(printed, rb"base.frames [1-9]")

    @unittest.skipIf(os.geteuid() != 0, "a cell belongs to root")
    def test_what_a_bearer_sends_are_pdus(self):
        link = "\n".join(
            ["server:", "  kind: x", "link:", "  bins: 10", "  kind: {}", "wlan:", "  kind: {}", ""]
        )
        for kind, other, name in (("umts", "wlan", b"pdus"), ("ofdm", "umts", b"frames")):
            _, printed = self.captured(link.format(kind, other))
            self.assertIn(b"base." + name, printed)
            self.assertIn(b"base.ip 5, terminal.ip 5", printed)

    def captured(self, emulator=None):
        run = pathlib.Path("/run/openwip", CELL)
        run.mkdir(parents=True)
        self.addCleanup(shutil.rmtree, run, ignore_errors=True)
        _, user, group = system.account()
        os.chown(run, 0, group)
        run.chmod(0o2750)
        if emulator is not None:
            (run / "emulator.yaml").write_text(emulator)
        (run / "state.json").write_text(
            f'{{"namespaces": [\n"owip-{CELL}-base",\n"owip-{CELL}-terminal"\n]}}'
        )
        before = os.umask(0o007)
        publishers = cs.Publishers(run)
        os.umask(before)
        process = subprocess.Popen(
            [self.program, "--name", CELL],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            user=user,
            group=group,
            extra_groups=[],
        )
        try:
            publishers.wait_for_reader()
            cell = ScriptedCell()
            cell.give(*(ipv4(n, 100) for n in range(5)))
            cell.drain([8, 3, 1])
            cell.send(publishers.publish)
        finally:
            publishers.close()
            shutil.rmtree(run)
        out, printed = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0, printed)
        return out, printed


if __name__ == "__main__":
    unittest.main()
