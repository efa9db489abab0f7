# SPDX-License-Identifier: GPL-3.0-or-later
"""A process of a cell turns against root: as the account that they all become it plants links,
FIFOs and records where the launcher, the supervisor and the verdict monitor write and read. Nothing of root's is
written, killed, read or removed.

Once more with everything planted for it by somebody who may write in the folder: the readers do not
depend on its mode."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "host" / "cli"))

from openwip_cli.cell import cell as cells
from openwip_cli.cell import supervisor as supervisors
from openwip_cli.cell.process import Process
from openwip_cli.commands import commands
from openwip_cli.machine import procfs, system

CELL = f"a{os.getpid() % 100000}"
# The attacker's program: each line does what it can.
ATTACK = """
import json, os, sys
run, victim, secret, pid, started, namespace = sys.argv[1:7]
state = json.dumps({"cell": "x", "namespaces": [namespace], "keeper": [int(pid), int(started)],
                    "launcher": [int(pid), int(started)]})

def attempt(action, *arguments):
    try:
        action(*arguments)
    except OSError:
        pass

def put(path, text):
    with open(path, "w") as f:
        f.write(text)

def instead(path, action, *arguments):
    attempt(os.rename, path, path + ".gone")
    attempt(os.unlink, path)
    attempt(action, *arguments)

