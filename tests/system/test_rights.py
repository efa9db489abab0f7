# SPDX-License-Identifier: GPL-3.0-or-later
"""After the start no process of a cell has a capability but those of docs/explanation/rights.md: /proc of
running cells is read, every thread of every process."""

import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest
import urllib.request

from demo_support import TOP, Demo, built, cells, environment, openwip, system, wait_until
from openwip_cli.cell import remote
from openwip_cli.commands import doctor
from openwip_cli.machine import rights, slot_path

CELL = f"r{os.getpid() % 100000}"
STATED = {
    name: set(re.findall(r"`CAP_(\w+)`", line.split("|")[3]))
    for line in (TOP / "docs/explanation/rights.md").read_text().splitlines()
    if line.startswith("|") and line.count("|") == 5
    for name in re.findall(r"`([\w.]+)`|(recorder)", line.split("|")[1])
    for name in name
    if name
}
EVERYTHING = {"launcher", "keeper"}


def threads_of(pid):
    """(uids, permitted, effective, bounding, no_new_privs) of each."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        fields = dict(
            line.split(":\t", 1)
            for line in (task / "status").read_text().splitlines()
            if ":\t" in line
        )
        yield (
            set(fields["Uid"].split()),
            *(int(fields[f"Cap{w}"], 16) for w in ("Prm", "Eff", "Bnd")),
            fields["NoNewPrivs"].strip(),
        )


def names_of(mask):
    known = {number: name.upper() for name, number in rights.CAPABILITY.items()}
    return {known.get(n, str(n)) for n in range(64) if mask >> n & 1}


def child_of(parent, word):
    """The process that `parent` started with this word in its command line."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                ppid = int(entry.joinpath("stat").read_text().rpartition(")")[2].split()[1])
                if ppid == parent and word in entry.joinpath("cmdline").read_text():
                    return int(entry.name)
            except (OSError, ValueError):
                continue
    return None


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "the cell is not built")
class Rights(unittest.TestCase):
    def start(self, command, *arguments):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.cell = cells.Cell(CELL)
        remote.make_keys(self.folder / "keys")
        self.demo = Demo(
            CELL,
            *arguments,
            "--record",
            str(self.folder / "r.h5"),
            "--capture",
            str(self.folder / "c.pcapng"),
            "--listen",
            f"tcp://127.0.0.1:{20000 + os.getpid() % 20000}",
            "--keys",
            str(self.folder / "keys"),
            "--duration",
            "20",
            command=command,
        )
        self.addCleanup(self.demo.close)
        self.demo.wait_for("TCP download|starting the emulator", 90)
        self.assertTrue(
            wait_until(lambda: (self.cell.run / "pids/judge").exists(), 60), self.demo.output
        )
        time.sleep(3)  # verdict monitor and observer have come up
        launcher = self.demo.pid("launcher")
        found = {p.name: int(p.read_text().split()[0]) for p in (self.cell.run / "pids").iterdir()}
        for name, word in (("recorder", "--launched"), ("wip_capture", "wip_capture")):
            found[name] = child_of(launcher, word)
            self.assertIsNotNone(found[name], name)
        metrics = subprocess.Popen(
            [TOP / "openwip", "metrics", "--name", CELL, "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        self.addCleanup(metrics.stdout.close)
        self.addCleanup(metrics.wait)
        self.addCleanup(metrics.terminate)
        self.page = metrics.stdout.readline().strip()
        self.assertRegex(self.page, "^http://127.0.0.1:")
        found["metrics"] = (
            metrics.pid
            if "metrics" in pathlib.Path(f"/proc/{metrics.pid}/cmdline").read_text()
            else child_of(metrics.pid, "metrics")
        )
        return found

    def check_memory(self, processes):
        """A page of the slot path that has to come from the disk makes a slot late."""
        if doctor.Machine.can(rights.lock_memory):
            return
        locked = slot_path.granted(processes)["memory_locked"]
        self.assertEqual(
            locked,
            dict.fromkeys(
                ("air", "base.macd", "terminal.macd", "base.radio", "terminal.radio"), True
            ),
        )

    def metrics_page(self):
        with urllib.request.urlopen(self.page, timeout=10) as page:
            return page.read()

    def check(self, processes):
        _, account, _ = system.account()
        for name, pid in processes.items():
            stated = STATED[{"observer": "wip_observer", "tcpl": "wip_tcpl"}.get(name, name)]
            for uids, permitted, effective, bounding, no_new in threads_of(pid):
                with self.subTest(name):
                    self.assertEqual(names_of(permitted | effective) - stated, set())
                    self.assertEqual(uids, {str(0 if stated else account)})
                    if stated:
                        self.assertEqual(names_of(bounding) - stated, set())
                        self.assertEqual(no_new, "1")
        # A page that is asked for before the first message names no publisher yet.
        self.assertTrue(wait_until(lambda: b"openwip_up" in self.metrics_page(), 15))
        # The rights that are left suffice for the verdict monitor to reach the stations.
        top = lambda: openwip("top", "--name", CELL, "--once").stdout
        self.assertTrue(wait_until(lambda: re.search(r" [1-9][\d.]* s measured", top()), 15), top())

    def test_of_a_demo(self):
        processes = self.start("demo", "--speed", "0.5", "--pacing-limit-ms", "1000")
        self.assertLessEqual(
            {
                "air",
                "base.macd",
                "terminal.macd",
                "base.radio",
                "terminal.radio",
                "observer",
                "judge",
                "forward",
                "recorder",
                "wip_capture",
            },
            set(processes),
        )
        self.check_memory(processes)
        self.check(processes)

    def test_of_an_emulated_cell(self):
        processes = self.start("emulate")
        self.assertLessEqual(
            {"emulator", "observer", "judge", "forward", "recorder", "wip_capture"}, set(processes)
        )
        self.check(processes)


if __name__ == "__main__":
    unittest.main()
