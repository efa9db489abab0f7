# SPDX-License-Identifier: GPL-3.0-or-later
"""`openwip top` in a real terminal (tmux) on a running cell of the emulator: a screen of 80x24
without an overflow, smaller and larger windows, a terminal without colours, a stream that stalls,
the end of the cell, q.

Skipped without root; the tests on a screen without tmux."""

import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from demo_support import TOP, built, cells, environment, openwip, wait_until

CELL = f"t{os.getpid() % 100000}"


class Terminal:
    """One tmux server with one window."""

    def __init__(self, command, width=80, height=24, term="screen-256color"):
        self.server = f"{CELL}-{time.monotonic_ns()}"
        # The shell stays, so that the exit code can be read.
        self.tmux(
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            str(width),
            "-y",
            str(height),
            "env",
            f"TERM={term}",
            "LC_ALL=C.UTF-8",
            "sh",
            "-c",
            f"{command}; echo exit code $?; sleep 100",
        )

    def tmux(self, *arguments):
        return subprocess.run(
            ["tmux", "-L", self.server, *arguments],
            capture_output=True,
            text=True,
            check=True,
            env=environment(),
        ).stdout

    def lines(self):
        return self.tmux("capture-pane", "-p").split("\n")[:-1]

    def wait_for(self, pattern, within=30):
        deadline = time.monotonic() + within
        while not re.search(pattern, text := "\n".join(self.lines()), re.M):
            if time.monotonic() > deadline:
                raise AssertionError(f"no '{pattern}' within {within} s on\n{text}")
            time.sleep(0.1)
        return text

    def end(self):
        subprocess.run(["tmux", "-L", self.server, "kill-server"], capture_output=True)


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "macd is not built")
class OnACell(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cell = cells.Cell(CELL)
        cls.emulate = subprocess.Popen(
            [
                TOP / "openwip",
                "emulate",
                "--name",
                CELL,
                "--keep",
                "--duration",
                "15",
                "--wired-delay-ms",
                "0",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        cls.addClassCleanup(cls.end)
        deadline = time.monotonic() + 30
        while not (cls.cell.run / "keeper.telemetry").exists():
            if time.monotonic() > deadline or cls.emulate.poll() is not None:
                raise AssertionError(f"no cell: {cls.emulate.stderr.read()}")
            time.sleep(0.1)

    @classmethod
    def end(cls):
        openwip("down", "--name", CELL)
        cls.emulate.wait(60)
        cls.emulate.stderr.close()

    def terminal(self, *options, **how):
        if shutil.which("tmux") is None:
            self.skipTest("tmux is not installed")
        t = Terminal(f"{TOP}/openwip top --name {CELL} {' '.join(options)}", **how)
        self.addCleanup(t.end)
        return t

    # The tests run in the order of their names: traffic runs during the first ones.

    def test_1_once_prints_a_screen_of_80x24_with_everything_known(self):
        found = []

        def measured():
            found.append(openwip("top", "--name", CELL, "--once"))
            return " 0.0 s measured" not in found[-1].stdout

        self.assertTrue(wait_until(measured, 20), found[-1])
        done = found[-1]
        lines = done.stdout.rstrip("\n").split("\n")
        self.assertIn(done.returncode, (0, 1), done)
        self.assertEqual(done.returncode == 0, "verdict   VALID so far" in done.stdout, done.stdout)
        self.assertLessEqual(len(lines), 24)
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertNotIn("not known", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^goodput +[\d.]+ of [\d.]+ Mbit/s of the link")
        self.assertRegex(done.stdout, r"(?m)^TCP +[1-9]\d* flows")
        self.assertRegex(done.stdout, r"10\.42\.0\.1:\d+>10\.42\.0\.2:5201 .* cubic +ESTAB")
        self.assertRegex(done.stdout, r"iperf3 [\d.]+")
        self.assertRegex(done.stdout, r"(?m)^reader +\d+ messages, 0 lost$")

    def test_2_the_screen_fits_follows_the_window_and_q_ends_it(self):
        t = self.terminal("--interval", "0.3")
        t.wait_for(r"^TCP +[1-9]")
        text = t.wait_for("q: quit")
        self.assertIn("openwip top  cell", text.split("\n")[0])
        t.tmux("resize-window", "-x", "50", "-y", "12")
        t.wait_for(r"\A(openwip top.*)\n(.*\n){10}q: quit.*\Z")
        t.tmux("resize-window", "-x", "120", "-y", "40")
        t.wait_for(r"\A(openwip top.*)\n(.*\n){13,}reader.*\nq: quit")
        t.tmux("send-keys", "q")
        t.wait_for("exit code 0")

    def test_3_a_terminal_without_colours_shows_the_same(self):
        t = self.terminal(term="vt100")
        t.wait_for("verdict +(IN)?VALID so far")
        t.tmux("send-keys", "q")
        t.wait_for("exit code 0")

    def test_4_a_stream_that_stalls_is_said_and_the_end_of_the_cell_ends_it(self):
        t = self.terminal("--interval", "0.3")
        t.wait_for("verdict +(IN)?VALID so far")
        emulator = int((self.cell.run / "pids" / "emulator").read_text().split()[0])
        os.kill(emulator, signal.SIGSTOP)
        try:
            t.wait_for("STALLED +nothing comes from base")
        finally:
            os.kill(emulator, signal.SIGCONT)
        openwip("down", "--name", CELL)
        t.wait_for(f"cell '{CELL}' has ended")
        t.wait_for("exit code 3")


class WithoutACell(unittest.TestCase):
    def test_no_cell_and_wrong_options_are_one_line_and_exit_code_2(self):
        for options, words in (
            (["--name", "nosuch"], "no cell is up"),
            (["--interval", "0"], "--interval is '0'"),
            (["--nonsense"], "--nonsense"),
        ):
            if os.geteuid() != 0 and "cell" in words:
                continue
            done = openwip("top", *options)
            self.assertEqual(done.returncode, 2, done)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