instead(run + "/late.log", os.symlink, victim, run + "/late.log")
attempt(os.symlink, secret, run + "/stolen.log")
attempt(os.link, secret, run + "/linked.log")
attempt(os.mkfifo, run + "/fifo.log")
attempt(os.symlink, victim, run + "/run.json")
attempt(os.symlink, victim, run + "/applications")
attempt(os.symlink, victim, run + "/applications.part")
attempt(os.symlink, victim, run + "/why") if "fifo" not in sys.argv else attempt(os.mkfifo, run + "/why")
attempt(os.mkdir, run + "/pids")
attempt(put, run + "/pids/evil", pid + " " + started)
attempt(os.mkfifo, run + "/pids/fifo")
instead(run + "/state.json", put, run + "/state.json", state)
attempt(os.symlink, victim, run + "/state.json.part")
"""


@unittest.skipIf(os.geteuid() != 0, "an attacker on root needs root")
class Attacker(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o755)
        self.victim, self.secret, self.logs = (
            self.folder / n for n in ("victim", "secret", "logs")
        )
        self.victim.write_text("root's\n")
        self.secret.write_text("nobody may read this\n")
        self.secret.chmod(0o600)
        self.process = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        self.namespace = f"owv{os.getpid() % 100000}"
        subprocess.run(["ip", "netns", "add", self.namespace], check=True)
        self.addCleanup(system.delete_namespace, self.namespace)
        self.cell = cells.Cell(CELL)
        self.addCleanup(commands.down_cell, self.cell)

    def attack(self, as_root, fifo=False):
        _, user, group = system.account()
        before = set(self.cell.run.rglob("*"))
        subprocess.run(
            [
                sys.executable,
                "-c",
                ATTACK,
                str(self.cell.run),
                str(self.victim),
                str(self.secret),
                str(self.process.pid),
                str(procfs.start_time(self.process.pid)),
                self.namespace,
                *(["fifo"] if fifo else []),
            ],
            check=True,
            **({} if as_root else {"user": user, "group": group, "extra_groups": []}),
        )
        planted = set(self.cell.run.rglob("*")) - before
        if as_root:
            self.assertGreater(len(planted), 8)
            for path in [*planted, self.cell.run / "state.json"]:
                os.lchown(path, user, group)
        return planted

    def expect_nothing_of_roots_touched(self):
        self.assertEqual(self.victim.read_text(), "root's\n")
        self.assertEqual(self.victim.stat().st_mode & 0o777, 0o644)
        self.assertIsNone(self.process.poll())
        self.assertTrue(system.namespace_exists(self.namespace))
        copied = "".join(p.read_text() for p in self.logs.iterdir()) if self.logs.exists() else ""
        self.assertNotIn("nobody may read this", copied)

    def start(self):
        self.assertTrue(self.cell.acquire())
        supervisor = supervisors.SupervisorClient(self.cell)
        supervisor.start(Process("one", ["sleep", "1000"], {}))
        return supervisor

    def whole_life(self, as_root, fifo):
        supervisor = self.start()
        supervisor.keep_logs(self.logs)
        planted = self.attack(as_root, fifo)
        from openwip_cli.machine import own_files
        from openwip_cli.records import record

        supervisor.start(Process("late", ["sh", "-c", "echo spoken; sleep 1000"], {}))
        record.note_run(self.cell, {}, 1)
        own_files.replace(self.cell.run / "applications", "1 2 three\n")
        self.assertNotIn(
            (self.process.pid, procfs.start_time(self.process.pid)), self.cell.recorded_processes()
        )
        began = time.monotonic()
        supervisor.end("the run is over")
        self.assertLess(time.monotonic() - began, 6)
        supervisor.channel.close()
        self.cell.release()
        self.assertFalse(self.cell.run.exists())
        self.expect_nothing_of_roots_touched()
        self.assertIn("why", [p.name for p in self.logs.iterdir()])
        return planted

    def test_a_process_of_the_cell_can_plant_nothing(self):
        for fifo in (False, True):
            self.assertEqual(self.whole_life(False, fifo), set())

    def test_what_is_planted_all_the_same_is_neither_followed_nor_believed(self):
        for fifo in (False, True):
            self.whole_life(True, fifo)

    def test_who_cleans_up_after_a_killed_cell_believes_nothing_of_it_either(self):
        for as_root in (False, True):
            supervisor = self.start()
            self.attack(as_root)
            pid = next(iter(supervisor.pids.values()))
            os.kill(supervisor.pid, 9)
            os.waitpid(supervisor.pid, 0)
            supervisor.channel.close()
            self.cell.release()
            deadline = time.monotonic() + 5
            while procfs.start_time(pid) is not None and time.monotonic() < deadline:
                time.sleep(0.02)
            commands.down_cell(self.cell)
            self.expect_nothing_of_roots_touched()
            for name in self.cell.namespaces:
                system.delete_namespace(name)  # their record was replaced

    def test_the_folder_is_roots_and_its_account_may_look(self):
        supervisor = self.start()
        found = os.stat(self.cell.run)
        self.assertEqual(
            (found.st_uid, found.st_gid, found.st_mode & 0o7777), (0, system.account()[2], 0o2750)
        )
        supervisor.end("the run is over")
        supervisor.channel.close()
        self.cell.release()

    def test_outputs_of_commands_do_not_go_through_links_of_others(self):
        shared = self.folder / "shared"
        shared.mkdir()
        shared.chmod(0o1777)
        environment = os.environ | {"OPENWIP_NO_BUILD": "1"}
        planted = shared / "findings.json"
        planted.symlink_to(self.victim)
        os.lchown(planted, 65534, 65534)
        subprocess.run(
            [TOP / "openwip", "doctor", f"--json={planted}"],
            capture_output=True,
            timeout=120,
            env=environment,
        )
        self.assertFalse(planted.is_symlink())
        self.assertIn("findings", json.loads(planted.read_text()))
        self.assertEqual(self.victim.read_text(), "root's\n")
        planted = shared / "logs"
        planted.symlink_to(self.folder)
        os.lchown(planted, 65534, 65534)
        done = subprocess.run(
            [TOP / "openwip", "emulate", "--name", CELL, "--duration", "1", "--logs", planted],
            capture_output=True,
            text=True,
            timeout=120,
            env=environment,
        )
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("is a symbolic link of user nobody", done.stderr)

    def test_what_does_not_fit_is_said_by_the_run_and_its_exit_code(self):
        """--logs and --capture on a disk that is full."""
        script = """mount -t tmpfs -o size=16k none "$0" && "$1" emulate --name "$2" --duration 1 --capture "$0/c.pcapng" --logs "$0/logs" --json="$0/j"
                    echo "rc $?"; find "$0" -mindepth 1 -type f -size 0 -o -type d -empty"""
        small = self.folder / "small"
        small.mkdir()
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", script, small, TOP / "openwip", CELL],
            capture_output=True,
            text=True,
            timeout=120,
            env=os.environ | {"OPENWIP_NO_BUILD": "1"},
        )
        # the program failed, no file was emptied, and no folder made for nothing
        self.assertTrue(done.stdout.endswith("rc 4\n"), done)
        for words in ("--capture", "--logs"):
            self.assertRegex(done.stderr, f"openwip: .*{words} .*No space left on device")


if __name__ == "__main__":
    unittest.main()
