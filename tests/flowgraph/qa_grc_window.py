# SPDX-License-Identifier: GPL-3.0-or-later
"""The flowgraphs in a real window of GNU Radio Companion, opened by ./openwip grc on an X server of their own: every
one opens without an error, and one is run from there; the programs that come out show their windows and end in
order when asked to."""
import shutil
import subprocess
import sys
import tempfile
import time
import pathlib
import unittest

from grc_world import BUILD, GRAPHS, TOP, Screen, end, missing

WINDOWED = ("fading", "prediction", "arq", "spectrum")
TROUBLE = ("Error", "Warning", "Traceback", "missing")


@unittest.skipIf(missing(), f"{', '.join(missing())} not installed: ./openwip setup")
class Windows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.screen = Screen()
        cls.screen.__enter__()
        cls.addClassCleanup(cls.screen.__exit__, None, None, None)
        folder = tempfile.TemporaryDirectory(prefix="openwip-grc-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        for graph in GRAPHS.glob("*.grc"):      # Companion writes its programs beside them
            shutil.copy(graph, cls.folder)

    def start(self, *command):
        process = subprocess.Popen([str(c) for c in command], env=self.screen.environment, cwd=self.folder, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(process.stdout.close)
        self.addCleanup(end, process)
        return process

    def companion(self, *names):
        return self.start(TOP / "openwip", "grc", *(self.folder / f"{n}.grc" for n in names))

    def test_companion_opens_every_flowgraph_and_finds_nothing_wrong(self):
        names = sorted(p.stem for p in GRAPHS.glob("*.grc"))
        process = self.companion(*names)
        titles = self.screen.wait_for(lambda t: any(".grc" in title for title in t), 60)
        self.assertTrue(any(".grc" in title for title in titles), titles)
        time.sleep(1)      # a dialogue would come after the window
        titles = self.screen.titles()
        self.assertFalse([t for t in titles if any(word in t for word in TROUBLE)], titles)
        end(process)
        said = process.stdout.read()
        for name in names:
            self.assertIn(f'Loading: "{self.folder}/{name}.grc"', said)
        self.assertEqual(said.count(">>> Done"), len(names), said)
        self.assertNotIn("Error", said)

    def test_a_flowgraph_runs_from_companion(self):
        process = self.companion("prediction")
        titles = self.screen.wait_for(lambda t: any(".grc" in title for title in t), 60)
        window, = [w for title, w in titles.items() if ".grc" in title]
        self.screen.xdotool("windowfocus", window)
        self.screen.xdotool("key", "--window", window, "F6")
        shown = self.screen.wait_for(lambda t: "OpenWIP: SNR prediction" in t, 60)
        self.assertIn("OpenWIP: SNR prediction", shown)
        self.assertFalse([t for t in shown if any(word in t for word in TROUBLE)], shown)
        self.screen.xdotool("key", "--window", window, "F7")       # stop
        left = self.screen.wait_for(lambda t: "OpenWIP: SNR prediction" not in t, 20)
        self.assertNotIn("OpenWIP: SNR prediction", left)
        end(process)

    def test_every_program_shows_its_window_and_ends_in_order_when_asked_to(self):
        for name in WINDOWED:
            with self.subTest(name):
                compiled = subprocess.run(["grcc", "-o", self.folder, GRAPHS / f"{name}.grc"], capture_output=True,
                                          text=True, env=self.screen.environment)
                self.assertEqual(compiled.returncode, 0, compiled.stdout + compiled.stderr)
                process = self.start(sys.executable, "-u", self.folder / f"{name}.py")
                titles = self.screen.wait_for(lambda t: any(title.startswith("OpenWIP") for title in t), 60)
                self.assertTrue(any(title.startswith("OpenWIP") for title in titles), titles)
                time.sleep(1)
                self.assertIsNone(process.poll(), "it still runs")
                self.assertEqual(end(process), 0)
                self.assertNotIn("Traceback", process.stdout.read())


class Command(unittest.TestCase):
    def run_grc(self, *arguments, **environment):
        return subprocess.run([TOP / "openwip", "grc", *arguments], capture_output=True, text=True,
                              env={"PATH": "/usr/bin:/bin", "OPENWIP_NO_BUILD": "1", "OPENWIP_BUILD": str(BUILD)} | environment)

    @unittest.skipIf(missing(), "not installed")
    def test_refuses_an_unknown_flowgraph_and_a_missing_display_in_one_line(self):
        done = self.run_grc("nothing", DISPLAY=":99")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^openwip: no flowgraph nothing; valid: a .grc file, or one of: arq fading .*\n$")
        done = self.run_grc("fading")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^openwip: grc needs a display .*\n$")


if __name__ == "__main__":
    unittest.main()
